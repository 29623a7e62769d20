"""Operations on float16 and bfloat16: computed in float32, and rounded once.

Note [Half precision]
Tensors of float16 and bfloat16 are stored in two bytes per element, and computed in float32.  Pointwise kernels widen
what they read and narrow what they write (``halves`` in the kernels).  For all other operations the table does it
here: the plan of a call begins with copies of the operands in float32, goes on as for tensors of float32, and ends with
the results narrowed.  Sums, products and everything else are thus accumulated in float32, at the price of a copy.
Operations that only move elements are ``direct``: their steps take elements of any dtype.

Further results, which serve the rules of derivatives, stay in float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ...core.formats import kept_layout
from ...core.layout import Layout, layout_of
from ...core.types import dtype
from ...devices import Plan, TensorRef
from ...devices.plan import HostStep

__all__ = ["Widening", "converted", "has_halves", "is_mixed", "widened"]


def has_halves(details: Sequence[Any]) -> bool:
    """Return True if one of the layouts, or a dtype, among the arguments of a call is float16 or bfloat16."""
    return any(_dtype_of(value).is_half for value in _flat(details) if value.__class__ in (Layout, dtype))


def is_mixed(details: Sequence[Any]) -> bool:
    """Return True if the tensors of floating-point or complex numbers are of several dtypes."""
    dtypes = {value.type.dtype for value in _flat(details) if value.__class__ is Layout}
    return len({each for each in dtypes if each.differentiable}) > 1


def _flat(details: Sequence[Any]) -> list[Any]:
    first = details[0]
    return [*first, *details[1:]] if first.__class__ is tuple else list(details)


def _dtype_of(value: Layout | dtype) -> dtype:
    return value.type.dtype if isinstance(value, Layout) else value


class Widening:
    """The computation of a call in float32.

    Attributes:
        target: the dtype of the results, instead of float32; None if they stay in float32.
    """

    def __init__(self, details: Sequence[Any]):
        values = _flat(details)
        given = [value for value in values if value.__class__ is dtype]
        layouts = [value for value in values if value.__class__ is Layout and value.type.dtype.differentiable]
        chosen = given[0] if given else layouts[0].type.dtype
        self.target = chosen if chosen.is_half else None

    def arguments(self, p: Plan, arguments: Sequence[Any]) -> list[Any]:
        """Add copies of the operands of float16 and bfloat16 to a plan; return the arguments with them."""
        return [_widened(p, value) for value in arguments]

    def narrowed(self, p: Plan, results: Any, count: int) -> Any:
        """Return the results of a plan, those of float32 among the first ``count`` in the dtype ``target``."""
        target = self.target
        if target is None:
            return results
        if results is p:
            last = p.steps[-1]
            assert isinstance(last, HostStep)
            p.steps[-1] = last._replace(function=functools.partial(_narrow, last.function, target))
            return p
        several = results.__class__ is not TensorRef
        narrow = tuple([
            converted(p, result, target) if number < count and result.type.dtype is target.compute else result
            for number, result in enumerate(results if several else (results,))
        ])
        return narrow if several else narrow[0]


def _retyped(layout: Layout, dtype: dtype) -> Layout:
    return layout_of(layout.type.with_dtype(dtype), layout.shape, layout.strides)


def _widened(p: Plan, value: Any) -> Any:
    if value.__class__ is tuple:
        return tuple([_widened(p, each) for each in value])
    if value.__class__ is dtype:
        return value.compute
    return widened(p, value) if value.__class__ is TensorRef else value


def widened(p: Plan, tensor: TensorRef) -> TensorRef:
    """Return a tensor of a plan; one of float16 or bfloat16 as a copy in float32, with the same order of dimensions."""
    return converted(p, tensor, tensor.type.dtype.compute)


def converted(p: Plan, tensor: TensorRef, dtype: dtype) -> TensorRef:
    """Return a tensor of a plan in a dtype, as a copy if it has another, with the same order of dimensions."""
    if tensor.type.dtype is dtype:
        return tensor
    copy = p.new_tensor(_retyped(kept_layout(tensor.layout), dtype))
    p.assign(tensor, copy)
    return copy


def _narrow(function: Callable[..., Any], target: dtype, *operands: Any) -> Any:
    """Call a function that returns layouts and memory, and return them with ``target`` instead of float32."""
    layouts, memory = function(*operands)
    if layouts.__class__ is not tuple:
        return _narrow_one(layouts, memory, target)
    pairs = [_narrow_one(layout, each, target) for layout, each in zip(layouts, memory, strict=True)]
    return tuple([layout for layout, _ in pairs]), tuple([each for _, each in pairs])


def _narrow_one(layout: Layout, memory: Any, target: dtype) -> tuple[Layout, Any]:
    if layout.type.dtype is not target.compute:
        return layout, memory
    p = Plan(layout.type.backend, layout.type.device.index)
    result = converted(p, p.operand(layout), target)
    tensor = SimpleNamespace(_storage=memory, _offset=0, _layout=layout)
    return result.layout, p.returns(result).interpret(tensor)
