"""Functions, modules and training steps that are recorded and replayed, through the public interface."""

import copy
import datetime
import logging
import os
import threading
import tracemalloc
import warnings
import weakref

import pytest
from programs.comparison import calls, replays

import numgrad
from numgrad import nn
from numgrad.devices.memory import pool
from numgrad.nn.functional import cross_entropy

# -- replays -----------------------------------------------------------------------------------------------------


def test_python_runs_once_and_results_are_new():
    seen = []

    @numgrad.compile
    def f(x):
        seen.append  # noqa: B018 - a list that is found, and not changed
        return (x * 2).tanh(), {"sum": x.sum()}

    x = numgrad.randn(5)
    first, second, third = calls(f, x)
    for one in (second, third):
        assert numgrad.equal(one[0], first[0])
        assert numgrad.equal(one[1]["sum"], first[1]["sum"])
    kept = second[0].clone()
    f(x + 1)
    assert numgrad.equal(second[0], kept)
    assert second[0].data_ptr() != third[0].data_ptr()
    assert replays(f) == [1]


def test_a_training_step_is_one_program():
    def made():
        numgrad.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))
        optimizer = numgrad.optim.AdamW(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            loss = cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return model, optimizer, step

    x, y = numgrad.randn(12, 6), numgrad.randint(0, 3, (12,))
    states = []
    for wrap in (lambda step: step, numgrad.compile(fullgraph=True)):
        model, optimizer, step = made()
        step = wrap(step)
        numgrad.manual_seed(1)
        losses = []
        for number in range(6):
            optimizer.param_groups[0]["lr"] = 0.01 / (1 + number)
            losses.append(step(x, y))
        assert all(loss.requires_grad for loss in losses)
        with pytest.raises(RuntimeError, match="second time"):
            losses[-1].backward()
        grads = [parameter.grad for parameter in model.parameters()]
        states.append([
            *[loss.detach() for loss in losses], *model.state_dict().values(), *grads,
            *[value for kept in optimizer.state_dict()["state"].values() for value in kept.values()],
            *[numgrad.tensor(parameter._version) for parameter in model.parameters()], numgrad.get_rng_state(),
        ])
    assert len(states[0]) == len(states[1])
    assert all(map(numgrad.equal, *states))


def test_backward_of_a_module_is_a_program_of_its_own():
    numgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    compiled = numgrad.compile(model, fullgraph=True)
    for number in range(4):
        x = numgrad.randn(3, 4, requires_grad=True)
        other = x.detach().clone().requires_grad_()
        model.zero_grad()
        model(other).square().sum().backward()
        expected = [parameter.grad for parameter in model.parameters()]
        model.zero_grad()
        output = compiled(x)
        output.square().sum().backward()
        assert output.grad_fn.name() == "CompiledBackward"
        assert numgrad.equal(x.grad, other.grad)
        assert all(numgrad.equal(p.grad, grad) for p, grad in zip(model.parameters(), expected, strict=True)), number
    (slope,) = numgrad.autograd.grad(compiled(x).sum(), x, create_graph=True)
    (expected,) = numgrad.autograd.grad(model(other).sum(), other, create_graph=True)
    (bend,) = numgrad.autograd.grad(slope.square().sum(), x)
    assert numgrad.equal(bend, numgrad.autograd.grad(expected.square().sum(), other)[0])


def test_saved_tensors_must_not_be_changed():
    weight = nn.Parameter(numgrad.ones(3))
    compiled = numgrad.compile(lambda x: x * weight)
    x = numgrad.randn(3, requires_grad=True)
    for _ in range(2):
        compiled(x).sum().backward()
    output = compiled(x)
    with numgrad.no_grad():
        weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_a_gradient_that_was_saved_is_that_of_its_call():
    class Tripled(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 3)
            return x.exp()

        @staticmethod
        def backward(ctx, grad):
            return ctx.saved_tensors[0]

    compiled = numgrad.compile(lambda x: Tripled.apply(x))
    for factor in (1.0, 2.0, 3.0):
        x = numgrad.full((3,), factor, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad.tolist() == [3 * factor] * 3


def test_second_derivatives_are_those_of_the_call():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.0))
    compiled = numgrad.compile(lambda x: model(x) ** 3 if model.training else model(x))
    x = numgrad.randn(1, 2, requires_grad=True)
    for _ in range(3):
        compiled(x).sum().backward()
    output = compiled(x)
    model.eval()
    with pytest.raises(RuntimeError, match="has changed since it was called"):
        numgrad.autograd.grad(output.sum(), x, create_graph=True)


