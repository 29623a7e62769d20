"""The largest elements of the windows of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import Ints, Layout, layout_of, numel
from ...core.tensor import Tensor, tensor_of
from ...core.types import bool_, int64, tensor_type
from ..indexing.gathering import gather_op, scatter_zeros
from ..memory.copying import row_reader
from ..reductions.axes import Prepared
from ..shapes.dimensions import squeeze_dim, unsqueeze_op
from ..shapes.views import for_each_dimension, reshape
from ..table.lookup import lookup
from ..table.operands import not_implemented
from ..table.planned import planned

#: What ``nn.functional`` has of it.
__all__ = [
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices",
]


@planned("MaxPool2DWithIndicesBackward0", aten="max_pool2d_with_indices", extras=["indices"], dims=())
def max_pool_op(input: Layout, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> Prepared:
    """The largest elements of windows over the last dimensions, and where they are in these, counted as one."""
    rank, each_dim = len(kernel_size), zip(kernel_size, stride, padding, dilation, strict=True)
    outer, size = input.shape[:-rank], input.shape[-rank:]
    windows = tuple([_count(extent, *each, ceil) for extent, each in zip(size, each_dim, strict=True)])
    if min(windows) < 1:
        before, after = [f"({'x'.join(map(str, (outer[-1], *each)))})" for each in (size, windows)]
        raise RuntimeError(f"Given input size: {before}. Calculated output size: {after}. Output size is too small")
    if input.type.dtype is bool_ or input.type.dtype.is_complex:
        raise not_implemented(f"max_pool{rank}d", input)
    out = layout_of(input.type, (*outer, *windows))
    indices = layout_of(tensor_type(int64, input.type.device), out.shape)
    numbers: list[int] = []
    for each, otherwise in ((size, 1), (kernel_size, 1), (stride, 1), (padding, 0), (dilation, 1), (windows, 1)):
        numbers += (*(otherwise,) * (3 - rank), *each)
    read = row_reader(input)
    compute = input.type.backend.max_pool_launcher(input.type, numbers, out.size * numel(kernel_size), out.size)
    return (out, indices), lambda tensor: compute(read(tensor))


@max_pool_op.gradient("input")
def _(grad, indices, input_shape, kernel_size):
    """``zeros(input_shape)``, with ``grad`` added at ``indices``."""
    backward = max_pool3d_backward if len(kernel_size) == 3 else max_pool_backward
    return backward(grad, indices, input_shape, len(kernel_size))


@planned(
    "MaxPool2DWithIndicesBackwardBackward0", aten="max_pool2d_with_indices_backward",
    inputs=["grad_output", "indices"], nondifferentiable=["indices"],
    linear=True, shapes=["shape"],
)
def max_pool_backward(grad_output: Layout, indices: Layout, shape: Ints, rank: int) -> Prepared:
    """Zeros of ``shape``, with gradients added where the largest elements are in the last ``rank`` dimensions."""
    own, index = [layout_of(each.type, _joined(each.shape, rank)) for each in (grad_output, indices)]
    _, scatter = scatter_zeros.prepare(own, index, _joined(shape, rank), len(shape) - rank)
    read, read_index = row_reader(grad_output), row_reader(indices)
    return layout_of(own.type, shape), lambda grad, indices: scatter(
        tensor_of(own, read(grad)), tensor_of(index, read_index(indices))
    )


@max_pool_backward.gradient("grad_output")
def _(grad, indices, grad_output_shape, rank):
    """``gather(grad, indices)``."""
    own, index = [reshape(each, _joined(each._layout.shape, rank)) for each in (grad, indices)]
    return reshape(gather_op(own, index, len(grad_output_shape) - rank), grad_output_shape)


max_pool3d_op = max_pool_op.recorded_as("MaxPool3DWithIndicesBackward0")
max_pool3d_backward = max_pool_backward.recorded_as("MaxPool3DWithIndicesBackwardBackward0")


def _joined(shape: Ints, rank: int) -> Ints:
    """The shape with the last dimensions made one."""
    return (*shape[:-rank], numel(shape[-rank:]))


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """How many windows there are along a dimension: rounded up, those that begin before the padding behind it."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-span // stride) + 1 if ceil else span // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def _check(input: Layout, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
    """Raise unless images, perhaps a batch of them, can be pooled with these windows.

    Raises:
        RuntimeError: the shape or the numbers are not such.
    """
    rank = len(kernel_size)
    ranks = f"{rank + 1}D or {rank + 2}D (batch mode) tensor"
    if len(input.shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"non-empty {ranks} expected for input")
    for k, s, p, d in zip(kernel_size, stride, padding, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > int((d * (k - 1) + 1) / 2):
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    numbers = ("kernel size", "k", kernel_size), ("stride", "d", stride), ("dilation", "dilation", dilation)
    for name, letter, given in numbers:
        if min(given) < 1:
            told = " ".join([f"{letter}{dim}: {number}" for dim, number in zip("THW"[-rank:], given, strict=True)])
            raise RuntimeError(f"{name} should be greater than zero, but got {told}")
    if 0 in input.shape[-rank - 1 :]:
        raise RuntimeError(f"Expected {ranks} with optional 0 dim batch size for input, but got:{list(input.shape)}")


# -- the public functions -----------------------------------------------------------------------------------------


def _max_pool(rank: int, indices: bool) -> Any:
    """The public function for images of so many dimensions; with ``indices`` it returns these in any case."""
    name = f"max_pool{rank}d"

    def each(argument: str, must: str, value: int | Sequence[int]) -> Ints:
        """A number for each dimension, of one for all or one for each."""
        given = for_each_dimension(value, rank, argument)
        if len(given) != rank:
            count = ("one int", "two ints", "three ints")[rank - 1]
            raise RuntimeError(f"{name}: {argument} {must} a single int, or a tuple of {count}")
        return given

    def resolve(
        input: Layout, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        steps = kernel_size if stride is None or stride in ((), []) else stride
        how = [
            each("kernel_size", "must either be", kernel_size), each("stride", "must either be omitted,", steps),
            each("padding", "must either be", padding), each("dilation", "must be either", dilation),
        ]
        image, last = input, len(input.shape) - 1
        if rank == 1 and last > 0:  # an image of one row
            image = layout_of(input.type, (*input.shape[:-1], 1, input.shape[-1]))
            how = [(otherwise, *own) for own, otherwise in zip(how, (1, 1, 0, 1), strict=True)]
        _check(image, *how)

        def call(input: Tensor) -> Any:
            images = input if image.shape == input._layout.shape else unsqueeze_op(input, last)
            count = 1 + (indices or return_indices)
            out = (max_pool3d_op if rank == 3 else max_pool_op)(images, *how, ceil_mode)[:count]
            out = out if images is input else tuple([squeeze_dim(one, last) for one in out])
            return out if count > 1 else out[0]

        return call, ()

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
        return_indices: whether to return besides where the elements are, int64, in each image as one row.

    Raises:
        RuntimeError: the shape, or the numbers, do not fit.
        NotImplementedError: the images are of bools or complex numbers.
    """
    return lookup(resolve, export=rank == 1 or not indices, method=False)


max_pool1d, max_pool2d, max_pool3d = [_max_pool(rank, False) for rank in (1, 2, 3)]
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = [
    _max_pool(rank, True) for rank in (1, 2, 3)
]
