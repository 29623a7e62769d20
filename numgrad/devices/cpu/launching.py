"""Memory for tensors, and kernels run on it: serially below a size, on several threads above it."""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from numgrad_kernels.pointwise import Operand, Program, argument_types, kernel_text
from numgrad_kernels.source import module_text
from numgrad_kernels.store import Kernel

from ..._layout import loop_nest, numel
from ..compiling import compile_kernel
from ..launches import bind
from ..memory import empty_row, filled_row, out_of_memory, zero_row

__all__ = [
    "NUMBERS", "PARALLEL_FROM", "Row", "add_rows", "as_number", "empty", "filled", "flat_launcher", "launch",
    "number_type", "pointwise_kernel", "pointwise_kernels", "run_pointwise", "share_elements", "worth_threads", "zeros",
]

#: Elements from which the simplest kernels, such as an addition, are run on several threads.
#:
#: Note [When threads pay]: handing half of the work to a second thread takes some 7 microseconds.  Microseconds on one
#: and on two cores of an AMD EPYC: an addition of 65,536 elements 9 and 12, of 131,072 18 and 18; sin of 32,768 16 and
#: 14, of 65,536 32 and 24; softmax of 16,384 23 and 17, of 65,536 79 and 42.  More cores gain more.  So the size is
#: weighed with the work that an element is (``Program.weight``, the ``size`` given to ``launch``).
PARALLEL_FROM = 65536

#: The class of the rows that tensors keep their elements in.
Row = np.ndarray

#: How often a thread of GNU's OpenMP looks whether the others are done before it sleeps: some 400 microseconds.
#:
#: Note [Threads that wait]: GNU's own number is thirty times as large, 11 ms on an AMD EPYC.  Where other processes use
#: the cores, a kernel's thread then spins away the time slice in which the one that it waits for would have come: tanh
#: of a million elements took 16 ms in the mean, with this number 4, as on one thread.  On a core of its own a thread
#: still spins from one kernel to the next, unless the program does something else for longer; then the next kernel
#: wakes it, which takes some 35 microseconds.
_SPINS = "10000"


def _load_openmp(variables: MutableMapping[str, str] = os.environ) -> None:
    """Load GNU's OpenMP with this number, which it reads when it is loaded, unless the user has set how it waits."""
    if "OMP_WAIT_POLICY" in variables or "GOMP_SPINCOUNT" in variables:
        return
    variables["GOMP_SPINCOUNT"] = _SPINS
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:  # another threading layer will be used
        pass
    finally:
        del variables["GOMP_SPINCOUNT"]  # other libraries, and other processes, wait as they are used to


_load_openmp()


def _threads_start() -> bool:
    """Whether Numba has the threading layer that was asked for, if one was; said here if not, before much is computed.
    """
    if numba.config.THREADING_LAYER == "default":  # one there always is, and the threads start when they are needed
        return True
    try:
        numba.get_num_threads()
    except ValueError as error:
        warnings.warn(
            f"Numba has no threading layer {numba.config.THREADING_LAYER!r} here (NUMBA_THREADING_LAYER), so all is "
            f"computed on one thread. {error}",
            RuntimeWarning, stacklevel=2,
        )
        return False
    return True


_threads_allowed = _threads_start()


def worth_threads(size: int) -> bool:
    """Whether work on so many elements is split over threads."""
    return size >= PARALLEL_FROM and _threads_allowed and numba.get_num_threads() > 1


def _serial_after_fork() -> None:
    global _threads_allowed
    _threads_allowed = False  # the threads of the parent do not exist in the child, and waiting for them hangs


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_serial_after_fork)


def empty(shape: tuple[int, ...], type: Any) -> np.ndarray:
    """Uninitialised memory for a tensor, as one row."""
    try:
        return empty_row(numel(shape), type.numpy)
    except RuntimeError:
        raise out_of_memory(shape, type.numpy) from None


def run_pointwise(program: Program, values: Sequence[Any], outs: Sequence[Any]) -> None:
    """Run a program over tensors, broadcast to the shape of ``outs``; numbers are passed as they are."""
    shape = outs[0]._layout.shape
    rows = []
    for value in (*values, *outs):
        if value.__class__ in NUMBERS:
            rows.append(value)
        elif value._flat is not None and (value._layout.shape is shape or value._layout.shape == shape):
            rows.append(value._flat)
        else:
            _run_strided(program, values, outs)
            return
    size = outs[0]._flat.size
    pointwise_kernel(program, 1, True, worth_threads(size * program.weight)).entry(*rows)


