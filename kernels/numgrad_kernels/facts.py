"""Facts about a kernel besides its text: the dtype it computes in and the arrays that a run reads and writes.

A hand-written kernel declares in its signature which arrays it writes:

- ``out: Out``: the kernel writes every element, whatever the array held before.  In scratch space, which nothing reads
  afterwards, it writes as many elements as it needs.  The array is no longer than that, except in a run that reports an
  error.
- ``out: Part``: the kernel writes some of the elements, as many as it ``reaches``, and reads none.  The others are
  unchanged.
- ``sums: InOut``: the kernel writes some or all of the elements and reads their previous values.
- ``wrong: Report``: the kernel writes only an error report: True, or a number from 0 on.

All other arrays are only read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np

#: An array that a kernel writes as a whole: it reads only elements that it has written itself.
Out = Annotated[Any, "written"]

#: An array of which a kernel writes some elements and reads none.
Part = Annotated[Any, "written in part"]

#: An array that a kernel reads and writes.
InOut = Annotated[Any, "read and written"]

#: An array in which a kernel reports an error, and which it may leave alone if there is none.
Report = Annotated[Any, "report"]

#: The address of the BLAS function that does the kernel's work.
Blas = Annotated[Any, "called"]


@dataclass(frozen=True)
class Facts:
    """Facts about a kernel; see the module.

    ``most`` and ``hidden`` take the arguments of a run as attributes of one object.

    Attributes:
        compute: the dtype that the kernel computes in.
        parameters: the names of the parameters, in order.
        read, written: the names of the arrays that the kernel reads and that it writes.
        most: returns an upper bound on the number of elements that a run reaches in any array; arguments may be longer.
        hidden: returns the number of elements that a run reaches in each array passed only by address, by names.
        calls_blas: True if BLAS does the kernel's work.
        reports: the names of the arrays in which it reports an error; see ``Report``.
    """

    compute: np.dtype
    parameters: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    most: Callable[[Any], int] = lambda args: sys.maxsize
    hidden: Callable[[Any], dict[str, int]] = lambda args: {}
    calls_blas: bool = False
    reports: frozenset[str] = frozenset()

    @property
    def hides(self) -> bool:
        """True if the kernel takes the addresses of arrays, in a buffer called ``addresses``."""
        return self.hidden is not Facts.hidden


Function = TypeVar("Function", bound=Callable[..., None])


def reaches(most: Callable[[Any], int]) -> Callable[[Function], Function]:
    """Decorator that declares how many elements of an array a hand-written kernel reaches at most; see ``Facts``."""

    def declare(kernel: Any) -> Any:
        kernel.most = most
        return kernel

    return declare


def facts_of(kernel: Any, compute: np.dtype) -> Facts:
    """Return the facts that a hand-written kernel declares, compiled for this dtype.

    Raises:
        TypeError: the kernel does not declare what it writes.
    """
    if hasattr(kernel, "facts"):  # a kernel whose function is generated from text; see ``updates``
        return kernel.facts(compute)
    parameters = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
    hints = get_type_hints(kernel, include_extras=True)
    kinds = {kind: frozenset([n for n in parameters if hints.get(n) == kind]) for kind in (Out, Part, InOut, Report)}
    written = frozenset().union(*kinds.values())
    if not written:
        raise TypeError(f"{kernel.__name__}: say which arrays the kernel writes, with Out, Part or InOut")
    read = frozenset(parameters) - (written - kinds[InOut])
    most = getattr(kernel, "most", Facts.most)
    calls_blas = Blas in hints.values()
    return Facts(compute, parameters, read, written, most, calls_blas=calls_blas, reports=kinds[Report])
