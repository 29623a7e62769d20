"""BLAS: which library multiplies matrices, where its functions are, and how many threads it may use.

Note [The threads of BLAS]
After a product OpenBLAS's threads wait for the next one by spinning, for some 20 ms.  A kernel's own threads then have
to share the cores with them: where products and kernels take turns, as in every network, each waits for the other's
time slice, and a step of a small network takes ten times as long.  So BLAS is called with one thread, with which no
other is woken, by each of the kernels' threads for a piece of the product.  That needs the address of its function
``cblas_?gemm``, which NumPy's own wheels have in a library under a known name.  With another NumPy, and for complex
numbers, products are NumPy's: those of middling size by one thread, as a second would gain little.  Where one
program's several threads multiply at once, the last to leave gives BLAS its threads back.

Note [The choice of BLAS]
Of Intel's MKL, if the package ``mkl`` is installed, and NumPy's OpenBLAS, the first is taken on Intel's processors,
for which it is made, and where NumPy has no OpenBLAS with 64-bit integers.  (On an AMD EPYC with AVX-512 OpenBLAS was
level with it, or ahead by up to a third with small matrices.)  Measuring instead, at the start of each process, would
make the last digits of a product depend on chance.  NUMGRAD_BLAS, one of "openblas", "mkl" and "numpy", overrides it.
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

#: Multiplications from which OpenBLAS uses several threads, and from which they are worth it.
MANY, _WORTHWHILE = 1 << 18, 1 << 25

#: The same where a factor is a vector.
MANY_FOR_VECTORS = 1 << 13

#: The functions of BLAS that kernels call, products of matrices, of matrices and vectors, and of vectors, and the
#: letters of the dtypes that they are called for.
FUNCTIONS = {"gemm": "sd", "gemv": "sd", "dot": "sd", "complex gemm": "cz"}

_DTYPES = dict(zip("sdcz", map(np.dtype, ("float32", "float64", "complex64", "complex128")), strict=True))

#: What precedes and follows the names of OpenBLAS's functions with 64-bit integers: in NumPy's wheels, elsewhere.
_NAMES = (("scipy_", "64_"), ("", "64_"))

_SEQUENTIAL = 1  # what MKL calls its layer that has no threads


class OpenBlas:
    """The OpenBLAS that NumPy uses, by its functions' own names."""

    name = "NumPy's OpenBLAS"

    def __init__(self, library: Any, prefix: str, suffix: str):
        self.addresses = _addresses(library, f"{prefix}cblas_{{}}{{}}{suffix}")
        self.get_num_threads = library[f"{prefix}openblas_get_num_threads{suffix}"]
        self.set_num_threads = library[f"{prefix}openblas_set_num_threads{suffix}"]


class Mkl:
    """Intel's MKL without threads of its own.

    Raises:
        OSError: another part of the program uses it with threads.
    """

    name = "MKL"

    def __init__(self, library: Any):
        if library.MKL_Set_Threading_Layer(_SEQUENTIAL) != _SEQUENTIAL:
            raise OSError("MKL uses threads already")
        self.addresses = _addresses(library, "cblas_{}{}_64")


def _addresses(library: Any, name: str) -> dict[str, dict[np.dtype, int]]:
    return {
        function: {
            _DTYPES[letter]: ctypes.cast(library[name.format(letter, function.split()[-1])], ctypes.c_void_p).value or 0
            for letter in letters
        }
        for function, letters in FUNCTIONS.items()
    }


@functools.cache
def openblas() -> OpenBlas | None:
    """NumPy's OpenBLAS, None if NumPy uses another BLAS or none with 64-bit integers."""
    extension = sys.modules["numpy._core._multiarray_umath"]
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(extension.__file__)  # which knows its own names and those of what it is linked to
        for names in _NAMES:
            with contextlib.suppress(AttributeError):
                return OpenBlas(library, *names)
    return None


@functools.cache
def mkl() -> Mkl | None:
    """The MKL of the package ``mkl``, None if it is not installed or cannot be used."""
    with contextlib.suppress(metadata.PackageNotFoundError, OSError, AttributeError):
        for file in metadata.files("mkl") or ():
            if file.name.startswith(("libmkl_rt.", "mkl_rt.")) and not file.name.endswith(".lib"):
                return Mkl(ctypes.CDLL(str(Path(str(file.locate())).resolve())))
    return None


@functools.cache
def chosen_blas() -> OpenBlas | Mkl | None:
    """The library for products of real matrices, None for NumPy's own: see Note [The choice of BLAS].

    Raises:
        ValueError: NUMGRAD_BLAS is none of the names it may be.
    """
    wanted = os.environ.get("NUMGRAD_BLAS", "")
    choices: dict[str, Callable[[], Any]] = {"openblas": openblas, "mkl": mkl, "numpy": lambda: None}
    if wanted:
        if wanted not in choices:
            raise ValueError(f"NUMGRAD_BLAS must be one of {', '.join(choices)}, not '{wanted}'")
        return choices[wanted]()
    return (mkl() or openblas()) if _is_intel() else (openblas() or mkl())


def _is_intel() -> bool:
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return "GenuineIntel" in platform.processor()


def blas_name() -> str:
    """What multiplies matrices of floating-point numbers."""
    library = chosen_blas()
    return "NumPy" if library is None else library.name


@functools.cache
def blas_addresses(function: str = "gemm") -> dict[np.dtype, int]:
    """The addresses of BLAS's ``function`` with 64-bit integers, by dtype; none if they are not known.

    That is "gemm", which multiplies matrices, "gemv", matrices and vectors, or "dot", vectors, all of them real; or
    "complex gemm".
    """
    library = chosen_blas()
    return {} if library is None else library.addresses[function]


class _OneThread:
    """A context in which OpenBLAS uses one thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.threads: list[int] = []

    @functools.cached_property
    def libraries(self) -> list[Any]:
        """The loaded libraries that spin: others' threads sleep."""
        known = openblas()
        if known is not None:
            return [known]
        import threadpoolctl  # when it is first needed: programs without such products start faster

        found = threadpoolctl.ThreadpoolController().lib_controllers
        return [library for library in found if library.internal_api == "openblas"]

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
        """Forget the threads of the parent: they do not exist in the child."""
        self.lock = threading.Lock()
        if self.inside:
            self.inside = 0
            self._set(self.threads)


def multiply_on_one_thread() -> None:
    """Have BLAS use one thread in this process from now on."""
    _one_thread.__enter__()


_one_thread, _as_it_is = _OneThread(), contextlib.nullcontext()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _one_thread.after_fork())


def is_on_one_thread() -> bool:
    """Whether BLAS uses one thread for the time being."""
    return _one_thread.inside > 0


def one_thread() -> Any:
    """The context in which the chosen BLAS uses one thread: see Note [The threads of BLAS]."""
    return _one_thread if isinstance(chosen_blas(), OpenBlas) else _as_it_is


def thread_functions() -> tuple[int, int] | None:
    """The addresses of what tells and what sets BLAS's threads, for machine code; None if ``one_thread`` does nothing.
    """
    library = chosen_blas()
    if not isinstance(library, OpenBlas):
        return None
    tell, set = [ctypes.cast(one, ctypes.c_void_p).value for one in (library.get_num_threads, library.set_num_threads)]
    return tell or 0, set or 0


def one_thread_for(rows: int, inner: int, columns: int) -> Any:
    """The context for NumPy's product of (rows, inner) and (inner, columns)."""
    many = MANY if rows > 1 and columns > 1 else MANY_FOR_VECTORS
    return _one_thread if many < rows * inner * columns < _WORTHWHILE else _as_it_is
