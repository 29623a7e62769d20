"""Classes that stand for names that numgrad lacks: programs may mention them, but not use them."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

from ...core import missing

__all__ = ["SymBool", "SymFloat", "SymInt", "refusing"]


def refusing(module: str, name: str, lacking: str) -> type:
    """Return a class of this name without instances, for annotations, ``isinstance`` and as a base class.

    A call of the class, or of a subclass, raises NotImplementedError, and ``missing_names`` lists the name.
    """

    def refuse(cls: type, *args: Any, **keywords: Any) -> Any:
        missing.modules_asked.add(f"{module}.{name}")
        raise NotImplementedError(f"{module}.{name}: numgrad has no {lacking}")

    contents = {
        "__new__": refuse, "__class_getitem__": classmethod(GenericAlias), "__module__": module,
        "__doc__": f"Not there: numgrad has no {lacking}.",
    }
    return type(name, (), contents)


#: Numbers that are not known yet while PyTorch traces a program; in numgrad all sizes are known.
SymInt, SymFloat, SymBool = [refusing("torch", name, "symbolic numbers") for name in ("SymInt", "SymFloat", "SymBool")]
