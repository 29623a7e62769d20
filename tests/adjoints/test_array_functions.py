"""Functions of arrays, masks, new axes and tuples: derivatives in all modes are those of finite differences."""

from functools import cached_property

import numba
import numpy as np
import pytest
from numba import typeof

from numgrad.adjoints.program import DerivativeProgram


class InPython(DerivativeProgram):
    """Derivatives that run as Python, without compiling them."""

    @cached_property
    def _reverse(self):
        return DerivativeProgram._reverse.func(self).py_func

    @cached_property
    def _forward(self):
        function, *rest = DerivativeProgram._forward.func(self)
        return function.py_func, *rest

    @cached_property
    def _second(self):
        function, *rest = DerivativeProgram._second.func(self)
        return function.py_func, *rest


def masked(x, A):
    y = x * 2.0
    y[y < 0.0] = y[1] * y[0]
    y[x > 1.0] *= y[x > 1.0] + 1.0
    y[np.array([0, 2])] += x[:2]
    found = np.nonzero(x > 0.0)[0]
    return (y**3).sum() * A[0, 0] + x[x > 0.5].sum() * x[found].prod() + x[np.where(x < 0.0)[0]].sum() ** 2


def rows_and_columns(x, A):
    B = A * 1.0
    B[np.array([True, False])] = A[0] * x[:3]
    B[:, np.array([2, 0])] *= B[:, np.array([0, 1])]
    C = A[np.array([0, 1, 1])] * A[1, np.array([0, 1, 2])]
    return B, C[:, A[0] > 0.0]


def clipped(x, A):
    return np.clip(x * x, None, 1.5) * np.clip(x, -1.0, x[0] + 5.0), A.clip(0.1, 2.0).sum()


def sorted_and_flipped(x, A):
    return np.sort(x * x) * np.flip(x), np.diff(A[1]) ** 2


def joined(x, A):
    B = np.concatenate((A, A * A, A[:1]), axis=0)
    C = np.hstack((x, x * x[1])) * np.concatenate((x[1:], x, x[:1]))
    return B * B, C, np.stack((x, x * x), 1) * x[0], np.vstack((x, x)).T ** 2, np.column_stack((A, A * A)) * A[0, 0]


def new_axes(x, A):
    outer = x[:, np.newaxis] * x[None, :3] + A[None, 0]
    return outer * outer, np.sum(A[:, None, :] * A[None], axis=2) ** 2


def along_axes(x, A):
    B = A.reshape(1, 2, 3) * np.arange(0.5, 6.0).reshape(1, 2, 3)
    return B.sum(axis=1) ** 2, np.sum(B, 0) * A, np.sum(B, axis=-1) ** 3, (np.arange(0.0, 2.0, 0.5) * 2)[1] * x[0] ** 2


def products(x, A):
    return np.cumprod(x), np.interp(x[0] * 0.5, A[0] * 0.0 + np.arange(3.0), A[1] * A[0]) ** 2, A[1].cumprod()[2]


@numba.njit
def halves(x):
    return x * x, x[0]


def tuples(x, A):
    shape = A.shape
    n, m = shape
    pair = halves(x)
    pair = (pair[0] * pair[1], pair[1] + n) if x[0] > 0.0 else (x, x[1])
    total, B = 0.0, np.zeros((2,) + shape[1:])  # noqa: RUF005
    for each in (pair[1], x[2], 1.5):
        total += each * each
    for number in range(m):
        B[:, number] = A[:, number] * (x[0], total, x[1])[number]
    left, right = (x[0], B[0, 0]) if total > 0.0 else (B[0, 1], x[1])
    return pair[0] * left, B * right, total * len(shape)


def views(x, A):
    y = x if x[0] < 0.0 else x * x
    return x, A.T, y[::-1], A[1] * A[0]


def conditions(x, A):
    inside = (x > 0.0) & (x < 1.0) | np.isnan(x)
    y = np.where(~inside, x * x, x[1] * x) + A[0, 0] * np.arange(len(x))
    return y[np.logical_or(inside, x > 2.0)], x[0] * np.full(2, 3, dtype=np.float64)


def several_indices(x, A):
    i, j = np.array([1, 0, 1]), np.array([2, 2, 0])
    B = A * A
    B[i, j] *= A[j % 2, i] * x[:3]
    C = np.ones((2, 3, 4)) * x
    C[:, np.array([1, 2]), j[:2]] = A[:, :2]
    return B, C[:, j, i], A[np.argsort(A[:, 0]), 1]


def ordered(x, A):
    return np.roll(x, -1) * np.roll(A[0], 4)[0], np.median(x), np.median(A[0]), np.trapezoid(x, dx=0.5), np.trapezoid(
        A[0] * A[1], x[:3]
    )


FUNCTIONS = [
    masked, rows_and_columns, sorted_and_flipped, joined, along_axes, views,
    *[pytest.param(function, marks=pytest.mark.long) for function in (
        clipped, new_axes, products, tuples, conditions, several_indices, ordered,
    )],
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_in_all_modes(function):
    draw = np.random.default_rng(3)
    x, A = np.array([1.3, -0.4, 0.7, 2.1]), draw.normal(size=(2, 3))
    program = InPython(function, [typeof(x), typeof(A)], {}, ["x", "A"], [])
    direction = {"x": draw.normal(size=4), "A": draw.normal(size=(2, 3))}

    def results(step):
        made = function(x + step * direction["x"], A + step * direction["A"])
        return made if isinstance(made, tuple) else (made,)

    weights = [draw.normal(size=np.shape(each)) if np.ndim(each) else draw.normal() for each in results(0.0)]

    def gradients(step):
        moved = [x + step * direction["x"], A + step * direction["A"]]
        return program.gradients(moved, weights, {})

    def total(step):
        return sum(np.sum(each * weight) for each, weight in zip(results(step), weights, strict=True))

    h = 1e-6
    expected = (total(h) - total(-h)) / (2 * h)
    tangents = program.tangents([x, A], direction)[0]
    forward = sum(np.sum(each * weight) for each, weight in zip(tangents, weights, strict=True))
    reverse = sum(np.sum(each * direction[name]) for name, each in zip("xA", gradients(0.0), strict=True))
    assert [forward, reverse] == pytest.approx([expected] * 2, rel=1e-6, abs=1e-7)
    second = program.second([x, A], direction, weights, {})
    for each, after, before in zip(second, gradients(h), gradients(-h), strict=True):
        np.testing.assert_allclose(each, (after - before) / (2 * h), rtol=1e-5, atol=1e-6)
