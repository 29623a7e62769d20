"""Attributes of tensors other than their values: Size, dtype, device, and the limits of dtypes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, ClassVar, SupportsIndex

import numpy as np

from .device import CPU, backends, device, numbered
from .display import shown_by
from .halves import BFLOAT16


class Size(tuple):
    """Shape of a tensor: a tuple of ints that prints as ``torch.Size([2, 3])``."""

    __module__ = "numgrad"
    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        sizes = tuple(sizes)
        for index, extent in enumerate(sizes):
            if not hasattr(extent, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {index} is '{type(extent).__name__}')")
        return size_of(tuple([extent.__index__() for extent in sizes]))

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return size_of(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other))

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self))

    def __mul__(self, count: SupportsIndex) -> Size:
        return size_of(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    _repr_html_ = shown_by("size_html")

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def size_of(shape: tuple[int, ...]) -> Size:
    """Return a shape, which must consist of ints, as a Size."""
    return tuple.__new__(Size, shape)


class dtype:  # noqa: N801 - PyTorch's name
    """Type of a tensor's elements; the instances are the module's constants, such as ``numgrad.float32``."""

    __module__ = "numgrad"
    __slots__ = (
        "category", "compute", "differentiable", "is_complex", "is_floating_point", "is_half", "is_limited",
        "is_signed", "itemsize", "kind", "legacy", "name", "numpy",
    )

    #: All supported dtypes, by name and by NumPy type.
    named: ClassVar[dict[str, dtype]] = {}
    of_numpy: ClassVar[dict[np.dtype, dtype]] = {}

    def __init__(self, name: str, numpy: Any, legacy: str, compute: dtype | None = None):
        self.name = name
        self.numpy = np.dtype(numpy)
        self.legacy = legacy  # the type's name in "torch.FloatTensor"
        self.compute = compute or self  # the dtype that kernels compute in
        self.itemsize = self.numpy.itemsize
        kind = self.compute.numpy.kind
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = kind in "ifc"
        self.kind = kind.replace("u", "i")  # "b" bool, "i" integer, "f" floating point, "c" complex
        self.category = "bifc".index(self.kind)
        self.differentiable = self.kind in "fc"  # tensors of the dtype may require a gradient
        self.is_half = self.compute is not self  # float16 and bfloat16, in which numbers are stored but not computed
        self.is_limited = kind == "u" and self.itemsize > 1  # as in PyTorch, without older names and integer promotion
        dtype.named[name] = self
        if self.numpy is not BFLOAT16:
            dtype.of_numpy[self.numpy] = self

    @property
    def __numpy_dtype__(self) -> np.dtype:
        """The dtype for NumPy and compatible libraries: ``np.zeros(3, dtype=numgrad.float32)``.

        That of bfloat16 is from the package ``ml_dtypes``.

        Raises:
            TypeError: it is bfloat16, and ``ml_dtypes`` is not installed.
        """
        return numpy_bfloat16() if self.numpy is BFLOAT16 else self.numpy

    @property
    def dtype(self) -> np.dtype:
        """The dtype for NumPy before 2.4."""
        try:
            return self.__numpy_dtype__
        except TypeError as error:
            raise AttributeError(str(error)) from None

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # the name in numgrad


bool_ = dtype("bool", np.bool_, "Bool")
uint8 = dtype("uint8", np.uint8, "Byte")
uint16 = dtype("uint16", np.uint16, "UInt16")
uint32 = dtype("uint32", np.uint32, "UInt32")
uint64 = dtype("uint64", np.uint64, "UInt64")
int8 = dtype("int8", np.int8, "Char")
int16 = dtype("int16", np.int16, "Short")
int32 = dtype("int32", np.int32, "Int")
int64 = dtype("int64", np.int64, "Long")
float32 = dtype("float32", np.float32, "Float")
float64 = dtype("float64", np.float64, "Double")
complex64 = dtype("complex64", np.complex64, "ComplexFloat")
complex128 = dtype("complex128", np.complex128, "ComplexDouble")
float16 = dtype("float16", np.float16, "Half", float32)
bfloat16 = dtype("bfloat16", BFLOAT16, "BFloat16", float32)

#: PyTorch's other names of dtypes, and its older names of types, such as "DoubleTensor".
_ALIASES = {
    "float": float32, "double": float64, "short": int16, "int": int32, "long": int64, "cfloat": complex64,
    "half": float16, "cdouble": complex128,
    **{f"{each.legacy}Tensor": each for each in dtype.named.values() if not each.is_limited},
}

#: Functions that are called after a change of the default dtype.
default_dtype_changed: list[Callable[[], None]] = []

_default = float32


def get_default_dtype() -> dtype:
    """Return the dtype of floating-point tensors made from Python numbers: float32 by default.

    Example:
        >>> import numgrad
        >>> numgrad.get_default_dtype()
        torch.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of floating-point tensors made from Python numbers to ``d``.

    Raises:
        TypeError: ``d`` is not a floating-point dtype.
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the default type, not {d!r}")
    if d.kind != "f":
        raise TypeError(f"only floating-point types are supported as the default type, not {d}")
    _default = d
    for forget in default_dtype_changed:
        forget()


