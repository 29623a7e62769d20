"""Means of windows, adaptive pools, unpooling and images in other sizes against PyTorch's."""

import functools

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

SHAPES = {1: (2, 3, 9), 2: (2, 3, 9, 8), 3: (2, 3, 5, 6, 7)}
EACH_RANK = pytest.mark.parametrize("rank", [1, 2, 3])
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def function(m, name):
    return getattr(m.nn.functional, name)


@EACH_RANK
@DTYPES
@pytest.mark.parametrize(
    "arguments", [(2,), (3, 2, 1), (3, 1, 1, True), (4, 3, 2, True, False), (1, 2), ((2,), ()), (5, 5, 2, True)]
)
def test_means_of_windows(rank, dtype, arguments):
    name = f"avg_pool{rank}d"
    assert_same(lambda m, x: function(m, name)(x, *arguments), *randoms(SHAPES[rank], dtype=dtype))
    assert_same(lambda m, x: function(m, name)(x, *arguments), *randoms(SHAPES[rank][1:], dtype=dtype))


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("divisor", [1, 3, -2])
def test_means_with_another_divisor(rank, divisor):
    def program(m, x):
        return [function(m, f"avg_pool{rank}d")(x, k, 1, divisor_override=divisor) for k in (1, 3)]

    assert_same(program, *randoms(SHAPES[rank]))


@EACH_RANK
@pytest.mark.parametrize("arguments", [(2,), (3, 2, 1), (3, 2, 1, True, False)])
def test_means_of_integers_are_rounded_towards_0(rank, arguments):
    x = np.random.default_rng(0).integers(-9, 9, SHAPES[rank])
    assert_same(lambda m, x: function(m, f"avg_pool{rank}d")(x, *arguments), x)


@EACH_RANK
@pytest.mark.parametrize("size", [1, 2, 4, 7, 11])
@pytest.mark.parametrize("layout", ["contiguous", "stepped"])
def test_adaptive_pools(rank, size, layout):
    def program(m, x):
        return [
            function(m, f"adaptive_avg_pool{rank}d")(x, size),
            *function(m, f"adaptive_max_pool{rank}d")(x, size, return_indices=True),
            *function(m, f"adaptive_max_pool{rank}d_with_indices")(x, size),
        ]

    assert_same(program, *randoms(SHAPES[rank], layout=layout))
    assert_same(program, *randoms(SHAPES[rank][1:], layout=layout))


def test_an_adaptive_pool_may_keep_a_size():
    def program(m, x):
        return [function(m, f"adaptive_{name}_pool2d")(x, (None, 3)) for name in ("avg", "max")]

    assert_same(program, *randoms(SHAPES[2]))


@EACH_RANK
@pytest.mark.parametrize("power", [1, 2, 3.0, 2.5])
def test_norms_of_windows(rank, power):
    def program(m, x):
        return [function(m, f"lp_pool{rank}d")(x, power, *how) for how in ((2,), (3, 2), (3, 2, True))]

    assert_same(program, *randoms(SHAPES[rank], low=0.1))


@pytest.mark.parametrize("shape", [(3, 4, 9), (3, 4, 5, 2), (2, 3, 2, 3, 4)])
def test_local_response_norm(shape):
    def program(m, x):
        return [function(m, "local_response_norm")(x, *how) for how in ((2,), (3, 0.1, 0.5, 2.0))]

    assert_same(program, *randoms(shape), graph=False)


@EACH_RANK
@pytest.mark.parametrize("size", [None, "more"])
def test_unpooling(rank, size):
    def program(m, x):
        out, indices = function(m, f"max_pool{rank}d")(x, 2, return_indices=True)
        wanted = None if size is None else x.shape[2:]
        return function(m, f"max_unpool{rank}d")(out.detach().requires_grad_() * 1, indices, 2, output_size=wanted)

    assert_same(program, *randoms((2, 3, *SHAPES[rank][2:]) if size else (2, 3, *(8,) * rank)))


def _unpool(m, x, **how):
    indices = m.arange(x.numel()).reshape(x.shape) % 9
    return function(m, "max_unpool2d")(x, how.pop("indices", lambda i: i)(indices), 2, **how)


@pytest.mark.parametrize("how", [
    {"output_size": (9, 9)}, {"output_size": (7,)}, {"indices": lambda i: i.int()}, {"indices": lambda i: i[:1]},
    {"indices": lambda i: i.reshape(2, 9), "flat": True}, {"whole": True}, {"indices": lambda i: i * 0 + 36},
])  # fmt: skip
def test_refusals_of_unpooling(how):
    how = dict(how)
    shape, dtype = (2, 9) if how.pop("flat", False) else (2, 3, 3), "int64" if how.pop("whole", False) else "float64"
    expected, found = messages(lambda m, x: _unpool(m, x, **how), np.zeros(shape, dtype))
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected))


