"""Steps that call LAPACK for each matrix of a batch, and the memory that its routines work in."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from numgrad_kernels.cpu.lapack import lapack

from ..memory import or_empty
from ..plan import Buffer, Plan
from .blas import WORTHWHILE, blas_addresses
from .threads import PARALLEL_FROM

#: The parameters of each routine.  A routine with different parameters for complex numbers has an entry "c".
_PARAMETERS = {
    name: parameters.split()
    for name, parameters in {
        "potrf": "uplo n x n info",
        "getrf": "m n x m pivots info",
        "getri": "n x n pivots work lwork info",
        "getrs": "trans n k x n pivots y n info",
        "trsm": "side uplo trans diag m n work x lda y m",
        "geqrf": "m n x m y work lwork info",
        "orgqr": "m k r x m y work lwork info",
        "ungqr": "m k r x m y work lwork info",
        "gels": "trans m n k x m y ldy work lwork info",
        "gelsy": "m n k x m y ldy pivots rcond rank work lwork info",
        "cgelsy": "m n k x m y ldy pivots rcond rank work lwork rwork info",
        "syevd": "job uplo n x n reals work lwork iwork liwork info",
        "heevd": "job uplo n x n reals work lwork rwork lrwork iwork liwork info",
        "gesdd": "job m n x m reals y m z ldz work lwork iwork info",
        "cgesdd": "job m n x m reals y m z ldz work lwork rwork iwork info",
        "geev": "no job n x n y imaginary y n z n work lwork info",
        "cgeev": "no job n x n y y n z n work lwork rwork info",
        "sytrf": "uplo n x n pivots work lwork info",
        "hetrf": "uplo n x n pivots work lwork info",
        "sytrs": "uplo n k x n pivots y n info",
        "hetrs": "uplo n k x n pivots y n info",
    }.items()
}

#: The arrays of the kernel, in order, and the parameters that lie in them.
_ARRAYS = ("x", "y", "z", "work", "reals", "rwork", "numbers", "iwork")

#: Parameters in which a routine returns the sizes of the arrays that it works in, and these arrays.
_SIZES = {"lwork": "work", "lrwork": "rwork", "liwork": "iwork"}

#: Greatest number of parts of the work, each of which has its own memory to work in.
_WORKERS = 16

#: Number of operations of LAPACK that take as long as one element of a pointwise kernel.
_OPERATIONS = 8

_INTEGERS = np.dtype(np.int64)


class Place(NamedTuple):
    """A parameter within an array of the kernel: its first element, and the step from one matrix to the next."""

    array: str
    start: int = 0
    step: int = 0


def has_lapack(dtype: np.dtype) -> bool:
    """Return True if the addresses of LAPACK's routines are known."""
    return dtype in blas_addresses("getrf")


def call_lapack(
    p: Plan, routine: str, count: int, sizes: Mapping[str, int | str], steps: Mapping[str, int | Place], work: float,
    x: Buffer, y: Buffer | None = None, z: Buffer | None = None, reals: Buffer | None = None,
    numbers: Buffer | None = None, **fixed: int,
) -> Buffer:  # fmt: skip
    """Add the calls of a routine for ``count`` matrices; return the buffer of what it reports, one number for each.

    Args:
        sizes: the values of parameters that are numbers or letters.
        steps: for the parameters that are arrays, the steps from one matrix to the next.
        work: number of operations for one matrix.
        numbers: int64 memory of the reports and, after them, the pivots; by default for the reports alone.
        fixed: the sizes of arrays that a routine works in and whose sizes it does not return.
    """
    if numbers is None:
        numbers = p.new(count, _INTEGERS)
    if not x.size:
        p.fill(numbers, 0)
        return numbers.part(0, count)
    dtype = x.dtype
    address = blas_addresses(routine)[dtype]
    names = _PARAMETERS.get("c" * (dtype.kind == "c") + routine) or _PARAMETERS[routine]
    values = {name: ord(value) if isinstance(value, str) else value for name, value in sizes.items()}
    lengths = {**_lengths(routine, dtype, address, tuple(names), tuple(values.items())), **fixed}
    values |= {name: lengths[array] for name, array in _SIZES.items() if name in names}
    enough = count * work / _OPERATIONS >= PARALLEL_FROM
    workers = min(count, _WORKERS) if enough else 1
    plan, constants = [count, workers, len(names)], list(values)
    begin = 3 + 4 * len(names)
    for name in names:
        if name in values:
            plan += 8, begin + constants.index(name), 0, 0
        elif name in lengths:
            plan += _ARRAYS.index(name), 0, 0, lengths[name]
        elif name == "info":
            plan += _ARRAYS.index("numbers"), 0, 1, 0
        else:
            step = steps[name]
            place = step if isinstance(step, Place) else Place(name, 0, step)
            plan += _ARRAYS.index(place.array), place.start, place.step, 0
    real = np.dtype(dtype.char.lower())
    scratch = {
        array: p.new(workers * lengths[array], kind) if array in lengths else None
        for array, kind in (("work", dtype), ("rwork", real), ("iwork", _INTEGERS))
    }
    if routine == "trsm" and scratch["work"] is not None:  # the factor of the right-hand sides
        p.fill(scratch["work"], 1)
    p.run(
        lapack, dtype, address, np.array([*plan, *values.values()], np.int64), x, or_empty(y, dtype),
        or_empty(z, dtype), or_empty(scratch["work"], dtype), or_empty(reals, real), or_empty(scratch["rwork"], real),
        numbers, or_empty(scratch["iwork"], _INTEGERS), work=int(count * work / _OPERATIONS) if workers > 1 else 1,
        one_thread=count > 1 or work < WORTHWHILE,  # see Note [The threads of BLAS]
    )  # fmt: skip
    return numbers.part(0, count)


@functools.lru_cache(maxsize=1024)
def _lengths(
    routine: str, dtype: np.dtype, address: int, names: tuple[str, ...], values: tuple[tuple[str, int], ...]
) -> dict[str, int]:
    """Return the lengths of the arrays that a routine works in, which it returns if these lengths are -1."""
    known = {name: ctypes.c_int64(value) for name, value in values}
    if "lwork" not in names:
        return {"work": 1} if "work" in names else {}
    arrays = {name: np.zeros(8, dtype) for name in names}
    arrays |= {name: np.zeros(8, np.int64) for name in ("iwork", "info", "pivots")}
    arrays |= {name: np.zeros(8, dtype.char.lower()) for name in ("rwork", "reals")}
    known |= {name: ctypes.c_int64(-1) for name in _SIZES}
    pointers = [
        ctypes.addressof(known[name]) if name in known else arrays[name].ctypes.data for name in names
    ]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address)(*pointers)
    return {array: int(arrays[array][0].real) for name, array in _SIZES.items() if name in names}
