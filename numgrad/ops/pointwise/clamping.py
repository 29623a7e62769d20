"""Elementwise maximum and minimum, and clamping to bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels import scalar

from ...core.types import bool_
from ...tensors.tensor import Tensor
from ..table.callables import of_tensors, overload
from ..table.checks import not_implemented
from ..table.declaring import pointwise
from ..table.op import public
from ..table.promotion import LARGEST_FLOAT32, check_fits, result_dtype
from .comparison import isnan, where


@pointwise("MaximumBackward0", inplace=False, export=False)
def maximum_op(input, other):
    """The larger of two numbers; NaN if either is NaN.

    Example:
        >>> import numgrad
        >>> numgrad.maximum(numgrad.tensor([1, 5]), numgrad.tensor([3, 2]))
        tensor([3, 5])
    """
    return scalar.maximum(input, other)


@pointwise("MinimumBackward0", inplace=False, export=False)
def minimum_op(input, other):
    """The smaller of two numbers; NaN if either is NaN.

    Example:
        >>> import numgrad
        >>> numgrad.minimum(numgrad.tensor([1, 5]), numgrad.tensor([3, 2]))
        tensor([1, 2])
    """
    return scalar.minimum(input, other)


@maximum_op.gradient("input")
@minimum_op.gradient("other")
def _(grad, input, other):
    return where(input == other, grad / 2, where(input < other, 0, grad))


@maximum_op.gradient("other")
@minimum_op.gradient("input")
def _(grad, input, other):
    return where(input == other, grad / 2, where(input > other, 0, grad))


@pointwise("FmaxBackward0", inplace=False, export=False)
def fmax_op(input, other):
    """The larger of two numbers; NaN only if both are NaN."""
    return where((input >= other) | (other != other), input, other)


@fmax_op.gradient("input")
def _(grad, input, other):
    return where((input >= other) | isnan(other), grad, 0)


@fmax_op.gradient("other")
def _(grad, input, other):
    return where((input >= other) | isnan(other), 0, grad)


@pointwise("FminBackward0", inplace=False, export=False)
def fmin_op(input, other):
    """The smaller of two numbers; NaN only if both are NaN."""
    return where((input <= other) | (other != other), input, other)


@fmin_op.gradient("input")
def _(grad, input, other):
    return where((input <= other) | isnan(other), grad, 0)


@fmin_op.gradient("other")
def _(grad, input, other):
    return where((input <= other) | isnan(other), 0, grad)


maximum, minimum = of_tensors(maximum_op), of_tensors(minimum_op)
fmax, fmin = of_tensors(fmax_op), of_tensors(fmin_op)


# -- clamp -----------------------------------------------------------------------------------------------------


@pointwise("ClampBackward0", dtypes="if", export=False)
def clamp_op(input, min, max):
    """``input``, but at least ``min``, and at most ``max``, which takes precedence."""
    return scalar.minimum(scalar.maximum(input, min), max)


@clamp_op.gradient("input")
def _(grad, input, min, max):
    return where((input >= min) & (input <= max), grad, 0)


@clamp_op.gradient("min")
def _(grad, input, min, max):
    return where((min < max) & (input < min), grad, 0)


@clamp_op.gradient("max")
def _(grad, input, min, max):
    return where((max < min) | (input > max), grad, 0)


@pointwise("ClampMinBackward1", export=False)
def clamp_min_op(input, min):
    """``input``, but at least ``min``."""
    return scalar.maximum(input, min)


@clamp_min_op.gradient("input")
def _(grad, input, min):
    return where(input >= min, grad, 0)


@clamp_min_op.gradient("min")
def _(grad, input, min):
    return where(input < min, grad, 0)


@pointwise("ClampMaxBackward1", export=False)
def clamp_max_op(input, max):
    """``input``, but at most ``max``."""
    return scalar.minimum(input, max)


@clamp_max_op.gradient("input")
def _(grad, input, max):
    return where(input <= max, grad, 0)


@clamp_max_op.gradient("max")
def _(grad, input, max):
    return where(input > max, grad, 0)


_clamp_by_numbers = overload(clamp_op, "ClampBackward1", "min", "max")
_clamp_min_by_number = overload(clamp_min_op, "ClampMinBackward0", "min")
_clamp_max_by_number = overload(clamp_max_op, "ClampMaxBackward0", "max")

#: ``clamp`` with one bound: a tensor, or a number.
_above, _below = overload(clamp_min_op, "ClampBackward0"), overload(clamp_max_op, "ClampBackward0")
_above_number = overload(clamp_min_op, "ClampBackward1", "min")
_below_number = overload(clamp_max_op, "ClampBackward1", "max")


def _bounded(op: Any, inplace: bool, input: Tensor, *bounds: Any) -> Tensor:
    """Return the operation applied with these bounds.

    Raises:
        TypeError: a bound is neither a tensor nor a number.
        RuntimeError, NotImplementedError: the result cannot hold a number among the bounds, or is bool.
    """
    for bound in bounds:
        if not (bound.__class__ in (float, int) and -LARGEST_FLOAT32 <= bound <= LARGEST_FLOAT32):
            break  # float32 may not hold the bound
    else:
        if input.__class__ is Tensor and input._layout.type.dtype.is_floating_point:
            return op.inplace(input, *bounds) if inplace else op.op.short(input, *bounds)
    bounds = tuple([bound.item() if isinstance(bound, np.generic) else bound for bound in bounds])
    for bound in bounds:
        if not isinstance(bound, Tensor | int | float):
            raise TypeError(f"clamp(): 'min' and 'max' must be numbers or Tensors, not {type(bound).__name__}")
    if not all(isinstance(bound, Tensor) for bound in bounds):
        dtype = result_dtype([input, *bounds])
        if dtype is bool_:
            name = op.op.name.replace("_op", "_scalar_cpu")
            raise not_implemented(name, input._layout, dtype="Bool")
        for bound in bounds:
            if not isinstance(bound, Tensor):
                check_fits(bound, dtype)
    return (op.inplace if inplace else op)(input, *bounds)


#: The operation by the classes of the bounds, if both are numbers or missing.
_SHORT = {
    (low, high): _clamp_by_numbers if low and high else _above_number if low else _below_number
    for low in (float, int, None)
    for high in (float, int, None)
    if low or high
}


@public(in_place=True, direct=True)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, inplace: bool = False) -> Tensor:
    """``input``, but at least ``min`` and at most ``max``: two numbers, two tensors, or one bound alone.

    If ``min`` exceeds ``max``, the result is ``max``; NaN stays NaN.  At a bound the derivative for ``input`` is 1.

    Raises:
        RuntimeError: there is no bound.

    Example:
        >>> import numgrad
        >>> numgrad.clamp(numgrad.tensor([-1.0, 0.5, 3.0]), min=0, max=1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    low, high = None if min is None else min.__class__, None if max is None else max.__class__
    op = _SHORT.get((low, high))
    if op is not None:
        return _bounded(op, inplace, input, *((min, max) if low and high else (min,) if low else (max,)))
    bounds = [bound for bound in (min, max) if bound is not None]
    tensors = sum(isinstance(bound, Tensor) for bound in bounds)
    if not bounds:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if len(bounds) == 2 and tensors == 1 and any(isinstance(bound, Tensor) and bound._layout.shape for bound in bounds):
        raise TypeError(
            "clamp(): 'min' and 'max' must both be numbers or both be Tensors, not "
            f"{type(min).__name__} and {type(max).__name__}"
        )
    if len(bounds) == 2:
        op = clamp_op if tensors == 2 else _clamp_by_numbers
    elif max is None:
        op = _above if tensors else _above_number
    else:
        op = _below if tensors else _below_number
    return _bounded(op, inplace, input, *bounds)


@public(in_place=True, direct=True)
def clamp_min(input: Tensor, min: Any, *, inplace: bool = False) -> Tensor:
    """``input``, but at least ``min``, a number or a tensor."""
    return _bounded(clamp_min_op if isinstance(min, Tensor) else _clamp_min_by_number, inplace, input, min)


@public(in_place=True, direct=True)
def clamp_max(input: Tensor, max: Any, *, inplace: bool = False) -> Tensor:
    """``input``, but at most ``max``, a number or a tensor."""
    return _bounded(clamp_max_op if isinstance(max, Tensor) else _clamp_max_by_number, inplace, input, max)
