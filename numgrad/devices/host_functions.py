"""Host functions: what NumPy, SciPy or LAPACK does where there is no kernel, for tensors on any device.

A host function has the parameters of the operation that names it (``operation(host=...)``), and is given arrays
instead of tensors, of their shapes and strides: on the CPU the tensors' own memory, which it only reads, for a GPU a
copy.  It returns a new array, or a tuple of them.  On the CPU that becomes the memory of the result, unless the
operation lays its result out in another way; then, and for a GPU, it is copied.

Where the package ``cpu`` or ``cuda`` has a function of the same name, that is used on this device, and the operation
does not mention it.  It builds the plan: it is given that and the arguments of the operation, tensors of the plan
instead of tensors, and returns the result, or a tuple of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.layout import Layout
from .launches import by_numpy
from .memory import empty_row, out_of_memory
from .moving import moved
from .plan import Array, Plan, TensorRef

__all__ = ["HostFunction", "LinAlgError", "fft_c2c", "fft_c2r", "fft_r2c", "host", "linalg_solve"]


class HostFunction:
    """A function of arrays instead of a kernel.

    Attributes:
        name: that of the function which builds a plan in its place, in the package of a device.
        library: the library's function that does the work, such as "numpy.sort": listeners are told of it.
    """

    def __init__(self, function: Callable[..., Any], library: str):
        self.name = function.__name__
        self.library = library
        self.run = by_numpy(library)(function)

    def add_to(self, p: Plan, out: Any, arguments: Sequence[Any]) -> tuple[TensorRef, ...]:
        """Add the call with the arguments of the operation to a plan, and return results of the layouts ``out``."""
        layouts = out if out.__class__ is tuple else (out,)
        given = [Array(one.memory.number) if one.__class__ is TensorRef else one for one in arguments]
        return p.host(results_of, layouts, self.run, layouts, *given)


def host(library: str) -> Callable[[Callable[..., Any]], HostFunction]:
    """Decorate what has a function of the library do the work of an operation."""
    return lambda function: HostFunction(function, library)


def results_of(run: Callable[..., Any], layouts: Sequence[Layout], *given: Any) -> tuple[Any, ...]:
    """The memory of what a function of arrays returns, as tensors of these layouts."""
    result = run(*given)
    arrays = result if result.__class__ is tuple else (result,)
    return tuple([_memory(array, layout) for array, layout in zip(arrays, layouts, strict=True)])


def _memory(array: np.ndarray, layout: Layout) -> Any:
    """The elements of an array as the memory of a tensor of this layout, which has no gaps."""
    dtype = layout.type.numpy
    strides = tuple([step * dtype.itemsize for step in layout.strides])
    row = array.ravel("K")
    if array.dtype != dtype or array.strides != strides:
        try:
            row = empty_row(layout.size, dtype)
        except RuntimeError:
            raise out_of_memory(layout.shape, dtype) from None
        np.ndarray(layout.shape, dtype, row, 0, strides)[...] = array
    return moved(row, layout.type.device)


class LinAlgError(RuntimeError):
    """A problem with matrices, such as a system of linear equations, has no solution that can be computed."""


@host("numpy.linalg.solve")
def linalg_solve(A, B, left):
    """What solves ``A @ X = B``, where ``B`` may be vectors, or unless ``left`` ``X @ A = B``."""
    vectors = B.ndim == 1 or B.shape == A.shape[:-1]
    matrices, values = (A, B[..., None] if vectors else B) if left else (A.mT, B.mT)
    try:
        result = np.linalg.solve(matrices, values)
    except np.linalg.LinAlgError:
        first = np.flatnonzero(np.linalg.slogdet(matrices).sign == 0)[0]
        which = f"(Batch element {first}): " if A.ndim > 2 else ""
        said = f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        raise LinAlgError(said) from None
    return result[..., 0] if vectors else result if left else result.mT


#: What NumPy calls a transform's normalizations: by 1, by the root of the number of elements, by this number.
_FORWARD = ("backward", "ortho", "forward")

#: The same for an inverse transform.
_INVERSE = _FORWARD[::-1]


@host("numpy.fft.rfft")
def fft_r2c(input, dim, normalization, onesided):
    transform = np.fft.rfft if onesided else np.fft.fft
    return transform(input, axis=dim[0], norm=_FORWARD[normalization])


@host("numpy.fft.fft")
def fft_c2c(input, dim, normalization, forward):
    if forward:
        return np.fft.fft(input, axis=dim[0], norm=_FORWARD[normalization])
    return np.fft.ifft(input, axis=dim[0], norm=_INVERSE[normalization])


@host("numpy.fft.irfft")
def fft_c2r(input, dim, normalization, last_dim_size):
    return np.fft.irfft(input, last_dim_size, dim[0], _INVERSE[normalization])