#: The classes of numbers, which are passed to a kernel as they are.
NUMBERS = frozenset({bool, int, float, complex})


def _run_strided(program: Program, values: Sequence[Any], outs: Sequence[Any]) -> None:
    shape = outs[0]._layout.shape
    size = numel(shape)
    if size == 0:
        return
    everything = (*values, *outs)
    tensors = [value for value in everything if value.__class__ not in NUMBERS]
    sizes, steps = loop_nest(
        shape,
        tuple([(t._layout.shape, t._layout.strides) for t in tensors]),
        tuple([t._layout.type.numpy.itemsize for t in tensors]),
    )
    arguments = []
    step = iter(steps)
    for value in everything:
        if value.__class__ in NUMBERS:
            arguments.append(value)
        else:
            kind = value._layout.type.numpy
            arguments.append(np.ndarray(sizes, kind, value._storage, value._offset * kind.itemsize, next(step)))
    inner = inner_strides(steps, [argument.dtype.itemsize for argument in arguments if argument.__class__ is Row])
    pointwise_kernel(program, len(sizes), False, worth_threads(size * program.weight), inner).entry(*arguments)


def inner_strides(steps: Sequence[tuple[int, ...]], itemsizes: Sequence[int]) -> str:
    """How arrays with these steps in bytes lie in the innermost loop, as ``kernel_text`` wants to know it."""
    letters = "".join(
        "c" if own[-1] == item else "r" if own[-1] == 0 else "a" for own, item in zip(steps, itemsizes, strict=True)
    )
    return "a" * len(letters) if "a" in letters else letters  # one kernel for all that is not simple


#: What each pointwise kernel was made from: the program, the rank of its arrays and whether these are rows.
pointwise_kernels: dict[Kernel, tuple[Program, int, bool]] = {}


def pointwise_kernel(program: Program, rank: int, contiguous: bool, parallel: bool, inner: str = "") -> Kernel:
    """The program's kernel over rows (``rank`` 1 and ``contiguous``) or arrays of any strides."""
    key = (rank, contiguous, parallel, inner)
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compile_kernel(
            program.name,
            lambda: kernel_text(program, rank, parallel, inner),
            argument_types(program, rank, contiguous),
            parallel=parallel,
        )
        pointwise_kernels[kernel] = program, rank, contiguous
    return kernel


def as_number(tensor: Any) -> Any:
    """The one value that a tensor repeats, as a Python number for a kernel; None if it may have several.

    Reading a value costs nothing on this device, and a kernel reads a number faster than a tensor of stride 0.
    """
    if not tensor._layout.shape or (not any(tensor._layout.strides) and tensor._storage.size):
        return tensor._storage.item(tensor._offset)
    return None


def flat_launcher(program: Program, type: Any) -> Callable[..., Any]:
    """A function that runs ``program`` over rows of equal length and returns the new output, or outputs.

    It is the short way for the common case, and takes the flat arrays themselves, of tensors on the device of ``type``.
    """
    dtypes = [dtype for _, dtype in program.outputs]
    lead = next(n for n, operand in enumerate(program.arguments) if not operand.scalar)
    weight = program.weight
    serial: Callable[..., None] | None = None
    new = np.empty

    def take_entry() -> None:
        nonlocal serial
        serial = pointwise_kernel(program, 1, True, False).entry

    def launch_any(*rows: Any) -> Any:
        size = rows[lead].size
        outs = [empty_row(size, dtype) for dtype in dtypes]
        if worth_threads(size * weight):
            pointwise_kernel(program, 1, True, True).entry(*rows, *outs)
        else:
            if serial is None:
                bind(take_entry)
            serial(*rows, *outs)  # type: ignore[misc]
        return outs if len(outs) > 1 else outs[0]

    dtype = dtypes[0]
    if len(dtypes) == 1 and len(program.arguments) == 1:

        def launch_unary(row: Any) -> Any:
            size = row.size
            if serial is None or size * weight >= PARALLEL_FROM:
                return launch_any(row)
            out = new(size, dtype)
            serial(row, out)
            return out

        return launch_unary
    if len(dtypes) == 1 and len(program.arguments) == 2 and lead == 0:

        def launch_binary(row: Any, other: Any) -> Any:
            size = row.size
            if serial is None or size * weight >= PARALLEL_FROM:
                return launch_any(row, other)
            out = new(size, dtype)
            serial(row, other, out)
            return out

        return launch_binary
    if len(dtypes) == 2:
        second = dtypes[1]

        def launch_pair(*rows: Any) -> Any:
            size = rows[lead].size
            if serial is None or size * weight >= PARALLEL_FROM:
                return launch_any(*rows)
            out, other = new(size, dtype), new(size, second)
            serial(*rows, out, other)
            return out, other

        return launch_pair
    return launch_any


