"""Memory formats against PyTorch's: strides of results and gradients for channels-last images, and errors."""

import copy
import importlib
import math

import numpy as np
import pytest
from ops.torch_comparison import messages

pytestmark = pytest.mark.torch

IMAGES = [(2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 4, 5), (2, 3, 1, 1), (1, 1, 1, 1), (2, 3, 1, 5), (2, 1, 4, 1)]
VOLUMES = [(2, 3, 4, 5, 3), (2, 1, 4, 5, 3), (1, 3, 4, 5, 3), (2, 3, 1, 1, 1), (1, 1, 1, 1, 1), (2, 3, 3, 5, 3)]


def _laid_out(m, shape, last, seed=0, dtype="float32"):
    """A tensor whose channels are last in memory, or that is row-major."""
    rank = len(shape)
    inside = [1, *range(rank - 1, 1, -1), 0] if last else list(range(rank - 1, -1, -1))
    strides = {dim: math.prod(shape[d] for d in inside[:at]) for at, dim in enumerate(inside)}
    values = np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)
    row = np.ascontiguousarray(values.transpose(inside[::-1])).reshape(-1)
    return m.from_numpy(row).as_strided(shape, [strides[dim] for dim in range(rank)])


def _filters(m, x, shape, last=False):
    return _laid_out(m, (*shape, *(3,) * (x.dim() - 2)), last, dtype=str(x.dtype).removeprefix("torch."))


def _norm(m, x, **options):
    """Batch normalization with all its arguments."""
    c = x.shape[1]
    return m.nn.functional.batch_norm(x, m.zeros(c), m.ones(c), m.ones(c) * 2, m.ones(c), **options)


def _joint(m, x, dim, *others):
    return m.cat([x, *[m.ones(*x.shape)] * len(others), x], dim)


