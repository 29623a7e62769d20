"""Operations on tensors that autograd needs beyond tensor methods, registered by ``numgrad.ops``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Operations:
    """Functions of operations, ``vmap`` and devices that autograd calls."""

    # -- for the engine

    #: ``zeros(shape, type, strides=None, partner=None)``: zeros, as for a missing gradient.  ``strides`` set the order
    #: of dimensions in memory.  The result can be overwritten with the tensor ``partner``, also under ``vmap``.
    zeros: Callable[..., Any] = None  # type: ignore[assignment]
    #: ``ones(shape, type)``: the initial gradient of backward.
    ones: Callable[[tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``add_(total, gradient)``: add in place; faster than the method if nothing is recorded.
    add_: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``fit(gradient, shape, type)``: sum over broadcast dimensions, and convert the dtype.
    fit: Callable[[Any, tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: GPU streams; None until a stream other than a default one becomes current in some thread.  ``current()`` returns
    #: the streams that a node records, ``turns(nodes)`` yields nodes with their recorded streams current, and
    #: ``carried(function)`` wraps a function to run in another thread with this thread's streams.
    streams: Any = None

    # -- for forward mode and vmap

    #: ``write_tangent(tensor, level, tangent)``: overwrite the tangent of a tensor, or set it if there is none.
    write_tangent: Callable[[Any, Any, Any], None] = None  # type: ignore[assignment]
    #: ``writable_with(tensor, value)``: the tensor, or a copy with memory for every example if the value varies between
    #: examples and the tensor does not.
    writable_with: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``for_each(function, batches, count)``: call the function once under ``vmap`` and return its list of results.
    for_each: Callable[[Any, Any, int], list[Any]] = None  # type: ignore[assignment]
    #: ``stack(tensors)``: stack along a new first dimension, as in the batches passed to ``for_each``.
    stack: Callable[[Any], Any] = None  # type: ignore[assignment]

    # -- for the profiler

    #: The package ``numgrad.devices``, which notifies listeners of kernels compiled and launched.
    devices: Any = None


#: Filled in by ``numgrad.ops`` on import.
operations = Operations()
