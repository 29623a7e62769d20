"""In-place overwriting: with another tensor or with a number."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ... import devices
from ...autograd.calls import Call, transformed
from ...autograd.grad_mode import GRAD, ORDINARY, TRANSFORMED, state
from ...autograd.node import Node, edge_of
from ...autograd.operations import operations
from ...autograd.views import check_writable, record_inplace
from ...core.layout import broadcast_shapes, is_dense, outgrown
from ...core.types import dtype
from ...devices import NUMBERS
from ...tensors.tensor import Tensor, check_in_place
from ..batching.batches import physical_of
from ..batching.examples import check_drawing
from ..table.checks import check
from ..table.op import composite, public
from ..table.operands import overlapping, overlaps
from ..table.out import is_plain
from ..table.promotion import check_fits, plain_number
from ..table.recording import node_class
from .copying import clone, clone_op, filling, kept_copy, write, writers
from .moving import placed


class _ClearingNode(Node):
    """The node of a tensor of which every element was overwritten."""

    __slots__ = ()

    clears = True

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        return operations.zeros(self.layout.shape, self.layout.type), *self.of_others(gradient)


class _Overwritten(_ClearingNode):
    """The node of a tensor overwritten with another, which gets the whole gradient, on its own device."""

    __slots__ = ()

    def of_others(self, gradient: Any) -> tuple[Any, ...]:
        """Return the gradient of the other tensor."""
        edge = self.edges[1]
        type = None if edge is None else edge[0].output(edge[1]).type
        if type is not None and type.device is not gradient.device:
            gradient = gradient.to(type.device)
        return (gradient,)


class CopyBackwards(_Overwritten):
    """The node of a tensor that another was copied into."""

    __slots__ = ()

    def name(self) -> str:
        """Return PyTorch's name of this node."""
        return "torch::autograd::CopyBackwards"


class FilledNode(_ClearingNode):
    """The node of a tensor overwritten with numbers that have no derivative."""

    __slots__ = ()

    op_name: str

    def of_others(self, gradient: Any) -> tuple[Any, ...]:
        """Return no gradients: the other edges are empty."""
        return (None,) * (len(self.edges) - 1)


#: The nodes of tensors filled with a number, with the number in a 0-d tensor, and with zeros; the first two of copies.
FillBackward0 = node_class("FillBackward0", FilledNode)
FillBackward1 = node_class("FillBackward1", _Overwritten)
FillBackward2 = node_class("FillBackward2", FilledNode)
FillBackward3 = node_class("FillBackward3", _Overwritten)
ZeroBackward0 = node_class("ZeroBackward0", FilledNode)


class OverwriteCall(Call):
    """A call of ``write(target)``, which overwrites a tensor with ``source``, or, if that is None, with constants.

    ``node`` records it, with ``more_edges`` besides those of the two tensors.
    """

    target: Tensor

    def __init__(
        self, name: str, write: Callable[[Tensor], Any], node: type[Node], target: Tensor, source: Tensor | None = None,
        more_edges: tuple[None, ...] = (), draws: bool = False,
    ):
        self.name = name
        self.write = write
        self.node = node
        self.target = target
        self.source = source
        self.more_edges = more_edges
        self.draws = draws  # random numbers
        self.args = (target,) if source is None else (target, source)

    def run(self) -> Tensor:
        if state.mode & TRANSFORMED:
            if self.draws:
                check_drawing(self.target)
            return transformed(self)
        edges = self.begin(self.target, self.source)
        self.write(self.target)
        self.commit(self.target, edges)
        return self.target

    def on(self, target: Tensor) -> Tensor:
        """Overwrite another tensor in the same way; for calls without a source tensor."""
        other = copy(self)
        other.target, other.args = target, (target,)
        return other.run()

    def begin(self, target: Tensor, source: Tensor | None) -> tuple[Any, ...]:
        """Return the edges to record, of the target's old value and of the source; none if nothing is recorded.

        Raises:
            RuntimeError: the target is not writable, or the source's shape does not broadcast to its own.
        """
        recorded = state.mode & GRAD
        if source is None:
            # Elements that share memory get the same value, unless it is drawn.
            (check_in_place if self.draws else check_writable)(target)
            return (edge_of(target), *self.more_edges) if recorded else ()
        check_in_place(target, source)
        target_shape, source_shape = target._layout.shape, source._layout.shape
        if source_shape != target_shape and (shape := broadcast_shapes(target_shape, source_shape)) != target_shape:
            raise outgrown(target_shape, shape)
        return (edge_of(target), edge_of(source)) if recorded else ()

    def commit(self, target: Tensor, edges: tuple[Any, ...]) -> None:
        """Count the change, and record it."""
        target._counter[0] += 1
        if any(edges) and target._layout.type.dtype.differentiable:
            record_inplace(target, self.node(edges, target._layout))


