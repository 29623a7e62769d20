"""Classes that stand for names that numgrad lacks: programs may mention them, but not use them."""

from __future__ import annotations

from typing import Any

__all__ = ["SymBool", "SymFloat", "SymInt", "refusing"]


def refusing(module: str, name: str, lacking: str) -> type:
    """Return a class of this name without instances, for annotations, ``isinstance`` and as a base class.

    A call of the class, or of a subclass, raises NotImplementedError.
    """

    def refuse(cls: type, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"{module}.{name}: numgrad has no {lacking}")

    return type(name, (), {"__new__": refuse, "__module__": module, "__doc__": f"Not there: numgrad has no {lacking}."})


#: Numbers that are not known yet while PyTorch traces a program; in numgrad all sizes are known.
SymInt, SymFloat, SymBool = [refusing("torch", name, "symbolic numbers") for name in ("SymInt", "SymFloat", "SymBool")]