def complex_of(dtype: dtype) -> dtype:
    """Return the complex dtype whose parts have this floating-point dtype."""
    return complex128 if dtype is float64 else complex64


#: The dtypes of the parts of complex numbers.
PARTS = {complex64: float32, complex128: float64}


def real_of(dtype: dtype) -> dtype:
    """Return the dtype of the parts of a complex dtype; a real dtype is returned unchanged."""
    return PARTS.get(dtype, dtype)


def numpy_bfloat16() -> np.dtype:
    """Return NumPy's dtype for bfloat16, from the package ``ml_dtypes``.

    Raises:
        TypeError: it is not installed.
    """
    try:
        types = importlib.import_module("ml_dtypes")
    except ImportError:
        raise TypeError("Got unsupported ScalarType BFloat16: NumPy has it with the package ml_dtypes") from None
    return np.dtype(types.bfloat16)


def to_dtype(value: Any) -> dtype:
    """Return the dtype for ``value``: a dtype or its name, a NumPy dtype, or Python's bool, int, float or complex.

    Raises:
        TypeError: numgrad has no such dtype.
    """
    if isinstance(value, dtype):
        return value
    if isinstance(value, str):
        name = value.removeprefix("torch.")
        result = dtype.named.get(name) or _ALIASES.get(name)
        if result is not None:
            return result
    if isinstance(value, np.dtype) and value in dtype.of_numpy:
        return dtype.of_numpy[value]
    if isinstance(getattr(value, "element", None), dtype):
        return value.element  # a class like numgrad.FloatTensor
    try:
        given = np.dtype(value)
        result = bfloat16 if given.name == "bfloat16" else dtype.of_numpy.get(given.newbyteorder("="))
    except (TypeError, ValueError):
        result = None
    if result is None:
        raise TypeError(f"numgrad has no dtype {value!r}; it has {', '.join(dtype.named)}")
    return result


class memory_format:  # noqa: N801 - PyTorch's name
    """Order of a tensor's dimensions in memory; see ``formats``."""

    __module__ = "numgrad"

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # the name in numgrad, so that there is one object of each


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


class layout:  # noqa: N801 - PyTorch's name
    """Storage scheme of a tensor's elements: all are stored, as ``numgrad.strided`` denotes.

    Programs may mention the other schemes, which no tensor of numgrad has.
    """

    __module__ = "numgrad"

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided, sparse_coo, sparse_csr = layout("strided"), layout("sparse_coo"), layout("sparse_csr")
sparse_csc, sparse_bsr, sparse_bsc = layout("sparse_csc"), layout("sparse_bsr"), layout("sparse_bsc")
jagged = layout("jagged")


