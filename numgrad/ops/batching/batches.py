"""Tensors that stand for a batch of examples, which functions under ``vmap`` compute with.

Such a tensor has the shape, strides and type of one example, and no memory.  Its attribute ``_mapped`` holds its level
and the physical tensor, which contains all examples and has the batch as its first dimension.  Operations on it are
done on the physical tensor (see ``batching``).  It has an edge of its own in the graph, for derivatives that are taken
inside ``vmap``; for derivatives taken outside, operations are recorded on the physical tensors.  If derivatives are
taken inside with respect to a tensor that all examples share, this tensor is mapped, too, without a batch dimension, to
keep the two graphs apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from ...autograd.grad_mode import DUAL, LEVELS, state
from ...autograd.levels import Level, enter, outside, outwards, share_tangents
from ...autograd.node import MAYBE, edge_of
from ...core.layout import contiguous_strides, layout_of, span
from ...core.types import TensorType
from ...tensors.tensor import Tensor, show_elements_of, strided, tensor_of

_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations."
)

#: Error message for an operation whose results would differ in shape from example to example.
DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}: its "
    "result has another size for each example."
)


class Batched(Level):
    """A level of ``vmap``.

    Attributes:
        size: the number of examples.
        randomness: "error", "different" or "same": the behaviour of random operations.
    """

    performers: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self, size: int, randomness: str = "error"):
        super().__init__()
        self.size = size
        self.randomness = randomness
        self._adopted: list[Tensor] = []

    def concerns(self, tensor: Any) -> bool:
        mapped_as = getattr(tensor, "_mapped", None)
        if mapped_as is not None and mapped_as.level is self:
            return True
        view = getattr(tensor, "_view", None)
        if view is None or not self.concerns(tensor._root):
            return False
        self.adopt(tensor)  # its base was adopted after the view was made
        return True

    def adopt(self, tensor: Tensor) -> None:
        """Adopt a tensor that the function has made, or got from elsewhere, into this level until the level ends.

        The former tensor, with its edge in the graph and its tangents, becomes the physical tensor.  The base of a view
        is adopted with it, as changes of the view are recorded in the base's graph.  Other views of the base follow
        when they are used.
        """
        view = tensor._view
        if view is not None and not self.concerns(tensor._root):
            self.adopt(tensor._root)
        alias = tensor._alias()
        _put_in_graph_as(alias, tensor)
        if view is not None:
            alias._view, alias._root, alias._seen = view, tensor._root._mapped.tensor, tensor._seen
        if hasattr(tensor, "_duals"):
            share_tangents(tensor, alias)
        self._adopted.append(tensor)
        tensor._edge = tensor._accumulator = None
        tensor._requires_grad = False if view is None else MAYBE
        Mapped(self, alias, False).assign_to(tensor)

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Enter the level again, after its block has ended, within the present levels."""
        self.outer = before = state.level
        enter(self)
        try:
            yield
        finally:
            enter(before)
            self._give_back()

    def leave(self) -> None:
        super().leave()
        self._give_back()

    def _give_back(self) -> None:
        """Turn the adopted tensors back into the physical tensors that they stand for."""
        while self._adopted:
            tensor = self._adopted.pop()
            wrapped_tensor = tensor._mapped.tensor
            show_elements_of(tensor, wrapped_tensor)
            _put_in_graph_as(tensor, wrapped_tensor)  # discards the operations recorded here
            if tensor._view is not None:
                tensor._seen = wrapped_tensor._seen
            elif wrapped_tensor._view is not None:  # it took on the shape of a view of itself
                tensor._edge, tensor._requires_grad = edge_of(wrapped_tensor), wrapped_tensor.requires_grad
            if hasattr(wrapped_tensor, "_duals"):
                share_tangents(wrapped_tensor, tensor)
            if is_mapped(wrapped_tensor):
                tensor._mapped = wrapped_tensor._mapped
            else:
                del tensor._mapped


def _put_in_graph_as(tensor: Tensor, other: Tensor) -> None:
    """Set the edge of a tensor in the graph to that of ``other``."""
    tensor._edge, tensor._requires_grad, tensor._accumulator = other._edge, other._requires_grad, other._accumulator


class Mapped(NamedTuple):
    """Meaning of a tensor under ``vmap``.

    Attributes:
        level: the level of the tensor.
        tensor: the physical tensor.
        batched: True if the physical tensor has a batch dimension; if False, all examples are equal.
    """

    level: Batched
    tensor: Tensor
    batched: bool

    def assign_to(self, tensor: Tensor) -> None:
        """Make this the meaning of a tensor from now on."""
        tensor._mapped = self
        physical = self.tensor
        if self.batched:
            tensor._storage = _NoMemory(len(physical._storage))
        else:  # its elements may be read, but only by recorded operations
            tensor._storage, tensor._offset = physical._storage, physical._offset
        skipped, whole = int(self.batched), physical._layout
        tensor._layout = layout_of(whole.type, whole.shape[skipped:], whole.strides[skipped:])


class _NoMemory:
    """Storage of a tensor that has no memory: access to its elements raises an error."""

    def __init__(self, size: int):
        self.size = size

    def item(self, index: int) -> Any:
        raise RuntimeError(_ITEM)

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def __reduce__(self) -> Any:
        raise NotImplementedError("Cannot access storage of BatchedTensorImpl")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__reduce__()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: Any) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