#: Operations on images, and on volumes where PyTorch keeps their format, too.
BOTH = {
    "mul": lambda m, f, x: x * 2, "add": lambda m, f, x: x + m.ones(*x.shape), "sigmoid": lambda m, f, x: x.sigmoid(),
    "bias": lambda m, f, x: x + m.ones(1, x.shape[1], *(1,) * (x.dim() - 2)), "gelu": lambda m, f, x: f.gelu(x),
    "silu": lambda m, f, x: f.silu(x), "gt": lambda m, f, x: x > 0, "clone": lambda m, f, x: x.clone(),
    "double": lambda m, f, x: x.double(), "zeros_like": lambda m, f, x: m.zeros_like(x),
    "full_like": lambda m, f, x: m.full_like(x, 2.0), "contiguous": lambda m, f, x: x.contiguous(),
    "dropout": lambda m, f, x: f.dropout(x, 0.5), "in_evaluation": lambda m, f, x: f.dropout(x, 0.5, False),
    "batch_norm": lambda m, f, x: _norm(m, x, training=True) if x[:, 0].numel() > 1 else x,
    "running": lambda m, f, x: _norm(m, x), "layer_norm": lambda m, f, x: f.layer_norm(x, x.shape[1:]),
    "instance_norm": lambda m, f, x: f.instance_norm(x) if x[0, 0].numel() > 1 else x,
    "cat": lambda m, f, x: _joint(m, x, 1), "cat0": lambda m, f, x: _joint(m, x, 0),
    "mixed": lambda m, f, x: _joint(m, x, 1, 1), "softmax": lambda m, f, x: f.softmax(x, 1),
    "pad": lambda m, f, x: f.pad(x, (1, 1, 1, 1)),
    "channels": lambda m, f, x: f.pad(x, (0,) * (2 * x.dim() - 4) + (1, 0)),
    "replicate": lambda m, f, x: f.pad(x, (1,) * (2 * x.dim() - 4), "replicate"),
    "nearest": lambda m, f, x: f.interpolate(x, scale_factor=2), "sum": lambda m, f, x: x.sum(1),
    "max": lambda m, f, x: x.max(1), "amax": lambda m, f, x: x.amax(1, keepdim=True),
    "index": lambda m, f, x: x[m.tensor([0])], "part": lambda m, f, x: x[:, :, :1], "flip": lambda m, f, x: x.flip(2),
    "flatten": lambda m, f, x: x.flatten(1), "where": lambda m, f, x: x.masked_fill(x > 0, 0.0),
    "group_norm": lambda m, f, x: f.group_norm(x, 1, m.ones(x.shape[1])) if x[0].numel() > 1 else x,
    "relu": lambda m, f, x: f.relu(x), "leaky_relu": lambda m, f, x: f.leaky_relu(x),
    "clamp": lambda m, f, x: x.clamp(0, 1),
}  # fmt: skip
ON_IMAGES = {
    **BOTH,
    "conv": lambda m, f, x: f.conv2d(x, _filters(m, x, (4, x.shape[1])), padding=1),
    "filters": lambda m, f, x: f.conv2d(x, _filters(m, x, (4, x.shape[1]), True), m.ones(4), padding=1),
    "one": lambda m, f, x: f.conv2d(x, m.ones(4, x.shape[1], 1, 1)),
    "dilated": lambda m, f, x: f.conv2d(x, _filters(m, x, (4, x.shape[1])), padding=2, dilation=2),
    "in_double": lambda m, f, x: f.conv2d(x.double(), _filters(m, x.double(), (4, x.shape[1])), padding=1),
    "depthwise": lambda m, f, x: f.conv2d(x, _filters(m, x, (x.shape[1], 1)), padding=1, groups=x.shape[1]),
    "transposed": lambda m, f, x: f.conv_transpose2d(x, _filters(m, x, (x.shape[1], 4))),
    "max_pool": lambda m, f, x: f.max_pool2d(x, 3, 1, 1, return_indices=True),
    "avg_pool": lambda m, f, x: f.avg_pool2d(x, 3, 1, 1),
    "adaptive": lambda m, f, x: f.adaptive_max_pool2d(x, 2, return_indices=True),
    "averages": lambda m, f, x: f.adaptive_avg_pool2d(x, 2),
    "average": lambda m, f, x: f.adaptive_avg_pool2d(x, 1),
    "unpool": lambda m, f, x: f.max_unpool2d(*f.max_pool2d(x, 1, return_indices=True), 1),
    "fractional": lambda m, f, x: f.fractional_max_pool2d(x, 1, output_size=1),
    "dropout2d": lambda m, f, x: f.dropout2d(x), "lrn": lambda m, f, x: f.local_response_norm(x, 2),
    "exact": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="nearest-exact"),
    "bilinear": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="bicubic"),
    "filtered": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="bilinear", antialias=True),
    "area": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="area"),
    "reflect": lambda m, f, x: f.pad(x, (0,) * 4, "reflect"),
    "grid": lambda m, f, x: f.grid_sample(x, m.zeros(len(x), 2, 2, 2), align_corners=False),
    "to_pixels": lambda m, f, x: f.pixel_shuffle(x.expand(-1, 4, -1, -1).clone() if x.shape[1] == 1 else x, 1),
    "to_channels": lambda m, f, x: f.pixel_unshuffle(x, 1), "shuffle": lambda m, f, x: f.channel_shuffle(x, 1),
}  # fmt: skip
ON_VOLUMES = {
    **BOTH,
    "conv": lambda m, f, x: f.conv3d(x, _filters(m, x, (4, x.shape[1])), padding=1),
    "filters": lambda m, f, x: f.conv3d(x, _filters(m, x, (4, x.shape[1]), True), padding=1),
    "in_double": lambda m, f, x: f.conv3d(x.double(), _filters(m, x.double(), (4, x.shape[1])), padding=1),
    "transposed": lambda m, f, x: f.conv_transpose3d(x, _filters(m, x, (x.shape[1], 4))),
    "max_pool": lambda m, f, x: f.max_pool3d(x, 3, 1, 1, return_indices=True),
    "avg_pool": lambda m, f, x: f.avg_pool3d(x, 1), "average": lambda m, f, x: f.adaptive_avg_pool3d(x, 1),
    "adaptive": lambda m, f, x: f.adaptive_max_pool3d(x, 2), "averages": lambda m, f, x: f.adaptive_avg_pool3d(x, 2),
    "unpool": lambda m, f, x: f.max_unpool3d(*f.max_pool3d(x, 1, return_indices=True), 1),
    "trilinear": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="trilinear"),
    "area": lambda m, f, x: f.interpolate(x, scale_factor=2, mode="area"),
}  # fmt: skip

