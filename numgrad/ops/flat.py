"""The short way of pointwise operations, backward: gradients as bare rows of elements.

A node recorded by the short way knows that its inputs, its output and all gradients are rows of one type and length.
The engine hands it such a row and gets rows back; no tensor is made, and nothing is compared or converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import devices
from .._tensor import Tensor, fresh
from .._types import TensorType
from ..autograd.grad_mode import GRAD, state
from ..autograd.node import edge_of, next_sequence
from ..autograd.places import Place
from ..autograd.saved import PACKED, HookPair, PackedTensor, restore
from .plan import OUTPUT, Plan, PointwiseNode

if TYPE_CHECKING:
    from .elementwise import Pointwise

__all__ = ["FlatNode", "Recipe"]

#: What turns the gradient of the output into those of the inputs: ``run(node, row, freed_by)``.  It returns a row (or
#: None) for each input, or None alone where the general way must report an error.  A row that several inputs get
#: comes as a tuple of one, so that nobody adds to it in place.
RunRow = Callable[[Any, Any, Place | None], Any]

#: Stands for the version counter of a saved number.
NUMBER: list[int] = [0]

#: Stands for the version counter of a packed tensor: never at PACKED, so that nobody reads its row.
_UNREADABLE: list[int] = [0]


class FlatNode(PointwiseNode):
    """The node that the short way records.

    Four things stand in ``saved`` for each name: the row or number; the version counter of its tensor and what it
    stood at; and the tensor, None for the node's own output (which would hold the node) and for a number.
    """

    __slots__ = ("run_row",)

    __init__ = object.__init__  # Recipe.record fills in the fields

    @property
    def compute(self) -> Any:  # type: ignore[override]
        """What the operation was computed in: the dtype of all its tensors."""
        return self.layout.type.dtype

    def _entries(self) -> list[tuple[Any, list[int], int, Any]]:
        saved = self.kept()
        return [(saved[n], saved[n + 1], saved[n + 2], saved[n + 3]) for n in range(0, len(saved), 4)]

    def unpack(self) -> dict[str, Any]:
        in_graph = state.mode & GRAD
        return {
            name: self._restored(name, entry, in_graph) for name, entry in zip(self.names, self._entries(), strict=True)
        }

    def unpack_place(self, place: int) -> Any:
        return self._restored(self.names[place], self._entries()[place], True)

    def _restored(self, name: str, entry: tuple[Any, list[int], int, Any], in_graph: int) -> Any:
        """What was saved under one name: a number, or a tensor, checked."""
        if entry[1] is NUMBER:
            return entry[0]
        return restore(self, self._kept(entry), entry[2], self.output_number(name), in_graph)

    def _kept(self, entry: tuple[Any, list[int], int, Any]) -> Any:
        """A saved tensor, or in which form hooks packed it."""
        row, counter, version, tensor = entry
        if tensor is not None and (version == PACKED or tensor._flat is row):
            return tensor
        alias = fresh(row, self.layout.shape, self.layout.type)
        alias._counter = counter
        if tensor is not None:  # it was given other data since: what it had is kept
            alias._edge = edge_of(tensor)
            alias._requires_grad = alias._edge is not None
        return alias

    def saved_entries(self) -> list[tuple[str, Any, int | None]]:
        if self.is_freed():
            return []
        return [
            (name, entry[0], None) if entry[1] is NUMBER else (name, self._kept(entry), entry[2])
            for name, entry in zip(self.saved_names(), self._entries(), strict=True)
        ]

    def modified(self) -> list[tuple[Any, int]]:
        return [
            (self._kept(entry), entry[2])
            for entry in self._entries()
            if entry[1] is not NUMBER and entry[2] != PACKED and entry[1][0] != entry[2]
        ]

    def pack_place(self, place: int, hooks: HookPair) -> None:
        assert self.saved is not None
        packed = PackedTensor(self._kept(self._entries()[place]), self.saved_output(place), hooks, detached=True)
        entry = (None, _UNREADABLE, PACKED, packed)
        self.saved = (*self.saved[: 4 * place], *entry, *self.saved[4 * place + 4 :])

    def is_packed(self, place: int) -> bool:
        return self._entries()[place][2] == PACKED

    def has_tensor(self, place: int) -> bool:
        return self._entries()[place][1] is not NUMBER


class Recipe:
    """How the short way records an operation on operands of one kind, for one choice of inputs that need a gradient.
    """

    __slots__ = ("node_class", "plan", "run_row", "save")

    def __init__(
        self, op: Pointwise, node_class: type[FlatNode], plan: Plan, type: TensorType, kinds: tuple[Any, ...]
    ):
        self.node_class = node_class
        self.plan = plan
        saved = [type.numpy if source == OUTPUT else kinds[source] for source in plan.sources]
        self.run_row = _runner(plan, (type.numpy, *saved), type)
        self.save = _saver(plan.sources, kinds)

    def record(self, out: Tensor, edges: tuple[Any, ...], operands: tuple[Any, ...]) -> None:
        """Give the result its node."""
        node = self.node_class()
        node.edges = edges
        node.layout = out._layout
        node.more_outputs = node.attached = None
        node.plan = self.plan
        node.run_row = self.run_row
        node.saved = self.save(out, operands)
        node.sequence = next_sequence()
        out._edge = (node, 0)
        out._requires_grad = True


#: What turns a result and the operands into what its node saves (see FlatNode).
Save = Callable[[Tensor, tuple[Any, ...]], tuple[Any, ...]]


def _saver(sources: tuple[int, ...], kinds: tuple[Any, ...]) -> Save:
    """The function that saves what comes from these sources; the most frequent ones have one of their own."""

    def save_nothing(out: Tensor, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    def save_output(out: Tensor, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        return out._flat, out._counter, 0, None

    def save_one(out: Tensor, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        value = operands[place]
        counter = value._counter
        return value._flat, counter, counter[0], value

    def save_two(out: Tensor, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        one, other = operands[place], operands[second]
        counter, counted = one._counter, other._counter
        return one._flat, counter, counter[0], one, other._flat, counted, counted[0], other

    def save_any(out: Tensor, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        saved: tuple[Any, ...] = ()
        for source in sources:
            if source == OUTPUT:
                saved += save_output(out, operands)
            else:
                value = operands[source]
                if isinstance(value, Tensor):
                    counter = value._counter
                    saved += (value._flat, counter, counter[0], value)
                else:
                    saved += (value, NUMBER, 0, None)
        return saved

    if not sources:
        return save_nothing
    if sources == (OUTPUT,):
        return save_output
    tensors = all(source != OUTPUT and isinstance(kinds[source], np.dtype) for source in sources)
    place, second = sources[0], sources[-1]
    return {1: save_one, 2: save_two}.get(len(sources), save_any) if tensors else save_any


def _runner(plan: Plan, kinds: tuple[Any, ...], type: TensorType) -> RunRow:
    """The function that computes a plan's gradients from rows; the most frequent plans have one of their own."""
    pattern = plan.pattern
    if pattern == ("passed", None):
        return lambda node, row, freed_by: (row, None)
    if not plan.computed:
        return _pass_on(pattern)
    launch = devices.flat_launcher(plan.program(kinds, type.dtype, [type.dtype] * len(plan.computed)), type)
    if not plan.frees:
        return _any_runner(plan, launch)
    if len(plan.names) == 1 and pattern == ("kernel",):

        def run_unary(node: Any, row: Any, freed_by: Place | None) -> Any:
            saved = node.saved
            if saved.__class__ is not tuple or saved[1][0] != saved[2]:
                return None
            if freed_by is not None:
                node.saved = freed_by
            return (launch(row, saved[0]),)

        return run_unary
    if len(plan.names) == 1 and pattern == ("kernel", None):

        def run_first(node: Any, row: Any, freed_by: Place | None) -> Any:
            saved = node.saved
            if saved.__class__ is not tuple or saved[1][0] != saved[2]:
                return None
            if freed_by is not None:
                node.saved = freed_by
            return launch(row, saved[0]), None

        return run_first
    if len(plan.names) == 2 and pattern == ("kernel", "kernel") and all(source != OUTPUT for source in plan.sources):

        def run_both(node: Any, row: Any, freed_by: Place | None) -> Any:
            saved = node.saved
            if saved.__class__ is not tuple or saved[1][0] != saved[2] or saved[5][0] != saved[6]:
                return None
            if freed_by is not None:
                node.saved = freed_by
            return launch(row, saved[0], saved[4])

        return run_both
    return _any_runner(plan, launch)


