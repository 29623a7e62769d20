"""Conditions of guards: Python expressions that are evaluated as one function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..tensors.tensor import Tensor

#: Errors of conditions on objects that no longer exist.
MISSING = (AttributeError, IndexError, KeyError, TypeError, ValueError)


#: Names of objects in expressions.
_NAME = re.compile(r"\bv\d+\b")


class Conditions:
    """Python expressions that must hold.

    Attributes:
        names: the objects in the expressions, by name.
        described: the expressions, each with a description of the compared value for messages.
        rare: the expressions whose values can change only when one of the counters of changes is incremented, with
        descriptions. into: the dictionary to which conditions are added, ``described`` or ``rare``.
    """

    def __init__(self, **names: Any):
        self.names = names
        self.described: dict[str, str] = {}
        self.rare: dict[str, str] = {}
        self.into = self.described

    def name(self, value: Any) -> str:
        """Return the name of an object in expressions."""
        name = f"v{id(value)}"
        self.names[name] = value
        return name

    def require(self, condition: str, what: str) -> None:
        """Add a condition."""
        self.into[condition] = what

    def require_same(self, expression: str, value: Any, what: str) -> None:
        """Add the condition that an expression gives this object."""
        self.require(f"{expression} is {self.name(value)}", what)

    def require_equivalent(self, expression: str, value: Any, what: str) -> None:
        """Add the condition that an expression is equivalent to this value; see ``equivalent``."""
        name = self.name(value)
        self.require(f"({expression} is {name} or equivalent({expression}, {name}))", what)

    def same_memory(self, expression: str, tensor: Tensor) -> list[str]:
        """Return the conditions that a tensor has the same memory as this one."""
        layout, storage = tensor._layout, tensor._storage
        conditions = [f"{expression}._storage is {self.name(storage)}", f"{expression}._layout is {self.name(layout)}"]
        if not layout.contiguous or storage.size > layout.size:  # tensors of this layout may begin at another offset
            conditions.append(f"{expression}._offset == {tensor._offset}")
        return conditions

    def holds(self, condition: str) -> bool:
        """Return True if a condition holds."""
        try:
            return bool(eval(condition, self.names))
        except MISSING:
            return False

    def function(self, conditions: Iterable[str], parameters: Sequence[str] = ()) -> Callable[..., bool]:
        """Return a function that is True if all conditions hold, and may raise errors in MISSING."""
        condition = " and ".join(conditions) or "True"
        used = [name for name in dict.fromkeys(_NAME.findall(condition)) if name in self.names]
        variables = [f"{name}={name}" for name in used]  # faster than globals
        return eval(f"lambda {', '.join([*parameters, *variables])}: {condition}", self.names)
