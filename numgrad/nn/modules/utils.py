"""Helpers that custom modules import from PyTorch's ``nn.modules.utils``: tuples of sizes, and prefixes of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that repeats a value ``n`` times, and converts a sequence to a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = [
    _ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)
]


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Return the elements in reverse order, each ``n`` times."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def _list_with_default(out_size: Sequence[int | None], defaults: Sequence[int]) -> list[int]:
    """Return sizes, with the last of ``defaults`` in the places of None."""
    last = defaults[len(defaults) - len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix such as "module." from the keys of a state and of its metadata."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in metadata if key == prefix[:-1] or key.startswith(prefix)]:
        metadata[key[len(prefix) :]] = metadata.pop(key)