@pytest.mark.parametrize("rank", [2, 3])
@DTYPES
@pytest.mark.parametrize("how", [(2, 3), (3, 1), (2, (4, 3, 2))])
def test_windows_at_random_places(rank, dtype, how):
    kernel, size = how
    size = size if isinstance(size, int) else size[-rank:]

    def program(m, x):
        m.manual_seed(3)
        seeded = function(m, f"fractional_max_pool{rank}d")(x, kernel, size)
        return [seeded, *function(m, f"fractional_max_pool{rank}d")(
            x, kernel, size, return_indices=True, _random_samples=m.full((2, 3, rank), 0.3, dtype=x.dtype)
        )]

    assert_same(program, *randoms((2, 3, *(7, 8, 9)[-rank:]), dtype=dtype))


WRONG = [
    ((2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, (1, 2, 3))), ((2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, 2, (1, 2, 3))),
    ((2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, 2, 0)), ((2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, 2, 1, 2)),
    ((2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, 20)), ((1, 3, 5, 6, 7), lambda f, x: f.avg_pool3d(x, 20)),
    ((2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, 2, divisor_override=0)), ((9, 8), lambda f, x: f.avg_pool3d(x, 2)),
    ((2, 0, 9, 8), lambda f, x: f.avg_pool2d(x, 2)), ((1, 2, 3, 9, 8), lambda f, x: f.avg_pool2d(x, 2)),
    ((1, 2, 3, 9), lambda f, x: f.avg_pool1d(x, 2)), ((2, 3, 9), lambda f, x: f.avg_pool1d(x, (1, 2))),
    ((9, 8), lambda f, x: f.adaptive_avg_pool2d(x, 2)), ((9, 8), lambda f, x: f.adaptive_avg_pool2d(x, (2, 2))),
    ((2, 3, 0, 8), lambda f, x: f.adaptive_avg_pool2d(x, 2)),
    ((2, 3, 8), lambda f, x: f.adaptive_avg_pool1d(x, (1, 2))),
    ((2, 3, 9, 8), lambda f, x: f.adaptive_avg_pool2d(x, (1, 2, 3))),
    ((2, 3, 9, 8), lambda f, x: f.adaptive_avg_pool2d(x, (-1, 2))),
    ((2, 3, 9, 8), lambda f, x: f.adaptive_max_pool2d(x, (2,))), ((9, 8), lambda f, x: f.adaptive_max_pool2d(x, 2)),
    ((2, 3, 0, 8), lambda f, x: f.adaptive_max_pool2d(x, 2)), ((2, 3), lambda f, x: f.local_response_norm(x, 2)),
    ((2, 3, 9, 8), lambda f, x: f.fractional_max_pool2d(x, 2)),
    ((2, 3, 9, 8), lambda f, x: f.fractional_max_pool2d(x, 2, (9, 3))),
    ((2, 3, 9, 8), lambda f, x: f.fractional_max_pool2d(x, (2, 2, 2), 2)),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x)), ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 3, 2)),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, (3,))), ((2, 3, 9, 8), lambda f, x: f.interpolate(x, (3.0, 2.0))),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, scale_factor=(2,))),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 4, align_corners=True)),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 4, recompute_scale_factor=True)),
    ((2, 3, 9), lambda f, x: f.interpolate(x, 4, mode="bilinear")), ((2, 3), lambda f, x: f.interpolate(x, 4)),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 4, mode="linear")),
    ((2, 3, 9, 8, 7), lambda f, x: f.interpolate(x, 4, mode="bicubic")),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 4, mode="cubic")), ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 0)),
    ((2, 0, 9, 8), lambda f, x: f.interpolate(x, 4)), ((2, 3, 9), lambda f, x: f.interpolate(x, 0, mode="linear")),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 4, antialias=True)),
    ((2, 3, 9, 8), lambda f, x: f.interpolate(x, 4, mode="lanczos")),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "call"), WRONG)
def test_errors_are_pytorchs(shape, call):
    expected, found = messages(lambda m, x: call(m.nn.functional, x), np.zeros(shape))
    assert (type(found), str(found)) == (type(expected), str(expected))


@pytest.mark.parametrize("name", ["avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_max_pool3d"])
@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
def test_dtypes_that_are_refused(name, dtype):
    x = np.zeros((1, 2, 4, 4, 4) if name.endswith("3d") else (1, 2, 4, 4), dtype)
    expected, found = messages(lambda m, x: function(m, name)(x, 2), x)
    assert str(found).startswith(str(expected))


MODES = [
    (1, "nearest"), (1, "nearest-exact"), (1, "linear"), (1, "area"), (2, "nearest"), (2, "nearest-exact"),
    (2, "bilinear"), (2, "bicubic"), (2, "area"), (3, "nearest"), (3, "nearest-exact"), (3, "trilinear"), (3, "area"),
]
SIZES = [
    {"size": 1}, {"size": 3}, {"size": 8}, {"size": 13}, {"scale_factor": 0.5}, {"scale_factor": 1.7},
    {"scale_factor": 2}, {"scale_factor": 1.7, "recompute_scale_factor": True}, {"scale_factor": 1.0},
]


