"""MPI, loaded through mpi4py when the first process group is made, and the MPI datatypes of elements."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

__all__ = ["datatype_of", "message", "mpi", "overruns_memory"]


@functools.cache
def mpi() -> Any:
    """Return the module of MPI's functions, which initializes MPI when it is imported.

    Raises:
        ImportError: mpi4py is not installed.
        RuntimeError: it finds no MPI library.
    """
    try:
        return importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise ImportError(
            f"numgrad.distributed needs mpi4py: pip install 'numgrad-jit[distributed]' ({error})"
        ) from None
    except RuntimeError as error:
        raise RuntimeError(
            f"mpi4py finds no MPI library: install one, such as MPICH with 'pip install mpich' ({error})"
        ) from None


@functools.cache
def overruns_memory() -> bool:
    """Return True for Open MPI, which writes messages of unexpected length beyond the memory of the receiver."""
    return mpi().Get_library_version().startswith("Open MPI")


#: MPI's names of NumPy's dtypes.  Elements of float16 and bfloat16 travel as 16 bits: see ``reductions``.
_NAMES = {
    "bool": "C_BOOL", "int8": "INT8_T", "int16": "INT16_T", "int32": "INT32_T", "int64": "INT64_T",
    "uint8": "UINT8_T", "uint16": "UINT16_T", "uint32": "UINT32_T", "uint64": "UINT64_T", "float32": "FLOAT",
    "float64": "DOUBLE", "complex64": "C_FLOAT_COMPLEX", "complex128": "C_DOUBLE_COMPLEX", "float16": "UINT16_T",
    "void16": "UINT16_T",
}


@functools.cache
def datatype_of(dtype: np.dtype) -> Any:
    """Return the MPI datatype of a NumPy dtype; ``V2``, that of bfloat16, included."""
    return getattr(mpi(), _NAMES[dtype.name])


def message(array: np.ndarray) -> list[Any]:
    """Return a contiguous array as mpi4py's description of a buffer.

    It has no number of elements: for some calls that would be the number for each rank."""
    return [array, datatype_of(array.dtype)]