#: Operations whose gradients have other strides than PyTorch's: if row-major gradients meet channels-last images (the
#: first list), or if images are channels-last (the second).
OF_OTHER_GRADIENTS = {"relu", "leaky_relu", "clamp", "lrn"}
OF_OTHER_STRIDES = {"average", "clamp"}


def _facts(m, operation, x, name):
    """Shapes and strides of the results, and strides of the gradients for ones in either format."""
    m.manual_seed(0)
    results = operation(m, m.nn.functional, x)
    results = list(results) if isinstance(results, tuple) else [results]
    facts = [(tuple(result.shape), result.stride()) for result in results]
    out = results[0]
    if out.requires_grad and name not in OF_OTHER_STRIDES:
        given = _laid_out(m, tuple(out.shape), False, 1, str(out.dtype).removeprefix("torch."))
        grads = [m.empty_like(out.detach()).copy_(given), *[given] * (name not in OF_OTHER_GRADIENTS)]
        facts += [m.autograd.grad(out, x, grad, retain_graph=True)[0].stride() for grad in grads]
    return facts, [one.detach().numpy().copy() for one in results]


def _check(name, operation, shape, last):
    import torch

    import numgrad

    theirs, ours = [
        _facts(m, operation, _laid_out(m, shape, last).requires_grad_(), name) for m in (torch, numgrad)
    ]
    assert ours[0] == theirs[0]
    for own, other in zip(ours[1], theirs[1], strict=True):
        if not name.startswith(("dropout", "fractional")):
            np.testing.assert_allclose(own, other, 1e-4, 1e-5)


@pytest.mark.parametrize("last", [True, False], ids=["channels_last", "row_major"])
@pytest.mark.parametrize("name", ON_IMAGES)
def test_images(name, last):
    for shape in IMAGES:
        _check(name, ON_IMAGES[name], shape, last)


@pytest.mark.parametrize("last", [True, False], ids=["channels_last", "row_major"])
@pytest.mark.parametrize("name", ON_VOLUMES)
def test_volumes(name, last):
    for shape in VOLUMES:
        if shape[0] > 1 or name not in ("conv", "filters", "transposed"):  # which PyTorch computes in another way
            _check(name, ON_VOLUMES[name], shape, last)


# -- tensors are given a format -----------------------------------------------------------------------------------


def _strides(m, shape):
    """All ways to a format and back."""
    x = m.ones(*shape)
    last = m.channels_last if len(shape) == 4 else m.channels_last_3d
    made = x.to(memory_format=last)
    tensors = [
        x.contiguous(memory_format=last), x.clone(memory_format=last), made, x.double(memory_format=last), made.clone(),
        x.to(m.float64, memory_format=last), made.contiguous(), made.to(memory_format=m.contiguous_format),
        made.double(), made.double(memory_format=m.contiguous_format), made.to(memory_format=last, copy=True),
        m.empty(shape, memory_format=last), m.empty_like(made), m.empty_like(x, memory_format=last),
        m.zeros_like(made, memory_format=m.contiguous_format), m.ones_like(made, memory_format=m.preserve_format),
        m.rand_like(x, memory_format=last), m.full_like(x, 2.0, memory_format=last), m.rand_like(made),
        m.randint_like(x, 3, memory_format=last), m.ones(2).resize_(shape, memory_format=last),
        m.ones(2).resize_as_(made), m.ones(2).resize_as_(made, memory_format=m.preserve_format),
        m.ones(shape).resize_(shape, memory_format=last), x.cpu(memory_format=last), x.bool(memory_format=last),
    ]  # fmt: skip
    same = [made is x, x.contiguous(memory_format=last) is x, made.to(memory_format=last) is made,
            made.to(memory_format=m.preserve_format) is made, x.to(memory_format=m.contiguous_format) is x]
    formats = [one.is_contiguous(memory_format=each) for one in (x, made) for each in (last, m.preserve_format)]
    return [tensor.stride() for tensor in tensors], same, formats, repr(last)


