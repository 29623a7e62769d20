"""Errors for missing names, which report whether PyTorch has the name and suggest a similar name."""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

#: Replacements for names without a similar one.
_INSTEAD = {"complex32": "complex64", "chalf": "cfloat", "SparseAdam": "Adam"}

#: Functions that PyTorch has removed, most of which only raise an error there, and what replaces them.
_REMOVED = {
    "btrifact": "linalg.lu_factor", "eig": "linalg.eig", "gels": "linalg.lstsq, which takes A before B",
    "gesv": "linalg.solve, which takes A before B", "ifft": "fft.ifft", "irfft": "fft.irfft",
    "lstsq": "linalg.lstsq, which takes A before B", "matrix_rank": "linalg.matrix_rank",
    "potrf": "linalg.cholesky", "rfft": "fft.rfft", "solve": "linalg.solve, which takes A before B",
    "symeig": "linalg.eigh", "trtrs": "linalg.solve_triangular, which takes A before B",
}

#: What numgrad leaves out by design: patterns for its names, each with what to use instead.
_LEFT_OUT = {
    r"sparse|spmm|smm$|s(sp)?addmm|\.(is_)?coalesce|(col|row)_indices|to_dense":
        "numgrad has no sparse tensors: use dense ones, or index_add with the indices of the elements",
    r"quant|\.q_|\.qu?int\d|qscheme|int_repr|per_(channel|tensor)_": "numgrad has no quantized tensors",
    r"^distributed\..*Store$": "MPI connects the processes without a store",
    r"^distributed\..*(DeviceMesh|device_mesh)$": "numgrad has no meshes of devices: use distributed.new_group",
    r"cuda\.make_graphed": "numgrad captures CUDA graphs by itself: use numgrad.compile",
}


@functools.cache
def _names() -> dict[str, frozenset[str]]:
    """Return PyTorch's public names, keyed by the class or module that has them."""
    text = Path(__file__).with_name("pytorch_names.txt").read_text(encoding="utf-8")
    sections = text.split("\n[")[1:]
    return {owner: frozenset(names.split()) for owner, _, names in (section.partition("]") for section in sections)}


#: Missing attributes that were looked up, each with its owner, and missing modules such as "torch.sparse".
_asked: set[tuple[str, str]] = set()
modules_asked: set[str] = set()


def names_asked() -> set[str]:
    """Return PyTorch's names of the missing attributes that were looked up."""
    names = {(owner, name) for owner, name in _asked if name in _names().get(owner, ())}
    return {f"torch.{owner}.{name}".replace("torch.torch.", "torch.") for owner, name in names}


class _AbsentError(AttributeError):
    """Error for a missing name, whose arguments are those of ``_text``; the text is built only when it is shown.

    Programs test for optional names with ``hasattr``, some at every step, so raising must be fast.  An ``__init__``
    would take half of the time.
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


# Tracebacks show the class under its built-in name.
_AbsentError.__module__ = "builtins"
_AbsentError.__name__ = _AbsentError.__qualname__ = "AttributeError"


def _text(owner: str, name: str, present: Callable[[], Iterable[str]]) -> str:
    """Return the message for the missing attribute ``name`` of ``owner``.

    The owner is "Tensor", or a module without "numgrad.", such as "nn".  ``present`` returns the existing names.
    """
    where = "Tensor" if owner == "Tensor" else f"numgrad.{owner}".removesuffix(".torch")
    if name in _REMOVED and owner in ("torch", "Tensor"):
        return f"PyTorch has removed '{name}': use numgrad.{_REMOVED[name]}"
    if name.startswith("_") or name not in _names().get(owner, ()):
        return f"module '{where}' has no attribute '{name}'"
    for pattern, reason in _LEFT_OUT.items():
        if re.search(pattern, f"{owner}.{name}"):
            return f"PyTorch has '{name}', but {reason}"
    others = [other for other in present() if not other.startswith("_")]
    near = [_INSTEAD[name]] if name in _INSTEAD else difflib.get_close_matches(name, others, 1, 0.65)
    hint = f"; the nearest that there is: {where}.{near[0]}" if near and near[0] in others else ""
    return f"PyTorch has '{name}', but {where} does not have it yet{hint}"


class _Missing(NamedTuple):
    """Descriptor for a missing attribute of instances."""

    owner: str
    name: str

    def __get__(self, instance: Any, cls: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{self.name}'")
        _asked.add((self.owner, self.name))
        raise _AbsentError(self.owner, self.name, functools.partial(dir, instance))


def say_what_is_missing(cls: type) -> None:
    """Make the AttributeErrors of a class's instances report whether PyTorch has the missing name.

    The names become attributes that raise the error.  A ``__getattr__`` would slow down the lookup of all others.
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
    """Return ``__getattr__`` and ``__dir__`` for a public module, some names of which may be imported on first access.

    ``modules`` maps each of these names to the submodule that it is, or that defines it.  For any other name, the error
    reports whether PyTorch has it.  Names that the module imports for its own use are not listed.
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
        names = [name for name, value in namespace.items() if name.startswith("_") or _is_part(name, value)]
        return sorted({*names, *modules, *namespace["__all__"]})

    def _is_part(name: str, value: Any) -> bool:
        return isinstance(value, ModuleType) and value.__name__ == f"{module_name}.{name}"

    return __getattr__, __dir__