def _sum_of(total, row):
    return total + row


@functools.cache
def row_adder(dtype: np.dtype) -> Program:
    """The program that adds a row to another, on whatever device."""
    operands = Operand("total", dtype), Operand("row", dtype)
    return Program("add_rows", dtype, operands, (("out", dtype),), (_sum_of,))


def add_rows(total: np.ndarray, row: np.ndarray) -> None:
    """Add a row to another of its length and dtype, in place."""
    if total.size >= PARALLEL_FROM:
        parallel = worth_threads(total.size)
        pointwise_kernel(row_adder(total.dtype), 1, True, parallel).entry(total, row, total)
    else:
        _serial_adder(total.dtype).entry(total, row, total)


@functools.cache
def _serial_adder(dtype: np.dtype) -> Kernel:
    return pointwise_kernel(row_adder(dtype), 1, True, False)


_hand_written: dict[Any, Kernel] = {}


def launch(
    function: Callable[..., None], compute: np.dtype, *arguments: Any, size: int = 0, **parts: Callable[..., Any]
) -> None:
    """Run a hand-written kernel on rows of elements and numbers.

    ``function`` is compiled for these arguments with its placeholder ``T`` standing for ``compute``, and with the
    functions ``parts`` in place of those of these names; its ``prange`` loops run on several threads if the work,
    ``size`` elements, is worth it.
    """
    parallel = worth_threads(size)
    kinds = tuple([a.dtype if a.__class__ is Row else a.__class__ for a in arguments])
    key: Any = (function, compute, parallel, kinds, *parts.items()) if parts else (function, compute, parallel, kinds)
    kernel = _hand_written.get(key)
    if kernel is None:
        kernel = _hand_written[key] = compile_kernel(
            function.__name__,
            lambda: module_text(function, compute, parts),
            [_argument_type(k) for k in kinds],
            parallel=parallel,
        )
    kernel.entry(*arguments)


def _argument_type(kind: Any) -> types.Type:
    if isinstance(kind, np.dtype):
        return types.Array(from_dtype(kind), 1, "C")
    return {bool: types.boolean, int: types.int64, float: types.float64, complex: types.complex128}[kind]


def zeros(shape: tuple[int, ...], type: Any) -> np.ndarray:
    """Zeroed memory for a tensor, as one row."""
    count = numel(shape)
    return filled(shape, 0, type) if count >= PARALLEL_FROM else zero_row(count, type.numpy)


def filled(shape: tuple[int, ...], value: Any, type: Any) -> np.ndarray:
    """Memory for a tensor, as one row, filled with a number."""
    count, kind = numel(shape), type.numpy
    if count < PARALLEL_FROM:
        return filled_row(count, value, kind)
    row = empty(shape, type)
    if not worth_threads(count) or value.__class__ not in NUMBERS:
        row.fill(value)
        return row
    number: Any = value.__class__
    pointwise_kernel(filler(number, kind), 1, True, True).entry(value, row)
    return row


def _same(value):
    return value


@functools.cache
def filler(number: Any, dtype: np.dtype) -> Program:
    """The program that fills a row with a number of a Python class, on whatever device."""
    return Program("fill", dtype, (Operand("value", np.dtype(number), scalar=True),), (("out", dtype),), (_same,))


def share_elements(left: Any, right: Any) -> bool:
    """Whether an element of one tensor is an element of the other, too; taken to be so where it is hard to tell."""
    try:
        return np.shares_memory(left._array(), right._array(), max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def number_type(kind: type) -> np.dtype:
    """The dtype in which a kernel takes a Python number."""
    return np.dtype(kind)
