"""Limits on the objects built from a file, so that a small file cannot take hours, gigabytes or the C stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["MAX_DIMENSIONS", "Budget"]

#: The maximum number of dimensions of a tensor.
MAX_DIMENSIONS = 64

#: The number of elements that may be copied for each byte of a file, and a fixed extra number.
_COPIES, _MORE_COPIES = 4, 100_000

#: The maximum nesting depth of tuples and frozensets.
_DEPTH = 500

#: Ints of smaller magnitude have distinct hashes, except -1 and -2.
_LARGE = 2**60


class Budget:
    """Limits on the objects built from a description of ``size`` bytes."""

    def __init__(self, size: int):
        self._left = _COPIES * size + _MORE_COPIES
        # by id, with the value, which must live as long as its id is used:
        self._sizes: dict[int, tuple[Any, int, int]] = {}  # of nested tuples: their parts and their nesting depth
        self._hashes: dict[int, tuple[Any, Counter[int]]] = {}  # of the keys in a container

    def spend(self, count: int) -> None:
        """Account for ``count`` elements that are copied, hashed or compared.

        Raises:
            ValueError: the elements are too many for a description of this size.
        """
        self._left -= count
        if self._left < 0:
            raise ValueError("it describes more elements than a file of its size can hold")

    def whole(self, value: Any) -> Any:
        """Return an object after checking that, if it is a tuple or frozenset, it is not nested too deeply."""
        if type(value) is tuple or type(value) is frozenset:
            size, depth = self._size(value)
            for part in value:
                if type(part) is tuple or type(part) is frozenset:
                    inner, below = self._size(part)
                    size, depth = size + inner, max(depth, below + 1)
            if depth > _DEPTH:
                raise ValueError(f"a tuple nests more than {_DEPTH} deep")
            if depth > 1:
                self._sizes[id(value)] = value, size, depth
        return value

    def _size(self, whole: Any) -> tuple[int, int]:
        """Return the number of parts of a tuple, including nested ones, and its nesting depth."""
        _, size, depth = self._sizes.get(id(whole)) or (whole, len(whole) + 1, 1)
        return size, depth

    def keys(self, container: Any, keys: Iterable[Any]) -> Iterator[Any]:
        """Yield the keys for a container, each after checking that its insertion takes little time.

        A part of a tuple is hashed and compared as often as it occurs, and a key is compared with all keys of equal
        hash.

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
