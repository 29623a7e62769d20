"""Group normalization: each group of channels of an example normalized to mean 0 and variance 1."""

from __future__ import annotations

from ...core.layout import Layout, layout_of, numel
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.physical import expanded
from ..composition import differentiated_as
from ..memory.images import following
from ..pointwise.arithmetic import add, mul
from ..reductions.axes import along_axis
from ..reductions.sums import sum_dims
from ..shapes.views import reshape
from ..table.checks import check, check_index, check_supported
from ..table.lookup import operation
from ..table.op import public
from ..table.operands import fused
from .normalization import projected, standardized


@operation(
    "NativeGroupNormBackward0", aten="native_group_norm", inputs=["input", "weight", "bias"], extras=["mean", "scale"],
    joint=True, mixed=True,
)
@following("input")
def group_norm_op(
    p: Plan, input: TensorRef, weight: TensorRef | None, bias: TensorRef | None, groups: int, eps: float
) -> tuple[TensorRef, ...]:
    """Add the steps of ``(input - mean) * scale * weight + bias``, with mean and scale of groups of channels.

    The results are the normalized tensor, the groups' means, and their scales ``1 / sqrt(variance + eps)``.  The
    channels are dimension 1.
    """
    _check(input, groups, weight=weight, bias=bias)
    type, per_group = input.type, (input.shape[0], groups)
    rows = [tensor and p.contiguous(tensor) for tensor in (input, weight, bias)]
    if p.backend.channels_are_fused(channel_sizes(input)[1], False):
        buffers = p.backend.normalized_channels(p, *rows, *channel_sizes(input), numel(per_group), False, eps)
        shapes = input.shape, per_group, per_group
        return tuple([p.tensor(buffer, type, shape) for buffer, shape in zip(buffers, shapes, strict=False)])
    dense = _divided(input, groups)
    normal, *buffers = p.backend.layer_norm_rows(p, rows[0], None, None, numel(dense.shape[2:]), numel(per_group), eps)
    factors = _of_channels(weight, groups, 1.0), _of_channels(bias, groups, 0.0)
    out = fused(p, "group_norm", _shifted, [p.tensor(normal, type, dense.shape), *factors], dense)
    return out.viewed(layout_of(type, input.shape)), *[p.tensor(buffer, type, per_group) for buffer in buffers]


@group_norm_op.gradient("input", "weight", "bias")
def _(grad, input, weight, mean, scale, groups, eps):
    """``y = (input - mean) * scale; g = grad * weight; (scale * (g - mean(g) - y * mean(g * y)), sum(grad * y),
    sum(grad))``.
    """
    return group_norm_backward(grad, input, weight, mean, scale, groups, eps)


@group_norm_op.batched
def _(input, weight, bias, groups, eps):
    images = expanded(input)
    size, *shape = images._layout.shape
    outs = group_norm_op(reshape(images, (size * shape[0], *shape[1:])), None, None, groups, eps)
    out, mean, scale = [reshape(each, (size, -1, *each._layout.shape[1:])) for each in outs]
    for parameter, combine in ((weight, mul), (bias, add)):
        if parameter is not None:
            out = combine(out, reshape(expanded(parameter), (size, 1, shape[1], *(1,) * len(shape[2:]))))
    return out, mean, scale


@operation(
    "NativeGroupNormBackwardBackward0", aten="native_group_norm_backward",
    inputs=["grad_output", "input", "weight", "mean", "scale"],
    nondifferentiable=["mean", "scale"], outputs=["of_input", "of_weight", "of_bias"],
)
@following("input")
def group_norm_backward(
    p: Plan, grad_output: TensorRef, input: TensorRef, weight: TensorRef | None, mean: TensorRef, scale: TensorRef,
    groups: int, eps: float,
) -> tuple[TensorRef, ...]:
    """Add the steps that compute the gradients of input, weight and bias; mean and scale are functions of the input."""
    type, channels = input.type, input.shape[1:2]
    grad, *rows = [p.contiguous(tensor) for tensor in (grad_output, input, mean, scale)]
    if p.backend.channels_are_fused(channel_sizes(input)[1], False):
        factors = weight and p.contiguous(weight)
        buffers = p.backend.normalized_channels_gradients(p, grad, *rows, factors, *channel_sizes(input), False)
    else:
        dense, groupwise = _divided(input, groups), (*mean.shape, 1, 1)
        shapes = dense.shape, dense.shape, groupwise, groupwise
        terms = [p.tensor(tensor, type, shape) for tensor, shape in zip((grad, *rows), shapes, strict=True)]
        weighted = fused(p, "group_norm", _weighted, [terms[0], _of_channels(weight, groups, 1.0)], dense)
        of_input = p.backend.layer_norm_gradients(p, p.contiguous(weighted), *rows, None, numel(dense.shape[2:]))[0]
        products = fused(p, "group_norm", _product, terms, dense)
        sums = [along_axis(p, "fold_axis", term, (0, 3), "sum", type.numpy) for term in (products, terms[0])]
        buffers = (of_input, *sums)
    of_each = zip(buffers, (input.shape, channels, channels), strict=True)
    return tuple([p.tensor(buffer, type, shape) for buffer, shape in of_each])


