"""Which parts of a picture are near enough to the results to be shown."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)


def nearest(
    roots: Iterable[_Key], behind: Mapping[_Key, Sequence[_Key]], max_depth: int | None, max_count: int | None
) -> set[_Key]:
    """Those that are reached from the roots in at most ``max_depth`` steps, the ``max_count`` nearest of them."""
    front = list(dict.fromkeys(roots))
    found: set[_Key] = set()
    depth = 0
    while front and (max_depth is None or depth <= max_depth):
        room = len(front) if max_count is None else max_count - len(found)
        found.update(front[:room])
        if room < len(front):
            break
        front = [key for key in dict.fromkeys(k for near in front for k in behind.get(near, ())) if key not in found]
        depth += 1
    return found
