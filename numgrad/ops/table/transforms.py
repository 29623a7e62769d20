"""Calls of operations as values, for whoever does them in another way: levels (see ``autograd/levels.py``), watchers.

Where a bit of TRANSFORMED is set, an operation comes here with its arguments instead of being computed.  Watchers are
told; then the innermost level that an argument concerns does the call.  Where there is none it is run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import devices
from ...autograd.grad_mode import LEVELS, TRANSFORMED, WATCHED, state
from ...autograd.levels import level_of
from ...core.tensor import Tensor
from .op import public_functions

if TYPE_CHECKING:
    from .elementwise import Pointwise
    from .planned import Planned


class Call:
    """One call of an operation.

    Attributes:
        name: the operation's.
        title: PyTorch's name of it, as profilers show it: ``aten::mul``.
        args: its operands and other arguments, in order.
        target: the tensor that it overwrites, if any.
        closed: whether levels and watchers have nothing to do with what it calls in turn.
    """

    op: Any
    name: str
    args: Sequence[Any]
    target: Tensor | None = None
    closed = True

    @property
    def title(self) -> str:
        return title_of(self.op, in_place=self.target is not None)

    def run(self) -> Any:
        """Do it, as the levels and watchers that are left want it."""
        raise NotImplementedError(f"{type(self).__name__} does not define run")


class PointwiseCall(Call):
    """A pointwise operation on operands, in place if there is a target, which is the first of them."""

    def __init__(
        self, op: Pointwise, operands: Sequence[Any], statics: Mapping[str, Any], target: Tensor | None = None
    ):
        self.op = op
        self.name = op.name
        self.args = operands
        self.statics = statics
        self.target = target

    def run(self) -> Any:
        return self.op.run(self.args, self.statics, self.target)


class GeneralCall(Call):
    """Any other operation of the table."""

    def __init__(self, op: Planned, args: tuple[Any, ...]):
        self.op = op
        self.name = op.name
        self.args = args

    def run(self) -> Any:
        return self.op(*self.args)


class ChangeCall(GeneralCall):
    """An operation of the table done in place, on the first of its arguments."""

    def __init__(self, op: Planned, args: tuple[Any, ...]):
        super().__init__(op, args)
        self.target = args[0]

    def run(self) -> Any:
        return self.op.in_place(*self.args)


class ShapeCall(ChangeCall):
    """A tensor takes on the shape of a view of itself."""

    def __init__(self, op: Planned, change: Callable[..., Tensor], args: tuple[Any, ...]):
        super().__init__(op, args)
        self.name = op.name + "_"
        self.change = change

    def run(self) -> Any:
        return self.change(*self.args)


class FreeCall(Call):
    """A function that reads elements or draws numbers itself, not by operations of the table: watchers are told."""

    closed = False

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]):
        self.function = function
        self.name = function.__name__
        self.positional = args
        self.keywords = keywords
        self.args = (*args, *keywords.values())

    @property
    def title(self) -> str:
        return f"aten::{self.name}"

    @devices.reports_memory
    def run(self) -> Any:
        return self.function(*self.positional, **self.keywords)


def transformed(call: Call) -> Any:
    """Do a call as watchers and levels want it."""
    mode = state.mode
    if mode & WATCHED:
        return _watched(call)
    return _done(call)


def _done(call: Call) -> Any:
    mode = state.mode
    level = level_of(call.args) if mode & LEVELS else None
    if level is not None:
        return level.perform(call)
    if not call.closed:
        return call.run()
    state.mode = mode & ~TRANSFORMED
    try:
        return call.run()
    finally:
        state.mode = mode


def _watched(call: Call) -> Any:
    watchers = state.watchers
    if not watchers:  # the last has left while a mode that was to be restored said otherwise
        state.mode &= ~WATCHED
        return _done(call)
    tokens: list[tuple[Any, Any]] = []  # the last watcher first
    try:
        for watcher in watchers:
            tokens.insert(0, (watcher, watcher.before(call)))
        result = _unwatched(call) if call.closed and state.mode & LEVELS else _done(call)
        for watcher, token in tokens:
            watcher.after(call, token, result)
    except BaseException:
        for watcher, token in tokens:
            watcher.failed(call, token)
        raise
    return result


def _unwatched(call: Call) -> Any:
    """Do the call, with watchers having nothing to do with what its levels call."""
    mode = state.mode
    state.mode = mode & ~WATCHED
    try:
        return _done(call)
    finally:
        state.mode = mode


#: Operations whose names are not those of their nodes.
_OTHERWISE = {
    "fft_c2c": "_fft_c2c", "fft_c2r": "_fft_c2r", "fft_r2c": "_fft_r2c",
    "index_put_impl": "index_put", "log_softmax_backward_data": "_log_softmax_backward_data",
    "prelu_kernel_backward": "_prelu_kernel_backward", "reshape_alias": "_reshape_alias",
    "safe_softmax": "_safe_softmax",
    "scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "scaled_dot_product_flash_attention_for_cpu_backward": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "softmax_backward_data": "_softmax_backward_data", "to_copy": "to", "unsafe_view": "_unsafe_view",
}


@functools.cache
def title_of(op: Any, in_place: bool) -> str:
    """What PyTorch calls an entry of the table, as profilers show it: ``aten::mul``, ``aten::add_``.

    Some entries serve a public function that has several (``sum_all``, ``sum_dims``), and some have names of their own;
    but the nodes have PyTorch's names, and those come from the names of PyTorch's operations.
    """
    name = op.name.removesuffix("_op")
    if name not in public_functions:
        name = _from_node(op.node_class.__name__)
    return f"aten::{name}{'_' if in_place else ''}"


@functools.cache
def title_of_overwriting(name: str) -> str:
    """The same of what overwrites a tensor, given the name of the method or of the node's class."""
    return f"aten::{name if name.endswith('_') else _from_node(name) + '_'}"


def _from_node(name: str) -> str:
    """``SumBackward1`` is of ``sum``, ``MseLossBackward0`` of ``mse_loss``."""
    stem = re.sub(r"Backward\d*(_copy)?$", r"\1", name)
    own = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", stem).lower()
    return _OTHERWISE.get(own, own)
