"""A short run of the fuzzer, and a check that it finds faults; ``run.py`` runs any number of programs."""

from collections import Counter

import numpy as np
import pytest
from fuzz.changing import difference as changing_difference
from fuzz.changing import random_script, shorter_scripts
from fuzz.comparing import Outcome, difference
from fuzz.drawing import random_program
from fuzz.identities import itself
from fuzz.modes import MODES
from fuzz.operations import FAMILIES, shaping
from fuzz.programs import Leaf, Program, Step
from fuzz.replaying import chance, replayed
from fuzz.shrinking import shorter_programs, shortest
from fuzz.states import STATES

import numgrad

VALUES = np.array([0.5, -1.25, 2.0])


def program(*lines, leaves=(VALUES,)):
    """A program of these lines, whose last value is the output."""
    made = tuple(Leaf(values, requires_grad=True) for values in leaves)
    steps = tuple(Step(line.removeprefix("!"), makes=not line.startswith("!")) for line in lines)
    return Program(made, steps, (len(made) + len(steps) - 1,))


def few(draw):
    """Operations for which there are few kernels."""
    x = draw.value("float")
    y = draw.alike(x, "float", same=True)
    dim = draw.dim(x)
    return draw.pick((
        f"torch.sin({x})", f"torch.tanh({x})", f"{x} * {y}", f"{x} + {y}", f"{x} ** 2", f"{x}.sum({dim})",
        f"{x}.mean()",
        f"{x} @ {y}.mT" if x.ndim > 1 else f"-{x}", f"torch.where({x} > {draw.number()}, {x}, {y})",
        f"torch.cat(({x}, {y}), {dim})", f"torch.stack(({x}, {y}))", f"{x}.clone()",
    ))


def few_changes(draw):
    x = draw.changeable("float")
    y = draw.alike(x, "float", same=True)
    return "!" + draw.pick((
        f"{x}.mul_({y})", f"{x}.add_({y})", f"{x}.copy_({y})", f"{x}[..., :1] = 0.5", f"{x}[{x} < 0.2] = 0.25",
        f"{x}.select({draw.dim(x)}, 0).mul_({x}.mean())", f"{x}.unsqueeze_(0)",
    ))


FEW = [(4, few), (2, shaping.view), (1, few_changes)]


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_agree_with_finite_differences(mode):
    count = Counter()
    for seed in range(40):
        drawn = random_program(seed, FEW, differentiable=True, plain=True)
        unlike = itself(mode, drawn, seed)
        assert unlike is None or unlike.excuse, f"{unlike.text}\nin the mode {mode} (seed {seed}) of\n{drawn}"
        count[unlike is None] += 1
    assert count[True] >= 32, "too few programs were compared"


@pytest.mark.torch
@pytest.mark.parametrize("mode", MODES)
def test_programs_agree_with_pytorch(mode):
    import torch
    from fuzz.deviation import deviation

    count = Counter()
    for seed in range(50):
        drawn = random_program(seed, FAMILIES)
        unlike = deviation(torch, mode, drawn, seed)
        assert unlike is None or unlike.excuse, f"{unlike.text}\nin the mode {mode} (seed {seed}) of\n{drawn}"
        count[unlike is None] += 1
    assert count[True] >= 42, "too few programs were compared"


@pytest.mark.parametrize("mode", MODES)
def test_compiled_programs_give_the_same_bits(mode):
    for seed in range(25):
        drawn = random_program(seed, [*FEW, (1, chance)], plain=True)
        unlike = replayed(mode, drawn, seed)
        assert unlike is None, f"{unlike.text}\nin the mode {mode} (seed {seed}) of\n{drawn}"


def test_state_that_changes_between_calls_is_seen():
    count = Counter()
    for seed in range(40):
        script = random_script(seed)
        unlike, is_refused = changing_difference(script)
        assert unlike is None, f"{unlike}\n(seed {seed}) of\n{script}"
        count[is_refused] += 1
    assert count[False] >= 20, "too few scripts were compiled"