@public(function=False, direct=True)
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the tensor with ``src``, broadcast and converted, from any device.

    With ``non_blocking`` the call may return while pinned memory is still being read or written.
    """
    try:
        entry = writers.recent[input._layout, src._layout]
    except (KeyError, AttributeError):
        entry = None
    mode = state.mode
    if (
        entry is None or mode > ORDINARY or input._requires_grad or (mode & GRAD and src._requires_grad)
        or input._view is not None or input._counter.__class__ is not list or input._storage is src._storage
    ):
        if not isinstance(src, Tensor):
            return fill_(input, src)
        return _overwritten_with(input, src, CopyBackwards, not non_blocking)
    entry.launch(src, input)
    input._counter[0] += 1
    return input


def _overwritten_with(input: Tensor, src: Tensor, node: type[Node], wait: bool = True) -> Tensor:
    return OverwriteCall("copy_", lambda target: _write(target, src, wait), node, input, src).run()


def _write(target: Tensor, source: Tensor, wait: bool) -> None:
    """Copy the elements, broadcast and converted; between two devices, on that of the target.

    As in NumPy, the copy of a part to another part that overlaps it, such as ``x[:, :-1] = x[:, 1:]``, reads everything
    before it writes.  As in PyTorch, there is an error if both tensors are dense.
    """
    if overlaps(target, source):
        if all(is_dense(x._layout.shape, x._layout.strides) for x in (target, source)):
            raise overlapping(target, source)
        source = kept_copy(source)
    if source._layout.type.device is not target._layout.type.device:
        alike = (source.dtype, source._layout.shape) == (target.dtype, target._layout.shape)
        if alike and source._flat is not None and target._flat is not None:
            devices.overwrite(target._flat, source._flat, wait)
            return
        source = placed(source, target._layout.type.device)
    write(target, source)


@public(function=False, direct=True)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Overwrite every element with a number.

    Raises:
        TypeError: ``value`` is not a number.
        RuntimeError: the tensor's dtype cannot hold the number.
    """
    entry = writers.recent.get((input._layout, value.__class__))
    if entry is not None and entry.details and entry.details[0] <= value <= entry.details[1] and is_plain(input):
        entry.launch(value, input)
        input._counter[0] += 1
        return input
    if isinstance(value, Tensor):
        check(
            not value._layout.shape,
            "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.", value.dim(),
        )
        if overlaps(physical_of(input), physical_of(value)):
            value = clone_op(value)  # it is read again for every element
        return _overwritten_with(input, value, FillBackward3)
    return _filled(input, fitting(value, input._layout.type.dtype), FillBackward2)


@composite(method=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """Return a tensor like ``input`` with every element equal to a number, or to the element of a 0-d tensor.

    Gradients flow to the 0-d tensor.

    Raises:
        TypeError: ``value`` is not a number.
        RuntimeError: the dtype cannot hold the number, or a tensor ``value`` has dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.fill(numgrad.zeros(2), 3)
        tensor([3., 3.])
    """
    out = clone(input)
    if isinstance(value, Tensor):
        check(
            not value._layout.shape,
            "fill only supports 0-dimension value tensor but got tensor with {} dimensions.", value.dim(),
        )
        return _overwritten_with(out, value, FillBackward1)
    return _filled(out, fitting(value, input._layout.type.dtype), FillBackward0)


def as_number(value: Any) -> Any:
    """Return a number as a Python number.

    Raises:
        TypeError: the value is not a number.
    """
    if value.__class__ in NUMBERS:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, bool | int | float | complex):
        raise TypeError(f"fill_(): argument 'value' must be a number or a 0-d tensor, not {type(value).__name__}")
    return plain_number(value)


def fitting(value: Any, target: dtype) -> Any:
    """Return the number in the form that kernels take; raise unless ``target`` can hold it."""
    value = as_number(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} is too large for a 64-bit integer")
    check_fits(value, target)
    return value


@public(function=False, direct=True)
def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    entry = writers.recent.get((input._layout, int))
    if entry is None or not is_plain(input):
        return _filled(input, 0, ZeroBackward0)
    entry.launch(0, input)
    input._counter[0] += 1
    return input


def assign_number(input: Tensor, value: Any) -> None:
    """Overwrite every element with a number, recorded as a 0-d tensor, as in PyTorch.

    Raises:
        RuntimeError: the tensor is expanded, so that elements outside of the assigned part would change, too.
    """
    if 0 in input._layout.strides:
        check_in_place(input)
    _filled(input, fitting(value, input._layout.type.dtype), FillBackward3, (None,))


def _filled(input: Tensor, value: Any, node: type[Node], others: tuple[None, ...] = ()) -> Tensor:
    def fill(target: Tensor) -> None:
        filling(target._layout, value.__class__).launch(value, target)

    return OverwriteCall("zero_" if node is ZeroBackward0 else "fill_", fill, node, input, None, others).run()
