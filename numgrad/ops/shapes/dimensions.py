"""Dimensions reordered, added or removed: transposes, squeeze and unsqueeze."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import Layout, layout_of, normal_dim, normal_dims
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import physical
from ..pointwise.arithmetic import conj
from ..table.arguments import Dim
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import attach, composite, public
from .views import alias, grad_view, in_shape, sizes_of


@operation("PermuteBackward0", view=True)
def permute_op(input: Layout, dims: tuple[int, ...]) -> tuple[Layout, int]:
    return _chosen(input, dims), 0


@permute_op.batched
def _(input, dims):
    return permute_op(physical(input), (0, *[d + 1 for d in dims]))


def _chosen(input: Layout, dims: Sequence[int]) -> Layout:
    """Return the layout of some of the dimensions."""
    return layout_of(input.type, tuple([input.shape[d] for d in dims]), tuple([input.strides[d] for d in dims]))


@permute_op.gradient("input")
def _(grad, dims):
    """``permute(grad, argsort(dims))``."""
    return grad_view(permute_op, grad, tuple([dims.index(d) for d in range(len(dims))]))


@lookup
def permute(input: Layout, *order: Any, dims: Any = None) -> Any:
    """Return the tensor with its dimensions in another order.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the order does not name each dimension once.

    Example:
        >>> import numgrad
        >>> numgrad.permute(numgrad.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    rank, new_order = len(input.shape), sizes_of(order, dims, "permute(): argument 'dims'")
    check(
        len(new_order) == rank,
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
        "ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}", rank, len(new_order),
    )
    normal = tuple([normal_dim(d, rank) for d in new_order])
    check(len(set(normal)) == rank, "permute(): duplicate dims are not allowed. (dims {}, shape {})", new_order, input)
    return permute_op, (normal,)


@operation("TransposeBackward0", public=True, view=True)
def transpose_op(input: Layout, dim0: Dim, dim1: Dim) -> tuple[Layout, int]:
    """Return the tensor with two dimensions exchanged.

    Example:
        >>> import numgrad
        >>> numgrad.transpose(numgrad.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([[1, 3],
                [2, 4]])
    """
    exchanged = {dim0: dim1, dim1: dim0}  # also for a 0-d tensor
    return _chosen(input, [exchanged.get(d, d) for d in range(len(input.shape))]), 0


@transpose_op.gradient("input")
def _(grad, dim0, dim1):
    return grad_view(transpose_op, grad, dim0, dim1)


@operation("TBackward0", public=True, view=True)
def t_op(input: Layout) -> tuple[Layout, int]:
    """Return the transpose of a matrix; a tensor of fewer dimensions as it is.

    Raises:
        RuntimeError: if the tensor has more than two dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.t(numgrad.zeros(2, 3)).shape
        torch.Size([3, 2])
    """
    check(len(input.shape) <= 2, "t() expects a tensor with <= 2 dimensions, but self is {}D", len(input.shape))
    return layout_of(input.type, input.shape[::-1], input.strides[::-1]), 0


@t_op.batched
def _(input):
    return transpose_op(physical(input), 1, max(len(input._layout.shape), 1))


@t_op.gradient("input")
def _(grad):
    return grad_view(t_op, grad)


t = t_op.public


def _squeezed(input: Layout, dims: Sequence[int]) -> tuple[Layout, int]:
    """Return the layout without those of ``dims`` that have size 1."""
    return _chosen(input, [d for d, extent in enumerate(input.shape) if extent != 1 or d not in dims]), 0


@operation("SqueezeBackward0", view=True)
def squeeze_all(input: Layout) -> tuple[Layout, int]:
    return _squeezed(input, range(len(input.shape)))


@operation("SqueezeBackward1", view=True, dims=["dim"])
def squeeze_dim(input: Layout, dim: int) -> tuple[Layout, int]:
    return _squeezed(input, (dim,))


@operation("SqueezeBackward2", view=True, dims=["dims"])
def squeeze_dims(input: Layout, dims: tuple[int, ...]) -> tuple[Layout, int]:
    return _squeezed(input, dims)


@squeeze_all.batched
def _(input):
    return squeeze_dims(physical(input), tuple(range(1, len(input._layout.shape) + 1)))


@operation("SqueezeBackward4", aten="squeeze", linear=True, dims=["dim"])
def squeeze_result(p: Plan, input: TensorRef, dim: int) -> TensorRef:
    """Return a result of one row as a vector, which takes over the memory as PyTorch's in-place squeeze does."""
    return p.tensor(p.contiguous(input), input.type, input.shape[:dim] + input.shape[dim + 1 :])


@squeeze_all.gradient("input")
@squeeze_dim.gradient("input")
@squeeze_dims.gradient("input")
@squeeze_result.gradient("input")
def _(grad, input_shape):
    """``reshape(grad, input_shape)``."""
    return in_shape(grad, input_shape)


@lookup
def squeeze(input: Layout, dim: int | Sequence[int] | None = None) -> Any:
    """Return the tensor without its dimensions of size 1, or without those of ``dim`` that have size 1.

    Example:
        >>> import numgrad
        >>> numgrad.squeeze(numgrad.zeros(1, 3, 1)).shape
        torch.Size([3])
    """
    if dim is None:
        return squeeze_all, ()
    if not isinstance(dim, Sequence):
        return squeeze_dim, (normal_dim(dim, len(input.shape)),)
    return squeeze_dims, (normal_dims(dim, len(input.shape)) if dim else (),)


@operation("UnsqueezeBackward0", view=True, dims=["dim"])
def unsqueeze_op(input: Layout, dim: int) -> tuple[Layout, int]:
    shape, strides = input.shape, input.strides
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return layout_of(input.type, (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:])), 0


