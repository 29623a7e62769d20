"""Classes that stand for names that numgrad lacks: programs may mention them, but not use them."""

from __future__ import annotations

from abc import ABCMeta
from types import GenericAlias, SimpleNamespace
from typing import Any

from ...core import missing
from ...core.types import LIMITS, dtype

__all__ = ["AbsentDtype", "SymBool", "SymFloat", "SymInt", "refusing"]


class _Refusing(ABCMeta):
    """Metaclass of such classes, whose missing attributes, such as functions of a module, raise the same error.

    It derives from that of abstract classes, so that a class may be both.
    """

    _lacking: str

    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"{cls.__module__}.{cls.__name__}.{name}: numgrad has no {cls._lacking}")


def refusing(module: str, name: str, lacking: str) -> type:
    """Return a class of this name without instances, for annotations, ``isinstance`` and as a base class.

    A call of the class, or of a subclass, raises NotImplementedError, and ``missing_names`` lists the name.
    """

    def refuse(cls: type, *args: Any, **keywords: Any) -> Any:
        missing.modules_asked.add(f"{module}.{name}")
        raise NotImplementedError(f"{module}.{name}: numgrad has no {lacking}")

    contents = {
        "__new__": refuse, "__class_getitem__": classmethod(GenericAlias), "__module__": module,
        "_lacking": lacking,
        "__doc__": f"Not there: numgrad has no {lacking}.",
    }
    return _Refusing(name, (), contents)


#: Numbers that are not known yet while PyTorch traces a program; in numgrad all sizes are known.
SymInt, SymFloat, SymBool = [refusing("torch", name, "symbolic numbers") for name in ("SymInt", "SymFloat", "SymBool")]


class AbsentDtype(dtype):
    """A dtype that numgrad lacks: programs may look it up in tables and read its limits, but tensors cannot have it."""

    __module__ = "numgrad"
    __slots__ = ()

    def __init__(self, name: str, itemsize: int, **limits: float):
        self.name, self.itemsize = name, itemsize
        self.is_complex = name.startswith("complex")
        self.is_floating_point = not self.is_complex
        if limits:
            LIMITS[self] = SimpleNamespace(**{"bits": 8 * itemsize, "min": -limits["max"], "precision": 0, **limits})

    def __getattr__(self, name: str) -> Any:  # of the attributes that are not set
        if name.startswith("__"):
            raise AttributeError(name)
        missing.modules_asked.add(repr(self))
        raise NotImplementedError(f"numgrad has no dtype {self!r}; it has {', '.join(dtype.named)}")
