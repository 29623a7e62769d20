"""Max pooling of images, with windows of one size or a fixed number of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import Ints, Layout, layout_of, numel
from ...core.types import int64, tensor_type
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..indexing.gathering import gather_op, scatter_new
from ..memory.images import following
from ..shapes.dimensions import squeeze_dim, unsqueeze_op
from ..shapes.views import reshape
from ..table.checks import check_supported
from ..table.lookup import lookup, operation
from ..table.op import export
from ..table.public_signatures import OneOrSeveral
from .average_pooling import adaptive_sizes, check_adaptive
from .image_windows import Numbers, check_windows, window_counts, window_numbers

#: The public functions of ``nn.functional`` defined here.
__all__ = [
    "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
]


@operation("MaxPool2DWithIndicesBackward0", aten="max_pool2d_with_indices", extras=["indices"], dims=())
@following("input")
def max_pool_op(
    p: Plan, input: TensorRef, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the maxima of windows over the last dimensions, and their flat indices in these."""
    rank = len(kernel_size)
    outer, size = input.shape[:-rank], input.shape[-rank:]
    windows = window_counts(input.layout, kernel_size, stride, padding, dilation, ceil)
    check_supported(input, "if", f"max_pool{rank}d")
    numbers: list[int] = []
    for each, otherwise in ((size, 1), (kernel_size, 1), (stride, 1), (padding, 0), (dilation, 1), (windows, 1)):
        numbers += (*(otherwise,) * (3 - rank), *each)
    shape = (*outer, *windows)
    return _pooled(p, input, shape, numbers, numel(shape) * numel(kernel_size), False)