class below(outside):  # noqa: N801 - a context manager
    """Context manager like ``outside``, for operations on the physical tensors of a level."""

    def __enter__(self) -> below:
        super().__enter__()
        self.dual = state.mode & DUAL
        state.mode &= ~DUAL
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__()
        state.mode |= self.dual


def mapped(level: Batched, tensor: Tensor, batched: bool = True) -> Tensor:
    """Return a tensor that stands for the examples in ``tensor``."""
    out = tensor_of(tensor._layout, None)
    Mapped(level, tensor, batched).assign_to(out)
    if not batched:
        out._counter = tensor._counter
        if hasattr(tensor, "_duals"):
            share_tangents(tensor, out)
    return out


def is_batched(tensor: Any) -> bool:
    """Return True if a tensor stands for examples, at any level."""
    mapped_as = getattr(tensor, "_mapped", None)
    return mapped_as is not None and (mapped_as.batched or is_batched(mapped_as.tensor))


def is_mapped(tensor: Tensor) -> bool:
    """Return True if a tensor belongs to a level."""
    return hasattr(tensor, "_mapped")


def lifted(level: Batched, tensor: Tensor) -> Tensor:
    """Return a tensor of this level: the tensor itself, or a new one with the same value for all examples."""
    return tensor if level.concerns(tensor) else mapped(level, tensor, False)


def batch_level(tensors: Sequence[Tensor] | None = None) -> Batched | None:
    """Return the innermost level of ``vmap``, or the innermost one that any of these tensors belongs to."""
    for level in outwards(state.level):
        if isinstance(level, Batched) and (tensors is None or any(map(level.concerns, tensors))):
            return level
    return None


def is_shared(tensor: Any) -> bool:
    """Return True if a tensor of the level, or None, is the same for all examples."""
    return tensor is None or not tensor._mapped.batched


def size_of(tensor: Any) -> int:
    """Return the number of examples."""
    return tensor._mapped.level.size


def physical(tensor: Any) -> Any:
    """Return the physical tensor, with or without a batch dimension; None for None."""
    return None if tensor is None else tensor._mapped.tensor


def mapped_to(args: Sequence[Any], function: Callable[[Tensor], Any]) -> tuple[Any, ...]:
    """Return the arguments with each tensor replaced by ``function`` of it."""
    return tuple([
        function(value) if isinstance(value, Tensor)
        else like_parts(value, mapped_to(value, function)) if isinstance(value, tuple | list)
        else value
        for value in args
    ])


def like_parts(sequence: Any, parts: tuple[Any, ...]) -> Any:
    """Return the parts as a list, tuple or named tuple of the class of ``sequence``."""
    cls = sequence.__class__
    return cls(*parts) if hasattr(cls, "_fields") else cls(parts)


def unmapped(level: Batched, tensor: Tensor) -> tuple[Tensor, bool]:
    """Return a result of the function under ``vmap`` as a physical tensor, and whether it has a batch dimension."""
    if not level.concerns(tensor):
        return tensor, False
    return tensor._mapped.tensor, tensor._mapped.batched


def physical_of(tensor: Tensor) -> Tensor:
    """Return the tensor with the elements of all examples, at all levels; the tensor itself if it stands for none."""
    return physical_of(tensor._mapped.tensor) if is_mapped(tensor) else tensor


def same_for_all(tensor: Tensor, name: str) -> Tensor:
    """Return the physical tensor of a tensor that all examples share, and any unmapped tensor unchanged.

    Raises:
        RuntimeError: if it differs from example to example, so that the result of the operation ``name`` would differ
            in shape.
    """
    if is_batched(tensor):
        raise RuntimeError(DYNAMIC.format(name))
    return physical_of(tensor)


def cut(tensor: Tensor) -> Tensor:
    """Return the tensor without its edge in this level's graph; edges below the level remain."""
    level = batch_level() if state.mode & LEVELS else None
    return tensor.detach() if level is None else lifted(level, tensor)._alias()


def requires_below(tensor: Tensor) -> bool:
    """Return True if the physical tensor, at any level below, requires a gradient."""
    mapped_as = getattr(tensor, "_mapped", None)
    return mapped_as is not None and (mapped_as.tensor.requires_grad or requires_below(mapped_as.tensor))


def zeros_with(
    others: Sequence[Any], shape: tuple[int, ...], type: TensorType, strides: tuple[int, ...] | None = None
) -> Tensor:
    """Return zeros that may be overwritten with values computed from ``others``: batched if one of these is."""
    steps = contiguous_strides(shape) if strides is None else strides
    return _zeros(others, shape, steps, span(shape, steps), type, state.level)


def _zeros(
    others: Sequence[Any], shape: tuple[int, ...], strides: tuple[int, ...], extent: int, type: TensorType,
    level: Level | None,
) -> Tensor:
    """Return the zeros, batched as this level and the outer ones require."""
    for around in outwards(level):
        if not isinstance(around, Batched):
            continue
        concerned = [around.concerns(other) for other in others]
        batched = any(at and other._mapped.batched for at, other in zip(concerned, others, strict=True))
        others = [other._mapped.tensor if at else other for at, other in zip(concerned, others, strict=True)]
        if batched:
            size = around.size
            whole = _zeros(others, (size, *shape), (extent, *strides), size * extent, type, around.outer)
            return mapped(around, whole)
    return strided(type.backend.zeros((extent,), type), shape, strides, 0, type)
