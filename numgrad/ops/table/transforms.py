"""Calls of the table's operations, in the form that levels and watchers receive, and their names in profilers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import devices
from ...autograd.calls import Call
from ...tensors.tensor import Tensor
from .op import public_name

if TYPE_CHECKING:
    from .elementwise import Pointwise
    from .planned import Planned


class TableCall(Call):
    """A call of an operation ``op`` of the table.

    If there is a ``target``, the call is in place and the target is the first argument.
    """

    def __init__(self, op: Any, args: Sequence[Any], target: Any = None):
        self.op = op
        self.name = op.name
        self.args = args
        self.target = target

    @property
    def title(self) -> str:
        return f"aten::{self.op.aten or public_name(self.op.name)}{'' if self.target is None else '_'}"


class PointwiseCall(TableCall):
    """A pointwise operation on operands."""

    def __init__(
        self, op: Pointwise, operands: Sequence[Any], attributes: Mapping[str, Any], target: Tensor | None = None
    ):
        super().__init__(op, operands, target)
        self.attributes = attributes

    def run(self) -> Any:
        return self.op.run(self.args, self.attributes, self.target)


class GeneralCall(TableCall):
    """Any other operation of the table."""

    def run(self) -> Any:
        return self.op(*self.args)


class ChangeCall(TableCall):
    """Any other operation of the table in place."""

    def run(self) -> Any:
        return self.op.in_place(*self.args)


class ShapeCall(TableCall):
    """A change of a tensor's shape to that of a view of itself."""

    def __init__(self, op: Planned, change: Callable[..., Tensor], args: tuple[Any, ...]):
        super().__init__(op, args, args[0])
        self.name = op.name + "_"
        self.change = change

    def run(self) -> Any:
        return self.change(*self.args)


class FreeCall(Call):
    """Call of a function that reads elements or draws numbers without operations of the table, for watchers alone."""

    closed = False

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]):
        self.function = function
        self.name = function.__name__
        self.positional = args
        self.keywords = keywords
        self.args = (*args, *keywords.values())

    @devices.reports_memory
    def run(self) -> Any:
        return self.function(*self.positional, **self.keywords)
