"""The functions and methods that the op table makes, for type checkers and editors.

Written by ``python tests/typed/signatures.py --write``.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.types import Size
from ..core.types import dtype as _dtype
from ..tensors.tensor import Tensor

_Operand = Tensor | _complex | np.ndarray | np.generic


class Methods:
    """What the table attaches to Tensor."""

    @property
    def H(self) -> Tensor: ...

    @property
    def T(self) -> Tensor: ...

    def __abs__(self, *, out: Tensor | None = ...) -> Tensor:
        """The absolute value."""

    def __add__(self, other: _Operand) -> Tensor:
        ...

    def __and__(self, other: _Operand) -> Tensor:
        ...

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Implement ``__array_function__`` as described at the top of this file."""

    def __array_namespace__(self, *, api_version: _str | None = ...) -> Any:
        """Return the namespace of the array API standard for tensors, ``numgrad.array_api``."""

    def __array_ufunc__(self, ufunc: Any, method: _str, *inputs: Any) -> Any:
        """Implement ``__array_ufunc__`` as described at the top of this file."""

    @property
    def __cuda_array_interface__(self) -> Any: ...

    def __delitem__(self, index: Any) -> None:
        """Raise TypeError, since tensors have a fixed size."""

    def __dlpack__(self, *, stream: Any = ..., max_version: tuple[_int, _int] | None = ..., dl_device: tuple[_int, _int] | None = ..., copy: _bool | None = ...) -> Any:
        """Return a DLPack capsule of the tensor's memory, for another library's ``from_dlpack``."""

    def __dlpack_device__(self) -> tuple[_int, _int]:
        """Return the device of the memory in DLPack's numbers: ``(1, 0)`` for the CPU, ``(2, index)`` for a GPU."""

    def __eq__(self, other: _Operand) -> Tensor:  # type: ignore[override]
        ...

    def __floordiv__(self, other: Any) -> Tensor:
        ...

    def __ge__(self, other: _Operand) -> Tensor:
        ...

    def __getitem__(self, index: Any) -> Tensor:
        """Return the indexed part: a view, or a new tensor if tensors, arrays or lists select elements."""

    def __gt__(self, other: _Operand) -> Tensor:
        ...

    def __invert__(self) -> Tensor:
        """Return ``~self``."""

    def __le__(self, other: _Operand) -> Tensor:
        ...

    def __lshift__(self, other: _Operand) -> Tensor:
        ...

    def __lt__(self, other: _Operand) -> Tensor:
        ...

    def __matmul__(self, other: Any) -> Tensor:
        ...

    def __mod__(self, other: Any) -> Tensor:
        ...

    def __mul__(self, other: _Operand) -> Tensor:
        ...

    def __ne__(self, other: _Operand) -> Tensor:  # type: ignore[override]
        ...

    def __neg__(self, *, out: Tensor | None = ...) -> Tensor:
        """``-input``."""

    def __or__(self, other: _Operand) -> Tensor:
        ...

    def __pos__(self) -> Tensor:
        """The tensor itself."""

    def __pow__(self, other: Any) -> Tensor:
        ...

    def __radd__(self, other: _Operand) -> Tensor:
        ...

    def __rand__(self, other: _Operand) -> Tensor:
        ...

    def __rdiv__(self, other: Any) -> Tensor:
        ...

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Return the data for pickle and copy: class, memory, layout, ``requires_grad`` and attributes."""

    def __reversed__(self) -> Tensor:
        ...

    def __rfloordiv__(self, other: Any) -> Tensor:
        ...

    def __rlshift__(self, other: Any) -> Tensor:
        ...

    def __rmatmul__(self, other: Any) -> Tensor:
        ...

    def __rmod__(self, other: Any) -> Tensor:
        ...

    def __rmul__(self, other: _Operand) -> Tensor:
        ...

    def __ror__(self, other: _Operand) -> Tensor:
        ...

    def __rpow__(self, other: Any) -> Tensor:
        ...

    def __rrshift__(self, other: Any) -> Tensor:
        ...

    def __rshift__(self, other: _Operand) -> Tensor:
        ...

    def __rsub__(self, other: _Operand) -> Tensor:
        ...

    def __rtruediv__(self, other: Any) -> Tensor:
        ...

    def __rxor__(self, other: _Operand) -> Tensor:
        ...

    def __setitem__(self, index: Any, value: Any) -> None:
        """Overwrite the indexed part with a number or a tensor that broadcasts to it."""

    def __sub__(self, other: _Operand) -> Tensor:
        ...

    def __truediv__(self, other: _Operand) -> Tensor:
        ...

    def __xor__(self, other: _Operand) -> Tensor:
        ...

    def _kept_copy(self, **keywords: Any) -> Tensor:
        """Return a copy of a tensor about to be overwritten, with its edge in the graph."""

    def _primal(self, **keywords: Any) -> Tensor:
        ...

    def abs(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The absolute value."""

    def abs_(self, **keywords: Any) -> Tensor:
        """Compute ``abs`` in place: overwrite the tensor and return it."""

    def absolute(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The absolute value."""

    def absolute_(self, **keywords: Any) -> Tensor:
        """Compute ``abs`` in place: overwrite the tensor and return it."""

    def acos(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from 0 to pi whose cosine is ``input``."""

    def acos_(self, **keywords: Any) -> Tensor:
        """Compute ``acos`` in place: overwrite the tensor and return it."""

    def acosh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the hyperbolic cosine: NaN below 1."""

    def acosh_(self, **keywords: Any) -> Tensor:
        """Compute ``acosh`` in place: overwrite the tensor and return it."""

    def add(self, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input + alpha * other``."""

    def add_(self, other: _Operand, *, alpha: _complex = ..., **keywords: Any) -> Tensor:
        """Compute ``add`` in place: overwrite the tensor and return it."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Any = ..., alpha: Any = ..., **keywords: Any) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2).sum(0)``; the input is expanded to (n, m)."""

    def addbmm_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``addbmm`` in place: overwrite the tensor and return it."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ..., **keywords: Any) -> Tensor:
        """``input + value * tensor1 / tensor2``."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ..., **keywords: Any) -> Tensor:
        """Compute ``addcdiv`` in place: overwrite the tensor and return it."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ..., **keywords: Any) -> Tensor:
        """``input + value * tensor1 * tensor2``; for integers, ``value`` is truncated."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float = ..., **keywords: Any) -> Tensor:
        """Compute ``addcmul`` in place: overwrite the tensor and return it."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = ..., alpha: Any = ..., **keywords: Any) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)`` of an (n, k) and a (k, m) matrix; the input is expanded to (n,
        m)."""

    def addmm_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``addmm`` in place: overwrite the tensor and return it."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Any = ..., alpha: Any = ..., **keywords: Any) -> Tensor:
        """``beta * input + alpha * (mat @ vec)`` of an (n, k) matrix and a vector of k; the input is expanded to
        (n)."""

    def addmv_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``addmv`` in place: overwrite the tensor and return it."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Any = ..., alpha: Any = ..., **keywords: Any) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``; the input is expanded to the outer product's shape."""

    def addr_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``addr`` in place: overwrite the tensor and return it."""

    def adjoint(self, **keywords: Any) -> Tensor:
        """Return the tensor with its last two dimensions exchanged and complex numbers conjugated."""

    def all(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """True if all elements are nonzero, over all or some dimensions: a bool tensor, or a uint8 one for
        uint8."""

    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., **keywords: Any) -> _bool:
        """True if all elements are close to each other, in the sense of :func:`isclose`."""

    def amax(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """The largest elements over all or some dimensions; the gradient is shared evenly among equal ones."""

    def amin(self, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """The smallest elements over all or some dimensions; the gradient is shared evenly among equal ones."""

    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The smallest and the largest elements, over all dimensions or one, as ``min`` and ``max``."""

    def angle(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle of a complex number in the plane, from -pi to pi; for a real one 0, or pi if it is negative."""

    def any(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """True if any element is nonzero, over all or some dimensions: a bool tensor, or a uint8 one for uint8."""

    def arccos(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from 0 to pi whose cosine is ``input``."""

    def arccos_(self, **keywords: Any) -> Tensor:
        """Compute ``acos`` in place: overwrite the tensor and return it."""

    def arccosh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the hyperbolic cosine: NaN below 1."""

    def arccosh_(self, **keywords: Any) -> Tensor:
        """Compute ``acosh`` in place: overwrite the tensor and return it."""

    def arcsin(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from -pi/2 to pi/2 whose sine is ``input``."""

    def arcsin_(self, **keywords: Any) -> Tensor:
        """Compute ``asin`` in place: overwrite the tensor and return it."""

    def arcsinh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the hyperbolic sine."""

    def arcsinh_(self, **keywords: Any) -> Tensor:
        """Compute ``asinh`` in place: overwrite the tensor and return it."""

    def arctan(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from -pi/2 to pi/2 whose tangent is ``input``."""

    def arctan2(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from -pi to pi of the point at x = ``other``, y = ``input``."""

    def arctan2_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``atan2`` in place: overwrite the tensor and return it."""

    def arctan_(self, **keywords: Any) -> Tensor:
        """Compute ``atan`` in place: overwrite the tensor and return it."""

    def arctanh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the hyperbolic tangent: infinite at -1 and 1."""

    def arctanh_(self, **keywords: Any) -> Tensor:
        """Compute ``atanh`` in place: overwrite the tensor and return it."""

    def argmax(self, dim: _int | None = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """The index of the largest element: in the flattened tensor, or along a dimension."""

    def argmin(self, dim: _int | None = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """The index of the smallest element: in the flattened tensor, or along a dimension."""

    def argsort(self, dim: _int = ..., descending: _bool = ..., *, stable: _bool = ..., **keywords: Any) -> Tensor:
        """The indices that would sort the tensor along a dimension; see :func:`sort`."""

    def argwhere(self, **keywords: Any) -> Tensor:
        """Return the indices of the nonzero elements, as a tensor of shape (count, dimensions)."""

    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = ..., **keywords: Any) -> Tensor:
        """Return a view of the input's storage in any sizes and strides; it may overlap itself."""

    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = ..., **keywords: Any) -> Tensor:
        """Show another part of the tensor's storage in place; see :func:`numgrad.as_strided`."""

    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ..., **keywords: Any) -> Tensor:
        """Return a copy of ``input`` with ``src`` written into its view ``as_strided(size, stride,
        storage_offset)``."""

    def asin(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from -pi/2 to pi/2 whose sine is ``input``."""

    def asin_(self, **keywords: Any) -> Tensor:
        """Compute ``asin`` in place: overwrite the tensor and return it."""

    def asinh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the hyperbolic sine."""

    def asinh_(self, **keywords: Any) -> Tensor:
        """Compute ``asinh`` in place: overwrite the tensor and return it."""

    def atan(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from -pi/2 to pi/2 whose tangent is ``input``."""

    def atan2(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The angle from -pi to pi of the point at x = ``other``, y = ``input``."""

    def atan2_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``atan2`` in place: overwrite the tensor and return it."""

    def atan_(self, **keywords: Any) -> Tensor:
        """Compute ``atan`` in place: overwrite the tensor and return it."""

    def atanh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the hyperbolic tangent: infinite at -1 and 1."""

    def atanh_(self, **keywords: Any) -> Tensor:
        """Compute ``atanh`` in place: overwrite the tensor and return it."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Any = ..., alpha: Any = ..., **keywords: Any) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2)`` of (b, n, k) and (b, k, m); the input is expanded to (b,
        n, m)."""

    def baddbmm_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``baddbmm`` in place: overwrite the tensor and return it."""

    def bernoulli(self, p: _float | None = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Ones, each with the probability given by the element of ``input`` (or by ``p``), and zeros, of its
        dtype."""

    def bernoulli_(self, p: Any = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with ones, each with probability ``p`` (a number or a tensor that broadcasts), and
        zeros."""

    def bfloat16(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.bfloat16."""

    def bincount(self, weights: Tensor | None = ..., minlength: _int = ..., **keywords: Any) -> Tensor:
        """The number of occurrences of each number from 0 in a vector of integers, or the sums of their weights."""

    def bitwise_and(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The bits set in both; logical and for bools."""

    def bitwise_and_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``bitwise_and`` in place: overwrite the tensor and return it."""

    def bitwise_left_shift(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The bits shifted left by ``other`` bits; 0 if ``other`` is negative or exceeds 63."""

    def bitwise_left_shift_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``bitwise_left_shift`` in place: overwrite the tensor and return it."""

    def bitwise_not(self, **keywords: Any) -> Tensor:
        """The inverted bits; logical not for bools."""

    def bitwise_not_(self, **keywords: Any) -> Tensor:
        """Compute ``bitwise_not`` in place: overwrite the tensor and return it."""

    def bitwise_or(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The bits set in either; logical or for bools."""

    def bitwise_or_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``bitwise_or`` in place: overwrite the tensor and return it."""

    def bitwise_right_shift(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The bits shifted right by ``other`` bits, with the sign kept; by 63 if ``other`` is negative or exceeds
        63."""

    def bitwise_right_shift_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``bitwise_right_shift`` in place: overwrite the tensor and return it."""

    def bitwise_xor(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The bits set in one but not both; exclusive or for bools."""

    def bitwise_xor_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``bitwise_xor`` in place: overwrite the tensor and return it."""

    def bmm(self, mat2: Tensor, **keywords: Any) -> Tensor:
        """The products of (b, n, k) and (b, k, m) matrices, of shape (b, n, m)."""

    def bool(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.bool."""

    def broadcast_to(self, *sizes: Any, size: Any = ..., **keywords: Any) -> Tensor:
        """Return the tensor expanded to a shape: ``expand``, with NumPy's name."""

    def byte(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.uint8."""

    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with random numbers from the Cauchy distribution around ``median`` of the width
        ``sigma``."""

    def cdouble(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.complex128."""

    def ceil(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The smallest integer not below the number."""

    def ceil_(self, **keywords: Any) -> Tensor:
        """Compute ``ceil`` in place: overwrite the tensor and return it."""

    def cfloat(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.complex64."""

    def char(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.int8."""

    def cholesky(self, upper: _bool = ..., **keywords: Any) -> Tensor:
        """The Cholesky factors of positive-definite matrices; see ``linalg.cholesky``."""

    def cholesky_inverse(self, upper: _bool = ..., **keywords: Any) -> Tensor:
        """The inverses of ``L @ L.mH`` for Cholesky factors ``L``, or of ``L.mH @ L`` if ``upper``."""

    def cholesky_solve(self, L: Tensor, upper: _bool = ..., **keywords: Any) -> Tensor:
        """The solutions ``X`` of ``L @ L.mH @ X = input`` for Cholesky factors ``L``, or of ``L.mH @ L @ X`` if
        ``upper``."""

    def chunk(self, chunks: _int, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return at most ``chunks`` pieces of one size; the last may be smaller."""

    def clamp(self, min: Any = ..., max: Any = ..., **keywords: Any) -> Tensor:
        """``input``, but at least ``min`` and at most ``max``: two numbers, two tensors, or one bound alone."""

    def clamp_(self, min: Any = ..., max: Any = ..., **keywords: Any) -> Tensor:
        """Compute ``clamp`` in place: overwrite the tensor and return it."""

    def clamp_max(self, max: Any, **keywords: Any) -> Tensor:
        """``input``, but at most ``max``, a number or a tensor."""

    def clamp_max_(self, max: Any, **keywords: Any) -> Tensor:
        """Compute ``clamp_max`` in place: overwrite the tensor and return it."""

    def clamp_min(self, min: Any, **keywords: Any) -> Tensor:
        """``input``, but at least ``min``, a number or a tensor."""

    def clamp_min_(self, min: Any, **keywords: Any) -> Tensor:
        """Compute ``clamp_min`` in place: overwrite the tensor and return it."""

    def clip(self, min: Any = ..., max: Any = ..., **keywords: Any) -> Tensor:
        """``input``, but at least ``min`` and at most ``max``: two numbers, two tensors, or one bound alone."""

    def clip_(self, min: Any = ..., max: Any = ..., **keywords: Any) -> Tensor:
        """Compute ``clamp`` in place: overwrite the tensor and return it."""

    def clone(self, *, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """A copy of the tensor, with the same memory order of dimensions, or in a format; gradients flow back to
        the original."""

    def conj(self, **keywords: Any) -> Tensor:
        """The complex conjugate; a real tensor or number is returned as it is."""

    def conj_physical(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The complex conjugate, as a new tensor."""

    def conj_physical_(self, **keywords: Any) -> Tensor:
        """Compute ``conj_physical`` in place: overwrite the tensor and return it."""

    def contiguous(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor itself if its elements are in row-major order, or in that of the format, else a copy in that
        order."""

    def copy_(self, src: Any, non_blocking: _bool = ..., **keywords: Any) -> Tensor:
        """Overwrite the tensor with ``src``, broadcast and converted, from any device."""

    def copysign(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The magnitude of ``input`` with the sign of ``other``, a tensor or a number."""

    def copysign_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``copysign`` in place: overwrite the tensor and return it."""

    def corrcoef(self, **keywords: Any) -> Tensor:
        """Pearson's correlations: the covariances divided by the two standard deviations, from -1 to 1."""

    def cos(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The cosine of an angle in radians."""

    def cos_(self, **keywords: Any) -> Tensor:
        """Compute ``cos`` in place: overwrite the tensor and return it."""

    def cosh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The hyperbolic cosine."""

    def cosh_(self, **keywords: Any) -> Tensor:
        """Compute ``cosh`` in place: overwrite the tensor and return it."""

    def count_nonzero(self, dim: _int | Sequence[_int] | None = ..., **keywords: Any) -> Tensor:
        """The number of nonzero elements, over all or some dimensions, as int64."""

    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The covariances of all pairs of variables: ``sum(w * (x - mean(x)) * conj(y - mean(y))) / divisor``."""

    def cpu(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor in the CPU's memory; itself if it is there already."""

    def cross(self, other: Tensor, dim: _int | None = ..., **keywords: Any) -> Tensor:
        """The cross product of vectors of three elements along a dimension, by default the first of size 3."""

    def cuda(self, device: Any = ..., non_blocking: _bool = ..., memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor in the memory of a GPU, by default the current one; itself if it is there already."""

    def cummax(self, dim: _int, **keywords: Any) -> tuple[Tensor, Tensor]:
        """The cumulative maxima along a dimension, and their indices: of equal ones the last."""

    def cummin(self, dim: _int, **keywords: Any) -> tuple[Tensor, Tensor]:
        """The cumulative minima along a dimension, and their indices: of equal ones the last."""

    def cumprod(self, dim: _int, *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The cumulative products along a dimension, computed in ``dtype``, int64 for integers."""

    def cumprod_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``cumprod`` in place: overwrite the tensor and return it."""

    def cumsum(self, dim: _int, *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The cumulative sums along a dimension, computed in ``dtype``, int64 for integers."""

    def cumsum_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``cumsum`` in place: overwrite the tensor and return it."""

    def deg2rad(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """An angle in degrees converted to radians."""

    def deg2rad_(self, **keywords: Any) -> Tensor:
        """Compute ``deg2rad`` in place: overwrite the tensor and return it."""

    def det(self, **keywords: Any) -> Tensor:
        """The determinants of square matrices; see ``linalg.det``."""

    def diag(self, diagonal: _int = ..., **keywords: Any) -> Tensor:
        """Return a matrix with a vector's elements on a diagonal; for a matrix, a copy of the diagonal."""

    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., **keywords: Any) -> Tensor:
        """Return matrices with the last dimension's elements on a diagonal and zeros elsewhere."""

    def diagflat(self, offset: _int = ..., **keywords: Any) -> Tensor:
        """Return a matrix with all elements of a tensor, flattened, on a diagonal."""

    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., **keywords: Any) -> Tensor:
        """Return the diagonals of the matrices in two dimensions, as a last dimension; a view."""

    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., **keywords: Any) -> Tensor:
        """Return a copy of ``input`` with ``src`` written into its diagonal."""

    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The ``n``-th differences of neighbours along a dimension; for bools, True where they differ."""

    def digamma(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The derivative of :func:`lgamma`: infinite at 0 and NaN at negative integers."""

    def digamma_(self, **keywords: Any) -> Tensor:
        """Compute ``digamma`` in place: overwrite the tensor and return it."""

    def dist(self, other: Tensor, p: _float = ..., **keywords: Any) -> Tensor:
        """The ``p``-norm of ``input - other``, whose shapes broadcast, as a 0-d tensor."""

    def div(self, other: Any, *, rounding_mode: _str | None = ..., out: Any = ..., **keywords: Any) -> Tensor:
        """``input / other``; with a ``rounding_mode`` the quotient rounded towards 0 ("trunc") or downwards
        ("floor")."""

    def div_(self, other: Any, *, rounding_mode: _str | None = ..., **keywords: Any) -> Tensor:
        """``div`` in place."""

    def divide(self, other: Any, *, rounding_mode: _str | None = ..., out: Any = ..., **keywords: Any) -> Tensor:
        """``input / other``; with a ``rounding_mode`` the quotient rounded towards 0 ("trunc") or downwards
        ("floor")."""

    def divide_(self, other: Any, *, rounding_mode: _str | None = ..., **keywords: Any) -> Tensor:
        """``div`` in place."""

    def dot(self, tensor: Tensor, **keywords: Any) -> Tensor:
        """The sum of the products of two vectors of equal length."""

    def double(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.float64."""

    def dsplit(self, indices_or_sections: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
        """Return equal pieces, or those between indices, along dimension 2."""

    def eq(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input == other``."""

    def eq_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``eq`` in place: write 1 or 0 in the tensor's own dtype."""

    def equal(self, other: Tensor, **keywords: Any) -> _bool:
        """True if two tensors have the same shape and equal elements; NaN equals nothing."""

    def erf(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0."""

    def erf_(self, **keywords: Any) -> Tensor:
        """Compute ``erf`` in place: overwrite the tensor and return it."""

    def erfc(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``1 - erf(input)``, accurate for large numbers."""

    def erfc_(self, **keywords: Any) -> Tensor:
        """Compute ``erfc`` in place: overwrite the tensor and return it."""

    def erfinv(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The inverse of the error function: infinite at -1 and 1, NaN beyond."""

    def erfinv_(self, **keywords: Any) -> Tensor:
        """Compute ``erfinv`` in place: overwrite the tensor and return it."""

    def exp(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """e to the power of the number."""

    def exp2(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """2 to the power of the number."""

    def exp2_(self, **keywords: Any) -> Tensor:
        """Compute ``exp2`` in place: overwrite the tensor and return it."""

    def exp_(self, **keywords: Any) -> Tensor:
        """Compute ``exp`` in place: overwrite the tensor and return it."""

    def expand(self, *sizes: Any, size: Any = ..., **keywords: Any) -> Tensor:
        """Return the tensor repeated along dimensions of size 1, or new ones in front, without copying; -1 keeps a
        size."""

    def expand_as(self, other: Tensor, **keywords: Any) -> Tensor:
        """Return the tensor expanded to the shape of ``other``."""

    def expm1(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``exp(input) - 1``, accurate near 0."""

    def expm1_(self, **keywords: Any) -> Tensor:
        """Compute ``expm1`` in place: overwrite the tensor and return it."""

    def exponential_(self, lambd: _float = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with random numbers from the exponential distribution ``lambd * exp(-lambd * x)``."""

    def fill_(self, value: Any, **keywords: Any) -> Tensor:
        """Overwrite every element with a number."""

    def fill_diagonal_(self, fill_value: Any, wrap: _bool = ..., **keywords: Any) -> Tensor:
        """Overwrite the main diagonal with a number; with ``wrap``, also those that continue below it in a tall
        matrix."""

    def fix(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The number without its fraction."""

    def fix_(self, **keywords: Any) -> Tensor:
        """Compute ``trunc`` in place: overwrite the tensor and return it."""

    def flatten(self, start_dim: _int = ..., end_dim: _int = ..., **keywords: Any) -> Tensor:
        """Return the tensor with the dimensions ``start_dim`` to ``end_dim`` merged; a vector for a 0-d tensor."""

    def flip(self, *order: Any, dims: Any = ..., **keywords: Any) -> Tensor:
        """Return a copy with the order of the indices of some dimensions reversed."""

    def fliplr(self, **keywords: Any) -> Tensor:
        """Return a copy with the columns (dimension 1) in reverse order."""

    def flipud(self, **keywords: Any) -> Tensor:
        """Return a copy with the rows (dimension 0) in reverse order."""

    def float(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.float32."""

    def float_power(self, exponent: Any, **keywords: Any) -> Tensor:
        """``input ** exponent`` computed in float64, or complex128; either may be a number."""

    def float_power_(self, exponent: Any, **keywords: Any) -> Tensor:
        """``float_power`` in place, of a float64 tensor."""

    def floor(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The largest integer not above the number."""

    def floor_(self, **keywords: Any) -> Tensor:
        """Compute ``floor`` in place: overwrite the tensor and return it."""

    def floor_divide(self, other: Any, **keywords: Any) -> Tensor:
        """The quotient rounded towards minus infinity; unlike ``div(rounding_mode="floor")``, it has no
        derivative."""

    def floor_divide_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``floor_quotient`` in place: overwrite the tensor and return it."""

    def fmax(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The larger of two numbers; NaN only if both are NaN."""

    def fmin(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The smaller of two numbers; NaN only if both are NaN."""

    def fmod(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The remainder of ``input / other``, with the sign of ``input`` as in C; ``other`` may be a number."""

    def fmod_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``fmod`` in place: overwrite the tensor and return it."""

    def frac(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The fraction of the number, with its sign."""

    def frac_(self, **keywords: Any) -> Tensor:
        """Compute ``frac`` in place: overwrite the tensor and return it."""

    def frexp(self, **keywords: Any) -> tuple[Tensor, Tensor]:
        """Return ``mantissa`` and ``exponent``, an int32 tensor, such that ``input == mantissa * 2**exponent``."""

    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., **keywords: Any) -> Tensor:
        """Return the elements at ``index`` along ``dim``: ``out[i, j] = input[i, index[i, j]]`` for ``dim=1``."""

    def gcd(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The greatest common divisor of two integers; not negative, and 0 if both are 0."""

    def gcd_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``gcd`` in place: overwrite the tensor and return it."""

    def ge(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input >= other``."""

    def ge_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``ge`` in place: write 1 or 0 in the tensor's own dtype."""

    def geometric_(self, p: _float, *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with random numbers of trials up to the first success, which has the probability
        ``p``."""

    def geqrf(self, **keywords: Any) -> tuple[Tensor, Tensor]:
        """The QR factors of matrices as LAPACK returns them: ``R`` above Householder vectors; see ``orgqr``."""

    def ger(self, vec2: Tensor, **keywords: Any) -> Tensor:
        """The outer product of two vectors."""

    def greater(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input > other``."""

    def greater_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``gt`` in place: write 1 or 0 in the tensor's own dtype."""

    def greater_equal(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input >= other``."""

    def greater_equal_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``ge`` in place: write 1 or 0 in the tensor's own dtype."""

    def gt(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input > other``."""

    def gt_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``gt`` in place: write 1 or 0 in the tensor's own dtype."""

    def half(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.float16."""

    def hardshrink(self, lambd: _float = ..., **keywords: Any) -> Tensor:
        """0 where the magnitude is at most ``lambd``, ``input`` elsewhere."""

    def heaviside(self, values: Tensor, **keywords: Any) -> Tensor:
        """0 where ``input`` is negative or NaN, ``values`` where it is 0, 1 where it is positive."""

    def heaviside_(self, values: Tensor, **keywords: Any) -> Tensor:
        """Compute ``heaviside`` in place: overwrite the tensor and return it."""

    def histc(self, bins: _int = ..., min: _float = ..., max: _float = ..., **keywords: Any) -> Tensor:
        """The number of elements in each of ``bins`` equally wide bins from ``min`` to ``max``."""

    def histogram(self, bins: _int | Tensor = ..., *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The number of elements in each bin, and the edges of the bins; the last bin includes its upper edge."""

    def hsplit(self, indices_or_sections: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
        """Return equal pieces, or those between indices, along the columns (of a vector, its elements)."""

    def hypot(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``sqrt(input**2 + other**2)`` without overflow."""

    def hypot_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``hypot`` in place: overwrite the tensor and return it."""

    def i0(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The modified Bessel function of the first kind of order 0."""

    def i0_(self, **keywords: Any) -> Tensor:
        """Compute ``i0`` in place: overwrite the tensor and return it."""

    def igamma(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The regularized lower incomplete gamma function: the distribution function of a gamma variable."""

    def igamma_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``igamma`` in place: overwrite the tensor and return it."""

    def igammac(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``, accurate where it is
        small."""

    def igammac_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``igammac`` in place: overwrite the tensor and return it."""

    @property
    def imag(self) -> Tensor: ...

    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ..., **keywords: Any) -> Tensor:
        """Return a copy with ``alpha * source`` added at the indices of one dimension."""

    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ..., **keywords: Any) -> Tensor:
        """Compute ``index_add`` in place: overwrite the tensor and return it."""

    def index_copy(self, dim: _int, index: Tensor, source: Tensor, **keywords: Any) -> Tensor:
        """Return a copy with ``source`` written at the indices of one dimension."""

    def index_copy_(self, dim: _int, index: Tensor, source: Tensor, **keywords: Any) -> Tensor:
        """Compute ``index_copy`` in place: overwrite the tensor and return it."""

    def index_fill(self, dim: _int, index: Tensor, value: Any, **keywords: Any) -> Tensor:
        """Return a copy with a number, or a 0-d tensor, at the indices of one dimension."""

    def index_fill_(self, dim: _int, index: Tensor, value: Any, **keywords: Any) -> Tensor:
        """Compute ``index_fill`` in place: overwrite the tensor and return it."""

    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ..., **keywords: Any) -> Tensor:
        """Return a copy with ``values`` written at the indices, as by ``x[indices] = values``."""

    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ..., **keywords: Any) -> Tensor:
        """Compute ``index_put`` in place: overwrite the tensor and return it."""

    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., **keywords: Any) -> Tensor:
        """Return a copy with the parts of ``source`` that share an index reduced to one."""

    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., **keywords: Any) -> Tensor:
        """Compute ``index_reduce`` in place: overwrite the tensor and return it."""

    def index_select(self, dim: _int, index: Tensor, **keywords: Any) -> Tensor:
        """Return a copy of the tensor's parts at the indices of one dimension, in the order of the indices."""

    def inner(self, other: Tensor, **keywords: Any) -> Tensor:
        """The sum of products over the last dimensions; if one tensor is 0-d, the elementwise product."""

    def int(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.int32."""

    def inverse(self, **keywords: Any) -> Tensor:
        """The inverses of square matrices; see ``linalg.inv``."""

    def is_conj(self, **keywords: Any) -> _bool:
        """False: conjugates are computed eagerly, not when they are read."""

    def is_neg(self, **keywords: Any) -> _bool:
        """False: negations are computed eagerly, not when they are read."""

    def is_nonzero(self, **keywords: Any) -> _bool:
        """Return True if the only element is not zero."""

    def is_pinned(self, device: Any = ..., **keywords: Any) -> _bool:
        """True if the tensor is in pinned host memory."""

    def is_same_size(self, other: Tensor, **keywords: Any) -> _bool:
        """Return True if two tensors have the same shape."""

    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., **keywords: Any) -> Tensor:
        """True where ``abs(input - other) <= atol + rtol * abs(other)``; NaN is close to NaN with ``equal_nan``."""

    def isfinite(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is neither infinite nor NaN."""

    def isinf(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is infinite."""

    def isnan(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is NaN."""

    def isneginf(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is minus infinity."""

    def isposinf(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is plus infinity."""

    def isreal(self, **keywords: Any) -> Tensor:
        """True for each element with an imaginary part of 0."""

    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ..., **keywords: Any) -> Tensor:
        """The signal, of shape (..., samples), whose ``stft`` with the same arguments is ``input``."""

    def kron(self, other: Tensor, **keywords: Any) -> Tensor:
        """The Kronecker product: blocks of the second tensor, scaled by each element of the first."""

    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The ``k``-th smallest element along a dimension (``k`` from 1), and its index."""

    def lcm(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The least common multiple of two integers; not negative, and 0 if one is 0."""

    def lcm_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``lcm`` in place: overwrite the tensor and return it."""

    def ldexp(self, other: Tensor, **keywords: Any) -> Tensor:
        """``input * 2**other``, computed in the dtype of the result."""

    def ldexp_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``ldexp`` in place: overwrite the tensor and return it."""

    def le(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input <= other``."""

    def le_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``le`` in place: write 1 or 0 in the tensor's own dtype."""

    def lerp(self, end: Tensor, weight: Any, **keywords: Any) -> Tensor:
        """``input + weight * (end - input)``; the weight is a number or a tensor."""

    def lerp_(self, end: Tensor, weight: Any, **keywords: Any) -> Tensor:
        """Compute ``lerp`` in place: overwrite the tensor and return it."""

    def less(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input < other``."""

    def less_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``lt`` in place: write 1 or 0 in the tensor's own dtype."""

    def less_equal(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input <= other``."""

    def less_equal_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``le`` in place: write 1 or 0 in the tensor's own dtype."""

    def lgamma(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The natural logarithm of the absolute value of the gamma function; infinite at 0 and at negative
        integers."""

    def lgamma_(self, **keywords: Any) -> Tensor:
        """Compute ``lgamma`` in place: overwrite the tensor and return it."""

    def log(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The natural logarithm."""

    def log10(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The logarithm to the base 10."""

    def log10_(self, **keywords: Any) -> Tensor:
        """Compute ``log10`` in place: overwrite the tensor and return it."""

    def log1p(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``log(1 + input)``, accurate near 0."""

    def log1p_(self, **keywords: Any) -> Tensor:
        """Compute ``log1p`` in place: overwrite the tensor and return it."""

    def log2(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The logarithm to the base 2."""

    def log2_(self, **keywords: Any) -> Tensor:
        """Compute ``log2`` in place: overwrite the tensor and return it."""

    def log_(self, **keywords: Any) -> Tensor:
        """Compute ``log`` in place: overwrite the tensor and return it."""

    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with the exponentials of normal random numbers with this mean and standard deviation."""

    def log_softmax(self, dim: _int, dtype: Any = ..., **keywords: Any) -> Tensor:
        """The logarithm of :func:`softmax`, computed stably: ``input - log(sum(exp(input)))``."""

    def logaddexp(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``log(exp(input) + exp(other))`` without overflow."""

    def logaddexp2(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``log2(2**input + 2**other)`` without overflow."""

    def logcumsumexp(self, dim: _int, **keywords: Any) -> Tensor:
        """The logarithms of the cumulative sums of the exponentials along a dimension."""

    def logdet(self, **keywords: Any) -> Tensor:
        """The logarithms of the determinants of square matrices; NaN for a negative determinant."""

    def logical_and(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if both numbers are nonzero."""

    def logical_and_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``logical_and`` in place: write 1 or 0 in the tensor's own dtype."""

    def logical_not(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is zero."""

    def logical_not_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``logical_not`` in place: write 1 or 0 in the tensor's own dtype."""

    def logical_or(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if at least one number is nonzero."""

    def logical_or_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``logical_or`` in place: write 1 or 0 in the tensor's own dtype."""

    def logical_xor(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if exactly one number is nonzero."""

    def logical_xor_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``logical_xor`` in place: write 1 or 0 in the tensor's own dtype."""

    def logit(self, eps: _float | None = ..., **keywords: Any) -> Tensor:
        """``log(input / (1 - input))``, the inverse of ``sigmoid``; ``eps`` first clamps ``input`` to [eps, 1 -
        eps]."""

    def logit_(self, eps: _float | None = ..., **keywords: Any) -> Tensor:
        """Compute ``logit`` in place: overwrite the tensor and return it."""

    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = ..., **keywords: Any) -> Tensor:
        """The logarithm of the sum of the exponentials over some dimensions, without overflow."""

    def long(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.int64."""

    def lt(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input < other``."""

    def lt_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``lt`` in place: write 1 or 0 in the tensor's own dtype."""

    def lu(self, pivot: _bool = ..., get_infos: _bool = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return the LU factors in one matrix and the pivots, as ``linalg.lu_factor_ex``, under PyTorch's older
        name."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, **keywords: Any) -> Tensor:
        """The solution of ``A @ X = b`` for the LU factors of ``A``; see ``linalg.lu_solve``."""

    @property
    def mH(self) -> Tensor: ...

    @property
    def mT(self) -> Tensor: ...

    def masked_fill(self, mask: Tensor, value: Any, **keywords: Any) -> Tensor:
        """Return a copy with ``value``, a number or a 0-d tensor, where ``mask`` is true; the two are broadcast."""

    def masked_fill_(self, mask: Tensor, value: Any, **keywords: Any) -> Tensor:
        """Compute ``masked_fill`` in place: overwrite the tensor and return it."""

    def masked_scatter(self, mask: Tensor, source: Tensor, **keywords: Any) -> Tensor:
        """Return a copy with the first elements of ``source`` where ``mask`` is true, in order."""

    def masked_scatter_(self, mask: Tensor, source: Tensor, **keywords: Any) -> Tensor:
        """Overwrite the tensor as :func:`masked_scatter` does and return it."""

    def masked_select(self, mask: Tensor, **keywords: Any) -> Tensor:
        """Return the elements where ``mask`` is true, as a vector; the two are broadcast."""

    def matmul(self, other: Tensor, **keywords: Any) -> Tensor:
        """The matrix product of vectors, matrices, and stacks of matrices that broadcast, by NumPy's rules."""

    def matrix_exp(self, **keywords: Any) -> Tensor:
        """The exponentials of square matrices; see ``linalg.matrix_exp``."""

    def matrix_power(self, n: _int, **keywords: Any) -> Tensor:
        """The ``n``-th power of a square matrix (or each of several), by repeated squaring; for 0 the identity
        matrix."""

    def max(self, dim: _int | Tensor | None = ..., keepdim: _bool = ..., *, other: Tensor | None = ..., **keywords: Any) -> Any:
        """The largest element; with ``dim`` the largest along it and their indices; of two tensors the larger
        elements."""

    def maximum(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The larger of two numbers; NaN if either is NaN."""

    def mean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The mean of all elements, or over some dimensions, computed in ``dtype``."""

    def median(self, dim: _int | None = ..., keepdim: _bool = ..., **keywords: Any) -> Any:
        """The median of all elements, or with ``dim`` the medians along it and their indices."""

    def min(self, dim: _int | Tensor | None = ..., keepdim: _bool = ..., *, other: Tensor | None = ..., **keywords: Any) -> Any:
        """The smallest element; with ``dim`` the smallest along it and their indices; of two tensors the smaller
        elements."""

    def minimum(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The smaller of two numbers; NaN if either is NaN."""

    def mm(self, mat2: Tensor, **keywords: Any) -> Tensor:
        """The product of an (n, k) and a (k, m) matrix, of shape (n, m)."""

    def mode(self, dim: _int = ..., keepdim: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The most frequent elements along a dimension, of several the smallest, and the indices where they occur
        last."""

    def moveaxis(self, source: Any, destination: Any, **keywords: Any) -> Tensor:
        """Return the tensor with dimensions moved to other positions."""

    def movedim(self, source: Any, destination: Any, **keywords: Any) -> Tensor:
        """Return the tensor with dimensions moved to other positions."""

    def msort(self, **keywords: Any) -> Tensor:
        """The elements in ascending order along the first dimension."""

    def mul(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input * other``."""

    def mul_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``mul`` in place: overwrite the tensor and return it."""

    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Indices drawn with probabilities proportional to the rows of ``input`` (1-D or 2-D), as int64."""

    def multiply(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input * other``."""

    def multiply_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``mul`` in place: overwrite the tensor and return it."""

    def mv(self, vec: Tensor, **keywords: Any) -> Tensor:
        """The product of an (n, k) matrix and a vector of k elements, of shape (n)."""

    def mvlgamma(self, p: _int, **keywords: Any) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension ``p``, up to its sign, of each
        element."""

    def mvlgamma_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``mvlgamma`` in place: overwrite the tensor and return it."""

    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., **keywords: Any) -> Tensor:
        """``input`` with ``nan`` (0 by default) instead of NaN; the infinities become by default the dtype's
        extremes."""

    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., **keywords: Any) -> Tensor:
        """Compute ``nan_to_num`` in place: overwrite the tensor and return it."""

    def nanmean(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The mean of the elements that are not NaN, over all or some dimensions."""

    def nanmedian(self, dim: _int | None = ..., keepdim: _bool = ..., **keywords: Any) -> Any:
        """The median of the elements that are not NaN; see :func:`median`."""

    def nanquantile(self, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., **keywords: Any) -> Tensor:
        """:func:`quantile` of the elements that are not NaN; NaN where all are."""

    def nansum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The sum of the elements that are not NaN, over all or some dimensions."""

    def narrow(self, dim: _int, start: Any, length: _int, **keywords: Any) -> Tensor:
        """Return the part of ``length`` indices of a dimension from ``start``, an int or a 0-d tensor of one."""

    def narrow_copy(self, dim: _int, start: Any, length: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """Return what ``narrow`` shows, as a contiguous copy instead of a view; gradients flow back."""

    def ndimension(self, **keywords: Any) -> _int:
        """Return the number of dimensions."""

    def ne(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input != other``."""

    def ne_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``ne`` in place: write 1 or 0 in the tensor's own dtype."""

    def neg(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``-input``."""

    def neg_(self, **keywords: Any) -> Tensor:
        """Compute ``neg`` in place: overwrite the tensor and return it."""

    def negative(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``-input``."""

    def negative_(self, **keywords: Any) -> Tensor:
        """Compute ``neg`` in place: overwrite the tensor and return it."""

    def new(self, *data: Any, device: Any = ..., **keywords: Any) -> Tensor:
        """``x.new(2, 3)`` with sizes, or ``x.new([1, 2])`` with data, in the dtype and on the device of ``x``; an
        older form of ``new_empty`` and ``new_tensor``."""

    def new_empty(self, *args: Any, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
        """``numgrad.empty`` in the dtype and on the device of this tensor, unless others are given."""

    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], *, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
        """``numgrad.empty_strided`` in the dtype and on the device of this tensor, unless others are given."""

    def new_full(self, *args: Any, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
        """``numgrad.full`` in the dtype and on the device of this tensor, unless others are given."""

    def new_ones(self, *args: Any, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
        """``numgrad.ones`` in the dtype and on the device of this tensor, unless others are given."""

    def new_tensor(self, data: Any, *, dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
        """``numgrad.tensor`` in the dtype and on the device of this tensor, unless others are given."""

    def new_zeros(self, *args: Any, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
        """``numgrad.zeros`` in the dtype and on the device of this tensor, unless others are given."""

    def nextafter(self, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The float next to ``input`` in the direction of ``other``; ``other`` if they are equal."""

    def nextafter_(self, other: Tensor, **keywords: Any) -> Tensor:
        """Compute ``nextafter`` in place: overwrite the tensor and return it."""

    def nonzero(self, *, as_tuple: _bool = ..., **keywords: Any) -> Any:
        """Return the indices of the nonzero elements, in row-major order."""

    def nonzero_static(self, *, size: _int, fill_value: _int = ..., **keywords: Any) -> Tensor:
        """Return the indices of the first ``size`` nonzero elements, of shape (size, dimensions)."""

    def norm(self, p: _float | _str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Any = ..., **keywords: Any) -> Tensor:
        """The norm of order ``p`` of all elements, or over some dimensions; "fro" and None stand for 2."""

    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with random numbers from the normal distribution with this mean and standard
        deviation."""

    def not_equal(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input != other``."""

    def not_equal_(self, *others: Any, **keywords: Any) -> Tensor:
        """Compute ``ne`` in place: write 1 or 0 in the tensor's own dtype."""

    def orgqr(self, tau: Tensor, **keywords: Any) -> Tensor:
        """The first columns of products of Householder matrices; see ``linalg.householder_product``."""

    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ..., **keywords: Any) -> Tensor:
        """The product of ``other`` and the square orthogonal matrix that ``input`` and ``tau`` describe; see
        ``orgqr``."""

    def outer(self, vec2: Tensor, **keywords: Any) -> Tensor:
        """The outer product of two vectors."""

    def permute(self, *order: Any, dims: Any = ..., **keywords: Any) -> Tensor:
        """Return the tensor with its dimensions in another order."""

    def pin_memory(self, device: Any = ..., **keywords: Any) -> Tensor:
        """The tensor in pinned host memory, from which GPUs copy asynchronously; itself if it is there already."""

    def pinverse(self, rcond: _float = ..., **keywords: Any) -> Tensor:
        """The pseudoinverses of matrices; see ``linalg.pinv``."""

    def polygamma(self, n: _int, **keywords: Any) -> Tensor:
        """Return the ``n``-th derivative of :func:`digamma`; see :func:`polygamma`."""

    def polygamma_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``polygamma`` in place: overwrite the tensor and return it."""

    def positive(self, **keywords: Any) -> Tensor:
        """The tensor itself."""

    def pow(self, exponent: Any, *, out: Any = ..., **keywords: Any) -> Tensor:
        """``input ** exponent``; either may be a number."""

    def pow_(self, exponent: Any, **keywords: Any) -> Tensor:
        """``pow`` in place."""

    def prelu(self, weight: Tensor, **keywords: Any) -> Tensor:
        """:func:`leaky_relu` with a learnt slope: one for all elements, or one for each index of dimension 1."""

    def prod(self, dim: _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The product of all elements, or along a dimension, computed in ``dtype``."""

    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ..., **keywords: Any) -> Tensor:
        """Return a copy with the elements of ``source`` written or added at the indices of the flattened tensor."""

    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ..., **keywords: Any) -> Tensor:
        """Compute ``put`` in place: overwrite the tensor and return it."""

    def qr(self, some: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The QR factors of matrices; see ``linalg.qr``, whose mode is "reduced" for ``some``, and else
        "complete"."""

    def quantile(self, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., **keywords: Any) -> Tensor:
        """The ``q``-quantiles along a dimension; NaN where there is a NaN."""

    def rad2deg(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """An angle in radians converted to degrees."""

    def rad2deg_(self, **keywords: Any) -> Tensor:
        """Compute ``rad2deg`` in place: overwrite the tensor and return it."""

    def random_(self, *args: Any, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with random integers from [from, to), by default all from 0 that its dtype can hold."""

    def ravel(self, **keywords: Any) -> Tensor:
        """Return all elements as a vector: on the same memory if they lie in row-major order, otherwise copied."""

    @property
    def real(self) -> Tensor: ...

    def reciprocal(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``1 / input``."""

    def reciprocal_(self, **keywords: Any) -> Tensor:
        """Compute ``reciprocal`` in place: overwrite the tensor and return it."""

    def record_stream(self, stream: Any, **keywords: Any) -> None:
        """Note that a stream other than the one on which the tensor was made uses its memory."""

    def relu(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``max(input, 0)``; NaN stays NaN."""

    def relu_(self, **keywords: Any) -> Tensor:
        """Compute ``relu`` in place: overwrite the tensor and return it."""

    def remainder(self, other: Any, **keywords: Any) -> Tensor:
        """The remainder of ``input / other``, with the sign of ``other``, as for Python's ``%``; either may be a
        number."""

    def remainder_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``remainder`` in place: overwrite the tensor and return it."""

    def renorm(self, p: _float, dim: _int, maxnorm: _float, **keywords: Any) -> Tensor:
        """Scale each part ``input.select(dim, index)`` whose ``p``-norm exceeds ``maxnorm`` down to that norm."""

    def renorm_(self, *args: Any, **keywords: Any) -> Tensor:
        """Compute ``renorm`` in place: overwrite the tensor and return it."""

    def repeat(self, *counts: Any, repeats: Any = ..., **keywords: Any) -> Tensor:
        """Return copies of the tensor side by side, a number of them along each dimension."""

    def repeat_interleave(self, repeats: Any = ..., dim: _int | None = ..., *, output_size: Any = ..., **keywords: Any) -> Tensor:
        """Return the tensor with each index of a dimension repeated, all equally often or by a tensor of counts."""

    def reshape(self, *sizes: Any, shape: Any = ..., **keywords: Any) -> Tensor:
        """Return the elements in another shape: on the same memory if possible, otherwise copied."""

    def reshape_as(self, other: Tensor, **keywords: Any) -> Tensor:
        """Return the elements in the shape of ``other``."""

    def resize_(self, *sizes: Any, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """Give the tensor another shape; its elements start at the present offset of its memory."""

    def resize_as_(self, the_template: Tensor, *, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """Give the tensor the shape of another one, as ``resize_`` does."""

    def resolve_conj(self, **keywords: Any) -> Tensor:
        """The tensor itself: conjugates are computed eagerly, not when they are read."""

    def resolve_neg(self, **keywords: Any) -> Tensor:
        """The tensor itself: negations are computed eagerly, not when they are read."""

    def roll(self, shifts: Any, dims: Any = ..., **keywords: Any) -> Tensor:
        """Return the tensor with its elements shifted along ``dims``; elements beyond the end return to the
        front."""

    def rot90(self, k: _int = ..., dims: Any = ..., **keywords: Any) -> Tensor:
        """Return a copy rotated by 90 degrees, ``k`` times, from the first of two dimensions towards the second."""

    def round(self, *, decimals: _int = ..., **keywords: Any) -> Tensor:
        """The number rounded to ``decimals`` places (negative: to that many zeros); halves go to the even
        neighbour."""

    def round_(self, *, decimals: _int = ..., **keywords: Any) -> Tensor:
        """Compute ``round`` in place: overwrite the tensor and return it."""

    def rsqrt(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``1 / sqrt(input)``: infinite at 0."""

    def rsqrt_(self, **keywords: Any) -> Tensor:
        """Compute ``rsqrt`` in place: overwrite the tensor and return it."""

    def rsub(self, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``other - alpha * input``."""

    def scatter(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: _str | None = ..., **keywords: Any) -> Tensor:
        """Return a copy with ``src`` written at ``index``: ``out[i, index[i, j]] = src[i, j]`` for ``dim=1``."""

    def scatter_(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: _str | None = ..., **keywords: Any) -> Tensor:
        """Compute ``scatter`` in place: overwrite the tensor and return it."""

    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, **keywords: Any) -> Tensor:
        """Return a copy with ``src`` added at ``index``: ``out[i, index[i, j]] += src[i, j]`` for ``dim=1``."""

    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor, **keywords: Any) -> Tensor:
        """Compute ``scatter_add`` in place: overwrite the tensor and return it."""

    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., **keywords: Any) -> Tensor:
        """Return a copy in which the elements of ``src`` with the same index are reduced to one element."""

    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., **keywords: Any) -> Tensor:
        """Compute ``scatter_reduce`` in place: overwrite the tensor and return it."""

    def select(self, dim: _int, index: _int, **keywords: Any) -> Tensor:
        """Return the part of the tensor at one index of a dimension, which is removed."""

    def select_scatter(self, src: Tensor, dim: _int, index: _int, **keywords: Any) -> Tensor:
        """Return a copy of ``input`` with ``src`` written at one index of a dimension."""

    def set_(self, source: Tensor | None = ..., storage_offset: _int = ..., size: Any = ..., stride: Any = ..., **keywords: Any) -> Tensor:
        """Give the tensor the memory of another one: all of it in the same layout, or, with a ``size``, a part."""

    def sgn(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The sign of a real number: -1, 0 or 1; a complex number divided by its magnitude."""

    def sgn_(self, **keywords: Any) -> Tensor:
        """Compute ``sgn`` in place: overwrite the tensor and return it."""

    def short(self, memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor as torch.int16."""

    def sigmoid(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``1 / (1 + exp(-input))``."""

    def sigmoid_(self, **keywords: Any) -> Tensor:
        """Compute ``sigmoid`` in place: overwrite the tensor and return it."""

    def sign(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """-1, 0 or 1: the sign of the number."""

    def sign_(self, **keywords: Any) -> Tensor:
        """Compute ``sign`` in place: overwrite the tensor and return it."""

    def signbit(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """True if the number is negative, or a zero or NaN with a minus sign."""

    def sin(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The sine of an angle in radians."""

    def sin_(self, **keywords: Any) -> Tensor:
        """Compute ``sin`` in place: overwrite the tensor and return it."""

    def sinc(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``sin(pi * input) / (pi * input)``, and 1 at 0."""

    def sinc_(self, **keywords: Any) -> Tensor:
        """Compute ``sinc`` in place: overwrite the tensor and return it."""

    def sinh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The hyperbolic sine."""

    def sinh_(self, **keywords: Any) -> Tensor:
        """Compute ``sinh`` in place: overwrite the tensor and return it."""

    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., **keywords: Any) -> Tensor:
        """Return a copy of ``input`` with ``src`` written into a slice of dimension ``dim``."""

    def slogdet(self, **keywords: Any) -> tuple[Tensor, Tensor]:
        """The signs of determinants, and the logarithms of their absolute values; see ``linalg.slogdet``."""

    def softmax(self, dim: _int, dtype: Any = ..., **keywords: Any) -> Tensor:
        """``exp(input)`` divided by its sum along ``dim``."""

    def sort(self, dim: _int = ..., descending: _bool = ..., *, stable: _bool | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The elements in ascending or descending order along a dimension, and their original indices."""

    def split(self, split_size: Any, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return pieces of one size, or of the given sizes: see ``numgrad.split``."""

    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return pieces of the given sizes."""

    def sqrt(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The square root."""

    def sqrt_(self, **keywords: Any) -> Tensor:
        """Compute ``sqrt`` in place: overwrite the tensor and return it."""

    def square(self, **keywords: Any) -> Tensor:
        """``input ** 2``."""

    def square_(self, **keywords: Any) -> Tensor:
        """Compute ``square`` in place: overwrite the tensor and return it."""

    def squeeze(self, dim: _int | Sequence[_int] | None = ..., **keywords: Any) -> Tensor:
        """Return the tensor without its dimensions of size 1, or without those of ``dim`` that have size 1."""

    def squeeze_(self, dim: _int | Sequence[_int] | None = ..., **keywords: Any) -> Tensor:
        """Remove the dimensions of size 1 in place, or those of ``dim`` that have size 1."""

    def std(self, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., **keywords: Any) -> Tensor:
        """The standard deviation over all or some dimensions: the square root of :func:`var`."""

    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., **keywords: Any) -> Tensor:
        """The Fourier transforms of the frames of a signal, of shape (..., frequencies, frames)."""

    def sub(self, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input - alpha * other``."""

    def sub_(self, other: _Operand, *, alpha: _complex = ..., **keywords: Any) -> Tensor:
        """Compute ``sub`` in place: overwrite the tensor and return it."""

    def subtract(self, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input - alpha * other``."""

    def subtract_(self, other: _Operand, *, alpha: _complex = ..., **keywords: Any) -> Tensor:
        """Compute ``sub`` in place: overwrite the tensor and return it."""

    def sum(self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """The sum of all elements, or over some dimensions, computed in ``dtype``."""

    def sum_to_size(self, *size: Any, **keywords: Any) -> Tensor:
        """Return the sum over the dimensions that broadcasting a tensor of this size to the input's shape
        repeats."""

    def svd(self, some: _bool = ..., compute_uv: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The singular vectors and values of matrices: ``input = U @ diag(S) @ V.mH``; see ``linalg.svd``."""

    def swapaxes(self, axis0: _int, axis1: _int, **keywords: Any) -> Tensor:
        """Return the tensor with two dimensions exchanged: NumPy's name of ``transpose``."""

    def swapaxes_(self, dim0: _int, dim1: _int, **keywords: Any) -> Tensor:
        """Exchange two dimensions in place."""

    def swapdims(self, dim0: _int, dim1: _int, **keywords: Any) -> Tensor:
        """Return the tensor with two dimensions exchanged: another name of ``transpose``."""

    def swapdims_(self, dim0: _int, dim1: _int, **keywords: Any) -> Tensor:
        """Exchange two dimensions in place."""

    def t(self, **keywords: Any) -> Tensor:
        """Return the transpose of a matrix; a tensor of fewer dimensions as it is."""

    def t_(self, **keywords: Any) -> Tensor:
        """Exchange the two dimensions of a matrix in place; leave a tensor of fewer dimensions as it is."""

    def take(self, index: Tensor, **keywords: Any) -> Tensor:
        """Return the elements at the indices, of any shape, of the flattened tensor."""

    def take_along_dim(self, indices: Tensor, dim: _int | None = ..., **keywords: Any) -> Tensor:
        """Return the elements at ``indices`` along ``dim``."""

    def tan(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The tangent of an angle in radians."""

    def tan_(self, **keywords: Any) -> Tensor:
        """Compute ``tan`` in place: overwrite the tensor and return it."""

    def tanh(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The hyperbolic tangent."""

    def tanh_(self, **keywords: Any) -> Tensor:
        """Compute ``tanh`` in place: overwrite the tensor and return it."""

    def tensor_split(self, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return a given number of nearly equal pieces, or the pieces between given indices."""

    def tile(self, *counts: Any, dims: Any = ..., **keywords: Any) -> Tensor:
        """Return copies as ``repeat`` does; as in NumPy, leading numbers may be omitted."""

    def to(self, *args: Any, dtype: Any = ..., device: Any = ..., non_blocking: _bool = ..., copy: _bool = ..., memory_format: Any = ..., **keywords: Any) -> Tensor:
        """The tensor with another dtype, device (direct or that of another tensor) or memory format; itself if
        nothing changes."""

    def to_device(self, device: Any, *, stream: Any = ..., **keywords: Any) -> Tensor:
        """Return the tensor on a device, as :meth:`to`; the name of the array API standard."""

    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The ``k`` largest (or smallest) elements along a dimension, in order, and their indices."""

    def trace(self, **keywords: Any) -> Tensor:
        """Return the sum of a matrix's diagonal; as int64 for integers."""

    def transpose(self, dim0: _int, dim1: _int, **keywords: Any) -> Tensor:
        """Return the tensor with two dimensions exchanged."""

    def transpose_(self, dim0: _int, dim1: _int, **keywords: Any) -> Tensor:
        """Exchange two dimensions in place."""

    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
        """The solution of ``A @ X = b`` for triangular matrices, and a copy of ``A``; see
        ``linalg.solve_triangular``."""

    def tril(self, diagonal: _int = ..., **keywords: Any) -> Tensor:
        """Return matrices with zeros above a diagonal, counted from the main one to the right."""

    def tril_(self, diagonal: _int = ..., **keywords: Any) -> Tensor:
        """Compute ``tril`` in place: overwrite the tensor and return it."""

    def triu(self, diagonal: _int = ..., **keywords: Any) -> Tensor:
        """Return matrices with zeros below a diagonal, counted from the main one to the right."""

    def triu_(self, diagonal: _int = ..., **keywords: Any) -> Tensor:
        """Compute ``triu`` in place: overwrite the tensor and return it."""

    def true_divide(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input / other``, the true quotient for integers, too."""

    def true_divide_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``div`` in place: overwrite the tensor and return it."""

    def trunc(self, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """The number without its fraction."""

    def trunc_(self, **keywords: Any) -> Tensor:
        """Compute ``trunc`` in place: overwrite the tensor and return it."""

    def type(self, dtype: Any = ..., non_blocking: _bool = ..., **keywords: Any) -> Any:
        """The name of the tensor's type, or the tensor converted to a dtype or to a type such as
        "torch.cuda.FloatTensor"."""

    def type_as(self, other: Tensor, **keywords: Any) -> Tensor:
        """The tensor with the dtype and device of ``other``; itself if it has these."""

    def unbind(self, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return the parts of the tensor at every index of a dimension."""

    def unflatten(self, dim: _int, sizes: Sequence[_int], **keywords: Any) -> Tensor:
        """Return the tensor with one dimension split into several of the given sizes, one of which may be -1."""

    def unfold(self, dimension: _int, size: _int, step: _int, **keywords: Any) -> Tensor:
        """Return the windows of ``size`` indices of a dimension, ``step`` apart, as a last dimension; a view."""

    def uniform_(self, *args: Any, generator: Any = ..., **keywords: Any) -> Tensor:
        """Fill the tensor with random numbers from the uniform distribution on [from, to), by default [0, 1)."""

    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ..., **keywords: Any) -> Any:
        """The distinct elements, or slices along ``dim``, in ascending order."""

    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ..., **keywords: Any) -> Any:
        """The elements, or slices along ``dim``, that differ from the preceding one; see :func:`unique`."""

    def unsafe_chunk(self, chunks: _int, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return pieces as ``chunk`` does; autograd treats them as copies."""

    def unsafe_split(self, split_size: _int, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return pieces as ``split`` does; autograd treats them as copies and misses their in-place changes."""

    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
        """Return pieces as ``split_with_sizes`` does; autograd treats them as copies."""

    def unsqueeze(self, dim: _int, **keywords: Any) -> Tensor:
        """Return the tensor with a new dimension of size 1 at ``dim``."""

    def unsqueeze_(self, dim: _int, **keywords: Any) -> Tensor:
        """Insert a dimension of size 1 at ``dim`` in place."""

    def var(self, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., **keywords: Any) -> Tensor:
        """The variance over all or some dimensions: the mean squared distance from the mean."""

    def vdot(self, other: Tensor, **keywords: Any) -> Tensor:
        """``dot`` with the first vector conjugated."""

    def view(self, *shape: Any, size: Any = ..., dtype: _dtype | None = ..., **keywords: Any) -> Tensor:
        """Return the same memory in another shape, of which one size may be -1, or as elements of another dtype."""

    def view_as(self, other: Tensor, **keywords: Any) -> Tensor:
        """Return the elements in the shape of ``other``, on the same memory."""

    def vsplit(self, indices_or_sections: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
        """Return equal pieces, or those between indices, along the rows."""

    def where(self, condition: Tensor, other: Any, **keywords: Any) -> Tensor:
        """Return this tensor's elements where ``condition`` is true, ``other``'s elsewhere."""

    def xlogy(self, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
        """``input * log(other)``; either may be a number; 0 where ``input`` is 0 and ``other`` is not NaN."""

    def xlogy_(self, other: _Operand, **keywords: Any) -> Tensor:
        """Compute ``xlogy`` in place: overwrite the tensor and return it."""

    def zero_(self, **keywords: Any) -> Tensor:
        """Overwrite every element with zero."""


BFloat16Tensor: Any


BoolTensor: Any


ByteTensor: Any


CharTensor: Any


DoubleTensor: Any


FloatTensor: Any


HalfTensor: Any


IntTensor: Any


LongTensor: Any


ShortTensor: Any


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor, **keywords: Any) -> Tensor:
    """Derivatives of components ``x`` of Dirichlet vectors by their concentrations ``alpha``, divided by ``1 -
    x``."""


def _sample_dirichlet(input: Tensor, generator: Any = ..., **keywords: Any) -> Tensor:
    """Random vectors from Dirichlet distributions, whose concentrations are the last dimension of ``input``."""


def _standard_gamma(input: Tensor, generator: Any = ..., **keywords: Any) -> Tensor:
    """Random numbers from gamma distributions with rate 1, whose shapes are the elements of ``input``, above
    0."""


def _standard_gamma_grad(self: Tensor, output: Tensor, **keywords: Any) -> Tensor:
    """Derivatives of gamma numbers ``output`` by their shapes ``self``."""


def abs(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The absolute value."""


def abs_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``abs`` in place: overwrite the tensor and return it."""


def absolute(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The absolute value."""


def acos(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from 0 to pi whose cosine is ``input``."""


def acos_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``acos`` in place: overwrite the tensor and return it."""


def acosh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the hyperbolic cosine: NaN below 1."""


def acosh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``acosh`` in place: overwrite the tensor and return it."""


def adaptive_avg_pool1d(input: Tensor, output_size: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The means of so many windows of images of 1 dimensions that the output has a given size."""


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of so many windows of images of 1 dimensions that the output has a given size."""


def add(input: Tensor, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input + alpha * other``."""


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = ..., alpha: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``; the input is expanded to (n, m)."""


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input + value * tensor1 / tensor2``."""


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input + value * tensor1 * tensor2``; for integers, ``value`` is truncated."""


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = ..., alpha: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of an (n, k) and a (k, m) matrix; the input is expanded to (n,
    m)."""


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = ..., alpha: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` of an (n, k) matrix and a vector of k; the input is expanded to
    (n)."""


def addmv_(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """Compute ``addmv`` in place: overwrite the tensor and return it."""


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = ..., alpha: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; the input is expanded to the outer product's shape."""


def adjoint(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with its last two dimensions exchanged and complex numbers conjugated."""


def alias_copy(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``alias`` shows, as a contiguous copy instead of a view; gradients flow back."""


def all(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if all elements are nonzero, over all or some dimensions: a bool tensor, or a uint8 one for
    uint8."""


def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., **keywords: Any) -> _bool:
    """True if all elements are close to each other, in the sense of :func:`isclose`."""


def alpha_dropout(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """Dropout for self-normalizing networks: dropped elements become the activation's limit, not 0."""


def alpha_dropout_(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """:func:`alpha_dropout` in place."""


def amax(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The largest elements over all or some dimensions; the gradient is shared evenly among equal ones."""


def amin(input: Tensor, dim: _int | Sequence[_int] = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The smallest elements over all or some dimensions; the gradient is shared evenly among equal ones."""


def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The smallest and the largest elements, over all dimensions or one, as ``min`` and ``max``."""


def angle(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle of a complex number in the plane, from -pi to pi; for a real one 0, or pi if it is negative."""


def any(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if any element is nonzero, over all or some dimensions: a bool tensor, or a uint8 one for uint8."""


def arange(start: Any = ..., end: Any = ..., step: Any = ..., *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Numbers from ``start`` to ``end``, which is excluded, ``step`` apart; int64 if all three are ints."""


def arccos(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from 0 to pi whose cosine is ``input``."""


def arccos_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``acos`` in place: overwrite the tensor and return it."""


def arccosh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the hyperbolic cosine: NaN below 1."""


def arccosh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``acosh`` in place: overwrite the tensor and return it."""


def arcsin(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from -pi/2 to pi/2 whose sine is ``input``."""


def arcsin_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``asin`` in place: overwrite the tensor and return it."""


def arcsinh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the hyperbolic sine."""


def arcsinh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``asinh`` in place: overwrite the tensor and return it."""


def arctan(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from -pi/2 to pi/2 whose tangent is ``input``."""


def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from -pi to pi of the point at x = ``other``, y = ``input``."""


def arctan_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``atan`` in place: overwrite the tensor and return it."""


def arctanh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the hyperbolic tangent: infinite at -1 and 1."""


def arctanh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``atanh`` in place: overwrite the tensor and return it."""


def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The index of the largest element: in the flattened tensor, or along a dimension."""


def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The index of the smallest element: in the flattened tensor, or along a dimension."""


def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., *, stable: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The indices that would sort the tensor along a dimension; see :func:`sort`."""


def argwhere(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the indices of the nonzero elements, as a tensor of shape (count, dimensions)."""


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a view of the input's storage in any sizes and strides; it may overlap itself."""


def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ..., **keywords: Any) -> Tensor:
    """Show another part of the tensor's storage in place; see :func:`numgrad.as_strided`."""


def as_strided_copy(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``as_strided`` shows, as a contiguous copy instead of a view; gradients flow back."""


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy of ``input`` with ``src`` written into its view ``as_strided(size, stride,
    storage_offset)``."""


def as_tensor(data: Any, dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., **keywords: Any) -> Tensor:
    """``data`` as a tensor: a tensor itself, an array on its own memory, anything else copied."""


def asin(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from -pi/2 to pi/2 whose sine is ``input``."""


def asin_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``asin`` in place: overwrite the tensor and return it."""


def asinh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the hyperbolic sine."""


def asinh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``asinh`` in place: overwrite the tensor and return it."""


def atan(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from -pi/2 to pi/2 whose tangent is ``input``."""


def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The angle from -pi to pi of the point at x = ``other``, y = ``input``."""


def atan_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``atan`` in place: overwrite the tensor and return it."""


def atanh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the hyperbolic tangent: infinite at -1 and 1."""


def atanh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``atanh`` in place: overwrite the tensor and return it."""


def atleast_1d(*tensors: Any, **keywords: Any) -> Any:
    """Return the tensor with at least one dimension; a tuple for several tensors, also given as a sequence."""


def atleast_2d(*tensors: Any, **keywords: Any) -> Any:
    """Return the tensor with at least two dimensions, new ones in front; a tuple for several tensors."""


def atleast_3d(*tensors: Any, **keywords: Any) -> Any:
    """Return the tensor with at least three dimensions: (1, n, 1) for a vector, (n, m, 1) for a matrix."""


def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The means of the windows of images of 1 dimensions."""


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = ..., alpha: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)`` of (b, n, k) and (b, k, m); the input is expanded to (b,
    n, m)."""


def bartlett_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """``1 - abs(2 * n / last - 1)``, a triangle; see :func:`hann_window`."""


def bernoulli(input: Tensor, p: _float | None = ..., *, generator: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Ones, each with the probability given by the element of ``input`` (or by ``p``), and zeros, of its
    dtype."""


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``out[..., k] = sum over i, j of input1[..., i] * weight[k, i, j] * input2[..., j] + bias[k]``."""


def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The number of occurrences of each number from 0 in a vector of integers, or the sums of their weights."""


def binomial(count: Tensor, prob: Tensor, generator: Any = ..., **keywords: Any) -> Tensor:
    """Random numbers from binomial distributions: successes among ``count`` trials, each with probability
    ``prob``."""


def bitwise_and(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The bits set in both; logical and for bools."""


def bitwise_left_shift(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The bits shifted left by ``other`` bits; 0 if ``other`` is negative or exceeds 63."""


def bitwise_not(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverted bits; logical not for bools."""


def bitwise_or(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The bits set in either; logical or for bools."""


def bitwise_right_shift(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The bits shifted right by ``other`` bits, with the sign kept; by 63 if ``other`` is negative or exceeds
    63."""


def bitwise_xor(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The bits set in one but not both; exclusive or for bools."""


def blackman_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """``0.42 - 0.5 * cos(2 * pi * n / last) + 0.08 * cos(4 * pi * n / last)``; see :func:`hann_window`."""


def block_diag(*tensors: Any, **keywords: Any) -> Tensor:
    """Return a matrix with the given matrices along its diagonal and zeros elsewhere."""


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The products of (b, n, k) and (b, k, m) matrices, of shape (b, n, m)."""


def broadcast_shapes(*shapes: Any, **keywords: Any) -> Size:
    """Return the shape that tensors of these shapes broadcast to; an int stands for one dimension."""


def broadcast_tensors(*tensors: Tensor | Sequence[Tensor], **keywords: Any) -> tuple[Tensor, ...]:
    """Return the tensors, given one by one or as one sequence, expanded to their common shape."""


def broadcast_to(input: Tensor, *sizes: Any, size: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor expanded to a shape: ``expand``, with NumPy's name."""


def bucketize(input: Any, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The index at which each value belongs in a sorted vector of boundaries; see :func:`searchsorted`."""


def can_cast(from_: _dtype, to: _dtype, **keywords: Any) -> _bool:
    """Return True if type promotion may store numbers of one dtype in another."""


def cartesian_prod(*tensors: Any, **keywords: Any) -> Tensor:
    """Return rows of all combinations of one element of each vector; for a single vector, the vector itself."""


def cat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Any = ..., axis: _int | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along an existing dimension, in the dtype that all can be converted to."""


def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: _str | None = ..., **keywords: Any) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``x1`` (..., P, M) from all rows of ``x2`` (..., R,
    M)."""


def ceil(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The smallest integer not below the number."""


def ceil_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``ceil`` in place: overwrite the tensor and return it."""


def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ..., **keywords: Any) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""


def celu_(input: Tensor, alpha: _float = ..., **keywords: Any) -> Tensor:
    """Compute ``celu`` in place: overwrite the tensor and return it."""


def chain_matmul(*matrices: Tensor, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The product of several matrices, in the cheapest order of multiplication."""


def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return images with channels taken from all groups of channels in turn (Zhang et al. 2018)."""


def cholesky(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The Cholesky factors of positive-definite matrices; see ``linalg.cholesky``."""


def cholesky_inverse(L: Tensor, upper: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverses of ``L @ L.mH`` for Cholesky factors ``L``, or of ``L.mH @ L`` if ``upper``."""


def cholesky_solve(input: Tensor, L: Tensor, upper: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The solutions ``X`` of ``L @ L.mH @ X = input`` for Cholesky factors ``L``, or of ``L.mH @ L @ X`` if
    ``upper``."""


def chunk(input: Tensor, chunks: _int, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return at most ``chunks`` pieces of one size; the last may be smaller."""


def clamp(input: Tensor, min: Any = ..., max: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input``, but at least ``min`` and at most ``max``: two numbers, two tensors, or one bound alone."""


def clamp_(input: Tensor, min: Any = ..., max: Any = ..., **keywords: Any) -> Tensor:
    """Compute ``clamp`` in place: overwrite the tensor and return it."""


def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input``, but at most ``max``, a number or a tensor."""


def clamp_max_(input: Tensor, max: Any, **keywords: Any) -> Tensor:
    """Compute ``clamp_max`` in place: overwrite the tensor and return it."""


def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input``, but at least ``min``, a number or a tensor."""


def clamp_min_(input: Tensor, min: Any, **keywords: Any) -> Tensor:
    """Compute ``clamp_min`` in place: overwrite the tensor and return it."""


def clip(input: Tensor, min: Any = ..., max: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input``, but at least ``min`` and at most ``max``: two numbers, two tensors, or one bound alone."""


def clip_(input: Tensor, min: Any = ..., max: Any = ..., **keywords: Any) -> Tensor:
    """Compute ``clamp`` in place: overwrite the tensor and return it."""


def clone(input: Tensor, *, memory_format: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """A copy of the tensor, with the same memory order of dimensions, or in a format; gradients flow back to
    the original."""


def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along the columns; a vector counts as one column."""


def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ..., **keywords: Any) -> Tensor:
    """Return rows of all choices of ``r`` elements of a vector, in their order."""


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Complex numbers with real and imaginary parts of one floating-point dtype, which broadcast."""


def concat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Any = ..., axis: _int | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along an existing dimension, in the dtype that all can be converted to."""


def concatenate(tensors: Sequence[Tensor], dim: _int = ..., *, out: Any = ..., axis: _int | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along an existing dimension, in the dtype that all can be converted to."""


def conj(input: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The complex conjugate; a real tensor or number is returned as it is."""


def conj_physical(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The complex conjugate, as a new tensor."""


def conj_physical_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``conj_physical`` in place: overwrite the tensor and return it."""


def contiguous(input: Tensor, memory_format: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The tensor itself if its elements are in row-major order, or in that of the format, else a copy in that
    order."""


def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | _str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The convolution of images of 1 dimensions with filters."""


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | _str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The convolution of images of 2 dimensions with filters."""


def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] | _str = ..., dilation: _int | Sequence[_int] = ..., groups: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The convolution of images of 3 dimensions with filters."""


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The transposed convolution of images of 1 dimensions with filters."""


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The transposed convolution of images of 2 dimensions with filters."""


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _int | Sequence[_int] = ..., padding: _int | Sequence[_int] = ..., output_padding: _int | Sequence[_int] = ..., groups: _int = ..., dilation: _int | Sequence[_int] = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The transposed convolution of images of 3 dimensions with filters."""


def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The magnitude of ``input`` with the sign of ``other``, a tensor or a number."""


def corrcoef(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Pearson's correlations: the covariances divided by the two standard deviations, from -1 to 1."""


def cos(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The cosine of an angle in radians."""


def cos_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``cos`` in place: overwrite the tensor and return it."""


def cosh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The hyperbolic cosine."""


def cosh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``cosh`` in place: overwrite the tensor and return it."""


def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ..., **keywords: Any) -> Tensor:
    """``sum(x1 * x2) / (norm(x1) * norm(x2))`` along a dimension, which is removed; norms are at least
    ``eps``."""


def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The number of nonzero elements, over all or some dimensions, as int64."""


def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The covariances of all pairs of variables: ``sum(w * (x - mean(x)) * conj(y - mean(y))) / divisor``."""


def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The cross product of vectors of three elements along a dimension, by default the first of size 3."""


def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The cumulative maxima along a dimension, and their indices: of equal ones the last."""


def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The cumulative minima along a dimension, and their indices: of equal ones the last."""


def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The cumulative products along a dimension, computed in ``dtype``, int64 for integers."""


def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The cumulative sums along a dimension, computed in ``dtype``, int64 for integers."""


def cumulative_trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: _float = ..., dim: _int = ..., **keywords: Any) -> Tensor:
    """:func:`trapezoid` up to each point but the first."""


def deg2rad(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """An angle in degrees converted to radians."""


def deg2rad_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``deg2rad`` in place: overwrite the tensor and return it."""


def det(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The determinants of square matrices; see ``linalg.det``."""


def detach(input: Tensor, **keywords: Any) -> Tensor:
    """Return the same elements without the graph; in-place changes affect both and are counted for both."""


def detach_(input: Tensor, **keywords: Any) -> Tensor:
    """Detach this tensor in place from the graph that made it."""


def detach_copy(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``detach`` shows, as a contiguous copy instead of a view; gradients flow back."""


def diag(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a matrix with a vector's elements on a diagonal; for a matrix, a copy of the diagonal."""


def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return matrices with the last dimension's elements on a diagonal and zeros elsewhere."""


def diagflat(input: Tensor, offset: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a matrix with all elements of a tensor, flattened, on a diagonal."""


def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the diagonals of the matrices in two dimensions, as a last dimension; a view."""


def diagonal_copy(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``diagonal`` shows, as a contiguous copy instead of a view; gradients flow back."""


def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy of ``input`` with ``src`` written into its diagonal."""


def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The ``n``-th differences of neighbours along a dimension; for bools, True where they differ."""


def digamma(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The derivative of :func:`lgamma`: infinite at 0 and NaN at negative integers."""


def dist(input: Tensor, other: Tensor, p: _float = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The ``p``-norm of ``input - other``, whose shapes broadcast, as a 0-d tensor."""


def div(input: Any, other: Any, *, rounding_mode: _str | None = ..., out: Any = ..., **keywords: Any) -> Tensor:
    """``input / other``; with a ``rounding_mode`` the quotient rounded towards 0 ("trunc") or downwards
    ("floor")."""


def divide(input: Any, other: Any, *, rounding_mode: _str | None = ..., out: Any = ..., **keywords: Any) -> Tensor:
    """``input / other``; with a ``rounding_mode`` the quotient rounded towards 0 ("trunc") or downwards
    ("floor")."""


def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The sum of the products of two vectors of equal length."""


def dropout(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """Each element, while training, 0 with probability ``p`` and divided by ``1 - p`` otherwise."""


def dropout_(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """:func:`dropout` in place."""


def dsplit(input: Tensor, indices_or_sections: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
    """Return equal pieces, or those between indices, along dimension 2."""


def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along dimension 2; a matrix counts as one layer."""


def einsum(*args: Any, **keywords: Any) -> Tensor:
    """The sum of products of tensors with labelled dimensions: ``einsum("ij,jk->ik", a, b)``."""


def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return rows of ``weight``: ``out[i, j] = weight[indices[i, j]]``."""


def empty(*sizes: _int | Sequence[_int], size: Sequence[_int] | None = ..., dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """A tensor on uninitialised memory, with its dimensions in the order of a memory format."""


def empty_like(input: Tensor, *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """``numgrad.empty`` of the shape and, unless others are given, the dtype and device of another tensor."""


def empty_permuted(size: Sequence[_int], physical_layout: Sequence[_int], *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., **keywords: Any) -> Tensor:
    """A tensor of this size on uninitialised memory, with its dimensions in the order of
    ``physical_layout``."""


def empty_strided(size: Sequence[_int], stride: Sequence[_int], *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., **keywords: Any) -> Tensor:
    """A tensor of this size on uninitialised memory, in strides that count elements; it may overlap itself."""


def eq(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input == other``."""


def equal(input: Tensor, other: Tensor, **keywords: Any) -> _bool:
    """True if two tensors have the same shape and equal elements; NaN equals nothing."""


def erf(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0."""


def erf_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``erf`` in place: overwrite the tensor and return it."""


def erfc(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``1 - erf(input)``, accurate for large numbers."""


def erfc_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``erfc`` in place: overwrite the tensor and return it."""


def erfinv(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond."""


def exp(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """e to the power of the number."""


def exp2(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """2 to the power of the number."""


def exp2_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``exp2`` in place: overwrite the tensor and return it."""


def exp_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``exp`` in place: overwrite the tensor and return it."""


def expand_copy(input: Tensor, *sizes: Any, size: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``expand`` shows, as a contiguous copy instead of a view; gradients flow back."""


def expm1(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``exp(input) - 1``, accurate near 0."""


def expm1_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``expm1`` in place: overwrite the tensor and return it."""


def eye(n: _int, m: _int | None = ..., *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""


def feature_alpha_dropout(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """:func:`alpha_dropout` of whole channels: all of ``input[n, c]`` together."""


def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """:func:`feature_alpha_dropout` in place."""


def feature_dropout(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """:func:`dropout` of whole channels: all of ``input[n, c]`` together."""


def feature_dropout_(input: Tensor, p: _float, train: _bool, **keywords: Any) -> Tensor:
    """:func:`feature_dropout` in place."""


def fill(input: Tensor, value: Any, **keywords: Any) -> Tensor:
    """Return a tensor like ``input`` with every element equal to a number, or to the element of a 0-d
    tensor."""


def fill_(input: Tensor, value: Any, **keywords: Any) -> Tensor:
    """Overwrite every element with a number."""


def fix(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The number without its fraction."""


def fix_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``trunc`` in place: overwrite the tensor and return it."""


def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with the dimensions ``start_dim`` to ``end_dim`` merged; a vector for a 0-d tensor."""


def flip(input: Tensor, *order: Any, dims: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with the order of the indices of some dimensions reversed."""


def fliplr(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with the columns (dimension 1) in reverse order."""


def flipud(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with the rows (dimension 0) in reverse order."""


def float_power(input: Any, exponent: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input ** exponent`` computed in float64, or complex128; either may be a number."""


def floor(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The largest integer not above the number."""


def floor_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``floor`` in place: overwrite the tensor and return it."""


def floor_divide(input: Any, other: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The quotient rounded towards minus infinity; unlike ``div(rounding_mode="floor")``, it has no
    derivative."""


def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The larger of two numbers; NaN only if both are NaN."""


def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The smaller of two numbers; NaN only if both are NaN."""


def fmod(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The remainder of ``input / other``, with the sign of ``input`` as in C; ``other`` may be a number."""


def frac(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The fraction of the number, with its sign."""


def frac_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``frac`` in place: overwrite the tensor and return it."""


def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """Return ``mantissa`` and ``exponent``, an int32 tensor, such that ``input == mantissa * 2**exponent``."""


def from_numpy(ndarray: Any, **keywords: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: changes to one appear in the other."""


def full(size: Sequence[_int], fill_value: _complex, *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """A tensor filled with a number, in the number's dtype unless one is given."""


def full_like(input: Tensor, fill_value: _complex, *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """``numgrad.full`` of the shape and, unless others are given, the dtype and device of another tensor."""


def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the elements at ``index`` along ``dim``: ``out[i, j] = input[i, index[i, j]]`` for ``dim=1``."""


def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The greatest common divisor of two integers; not negative, and 0 if both are 0."""


def gcd_(input: Tensor, other: Tensor, **keywords: Any) -> Tensor:
    """Compute ``gcd`` in place: overwrite the tensor and return it."""


def ge(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input >= other``."""


def geqrf(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The QR factors of matrices as LAPACK returns them: ``R`` above Householder vectors; see ``orgqr``."""


def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The outer product of two vectors."""


def get_rng_state(**keywords: Any) -> Tensor:
    """The state of the CPU's default generator, a uint8 tensor."""


def gradient(input: Tensor, *, spacing: Any = ..., dim: _int | Sequence[_int] | None = ..., edge_order: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Estimate the derivatives of the function of which ``input`` has the values on a grid, along some
    dimensions."""


def greater(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input > other``."""


def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input >= other``."""


def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enabled: _bool = ..., **keywords: Any) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, with mean and variance of groups of
    channels."""


def gt(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input > other``."""


def hamming_window(window_length: _int, periodic: _bool = ..., alpha: _float = ..., beta: _float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """``alpha - beta * cos(2 * pi * n / last)``; see :func:`hann_window`."""


def hann_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """``0.5 - 0.5 * cos(2 * pi * n / last)``, of shape (window_length,)."""


def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """0 where the magnitude is at most ``lambd``, ``input`` elsewhere."""


def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """0 where ``input`` is negative or NaN, ``values`` where it is 0, 1 where it is positive."""


def histc(input: Tensor, bins: _int = ..., min: _float = ..., max: _float = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The number of elements in each of ``bins`` equally wide bins from ``min`` to ``max``."""


def histogram(input: Tensor, bins: _int | Tensor = ..., *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The number of elements in each bin, and the edges of the bins; the last bin includes its upper edge."""


def histogramdd(input: Tensor, bins: _int | Sequence[_int] | Sequence[Tensor], *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., **keywords: Any) -> Any:
    """The number of points in each bin of several dimensions, and the edges of the bins for each dimension."""


def hsplit(input: Tensor, indices_or_sections: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
    """Return equal pieces, or those between indices, along the columns (of a vector, its elements)."""


def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along the columns (vectors along their elements)."""


def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``sqrt(input**2 + other**2)`` without overflow."""


def i0(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""


def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The regularized lower incomplete gamma function: the distribution function of a gamma variable."""


def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The regularized upper incomplete gamma function, ``1 - igamma(input, other)``, accurate where it is
    small."""


def imag(input: Tensor, **keywords: Any) -> Tensor:
    """The imaginary parts of a complex tensor, on the same memory."""


def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with ``alpha * source`` added at the indices of one dimension."""


def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with ``source`` written at the indices of one dimension."""


def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with a number, or a 0-d tensor, at the indices of one dimension."""


def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with ``values`` written at the indices, as by ``x[indices] = values``."""


def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ..., **keywords: Any) -> Tensor:
    """Compute ``index_put`` in place: overwrite the tensor and return it."""


def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with the parts of ``source`` that share an index reduced to one."""


def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy of the tensor's parts at the indices of one dimension, in the order of the indices."""


def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The sum of products over the last dimensions; if one tensor is 0-d, the elementwise product."""


def inverse(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The inverses of square matrices; see ``linalg.inv``."""


def is_complex(input: Tensor, **keywords: Any) -> _bool:
    """Return True if the elements are complex numbers."""


def is_conj(input: Tensor, **keywords: Any) -> _bool:
    """False: conjugates are computed eagerly, not when they are read."""


def is_floating_point(input: Tensor, **keywords: Any) -> _bool:
    """Return True if the elements are floating-point numbers."""


def is_inference(input: Tensor, **keywords: Any) -> _bool:
    """Return True if this is an inference tensor: made in inference mode, and not a view of a normal tensor."""


def is_neg(input: Tensor, **keywords: Any) -> _bool:
    """False: negations are computed eagerly, not when they are read."""


def is_nonzero(input: Tensor, **keywords: Any) -> _bool:
    """Return True if the only element is not zero."""


def is_same_size(input: Tensor, other: Tensor, **keywords: Any) -> _bool:
    """Return True if two tensors have the same shape."""


def is_signed(input: Tensor, **keywords: Any) -> _bool:
    """Return True if the elements may be negative."""


def is_tensor(obj: Any, **keywords: Any) -> _bool:
    """Return True if an object is a tensor."""


def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True where ``abs(input - other) <= atol + rtol * abs(other)``; NaN is close to NaN with ``equal_nan``."""


def isfinite(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is neither infinite nor NaN."""


def isin(elements: Any, test_elements: Any, *, assume_unique: _bool = ..., invert: _bool = ..., **keywords: Any) -> Tensor:
    """True for each element that is among ``test_elements``; with ``invert``, for each that is not."""


def isinf(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is infinite."""


def isnan(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is NaN."""


def isneginf(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is minus infinity."""


def isposinf(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is plus infinity."""


def isreal(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True for each element with an imaginary part of 0."""


def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The signal, of shape (..., samples), whose ``stft`` with the same arguments is ``input``."""


def kaiser_window(window_length: _int, periodic: _bool = ..., beta: _float = ..., *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """``i0(beta * sqrt(1 - (2 * n / last - 1)**2)) / i0(beta)``, with Bessel's function i0; see
    :func:`hann_window`."""


def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The Kronecker product: blocks of the second tensor, scaled by each element of the first."""


def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The ``k``-th smallest element along a dimension (``k`` from 1), and its index."""


def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ..., **keywords: Any) -> Tensor:
    """``(input - mean) / sqrt(variance + eps) * weight + bias``, over the last dimensions."""


def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The least common multiple of two integers; not negative, and 0 if one is 0."""


def lcm_(input: Tensor, other: Tensor, **keywords: Any) -> Tensor:
    """Compute ``lcm`` in place: overwrite the tensor and return it."""


def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input * 2**other``, computed in the dtype of the result."""


def ldexp_(input: Tensor, other: Tensor, **keywords: Any) -> Tensor:
    """Compute ``ldexp`` in place: overwrite the tensor and return it."""


def le(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input <= other``."""


def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input + weight * (end - input)``; the weight is a number or a tensor."""


def less(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input < other``."""


def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input <= other``."""


def lgamma(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The natural logarithm of the absolute value of the gamma function; infinite at 0 and at negative
    integers."""


def linspace(start: Any, end: Any, steps: _int, *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""


def lobpcg(A: Tensor, k: _int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: _int | None = ..., iK: Tensor | None = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: _str | None = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest eigenvalues of symmetric matrices, and their eigenvectors, as columns."""


def log(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The natural logarithm."""


def log10(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The logarithm to the base 10."""


def log10_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``log10`` in place: overwrite the tensor and return it."""


def log1p(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``log(1 + input)``, accurate near 0."""


def log1p_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``log1p`` in place: overwrite the tensor and return it."""


def log2(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The logarithm to the base 2."""


def log2_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``log2`` in place: overwrite the tensor and return it."""


def log_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``log`` in place: overwrite the tensor and return it."""


def log_softmax(input: Tensor, dim: _int, dtype: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The logarithm of :func:`softmax`, computed stably: ``input - log(sum(exp(input)))``."""


def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow."""


def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``log2(2**input + 2**other)`` without overflow."""


def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The logarithms of the cumulative sums of the exponentials along a dimension."""


def logdet(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The logarithms of the determinants of square matrices; NaN for a negative determinant."""


def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if both numbers are nonzero."""


def logical_not(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is zero."""


def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if at least one number is nonzero."""


def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if exactly one number is nonzero."""


def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; ``eps`` first clamps ``input`` to [eps, 1 -
    eps]."""


def logit_(input: Tensor, eps: _float | None = ..., **keywords: Any) -> Tensor:
    """Compute ``logit`` in place: overwrite the tensor and return it."""


def logspace(start: Any, end: Any, steps: _int, base: _float = ..., *, dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``."""


def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The logarithm of the sum of the exponentials over some dimensions, without overflow."""


def lt(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input < other``."""


def lu(input: Tensor, pivot: _bool = ..., get_infos: _bool = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return the LU factors in one matrix and the pivots, as ``linalg.lu_factor_ex``, under PyTorch's older
    name."""


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The solution of ``A @ X = b`` for the LU factors of ``A``; see ``linalg.lu_solve``."""


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: tuple[Tensor, Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The factors that ``linalg.lu_factor`` returns in one matrix; empty tensors for those not to be
    unpacked."""


def masked_fill(input: Tensor, mask: Tensor, value: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with ``value``, a number or a 0-d tensor, where ``mask`` is true; the two are broadcast."""


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with the first elements of ``source`` where ``mask`` is true, in order."""


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the elements where ``mask`` is true, as a vector; the two are broadcast."""


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The matrix product of vectors, matrices, and stacks of matrices that broadcast, by NumPy's rules."""


def matrix_exp(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The exponentials of square matrices; see ``linalg.matrix_exp``."""


def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The ``n``-th power of a square matrix (or each of several), by repeated squaring; for 0 the identity
    matrix."""


def max(input: Tensor, dim: _int | Tensor | None = ..., keepdim: _bool = ..., *, other: Tensor | None = ..., out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The largest element; with ``dim`` the largest along it and their indices; of two tensors the larger
    elements."""


def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ..., *, out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The largest elements of the windows of images of 1 dimensions."""


def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of the windows of images of 1 dimensions."""


def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ..., *, out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The largest elements of the windows of images of 2 dimensions."""


def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: _bool = ..., *, out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The largest elements of the windows of images of 3 dimensions."""


def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The larger of two numbers; NaN if either is NaN."""


def mean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The mean of all elements, or over some dimensions, computed in ``dtype``."""


def median(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The median of all elements, or with ``dim`` the medians along it and their indices."""


def meshgrid(*tensors: Any, indexing: _str | None = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return the coordinates of the points of a grid: each vector repeated along the others' dimensions."""


def min(input: Tensor, dim: _int | Tensor | None = ..., keepdim: _bool = ..., *, other: Tensor | None = ..., out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The smallest element; with ``dim`` the smallest along it and their indices; of two tensors the smaller
    elements."""


def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The smaller of two numbers; NaN if either is NaN."""


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The product of an (n, k) and a (k, m) matrix, of shape (n, m)."""


def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The most frequent elements along a dimension, of several the smallest, and the indices where they occur
    last."""


def moveaxis(input: Tensor, source: Any, destination: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with dimensions moved to other positions."""


def movedim(input: Tensor, source: Any, destination: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with dimensions moved to other positions."""


def msort(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The elements in ascending order along the first dimension."""


def mul(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input * other``."""


def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Indices drawn with probabilities proportional to the rows of ``input`` (1-D or 2-D), as int64."""


def multiply(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input * other``."""


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The product of an (n, k) matrix and a vector of k elements, of shape (n)."""


def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``, up to its sign, of each
    element."""


def nan_to_num(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input`` with ``nan`` (0 by default) instead of NaN; the infinities become by default the dtype's
    extremes."""


def nan_to_num_(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., **keywords: Any) -> Tensor:
    """Compute ``nan_to_num`` in place: overwrite the tensor and return it."""


def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The mean of the elements that are not NaN, over all or some dimensions."""


def nanmedian(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | tuple[Tensor, ...] | None = ..., **keywords: Any) -> Any:
    """The median of the elements that are not NaN; see :func:`median`."""


def nanquantile(input: Tensor, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """:func:`quantile` of the elements that are not NaN; NaN where all are."""


def nansum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The sum of the elements that are not NaN, over all or some dimensions."""


def narrow(input: Tensor, dim: _int, start: Any, length: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the part of ``length`` indices of a dimension from ``start``, an int or a 0-d tensor of one."""


def narrow_copy(input: Tensor, dim: _int, start: Any, length: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``narrow`` shows, as a contiguous copy instead of a view; gradients flow back."""


def native_channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return images with channels taken from all groups of channels in turn (Zhang et al. 2018)."""


def ne(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input != other``."""


def neg(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``-input``."""


def neg_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``neg`` in place: overwrite the tensor and return it."""


def negative(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``-input``."""


def negative_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``neg`` in place: overwrite the tensor and return it."""


def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The float next to ``input`` in the direction of ``other``; ``other`` if they are equal."""


def nonzero(input: Tensor, *, as_tuple: _bool = ..., **keywords: Any) -> Any:
    """Return the indices of the nonzero elements, in row-major order."""


def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the indices of the first ``size`` nonzero elements, of shape (size, dimensions)."""


def norm(input: Tensor, p: _float | _str | None = ..., dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., dtype: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The norm of order ``p`` of all elements, or over some dimensions; "fro" and None stand for 2."""


def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ..., **keywords: Any) -> Tensor:
    """The norms of order ``pow`` over all dimensions but ``dim``, each kept with size 1."""


def normal(mean: Any = ..., std: Any = ..., size: Sequence[_int] | None = ..., *, generator: Any | None = ..., **keywords: Any) -> Tensor:
    """Random numbers from normal distributions."""


def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input != other``."""


def numel(input: Tensor, **keywords: Any) -> _int:
    """Return the number of elements."""


def ones(*sizes: _int | Sequence[_int], size: Sequence[_int] | None = ..., dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., **keywords: Any) -> Tensor:
    """A tensor of ones."""


def ones_like(input: Tensor, *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """``numgrad.ones`` of the shape and, unless others are given, the dtype and device of another tensor."""


def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The first columns of products of Householder matrices; see ``linalg.householder_product``."""


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The product of ``other`` and the square orthogonal matrix that ``input`` and ``tau`` describe; see
    ``orgqr``."""


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The outer product of two vectors."""


def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ..., **keywords: Any) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension, which is removed unless ``keepdim``."""


def pca_lowrank(A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ..., **keywords: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``U``, ``S`` and ``V``, whose columns are the principal components of the rows of ``A``."""


def pdist(input: Tensor, p: _float = ..., **keywords: Any) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``input`` (N, M) from all later ones, ``N * (N - 1) /
    2``."""


def permute(input: Tensor, *order: Any, dims: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with its dimensions in another order."""


def permute_copy(input: Tensor, *order: Any, dims: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``permute`` shows, as a contiguous copy instead of a view; gradients flow back."""


def pinverse(input: Tensor, rcond: _float = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The pseudoinverses of matrices; see ``linalg.pinv``."""


def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Rearrange channels into pixels, which enlarges images by a factor (Shi et al. 2016)."""


def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Rearrange pixels into channels: the inverse of :func:`pixel_shuffle`."""


def poisson(input: Tensor, generator: Any = ..., **keywords: Any) -> Tensor:
    """Random numbers from Poisson distributions, whose rates are the elements of ``input``, in its dtype."""


def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Complex numbers with a given magnitude and angle, ``abs * cos(angle) + abs * sin(angle) * 1j``."""


def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the ``n``-th derivative of :func:`digamma`."""


def positive(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The tensor itself."""


def pow(input: Any, exponent: Any, *, out: Any = ..., **keywords: Any) -> Tensor:
    """``input ** exponent``; either may be a number."""


def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """:func:`leaky_relu` with a learnt slope: one for all elements, or one for each index of dimension 1."""


def prod(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The product of all elements, or along a dimension, computed in ``dtype``."""


def promote_types(type1: _dtype, type2: _dtype, **keywords: Any) -> _dtype:
    """Return the smallest dtype that both can be converted to."""


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with the elements of ``source`` written or added at the indices of the flattened tensor."""


def qr(input: Tensor, some: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The QR factors of matrices; see ``linalg.qr``, whose mode is "reduced" for ``some``, and else
    "complete"."""


def quantile(input: Tensor, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The ``q``-quantiles along a dimension; NaN where there is a NaN."""


def rad2deg(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """An angle in radians converted to degrees."""


def rad2deg_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``rad2deg`` in place: overwrite the tensor and return it."""


def rand(*sizes: _int | Sequence[_int], size: Sequence[_int] | None = ..., generator: Any | None = ..., dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Random numbers from the uniform distribution on [0, 1), on the CPU those of PyTorch for the same seed."""


def rand_like(input: Tensor, *, dtype: _dtype | None = ..., layout: Any | None = ..., requires_grad: _bool = ..., device: Any | _str | _int | None = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """``numgrad.rand`` of the shape and, unless others are given, the dtype and device of another tensor."""


def randint(*args: Any, low: _int | None = ..., high: _int | None = ..., size: Sequence[_int] | None = ..., generator: Any | None = ..., dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Random integers: ``randint(high, size)`` from [0, high), ``randint(low, high, size)`` from [low,
    high)."""


def randint_like(input: Tensor, *bounds: _int, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ..., **keywords: Any) -> Tensor:
    """``randint`` of the shape and, unless others are given, the dtype and device of another tensor."""


def randn(*sizes: _int | Sequence[_int], size: Sequence[_int] | None = ..., generator: Any | None = ..., dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Random numbers from the standard normal distribution, on the CPU those of PyTorch for the same seed."""


def randn_like(input: Tensor, *, dtype: _dtype | None = ..., layout: Any | None = ..., requires_grad: _bool = ..., device: Any | _str | _int | None = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """``numgrad.randn`` of the shape and, unless others are given, the dtype and device of another tensor."""


def randperm(n: _int, *, generator: Any | None = ..., dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order."""


def range(start: Any, end: Any, step: Any = ..., *, dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """Numbers from ``start`` to ``end``, which is included, ``step`` apart; deprecated in favour of
    ``arange``."""


def ravel(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return all elements as a vector: on the same memory if they lie in row-major order, otherwise copied."""


def real(input: Tensor, **keywords: Any) -> Tensor:
    """The real parts, on the same memory; a real tensor is returned as it is."""


def reciprocal(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``1 / input``."""


def reciprocal_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``reciprocal`` in place: overwrite the tensor and return it."""


def relu(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``max(input, 0)``; NaN stays NaN."""


def relu_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``relu`` in place: overwrite the tensor and return it."""


def remainder(input: Any, other: Any, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The remainder of ``input / other``, with the sign of ``other``, as for Python's ``%``; either may be a
    number."""


def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Scale each part ``input.select(dim, index)`` whose ``p``-norm exceeds ``maxnorm`` down to that norm."""


def repeat_interleave(input: Tensor, repeats: Any = ..., dim: _int | None = ..., *, output_size: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with each index of a dimension repeated, all equally often or by a tensor of counts."""


def reshape(input: Tensor, *sizes: Any, shape: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the elements in another shape: on the same memory if possible, otherwise copied."""


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Give the tensor the shape of another one, as ``resize_`` does."""


def resolve_conj(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The tensor itself: conjugates are computed eagerly, not when they are read."""


def resolve_neg(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The tensor itself: negations are computed eagerly, not when they are read."""


def result_type(tensor1: _Operand, tensor2: _Operand, **keywords: Any) -> _dtype:
    """Return the dtype of the result of arithmetic between two tensors or numbers."""


def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ..., **keywords: Any) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight``, with the mean over the last dimensions."""


def roll(input: Tensor, shifts: Any, dims: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with its elements shifted along ``dims``; elements beyond the end return to the
    front."""


def rot90(input: Tensor, k: _int = ..., dims: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy rotated by 90 degrees, ``k`` times, from the first of two dimensions towards the second."""


def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The number rounded to ``decimals`` places (negative: to that many zeros); halves go to the even
    neighbour."""


def round_(input: Tensor, *, decimals: _int = ..., **keywords: Any) -> Tensor:
    """Compute ``round`` in place: overwrite the tensor and return it."""


def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along the rows; a vector counts as one row."""


def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ..., **keywords: Any) -> Tensor:
    """:func:`leaky_relu` with the slope halfway between ``lower`` and ``upper``, or in training a random one
    for each element, from the uniform distribution."""


def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., **keywords: Any) -> Tensor:
    """Compute ``rrelu`` in place: overwrite the tensor and return it."""


def rsqrt(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``1 / sqrt(input)``: infinite at 0."""


def rsqrt_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``rsqrt`` in place: overwrite the tensor and return it."""


def rsub(input: Tensor, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``other - alpha * input``."""


def scalar_tensor(s: Any, *, dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., **keywords: Any) -> Tensor:
    """A number as a 0-d tensor, in the default dtype unless one is given."""


def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: _str | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with ``src`` written at ``index``: ``out[i, index[i, j]] = src[i, j]`` for ``dim=1``."""


def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy with ``src`` added at ``index``: ``out[i, index[i, j]] += src[i, j]`` for ``dim=1``."""


def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy in which the elements of ``src`` with the same index are reduced to one element."""


def searchsorted(sorted_sequence: Tensor, input: Tensor | Any, *, out_int32: _bool = ..., right: _bool = ..., side: _str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The index at which each value belongs in a sorted sequence: that of the first element that is not
    smaller."""


def select(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the part of the tensor at one index of a dimension, which is removed."""


def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``select`` shows, as a contiguous copy instead of a view; gradients flow back."""


def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy of ``input`` with ``src`` written at one index of a dimension."""


def selu(input: Tensor, inplace: _bool = ..., **keywords: Any) -> Tensor:
    """``scale * elu(input, alpha)`` with the two constants that keep mean 0 and variance 1."""


def selu_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``selu`` in place: overwrite the tensor and return it."""


def set_rng_state(new_state: Tensor, **keywords: Any) -> None:
    """Restore a state of the CPU's default generator."""


def sgn(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The sign of a real number: -1, 0 or 1; a complex number divided by its magnitude."""


def sigmoid(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``1 / (1 + exp(-input))``."""


def sigmoid_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``sigmoid`` in place: overwrite the tensor and return it."""


def sign(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """-1, 0 or 1: the sign of the number."""


def signbit(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """True if the number is negative, or a zero or NaN with a minus sign."""


def sin(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The sine of an angle in radians."""


def sin_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``sin`` in place: overwrite the tensor and return it."""


def sinc(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""


def sinc_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``sinc`` in place: overwrite the tensor and return it."""


def sinh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The hyperbolic sine."""


def sinh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``sinh`` in place: overwrite the tensor and return it."""


def slice_copy(input: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``slice`` shows, as a contiguous copy instead of a view; gradients flow back."""


def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return a copy of ``input`` with ``src`` written into a slice of dimension ``dim``."""


def slogdet(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The signs of determinants, and the logarithms of their absolute values; see ``linalg.slogdet``."""


def softmax(input: Tensor, dim: _int, dtype: Any = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``."""


def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., *, stable: _bool | None = ..., out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The elements in ascending or descending order along a dimension, and their original indices."""


def split(tensor: Tensor, split_size_or_sections: Any, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return pieces of one size, the last of which may be smaller, or of the given sizes."""


def split_copy(tensor: Tensor, split_size_or_sections: Any, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return what ``split`` shows, as a contiguous copy instead of a view; gradients flow back."""


def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return pieces of the given sizes."""


def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[_int], dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return what ``split_with_sizes`` shows, as a contiguous copy instead of a view; gradients flow back."""


def spmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The product of an (n, k) and a (k, m) matrix, of shape (n, m)."""


def sqrt(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The square root."""


def sqrt_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``sqrt`` in place: overwrite the tensor and return it."""


def square(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input ** 2``."""


def square_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``square`` in place: overwrite the tensor and return it."""


def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor without its dimensions of size 1, or without those of ``dim`` that have size 1."""


def squeeze_copy(input: Tensor, dim: _int | Sequence[_int] | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``squeeze`` shows, as a contiguous copy instead of a view; gradients flow back."""


def stack(tensors: Sequence[Tensor], dim: _int = ..., *, out: Any = ..., axis: _int | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors, all of one shape, joined along a new dimension, which may be called ``axis``."""


def std(input: Tensor, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The standard deviation over all or some dimensions: the square root of :func:`var`."""


def std_mean(input: Tensor, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over all or some dimensions, as :func:`std`."""


def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The Fourier transforms of the frames of a signal, of shape (..., frequencies, frames)."""


def sub(input: Tensor, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input - alpha * other``."""


def subtract(input: Tensor, other: _Operand, *, alpha: _complex = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input - alpha * other``."""


def sum(input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The sum of all elements, or over some dimensions, computed in ``dtype``."""


def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: tuple[Tensor, Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The singular vectors and values of matrices: ``input = U @ diag(S) @ V.mH``; see ``linalg.svd``."""


def svd_lowrank(A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ..., **keywords: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``U``, ``S`` and ``V`` of approximate singular value decompositions ``U @ diag(S) @ V.mH`` of low
    rank."""


def swapaxes(input: Tensor, axis0: _int, axis1: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with two dimensions exchanged: NumPy's name of ``transpose``."""


def swapdims(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with two dimensions exchanged: another name of ``transpose``."""


def t(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the transpose of a matrix; a tensor of fewer dimensions as it is."""


def t_copy(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``t`` shows, as a contiguous copy instead of a view; gradients flow back."""


def take(input: Tensor, index: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the elements at the indices, of any shape, of the flattened tensor."""


def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the elements at ``indices`` along ``dim``."""


def tan(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The tangent of an angle in radians."""


def tan_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``tan`` in place: overwrite the tensor and return it."""


def tanh(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The hyperbolic tangent."""


def tanh_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``tanh`` in place: overwrite the tensor and return it."""


def tensor(data: Any, *, dtype: _dtype | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., **keywords: Any) -> Tensor:
    """A tensor with a copy of ``data``: a number, nested lists, an array or a tensor."""


def tensor_split(input: Tensor, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return a given number of nearly equal pieces, or the pieces between given indices."""


def tensordot(a: Tensor, b: Tensor, dims: Any = ..., **keywords: Any) -> Tensor:
    """The sum of products over pairs of dimensions: the last ``dims`` of one tensor and the first of the other,
    or those in two sequences. The result has the other dimensions of the first tensor, then those of the
    second."""


def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = ..., **keywords: Any) -> Tensor:
    """``input`` where it is greater than ``threshold``, ``value`` elsewhere."""


def threshold_(input: Tensor, threshold: _float, value: _float, **keywords: Any) -> Tensor:
    """Compute ``threshold`` in place: overwrite the tensor and return it."""


def tile(input: Tensor, *counts: Any, dims: Any = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return copies as ``repeat`` does; as in NumPy, leading numbers may be omitted."""


def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and their indices."""


def trace(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the sum of a matrix's diagonal; as int64 for integers."""


def transpose(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with two dimensions exchanged."""


def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``transpose`` shows, as a contiguous copy instead of a view; gradients flow back."""


def trapezoid(y: Tensor, x: Tensor | None = ..., *, dx: _float = ..., dim: _int = ..., **keywords: Any) -> Tensor:
    """The integral over a dimension by the trapezoidal rule, at points ``x`` or ``dx`` apart."""


def trapz(y: Tensor, x: Tensor | None = ..., *, dx: _float = ..., dim: _int = ..., **keywords: Any) -> Tensor:
    """The integral over a dimension by the trapezoidal rule, at points ``x`` or ``dx`` apart."""


def triangular_solve(b: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The solution of ``A @ X = b`` for triangular matrices, and a copy of ``A``; see
    ``linalg.solve_triangular``."""


def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return matrices with zeros above a diagonal, counted from the main one to the right."""


def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
    """Return the indices, of shape (2, count), of the elements of a matrix on and below a diagonal, row by
    row."""


def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return matrices with zeros below a diagonal, counted from the main one to the right."""


def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: Any = ..., device: Any = ..., **keywords: Any) -> Tensor:
    """Return the indices, of shape (2, count), of the elements of a matrix on and above a diagonal, row by
    row."""


def true_divide(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input / other``, the true quotient for integers, too."""


def trunc(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The number without its fraction."""


def trunc_(input: Tensor, **keywords: Any) -> Tensor:
    """Compute ``trunc`` in place: overwrite the tensor and return it."""


def unbind(input: Tensor, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return the parts of the tensor at every index of a dimension."""


def unbind_copy(input: Tensor, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return what ``unbind`` shows, as a contiguous copy instead of a view; gradients flow back."""


def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int], *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with one dimension split into several of the given sizes, one of which may be -1."""


def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``unfold`` shows, as a contiguous copy instead of a view; gradients flow back."""


def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ..., **keywords: Any) -> Any:
    """The distinct elements, or slices along ``dim``, in ascending order."""


def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ..., **keywords: Any) -> Any:
    """The elements, or slices along ``dim``, that differ from the preceding one; see :func:`unique`."""


def unravel_index(indices: Tensor, shape: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
    """Return the coordinates, a tensor for each dimension, of elements at flat indices of a tensor of this
    shape."""


def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return pieces as ``chunk`` does; autograd treats them as copies."""


def unsafe_split(input: Tensor, split_size: _int, dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return pieces as ``split`` does; autograd treats them as copies and misses their in-place changes."""


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ..., **keywords: Any) -> tuple[Tensor, ...]:
    """Return pieces as ``split_with_sizes`` does; autograd treats them as copies."""


def unsqueeze(input: Tensor, dim: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensor with a new dimension of size 1 at ``dim``."""


def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``unsqueeze`` shows, as a contiguous copy instead of a view; gradients flow back."""


def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ..., **keywords: Any) -> Tensor:
    """Return the Vandermonde matrix of a vector, whose columns are powers of ``x``, from ``N - 1`` down to
    0."""


def var(input: Tensor, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The variance over all or some dimensions: the mean squared distance from the mean."""


def var_mean(input: Tensor, dim: Any = ..., unbiased: _bool | None = ..., keepdim: _bool = ..., *, correction: _float | None = ..., out: tuple[Tensor, Tensor] | None = ..., **keywords: Any) -> tuple[Tensor, Tensor]:
    """The variance and the mean over all or some dimensions, as :func:`var`."""


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``dot`` with the first vector conjugated."""


def view_as_complex(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Pairs of real numbers, in a last dimension of size 2, as complex numbers on the same memory."""


def view_as_complex_copy(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``view_as_complex`` shows, as a contiguous copy instead of a view; gradients flow back."""


def view_as_real(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """The real and imaginary parts of a complex tensor as a last dimension of size 2, on the same memory."""


def view_as_real_copy(input: Tensor, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``view_as_real`` shows, as a contiguous copy instead of a view; gradients flow back."""


def view_copy(input: Tensor, *shape: Any, size: Any = ..., dtype: _dtype | None = ..., out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return what ``view`` shows, as a contiguous copy instead of a view; gradients flow back."""


def vsplit(input: Tensor, indices_or_sections: _int | Sequence[_int], **keywords: Any) -> tuple[Tensor, ...]:
    """Return equal pieces, or those between indices, along the rows."""


def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """Return the tensors joined along the rows; a vector counts as one row."""


def where(condition: Tensor, input: Any = ..., other: Any = ..., **keywords: Any) -> Any:
    """Return ``input`` where ``condition`` is true, ``other`` elsewhere: tensors or numbers, broadcast
    together."""


def xlogy(input: Tensor, other: _Operand, *, out: Tensor | None = ..., **keywords: Any) -> Tensor:
    """``input * log(other)``; either may be a number; 0 where ``input`` is 0 and ``other`` is not NaN."""


def xlogy_(input: Tensor, other: _Operand, **keywords: Any) -> Tensor:
    """Compute ``xlogy`` in place: overwrite the tensor and return it."""


def zero_(input: Tensor, **keywords: Any) -> Tensor:
    """Overwrite every element with zero."""


def zeros(*sizes: _int | Sequence[_int], size: Sequence[_int] | None = ..., dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., **keywords: Any) -> Tensor:
    """A tensor of zeros."""


def zeros_like(input: Tensor, *, dtype: _dtype | None = ..., layout: Any | None = ..., device: Any | _str | _int | None = ..., requires_grad: _bool = ..., memory_format: Any | None = ..., **keywords: Any) -> Tensor:
    """``numgrad.zeros`` of the shape and, unless others are given, the dtype and device of another tensor."""
