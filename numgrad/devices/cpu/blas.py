"""BLAS and LAPACK: the library that has both, the addresses of its functions, and its number of threads.

Note [The threads of BLAS]
After a product the threads of OpenBLAS spin for some 20 ms, waiting for the next product.  The threads of kernels then
share the cores with them.  Where products and kernels alternate, as in every network, each waits for the time slice of
the other, and a step of a small network takes ten times as long.  So each thread of a kernel calls BLAS for a piece of
the product, and BLAS uses one thread, which wakes no other.  That needs the address of the function ``cblas_?gemm``,
which NumPy's wheels have in a library with a known name.  With another NumPy, and for complex numbers, NumPy computes
products: those of medium size on one thread, as a second thread would gain little.  If several threads of a program
multiply at the same time, the last to finish restores the threads of BLAS.

Note [The choice of BLAS]
The choice is between Intel's MKL, if the package ``mkl`` is installed, and NumPy's OpenBLAS.  MKL is used on Intel's
processors, and if NumPy has no OpenBLAS with 64-bit integers.  (On an AMD EPYC with AVX-512, OpenBLAS was equally fast,
or up to a third faster for small matrices.)  Measuring at the start of each process would make the last digits of
products random.  NUMGRAD_BLAS, one of "openblas", "mkl" and "numpy", overrides the choice.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import sys
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

#: The fewest multiplications for which OpenBLAS uses several threads, and for which several are faster than one.
MANY, WORTHWHILE = 1 << 18, 1 << 25

#: The fewest multiplications for which OpenBLAS uses several threads if a factor is a vector.
MANY_FOR_VECTORS = 1 << 13

#: The functions of BLAS that kernels call, products of matrices, of matrices and vectors, and of vectors, and the
#: letters of their dtypes.
FUNCTIONS = {"gemm": "sd", "gemv": "sd", "dot": "sd", "complex gemm": "cz"}

#: The routines of LAPACK, and of BLAS's Fortran interface, that kernels call, and the letters of their dtypes.
ROUTINES = {
    **dict.fromkeys(("gels", "gelsy", "gesdd", "geev", "geqrf", "getrf", "getri", "getrs", "potrf"), "sdcz"),
    **dict.fromkeys(("sytrf", "sytrs", "trsm"), "sdcz"),
    **dict.fromkeys(("orgqr", "syevd"), "sd"), **dict.fromkeys(("heevd", "hetrf", "hetrs", "ungqr"), "cz"),
}

_DTYPES = dict(zip("sdcz", map(np.dtype, ("float32", "float64", "complex64", "complex128")), strict=True))

#: Prefixes and suffixes of the names of OpenBLAS's functions with 64-bit integers: in NumPy's wheels, and elsewhere.
_NAMES = (("scipy_", "64_"), ("", "64_"))

_SEQUENTIAL = 1  # the constant of MKL for its threading layer without threads


class OpenBlas:
    """The OpenBLAS of NumPy."""

    name = "NumPy's OpenBLAS"

    def __init__(self, library: Any, prefix: str, suffix: str):
        self.addresses = _addresses(library, f"{prefix}cblas_{{}}{{}}{suffix}", f"{prefix}{{}}{{}}_{suffix}")
        self.get_num_threads = library[f"{prefix}openblas_get_num_threads{suffix}"]
        self.set_num_threads = library[f"{prefix}openblas_set_num_threads{suffix}"]


class Mkl:
    """Intel's MKL, without threads.

    Raises:
        OSError: another part of the program uses it with threads.
    """

    name = "MKL"

    def __init__(self, library: Any):
        if library.MKL_Set_Threading_Layer(_SEQUENTIAL) != _SEQUENTIAL:
            raise OSError("MKL uses threads already")
        self.addresses = _addresses(library, "cblas_{}{}_64", "{}{}_64")


def _addresses(library: Any, name: str, fortran: str) -> dict[str, dict[np.dtype, int]]:
    """Return the addresses of a library's functions; its BLAS has all, and its LAPACK may be missing."""
    found = {
        function: {_DTYPES[letter]: _address(library, name.format(letter, function.split()[-1])) for letter in letters}
        for function, letters in FUNCTIONS.items()
    }
    with contextlib.suppress(AttributeError):
        found |= {
            routine: {_DTYPES[letter]: _address(library, fortran.format(letter, routine)) for letter in letters}
            for routine, letters in ROUTINES.items()
        }
    return found


def _address(library: Any, name: str) -> int:
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0