@differentiated_as(group_norm_backward)
def _(grad_output, input, weight, groups, eps):
    """``y = (input - mean) * scale; g = grad_output * weight; (scale * (g - mean(g) - y * mean(g * y)),
    sum(grad_output * y), sum(grad_output))``.
    """
    shape = input._layout.shape
    divided = shape[0], groups, shape[1] // groups, numel(shape[2:])
    grad, divided_input = reshape(grad_output, divided), reshape(input, divided)
    normal, divisor = standardized(divided_input, (2, 3), eps)
    weighted = grad if weight is None else mul(grad, reshape(weight, (1, groups, -1, 1)))
    sums = [reshape(sum_dims(each, (0, 3), False), (-1,)) for each in (mul(grad, normal), grad)]
    return reshape(projected(weighted, normal, divisor, (2, 3)), shape), *sums


def channel_sizes(input: TensorRef) -> tuple[int, int]:
    """Return the number of channels, and of elements in a channel."""
    return input.shape[1], numel(input.shape[2:])


def _divided(input: TensorRef, groups: int) -> Layout:
    """Return the row-major layout of shape (images, groups, channels of a group, elements of a channel)."""
    images, channels, *size = input.shape
    return layout_of(input.type, (images, groups, channels // groups, numel(tuple(size))))


def _of_channels(factor: TensorRef | None, groups: int, absent: float) -> TensorRef | float:
    """Return a view of one element per channel that broadcasts to the divided layout, or ``absent`` for None."""
    if factor is None:
        return absent
    within, stride = factor.shape[0] // groups, factor.layout.strides[0]
    return factor.viewed(layout_of(factor.type, (1, groups, within, 1), (0, within * stride, stride, 0)))


# -- the elementwise functions ------------------------------------------------------------------------------------


def _shifted(normal, weight, bias):
    return normal * weight + bias


def _weighted(grad, weight):
    return grad * weight


def _product(grad, input, mean, scale):
    return grad * ((input - mean) * scale)


# -- the public function ------------------------------------------------------------------------------------------


def _check(input: TensorRef, groups: int, **arguments: TensorRef | None) -> None:
    """Raise unless the channels divide into ``groups``, and each argument has one element per channel."""
    shape = input.shape
    check_index(len(shape) >= 2, "Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    check(groups > 0, "Expected num groups to be greater than 0, got {}", groups)
    if shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={groups}"
        )
    for name, tensor in arguments.items():
        if tensor is not None and tensor.shape != shape[1:2]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(tensor.shape)} and input of shape {list(shape)}"
            )
    check_supported(input, "f", "GroupNormKernelImpl")
    check(
        all(argument is None or argument.type is input.type for argument in arguments.values()),
        "mixed dtype (CPU): expect parameter to have scalar type of {}: weight and bias must be of the input's",
        input.type.dtype.legacy,
    )


@public(method=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, with mean and variance of groups of channels.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        num_groups: the number of equal groups of adjacent channels.
        weight, bias: of shape (channels,) and the input's dtype; None stands for 1 and 0.
        eps: keeps the divisor from 0.
        cudnn_enabled: accepted for compatibility with PyTorch.

    Raises:
        RuntimeError: ``num_groups`` does not divide the channels, or the shapes or dtypes do not fit.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    return group_norm_op(input, weight, bias, int(num_groups), float(eps))[0]
