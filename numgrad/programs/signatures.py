"""Signatures: what of the arguments of a call can be looked up, to find the programs that may serve it.

That is the layouts of tensors, whether they require gradients, numbers and other values, which of the tensors share
memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MethodType
from typing import Any

import numpy as np

from ..autograd.locations import Location
from ..core import types
from ..core.tensor import Tensor
from ..devices.generators import Generator
from ..devices.rows import DeviceRow
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from .attached import has_tensor_hooks
from .steps import place_of, root_of
from .trees import DICTIONARIES, is_record, parts_of

#: Classes whose values are part of a signature.
_COMPARED = (int, float, complex, bool, str, bytes, type(None))


@dataclass
class Guarded:
    """A program, and when it may be replayed."""

    guard: Any
    program: Any


@dataclass
class Signature:
    """What is known of calls with one signature.

    Attributes:
        call: the arguments of the first of them, in words.
        programs: the latest first.
        eager: why the calls run as they are, and where in the program that shows; None if they do not.
        failed: what guards had against being replayed, when a program was recorded anew.
        postponed: how many calls have made what the next ones find.
        unchecked: how many replays are still to be compared with the function itself.
        recorded: when the latest program was recorded, or a call that made what the next ones find.
    """

    call: str
    programs: list[Guarded] = field(default_factory=list)
    eager: tuple[str, Location | None] | None = None
    failed: list[list[str]] = field(default_factory=list)
    postponed: int = 0
    unchecked: int = 0
    recorded: float = 0.0


class UnknownArgumentError(TypeError):
    """A signature cannot tell arguments of a class from one another."""


def key_of(mode: int, args: Sequence[Any], keywords: dict[str, Any]) -> tuple[Hashable, list[Tensor]]:
    """What the signature of a call in this mode is looked up by, and the tensors among its arguments.

    Raises:
        UnknownArgumentError: it cannot tell some argument from others.
    """
    tensors: list[Tensor] = []
    key: list[Any] = [mode]
    for value in args:
        if value.__class__ is Tensor:
            tensors.append(value)
            key.append(value._layout)
            if value._requires_grad:
                plain = value._edge is value._view is value._grad is value._hooks is None
                key.append(_LEAF if plain else _kind(value))
            elif value._grad is not None:
                key.append(_kind(value))
        else:
            _describe(value, key, tensors)
    if keywords:
        for name, value in keywords.items():
            key.append(name)
            _describe(value, key, tensors)
    if len(tensors) > 1:
        roots = set()
        for one in tensors:
            memory = one._storage
            base = memory.base if memory.__class__ is _ARRAY else memory
            if base is not None:  # the owner itself, mostly
                memory = base if base.__class__ is _ARRAY and base.base is None else root_of(memory)
            roots.add(id(memory))
        if len(roots) < len(tensors):
            key += _shared(tensors)
    return tuple(key), tensors


_ARRAY = np.ndarray

#: What a signature says of tensors that require gradients, or have one: a sum of these.
_REQUIRES_GRAD, _IS_LEAF, _HAS_GRAD, _HAS_HOOKS = 1, 2, 4, 8

#: The same of a leaf that requires a gradient and has none yet.
_LEAF = _REQUIRES_GRAD + _IS_LEAF


def _kind(tensor: Tensor) -> int:
    """The same of other tensors."""
    kind = _HAS_GRAD * (tensor._grad is not None)
    if tensor.requires_grad:
        is_leaf = tensor._edge is None and tensor._view is None
        kind += _REQUIRES_GRAD + _IS_LEAF * is_leaf + _HAS_HOOKS * has_tensor_hooks(tensor)
    return kind


def _shared(tensors: Sequence[Tensor]) -> list[int]:
    """Which of the tensors share memory, how far from the first of them each begins, and which are given twice."""
    roots, objects = [id(root_of(one._storage)) for one in tensors], [*map(id, tensors)]
    first = [roots.index(root) for root in roots]
    begins = [begin_of(one) - begin_of(tensors[number]) for one, number in zip(tensors, first, strict=True)]
    return first + begins + [objects.index(own) for own in objects]


def begin_of(tensor: Tensor) -> int:
    """Where a tensor begins, in bytes, among all on the same memory."""
    start = place_of(tensor._storage) if isinstance(tensor._storage, np.ndarray | DeviceRow) else 0
    return start + tensor._offset * tensor._layout.type.dtype.itemsize


def _describe(value: Any, key: list[Any], tensors: list[Tensor]) -> None:
    cls = value.__class__
    if cls is Tensor or isinstance(value, Tensor):
        tensors.append(value)
        key.append(value._layout)
        if value._requires_grad or value._grad is not None:
            key.append(_kind(value))
        if cls is not Tensor:
            key.append(cls)
    elif cls in _COMPARED:
        key.append(cls)
        key.append(value.hex() if cls is float else repr(value) if cls is complex else value)
    elif isinstance(value, tuple) or cls is list:
        key.append(cls)
        key.append(len(value))
        for one in value:
            _describe(one, key, tensors)
    elif cls in DICTIONARIES:
        key.append(cls)
        key.append(len(value))
        for name, one in value.items():
            exact = repr(name) if isinstance(name, float | complex | tuple) else None  # (1,) is equal to (True,)
            key.append((name.__class__, name, exact))
            _describe(one, key, tensors)
    elif isinstance(value, types.dtype | types.device):
        key.append(value)
    elif cls is slice or cls is range:
        key.append(cls)
        for one in (value.start, value.stop, value.step):
            _describe(one, key, tensors)
    elif isinstance(value, np.generic):
        key += cls, value.tobytes()
    elif isinstance(value, MethodType):  # each access makes one anew
        key.append(MethodType)
        key.append(_Same(value.__func__))
        key.append(_Same(value.__self__))
    elif isinstance(value, Module | Optimizer | Generator | Enum) or callable(value):
        key.append(_Same(value))
    elif is_record(value):
        key.append(cls)
        for name, one in parts_of(value).items():
            key.append(name)
            _describe(one, key, tensors)
    else:
        instead = "numgrad.from_numpy() of it" if isinstance(value, np.ndarray) else "its tensors and numbers"
        raise UnknownArgumentError(f"an argument of the class {cls.__name__}: give {instead}")


class _Same:
    """An object in a signature: equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value
