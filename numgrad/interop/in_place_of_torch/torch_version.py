"""``torch.torch_version``: the version of PyTorch that numgrad stands for, as a string that compares by its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TORCH_VERSION", "TorchVersion"]

#: A release and its local part, as in "2.13.0+cpu", or a preliminary one, as in "2.13.0a0".
_PARTS = re.compile(r"v?(\d+(?:\.\d+)*)[.-]?([a-z]+)?(\d*)")


def _key(version: Any) -> tuple[Any, ...]:
    """Return a version as numbers that compare in the order of the releases; preliminary versions precede theirs."""
    is_tuple = isinstance(version, Iterable) and not isinstance(version, str)
    match = _PARTS.match(".".join(map(str, version)) if is_tuple else str(version))
    if match is None:
        raise ValueError(f"{version!r} is not a version")
    numbers = [*map(int, match[1].split("."))]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    preliminary = match[2] in ("a", "b", "c", "rc", "dev", "alpha", "beta")
    return tuple(numbers), not preliminary, match[2] or "", int(match[3] or 0) if preliminary else 0


class TorchVersion(str):
    """A version that compares with strings, tuples of numbers and versions of ``packaging`` by its numbers.

    Example:
        >>> from numgrad.interop.in_place_of_torch.torch_version import TorchVersion
        >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") > (2, 9), TorchVersion("2.13.0") == "2.13"
        (True, True, True)
    """

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return _key(self) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(self) <= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(self) > _key(other)

    def __ge__(self, other: Any) -> bool:
        return _key(self) >= _key(other)

    def __eq__(self, other: object) -> bool:
        try:
            return _key(self) == _key(other)
        except ValueError:
            return False

    def __hash__(self) -> int:
        return str.__hash__(self)


#: The release of PyTorch whose names and numbers numgrad follows.
TORCH_VERSION = TorchVersion("2.13.0")
