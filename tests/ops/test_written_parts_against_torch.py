"""Random programs that write to parts and views of one tensor: elements, gradients and graphs are PyTorch's."""

import random

import numpy as np
import pytest

import numgrad

pytestmark = pytest.mark.torch

SIZE = 6


def random_index(choice):
    start = choice.randrange(SIZE)
    stop = choice.randrange(start, SIZE + 1)
    return choice.choice([
        start, slice(start, stop), slice(None), slice(None, None, 2), (slice(None), choice.randrange(SIZE)),
        (slice(start, stop), slice(choice.randrange(3), None)), (Ellipsis, slice(start, stop)),
    ])


def run(m, number):
    """Run a program with the module ``m``: return the graph's names, the elements, and the gradients of the leaves."""
    choice, numbers = random.Random(number), np.random.default_rng(number)

    def leaf(*shape):
        return m.tensor(numbers.standard_normal(shape), requires_grad=True)

    matrix, row, line, one, plain = leaf(SIZE, SIZE), leaf(SIZE), leaf(1, SIZE), leaf(1), leaf(SIZE).detach()
    base = matrix * 2
    views, losses = [base], []
    for _ in range(choice.randint(1, 5)):
        target, index, kind = choice.choice(views), random_index(choice), choice.randrange(7)
        value = choice.choice([3, 2.0, plain[:1], plain.sum(), row[:1], one, one.sum()])
        try:
            if kind == 0:
                target[index] = value
            elif kind == 1:
                target[index] += value
            elif kind == 2:
                target[index] = target[index]
            elif kind == 3:
                base[index] = base[index] * one
            elif kind == 4:
                base[index] = choice.choice([plain, row, line, matrix])
            elif kind == 5:
                base[index] = base[random_index(choice)].clone()
            else:
                views.append(target[index])
        except (IndexError, RuntimeError):  # of shapes, which the next programs avoid by chance
            losses.append(base.sum())
    loss = sum(losses, (views[-1] ** 2).sum() + (base * base).sum())
    found = [base.detach().numpy()]
    try:
        gradients = m.autograd.grad(loss, [matrix, row, line, one], allow_unused=True)
        found += [gradient if gradient is None else gradient.numpy() for gradient in gradients]
    except RuntimeError as error:  # a saved tensor was written to
        found.append(str(error)[:60])
    return names(loss.grad_fn, 7), found


def names(node, depth):
    """Return the name of a node, and those of the nodes before it to this depth."""
    if node is None or not depth:
        return None
    return node.name().split("::")[-1], *[names(before, depth - 1) for before, _ in node.next_functions]


@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_random_programs(start):
    import torch

    for number in range(start, start + 100):
        (graph, found), (wanted_graph, wanted) = run(numgrad, number), run(torch, number)
        assert graph == wanted_graph, number
        for value, other in zip(found, wanted, strict=True):
            if isinstance(value, np.ndarray):
                np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-12, err_msg=str(number))
            else:
                assert value == other, number
