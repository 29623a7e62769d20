"""Whole objects in files, such as modules: the names of their classes, and loading by Python's own pickle.

Files name PyTorch's classes and functions, here as in PyTorch; each stands for the one of its name in numgrad.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

from ..core.types import dtype
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from .rebuilding import FUNCTIONS, TYPES, RebuiltStorage, StorageType, absent_dtype, give_attributes

__all__ = ["name_in_files", "unpickled_by_python"]

#: Modules under which files name the classes and functions that they contain.
_PUBLIC = (
    "numgrad", "numgrad.nn", "numgrad.nn.functional", "numgrad.nn.modules.linear", "numgrad.optim",
    "numgrad.optim.lr_scheduler", "numgrad.distributions",
)  # fmt: skip

#: PyTorch's modules whose names numgrad has in another one.
_ELSEWHERE = {"torch._C._nn": "torch.nn.functional", "torch._C": "torch"}


def name_in_files(value: Any) -> str | None:
    """Return PyTorch's name of a class or function of numgrad; None for others."""
    name, module = value.__name__, getattr(value, "__module__", None) or ""
    if module.partition(".")[0] not in ("numgrad", "torch"):
        return None
    for public in _PUBLIC:
        if getattr(sys.modules.get(public), name, None) is value:
            return f"torch{public.removeprefix('numgrad')}.{name}"
    return None


def unpickled_by_python(
    data: bytes, storage_of: Callable[[str, dtype, str, int], Tensor], pickle_module: Any = None, **options: Any
) -> Any:
    """Return the value that a pickle describes; unpickling runs any code that the pickle names.

    Args:
        data: the pickle.
        storage_of: returns a storage, by its name, dtype, device and number of elements, as a tensor of one dimension.
        pickle_module: the module whose ``Unpickler`` reads it, instead of Python's ``pickle``.
        options: arguments of the ``Unpickler``.

    Raises:
        pickle.UnpicklingError: the pickle names something of PyTorch that numgrad lacks.
        RuntimeError: it has tensors of a dtype that numgrad lacks.
    """
    storages: dict[str, RebuiltStorage] = {}

    class Unpickler((pickle_module or pickle).Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            return _found(module, name) if module.partition(".")[0] == "torch" else super().find_class(module, name)

        def persistent_load(self, identity: Any) -> Any:
            kind, element, key, location, count = identity
            if kind != "storage" or not isinstance(element, StorageType):
                raise pickle.UnpicklingError(f"the file refers to a {kind}, which numgrad does not know")
            if key not in storages:
                storages[key] = RebuiltStorage(storage_of(key, element.dtype, location, count))
            return storages[key]

    return Unpickler(io.BytesIO(data), **options).load()


def _found(module: str, name: str) -> Any:
    """Return what a name of PyTorch's stands for."""
    full = f"{module}.{name}"
    if full == "torch._tensor._rebuild_from_type_v2":
        return _of_type
    known = FUNCTIONS.get(full) or TYPES.get(full)
    if known is not None:
        return known
    if absent_dtype(full) is not None:
        raise RuntimeError(
            f"numgrad has no dtype {absent_dtype(full)}: in PyTorch, convert such tensors, as with float(), and save "
            "them again"
        )
    parts = _ELSEWHERE.get(module, module).split(".")[1:]
    while True:  # classes may be in another file here than in PyTorch, within one package
        try:
            return getattr(importlib.import_module(".".join(["numgrad", *parts])), name)
        except (ImportError, AttributeError):
            if not parts:
                raise pickle.UnpicklingError(f"the file names {full}, which numgrad lacks") from None
            parts.pop()


def _of_type(rebuild: Callable[..., Tensor], cls: type, arguments: tuple[Any, ...], attributes: Any) -> Tensor:
    """Return a tensor of a class, which may be the user's, with attributes."""
    tensor = rebuild(*arguments)
    if issubclass(cls, Parameter) and not isinstance(tensor, Parameter):
        tensor = Parameter(tensor.detach(), tensor.requires_grad)
    tensor.__class__ = cls
    give_attributes(tensor, attributes)
    return tensor
