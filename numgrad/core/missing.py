"""What is said of a name that numgrad has not: whether PyTorch has it, and what comes nearest."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

#: What to use in place of names that have no like-named neighbour.
_INSTEAD = {
    "bfloat16": "float", "half": "float", "HalfTensor": "FloatTensor",
    "BFloat16Tensor": "FloatTensor", "complex32": "complex64", "chalf": "cfloat", "uint16": "int32", "uint32": "int64",
    "uint64": "int64", "SparseAdam": "Adam",
}


@functools.cache
def _names() -> dict[str, frozenset[str]]:
    """PyTorch's public names by the class or module that has them."""
    text = Path(__file__).with_name("pytorch_names.txt").read_text(encoding="utf-8")
    sections = text.split("\n[")[1:]
    return {owner: frozenset(names.split()) for owner, _, names in (section.partition("]") for section in sections)}


#: What was asked for and is not there: attributes, each with its owner, and modules such as "torch.sparse".
_asked: set[tuple[str, str]] = set()
modules_asked: set[str] = set()


def names_asked() -> set[str]:
    """PyTorch's names of the attributes that were asked for and are not there."""
    known = {(owner, name) for owner, name in _asked if name in _names().get(owner, ())}
    return {f"torch.{owner}.{name}".replace("torch.torch.", "torch.") for owner, name in known}


class _AbsentError(AttributeError):
    """Raised for a name that there is not, with the arguments of ``_text``: the text is made when it is shown.

    Programs ask with ``hasattr`` for what there may not be, some at every step: raising must be quick (an ``__init__``
    of its own would be half of the time).
    """

    def __str__(self) -> str:
        return _text(*super().args)

    def __repr__(self) -> str:
        return f"AttributeError({str(self)!r})"

    @property
    def args(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (str(self),)

    def __reduce__(self) -> Any:
        return AttributeError, self.args


# Tracebacks name it as what it is to those who read them.
_AbsentError.__module__ = "builtins"
_AbsentError.__name__ = _AbsentError.__qualname__ = "AttributeError"


def _text(owner: str, name: str, present: Callable[[], Iterable[str]]) -> str:
    """What is said of the attribute ``name`` of ``owner``: "Tensor", or a module without "numgrad.", such as "nn".

    ``present`` gives the names that there are.
    """
    where = "Tensor" if owner == "Tensor" else f"numgrad.{owner}".removesuffix(".torch")
    if name.startswith("_") or name not in _names().get(owner, ()):
        return f"module '{where}' has no attribute '{name}'"
    import difflib  # which nothing else needs

    others = [other for other in present() if not other.startswith("_")]
    near = [_INSTEAD[name]] if name in _INSTEAD else difflib.get_close_matches(name, others, 1, 0.65)
    hint = f"; the nearest that there is: {where}.{near[0]}" if near and near[0] in others else ""
    return f"PyTorch has '{name}', but {where} has it not yet{hint}"


class _Missing(NamedTuple):
    """An attribute of instances that there is not."""

    owner: str
    name: str

    def __get__(self, instance: Any, cls: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{self.name}'")
        _asked.add((self.owner, self.name))
        raise _AbsentError(self.owner, self.name, functools.partial(dir, instance))


def say_what_is_missing(cls: type) -> None:
    """Have instances of a class of PyTorch's say of the names that it lacks whether PyTorch has them.

    They are attributes that raise that error, and not a ``__getattr__``: with one, Python looks up all others more
    slowly.
    """
    absent = frozenset(name for name in _names()[cls.__name__] if not hasattr(cls, name))
    for name in absent:
        setattr(cls, name, _Missing(cls.__name__, name))
    listed: Callable[[Any], list[str]] = cls.__dir__  # type: ignore[assignment]

    def __dir__(self: Any) -> list[str]:  # noqa: N807 - the name that Python looks for
        return [name for name in listed(self) if name not in absent]

    cls.__dir__ = __dir__  # type: ignore[method-assign, assignment]


def found_later(
    namespace: dict[str, Any], owner: str, modules: Mapping[str, str] = {}
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a public module, some names of which may be imported when first asked for.

    ``modules`` has each of these names with the module of the package that it is, or that has it.  Of any other name
    it is said whether PyTorch has it.  What the module itself imports for its own use is not listed.
    """
    module_name = namespace["__name__"]

    def __getattr__(name: str) -> Any:  # noqa: N807 - the name that Python looks for
        if name in modules:
            module = importlib.import_module(f".{modules[name]}", module_name)
            value = namespace[name] = module if name == modules[name] else getattr(module, name)
            return value
        if name.startswith("__"):
            raise AttributeError(f"module '{module_name}' has no attribute '{name}'")
        _asked.add((owner, name))
        raise _AbsentError(owner, name, __dir__)

    def __dir__() -> list[str]:  # noqa: N807
        own = [name for name, value in namespace.items() if name.startswith("_") or _is_part(name, value)]
        return sorted({*own, *modules, *namespace["__all__"]})

    def _is_part(name: str, value: Any) -> bool:
        return isinstance(value, ModuleType) and value.__name__ == f"{module_name}.{name}"

    return __getattr__, __dir__
