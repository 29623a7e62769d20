"""The few operations on tensors that backward needs, handed to it: this package knows none itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Operations", "operations"]


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
    ones: Callable[[tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``zeros(shape, type, strides=None)``: with strides, their order of dimensions in memory.
    zeros: Callable[..., Any] = None  # type: ignore[assignment]
    #: ``tensor(row, shape, type)``: a tensor on a bare row of elements, and the class of such rows.
    tensor: Callable[[Any, tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    row_class: Any = None
    #: ``row_of(tensor)``: its elements as a row, or None where there is none and making one would not pay.
    row_of: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``add_rows(total, row)``: add a row to another in place.
    add_rows: Callable[[Any, Any], None] = None  # type: ignore[assignment]
    #: ``laid_out_as(tensor, tangent)``: the tangent with the tensor's strides, itself if it has them.
    laid_out_as: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``overwrite(view, value)``: copy ``value`` (zeros for None) into a view, recorded where recording is on.
    overwrite: Callable[[Any, Any], Any] = None  # type: ignore[assignment]
    #: ``primal(tensor)``: a view of it that does not have its tangents.
    primal: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``regarded(tensor, shape, strides)``: the same memory as a tensor of another shape and other strides.
    regarded: Callable[[Any, tuple[int, ...], Any], Any] = None  # type: ignore[assignment]
    #: ``transformed(call)``: do a call as watchers and levels want it.
    transformed: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``stack(tensors)``: along a new first dimension.
    stack: Callable[[Any], Any] = None  # type: ignore[assignment]
    #: ``first_bad(tensor, nan, infinite)``: the index of its first element that is NaN, or infinite, as asked for; or
    #: None.  It calls no operation of the table.
    first_bad: Callable[[Any, bool, bool], tuple[int, ...] | None] = None  # type: ignore[assignment]
    #: ``element(tensor, index)``: an element as a number of Python's.
    element: Callable[[Any, tuple[int, ...]], Any] = None  # type: ignore[assignment]
    #: ``snapshot(tensor)``: a copy, made without an operation of the table.
    snapshot: Callable[[Any], Any] = None  # type: ignore[assignment]


#: Filled in by ``numgrad.ops`` when it is imported.
operations = Operations()