def _pooled(
    p: Plan, input: TensorRef, shape: Ints, numbers: Sequence[int], work: int, adaptive: bool
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the maxima of windows and their indices, both of ``shape``."""
    out, indices = p.backend.max_pool(p, p.contiguous(input), numbers, work, numel(shape), adaptive)
    return p.tensor(out, input.type, shape), p.tensor(indices, tensor_type(int64, input.type.device), shape)


@max_pool_op.gradient("input")
def _(grad, indices, input_shape, kernel_size):
    """``zeros(input_shape)``, with ``grad`` added at ``indices``."""
    backward = max_pool3d_backward if len(kernel_size) == 3 else max_pool_backward
    return backward(grad, indices, input_shape, len(kernel_size))


@operation(
    "MaxPool2DWithIndicesBackwardBackward0", aten="max_pool2d_with_indices_backward",
    inputs=["grad_output", "indices"], nondifferentiable=["indices"],
    linear=True, shapes=["shape"],
)
@following("indices")
def max_pool_backward(p: Plan, grad_output: TensorRef, indices: TensorRef, shape: Ints, rank: int) -> TensorRef:
    """Add the steps that add gradients to zeros of ``shape``, at flat indices into the last ``rank`` dimensions."""
    return placed(p, grad_output, indices, shape, rank, "add")


@max_pool_backward.gradient("grad_output")
def _(grad, indices, grad_output_shape, rank):
    """``gather(grad, indices)``."""
    return elements_at(grad, indices, rank)


def placed(p: Plan, source: TensorRef, indices: TensorRef, shape: Ints, rank: int, mode: str) -> TensorRef:
    """Add the steps that "set" or "add" elements in zeros of ``shape``, at flat indices into the last dimensions."""
    values, index = [p.tensor(p.contiguous(each), each.type, joined(each.shape, rank)) for each in (source, indices)]
    out = scatter_new(p, values, index, joined(shape, rank), len(shape) - rank, mode)
    return p.tensor(p.contiguous(out), source.type, shape)


def elements_at(input: Tensor, indices: Tensor, rank: int) -> Tensor:
    """Return the elements at flat indices into the last ``rank`` dimensions."""
    values, index = [reshape(each, joined(each._layout.shape, rank)) for each in (input, indices)]
    return reshape(gather_op(values, index, len(values._layout.shape) - 1), indices._layout.shape)


max_pool3d_op = max_pool_op.recorded_by("MaxPool3DWithIndicesBackward0")
max_pool3d_backward = max_pool_backward.recorded_by("MaxPool3DWithIndicesBackwardBackward0")


def joined(shape: Ints, rank: int) -> Ints:
    """Return the shape with the last ``rank`` dimensions flattened."""
    return (*shape[:-rank], numel(shape[-rank:]))


@operation("AdaptiveMaxPool2DBackward0", aten="adaptive_max_pool2d", extras=["indices"], dims=())
@following("input", volumes=False)
def adaptive_max_pool_op(p: Plan, input: TensorRef, sizes: Ints) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the maxima of ``sizes`` windows over the last dimensions, and their flat indices."""
    rank = len(sizes)
    outer, size = input.shape[:-rank], input.shape[-rank:]
    shape = (*outer, *sizes)
    ones, zeros, before = (1, 1, 1), (0, 0, 0), (1,) * (3 - rank)
    numbers = [*before, *size, *ones, *before, *sizes, *zeros, *ones, *before, *sizes]
    return _pooled(p, input, shape, numbers, max(input.size, numel(shape)), True)


adaptive_max_pool3d_op = adaptive_max_pool_op.recorded_by("AdaptiveMaxPool3DBackward0")
_adaptive_backward = {
    rank: max_pool_backward.recorded_by(f"AdaptiveMaxPool{rank}DBackwardBackward0") for rank in (2, 3)
}


@adaptive_max_pool_op.gradient("input")
def _(grad, indices, input_shape, sizes):
    """``zeros(input_shape)``, with ``grad`` added at ``indices``."""
    return _adaptive_backward[len(sizes)](grad, indices, input_shape, len(sizes))


# -- the public functions -----------------------------------------------------------------------------------------


def _max_pool(rank: int, indices: bool) -> Any:
    """Return the public function for images of ``rank`` dimensions; with ``indices`` it always returns these."""
    name = f"max_pool{rank}d"

    def resolve(
        input: Layout, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0,
        dilation: Numbers = 1, ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:
        steps = kernel_size if stride is None or stride in ((), []) else stride
        window_arguments = {"kernel_size": kernel_size, "stride": steps, "padding": padding, "dilation": dilation}
        windows = [window_numbers(name, argument, value, rank) for argument, value in window_arguments.items()]
        image, last = input, len(input.shape) - 1
        if rank == 1 and last > 0:  # an image of one row
            image = layout_of(input.type, (*input.shape[:-1], 1, input.shape[-1]))
            windows = [(otherwise, *lengths) for lengths, otherwise in zip(windows, (1, 1, 0, 1), strict=True)]
        check_windows(image, *windows)

        def call(input: Tensor) -> Any:
            images = input if image.shape == input._layout.shape else unsqueeze_op(input, last)
            count = 1 + (indices or return_indices)
            out = (max_pool3d_op if rank == 3 else max_pool_op)(images, *windows, ceil_mode)[:count]
            out = out if images is input else tuple([squeeze_dim(tensor, last) for tensor in out])
            return out if count > 1 else out[0]

        return call, ()

    resolve.__annotations__["return"] = tuple[Tensor, Tensor] if indices else OneOrSeveral
    resolve.__name__ = resolve.__qualname__ = name + "_with_indices" if indices else name
    resolve.__doc__ = f"""The largest elements of the windows of images of {rank} dimensions.

    Of equal ones the first counts, and of NaN, which is larger than all else, the last.

    Args:
        input: of shape (n, channels, ...) or (channels, ...).
        kernel_size: the size of a window.
        stride: by how many elements windows lie apart; the size of one unless given.
        padding: by how many elements windows reach beyond either end of a dimension, at most half of their size.
        dilation: by how many elements those of a window lie apart.
        ceil_mode: whether a window that reaches further beyond the end counts, if it begins before that.
        return_indices: True to also return the int64 indices of the elements in each flattened image.

    Raises:
        RuntimeError: the shape, or the numbers, do not fit.
        NotImplementedError: the images are of bools or complex numbers.
    """
    return lookup(resolve, export=rank == 1 or not indices, method=False)


max_pool1d, max_pool2d, max_pool3d = [_max_pool(rank, False) for rank in (1, 2, 3)]
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = [
    _max_pool(rank, True) for rank in (1, 2, 3)
]


def _adaptive_max_pool(rank: int, indices: bool) -> Any:
    """Return the public function for images of ``rank`` dimensions; with ``indices`` it always returns these."""
    name, dims = f"adaptive_max_pool{rank}d", max(rank, 2)
    inner = f"adaptive_max_pool{dims}d"

    def resolve(input: Layout, output_size: Any, return_indices: bool = False) -> Any:
        sizes = adaptive_sizes(name, input, output_size, rank, "(): internal error: output_size.size()")
        image, last = input, len(input.shape) - 1
        if rank == 1:  # an image of one row
            image, sizes = layout_of(input.type, (*input.shape[:-1], 1, input.shape[-1])), (1, *sizes)
        check_adaptive(inner, image, dims, ":")
        if min(sizes) < 0:
            shape = [*image.shape[:-dims], *sizes]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {shape}")
        check_supported(input, "f", f"{inner}_cpu" if rank == 3 else inner)
        op = adaptive_max_pool3d_op if rank == 3 else adaptive_max_pool_op
        count = 1 + (indices or return_indices)

        def call(input: Tensor) -> Any:
            out = op(unsqueeze_op(input, last) if rank == 1 else input, sizes)[:count]
            out = tuple([squeeze_dim(tensor, last) for tensor in out]) if rank == 1 else out
            return out if count > 1 else out[0]

        return call, ()

    resolve.__annotations__["return"] = tuple[Tensor, Tensor] if indices else OneOrSeveral
    resolve.__name__ = resolve.__qualname__ = name + "_with_indices" if indices else name
    resolve.__doc__ = f"""The largest elements of so many windows of images of {rank} dimensions that the output has a
    given size.

    Args:
        input: floating-point numbers, of shape (n, channels, ...) or (channels, ...).
        output_size: a number for all dimensions or one for each; None stands for the input's size.
        return_indices: True to also return the int64 indices of the elements in each flattened image.

    Raises:
        RuntimeError, ValueError: the shape, or the numbers, do not fit.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return lookup(resolve, export=False)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = [_adaptive_max_pool(rank, False) for rank in (1, 2, 3)]
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = [
    _adaptive_max_pool(rank, True) for rank in (1, 2, 3)
]
export("adaptive_max_pool1d", adaptive_max_pool1d_with_indices, method=False)  # as in PyTorch