def test_memory_of_the_recorded_call_is_not_kept():
    gone, logger, handler = [], logging.getLogger(__name__), logging.Handler()  # a program does not look into handlers
    handler.emit = lambda record: gone.append(record.args[0])
    logger.addHandler(handler)
    logger.propagate = False

    def f(pair):
        product = pair[0] * pair[1]
        logger.warning("%s", weakref.ref(product._storage))
        return product.tanh()

    compiled = numgrad.compile(f)
    for _ in range(4):
        pair = [numgrad.randn(100_000, requires_grad=True) for _ in range(2)]
        for one in pair:
            gone += [weakref.ref(one), weakref.ref(one._storage)]
        compiled(pair).sum().backward()
    del pair, one
    assert replays(compiled) == [1]  # a list of other tensors is not another list
    logger.removeHandler(handler)
    assert len(gone) == 17  # one product: others are never made in Python
    assert all(one() is None for one in gone)


def gradient(f, size, seed):
    x = numgrad.full((size,), seed, requires_grad=True)
    f(x).backward()
    return x.grad


def test_programs_of_a_function_have_their_memory_in_common():
    def f(x):
        return ((x + 1).exp() * x.sin()).cumsum(0).sum()

    compiled = numgrad.compile(f)
    sizes, kept = range(400_000, 400_006), []
    tracemalloc.start()
    try:
        for size in sizes:
            for seed in (0.5, 0.25):
                assert numgrad.equal(gradient(compiled, size, seed), gradient(f, size, seed))
            pool.release()
            kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert kept[-1] - kept[1] < 4 * sizes[0]  # less than one tensor
    for number in range(4):  # in the same memory, larger and smaller ones in turn
        size = sizes[-number % 2]
        assert numgrad.equal(gradient(compiled, size, number / 4), gradient(f, size, number / 4))


def test_threads_that_run_programs_of_a_function():
    def f(x):
        for _ in range(4):
            x = (x * x + 1).sqrt() - x.sin().cumsum(0)
        return x.sum()

    compiled, sizes, found = numgrad.compile(f), (300_000, 400_000, 500_000), {}
    for size in sizes:
        gradient(compiled, size, 0.5)

    def run(size):
        found[size] = [gradient(compiled, size, number / 4) for number in range(6)]

    threads = [threading.Thread(target=run, args=(size,)) for size in sizes]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for size in sizes:
        for number, one in enumerate(found[size]):
            assert numgrad.equal(one, gradient(f, size, number / 4))


def test_parts_of_memory_that_differ_from_call_to_call_are_one_signature():
    data = numgrad.arange(24.0).view(8, 3)
    compiled = numgrad.compile(lambda x: x * 2 + 1, fullgraph=True)
    for row in range(0, 8, 2):
        assert numgrad.equal(compiled(data[row : row + 2]), data[row : row + 2] * 2 + 1)
    assert replays(compiled) == [1]


def test_errors_of_kernels_are_those_of_the_function():
    compiled = numgrad.compile(nn.Embedding(4, 2))
    calls(compiled, numgrad.tensor([0, 3]))
    with pytest.raises(IndexError, match="index out of range in self"):
        compiled(numgrad.tensor([0, 4]))
    assert compiled(numgrad.tensor([1, 2])).shape == (2, 2)


@pytest.mark.parametrize("kind", [numgrad.optim.Adam, numgrad.optim.NAdam, numgrad.optim.ASGD])
def test_a_step_that_fails_leaves_what_it_leaves_without_being_compiled(kind):
    """Random numbers, counts of steps, gradients and in-place changes are those of the function itself."""
    x, y = numgrad.randint(0, 5, (6, 2)), numgrad.randint(0, 3, (6,))
    states = []
    for wrap in (lambda step: step, numgrad.compile):
        numgrad.manual_seed(0)
        model = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 3))
        optimizer = kind(model.parameters())

        def step(x, y, model=model, optimizer=optimizer):
            loss = cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        seen = [step(x, y).item() for _ in range(4)]
        for wrong in ((x + 9, y), (x, y + 7)):
            with pytest.raises(IndexError) as error:
                step(*wrong)
            seen += [str(error.value), *[parameter.grad.tolist() for parameter in model.parameters()]]
        seen += [step(x, y).item(), numgrad.rand(2).tolist(), [buffer.tolist() for buffer in model.buffers()]]
        numbers = [value.item() for kept in optimizer.state.values() for value in kept.values() if value.numel() == 1]
        states.append([*seen, numbers])
    assert states[0] == states[1]


