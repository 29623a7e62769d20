"""Dtypes of the array API standard: promotion, kinds, limits, and what the namespace supports."""

from __future__ import annotations

from typing import Any, NamedTuple

import numgrad as ng

from ..core.types import dtype as _dtype
from ..core.types import real_of
from ..tensors.tensor import Tensor

_KINDS: dict[str, tuple[Any, ...]] = {
    "bool": (ng.bool,),
    "signed integer": (ng.int8, ng.int16, ng.int32, ng.int64),
    "unsigned integer": (ng.uint8,),
    "real floating": (ng.float32, ng.float64, ng.float16, ng.bfloat16),
    "complex floating": (ng.complex64, ng.complex128),
}
_KINDS["integral"] = (*_KINDS["signed integer"], *_KINDS["unsigned integer"])
_KINDS["numeric"] = (*_KINDS["integral"], *_KINDS["real floating"], *_KINDS["complex floating"])


def isdtype(dtype: _dtype, kind: Any) -> bool:
    """Return True if a dtype is of a kind, such as "integral", is a given dtype, or is one of a tuple of these.

    Raises:
        ValueError: there is no such kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"unrecognized kind of dtype: {kind!r}")
        return dtype in _KINDS[kind]
    return dtype == kind


def result_type(*arrays_and_dtypes: Any) -> _dtype:
    """Return the dtype to which tensors, dtypes and Python numbers are promoted together; dimensions do not matter.

    Raises:
        ValueError: there is neither a tensor nor a dtype.
    """
    dtypes = [each.dtype if isinstance(each, Tensor) else each for each in arrays_and_dtypes]
    numbers = [each for each in dtypes if isinstance(each, bool | int | float | complex)]
    named = [each for each in dtypes if not isinstance(each, bool | int | float | complex)]
    if not named:
        raise ValueError("at least one array or dtype is required")
    result = named[0]
    for each in named[1:]:
        result = ng.promote_types(result, each)
    for number in numbers:
        result = ng.result_type(ng.empty(1, dtype=result), number)
    return result


def can_cast(from_: Any, to: _dtype, /) -> bool:
    """Return True if the rules of promotion convert a dtype, or that of a tensor, to another."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    return ng.promote_types(source, to) is to


def astype(x: Tensor, dtype: _dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Return the tensor converted to a dtype, as a copy unless ``copy`` is False and none is needed."""
    if x.is_complex() and not dtype.is_complex:
        raise TypeError(f"complex numbers cannot be converted to {dtype}: take real() or imag()")
    return x.to(x.device if device is None else device, dtype, copy=copy)


class FloatLimits(NamedTuple):
    """The limits of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _dtype


class IntegerLimits(NamedTuple):
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: _dtype


def finfo(type: Any, /) -> FloatLimits:
    """Return the limits of a floating-point dtype, that of a tensor, or that of the parts of complex numbers.

    Raises:
        TypeError: the dtype is not floating-point.
    """
    dtype = real_of(type.dtype if isinstance(type, Tensor) else type)
    limits = ng.finfo(dtype)
    return FloatLimits(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, dtype)


def iinfo(type: Any, /) -> IntegerLimits:
    """Return the limits of an integer dtype, or that of a tensor.

    Raises:
        TypeError: the dtype is not one of integers.
    """
    dtype = type.dtype if isinstance(type, Tensor) else type
    limits = ng.iinfo(dtype)
    return IntegerLimits(limits.bits, limits.max, limits.min, dtype)


class NamespaceInfo:
    """Devices, dtypes and capabilities of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return the optional parts of the standard that there are, and the limit of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Any:
        """Return the device of new tensors."""
        return ng.get_default_device()

    def devices(self) -> list[Any]:
        """Return the CPU and all GPUs."""
        gpus = range(ng.cuda.device_count())
        return [ng.device("cpu"), *[ng.device("cuda", index) for index in gpus]]

    def default_dtypes(self, *, device: Any = None) -> dict[str, _dtype]:
        """Return the dtypes of new tensors, keyed by what they hold."""
        real = ng.get_default_dtype()
        made = ng.complex128 if real is ng.float64 else ng.complex64
        return {"real floating": real, "complex floating": made, "integral": ng.int64, "indexing": ng.int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, _dtype]:
        """Return all dtypes of the standard, or those of a kind, keyed by their names."""
        numeric = [each for each in _KINDS["numeric"] if each not in (ng.float16, ng.bfloat16)]
        names = [("bool", ng.bool), *[(str(each).rpartition(".")[2], each) for each in numeric]]
        return {name: each for name, each in names if kind is None or isdtype(each, kind)}


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """Return what the namespace supports."""
    return NamespaceInfo()
