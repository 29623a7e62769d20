"""Normalization of groups of channels: each group of an example brought to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from ...core.layout import Layout, layout_of, numel
from ...core.tensor import Tensor, tensor_of
from ..batching.physical import expanded
from ..memory.copying import row_reader
from ..memory.images import following
from ..pointwise.arithmetic import add, mul
from ..reductions.axes import Prepared, axis_launcher
from ..reductions.sums import sum_dims
from ..shapes.views import reshape
from ..table.composition import differentiated_as
from ..table.op import public
from ..table.operands import fused_launcher, not_implemented
from ..table.planned import planned
from .normalization import projected, standardized


@planned(
    "NativeGroupNormBackward0", aten="native_group_norm", inputs=["input", "weight", "bias"], extras=["mean", "scale"],
    joint=True,
)
@following("input")
def group_norm_op(input: Layout, weight: Layout | None, bias: Layout | None, groups: int, eps: float) -> Prepared:
    """``(input - mean) * scale * weight + bias``, mean and scale being those of groups of channels, dimension 1.

    The results are that, the means of the groups, and their scales, which are ``1 / sqrt(variance + eps)``.
    """
    _check(input, groups, weight=weight, bias=bias)
    out, each = layout_of(input.type, input.shape), layout_of(input.type, (input.shape[0], groups))
    backend, read, *readers = input.type.backend, *map(row_reader, (input, weight, bias))
    direct = backend.plane_norm_launcher(input.type, *_planes(input, groups), False, eps)
    if direct is not None:
        of_weight, of_bias = readers
        return (out, each, each), lambda input, weight, bias: direct(read(input), of_weight(weight), of_bias(bias))[:3]
    dense, wide = _divided(input, groups), [_of_channels(one, groups, input) for one in (weight, bias)]
    standardize = backend.layer_norm_launcher(input.type, input.size, numel(dense.shape[2:]), each.size, eps)
    shift = fused_launcher("group_norm", _shifted, [dense, wide[0] or 1.0, wide[1] or 0.0], dense)

    def launch(input: Tensor, *factors: Any) -> Any:
        normal, mean, scale = standardize(read(input), None, None)
        return shift(tensor_of(dense, normal), *[one for one in factors if one is not None]), mean, scale

    return (out, each, each), launch


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
    out, mean, scale = [reshape(one, (size, -1, *one._layout.shape[1:])) for one in outs]
    for one, combine in ((weight, mul), (bias, add)):
        if one is not None:
            out = combine(out, reshape(expanded(one), (size, 1, shape[1], *(1,) * len(shape[2:]))))
    return out, mean, scale


@planned(
    "NativeGroupNormBackwardBackward0", aten="native_group_norm_backward",
    inputs=["grad_output", "input", "weight", "mean", "scale"],
    nondifferentiable=["mean", "scale"], outputs=["of_input", "of_weight", "of_bias"],
)
@following("input")
def group_norm_backward(
    grad_output: Layout, input: Layout, weight: Layout | None, mean: Layout, scale: Layout, groups: int, eps: float
) -> Prepared:
    """The gradients for the input, the weight and the bias; mean and scale are functions of the input."""
    out, each = layout_of(input.type, input.shape), layout_of(input.type, input.shape[1:2])
    backend, readers = input.type.backend, [row_reader(one) for one in (grad_output, input, mean, scale, weight)]
    direct = backend.plane_norm_gradients_launcher(input.type, *_planes(input, groups), False)
    if direct is not None:
        return (out, each, each), lambda grad, input, weight, *statistics: direct(
            *[read(one) for read, one in zip(readers, (grad, input, *statistics, weight), strict=True)]
        )
    dense, groupwise = _divided(input, groups), layout_of(input.type, (*mean.shape, 1, 1))
    weigh = fused_launcher("group_norm", _weighted, [dense, _of_channels(weight, groups, input) or 1.0], dense)
    project = backend.layer_norm_gradients_launcher(input.type, input.size, numel(dense.shape[2:]), mean.size)
    multiply = fused_launcher("group_norm", _product, [dense, dense, groupwise, groupwise], dense)
    summed = axis_launcher("fold_axis", dense, (0, 3), "sum", input.type.numpy)

    def launch(*tensors: Any) -> Any:
        grad, input, weight, mean, scale = tensors
        rows = [read(one) for read, one in zip(readers, (grad, input, mean, scale), strict=False)]
        grad, input, mean, scale = [
            tensor_of(own, row) for own, row in zip((dense, dense, groupwise, groupwise), rows, strict=True)
        ]
        weighted = weigh(grad, *[weight] * (weight is not None))
        of_input = project(weighted, *rows[1:], None)[0]
        return of_input, summed(tensor_of(dense, multiply(grad, input, mean, scale))), summed(grad)

    return (out, each, each), launch


@differentiated_as(group_norm_backward)
def _(grad_output, input, weight, groups, eps):
    """``y = (input - mean) * scale; g = grad_output * weight; (scale * (g - mean(g) - y * mean(g * y)),
    sum(grad_output * y), sum(grad_output))``.
    """
    shape = input._layout.shape
    divided = shape[0], groups, shape[1] // groups, numel(shape[2:])
    grad, own = reshape(grad_output, divided), reshape(input, divided)
    normal, divisor = standardized(own, (2, 3), eps)
    weighted = grad if weight is None else mul(grad, reshape(weight, (1, groups, -1, 1)))
    sums = [reshape(sum_dims(one, (0, 3), False), (-1,)) for one in (mul(grad, normal), grad)]
    return reshape(projected(weighted, normal, divisor, (2, 3)), shape), *sums


def _planes(input: Layout, groups: int) -> tuple[int, int, int, int]:
    """For launchers: the channels, the elements of a plane, the planes, and the sets of them."""
    images, channels, *size = input.shape
    return channels, numel(tuple(size)), images * channels, images * groups


def _divided(input: Layout, groups: int) -> Layout:
    """A row-major tensor of the input's elements: images, groups, channels of a group, and elements of a channel."""
    images, channels, *size = input.shape
    return layout_of(input.type, (images, groups, channels // groups, numel(tuple(size))))


def _of_channels(own: Layout | None, groups: int, input: Layout) -> Layout | None:
    """What broadcasts an element for each channel to that."""
    if own is None:
        return None
    within = own.shape[0] // groups
    return layout_of(own.type, (1, groups, within, 1), (0, within * own.strides[0], own.strides[0], 0))


# -- what is done with each element -------------------------------------------------------------------------------


def _shifted(normal, weight, bias):
    return normal * weight + bias


def _weighted(grad, weight):
    return grad * weight


def _product(grad, input, mean, scale):
    return grad * ((input - mean) * scale)


# -- the public function ------------------------------------------------------------------------------------------


def _check(input: Layout, groups: int, **arguments: Layout | None) -> None:
    """Raise unless the input's channels can be divided into so many groups, and the arguments are of one each."""
    shape = input.shape
    if len(shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={groups}"
        )
    for name, own in arguments.items():
        if own is not None and own.shape != shape[1:2]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(own.shape)} and input of shape {list(shape)}"
            )
    if not input.type.dtype.is_floating_point:
        raise not_implemented("GroupNormKernelImpl", input)
    if any(own is not None and own.type is not input.type for own in arguments.values()):
        raise RuntimeError(
            f"mixed dtype (CPU): expect parameter to have scalar type of {input.type.dtype.legacy}: weight and bias "
            "must be of the input's"
        )


@public(method=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, mean and variance being those of groups of channels.

    Args:
        input: floating-point numbers, of shape (n, channels, ...).
        num_groups: into how many groups of as many neighbours each the channels are divided.
        weight, bias: of shape (channels,) and the input's dtype; none stands for 1 and 0.
        eps: keeps the divisor from 0.
        cudnn_enabled: taken because PyTorch takes it.

    Raises:
        RuntimeError: the channels cannot be divided so, or the shapes or dtypes do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return group_norm_op(input, weight, bias, int(num_groups), float(eps))[0]