def test_errors_of_host_functions():
    total = numgrad.zeros(3)
    values = numgrad.ones(3)

    @numgrad.compile
    def solved(matrix):
        total.add_(1)
        return numgrad.linalg.solve(matrix, values)

    calls(solved, numgrad.eye(3))
    with pytest.raises(RuntimeError, match="singular"):
        solved(numgrad.zeros(3, 3))
    assert total.tolist() == [4, 4, 4]


# -- settings ----------------------------------------------------------------------------------------------------


def test_check_compares_replays_with_the_function(tmp_path):
    compiled = numgrad.compile(lambda x: x + datetime.datetime.now().microsecond, check=2)
    with pytest.raises(AssertionError, match="result 0 of the replay"):
        calls(compiled, numgrad.zeros(3, dtype=numgrad.float64))
    weight = nn.Parameter(numgrad.ones(3))
    compiled = numgrad.compile(lambda x: x * weight * len(os.listdir(tmp_path)), check=4)
    x = numgrad.ones(3)
    for _ in range(3):
        compiled(x).sum().backward()
    (tmp_path / "file").touch()
    with pytest.raises(AssertionError, match="result 0"):
        compiled(x)


def test_results_in_the_same_memory():
    compiled = numgrad.compile(lambda x: (x * 2, x.sum()), reuse=True)
    first, second = [compiled(numgrad.full((4,), value)) for value in (1.0, 2.0, 3.0)][1:]
    assert first[0].data_ptr() == second[0].data_ptr()
    assert second[0].tolist() == [6] * 4
    weight = nn.Parameter(numgrad.ones(3))
    differentiable = numgrad.compile(lambda x: x * weight, reuse=True)
    for _ in range(2):
        differentiable(numgrad.ones(3)).sum().backward()
    one, other = differentiable(numgrad.ones(3)), differentiable(numgrad.zeros(3))
    assert one.tolist() == [1] * 3
    assert other.tolist() == [0] * 3


def test_compiled_functions_can_be_switched_off():
    called = []

    def f(x):
        called and called.append(None)
        return x + 1

    compiled = numgrad.compile(f)
    calls(compiled, numgrad.ones(2))
    called.append(None)
    with numgrad.compiler.set_stance("force_eager"):
        compiled(numgrad.ones(2))
    assert len(called) == 2
    numgrad.compiler.reset()
    assert not compiled.signatures
    with pytest.raises(RuntimeError, match="invalid stance 'sideways'"):
        numgrad.compiler.set_stance("sideways")


def test_a_compiled_module_is_a_module():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    compiled = numgrad.compile(model)
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert compiled.training
    compiled.eval()
    assert not model[1].training
    model.train()
    assert compiled.training
    compiled.eval()
    compiled.scale = 2
    assert model.scale == 2
    del compiled.scale
    assert not hasattr(model, "scale")
    x = numgrad.randn(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(numgrad.equal(output, model(x)) for output in calls(compiled, x))


def test_methods_are_compiled_for_each_object():
    class Line:
        def __init__(self, slope):
            self.slope = numgrad.tensor(slope)

        @numgrad.compile(fullgraph=True)
        def at(self, x):
            return self.slope * x

    x = numgrad.tensor([1.0, 2.0])
    for slope in (2.0, 3.0):
        line = Line(slope)
        assert all(numgrad.equal(result, x * slope) for result in calls(line.at, x))


def test_a_module_compiles_itself_in_place():
    numgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    expected = model(numgrad.ones(4, 2))
    model.compile(fullgraph=True)
    copied = copy.deepcopy(model)
    for own in (model, copied):
        assert all(numgrad.equal(output, expected) for output in calls(own, numgrad.ones(4, 2)))
    assert [*model.state_dict()] == ["0.weight", "0.bias"]
    assert replays(model.forward) == replays(copied.forward) == [1]
    with numgrad.no_grad():
        copied[0].weight.zero_()
    assert numgrad.equal(model(numgrad.ones(4, 2)), expected)
    assert not numgrad.equal(copied(numgrad.ones(4, 2)), expected)
