"""Memory for tensors, and launches of kernels: serial for small sizes, on several threads for large ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from numgrad_kernels.buffer_types import type_given
from numgrad_kernels.facts import facts_of
from numgrad_kernels.source import module_text
from numgrad_kernels.store import Kernel

from ...core.layout import Layout, numel
from .. import recording
from ..common import NUMBERS, filler, may_share_elements
from ..launches import compile_kernel, run_kernel
from ..memory import LARGE, empty_buffer, fill_array, filled_buffer, out_of_memory, zero_buffer
from .pointwise import pointwise_kernel
from .threads import PARALLEL_FROM, worth_threads

__all__ = ["BufferType", "empty", "filled", "launch", "memory_launcher", "share_elements", "zeros"]

#: The class of the buffers of tensors.
BufferType = np.ndarray


def empty(shape: tuple[int, ...], type: Any) -> np.ndarray:
    """Return uninitialised memory for a tensor."""
    try:
        buffer = empty_buffer(numel(shape), type.numpy)
    except RuntimeError:
        raise out_of_memory(shape, type.numpy) from None
    if recording.recorder is not None:
        recording.recorder.allocated(buffer)
    return buffer


_hand_written: dict[Any, Kernel] = {}

#: The source of each hand-written kernel: the function, the dtype, the signature, and the pairs of its parts.
hand_written_kernels: dict[Kernel, tuple[Callable[..., None], np.dtype, tuple[Any, ...], tuple[Any, ...]]] = {}


def launch(
    function: Callable[..., None], compute: np.dtype, *arguments: Any, size: int = 0, **parts: Callable[..., Any]
) -> None:
    """Run a hand-written kernel on buffers and numbers.

    ``function`` is compiled for these arguments.  Its placeholder ``T`` becomes ``compute``, and ``parts`` replace the
    functions of the same names.  Its ``prange`` loops run on several threads if the work, ``size`` elements, is large
    enough.
    """
    run_kernel(hand_written(function, compute, signature_of(arguments), size, parts.items()), arguments)


def signature_of(arguments: Iterable[Any]) -> tuple[Any, ...]:
    """Return the dtypes of buffers and the classes of numbers for which a kernel is compiled."""
    return tuple([argument.dtype if argument.__class__ is BufferType else argument.__class__ for argument in arguments])


def hand_written(
    function: Callable[..., None], compute: np.dtype, signature: tuple[Any, ...], size: int, parts: Iterable[Any]
) -> Kernel:
    """Return the hand-written kernel for a signature: dtypes of buffers and classes of numbers; see :func:`launch`.

    ``parts`` are pairs of a name and a function.  The kernel also takes buffers of other dtypes with elements of the
    same length, and reads their bits.
    """
    key = (function, compute, worth_threads(size), signature, *parts)
    return _hand_written.get(key) or _compiled(key)


def _compiled(key: Any) -> Kernel:
    function, compute, parallel, signature, *parts = key
    kernel = _hand_written[key] = compile_kernel(
        function.__name__,
        lambda: module_text(function, compute, dict(parts)),
        list(map(type_given, signature)),
        facts_of(function, compute),
        parallel=parallel,
    )
    hand_written_kernels[kernel] = function, compute, signature, tuple(parts)
    return kernel


def serial_kernel(kernel: Kernel) -> Kernel:
    """Return a hand-written kernel as one that runs on one thread."""
    function, compute, signature, parts = hand_written_kernels[kernel]
    return hand_written(function, compute, signature, 0, parts)


def zeros(shape: tuple[int, ...], type: Any) -> np.ndarray:
    """Return zeroed memory for a tensor."""
    count = numel(shape)
    return filled(shape, 0, type) if count >= PARALLEL_FROM else zero_buffer(count, type.numpy)


def memory_launcher(layout: Layout, zeroed: bool) -> Callable[[], np.ndarray]:
    """Return a function that returns new memory for a tensor of this layout."""
    if zeroed and layout.size * layout.type.numpy.itemsize < LARGE:
        return functools.partial(np.zeros, layout.size, layout.type.numpy)
    return functools.partial(zeros if zeroed else empty, layout.shape, layout.type)


def filled(shape: tuple[int, ...], value: Any, type: Any) -> np.ndarray:
    """Return memory for a tensor, filled with a number."""
    count, dtype = numel(shape), type.numpy
    if count < PARALLEL_FROM:
        return filled_buffer(count, value, dtype)
    buffer = empty(shape, type)
    if not worth_threads(count) or value.__class__ not in NUMBERS:
        fill_array(buffer, value)
        return buffer
    number: Any = value.__class__
    run_kernel(pointwise_kernel(filler(number, dtype), 1, True, True), (value, buffer))
    return buffer


def share_elements(left: Any, right: Any) -> bool:
    """Return True if two tensors share an element, or if that is hard to decide."""
    return may_share_elements(left._as_array(), right._as_array())
