"""Host functions: functions of NumPy, SciPy or LAPACK instead of kernels, for tensors on any device.

A host function has the parameters of its operation (``operation(host=...)``), with arrays of the same shapes and
strides instead of tensors.  On the CPU the arrays share the memory of the tensors, and the function must not write to
them; on a GPU they are copies.  The function returns a new array or a tuple of them.  These become the memory of the
results on the CPU.  They are copied for a GPU, and if the results have another layout.

A function of the same name in the package ``cpu`` or ``cuda`` replaces the host function on that device.  It takes a
plan and the arguments of the operation, with the tensors of the plan, and returns the result or a tuple of results.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.layout import Layout
from .launches import by_numpy
from .memory import empty_buffer, out_of_memory
from .moving import moved
from .plan import Array, Plan, TensorRef

__all__ = ["HostFunction", "LinAlgError", "fft_c2c", "fft_c2r", "fft_r2c", "host", "linalg_solve"]


class HostFunction:
    """A function of arrays instead of a kernel.

    Attributes:
        name: the name of the function that replaces it on a device.
        library: the name of the library's function, such as "numpy.sort", for listeners.
    """

    def __init__(self, function: Callable[..., Any], library: str):
        self.name = function.__name__
        self.library = library
        self.run = by_numpy(library)(function)

    def add_to(self, p: Plan, out: Any, arguments: Sequence[Any]) -> tuple[TensorRef, ...]:
        """Add the call with the arguments of the operation to a plan, and return results of the layouts ``out``."""
        layouts = out if out.__class__ is tuple else (out,)
        operands = [
            Array(argument.memory.number) if argument.__class__ is TensorRef else argument for argument in arguments
        ]
        return p.host(results_of, layouts, self.run, layouts, *operands)


def host(library: str) -> Callable[[Callable[..., Any]], HostFunction]:
    """Decorate a host function, which calls the library function named ``library``."""
    return lambda function: HostFunction(function, library)


def results_of(run: Callable[..., Any], layouts: Sequence[Layout], *arguments: Any) -> tuple[Any, ...]:
    """Call a function of arrays, and return its results as the memory of tensors of these layouts."""
    result = run(*arguments)
    arrays = result if result.__class__ is tuple else (result,)
    return tuple([_memory(array, layout) for array, layout in zip(arrays, layouts, strict=True)])


def _memory(array: np.ndarray, layout: Layout) -> Any:
    """Return the memory of a tensor of this layout, which has no gaps, with the elements of an array."""
    dtype = layout.type.numpy
    strides = tuple([step * dtype.itemsize for step in layout.strides])
    buffer = array.ravel("K")
    if array.dtype != dtype or array.strides != strides:
        try:
            buffer = empty_buffer(layout.size, dtype)
        except RuntimeError:
            raise out_of_memory(layout.shape, dtype) from None
        np.ndarray(layout.shape, dtype, buffer, 0, strides)[...] = array
    return moved(buffer, layout.type.device)


class LinAlgError(RuntimeError):
    """A problem of linear algebra, such as a system of equations, has no solution that can be computed."""


@host("numpy.linalg.solve")
def linalg_solve(A, B, left):
    """Return the solution of ``A @ X = B``, or ``X @ A = B`` unless ``left``; ``B`` may be vectors."""
    vectors = B.ndim == 1 or B.shape == A.shape[:-1]
    matrices, values = (A, B[..., None] if vectors else B) if left else (A.mT, B.mT)
    try:
        result = np.linalg.solve(matrices, values)
    except np.linalg.LinAlgError:
        first = np.flatnonzero(np.linalg.slogdet(matrices).sign == 0)[0]
        which = f"(Batch element {first}): " if A.ndim > 2 else ""
        message = f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        raise LinAlgError(message) from None
    return result[..., 0] if vectors else result if left else result.mT


# -- Fourier transforms ---------------------------------------------------------------------------------------------

#: Names in pocketfft of the divisors of a transform: 1, the square root of the number of elements, and this number.
_FORWARD = ("backward", "ortho", "forward")

#: Names of these divisors for an inverse transform.
_INVERSE = _FORWARD[::-1]


@functools.cache
def _pocketfft(name: str, dims: tuple[int, ...]) -> Callable[..., Any]:
    """Return a transform over some dimensions: SciPy's, which is faster, where that is installed, else NumPy's."""
    try:
        library = importlib.import_module("scipy.fft")
    except ImportError:
        library = np.fft
    if len(dims) == 1:
        return functools.partial(getattr(library, name), axis=dims[0])
    return functools.partial(getattr(library, f"{name}n"), axes=dims)


@host("pocketfft.r2c")
def fft_r2c(input, dims, normalization, onesided):
    return _pocketfft("rfft" if onesided else "fft", dims)(input, norm=_FORWARD[normalization])


@host("pocketfft.c2c")
def fft_c2c(input, dims, normalization, forward):
    norm = _FORWARD[normalization] if forward else _INVERSE[normalization]
    return _pocketfft("fft" if forward else "ifft", dims)(input, norm=norm)


@host("pocketfft.c2r")
def fft_c2r(input, dims, normalization, last_dim_size):
    sizes = [*[input.shape[dim] for dim in dims[:-1]], last_dim_size]
    return _pocketfft("irfft", dims)(input, sizes if len(dims) > 1 else last_dim_size, norm=_INVERSE[normalization])
