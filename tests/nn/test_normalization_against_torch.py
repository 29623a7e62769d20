"""Layers that normalize channels against PyTorch's: texts, states, results, gradients and errors."""

import inspect

import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

ROWS, LINES, IMAGES, VOLUMES = (5, 4), (3, 4, 6), (2, 4, 3, 5), (2, 4, 2, 3, 2)

#: Expressions of layers, and shapes of their inputs.
LAYERS = [
    (lambda nn: nn.BatchNorm1d(4), ROWS), (lambda nn: nn.BatchNorm1d(4, 0.1, None), LINES),
    (lambda nn: nn.BatchNorm2d(4, momentum=0.3, bias=False), IMAGES), (lambda nn: nn.BatchNorm3d(4), VOLUMES),
    (lambda nn: nn.BatchNorm2d(4, affine=False), IMAGES),
    (lambda nn: nn.BatchNorm2d(4, track_running_stats=False), IMAGES),
    (lambda nn: nn.BatchNorm2d(4, momentum=0.0), IMAGES), (lambda nn: nn.InstanceNorm1d(4), LINES),
    (lambda nn: nn.InstanceNorm1d(3), (3, 4)), (lambda nn: nn.InstanceNorm2d(4, affine=True), IMAGES),
    (lambda nn: nn.InstanceNorm2d(4, 0.1, 0.3, True, True, bias=False), IMAGES),
    (lambda nn: nn.InstanceNorm2d(4, 0.1, 0.3, True, True), IMAGES[1:]),
    (lambda nn: nn.InstanceNorm3d(4, track_running_stats=True), VOLUMES), (lambda nn: nn.GroupNorm(2, 4, 0.1), ROWS),
    (lambda nn: nn.GroupNorm(4, 4, 0.1, bias=False), IMAGES), (lambda nn: nn.GroupNorm(1, 4, affine=False), VOLUMES),
    (lambda nn: nn.GroupNorm(2, 4), (0, 4, 3)),
]  # fmt: skip
LAZY = [
    (lambda nn: nn.LazyBatchNorm1d(), LINES), (lambda nn: nn.LazyBatchNorm2d(0.1, bias=False), IMAGES),
    (lambda nn: nn.LazyBatchNorm3d(affine=False), VOLUMES), (lambda nn: nn.LazyInstanceNorm1d(), LINES),
    (lambda nn: nn.LazyInstanceNorm2d(track_running_stats=False), IMAGES),
    (lambda nn: nn.LazyInstanceNorm3d(momentum=0.5), VOLUMES),
]  # fmt: skip


def _kept(layer):
    return {name: value for name, value in vars(layer).items() if not name.startswith("_")}


@pytest.mark.parametrize(("make", "shape"), LAYERS + LAZY)
def test_state_and_text_of_layers(make, shape):
    import torch

    import numgrad

    theirs, ours = [make(m.nn) for m in (torch, numgrad)]
    assert repr(ours) == repr(theirs)
    assert list(inspect.signature(type(ours)).parameters) == list(inspect.signature(type(theirs)).parameters)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert _kept(ours) == _kept(theirs)


@pytest.mark.parametrize(("make", "shape"), LAYERS + LAZY)
def test_results_and_gradients_of_layers(make, shape):
    def program(m, x):
        layer = make(m.nn).double()
        outs = [layer(x), layer(x * x)]
        outs.append(layer.eval()(x))
        for number, parameter in enumerate(layer.parameters()):
            parameter.data.add_(number + 1)
        outs.append(layer(x))
        return *outs, *[one.clone() for one in layer.state_dict().values()]

    assert_same(program, *randoms(shape), graph=False)


@pytest.mark.parametrize(("make", "shape"), LAZY)
def test_lazy_ones_become_ordinary(make, shape):
    import torch

    import numgrad

    found = []
    for m in (torch, numgrad):
        layer = make(m.nn)
        layer(m.ones(shape))
        found.append((repr(layer), type(layer).__name__, list(layer.state_dict())))
    assert found[0] == found[1]


@pytest.mark.parametrize("program", [
    *[lambda m, rank=rank, name=name: getattr(m.nn, f"{name}{rank}d")(2)(m.ones(2))
      for rank in (1, 2, 3) for name in ("BatchNorm", "InstanceNorm")],
    lambda m: m.nn.GroupNorm(3, 4), lambda m: m.nn.InstanceNorm1d(3, affine=True)(m.ones(2, 4, 5)),
    lambda m: m.nn.BatchNorm1d(3)(m.ones(1, 3)), lambda m: m.nn.functional.group_norm(m.ones(2, 4, 3), 3),
    lambda m: m.nn.functional.group_norm(m.ones(2, 4, 3), 2, m.ones(3)), lambda m: m.group_norm(m.ones(2, 4), 0),
    lambda m: m.nn.functional.group_norm(m.ones(4), 2), lambda m: m.group_norm(m.ones(4), 2),
    lambda m: m.nn.functional.group_norm(m.ones(1, 2), 2), lambda m: m.nn.functional.instance_norm(m.ones(2, 4, 1)),
    lambda m: m.nn.functional.group_norm(m.ones(2, 4, 3, dtype=m.int64), 2),
    lambda m: m.nn.functional.instance_norm(m.ones(2, 4, 3), use_input_stats=False),
    lambda m: m.nn.functional.instance_norm(m.ones(2, 4, 3), weight=m.ones(3)),
    lambda m: m.nn.functional.instance_norm(m.ones(2, 4, 3), m.zeros(3), m.ones(3)),
    lambda m: m.nn.functional.instance_norm(m.ones(2, 4, 3), m.zeros(4)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected))
