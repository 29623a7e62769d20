"""Compiled programs whose kernels are merged and run tile by tile: the bits are those of the function itself."""

import os
import threading
import time

import numpy as np
import pytest
from programs.comparison import program_of

import numgrad
from numgrad.devices.cpu.tiling import Tiles
from numgrad.programs import background
from numgrad.programs.groups import ROWS_TILE, TILE

F = numgrad.nn.functional


def random(*shape, dtype=numgrad.float32):
    return numgrad.randn(*shape, dtype=dtype, generator=numgrad.Generator().manual_seed(sum(shape)))


def steps_of(program):
    return [step for segment in program.plan.steps for step in segment]


def tiles_of(program):
    return [step for step in steps_of(program) if isinstance(step, Tiles)]


def flat(result):
    return [result] if isinstance(result, numgrad.Tensor) else list(result)


def tiled(function, *arguments):
    """The program of a function that runs tile by tile and gives the same bits, and its earlier result."""
    compiled = numgrad.compile(function, fullgraph=True)
    expected = [tensor.detach().clone() for tensor in flat(function(*arguments))]
    for _ in range(2):
        compiled(*arguments)
    program = program_of(compiled)
    before = program.plan.arena
    program.improve()
    assert tiles_of(program)
    for result, right in zip(flat(compiled(*arguments)), expected, strict=True):
        assert result.numpy().tobytes() == right.numpy().tobytes()
    return program, before


def gradients(function):
    def program(*arguments):
        leaves = [argument for argument in arguments if argument.requires_grad]
        result = function(*arguments)
        return (result.detach(), *numgrad.autograd.grad(result.sum(), leaves))

    return program


def chain(x, y):
    z = (x * y + 1.5).abs() + 0.25
    return (z * x - y) * z + x.tanh()


def soft_max(x):
    e = (x - x.amax(1, keepdim=True)).exp()
    return e / e.sum(1, keepdim=True)


def layer_norm(x, weight, bias):
    d = x - x.mean(1, keepdim=True)
    return d / ((d * d).mean(1, keepdim=True) + 1e-5).sqrt() * weight + bias


def masked(x, y):
    return numgrad.where((x > 0) & (y < 1), x * y, x - y).relu() + (x > y) * y


@pytest.mark.parametrize("size", [TILE + 1, 2 * TILE, 10 * TILE + 7, 70_001])  # the last has leaves of a reduction
@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64])
def test_chains(size, dtype):
    x, y = random(size, dtype=dtype).requires_grad_(), random(size, dtype=dtype).requires_grad_()
    tiled(lambda x, y: chain(x, y).sum(), x.detach(), y.detach())
    program, before = tiled(gradients(chain), x, y)
    assert program.plan.arena < before / 3
    (tiles,) = tiles_of(program)
    assert len(tiles.runs) < 8


