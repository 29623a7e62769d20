"""Data pipes: data sets whose classes are also methods of other data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from .dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


class _Pipe:
    """The base of both kinds, each of which has functions by name: classes that take the pipe first."""

    functions: ClassVar[dict[str, type]]

    def __getattr__(self, name: str) -> Any:
        if name not in self.functions:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return lambda *args, **kwargs: self.functions[name](self, *args, **kwargs)


class IterDataPipe(_Pipe, IterableDataset[T]):
    """An iterable data set that others can be applied to by methods; see :func:`functional_datapipe`."""

    functions: ClassVar[dict[str, type]] = {}


class MapDataPipe(_Pipe, Dataset[T]):
    """A data set with indices that others can be applied to by methods; see :func:`functional_datapipe`."""

    functions: ClassVar[dict[str, type]] = {}


def functional_datapipe(name: str) -> Callable[[C], C]:
    """Return a decorator for a data pipe's class, of which ``pipe.name(...)`` makes an object with ``pipe`` first.

    Raises:
        TypeError: the class is not a data pipe.
        ValueError: there is such a method already.

    Example:
        >>> from numgrad.utils.data import IterDataPipe, functional_datapipe
        >>> class Numbers(IterDataPipe):
        ...     def __iter__(self):
        ...         yield from range(3)
        >>> @functional_datapipe("doubled")
        ... class Doubled(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         yield from (2 * number for number in self.source)
        >>> list(Numbers().doubled())
        [0, 2, 4]
    """

    def register(cls: C) -> C:
        kind = next((kind for kind in (IterDataPipe, MapDataPipe) if issubclass(cls, kind)), None)
        if kind is None:
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        if name in kind.functions or hasattr(kind, name):
            raise ValueError(f"Unable to add DataPipe function name {name} as it is already taken")
        kind.functions[name] = cls
        return cls

    return register
