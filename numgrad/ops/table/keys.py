"""Keys of the entries of calls: the layouts of tensors, the classes of numbers, and the other arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any


def keying(
    arguments: int, positions: tuple[int, ...], numbers: int, sequence: bool, key: Callable[..., Any] | None
) -> Callable[[Sequence[Any]], tuple[Any, Any]]:
    """Return the function that maps a call's arguments to the key of its entry and the operands.

    The operands stand at ``positions``; the last ``numbers`` of them are numbers.
    """
    count = len(positions)
    tensors = count - numbers
    pick: Any = itemgetter(*positions) if count > 1 else None

    def by_function(args: Any) -> Any:
        assert key is not None
        return key(*args), pick(args)

    def of_sequence(args: Any) -> Any:
        return (*[tensor._layout for tensor in args[0]], *args[1:]), args[0]

    def alone(args: Any) -> Any:
        return args[0]._layout, args

    def of_one(args: Any) -> Any:
        return (args[0]._layout, *args[1:]), args[:1]

    def of_leading(args: Any) -> Any:
        entries: list[Any] = []
        for value in args[:tensors]:
            entries.append(value if value is None else value._layout)
        if numbers:
            for value in args[tensors:count]:
                entries.append(value.__class__)
        if count == arguments:
            return tuple(entries), args
        return (*entries, *args[count:]), args[:count]

    def of_any(args: Any) -> Any:
        details, operands = list(args), pick(args)
        for position in positions[:tensors]:
            value = details[position]
            if value is not None:
                details[position] = value._layout
        if numbers:
            for position in positions[tensors:]:
                details[position] = details[position].__class__
        return tuple(details), operands

    if key is not None:
        return by_function
    if sequence:
        return of_sequence
    if positions == (0,):
        return alone if arguments == 1 else of_one
    return of_leading if positions == tuple(range(count)) else of_any
