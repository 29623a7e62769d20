"""Limits on what is made of a file, so that a small one cannot take hours, gigabytes or the C stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["MAX_DIMENSIONS", "Limits"]

#: How many dimensions a tensor may have.
MAX_DIMENSIONS = 64

#: How many elements may be copied for each byte of a file, and besides.
_COPIES, _MORE_COPIES = 4, 100_000

#: How deeply tuples and frozensets may nest.
_DEPTH = 500

#: Ints below this have hashes of their own.
_LARGE = 2**60


class Limits:
    """Limits on what is made of a description of ``size`` bytes."""

    def __init__(self, size: int):
        self._left = _COPIES * size + _MORE_COPIES
        # by id, with the value, which must live as long as its id counts:
        self._sizes: dict[int, tuple[Any, int, int]] = {}  # of nested tuples, in parts, and how deeply they nest
        self._hashes: dict[int, tuple[Any, Counter[int]]] = {}  # of the keys in a container

    def spend(self, count: int) -> None:
        """Account for so many elements that are copied, hashed or compared.

        Raises:
            ValueError: they are too many for a description of this size.
        """
        self._left -= count
        if self._left < 0:
            raise ValueError("what it describes is too large for its size")

    def whole(self, made: Any) -> Any:
        """Return what was made once it is known that, if it is a tuple or frozenset, it does not nest too deeply."""
        if type(made) is tuple or type(made) is frozenset:
            size, depth = self._size(made)
            for part in made:
                if type(part) is tuple or type(part) is frozenset:
                    inner, below = self._size(part)
                    size, depth = size + inner, max(depth, below + 1)
            if depth > _DEPTH:
                raise ValueError(f"a tuple nests more than {_DEPTH} deep")
            if depth > 1:
                self._sizes[id(made)] = made, size, depth
        return made

    def _size(self, whole: Any) -> tuple[int, int]:
        """Return how many parts a tuple has, those of tuples within it included, and how deeply they nest."""
        _, size, depth = self._sizes.get(id(whole)) or (whole, len(whole) + 1, 1)
        return size, depth

    def keys(self, container: Any, keys: Iterable[Any]) -> Iterator[Any]:
        """Yield the keys that go into a container, each when it is known that this takes little time.

        A part of a tuple is hashed and compared as often as it occurs, and a key is compared with all of the same hash.

        Raises:
            ValueError: the keys take too much time.
        """
        for key in keys:
            cls = type(key)
            if not (cls is str or cls is bytes or (cls is int and -_LARGE < key < _LARGE)):
                size = self._size(key)[0] if cls is tuple or cls is frozenset else 1
                self.spend(size)
                _, hashes = self._hashes.setdefault(id(container), (container, Counter()))
                number = hash(key)
                self.spend(hashes[number] * size)
                hashes[number] += 1
            yield key