@unsqueeze_op.gradient("input")
def _(grad, dim):
    return grad_view(squeeze_dim, grad, dim)


@lookup
def unsqueeze(input: Layout, dim: int) -> Any:
    """Return the tensor with a new dimension of size 1 at ``dim``.

    Raises:
        IndexError: if ``dim`` is beyond the dimensions of the result.

    Example:
        >>> import numgrad
        >>> numgrad.unsqueeze(numgrad.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
    """
    return unsqueeze_op, (normal_dim(dim, len(input.shape) + 1),)


@lookup(names=["moveaxis"])
def movedim(input: Layout, source: Any, destination: Any) -> Any:
    """Return the tensor with dimensions moved to other positions.

    ``source`` and ``destination`` are one dimension each, or several.  The other dimensions keep their order.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if a dimension is named twice, or the numbers of dimensions differ.

    Example:
        >>> import numgrad
        >>> numgrad.movedim(numgrad.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    rank = len(input.shape)
    both = [sizes_of((), d if isinstance(d, tuple | list) else (d,)) for d in (source, destination)]
    check(
        len(both[0]) == len(both[1]),
        "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as "
        "destination ({} dims)", both[0], both[1],
    )
    origins, destinations = [[normal_dim(d, rank) for d in dims] for dims in both]
    for name, dims, normal in zip(("source", "destination"), both, (origins, destinations), strict=True):
        check(len(set(normal)) == len(normal), "movedim: repeated dim in `{}` ({})", name, dims)
    if not rank:
        return alias, ()
    others = iter([d for d in range(rank) if d not in origins])
    moved = dict(zip(destinations, origins, strict=True))
    return permute_op, (tuple([moved[position] if position in moved else next(others) for position in range(rank)]),)


@lookup
def swapaxes(input: Layout, axis0: Dim, axis1: Dim) -> Any:
    """Return the tensor with two dimensions exchanged: NumPy's name of ``transpose``.

    Example:
        >>> import numgrad
        >>> numgrad.swapaxes(numgrad.ones(2, 3), 0, 1).shape
        torch.Size([3, 2])
    """
    return transpose_op, (axis0, axis1)


@lookup
def swapdims(input: Layout, dim0: Dim, dim1: Dim) -> Any:
    """Return the tensor with two dimensions exchanged: another name of ``transpose``.

    Example:
        >>> import numgrad
        >>> numgrad.swapdims(numgrad.ones(2, 3), 0, 1).shape
        torch.Size([3, 2])
    """
    return transpose_op, (dim0, dim1)


# -- transposes ---------------------------------------------------------------------------------------------------


@lookup(export=False)
def _reversed(self: Layout) -> Any:
    """Return the tensor with its dimensions in reverse order."""
    return permute_op, (tuple(range(len(self.shape)))[::-1],)


def _check_matrices(input: Layout, name: str) -> None:
    check(
        len(input.shape) != 1,
        "tensor.{} is only supported on matrices or batches of matrices. Got {}-D tensor.", name, len(input.shape),
    )


@lookup(export=False)
def _matrix_transposed(self: Layout) -> Any:
    """Return the tensor with its last two dimensions exchanged."""
    _check_matrices(self, "mT")
    rank = len(self.shape)
    return transpose_op, (rank - 2, rank - 1) if rank else (0, 0)


def _adjoint_matrix(self: Tensor) -> Tensor:
    """Return the tensor with its last two dimensions exchanged and complex numbers conjugated."""
    _check_matrices(self._layout, "mH")
    return conj(_matrix_transposed(self))


def _conjugate_transposed(self: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix."""
    if len(self._layout.shape) not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if len(self._layout.shape) > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(self._layout.shape)}-D tensor.{hint}"
        )
    return _adjoint_matrix(self)


@composite
def adjoint(input: Tensor) -> Tensor:
    """Return the tensor with its last two dimensions exchanged and complex numbers conjugated.

    Raises:
        RuntimeError: if the tensor is a vector.
    """
    _check_matrices(input._layout, "adjoint()")
    return _adjoint_matrix(input)


attach("T", property(_reversed))
attach("mT", property(_matrix_transposed))
attach("H", property(_conjugate_transposed))
attach("mH", property(_adjoint_matrix))


# -- properties of a tensor ---------------------------------------------------------------------------------------


@public(method=False)
def numel(input: Tensor) -> int:
    """Return the number of elements.

    Example:
        >>> import numgrad
        >>> numgrad.numel(numgrad.zeros(2, 3))
        6
    """
    return input._layout.size


@public(method=False, direct=True)
def is_tensor(obj: Any) -> bool:
    """Return True if an object is a tensor.

    Example:
        >>> import numgrad
        >>> numgrad.is_tensor(numgrad.tensor(1)), numgrad.is_tensor(1)
        (True, False)
    """
    return isinstance(obj, Tensor)


@public
def is_nonzero(input: Tensor) -> bool:
    """Return True if the only element is not zero.

    Raises:
        RuntimeError: if the tensor does not have exactly one element.

    Example:
        >>> import numgrad
        >>> numgrad.is_nonzero(numgrad.tensor([2.0]))
        True
    """
    return bool(input)


@public
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return True if two tensors have the same shape.

    Example:
        >>> import numgrad
        >>> numgrad.is_same_size(numgrad.ones(2), numgrad.zeros(2))
        True
    """
    return input._layout.shape == other._layout.shape


@public(function=False)
def ndimension(self: Tensor) -> int:
    """Return the number of dimensions."""
    return len(self._layout.shape)
