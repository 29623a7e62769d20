"""What autograd needs done with tensors and no method of theirs does, handed to it: it knows no operation itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Operations:
    """What is done for autograd by operations, by ``vmap`` and by devices."""

    # -- for the engine

    #: ``zeros(shape, type, strides=None, beside=None)``: with strides, their order of dimensions in memory; beside a
    #: tensor, so that they may be overwritten with that.  Where a gradient is missing.
    zeros: Callable[..., Any] = None  # type: ignore[assignment]
    #: ``ones(shape, type)``: the gradient that backward begins with.
    ones: Callable[[tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``add_(total, gradient)``: add in place, which takes less time than the method where nothing is recorded.
    add_: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``fit(gradient, shape, type)``: sum what broadcasting repeated, and convert the dtype.
    fit: Callable[[Any, tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: The streams of GPUs, from when one that is no default one becomes the current one of a thread: ``current()`` is
    #: what a node notes, ``turns(nodes)`` yields nodes while the streams that they noted are the current ones, and
    #: ``carried(function)`` is the function to be called in another thread instead of this one.
    streams: Any = None

    # -- for forward mode and vmap

    #: ``write_tangent(tensor, level, tangent)``: overwrite the tangent of a tensor, or give it one.
    write_tangent: Callable[[Any, Any, Any], None] = None  # type: ignore[assignment]
    #: ``writable_with(tensor, value)``: the tensor, or a copy that has memory for every example, if the value differs
    #: from example to example and the tensor does not.
    writable_with: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``for_each(function, batches, count)``: the list that the function returns, called once under ``vmap``.
    for_each: Callable[[Any, Any, int], list[Any]] = None  # type: ignore[assignment]
    #: ``stack(tensors)``: along a new first dimension, the batches that ``for_each`` is given.
    stack: Callable[[Any], Any] = None  # type: ignore[assignment]

    # -- for the profiler

    #: The package ``numgrad.devices``, which tells listeners of the kernels that are compiled and launched.
    devices: Any = None


#: Filled in by ``numgrad.ops`` when it is imported.
operations = Operations()
