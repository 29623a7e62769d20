"""Parts of a tensor: one index, a range of indices, reversed indices; and copies into which a part is written."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ...autograd.grad_mode import WATCHED, state
from ...core.formats import kept_layout
from ...core.layout import Layout, contiguous_strides, layout_of, normal_dim, normal_dims
from ...devices import Given, Plan, Scaled, TensorRef
from ...tensors.tensor import Tensor, tensor_of
from ..memory.copying import repeated_zero
from ..pointwise.arithmetic import add
from ..table.arguments import Dim
from ..table.checks import check, check_index
from ..table.entries import Entries
from ..table.lookup import lookup, operation
from ..table.op import attach, public
from ..table.planned import Planned
from .views import sizes_of


def in_zeros(p: Plan, tensor: TensorRef, shape: tuple[int, ...], strides: tuple[int, ...], start: Any) -> TensorRef:
    """Add the steps for zeros of ``shape`` with the tensor in the part with ``strides`` that begins at ``start``."""
    out = p.new_tensor(layout_of(tensor.type, shape), True)
    p.assign(tensor, TensorRef(out.memory, layout_of(tensor.type, tensor.shape, strides), start))
    return out


@operation(
    "SelectBackward0", view=True, dims=["dim"], numbers=["index"], key=lambda input, dim, index: (input._layout, dim)
)
def select_op(input: Layout, dim: int, index: int) -> tuple[Layout, int]:
    shape, strides = input.shape, input.strides
    layout = layout_of(input.type, shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :])
    return layout, strides[dim]


@select_op.gradient("input")
def _(grad, input_shape, dim, index):
    return select_backward(grad, input_shape, dim, index)


@select_op.accumulation
def _(total, grad, input_shape, dim, index):
    return add_to_part(total, grad, (total._layout, grad._layout, dim), index, select_op, dim, index)


#: Functions that add a gradient to a part, the part's layout, and the offset per unit of the number.
_adders = Entries()
_recent_adders = _adders.recent


def add_to_part(total: Tensor, grad: Tensor, key: Any, number: int, view: Planned, *where: Any) -> bool:
    """Add a gradient to the elements of ``total`` in the ``view``, and return True, if nothing but the sum is needed.

    ``key`` identifies everything that the addition depends on besides ``number``, the last of the operands.
    """
    if state.mode & ~WATCHED or total._counter.__class__ is not list:
        return False
    adder = _recent_adders.get(key) or _adders.find(key)
    if adder is None:
        part, step = view.prepare(total._layout, *where)
        plan = add.op.plan([part, grad._layout], part, into=True)
        adder = _adders.make(key, lambda again: (plan.launcher(again), part, step))
    add_part, part, step = adder
    target = tensor_of(part, total._storage, total._offset + number * step)
    add_part(target, grad, target)
    total._counter[0] += 1
    return True


@operation(
    "SelectBackwardBackward0", direct=True, inputs=["grad_output"], linear=True, dims=["dim"], shapes=["shape"],
    numbers=["index"]
)
def select_backward(p: Plan, grad_output: TensorRef, shape: tuple[int, ...], dim: int, index: Given) -> TensorRef:
    """Return zeros of ``shape`` with the gradient at the selected index."""
    strides = contiguous_strides(shape)
    others = strides[:dim] + strides[dim + 1 :]
    return in_zeros(p, grad_output, shape, others, Scaled(index.number, strides[dim]))


@select_backward.gradient("grad_output")
def _(grad, dim, index):
    return select_op(grad, dim, index)


def at_index(input: Tensor, dim: int, index: int) -> Tensor:
    """Return ``tensor[index]`` for an index into dimension ``dim``.

    Raises:
        IndexError: if there is no such index.
    """
    if not input._layout.shape:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
    extent = input._layout.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {extent}")
    return select_op(input, dim, index % extent)


@public(direct=True)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return the part of the tensor at one index of a dimension, which is removed.

    Raises:
        IndexError: if there is no such dimension or index.

    Example:
        >>> import numgrad
        >>> numgrad.select(numgrad.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    shape = input._layout.shape
    rank = len(shape)
    if rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if dim.__class__ is not int or not 0 <= dim < rank:
        dim = normal_dim(dim, rank)
    extent = shape[dim]
    if not -extent <= index < extent:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    if index.__class__ is not int:
        index = operator.index(index)
    return select_op(input, dim, index + extent if index < 0 else index)


@operation(
    "SliceBackward0", view=True, dims=["dim"], numbers=["start", "stop"],
    key=lambda input, dim, start, stop, step: (input._layout, dim, stop - start, step),
)
def slice_op(input: Layout, dim: int, start: int, stop: int, step: int) -> tuple[Layout, int]:
    shape, strides = list(input.shape), list(input.strides)
    shape[dim] = len(range(start, stop, step))
    strides[dim] *= step
    return layout_of(input.type, tuple(shape), tuple(strides)), input.strides[dim]


@slice_op.gradient("input")
def _(grad, input_shape, dim, start, stop, step):
    return slice_backward(grad, input_shape, dim, start, stop, step)


@slice_op.accumulation
def _(total, grad, input_shape, dim, start, stop, step):
    key = total._layout, grad._layout, dim, stop - start, step
    return add_to_part(total, grad, key, start, slice_op, dim, start, stop, step)


@operation(
    "SliceBackwardBackward0", direct=True, inputs=["grad_output"], linear=True, dims=["dim"], shapes=["shape"],
    numbers=["start", "stop"],
)
def slice_backward(
    p: Plan, grad_output: TensorRef, shape: tuple[int, ...], dim: int, start: Given, stop: Given, step: int
) -> TensorRef:
    """Return zeros of ``shape`` with the gradient instead of the slice."""
    strides = contiguous_strides(shape)
    steps = (*strides[:dim], strides[dim] * step, *strides[dim + 1 :])
    return in_zeros(p, grad_output, shape, steps, Scaled(start.number, strides[dim]))


@slice_backward.gradient("grad_output")
def _(grad, dim, start, stop, step):
    return slice_op(grad, dim, start, stop, step)


@public(direct=True)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return the part of ``length`` indices of a dimension from ``start``, an int or a 0-d tensor of one.

    Raises:
        IndexError: if there is no such dimension or start.
        RuntimeError: if the indices exceed the dimension, or ``length`` is negative.

    Example:
        >>> import numgrad
        >>> numgrad.narrow(numgrad.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    shape = input._layout.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if start.__class__ is not int and isinstance(start, Tensor):
        if start._layout.shape or start.dtype.kind != "i":
            raise RuntimeError(
                f"start must be an 0-dim integral Tensor. (shape {list(start.shape)}, {start.dtype})"
            )
        start = start.item()
    if dim.__class__ is not int or not 0 <= dim < len(shape):
        dim = normal_dim(dim, len(shape))
    extent = shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -extent <= start <= extent:
        raise IndexError(f"start out of range (expected to be in range of [{-extent}, {extent}], but got {start})")
    start = start + extent if start < 0 else start
    if start + length > extent:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    return slice_op(input, dim, start, start + length, 1)


@operation("FlipBackward0", direct=True, linear=True, dims=["dims"])
def flip_op(p: Plan, input: TensorRef, dims: tuple[int, ...]) -> TensorRef:
    out = p.new_tensor(kept_layout(input.layout))
    p.assign(input.viewed(*_backwards(input.layout, dims)), out)
    return out


def cut(tensor: TensorRef, ranges: Iterable[tuple[int, int, int]]) -> TensorRef:
    """Return a part of a tensor of a plan; ``ranges`` are (dim, start, stop)."""
    for dim, start, stop in ranges:
        layout, step = slice_op.prepare(tensor.layout, dim, start, stop, 1)
        tensor = tensor.viewed(layout, start * step)
    return tensor


def _backwards(input: Layout, dims: tuple[int, ...]) -> tuple[Layout, int]:
    """Return the layout that reads some dimensions from their ends, and the offset at which it begins."""
    strides, start = list(input.strides), 0
    for dim in dims:
        if input.shape[dim] > 1:
            start += (input.shape[dim] - 1) * strides[dim]
            strides[dim] = -strides[dim]
    return layout_of(input.type, input.shape, tuple(strides)), start


@flip_op.gradient("input")
def _(grad, dims):
    return flip_op(grad, dims)


@lookup
def flip(input: Layout, *order: Any, dims: Any = None) -> Any:
    """Return a copy with the order of the indices of some dimensions reversed.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if a dimension is named twice.

    Example:
        >>> import numgrad
        >>> numgrad.flip(numgrad.tensor([1, 2, 3]), (0,))
        tensor([3, 2, 1])
    """
    named = sizes_of(order, dims, "flip(): argument 'dims'")
    return flip_op, (normal_dims(named, len(input.shape)) if named else (),)


@lookup
def fliplr(input: Layout) -> Any:
    """Return a copy with the columns (dimension 1) in reverse order.

    Raises:
        RuntimeError: if the tensor has fewer than two dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.fliplr(numgrad.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    check(len(input.shape) >= 2, "Input must be >= 2-d. (shape {})", input)
    return flip_op, ((1,),)


@lookup
def flipud(input: Layout) -> Any:
    """Return a copy with the rows (dimension 0) in reverse order.

    Raises:
        RuntimeError: if the tensor has no dimension.

    Example:
        >>> import numgrad
        >>> numgrad.flipud(numgrad.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    check(input.shape, "Input must be >= 1-d. (shape [])")
    return flip_op, ((0,),)


def _reversed_rows(self: Tensor) -> Tensor:
    return flip(self, 0) if self._layout.shape else self


attach("__reversed__", _reversed_rows)


# -- copies with a part overwritten ---------------------------------------------------------------------------


def overwrite_part(p: Plan, input: TensorRef, src: TensorRef, part: Layout, start: int) -> None:
    """Add the step that overwrites the part of a tensor that has this layout and begins ``start`` elements later.

    Raises:
        RuntimeError: if the source has another shape.
    """
    check(
        src.shape == part.shape,
        "expected src to have a size equal to the slice of self. src size = {}, slice size = {}", src, part,
    )
    p.assign(src, input.viewed(part, start))


def part_cleared(op: Planned, view: Planned, grad: Tensor, *where: int) -> Tensor:
    part, _ = view.prepare(grad._layout, *where)
    return op(grad, repeated_zero(part.shape, part.type), *where)


@operation("SelectScatterBackward0", direct=True, changes="strided", inputs=["input", "src"], dims=["dim"])
def select_scatter_op(p: Plan, input: TensorRef, src: TensorRef, dim: int, index: int) -> None:
    part, step = select_op.prepare(input.layout, dim, index)
    overwrite_part(p, input, src, part, index * step)


@select_scatter_op.gradient("input")
def _(grad, dim, index):
    """``select_scatter(grad, 0, dim, index)``."""
    return part_cleared(select_scatter_op, select_op, grad, dim, index)


@select_scatter_op.gradient("src")
def _(grad, dim, index):
    return select_op(grad, dim, index)


@operation("SliceScatterBackward0", direct=True, changes="strided", inputs=["input", "src"], dims=["dim"])
def slice_scatter_op(
    p: Plan, input: TensorRef, src: TensorRef, dim: int, start: int, end: int, step: int
) -> None:
    part, each = slice_op.prepare(input.layout, dim, start, end, step)
    overwrite_part(p, input, src, part, start * each)


@slice_scatter_op.gradient("input")
def _(grad, dim, start, end, step):
    """``slice_scatter(grad, 0, dim, start, end, step)``."""
    return part_cleared(slice_scatter_op, slice_op, grad, dim, start, end, step)


@slice_scatter_op.gradient("src")
def _(grad, dim, start, end, step):
    return slice_op(grad, dim, start, end, step)


@lookup
def select_scatter(input: Layout, src: Layout, dim: int, index: int) -> Any:
    """Return a copy of ``input`` with ``src`` written at one index of a dimension.

    ``src`` has the shape of ``input.select(dim, index)``.

    Raises:
        IndexError: if there is no such dimension or index.
        RuntimeError: if ``src`` has another shape.

    Example:
        >>> import numgrad
        >>> numgrad.select_scatter(numgrad.zeros(2, 2), numgrad.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    check_index(input.shape, "select() cannot be applied to a 0-dim tensor.")
    dim = normal_dim(dim, len(input.shape))
    extent = input.shape[dim]
    check_index(
        -extent <= index < extent,
        "select(): index {} out of range for tensor of size {} at dimension {}", index, input, dim,
    )
    return select_scatter_op, (dim, index % extent)


@lookup
def slice_scatter(
    input: Layout, src: Layout, dim: Dim = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """Return a copy of ``input`` with ``src`` written into a slice of dimension ``dim``.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if ``src`` does not have the slice's shape, or ``step`` is not positive.

    Example:
        >>> import numgrad
        >>> numgrad.slice_scatter(numgrad.zeros(4), numgrad.ones(2), 0, 1, 3)
        tensor([0., 1., 1., 0.])
    """
    check(step >= 1, "slice step must be positive")
    first, stop, _ = slice(start, end, step).indices(input.shape[dim])
    return slice_scatter_op, (dim, first, max(stop, first), step)