@pytest.mark.parametrize(
    "shape", [(ROWS_TILE // 64 + 3, 64), (40, 333), (9, 4096), (300, 128), (1100, 96), (4001, 10)]
)
def test_rows(shape):
    x = random(*shape).requires_grad_()
    weight, bias = random(shape[1]).requires_grad_(), random(shape[1]).requires_grad_()
    tiled(soft_max, x.detach())
    tiled(gradients(soft_max), x)
    tiled(layer_norm, x.detach(), weight.detach(), bias.detach())
    tiled(gradients(layer_norm), x, weight, bias)


@pytest.mark.parametrize(
    "function",
    [
        masked,
        lambda x, y: (x.t() * 2 + y.t()).exp() * y.t(),
        lambda x, y: (x[:, 1:] - x[:, :-1]).square() + y[:, 1:] * 0.5,
        lambda x, y: (x[:, :1] * y + y[0] * x).sin() + x.mean(1, keepdim=True) * y,
        lambda x, y: (x.double() * y + 1).float() * x,
        lambda x, y: (x.view(6, 10, 10, 10).transpose(1, 2) * y.view(6, 10, 10, 10)[:, :, :1]).exp() + 1,
    ],
    ids=["masks", "transposed", "shifted", "broadcast", "dtypes", "dimensions"],
)
def test_accesses(function):
    tiled(function, random(60, 100), random(60, 100))


def test_kernels_whose_results_are_unused():
    def program(x):
        (x[:, ::2] * 2).abs()
        return (x * 3).tanh() + 1

    tiled(program, random(60, 1000))


def test_in_place():
    def adam(parameter, mean, square, grad):
        mean.mul_(0.9).add_(grad, alpha=0.1)
        square.mul_(0.99).addcmul_(grad, grad, value=0.01)
        parameter.sub_(0.01 * mean / (square.sqrt() + 1e-8))
        return (parameter * 2).sum()

    def state():
        return [random(9000), random(9001)[1:], random(9002)[2:].abs(), random(9003)[3:]]

    ours, theirs = state(), state()
    compiled = numgrad.compile(adam, fullgraph=True)
    for number in range(6):
        assert compiled(*ours).item() == adam(*theirs).item()
        assert all(map(numgrad.equal, ours, theirs))
        if number == 2:
            program_of(compiled).improve()
    (tiles,) = tiles_of(program_of(compiled))
    assert len(tiles.runs) == 1


def shifted(x):
    y = x[1:] * 2
    x[:-1].add_(y)
    return x[1:] * 3 + y  # the last element of a tile is the first that the next tile writes


def scaled_by_an_element(x):
    y = x[:-1] * x[3]
    x[:-1].add_(y)  # and so does that one
    return (x[:-1] + y) * x[3]


def reversed_halves(x):
    half = len(x) // 2
    first, second = x[:half], x[half : 2 * half]
    first.add_(second)
    second.mul_(first.flip(0))
    return first * second + 1


@pytest.mark.parametrize("function", [shifted, scaled_by_an_element, reversed_halves])
def test_elements_that_other_tiles_write(function):
    compiled = numgrad.compile(function, fullgraph=True)
    for number in range(4):
        ours, theirs = random(5000), random(5000)
        assert numgrad.equal(compiled(ours), function(theirs))
        assert numgrad.equal(ours, theirs)
        if number == 1:
            program_of(compiled).improve()
    assert tiles_of(program_of(compiled))


def test_nothing_moves_past_a_step_that_may_fail():
    def program(x, total, index):
        change = x * 2 + 1
        picked = x[index]
        total.add_(change)
        return picked + 1

    x, total = random(5000), random(5000)
    compiled = numgrad.compile(program, fullgraph=True)
    for _ in range(2):
        compiled(x, total, numgrad.tensor([1, 2]))
    program_of(compiled).improve()
    assert tiles_of(program_of(compiled))
    expected = total.clone()
    with pytest.raises(IndexError):
        compiled(x, total, numgrad.tensor([1, 5000]))
    assert numgrad.equal(total, expected)


def test_numbers_in_memory():
    scale = numgrad.tensor(2.0)
    x, y = random(5000), random(5000)
    compiled = numgrad.compile(lambda x, y, s: ((x * s + y) * s).sum() / s, fullgraph=True)
    for value in (2.0, 3.0, 4.0, 5.0):
        scale.fill_(value)
        assert compiled(x, y, scale).item() == (((x * scale + y) * scale).sum() / scale).item()
        if value == 3.0:
            program_of(compiled).improve()
    assert tiles_of(program_of(compiled))


def test_threads_share_tiles():
    x, y = random(300_001).requires_grad_(), random(300_001).requires_grad_()
    threads = numgrad.get_num_threads()
    program, _ = tiled(gradients(chain), x, y)
    (tiles,) = tiles_of(program)
    assert tiles.parallel == (threads > 1)
    results = []
    try:
        for count in (1, threads):
            numgrad.set_num_threads(count)
            results.append([tensor.numpy().tobytes() for tensor in program.run([x, y])])
    finally:
        numgrad.set_num_threads(threads)
    assert results[0] == results[1]


def test_a_program_that_runs_often_gets_tiles_in_the_background():
    x = random(400_000)
    compiled = numgrad.compile(lambda x: (x * 2 + 1).tanh() * x, fullgraph=True)
    expected = compiled(x)
    program = program_of(compiled)
    assert not tiles_of(program)
    for _ in range(6):
        assert numgrad.equal(compiled(x), expected)
    background.finish()
    assert tiles_of(program)
    assert numgrad.equal(compiled(x), expected)
    inspected = str(numgrad.inspect(compiled).text("steps"))
    assert f"{tiles_of(program)[0].count} tiles: " in inspected


def test_small_programs_stay_as_they_are():
    compiled = numgrad.compile(lambda x: (x * 2 + 1).tanh() * x, fullgraph=True)
    for _ in range(6):
        compiled(random(500))
    background.finish()
    program = program_of(compiled)
    program.improve()
    assert not tiles_of(program)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_what_runs_in_the_background():
    """The child could wait forever for a lock that the thread holds, such as llvmlite's."""
    begun, done = threading.Event(), []

    def task():
        begun.set()
        time.sleep(0.2)
        done.append(True)

    background.in_background(task)
    begun.wait()
    child = os.fork()
    if not child:
        os._exit(0 if done else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_does_not_wait_for_the_background():
    x = random(400_000)
    compiled = numgrad.compile(lambda x: (x * 3 + 1).sin() * x, fullgraph=True)
    expected = compiled(x)
    for _ in range(4):
        compiled(x)
    child = os.fork()
    if not child:
        background.finish()
        os._exit(0 if np.array_equal(compiled(x).numpy(), expected.numpy()) else 1)
    assert os.waitpid(child, 0)[1] == 0
    background.finish()


def test_scratch_memory_is_limited():
    def program(x):
        rows = [(x - number).tanh() for number in range(60)]
        total = rows[0].sum(1, keepdim=True)
        for row in reversed(rows):
            total = (row * total).sin().sum(1, keepdim=True)
        return total

    program, _ = tiled(program, random(30, 1000, dtype=numgrad.float64))
    (tiles,) = tiles_of(program)
    assert 100_000 < tiles.scratch <= 1 << 18
    assert program.plan.arena > 30 * 1000 * 8


# --- forward and backward as two programs


def trained(function, *arguments):
    """A compiled function after calls with backward, its two programs, and the bytes that forward saved at first."""
    compiled = numgrad.compile(function, fullgraph=True)
    for _ in range(2):
        numgrad.autograd.grad(compiled(*arguments), arguments)
    program = program_of(compiled)
    saved = program.forward.plan.saved_size
    early = compiled(*arguments)
    numgrad.autograd.grad(compiled(*arguments), arguments)
    background.finish()
    assert tiles_of(program.forward)
    assert tiles_of(program.backward)
    return compiled, program, saved, early


def bits(tensors):
    return [tensor.numpy().tobytes() for tensor in tensors]


def logistic_map(x, r):
    for _ in range(4):
        x = r * x * (1 - x)
    return x.sum()


def test_backward_computes_cheap_values_again():
    x, r = (random(size).requires_grad_() for size in (100_000, 100_000))
    compiled, program, saved, early = trained(logistic_map, x, r)
    assert saved > 2_000_000
    assert program.forward.plan.saved_size == 0
    expected = bits(numgrad.autograd.grad(logistic_map(x, r), (x, r)))
    assert bits(numgrad.autograd.grad(compiled(x, r), (x, r))) == expected
    assert bits(numgrad.autograd.grad(early, (x, r))) == expected  # its values were saved
    loss = compiled(x, r)
    with numgrad.no_grad():
        r.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_backward_does_not_rely_on_arguments_that_it_need_not_read():
    def program(x):
        y = x + 1
        return (y * y * 0.5 * y).sum()

    x = random(200_000).requires_grad_()
    compiled, two, saved, _ = trained(program, x)
    assert 0 < two.forward.plan.saved_size < saved
    (expected,) = numgrad.autograd.grad(program(x), x)
    loss = compiled(x)
    with numgrad.no_grad():
        x.mul_(2)
    assert bits(numgrad.autograd.grad(loss, x)) == bits([expected])


class Square(numgrad.autograd.Function):
    """The square, whose gradient for gradients of 1 is a saved tensor."""

    @staticmethod
    def forward(ctx, x):
        slope = x * 2
        ctx.save_for_backward(slope)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return ctx.saved_tensors[0]


def test_gradients_in_saved_memory_stay_there():
    def program(x, y):
        z = y * y
        return (z * z).sum() + Square.apply(x).sum()

    x, y = (random(size).requires_grad_() for size in (200_000, 200_000))
    compiled, _, _, _ = trained(program, x, y)
    expected = bits(numgrad.autograd.grad(program(x, y), (x, y)))
    assert bits(numgrad.autograd.grad(compiled(x, y), (x, y))) == expected


def test_expensive_values_are_saved():
    x = random(200_000).requires_grad_()
    _, two, saved, _ = trained(lambda x: (x.tanh() * 2 + 1).tanh().sum(), x)
    assert saved / 2 <= two.forward.plan.saved_size < saved
