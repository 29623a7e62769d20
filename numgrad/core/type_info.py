"""The limits of numeric dtypes: ``finfo`` of floating-point ones and ``iinfo`` of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .types import dtype, get_default_dtype, real_of, to_dtype


class _Limits:
    """The limits of a dtype; equal to those of the same dtype."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))


class finfo(_Limits):  # noqa: N801 - PyTorch's name
    """The limits of a floating-point dtype, by default the default one; of a complex one those of its parts.

    Attributes:
        bits: bits of a number.
        eps: the distance from 1 to the next larger number.
        min, max: the smallest and the largest finite number.
        tiny, smallest_normal: the smallest positive number of full precision.
        resolution: the decimal digits that hold, as a power of ten.
        dtype: the name of the dtype.

    Raises:
        TypeError: the dtype is not of floating-point numbers.
    """

    def __init__(self, type: Any = None):
        kind = get_default_dtype() if type is None else to_dtype(type)
        if not (kind.is_floating_point or kind.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type, not {kind}. Use torch.iinfo for integers."
            )
        limits = np.finfo(real_of(kind).numpy)
        self.bits: int = limits.bits
        self.dtype = real_of(kind).name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(f"1e-{limits.precision}")

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        values = ", ".join(f"{name}={getattr(self, name):.6g}" for name in names)
        return f"finfo({values}, dtype={self.dtype})"


class iinfo(_Limits):  # noqa: N801 - PyTorch's name
    """The limits of an integer dtype.

    Attributes:
        bits: bits of a number.
        min, max: the smallest and the largest number.
        dtype: the name of the dtype.

    Raises:
        TypeError: the dtype is not of integers.
    """

    def __init__(self, type: dtype):
        kind = to_dtype(type)
        if kind.kind == "b":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if kind.kind != "i":
            raise TypeError(f"torch.iinfo() requires an integer input type, not {kind}. Use torch.finfo instead.")
        limits = np.iinfo(kind.numpy)
        self.bits: int = limits.bits
        self.dtype = kind.name
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