class TensorType:
    """Dtype and device of a tensor; equal pairs are one object, so that they can be compared with ``is``.

    Attributes:
        backend: the package of ``devices`` that computes on this device, ``cpu`` or ``cuda``.
        numpy: the equivalent NumPy dtype.
        name: such as "torch.FloatTensor".
    """

    __slots__ = ("backend", "device", "dtype", "name", "numpy")

    _all: ClassVar[dict[tuple[dtype, str, int | None], TensorType]] = {}

    def __init__(self, dtype: dtype, device: device):
        self.dtype = dtype
        self.device = device
        self.backend = backends[device.type]()
        self.numpy = dtype.numpy
        self.name = f"torch.{'' if device.type == 'cpu' else device.type + '.'}{dtype.legacy}Tensor"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return tensor_type, (self.dtype, self.device)

    def with_dtype(self, dtype: dtype) -> TensorType:
        """Return the type of another dtype on this device."""
        return tensor_type(dtype, self.device)


def tensor_type(dtype: dtype, device: device = CPU) -> TensorType:
    """Return the unique TensorType of this dtype and device; the first one on a GPU initializes GPU support.

    Raises:
        ImportError, RuntimeError: the GPU is not available.
    """
    cached = TensorType._all.get((dtype, device.type, device.index))
    if cached is not None:
        return cached
    with_number = numbered(device)
    if with_number is not device:
        return tensor_type(dtype, with_number)
    return TensorType._all.setdefault(  # another thread may just have made it
        (dtype, device.type, device.index), TensorType(dtype, device)
    )


class _Limits:
    """Limits of a dtype; two objects for the same dtype compare equal."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))


#: The limits of the dtypes that NumPy lacks; bfloat16 has 8 bits of precision, and the exponents of float32.
LIMITS = {
    bfloat16: SimpleNamespace(
        bits=16, eps=2.0**-7, max=(2 - 2.0**-7) * 2.0**127, min=-(2 - 2.0**-7) * 2.0**127, smallest_normal=2.0**-126,
        precision=2,
    )
}


class finfo(_Limits):  # noqa: N801 - PyTorch's name
    """Limits of a floating-point dtype, by default the default dtype; for a complex dtype, those of its parts.

    Attributes:
        bits: the number of bits.
        eps: the distance from 1 to the next larger number.
        min, max: the smallest and the largest finite number.
        tiny, smallest_normal: the smallest positive number with full precision.
        resolution: the approximate decimal resolution, a power of ten.
        dtype: the name of the dtype.

    Raises:
        TypeError: the dtype is neither floating-point nor complex.

    Example:
        >>> import numgrad
        >>> numgrad.finfo(numgrad.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None):
        dtype = get_default_dtype() if type is None else to_dtype(type)
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type, not {dtype}. Use torch.iinfo for integers."
            )
        real = real_of(dtype)
        limits: Any = LIMITS.get(real) or np.finfo(real.numpy)
        self.bits: int = limits.bits
        self.dtype = real.name
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(f"1e-{limits.precision}")

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        values = ", ".join(f"{name}={getattr(self, name):.6g}" for name in names)
        return f"finfo({values}, dtype={self.dtype})"


class iinfo(_Limits):  # noqa: N801 - PyTorch's name
    """Limits of an integer dtype.

    Attributes:
        bits: the number of bits.
        min, max: the smallest and the largest number.
        dtype: the name of the dtype.

    Raises:
        TypeError: the dtype is not an integer type.

    Example:
        >>> import numgrad
        >>> numgrad.iinfo(numgrad.int8).max
        127
    """

    def __init__(self, type: dtype):
        dtype = to_dtype(type)
        if dtype.kind == "b":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if dtype.kind != "i":
            raise TypeError(f"torch.iinfo() requires an integer input type, not {dtype}. Use torch.finfo instead.")
        limits = np.iinfo(dtype.numpy)
        self.bits: int = limits.bits
        self.dtype = dtype.name
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
