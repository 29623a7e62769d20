"""The few operations on tensors that backward needs, handed to it: this package knows none itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Operations:
    """What the engine needs done with tensors."""

    add: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    add_: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    clone: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``copy(tensor)``: a copy whose elements lie in row-major order.
    copy: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``fit(gradient, shape, type)``: sum what broadcasting repeated, and convert the dtype.
    fit: Callable[[Any, tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``write_out(name, out, result)``: overwrite what was given as ``out`` of the function of this name.
    write_out: Callable[[str, Any, Any], Any] = None  # type: ignore[assignment]
    #: ``kept_copy(tensor)``: a copy of what is about to be overwritten, in its place in the graph.
    kept_copy: Callable[[Any], Any] = None  # type: ignore[assignment]
    ones: Callable[[tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``zeros(shape, type, strides=None, beside=None)``: with strides, their order of dimensions in memory; beside a
    #: tensor, so that they may be overwritten with that.
    zeros: Callable[..., Any] = None  # type: ignore[assignment]
    #: ``laid_out_as(tensor, tangent)``: the tangent with the tensor's strides, itself if it has them.
    laid_out_as: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``give_tangent(tensor, level, tangent)``: overwrite the tangent of a tensor that was changed, or give it one.
    give_tangent: Callable[[Any, Any, Any], None] = None  # type: ignore[assignment]
    #: ``overwrite(view, value)``: copy ``value`` (zeros for None) into a view, recorded where recording is on.
    overwrite: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``primal(tensor)``: a view of it that does not have its tangents.
    primal: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``regarded(tensor, shape, strides)``: the same memory as a tensor of another shape and other strides.
    regarded: Callable[[Any, tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``beneath(tensor)``: under ``vmap``, the places in the graph of the tensors that it stands for, and
    #: ``put_above(tensor, places)``, which gives these back to a tensor.
    beneath: Callable[[Any], tuple[Any, ...]] = None  # type: ignore[assignment]
    put_above: Callable[[Any, tuple[Any, ...]], None] = None  # type: ignore[assignment]
    #: ``for_each(function, batches, count)``: the list that the function returns, called once under ``vmap``.
    for_each: Callable[[Any, Any, int], list[Any]] = None  # type: ignore[assignment]
    #: ``room(tensor, value)``: the tensor, or a copy of it that may be overwritten with ``value`` where it may not be.
    room: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``transformed(call)``: do a call as watchers and levels want it.
    transformed: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: Who is told of kernels that are compiled or loaded: ``tell(name, begun, ended)``, in nanoseconds.
    kernel_listeners: list[Callable[[str, int, int], None]] = None  # type: ignore[assignment]
    #: ``listen(listener, devices)``: tell of every kernel that is run on the CPU or on GPUs, until ``unlisten``.
    listen: Callable[..., None] = None  # type: ignore[assignment]
    unlisten: Callable[[Callable[[Any], None]], None] = None  # type: ignore[assignment]
    #: ``gpu_count()``: how many GPUs can be used.
    gpu_count: Callable[[], int] = None  # type: ignore[assignment]
    #: ``stack(tensors)``: along a new first dimension.
    stack: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: The streams of GPUs, from when one that is no default one becomes the current one of a thread: ``current()`` is
    #: what a node notes, ``turns(nodes)`` yields nodes while the streams that they noted are the current ones, and
    #: ``carried(function)`` is the function to be called in another thread in place of this one.
    streams: Any = None
    #: ``elements(tensor)``: its elements as a NumPy array; if it stands for a batch of tensors, those of all.
    elements: Callable[[Any], Any] = None  # type: ignore[assignment]


#: Filled in by ``numgrad.ops`` when it is imported.
operations = Operations()
