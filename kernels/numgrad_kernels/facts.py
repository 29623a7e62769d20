"""What is known of a kernel besides its text: what it computes in, and what a run of it reads and writes.

A kernel that is written by hand says in its signature which arrays it writes:

- ``out: Out``: every element, whatever was there before; of room for work, which nobody looks at afterwards, as many as
  it needs.  It is given no more than that, unless it reports that something is wrong.
- ``out: Part``: some of the elements, as many as it ``reaches``, and none of them is read.  The others stay.
- ``sums: InOut``: some or all of them, and reads them as they were before.
- ``wrong: Report``: only what says that something is wrong: True, or a number from 0 on.

All other arrays are only read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np

#: An array that a kernel writes as a whole: it reads nothing but what it has written itself.
Out = Annotated[Any, "written"]

#: An array of which a kernel writes some elements and reads none.
Part = Annotated[Any, "written in part"]

#: An array that a kernel reads and writes.
InOut = Annotated[Any, "read and written"]

#: An array in which a kernel says that something is wrong, and which it may leave alone where all is well.
Report = Annotated[Any, "report"]

#: The address of one of BLAS's functions, which does the kernel's work.
Blas = Annotated[Any, "called"]


@dataclass(frozen=True)
class Facts:
    """See the module.  ``most`` and ``hidden`` are given a run's arguments, as attributes of one object.

    Attributes:
        compute: the dtype that the kernel computes in.
        parameters: their names, in order.
        read, written: the names of the arrays that it reads and that it writes.
        most: tells how many elements a run goes to of any array, at most: what it is given may be longer.
        hidden: tells of arrays that only their addresses are given of, by names, how many elements a run goes to.
        calls_blas: whether BLAS does its work.
        reports: the names of the arrays in which it reports that something is wrong; see ``Report``.
    """

    compute: np.dtype
    parameters: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    most: Callable[[Any], int] = lambda given: sys.maxsize
    hidden: Callable[[Any], dict[str, int]] = lambda given: {}
    calls_blas: bool = False
    reports: frozenset[str] = frozenset()

    @property
    def hides(self) -> bool:
        """Whether it is given addresses of arrays, in a row ``addresses``."""
        return self.hidden is not Facts.hidden


Function = TypeVar("Function", bound=Callable[..., None])


def reaches(most: Callable[[Any], int]) -> Callable[[Function], Function]:
    """Decorator: a kernel that is written by hand goes to so many elements of an array at most; see ``Facts``."""

    def declare(kernel: Any) -> Any:
        kernel.most = most
        return kernel

    return declare


def facts_of(kernel: Any, compute: np.dtype) -> Facts:
    """What the function of a hand-written kernel says, which is compiled for this dtype.

    Raises:
        TypeError: it does not say what it writes.
    """
    if hasattr(kernel, "facts"):  # one whose function is made of text: see ``updates``
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