def _any_runner(plan: Plan, launch: Callable[..., Any]) -> RunRow:
    pattern, one = plan.pattern, len(plan.computed) == 1
    direct = not one and all(source == "kernel" for source in pattern)

    def run(node: Any, row: Any, freed_by: Place | None) -> Any:
        saved = node.saved
        if saved.__class__ is not tuple:
            return None
        for place in range(1, len(saved), 4):
            if saved[place][0] != saved[place + 1]:
                return None
        out = launch(row, *saved[::4])
        if freed_by is not None and plan.frees:
            node.saved = freed_by
        if direct:
            return out
        outs = iter((out,) if one else out)
        passed = _passed(row, pattern)
        return [next(outs) if source == "kernel" else passed if source == "passed" else None for source in pattern]

    return run


def _pass_on(pattern: tuple[Any, ...]) -> RunRow:
    if pattern == ("passed", "passed"):

        def run_both(node: Any, row: Any, freed_by: Place | None) -> Any:
            shared = (row,)
            return shared, shared

        return run_both

    def run(node: Any, row: Any, freed_by: Place | None) -> Any:
        passed = _passed(row, pattern)
        return [passed if source == "passed" else None for source in pattern]

    return run


def _passed(row: Any, pattern: tuple[Any, ...]) -> Any:
    """The row as it is handed on: to several inputs in a tuple, which marks it as shared."""
    return row if pattern.count("passed") < 2 else (row,)
