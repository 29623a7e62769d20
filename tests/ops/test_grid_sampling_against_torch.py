"""Images at the points of a grid, grids of affine maps and shuffled channels against PyTorch's."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

SHAPES = [
    ((2, 3, 5, 6), (2, 4, 3, 2)), ((2, 3, 5, 1), (2, 4, 3, 2)), ((1, 2, 4, 5, 3), (1, 2, 3, 4, 3)),
    ((0, 3, 5, 6), (0, 4, 3, 2)), ((2, 3, 5, 6), (2, 0, 3, 2)),
]  # fmt: skip
HOW = [
    (mode, padding, corners) for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection") for corners in (False, True)
]


def sampled(m, x, grid, how):
    return m.nn.functional.grid_sample(x, grid, *how)


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values_and_gradients(shapes, how):
    x, grid = [randoms(shape, seed=seed, low=-1.7, high=1.7)[0] for seed, shape in enumerate(shapes)]
    assert_same(lambda m, x, grid: sampled(m, x, grid, how), x / 4, grid)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_points_far_away_and_at_no_place(how):
    (x,), (grid,) = randoms((2, 3, 5, 6)), randoms((2, 4, 3, 2), seed=1)
    for number, value in enumerate((np.nan, np.inf, -np.inf, 1e30, 1, -1, 0)):
        grid.reshape(-1)[number::11] = value
    assert_same(lambda m, x, grid: sampled(m, x, grid, how), x, grid, requires_grad=False)
    x.reshape(-1)[::5] = np.inf
    assert_same(lambda m, x, grid: sampled(m, x, grid, how), x, *randoms((2, 4, 3, 2)), requires_grad=False)


def test_single_precision():
    x, grid = [array.astype("float32") for array in randoms((2, 3, 5, 6), (2, 40, 3, 2), high=1)]
    assert_same(lambda m, x, grid: sampled(m, x, grid, ("bilinear", "zeros", False)), x, grid)


@pytest.mark.filterwarnings("ignore:Since version")
@pytest.mark.parametrize(("rank", "size"), [(2, (2, 3, 4, 5)), (2, (2, 3, 1, 4)), (3, (2, 3, 2, 3, 4))])
@pytest.mark.parametrize("corners", [False, True])
def test_grids_of_affine_maps(rank, size, corners):
    def program(m, theta):
        return m.nn.functional.affine_grid(theta, size, corners)

    assert_same(program, *randoms((2, rank, rank + 1)))


@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
@pytest.mark.parametrize("shape", [(8, 4, 4), (2, 8, 4, 6), (8,)])
@pytest.mark.parametrize("factor", [1, 2, 3, 0])
@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_shuffled_channels(name, shape, factor, layout):
    def program(m, x):
        return getattr(m, name)(x, factor)

    assert_same(program, *randoms(shape, layout=layout))


WRONG = [
    lambda m, x, g: sampled(m, x, g[:1], ()), lambda m, x, g: sampled(m, x, g.float(), ()),
    lambda m, x, g: sampled(m, x, g, ("cubic",)), lambda m, x, g: sampled(m, x, g, ("nearest", "mirror")),
    lambda m, x, g: sampled(m, x[0], g[0], ()), lambda m, x, g: sampled(m, x, g[..., :1], ()),
    lambda m, x, g: sampled(m, x, g[..., None], ()), lambda m, x, g: sampled(m, x[:, :, :0], g, ()),
    lambda m, x, g: m.nn.functional.affine_grid(g, (2, 3, 4, 5)),
    lambda m, x, g: m.nn.functional.affine_grid(g[0, :2], (2, 3, 4)),
    lambda m, x, g: m.nn.functional.affine_grid(m.ones(2, 2, 3), (3, 3, 4, 5)),
    lambda m, x, g: m.nn.functional.affine_grid(m.ones(2, 2, 3), (2, 3, 0, 5)),
    lambda m, x, g: m.nn.functional.affine_grid(m.ones(2, 2, 3).long(), (2, 3, 4, 5)),
    lambda m, x, g: m.pixel_shuffle(x, 5), lambda m, x, g: m.pixel_unshuffle(x, 4),
    lambda m, x, g: m.channel_shuffle(x, 3), lambda m, x, g: m.channel_shuffle(x, 0),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Default grid_sample")
@pytest.mark.parametrize("call", WRONG)
def test_errors_are_pytorchs(call):
    expected, found = messages(call, np.zeros((2, 8, 4, 6)), np.zeros((2, 3, 3, 2)))
    assert (type(found), str(found)) == (type(expected), str(expected))