# -- the fuzzer finds errors ------------------------------------------------------------------------------------


def half_a_square(draw):
    """Square with half the right derivative."""
    x = draw.value("float")
    return f"{x}.detach() * {x}"


@pytest.mark.parametrize("mode", ["backward", "second", "forward", "nested", "checkpoint"])
def test_a_wrong_derivative_is_found_and_shown_in_one_line(mode):
    families = [*FEW, (2, half_a_square)]
    for seed in range(40):
        drawn = random_program(seed, families, differentiable=True, plain=True)
        unlike = itself(mode, drawn, seed)
        if unlike is not None and not unlike.excuse:
            break

    def fails(shorter):
        other = itself(mode, shorter, seed)
        return other is not None and other.kind == unlike.kind and not other.excuse

    found = shortest(drawn, fails, shorter_programs)
    assert [step.text for step in found.steps] == ["v0.detach() * v0"]
    assert len(found.leaves) == 1


def test_a_change_that_is_not_seen_is_found_and_shown(monkeypatch):
    monkeypatch.setattr("numgrad.programs.guards.Guard.environment_holds", lambda self: True)
    script = random_script(0, tuple(state for state in STATES if state.name == "variable"))
    assert changing_difference(script)[0] is not None
    found = shortest(script, lambda shorter: changing_difference(shorter)[0] is not None, shorter_scripts)
    assert len(found.steps) <= 3
    assert "s0" in found.body[0]


def test_a_kink_is_not_a_disagreement():
    close = program("torch.relu(v0)", leaves=[np.array([3e-5, 1.0])])
    assert itself("backward", close, 0).excuse == "unknown to finite differences"
    assert itself("backward", program("torch.relu(v0)"), 0) is None


@pytest.mark.parametrize(("value", "kind"), [
    (VALUES + 1e-5, "gradient: value"),
    (np.array([0.5, np.nan, 2.0]), "gradient: value"),
    (VALUES.astype("float32"), "gradient: dtype"),
    (VALUES[None], "gradient: shape"),
    (None, "gradient: None"),
])
def test_differences(value, kind):
    expected = Outcome([("gradient[0]", VALUES)])
    assert difference(expected, Outcome([("gradient[0]", VALUES * (1 + 1e-9))])) is None
    assert difference(expected, Outcome([("gradient[0]", value)])).kind == kind


def test_differences_of_errors():
    fails, other = Outcome([], IndexError("1")), Outcome([], TypeError("2"))
    assert difference(fails, Outcome([], IndexError("other words"))) is None
    assert difference(fails, other).kind == "TypeError for IndexError"
    assert difference(Outcome([]), fails).kind == "raises IndexError"
    assert difference(fails, Outcome([])).kind == "does not raise IndexError"


# -- programs ---------------------------------------------------------------------------------------------------


def test_a_seed_is_a_program_that_can_be_pasted():
    for seed in range(20):
        drawn = random_program(seed, FEW)
        assert str(random_program(seed, FEW)) == str(drawn)
        scope = {}
        try:
            exec(str(drawn).replace("import torch", "import numgrad as torch", 1), scope)
        except (LookupError, RuntimeError, TypeError, ValueError):
            continue  # a last step that raises
        outputs = drawn.function(numgrad)(*drawn.tensors(numgrad))
        for pasted, output in zip(scope["outputs"], outputs, strict=True):
            assert numgrad.equal(numgrad.nan_to_num(pasted), numgrad.nan_to_num(output))


def test_shorter_programs():
    long = program("torch.sin(v0)", "torch.exp(v1)", "!v2.mul_(2)", "v2 * v1")
    long = Program(long.leaves, long.steps, (4, 1))
    short = shortest(long, lambda p: "exp" in p.body, shorter_programs)
    assert [step.text for step in short.steps] == ["torch.exp(v0)"]
    short = shortest(long, lambda p: "mul_" in p.body, shorter_programs)
    assert ([step.text for step in short.steps], short.outputs) == (["v0.mul_(2)"], (0,))
    assert short.leaves[0].values.shape == ()
