"""Joining and clearing on a GPU, compared with the CPU."""

import numpy as np
import pytest

import numgrad as torch
from numgrad.devices import launches


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def both(array):
    """A tensor on the CPU, and one on the GPU."""
    made = torch.from_numpy(array)
    return made, made.to("cuda")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool", "complex128"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_cat(cuda, generator, dtype, dim):
    shapes = [[2, 3, 4] for _ in range(6)]
    for number, shape in enumerate(shapes):
        shape[dim] = number
    pairs = [both(generator.integers(0, 5, shape).astype(dtype)) for shape in shapes]
    expected, found = [torch.cat(given, dim) for given in zip(*pairs, strict=True)]
    assert found.device.type == "cuda"
    np.testing.assert_array_equal(found.cpu().numpy(), expected.numpy())


def test_cat_of_tensors_that_are_not_row_major(cuda, generator):
    pairs = [both(generator.random((3, 5), np.float32)) for _ in range(2)]
    expected, found = [torch.cat([a.t(), b[:, 1:4].t()], 0) for a, b in zip(*pairs, strict=True)]
    np.testing.assert_array_equal(found.cpu().numpy(), expected.numpy())


def test_cat_of_parts_that_begin_at_odd_addresses(cuda, generator):
    made, mine = both(generator.integers(0, 99, 41).astype(np.int8))
    expected, found = [torch.cat([x[1:20], x[3:3], x[20:28]]) for x in (made, mine)]
    np.testing.assert_array_equal(found.cpu().numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (5, 2), (2, 3, 4, 4), (0, 3, 3)])
def test_triangles(cuda, generator, name, shape):
    made, mine = both(generator.random(shape, np.float32))
    for diagonal in (-2, 0, 1, 7):
        expected, found = [getattr(torch, name)(x, diagonal) for x in (made, mine)]
        np.testing.assert_array_equal(found.cpu().numpy(), expected.numpy())


def test_triangles_in_place_of_any_strides(cuda, generator):
    made, mine = both(generator.random((3, 2, 4, 5), np.float32))
    for x in (made, mine):
        x.permute(1, 3, 0, 2)[:, 1:].tril_(-1)
    np.testing.assert_array_equal(mine.cpu().numpy(), made.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("view", [
    lambda x: x[0].t(), lambda x: x.permute(0, 2, 1), lambda x: x.transpose(0, 2), lambda x: x[1:, :, 1:-2].mT,
    lambda x: x[:, ::2].mT, lambda x: x[0, :, :1].t(),
], ids=["matrix", "matrices", "other axes", "part", "every other row", "one column"])  # fmt: skip
def test_transposed_copies(cuda, generator, dtype, view):
    shape = cuda.pointwise.LEAST, cuda.pointwise.TILE + 8, cuda.pointwise.TILE + 5
    made, mine = both(generator.integers(0, 99, shape).astype(dtype))
    kernels = []
    with launches.listening(lambda launch: kernels.append(launch.name)):
        copy = view(mine).contiguous()
    assert kernels == (["copy"] if 1 in view(made).shape[-2:] else ["transpose"])
    np.testing.assert_array_equal(copy.cpu().numpy(), view(made).contiguous().numpy())
    target, wanted = torch.zeros_like(mine), torch.zeros_like(made)
    view(target).copy_(view(mine).contiguous())
    view(wanted).copy_(view(made).contiguous())
    np.testing.assert_array_equal(target.cpu().numpy(), wanted.numpy())
