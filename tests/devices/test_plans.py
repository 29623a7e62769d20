"""Plans: the interpreter, which defines them, and bound launchers give the same bits."""

from dataclasses import replace

import numpy as np
import pytest
from devices.replays import with_gradients
from devices.test_recording import cases

import numgrad
from numgrad.devices import Plan, cpu, launches, pointwise_plan
from numgrad.devices.binding import Writer
from numgrad.devices.common import copy_program
from numgrad.devices.plan import Buffer, Given, HandWritten, Input, PointwiseKernel, Scaled
from numgrad.nn import functional
from numgrad.ops.reductions.sums import sum_dims
from numgrad.ops.table.entries import forget_calls
from numgrad.ops.table.op import ops
from numgrad_kernels.cpu.softmax import softmax_rows


def memories(plan, result):
    if plan.layouts is None:  # which come with the memory
        _, result = result
    return [] if result is None else [result] if isinstance(result, np.ndarray) else [*result]


def described(rows):
    """The dtypes and elements of arrays, and which of them share memory with an earlier one."""
    shared = [[np.shares_memory(row, other) for other in rows[:number]] for number, row in enumerate(rows)]
    return [(one.dtype, one.size, one.tobytes()) for one in rows], shared


def in_both_ways(plan, again=True):
    """Return a launcher that interprets a plan, runs its bound launcher, and compares all written memory."""
    bound = cpu.bind(plan)

    def launch(*operands):
        targets = [] if plan.results or plan.layouts is None else [operands[-1]._storage]
        before = [target.copy() for target in targets]
        interpreted = [one.tobytes() for one in [*memories(plan, cpu.interpret(plan, operands)), *targets]]
        for target, values in zip(targets, before, strict=True):
            target[...] = values
        result = bound(*operands)
        assert [one.tobytes() for one in [*memories(plan, result), *targets]] == interpreted
        launched.append(plan)
        return result

    launched = in_both_ways.launched
    return launch


@pytest.fixture
def launched(monkeypatch):
    """The plans that have run, in both ways each."""
    forget_calls()
    in_both_ways.launched = []
    monkeypatch.setattr(Plan, "launcher", in_both_ways)
    yield in_both_ways.launched
    forget_calls()


@pytest.mark.long
@pytest.mark.parametrize("case", [*cases()], ids=str)
def test_both_ways_to_run_a_plan_agree(case, launched):
    with_gradients(case, case.leaves(case.dtype, True))()
    op = ops[case.sample.name]
    assert launched or getattr(op, "build", None) is None


def plan_of(op, *arguments):
    forget_calls()
    return op.entry(arguments)[0].plan


def test_a_plan_says_which_kernels_run_with_which_operands():
    plan = plan_of(sum_dims, numgrad.ones(3, 8)[:, ::2].t(), (0,), False, None)
    copy, fold = plan.steps
    assert isinstance(copy.kernel, PointwiseKernel)
    assert copy.kernel.program.name == "copy"
    assert isinstance(fold.kernel, HandWritten)
    assert fold.kernel.function.__name__ == "fold_columns"
    assert fold.operands[0].memory is copy.operands[2].memory  # the copy, which is not a result
    assert plan.results == (Buffer(fold.operands[-1].memory, 3, np.dtype(np.float32)),)
    assert [layout.shape for layout in plan.layouts] == [(3,)]


def test_a_plan_for_small_contiguous_tensors_serves_every_size():
    exp = ops["exp"]
    plans = [exp.entry([numgrad.ones(*shape)], exp.attributes)[0].plan for shape in [(2, 3), (5,), (1, 1, 7)]]
    assert plans[0] is plans[1] is plans[2]
    assert plans[0](numgrad.zeros(4)).tolist() == [1.0] * 4
    large = exp.entry([numgrad.ones(1 << 20)], exp.attributes)[0].plan
    assert large is not plans[0]


def test_other_threads_find_a_shared_plan_once_it_is_complete():
    class Shared(dict):
        def __setitem__(self, key, plan):
            assert plan.results
            assert plan.steps
            super().__setitem__(key, plan)

    layout = numgrad.ones(3)._layout
    program = replace(copy_program(layout.type.numpy, layout.type.numpy), plans=Shared())
    assert program.plans is not copy_program(layout.type.numpy, layout.type.numpy).plans
    plan = pointwise_plan(program, [layout], [layout])
    assert [*program.plans.values()] == [plan]


def test_numbers_come_with_the_call():
    mul = ops["mul"]
    plan = mul.entry([numgrad.ones(3), 2.0], mul.attributes)[0].plan
    assert plan.steps[0].operands[1] == Given(1, float)
    assert [plan(numgrad.ones(3), number).tolist() for number in (2.0, 5.0)] == [[2.0] * 3, [5.0] * 3]


