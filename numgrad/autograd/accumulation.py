"""Accumulation of gradients into the ``grad`` of a leaf: fitting, adding, anomaly records and clearing."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import ref

from ..core.layout import Layout, broadcasts, contiguous_strides, output_strides, overlaps_itself
from ..core.types import contiguous_format, real_of, tensor_type
from .errors import recorded_at
from .grad_mode import GRAD, LEVELS, TRACED, state
from .locations import Location
from .operations import operations

#: One lock for all tensors, because graphs recorded or run backward in several threads may share them.
accumulating = threading.RLock()


def accumulate(variable: Any, gradient: Any) -> None:
    """Add ``gradient`` to ``variable.grad``, in place unless the sum is to be recorded.

    The first gradient itself becomes the ``grad`` if no other tensor shares its memory and its strides are right.
    """
    present = variable._grad
    if present is None:
        variable._grad = _as_leaf_gradient(variable, gradient)
        return
    if state.mode & GRAD:
        present = variable._grad = present + gradient
    else:
        operations.add_(present, gradient)
    if not (present._layout.row_major and variable._layout.contiguous) and state.warn_of_layouts:
        _warn_of_other_strides(variable, present)


def _as_leaf_gradient(variable: Any, gradient: Any) -> Any:
    """Return the gradient as the leaf's own tensor, with the leaf's strides if it is dense and row-major otherwise."""
    layout, layout_of_gradient = variable._layout, gradient._layout
    strides = None if layout.contiguous else _dense_strides(layout)
    if strides is None:
        if not layout_of_gradient.contiguous or state.mode & LEVELS:  # under ``vmap``, its memory may be shared
            return gradient.clone(memory_format=contiguous_format)
    elif not _agree(layout_of_gradient.shape, layout_of_gradient.strides, strides):
        laid_out = operations.zeros(layout_of_gradient.shape, layout_of_gradient.type, strides)
        overwrite(laid_out, gradient)
        return laid_out
    return gradient.clone() if gradient._shared or gradient._view is not None else gradient


def overwrite(view: Any, value: Any) -> None:
    """Copy ``value``, or zeros if it is None, into a view; recorded if recording is on."""
    # Only a fill can have written elements that share memory, so their gradient is zero.
    if value is None or (not view._layout.row_major and overlaps_itself(view._layout.shape, view._layout.strides)):
        view.zero_()
    else:
        view.copy_(value)


def forget_gradients(tensors: Iterable[Any], set_to_none: bool = True) -> None:
    """Drop the gradients of tensors, or detach them from their graphs and fill them with zeros."""
    for tensor in tensors:
        gradient = tensor._grad
        if gradient is None:
            continue
        if set_to_none:
            tensor._grad = None
            continue
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()


_warned = False


def _warn_of_other_strides(variable: Any, gradient: Any) -> None:
    """Warn, once per process, if a ``grad`` set by the program has other strides than the leaf."""
    global _warned
    layout = variable._layout
    shape = layout.shape
    expected = (None if layout.contiguous else _dense_strides(layout)) or contiguous_strides(shape)
    if _warned or _agree(shape, gradient._layout.strides, expected):
        return
    _warned = True
    warnings.warn(
        "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
        f"grad.sizes() = {list(gradient.shape)}, strides() = {list(gradient._layout.strides)}\n"
        f"param.sizes() = {list(shape)}, strides() = {list(variable._layout.strides)}",
        UserWarning,
        stacklevel=2,
    )


def _dense_strides(layout: Layout) -> tuple[int, ...] | None:
    """Return the strides of a tensor whose elements fill their memory exactly once, in any order; otherwise None."""
    dense = output_strides(layout.shape, ((layout.shape, layout.strides),))
    return dense if _agree(layout.shape, layout.strides, dense) else None


def _agree(shape: tuple[int, ...], strides: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return all(extent == 1 or stride == other for extent, stride, other in zip(shape, strides, others, strict=True))


# -- contributions to a grad, recorded in anomaly mode -------------------------------------------------------


#: Number of latest contributions kept for each leaf.
REMEMBERED = 16


class Contribution(NamedTuple):
    """Addition of one backward pass to a ``grad``.

    Attributes:
        call: the call in the program that started the pass.
        sources: names of the nodes whose gradients were summed, with the calls that recorded them.
        changed_by: names of the leaf's hooks, if they changed the sum.
    """

    call: Location
    sources: tuple[tuple[str, Location | None], ...]
    changed_by: tuple[str, ...]


class Contributions:
    """Additions that made the present ``grad`` of a leaf, or the last one that it had.

    Attributes:
        latest: the latest contributions, in order.
        count: the number of all contributions.
        grad: weak reference to the tensor that they made.
        complete: True if the leaf had no ``grad`` before them.
    """

    def __init__(self, leaf: Any, key: int, complete: bool):
        self.leaf = ref(leaf, lambda _: _noted.pop(key, None))
        self.latest: deque[Contribution] = deque(maxlen=REMEMBERED)
        self.count = 0
        self.grad: Any = None
        self.complete = complete

    def produced(self, gradient: Any) -> bool:
        """Return True if these contributions made this tensor."""
        return gradient is not None and self.grad is not None and self.grad() is gradient


#: Keyed by the identity of the leaf, which is held weakly.
_noted: dict[int, Contributions] = {}


def note_contribution(
    leaf: Any, before: Any, call: Location, sources: Sequence[Any], changed_by: tuple[str, ...]
) -> None:
    """Record that a backward pass has added to the ``grad`` of a leaf, which was ``before`` until then.

    ``changed_by`` names the leaf's hooks, if they changed the addend.
    """
    contributions = contributions_to(leaf)
    if contributions is None or not contributions.produced(before):
        contributions = _noted[id(leaf)] = Contributions(leaf, id(leaf), before is None)
    locations = [(node.name(), recorded_at(node)) for node in sources]
    contributions.latest.append(Contribution(call, tuple(locations), changed_by))
    contributions.count += 1
    contributions.grad = None if leaf._grad is None else ref(leaf._grad)  # a hook may have removed it


def contributions_to(leaf: Any) -> Contributions | None:
    """Return the contributions recorded for a leaf, or None."""
    contributions = _noted.get(id(leaf))
    return contributions if contributions is not None and contributions.leaf() is leaf else None


# -- sums of gradients ---------------------------------------------------------------------------------------


class Deferred:
    """A gradient that is mostly zeros and not computed yet, on its way to a node that does without the zeros.

    ``compute()`` returns the gradient.  ``pass_on(...)`` returns that of the node's input, and takes the other
    arguments of the node's rule.
    """

    __slots__ = ("_layout", "compute", "pass_on")

    _shared = True  # so that nothing is added to it in place

    def __init__(self, layout: Layout, compute: Callable[[], Any], pass_on: Callable[..., Any]):
        self._layout = layout
        self.compute = compute
        self.pass_on = pass_on


def add_up(mode: int, present: Any, gradient: Any) -> Any:
    """Return the sum of two gradients of one shape, reusing the memory of one that only this pass uses."""
    if present.__class__ is Deferred:
        present = present.compute()
    if gradient.__class__ is Deferred:
        gradient = gradient.compute()
    if not mode & TRACED and present._layout.type is gradient._layout.type:
        if not present._shared and present._view is None:
            return operations.add_(present, gradient)
        if not gradient._shared and gradient._view is None and gradient._layout is present._layout:
            return operations.add_(gradient, present)
    return present + gradient


# -- conversion of gradients to the shape and dtype of their tensors -----------------------------------------


def fit(gradient: Any, layout: Layout, source: Any, edge: Any) -> Any:
    """Undo broadcasting, once for all operations, and convert the gradient to the dtype of ``layout``."""
    incoming, shape, type = gradient._layout, layout.shape, layout.type
    if incoming is layout or (incoming.shape == shape and incoming.type is type):
        return gradient
    if not broadcasts(shape, incoming.shape):
        raise _invalid(source, edge, f"got {list(gradient.shape)} but expected shape compatible with {list(shape)}")
    if type is not None and type.device is not incoming.type.device:
        return _moved(gradient, shape, type, source, edge)
    if type is None:  # see Tensor.grad_dtype: any type is accepted, but a real leaf has a real gradient
        type = incoming.type
        leaf = getattr(edge[0] if edge else None, "variable", None)
        if type.dtype.is_complex and leaf is not None and not leaf._layout.type.dtype.is_complex:
            type = tensor_type(real_of(type.dtype), type.device)
    return operations.fit(gradient, shape, type)


def _moved(gradient: Any, shape: tuple[int, ...], type: Any, source: Any, edge: Any) -> Any:
    """Move the gradient of a scalar to its device; other gradients must already be there, as in PyTorch."""
    if shape:
        raise _invalid(source, edge, f"expected device {type.device} but got {gradient._layout.type.device}")
    return operations.fit(gradient, shape, tensor_type(type.dtype, gradient._layout.type.device)).to(type.device)


def _invalid(source: Any, edge: Any, problem: str) -> RuntimeError:
    """Return the error for a gradient that does not fit, naming its node and its index among that node's gradients."""
    name = "backward" if source is None else source.name()
    index = 0 if source is None else next(n for n, other in enumerate(source.edges) if other is edge)
    return RuntimeError(f"Function {name} returned an invalid gradient at index {index} - {problem}")
