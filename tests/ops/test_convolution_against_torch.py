"""Convolutions against PyTorch's: values, gradients, and errors."""


import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

pytestmark = pytest.mark.torch

#: Shapes of images, filters and bias, and further arguments.
CALLS = [
    ((2, 4, 7), (6, 2, 3), (6,), {"stride": 2, "padding": 1, "groups": 2}),
    ((2, 4, 7), (3, 4, 2), None, {"padding": "same"}),
    ((2, 3, 6, 7), (4, 3, 3, 2), (4,), {}),
    ((3, 6, 7), (4, 2, 3, 3), None, {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}),
    ((2, 3, 8, 8), (3, 1, 3, 3), (3,), {"padding": "same", "dilation": 2, "groups": 3}),
    ((0, 3, 6, 6), (4, 3, 3, 3), (4,), {"padding": 1}),
    ((2, 2, 4, 5, 4), (2, 2, 2, 3, 2), (2,), {"stride": 2, "padding": (0, 1, 1)}),
]


@pytest.mark.parametrize(("images", "filters", "bias", "options"), CALLS)
@pytest.mark.parametrize("layout", ["contiguous", "stepped"])
def test_values_and_gradients(images, filters, bias, options, layout):
    name, shapes = f"conv{len(filters) - 2}d", [shape for shape in (images, filters, bias) if shape is not None]
    assert_same(lambda m, *given: getattr(m, name)(*given, **options), *randoms(*shapes, layout=layout), graph=False)


#: The same of transposed convolutions.
TRANSPOSED = [
    ((2, 4, 7), (4, 3, 3), (6,), {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}),
    ((4, 7), (4, 3, 2), None, {"dilation": 2, "output_padding": 1}),
    ((2, 3, 4, 5), (3, 4, 3, 2), (4,), {}),
    ((2, 4, 4, 4), (4, 2, 3, 3), (4,), {
        "stride": (3, 2), "padding": (1, 2), "output_padding": (2, 3), "groups": 2, "dilation": (4, 4)
    }),
    ((2, 3, 4, 5), (3, 1, 3, 2), (3,), {"stride": (2, 3), "padding": 1, "output_padding": (1, 2), "groups": 3}),
    ((2, 4, 300), (4, 1, 3), (2,), {"stride": 2, "output_padding": 1, "groups": 2}),
    ((0, 3, 6, 6), (3, 4, 3, 3), (4,), {"padding": 1}),
    ((2, 2, 3, 4, 3), (2, 3, 2, 3, 2), (3,), {"stride": 2, "padding": (0, 1, 1), "output_padding": (1, 0, 1)}),
]


@pytest.mark.parametrize(("images", "filters", "bias", "options"), TRANSPOSED)
@pytest.mark.parametrize("layout", ["contiguous", "stepped"])
def test_transposed(images, filters, bias, options, layout):
    name, shapes = f"conv_transpose{len(filters) - 2}d", [each for each in (images, filters, bias) if each is not None]
    assert_same(lambda m, *given: getattr(m, name)(*given, **options), *randoms(*shapes, layout=layout), graph=False)