@pytest.mark.parametrize(("rank", "mode"), MODES)
@pytest.mark.parametrize("size", SIZES, ids=str)
@DTYPES
def test_images_in_another_size(rank, mode, size, dtype):
    def program(m, x):
        corners = (None, True) if "linear" in mode or "cubic" in mode else (None,)
        return [function(m, "interpolate")(x, **size, mode=mode, align_corners=corner) for corner in corners]

    assert_same(program, *randoms((1, 2, *(4, 7, 8)[-rank:]), dtype=dtype))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [*SIZES[1:], {"size": (9, 3)}], ids=str)
@DTYPES
def test_antialiased_images(mode, size, dtype):
    def program(m, x):
        return function(m, "interpolate")(x, **size, mode=mode, antialias=True)

    assert_same(program, *randoms((1, 2, 7, 8), dtype=dtype))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_infinities_and_nan_stay_where_they_are(mode):
    (x,) = randoms((1, 1, 5, 6))
    x[0, 0, 2, 2], x[0, 0, 4, 5], x[0, 0, 0, 0] = np.inf, np.nan, -0.0

    def program(m, x):
        sizes = [function(m, "interpolate")(x, size, mode=mode) for size in (3, 5, (5, 6), 9)]
        return [m.signbit(sizes[2]) if mode != "area" else sizes[2], *sizes]

    assert_same(program, x, requires_grad=False)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_bytes_have_neighbours(mode):
    x = np.random.default_rng(0).integers(0, 255, (1, 2, 7, 5)).astype(np.uint8)
    assert_same(lambda m, x: function(m, "interpolate")(x, (9, 3), mode=mode), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_bytes_are_interpolated_in_integers(mode):
    def program(m, x):
        resize = functools.partial(function(m, "interpolate"), mode=mode)
        exact, smooth = [functools.partial(resize, antialias=each) for each in (False, True)]
        out = [smooth(x, (3, 9)), smooth(x, (7, 2)), smooth(x, scale_factor=0.6)]
        if mode != "lanczos":
            out += [smooth(x, (20, 2), align_corners=True), exact(x, (3, 9), align_corners=True), exact(x, (9, 5))]
        return out

    assert_same(program, np.random.default_rng(0).integers(0, 256, (1, 2, 7, 5)).astype(np.uint8))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@DTYPES
def test_which_element_is_nearest_in_long_rows(mode, dtype):
    def program(m, x):
        sizes = [{"scale_factor": scale} for scale in (0.3, 0.7, 1.1, 1.7, 2.3, 3.7)] + [{"size": 777}, {"size": 3003}]
        return [function(m, "interpolate")(x, **size, mode=mode) for size in sizes]

    assert_same(program, np.arange(1001).reshape(1, 1, -1).astype(dtype), requires_grad=False)
    assert_same(program, np.arange(1001).reshape(1, 1, 7, -1).astype(dtype), requires_grad=False)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "uint8"])
def test_padding_at_the_edges(mode, dtype):
    def program(m, x):
        rows = [function(m, "pad")(x, widths, mode) for widths in ((1, 2), (-1, 2), (2, -3), (4, 4), (-2, -2), (0, 0))]
        images = [x.reshape(2, 3, 1, 5).expand(2, 3, 4, 5), x.reshape(2, 3, 1, 1, 5).expand(2, 3, 3, 4, 5)]
        return [
            *rows, function(m, "pad")(images[0], (1, 2, 3, -1), mode),
            function(m, "pad")(images[1], (1, -2, 3, 0, 2, 1), mode),
        ]

    assert_same(program, *randoms((2, 3, 5), dtype=dtype))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_refusals_of_padding_at_the_edges(mode):
    calls = [(lambda m, x: function(m, "pad")(x.bool(), (1, 1, 1, 1), mode))]
    if mode == "reflect":
        calls += [lambda m, x, own=own: function(m, "pad")(x, own, mode) for own in ((4, 1, 1, 1), (0, 0, 5, 1))]
    for call in calls:
        expected, found = messages(call, np.zeros((2, 3, 5, 4)))
        assert type(found) is type(expected)
        assert str(found).startswith(str(expected))


def test_older_names():
    import warnings

    import torch

    import numgrad

    for name in ("upsample", "upsample_nearest", "upsample_bilinear"):
        results = []
        for m in (torch, numgrad):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                out = function(m, name)(m.arange(6.0).reshape(1, 1, 2, 3), 4)
            results.append((str(caught[0].message), out.numpy()))
        assert results[0][0] == results[1][0]
        np.testing.assert_allclose(results[1][1], results[0][1], 1e-6)


def test_the_nodes_of_second_derivatives():
    import torch

    import numgrad

    for call in (
        lambda m, x: function(m, "avg_pool2d")(x, 2), lambda m, x: function(m, "adaptive_avg_pool2d")(x, 2),
        lambda m, x: function(m, "interpolate")(x, 7, mode="bilinear"),
        lambda m, x: function(m, "adaptive_max_pool2d")(x, 2),
    ):
        names = []
        for m in (torch, numgrad):
            x = m.ones((1, 1, 5, 5), requires_grad=True)
            out = call(m, x)
            (grad,) = m.autograd.grad(out, x, m.ones_like(out).requires_grad_(), create_graph=True)
            names.append(grad.grad_fn.name())
        assert names[0] == names[1]
