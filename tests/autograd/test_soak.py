"""Many rounds of many programs at once: all memory is freed, and threads do not disturb each other."""

import contextlib
import gc
import random
import threading

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function, graph
from numgrad.autograd.node import Node


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ctx.factor + 0 * x, None


def plain(x):
    return (x.exp() * x).sum()


def views(x):
    y = x * 2
    y[0].mul_(3)
    row = y[1]
    y.add_(1)
    row.unsqueeze_(0).copy_(x[:1])
    return (y * row.sum()).sum() + sum(part.sum() for part in y.unbind())


def function(x):
    return Scale.apply(Scale.apply(x, 3), 0.5).tanh().sum()


def hooks(x):
    y = x.tanh()
    y.retain_grad()
    y.register_hook(lambda grad: grad * 2)
    y.grad_fn.register_prehook(lambda grads: grads)
    y.grad_fn.register_hook(lambda inputs, outputs: inputs)
    handle = x.register_hook(lambda grad: grad.clone())
    total = (y * y).sum()
    total.grad_fn.register_hook(lambda inputs, outputs: handle.remove())
    return total


def saved(x):
    with graph.saved_tensors_hooks(lambda t: [t], lambda kept: kept[0]):
        y = x.exp() * x
    with graph.save_on_cpu():
        return (y**2).mean()


def twice(x):
    first, = numgrad.autograd.grad((x**3).sum(), x, create_graph=True)
    return (first * first).sum()


def nested(x):
    y = x * 2
    with numgrad.no_grad():
        inner = (x.detach() * 3).requires_grad_()
    with numgrad.enable_grad():
        inner.tanh().sum().backward()
    return (y * inner.grad).sum()


def abandoned(x):
    (x.exp() * x).tanh()  # without backward
    with contextlib.suppress(RuntimeError):
        y = x * 1
        z = y * y
        y.zero_()
        z.sum().backward()
    return x.logsumexp(0).sum()


PROGRAMS = [plain, views, function, hooks, saved, twice, nested, abandoned]


def live():
    """Return the numbers of live nodes and tensors."""
    return sum(issubclass(type(thing), Node | numgrad.Tensor) for thing in gc.get_objects())


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_left_in_memory(program):
    x = tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], requires_grad=True)

    def step():
        x.grad = None
        program(x).backward()

    for _ in range(3):
        step()
    gc.collect()
    gc.disable()
    try:
        before = live()
        for _ in range(50):
            step()
        assert live() == before
    finally:
        gc.enable()


def test_threads_with_graphs_of_their_own_on_shared_leaves():
    """Every thread runs all programs in an order of its own; the gradients are the sum of what each gives alone."""
    rounds, count = 6, 8
    alone = [[0.0] * 6 for _ in PROGRAMS]
    for number, program in enumerate(PROGRAMS):
        if program is not hooks:  # called once for every gradient that reaches the leaf, from any thread
            leaf = tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=numgrad.float64, requires_grad=True)
            program(leaf).backward()
            alone[number] = leaf.grad.reshape(6).tolist()
    shared = tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], dtype=numgrad.float64, requires_grad=True)
    errors = []

    def work(seed):
        order = random.Random(seed)
        try:
            for _ in range(rounds):
                for program in order.sample(PROGRAMS, len(PROGRAMS)):
                    if program is not hooks:
                        program(shared).backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    expected = [rounds * count * sum(column) for column in zip(*alone, strict=True)]
    assert shared.grad.reshape(6).tolist() == pytest.approx(expected, rel=1e-10)


def test_modes_and_hooks_of_one_thread_are_not_anothers():
    errors, start = [], threading.Barrier(6)

    def work(seed):
        choose = random.Random(seed)
        packed = []
        x = ones(3, requires_grad=True)
        modes = {
            "grad": (numgrad.enable_grad, True), "no grad": (numgrad.no_grad, False),
            "inference": (numgrad.inference_mode, False),
        }

        def pack(t):
            packed.append(t)
            return t

        try:
            start.wait()
            for _ in range(200):
                context, records = modes[choose.choice([*modes])]
                with context(), graph.saved_tensors_hooks(pack, lambda t: t):
                    y = x.exp()
                    assert y.requires_grad == records
                    assert y.is_inference() == (context is numgrad.inference_mode)
                assert len(packed) == int(records)
                packed.clear()
                assert numgrad.is_grad_enabled()
                assert not numgrad.is_inference_mode_enabled()
                assert x.exp().requires_grad
                assert packed == []
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
