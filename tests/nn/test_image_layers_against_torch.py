"""Layers of images without parameters against PyTorch's: texts, states and results."""

import inspect

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

LINES, IMAGES, VOLUMES = (2, 4, 8), (2, 4, 8, 8), (1, 4, 4, 4, 4)

#: Expressions of layers, and shapes of their inputs.
LAYERS = [
    (lambda nn: nn.MaxPool1d(2), LINES), (lambda nn: nn.MaxPool2d((2, 3), 1, ceil_mode=True), IMAGES),
    (lambda nn: nn.MaxPool2d(3, 2, 1, return_indices=True), IMAGES), (lambda nn: nn.MaxPool3d(2, dilation=2), VOLUMES),
    (lambda nn: nn.AvgPool1d(2), LINES), (lambda nn: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGES),
    (lambda nn: nn.AvgPool2d(3, 2, divisor_override=2), IMAGES), (lambda nn: nn.AvgPool3d(2), VOLUMES),
    (lambda nn: nn.LPPool1d(2, 3), LINES), (lambda nn: nn.LPPool2d(2.0, (2, 3), 2), IMAGES),
    (lambda nn: nn.LPPool3d(2, 2, ceil_mode=True), VOLUMES), (lambda nn: nn.AdaptiveAvgPool1d(3), LINES),
    (lambda nn: nn.AdaptiveAvgPool2d((None, 3)), IMAGES), (lambda nn: nn.AdaptiveAvgPool3d(2), VOLUMES),
    (lambda nn: nn.AdaptiveMaxPool1d(3), LINES), (lambda nn: nn.AdaptiveMaxPool2d((3, 4), True), IMAGES),
    (lambda nn: nn.AdaptiveMaxPool3d((2, None, 3)), VOLUMES), (lambda nn: nn.FractionalMaxPool2d(2, 3), IMAGES),
    (lambda nn: nn.FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True), VOLUMES),
    (lambda nn: nn.Upsample(scale_factor=2), IMAGES), (lambda nn: nn.Upsample(13, mode="linear"), LINES),
    (lambda nn: nn.Upsample((3, 4), mode="bilinear", align_corners=True), IMAGES),
    (lambda nn: nn.Upsample(scale_factor=(2, 3), mode="bicubic"), IMAGES),
    (lambda nn: nn.UpsamplingNearest2d(scale_factor=2), IMAGES), (lambda nn: nn.UpsamplingBilinear2d(4), IMAGES),
    (lambda nn: nn.PixelShuffle(2), IMAGES), (lambda nn: nn.PixelUnshuffle(2), IMAGES),
    (lambda nn: nn.ChannelShuffle(2), IMAGES), (lambda nn: nn.LocalResponseNorm(3, 0.1), IMAGES),
    (lambda nn: nn.ConstantPad1d(2, 3.5), LINES), (lambda nn: nn.ConstantPad2d((1, -2, 3, 0), 0), IMAGES),
    (lambda nn: nn.ConstantPad3d(1, -1.0), VOLUMES), (lambda nn: nn.ZeroPad1d(2), LINES),
    (lambda nn: nn.ZeroPad2d((1, 2, 3, 4)), IMAGES), (lambda nn: nn.ZeroPad3d(1), VOLUMES),
    (lambda nn: nn.ReflectionPad1d((1, -1)), LINES), (lambda nn: nn.ReflectionPad2d(2), IMAGES),
    (lambda nn: nn.ReflectionPad3d((1, 0, 1, 2, 0, 3)), VOLUMES), (lambda nn: nn.ReplicationPad1d(2), LINES),
    (lambda nn: nn.ReplicationPad2d((1, -2, 3, 0)), IMAGES), (lambda nn: nn.ReplicationPad3d(1), VOLUMES),
    (lambda nn: nn.CircularPad1d(2), LINES), (lambda nn: nn.CircularPad2d((1, 1, 0, 1)), IMAGES),
    (lambda nn: nn.CircularPad3d(1), VOLUMES), (lambda nn: nn.MaxUnpool1d(2), None),
    (lambda nn: nn.MaxUnpool2d((2, 3), padding=1), None), (lambda nn: nn.MaxUnpool3d(2, 3), None),
]  # fmt: skip
IDS = [str(number) for number in range(len(LAYERS))]


@pytest.mark.parametrize(("make", "shape"), LAYERS, ids=IDS)
def test_state_and_text_of_layers(make, shape):
    import torch

    import numgrad

    theirs, ours = [make(m.nn) for m in (torch, numgrad)]
    assert repr(ours) == repr(theirs)
    assert list(inspect.signature(type(ours)).parameters) == list(inspect.signature(type(theirs)).parameters)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    kept = {name: value for name, value in vars(theirs).items() if not name.startswith("_")}
    assert {name: getattr(ours, name) for name in kept} == kept


@pytest.mark.parametrize(("make", "shape"), [layer for layer in LAYERS if layer[1]])
def test_results_of_layers(make, shape):
    def program(m, x):
        m.manual_seed(3)
        return make(m.nn)(x)

    assert_same(program, *randoms(shape, low=0.5), graph=False)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_back_from_what_was_pooled(rank):
    def program(m, x):
        pool, back = [getattr(m.nn, f"{name}{rank}d")(2) for name in ("MaxPool", "MaxUnpool")]
        pool.return_indices = True
        out, indices = pool(x)
        return back(out, indices), back(out, indices, x.shape)

    assert_same(program, *randoms((1, 2, *(5,) * rank)), graph=False)


@pytest.mark.parametrize("make", [
    lambda nn: nn.FractionalMaxPool2d(2), lambda nn: nn.FractionalMaxPool3d(2, 3, 0.5),
    lambda nn: nn.FractionalMaxPool2d(2, output_ratio=1.5),
    lambda nn: nn.FractionalMaxPool3d(2, output_ratio=(0.5, 1.5, 0.2)),
])  # fmt: skip
def test_layers_that_cannot_be(make):
    expected, found = messages(lambda m: make(m.nn))
    assert (type(found), str(found)) == (type(expected), str(expected))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_refusals_of_circular_padding(rank):
    expected, found = messages(lambda m, x: getattr(m.nn, f"CircularPad{rank}d")(1)(x), np.zeros((3,) * rank))
    assert (type(found), str(found)) == (type(expected), str(expected))
