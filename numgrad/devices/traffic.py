"""What a run of a kernel must read and write: the bytes of the elements of its arrays, each counted once.

What it reads and writes its facts say (``numgrad_kernels.facts``).  A kernel for the CPU may be given more memory than
it goes to, such as the whole storage of a view: an array counts with as many elements as there are in it, but no more
than the facts say that a run reaches of any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.facts import Facts

from .rows import DeviceRow


class Traffic(NamedTuple):
    """Bytes read and written, and the elements of the largest array."""

    read: int
    written: int
    elements: int


class _Part(NamedTuple):
    """Elements that are read or written, and where they lie in memory."""

    location: Any
    elements: int
    itemsize: int


def kernel_traffic(facts: Facts, arguments: Sequence[Any]) -> Traffic:
    """What a run of a kernel, for the CPU or a GPU, with these arguments moves."""
    named = dict(zip(facts.parameters, arguments, strict=True))
    given = SimpleNamespace(**named)
    most = facts.most(given)
    parts = {name: _Part(name, count, facts.compute.itemsize) for name, count in facts.hidden(given).items()}
    for name, value in named.items():
        if isinstance(value, np.ndarray | DeviceRow):
            parts[name] = _Part(_location(value), min(value.size, most), value.itemsize)
    return _traffic(*[[parts[name] for name in names & parts.keys()] for names in (facts.read, facts.written)])


def array_traffic(arguments: Sequence[Any], result: Any) -> Traffic:
    """What a function moves that reads the arrays among its arguments and makes those that it returns."""
    read, made = list(_arrays(arguments)), list(_arrays((result,)))
    read = [array for array in read if not any(array is other for other in made)]
    return _traffic(*[[_Part(_location(a), _distinct(a), a.itemsize) for a in arrays] for arrays in (read, made)])


def _traffic(read: Sequence[_Part], written: Sequence[_Part]) -> Traffic:
    return Traffic(_bytes(read), _bytes(written), max([part.elements for part in (*read, *written)], default=0))


def _bytes(parts: Iterable[_Part]) -> int:
    """The bytes of these parts; the same memory, given twice, counts once."""
    return sum({part.location: part.elements * part.itemsize for part in parts}.values())


def _location(array: Any) -> tuple[Any, ...]:
    """Where an array or a row lies in memory."""
    if isinstance(array, DeviceRow):
        return array.address, array.size
    return array.ctypes.data, array.shape, array.strides


def _arrays(values: Iterable[Any]) -> Iterable[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, list | tuple):
            yield from _arrays(value)


def _distinct(array: np.ndarray) -> int:
    """The elements of an array, a repeated one counted once."""
    return math.prod([n if step else min(n, 1) for n, step in zip(array.shape, array.strides, strict=True)])