def test_a_place_in_new_memory_comes_with_the_call():
    backward = ops["select_backward"]
    plan = plan_of(backward, numgrad.ones(2), (3, 2), 0, 1)
    assert plan.steps[0].operands[-1].start == Scaled(1, 2)
    for launch in (plan, cpu.bind(plan)):
        for number in range(3):
            row = launch(numgrad.tensor([4.0, 5.0]), number).reshape(3, 2)
            assert row[number].tolist() == [4.0, 5.0]
            assert np.count_nonzero(row) == 2


def test_a_result_with_gaps_begins_where_the_plan_says():
    whole = numgrad.arange(12.0)
    p = Plan(cpu)
    made = p.new_tensor(whole._layout)
    p.assign(p.operand(whole._layout), made)
    p.returns(made.viewed(numgrad.empty(5, 2)[:, 0]._layout, 3))
    for launch in (p, cpu.bind(p)):
        assert launch(whole)[::2].tolist() == [3.0, 5.0, 7.0, 9.0, 11.0]


def test_an_operation_that_is_called_again_is_bound():
    forget_calls()
    x = numgrad.ones(4, 3).t()
    first, second, third = [sum_dims.entry((x, (1,), False, None))[0] for _ in range(3)]
    assert first.launch is first.plan
    assert second.launch is not second.plan
    assert third is second
    assert first.launch(x).tolist() == second.launch(x).tolist() == [4.0] * 3


@pytest.mark.parametrize("first_call", [
    lambda x, index: functional.pad(x, (1, 2)), lambda x, index: x[index], lambda x, index: numgrad.full((37, 43), 2.0),
    lambda x, index: functional.cross_entropy(x, index), lambda x, index: (x * x[0].detach()).backward(x.detach()),
], ids=["pad", "index", "full", "cross_entropy", "backward"])
def test_plans_that_run_once_are_not_bound(first_call, monkeypatch):
    x, index = numgrad.rand(37, 41, requires_grad=True), numgrad.arange(37)
    monkeypatch.setattr(Writer, "launcher", None)
    first_call(x, index)


def test_launchers_of_one_form_share_their_text():
    codes = set()
    for shape in [(3, 4), (7, 9)]:
        x = numgrad.ones(*shape).t()
        codes.add(plan_of(sum_dims, x, (0,), False, None).launcher().__code__)
    assert len(codes) == 1


def test_a_step_is_left_out_if_all_that_it_writes_is_empty():
    dtype = np.dtype(np.float32)
    p = Plan(cpu)
    empty, new, target = p.new(0, dtype), p.new(3, dtype), Buffer(Input(0), 3, dtype)
    for x, out in ((new, empty), (empty, new), (empty, target)):
        p.run(softmax_rows, dtype, x, 1, 0.0, out)
    assert [step.operands[-1] for step in p.steps] == [new, target]


@pytest.mark.parametrize("reduce", [
    lambda x: x.sum(), lambda x: x.mean((0, 2)), lambda x: x.amax(1), lambda x: x.argmax(2), lambda x: x.std((0, 1)),
    lambda x: numgrad.logsumexp(x, 2), lambda x: numgrad.linalg.vector_norm(x, dim=2),
    lambda x: x.count_nonzero((1, 2)),
])  # fmt: skip
def test_reductions_of_a_permuted_tensor_copy_none_of_its_elements(reduce):
    whole, found = numgrad.arange(60.0).reshape(3, 4, 5), []
    with launches.listening(found.append):
        made = reduce(whole.permute(1, 2, 0))
    assert made.is_contiguous()
    assert not [launch for launch in found if launch.name == "copy" and launch.elements == 60]
    assert made.equal(reduce(whole.permute(1, 2, 0).contiguous()))


DRAWS = {
    "uniform": (0.5, 2.0), "normal": (1.0, 2.0), "normal_pairs": (1.0, 2.0), "bernoulli": (0.3, 1.0),
    "exponential": (2.0,), "integers": (-3, 9), "wide_integers": (0, 2**40), "permutation": (), "geometric": (0.3,),
    "cauchy": (1.0, 2.0), "log_normal": (0.5, 0.2),
}


@pytest.mark.parametrize("size", [0, 5, 40])
@pytest.mark.parametrize("draw", DRAWS)
def test_both_ways_to_draw_random_numbers_agree(draw, size):
    p, numbers = Plan(cpu), DRAWS[draw]
    generator, *operands = [p.operand(kind) for kind in (numgrad.Generator, *map(type, numbers))]
    p.results = (getattr(cpu, f"draw_{draw}")(p, generator, p.new(size, np.dtype(np.float32)), *operands),)
    interpreted, bound = [launch(numgrad.Generator().manual_seed(3), *numbers) for launch in (p, cpu.bind(p))]
    assert interpreted.size == size
    np.testing.assert_array_equal(interpreted, bound)