#: Images and filters that see one channel of several.
DEPTHWISE = [
    ((2, 3, 9), (6, 1, 3), {"stride": 2, "padding": 1}),
    ((1, 2, 600), (4, 1, 5), {"stride": 2, "padding": 7, "dilation": 3}),
    ((2, 3, 6, 300), (3, 1, 3, 3), {"padding": (0, 2), "dilation": (2, 1)}),
    ((3, 7, 8), (6, 1, 2, 3), {"stride": (3, 2), "padding": (3, 5), "dilation": (1, 3)}),
    ((0, 3, 6, 6), (3, 1, 3, 3), {"padding": 1}),
    ((2, 2, 4, 5, 6), (4, 1, 2, 3, 2), {"stride": (1, 2, 3), "padding": (2, 1, 0), "dilation": (2, 1, 1)}),
    ((2, 2, 3, 3), (2, 1, 2, 2), {"padding": 4, "stride": 5}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(("images", "filters", "options"), DEPTHWISE)
def test_depthwise(images, filters, options, dtype):
    rank = len(filters) - 2
    name, groups = f"conv{rank}d", images[-rank - 1]
    arrays = randoms(images, filters, filters[:1], dtype=dtype)
    assert_same(lambda m, *given: getattr(m, name)(*given, **options, groups=groups), *arrays, graph=False)
    assert_same(
        lambda m, x, w: getattr(m, name)(x, w, **options, groups=groups), *randoms(images, filters, layout="stepped"),
        graph=False,
    )


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_dtypes(name, dtype):
    arrays = randoms((2, 4, 5, 5), (4, 2, 3, 3), (4,), dtype=dtype)
    assert_same(lambda m, x, w, b: getattr(m, name)(x, w, b, padding=1, groups=2), *arrays, graph=False)


def test_channels_last():
    arrays = randoms((2, 5, 5, 4), (4, 2, 3, 3))
    for name in ("conv2d", "conv_transpose2d"):
        assert_same(
            lambda m, x, w, name=name: getattr(m, name)(x.permute(0, 3, 1, 2), w, groups=2).contiguous(), *arrays,
            graph=False,
        )


def test_the_node():
    arrays = randoms((2, 2, 5, 5), (4, 1, 3, 3), (4,))
    assert_same(lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, groups=2), *arrays)
    assert_same(lambda m, w, x: m.nn.functional.conv_transpose2d(x, w[:2]), *arrays[:2])


WRONG = [
    ({}, (6, 2, 3, 3)), ({"groups": 3}, (6, 2, 3, 3)), ({"groups": 2}, (5, 2, 3, 3)), ({"groups": 2}, (1, 2, 3, 3)),
    ({"groups": 0}, (6, 2, 3, 3)), ({"stride": 0}, (6, 4, 3, 3)), ({"padding": -1}, (6, 4, 3, 3)),
    ({"dilation": 0}, (6, 4, 3, 3)), ({"dilation": 5}, (6, 4, 3, 3)), ({"stride": (1, 2, 3)}, (6, 4, 3, 3)),
    ({"padding": "same", "stride": 2}, (6, 4, 3, 3)), ({"padding": "much"}, (6, 4, 3, 3)),
]


WRONG_TRANSPOSED = [
    ({}, (6, 2, 3, 3)), ({"groups": 3}, (4, 2, 3, 3)), ({"groups": 0}, (4, 2, 3, 3)), ({"groups": 8}, (4, 2, 3, 3)),
    ({"stride": 0}, (4, 2, 3, 3)), ({"padding": -1}, (4, 2, 3, 3)), ({"output_padding": -1}, (4, 2, 3, 3)),
    ({"output_padding": (0, 1)}, (4, 2, 3, 3)), ({"output_padding": 2, "stride": 2}, (4, 2, 3, 3)),
    ({"output_padding": (1, 2, 3)}, (4, 2, 3, 3)), ({"stride": (1, 2, 3)}, (4, 2, 3, 3)), ({}, (4, 2, 3)),
]


@pytest.mark.parametrize(("options", "filters"), WRONG_TRANSPOSED)
def test_refusals_of_transposed_convolutions(options, filters):
    x, w = randoms((2, 4, 5, 6), filters)
    assert_same(lambda m, x, w: m.conv_transpose2d(x, w, **options), x, w)


@pytest.mark.parametrize("bias", [(3,), (2, 2)])
def test_a_bias_of_another_shape_is_refused(bias):
    arrays = randoms((2, 4, 5, 6), (4, 2, 3, 3), bias)
    assert_same(lambda m, x, w, b: m.conv_transpose2d(x, w, b), *arrays)


@pytest.mark.parametrize(("options", "filters"), WRONG)
def test_errors_are_pytorchs(options, filters):
    import torch

    import numgrad

    messages = []
    for module in (torch, numgrad):
        with pytest.raises(RuntimeError) as caught:
            module.conv2d(module.zeros(2, 4, 5, 6), module.zeros(filters), **options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_other_dtypes_are_refused(which):
    arrays = randoms((2, 2, 5, 5), (4, 2, 3, 3), (4,))
    arrays[which] = arrays[which].astype(np.float32)
    assert_same(lambda m, *tensors: m.conv2d(*tensors), *arrays)
