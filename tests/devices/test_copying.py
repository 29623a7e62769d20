"""Copies from one layout to another, of few and of many elements, against NumPy."""

import numpy as np
import pytest

import numgrad
from numgrad.core.layout import layout_of
from numgrad.devices.cpu import copying

LAYOUTS = {
    "one element": lambda x: x[3:4, 5:6].expand(301, 403),
    "a column": lambda x: x[:, 1:2].expand(300, 403),
    "a row": lambda x: x[7:8].expand(301, 400),
    "every plane": lambda x: x.unsqueeze(1).expand(300, 3, 400),
    "short rows": lambda x: x[:, :3],
    "a part": lambda x: x[1:-1, 1:-1],
    "every other row": lambda x: x[::2],
    "every other column": lambda x: x[:, ::2],
    "transposed": lambda x: x.t(),
    "heads": lambda x: x.view(6, 50, 8, 50).permute(0, 2, 1, 3),
    "five dimensions": lambda x: x.view(6, 5, 10, 8, 50).permute(3, 1, 0, 2, 4),
    "all": lambda x: x,
}


@pytest.mark.parametrize(("layout", "dtype"), [
    *[(layout, "float32") for layout in LAYOUTS], ("short rows", "bool"), ("transposed", "complex128"),
])
def test_contiguous_copies(layout, dtype):
    values = np.random.default_rng(1).integers(0, 100, (300, 400)).astype(dtype)
    for rows in (300, 12):  # enough for several threads, or not
        x = LAYOUTS[layout](numgrad.from_numpy(values)) if rows == 300 else numgrad.from_numpy(values[:rows])[:, ::2]
        copy = x.contiguous().clone()
        assert copy.is_contiguous()
        np.testing.assert_array_equal(copy.numpy(), x.numpy())
        assert not np.shares_memory(copy.numpy(), values)


@pytest.mark.parametrize("width", [1, 2, 13, 5000, 40_000])
def test_parts_of_a_larger_tensor_are_overwritten_alone(width):
    target = numgrad.full((5, 2 * width + 3), 7.0)
    source = numgrad.randn(5, width)
    target[:, 2 : 2 + width] = source
    expected = np.full((5, 2 * width + 3), 7, np.float32)
    expected[:, 2 : 2 + width] = source.numpy()
    np.testing.assert_array_equal(target.numpy(), expected)


@pytest.mark.parametrize(("shape", "strides", "own", "steps", "found"), [
    ((50, 100), None, (50, 1), None, ((0, 0, 1, 0), (0, 0, 100), (1, 1, 50, 100))),
    ((50, 100), None, (100,), None, ((0, 0, 0, 1), (0, 0, 100), (1, 1, 50, 100))),
    ((50, 100), None, (), None, ((0, 0, 0, 0), (0, 0, 0), (1, 1, 1, 5000))),
    ((50, 100), (300, 1), (50, 100), None, ((0, 0, 100, 1), (0, 0, 300), (1, 1, 50, 100))),
    ((50, 100), None, (50, 100), (1, 50), None),
])  # fmt: skip
def test_the_runs_of_a_copy(shape, strides, own, steps, found):
    assert copying._runs(layout_of(None, own, steps), layout_of(None, shape, strides)) == found


@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_what_is_joined_are_nobody_elses(dim):
    x, y = numgrad.ones(300, 200, requires_grad=True), numgrad.ones(300, 200, requires_grad=True)
    given = numgrad.ones(*((600, 200) if dim == 0 else (300, 400)))
    numgrad.cat([x, y], dim).backward(given)
    x.grad.add_(1)
    assert given.sum().item() == given.numel()
    assert y.grad.sum().item() == y.numel()
    joined = numgrad.cat([x, y, x], dim)
    joined.retain_grad()
    (2 * joined).sum().backward()
    x.grad.add_(1)
    assert x.grad.unique().tolist() == [7]
    assert y.grad.unique().tolist() == [3]
    assert joined.grad.unique().tolist() == [2]
