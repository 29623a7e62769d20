"""Classes that stand for names that numgrad lacks: programs may mention them, but not use them."""

from __future__ import annotations

from abc import ABCMeta
from types import GenericAlias
from typing import Any

from ...core import missing

__all__ = ["SymBool", "SymFloat", "SymInt", "refusing"]


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
