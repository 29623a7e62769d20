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
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.device import backends
from ..core.layout import Layout, layout_of
from ..core.types import tensor_type, to_dtype
from .launches import by_numpy
from .memory import empty_buffer, out_of_memory
from .moving import moved
from .plan import Array, Plan, TensorRef

__all__ = ["HostFunction", "LinAlgError", "fft_c2c", "fft_c2r", "fft_r2c", "host", "lapack", "raise_failed"]


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


#: The ends of the errors of functions, by a part of their names; the placeholder is for what LAPACK reports.
_FAILURES = {
    "cholesky": "The factorization could not be completed because the input is not positive-definite (the leading "
    "minor of order {0} is not positive-definite).",
    "inv": "The diagonal element {0} is zero, the inversion could not be completed because the input matrix is "
    "singular.",
    "solve": "The solver failed because the input matrix is singular.",
    "lu_factor": "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
    "ldl_factor": "D[{0},{0}] is zero: the input matrix is singular, and using the factors in ldl_solve would result "
    "in a division by zero.",
    "svd": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "singular values (error code: {0}).",
    "lstsq": "The least squares solution could not be computed because the input matrix does not have full rank (error "
    "code: {0}).",
    "eig": "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
    "eigenvalues (error code: {0}).",
}


def raise_failed(info: np.ndarray, function: str, batched: bool) -> None:
    """Raise if a function has failed for a matrix; ``info`` are LAPACK's reports, 0 for success.

    Raises:
        LinAlgError: if so.
    """
    if not info.any():
        return
    first = np.flatnonzero(info)[0]
    reason = next(text for part, text in _FAILURES.items() if part in function)
    if info[first] < 0:
        reason = "The algorithm failed to converge because the input matrix contained non-finite values."
    which = f"(Batch element {first}): " if batched else ""
    raise LinAlgError(f"{function}: {which}{reason.format(abs(info[first]))}")


def _array(buffer: np.ndarray, layout: Layout) -> np.ndarray:
    strides = [step * buffer.itemsize for step in layout.strides]
    return np.ndarray(layout.shape, buffer.dtype, buffer, 0, strides)


def lapack(name: str) -> HostFunction:
    """Return the host function that runs the steps of the function ``name`` of the package ``cpu``."""

    def run(*arguments: Any) -> tuple[np.ndarray, ...]:
        p, given, operands = Plan(backends["cpu"]()), [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                array = np.ascontiguousarray(argument)
                layout = layout_of(tensor_type(to_dtype(array.dtype)), argument.shape)
                operands.append(SimpleNamespace(_storage=array.reshape(-1), _layout=layout, _offset=0))
                argument = p.operand(layout)
            given.append(argument)
        results = getattr(p.backend, name)(p, *given)
        results = (results,) if isinstance(results, TensorRef) else results
        memory = p.returns(*results).interpret(*operands)
        buffers = memory if isinstance(memory, tuple) else (memory,)
        return tuple([_array(buffer, tensor.layout) for buffer, tensor in zip(buffers, results, strict=True)])

    run.__name__ = name
    return HostFunction(run, f"lapack.{name}")


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
