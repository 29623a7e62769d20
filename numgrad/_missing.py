"""What is said of a name that numgrad has not: whether PyTorch has it, and what comes nearest."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["found_later", "missing", "missing_from", "say_what_is_missing"]

#: What to use in place of names that have no like-named neighbour.
_INSTEAD = {
    "bfloat16": "float32", "float16": "float32", "half": "float", "HalfTensor": "FloatTensor",
    "BFloat16Tensor": "FloatTensor", "complex32": "complex64", "chalf": "cfloat", "uint16": "int32", "uint32": "int64",
    "uint64": "int64", "Conv1d": "Linear", "Conv2d": "Linear", "BatchNorm1d": "LayerNorm", "BatchNorm2d": "LayerNorm",
}


@functools.cache
def _names() -> dict[str, frozenset[str]]:
    """PyTorch's public names by the class or module that has them."""
    text = Path(__file__).with_name("pytorch_names.txt").read_text(encoding="utf-8")
    sections = text.split("\n[")[1:]
    return {owner: frozenset(names.split()) for owner, _, names in (section.partition("]") for section in sections)}


def missing(owner: str, name: str, present: Iterable[str]) -> AttributeError:
    """The error for the attribute ``name`` of ``owner``: "Tensor", or a module without "numgrad.", such as "nn".

    ``present`` are the names that there are.
    """
    where = "Tensor" if owner == "Tensor" else f"numgrad.{owner}".removesuffix(".torch")
    known = not name.startswith("_") and name in _names().get(owner, ())
    if not known:
        return AttributeError(f"module '{where}' has no attribute '{name}'")
    import difflib  # which nothing else needs

    present = [other for other in present if not other.startswith("_")]
    near = [_INSTEAD[name]] if name in _INSTEAD else difflib.get_close_matches(name, present, 1, 0.65)
    hint = f"; the nearest that there is: {where}.{near[0]}" if near and near[0] in present else ""
    return AttributeError(f"PyTorch has '{name}', but {where} has it not yet{hint}")


class _Missing:
    """An attribute of instances that there is not."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: str, name: str):
        self.owner = owner
        self.name = name

    def __get__(self, instance: Any, cls: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{self.name}'")
        raise missing(self.owner, self.name, dir(instance))


def say_what_is_missing(cls: type) -> None:
    """Have instances of a class of PyTorch's raise the error of :func:`missing` for the names that it lacks.

    They are attributes that raise it, and not a ``__getattr__``: with one, Python looks up all others more slowly.
    """
    absent = frozenset(name for name in _names()[cls.__name__] if not hasattr(cls, name))
    for name in absent:
        setattr(cls, name, _Missing(cls.__name__, name))

    def __dir__(self: Any) -> list[str]:  # noqa: N807 - the name that Python looks for
        return [name for name in object.__dir__(self) if name not in absent]

    cls.__dir__ = __dir__  # type: ignore[method-assign, assignment]


def found_later(
    namespace: dict[str, Any], owner: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package some names of which are imported when they are first asked for.

    ``modules`` has each of these names with the module of the package that it is, or that has it.  For any other name
    the error of :func:`missing` is raised.
    """
    raise_missing = missing_from(namespace, owner)

    def __getattr__(name: str) -> Any:  # noqa: N807 - the name that Python looks for
        if name not in modules:
            return raise_missing(name)
        module = importlib.import_module(f".{modules[name]}", namespace["__name__"])
        value = namespace[name] = module if name == modules[name] else getattr(module, name)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*namespace, *modules})

    return __getattr__, __dir__


def missing_from(namespace: dict[str, Any], owner: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module with this namespace, which raises the error of :func:`missing`."""

    def __getattr__(name: str) -> Any:  # noqa: N807 - the name that Python looks for
        if name.startswith("__"):
            raise AttributeError(f"module '{namespace['__name__']}' has no attribute '{name}'")
        raise missing(owner, name, {*namespace, *namespace.get("__all__", ())})  # some are not imported yet

    return __getattr__