@pytest.mark.parametrize("shape", [*IMAGES, *VOLUMES, (2, 0, 3, 4), (0, 3, 4, 5)], ids=str)
def test_formats_of_tensors(shape):
    import torch

    import numgrad

    assert _strides(numgrad, shape) == _strides(torch, shape)


def test_random_numbers_of_a_format():
    import torch

    import numgrad

    drawn = []
    for m in (torch, numgrad):
        m.manual_seed(1)
        x = m.ones(2, 3, 4, 5).to(memory_format=m.channels_last)
        row_major = m.rand_like(x, memory_format=m.contiguous_format)
        drawn.append([m.rand_like(x).tolist(), m.randn_like(x).tolist(), row_major.tolist()])
    np.testing.assert_allclose(drawn[0], drawn[1], 1e-6)


def test_nodes():
    import torch

    import numgrad

    for m in (torch, numgrad):
        x, format = m.ones(2, 3, 4, 5, requires_grad=True), {"memory_format": m.channels_last}
        outs = [x.contiguous(**format), x.clone(**format), x.to(**format), x.double(**format)]
        assert [type(out.grad_fn).__name__ for out in outs] == ["CloneBackward0"] * 2 + ["ToCopyBackward0"] * 2
        sum(out.sum() for out in outs).backward()
        assert x.grad.stride() == (60, 20, 5, 1)


@pytest.mark.parametrize("program", [
    lambda m: m.ones(2, 3).contiguous(memory_format=m.channels_last),
    lambda m: m.ones(2, 3).to(memory_format=m.channels_last),
    lambda m: m.ones(2, 3, 4, 5).clone(memory_format=m.channels_last_3d),
    lambda m: m.empty(2, 3, memory_format=m.channels_last), lambda m: m.empty(2, 3, memory_format=m.preserve_format),
    lambda m: m.zeros_like(m.ones(2), memory_format=m.channels_last),
    lambda m: m.ones(3, 2).t().contiguous(memory_format=m.preserve_format),
    lambda m: m.nn.Conv3d(1, 1, 1).to(memory_format=m.channels_last),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected))


@pytest.mark.parametrize("program", [
    lambda m: m.zeros(2, 3, 4, 5, memory_format=m.channels_last), lambda m: m.ones(1).to(m.channels_last),
    lambda m: m.zeros_like(m.ones(2), memory_format=3),
    lambda m: m.nn.Conv2d(1, 1, 1).to(memory_format="channels_last"),
])  # fmt: skip
def test_invalid_formats(program):
    expected, found = messages(program)
    assert type(found) is type(expected) is TypeError


def _of_modules(m):
    utils = importlib.import_module(f"{m.__name__}.nn.utils")
    model = m.nn.Sequential(m.nn.Conv2d(3, 4, 2), m.nn.BatchNorm2d(4), m.nn.ConvTranspose2d(4, 2, 3))
    weight = model[0].weight
    model = model.to(memory_format=m.channels_last)
    out = model(m.ones(2, 3, 4, 5))
    out.sum().backward()
    volumes = m.nn.Sequential(m.nn.Conv3d(2, 3, 2), m.nn.Conv2d(2, 3, 2))
    parameters = [
        *model.parameters(), *copy.deepcopy(model).parameters(), *[one.grad for one in model.parameters()],
        *model.state_dict().values(), out, *m.nn.Conv3d(2, 3, 2).to(memory_format=m.channels_last_3d).parameters(),
        *m.nn.Linear(2, 3).to(memory_format=m.channels_last).double().parameters(),
        *utils.convert_conv3d_weight_memory_format(volumes, m.channels_last_3d).parameters(),
        *utils.convert_conv2d_weight_memory_format(volumes, m.channels_last).parameters(),
        *model.to(memory_format=m.preserve_format).parameters(),
        *model.to(memory_format=m.contiguous_format).parameters(),
    ]  # fmt: skip
    return [parameter.stride() for parameter in parameters], weight is model[0].weight


def test_modules():
    import torch

    import numgrad

    assert _of_modules(numgrad) == _of_modules(torch)
