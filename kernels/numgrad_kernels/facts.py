"""What is known of a kernel besides its text: what it computes in, and what a run of it reads and writes.

A kernel that is written by hand says in its signature which arrays it writes: ``out: Out`` is written before anything
is read of it, ``sums: InOut`` is read as it was before, too.  All other arrays are only read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np

#: An array of which a kernel reads nothing but what it has written itself.
Out = Annotated[Any, "written"]

#: An array that a kernel reads and writes.
InOut = Annotated[Any, "read and written"]

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
    """

    compute: np.dtype
    parameters: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    most: Callable[[Any], int] = lambda given: sys.maxsize
    hidden: Callable[[Any], dict[str, int]] = lambda given: {}
    calls_blas: bool = False


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
    written = frozenset([name for name, hint in hints.items() if hint in (Out, InOut)])
    if not written:
        raise TypeError(f"{kernel.__name__}: say which arrays the kernel writes, with Out or InOut")
    read = frozenset([name for name in parameters if hints.get(name) != Out])
    most = getattr(kernel, "most", Facts.most)
    return Facts(compute, parameters, read, written, most, calls_blas=Blas in hints.values())
