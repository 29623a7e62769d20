"""Benchmarks of image networks: convolutions, pooling, normalization, and whole training steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timing import Case, Input, Part, Step, derivative, integers, placed, tensor_of

from .steps import training

__all__ = ["convolutional", "convolutions", "image_layers", "image_steps"]


def _convolution(name: str, images: tuple[int, ...], channels: int, size: int = 3, **options: int) -> Case:
    weight = channels, images[1] // options.get("groups", 1), size, size
    return derivative(
        name, lambda m, x, w, b: m.nn.functional.conv2d(x, w, b, padding=size // 2, **options),
        Input(images), Input(weight), Input((channels,)),
    )


def _products(name: str, images: tuple[int, ...], channels: int, size: int = 3) -> Case:
    """The three products of matrices that such a convolution consists of, forward and backward."""
    depth, places = images[1] * size * size, images[0] * images[2] * images[3]
    return derivative(name, lambda m, w, x: w @ x, Input((channels, depth)), Input((depth, places)))


def convolutions(rows: int, columns: int) -> Iterator[Part]:
    """Return convolutions of digits and of photographs; the time of their matrix products alone is a lower bound."""
    small, large = (16, 16, 28, 28), (32, 64, 56, 56)
    cases = [
        _convolution("3x3, 16 x 16 x 28 x 28", small, 16),
        _products("  its products alone", small, 16),
        _convolution("3x3, 32 x 64 x 56 x 56", large, 64),
        _products("  its products alone", large, 64),
        _convolution("3x3, stride 2, 32 x 64 x 56 x 56", large, 64, stride=2),
        _convolution("3x3, 4 groups, 32 x 64 x 56 x 56", large, 64, groups=4),
        _convolution("1x1, 32 x 64 x 56 x 56", large, 64, size=1),
    ]
    yield Part("Convolutions, forward and backward", cases, 1.5)
    cases = [
        _convolution("3x3, 16 x 32 x 28 x 28", (16, 32, 28, 28), 32, groups=32),
        _convolution("3x3, 8 x 96 x 56 x 56", (8, 96, 56, 56), 96, groups=96),
        _convolution("5x5, stride 2, 8 x 96 x 56 x 56", (8, 96, 56, 56), 96, size=5, stride=2, groups=96),
    ]
    yield Part("Depthwise convolutions, forward and backward", cases, 1.0)


def image_layers(rows: int, columns: int) -> Iterator[Part]:
    """Pooling and normalization."""
    x, scale = Input((32, 64, 56, 56)), Input((64,))
    cases = [
        derivative("max_pool2d, 2x2", lambda m, x: m.nn.functional.max_pool2d(x, 2), x),
        derivative("max_pool2d, 3x3, stride 2", lambda m, x: m.nn.functional.max_pool2d(x, 3, 2, 1), x),
        derivative("avg_pool2d, 2x2", lambda m, x: m.nn.functional.avg_pool2d(x, 2), x),
        derivative(
            "batch_norm in training",
            lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, training=True), x, scale, scale,
        ),
        derivative(
            "group_norm, 8 groups", lambda m, x, w, b: m.nn.functional.group_norm(x, 8, w, b), x, scale, scale
        ),
    ]
    yield Part("Pooling and normalization of 32 x 64 x 56 x 56, forward and backward", cases, 0.9)


def convolutional(module: Any, batch: int = 64) -> Step:
    """The usual network for 28 x 28 digits: two convolutions, pooling, two layers; SGD with momentum."""
    nn = module.nn
    module.manual_seed(0)
    layers = (
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    return _training(module, nn.Sequential(*layers), (batch, 1, 28, 28))


def residual(module: Any, batch: int = 16) -> Step:
    """A residual network of three stages of two blocks, 16 to 64 channels, on 32 x 32 photographs."""
    nn = module.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            stride = outputs // inputs
            self.one = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.two = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(outputs) for _ in range(2)])
            short = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]
            self.short = nn.Sequential(*short * (stride > 1))

        def forward(self, x: Any) -> Any:
            changed = self.norms[0](self.one(x)).relu()
            return (self.norms[1](self.two(changed)) + self.short(x)).relu()

    stages = [Block(*sizes) for sizes in ((16, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64))]
    layers = (
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *stages,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    return _training(module, nn.Sequential(*layers), (batch, 3, 32, 32))


def _training(module: Any, network: Any, images: tuple[int, ...]) -> Step:
    model = placed(network)
    optimizer = module.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = tensor_of(module, Input(images, grad=False), 0), tensor_of(module, integers(images[:1], 10), 0)
    return training(model, optimizer, module.nn.functional.cross_entropy, x, y)


def image_steps(rows: int, columns: int) -> Iterator[Part]:
    """Return whole training steps."""
    cases = [Case("convolutional network, 64 x 1 x 28 x 28", convolutional)]
    yield Part("A step of training of a convolutional network", cases, 1.25)
    yield Part("A step of training of a residual network", [Case("16 x 3 x 32 x 32", residual)], 1.5)