@functools.cache
def openblas() -> OpenBlas | None:
    """Return NumPy's OpenBLAS; None if NumPy uses another BLAS, or one without 64-bit integers."""
    extension = sys.modules["numpy._core._multiarray_umath"]
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(extension.__file__)  # finds its own symbols and those of its dependencies
        for names in _NAMES:
            with contextlib.suppress(AttributeError):
                return OpenBlas(library, *names)
    return None


@functools.cache
def mkl() -> Mkl | None:
    """Return the MKL of the package ``mkl``; None if it is not installed or unusable."""
    with contextlib.suppress(metadata.PackageNotFoundError, OSError, AttributeError):
        for file in metadata.files("mkl") or ():
            if file.name.startswith(("libmkl_rt.", "mkl_rt.")) and not file.name.endswith(".lib"):
                return Mkl(ctypes.CDLL(str(Path(str(file.locate())).resolve())))
    return None


@functools.cache
def chosen_blas() -> OpenBlas | Mkl | None:
    """Return the library for products of real matrices; None for NumPy: see Note [The choice of BLAS].

    Raises:
        ValueError: NUMGRAD_BLAS is not one of the valid names.
    """
    name = os.environ.get("NUMGRAD_BLAS", "")
    choices: dict[str, Callable[[], Any]] = {"openblas": openblas, "mkl": mkl, "numpy": lambda: None}
    if name:
        if name not in choices:
            raise ValueError(f"NUMGRAD_BLAS must be one of {', '.join(choices)}, not '{name}'")
        return choices[name]()
    return (mkl() or openblas()) if _is_intel() else (openblas() or mkl())


def _is_intel() -> bool:
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return "GenuineIntel" in platform.processor()


def blas_name() -> str:
    """Return the name of the library that multiplies matrices of floating-point numbers."""
    library = chosen_blas()
    return "NumPy" if library is None else library.name


@functools.cache
def blas_addresses(function: str = "gemm") -> dict[np.dtype, int]:
    """Return the addresses of a ``function`` of BLAS with 64-bit integers, by dtype; an empty dict if they are unknown.

    The function is "gemm", "gemv" or "dot", for real numbers, "complex gemm", or one of ``ROUTINES``.
    """
    library = chosen_blas()
    return {} if library is None else library.addresses.get(function, {})


class _OneThread:
    """Context manager in which OpenBLAS uses one thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.threads: list[int] = []

    @functools.cached_property
    def libraries(self) -> list[Any]:
        """The loaded libraries whose threads spin."""
        numpys = openblas()
        if numpys is not None:
            return [numpys]
        import threadpoolctl  # only here: programs without such products start faster

        libraries = threadpoolctl.ThreadpoolController().lib_controllers
        return [library for library in libraries if library.internal_api == "openblas"]

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.threads = [library.get_num_threads() for library in self.libraries]
                self._set([1] * len(self.libraries))
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self._set(self.threads)

    def _set(self, threads: list[int]) -> None:
        for library, number in zip(self.libraries, threads, strict=True):
            library.set_num_threads(number)

    def after_fork(self) -> None:
        """Forget the threads of the parent, which do not exist in the child."""
        self.lock = threading.Lock()
        if self.inside:
            self.inside = 0
            self._set(self.threads)


def multiply_on_one_thread() -> None:
    """Make BLAS use one thread in this process from now on."""
    _one_thread.__enter__()


_one_thread, _unchanged = _OneThread(), contextlib.nullcontext()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _one_thread.after_fork())


def is_on_one_thread() -> bool:
    """Return True if BLAS currently uses one thread."""
    return _one_thread.inside > 0


def one_thread() -> Any:
    """Return the context in which the chosen BLAS uses one thread: see Note [The threads of BLAS]."""
    return _one_thread if isinstance(chosen_blas(), OpenBlas) else _unchanged


def thread_functions() -> tuple[int, int] | None:
    """Return the addresses of the functions that get and set BLAS's threads; None if ``one_thread`` has no effect."""
    library = chosen_blas()
    if not isinstance(library, OpenBlas):
        return None
    functions = library.get_num_threads, library.set_num_threads
    get, set = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
    return get or 0, set or 0


def one_thread_for(rows: int, inner: int, columns: int) -> Any:
    """Return the context for NumPy's product of (rows, inner) and (inner, columns)."""
    many = MANY if rows > 1 and columns > 1 else MANY_FOR_VECTORS
    return _one_thread if many < rows * inner * columns < WORTHWHILE else _unchanged
