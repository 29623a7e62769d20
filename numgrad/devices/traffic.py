"""Bytes that a run of a kernel must read and write: those of the elements of its arrays, each counted once.

A kernel's facts name the arrays that it reads and writes (``numgrad_kernels.facts``).  A kernel for the CPU may get
more memory than it reaches, such as the whole storage of a view.  So an array counts with all its elements, but at most
with the number that a run reaches according to the facts.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numgrad_kernels.facts import Facts

from .buffers import DeviceBuffer
from .operands import Buffer, Storage

if TYPE_CHECKING:
    from .plan import Step


class Traffic(NamedTuple):
    """Bytes read and written, and the elements of the largest array."""

    read: int
    written: int
    elements: int


class _Extent(NamedTuple):
    """Elements that are read or written, and their place in memory."""

    location: Any
    size: int
    itemsize: int


def kernel_traffic(facts: Facts, arguments: Sequence[Any]) -> Traffic:
    """Return the traffic of a run of a kernel, for the CPU or a GPU, with these arguments."""
    args = SimpleNamespace(**dict(zip(facts.parameters, arguments, strict=True)))
    most = facts.most(args)
    parts = {name: _Extent(name, count, facts.compute.itemsize) for name, count in facts.hidden(args).items()}
    for name, value in vars(args).items():
        if isinstance(value, np.ndarray | DeviceBuffer):
            value = _Extent(_location(value), value.size, value.itemsize)
        if value.__class__ is _Extent:
            parts[name] = value._replace(size=min(value.size, most))
    return _traffic(*[[parts[name] for name in names & parts.keys()] for names in (facts.read, facts.written)])


def step_traffic(facts: Facts, step: Step, size: int) -> Traffic:
    """Return the traffic of a plan's step that runs a kernel, where tensors of any size have ``size`` elements."""
    return kernel_traffic(facts, [_planned(operand, size) for operand in step.operands])


def _planned(operand: Any, size: int) -> Any:
    """Return the extent of memory that an operand of a plan stands for; any other operand unchanged."""
    if operand.__class__ is Storage:
        return _Extent(operand.number, sys.maxsize, operand.dtype.itemsize)
    if operand.__class__ is not Buffer:
        return operand
    count = operand.size if operand.size.__class__ is int else sys.maxsize if operand.size is None else size
    return _Extent((operand.memory, operand.start), count, operand.dtype.itemsize)


def array_traffic(arguments: Sequence[Any], result: Any) -> Traffic:
    """Return the traffic of a function that reads the arrays among its arguments and returns new arrays."""
    read, written = list(_arrays(arguments)), list(_arrays((result,)))
    read = [array for array in read if not any(array is other for other in written)]
    return _traffic(*[[_Extent(_location(a), _distinct(a), a.itemsize) for a in arrays] for arrays in (read, written)])


def _traffic(read: Sequence[_Extent], written: Sequence[_Extent]) -> Traffic:
    return Traffic(_bytes(read), _bytes(written), max([part.size for part in (*read, *written)], default=0))


def _bytes(parts: Iterable[_Extent]) -> int:
    """Return the bytes of these parts; memory that occurs twice counts once."""
    return sum({part.location: part.size * part.itemsize for part in parts}.values())


def _location(array: Any) -> tuple[Any, ...]:
    """Return a key that identifies the memory of an array or a buffer."""
    if isinstance(array, DeviceBuffer):
        return array.address, array.size
    return array.ctypes.data, array.shape, array.strides


def _arrays(values: Iterable[Any]) -> Iterable[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, list | tuple):
            yield from _arrays(value)


def _distinct(array: np.ndarray) -> int:
    """Return the number of elements of an array, a repeated one counted once."""
    return math.prod([n if step else min(n, 1) for n, step in zip(array.shape, array.strides, strict=True)])
