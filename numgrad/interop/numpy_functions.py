"""NumPy's functions on tensors: ``np.exp(tensor)``, ``np.mean(tensor, axis=0)``, ``array * tensor``.

A call is handled by the first case that applies:

1. Numgrad has an operation for the function and its arguments: the operation is called, and gradients flow.  The result
   is a tensor with numgrad's (that is, PyTorch's) dtypes.
2. The function's result has no derivative (``np.shape``, ``np.allclose`` ...), or no tensor among the arguments
   requires a gradient: NumPy computes on the tensors' elements, which are read-only, and the result is NumPy's.
3. Otherwise a gradient would be lost, and a TypeError is raised.

NumPy's functions never write to a tensor.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.types import get_default_dtype
from ..ops.creation.from_data import from_array, tensor
from ..ops.reductions.norms import vector_norm
from ..ops.table.op import attach, public_functions
from ..tensors.tensor import Tensor

#: The public functions, all of which exist when this module is imported.
ops = SimpleNamespace(**public_functions)

#: Ufuncs by the name of numgrad's function.
_UFUNCS = {name: name for name in public_functions if isinstance(vars(np).get(name), np.ufunc)} | {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "degrees": "rad2deg", "divide": "div", "equal": "eq",
    "greater": "gt", "greater_equal": "ge", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne", "power": "pow",
    "radians": "deg2rad", "right_shift": "bitwise_right_shift", "rint": "round", "subtract": "sub",
}  # fmt: skip

#: The ufuncs that accept only tensors here.
_OF_TENSORS = frozenset({
    "arctan2", "fmax", "fmin", "heaviside", "hypot", "logaddexp", "logaddexp2", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum",
})  # fmt: skip

#: Functions whose results have no derivative.
_ANSWERS = frozenset({
    "allclose", "array2string", "array_equal", "array_equiv", "array_repr", "array_str", "can_cast", "common_type",
    "count_nonzero", "digitize", "iscomplexobj", "isclose", "isrealobj", "may_share_memory", "min_scalar_type", "ndim",
    "result_type", "searchsorted", "shape", "shares_memory", "size",
})  # fmt: skip


def _flat(a: Tensor, axis: Any) -> tuple[Tensor, int]:
    """Return the flattened array and axis 0 if ``axis`` is None, otherwise the array and its axis."""
    return (ops.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def _mean(a, axis=None, dtype=None, *, keepdims=False):
    if dtype is None and not (a.is_floating_point() or a.is_complex()):
        dtype = get_default_dtype()
    return ops.mean(a, axis, keepdims, dtype=dtype)


def _reshape(a, /, shape, order="C", *, copy=None):
    return ops.reshape(a, shape) if order == "C" and copy is None else NotImplemented


def _transpose(a, axes=None):
    return ops.permute(a, tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


def _expand_dims(a, axis):
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    rank = a.ndim + len(axes)
    for dim in sorted([axis_number + rank if axis_number < 0 else axis_number for axis_number in axes]):
        a = ops.unsqueeze(a, dim)
    return a


def _concatenate(arrays, /, axis=0):
    arrays = [_as_tensor(a) for a in arrays]
    return ops.cat([ops.reshape(a, (-1,)) for a in arrays] if axis is None else arrays, axis or 0)


def _split(ary, indices_or_sections, axis=0):
    if isinstance(indices_or_sections, int) and ary.size(axis) % indices_or_sections:
        raise ValueError(f"{indices_or_sections} sections do not divide {ary.size(axis)} rows equally")
    return list(ops.tensor_split(ary, indices_or_sections, axis))


def _where(condition, *choices):
    if choices:
        return ops.where(_as_tensor(condition), *choices)
    return ops.nonzero(condition, as_tuple=True)


def _clip(a, a_min=None, a_max=None, *, min=None, max=None):
    return ops.clamp(a, min if a_min is None else a_min, max if a_max is None else a_max)


def _dot(a, b):
    if not (a.ndim and b.ndim):
        return ops.mul(a, b)
    return ops.matmul(a, b) if b.ndim <= 2 else NotImplemented


def _norm(x, ord=None, axis=None, keepdims=False):
    of_vectors = x.ndim == 1 if axis is None else isinstance(axis, int)
    if ord is not None and not (of_vectors and isinstance(ord, int | float)):
        return NotImplemented
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(get_default_dtype())
    return vector_norm(x, 2 if ord is None else ord, axis, keepdims)


def _take(a, indices, axis=None):
    a, axis = _flat(a, axis)
    return a[(slice(None),) * (axis % a.ndim) + (_as_tensor(indices),)]


def _sort(a, axis=-1):
    a, axis = _flat(a, axis)
    return ops.sort(a, axis)[0]


def _reduction(name: str, everything: Any = None) -> Callable[..., Any]:
    return lambda a, axis=None, *, keepdims=False: getattr(ops, name)(
        a, everything if axis is None else axis, keepdims
    )


def _spread(name: str) -> Callable[..., Any]:
    return lambda a, axis=None, *, ddof=0, keepdims=False: getattr(ops, name)(
        a, axis, correction=ddof, keepdim=keepdims
    )


def _along(name: str, axis: int | None = None) -> Callable[..., Any]:
    return lambda a, axis=axis: getattr(ops, name)(*_flat(a, axis))


def _together(name: str) -> Callable[..., Any]:
    return lambda arrays: getattr(ops, name)([_as_tensor(a) for a in arrays])


def _like(name: str) -> Callable[..., Any]:
    return lambda a, dtype=None: getattr(ops, name)(a, dtype=dtype)


#: Other functions, with the parameters of NumPy's that an operation supports, translated to numgrad's.  They return
#: NotImplemented for unsupported arguments.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    # reductions
    "sum": lambda a, axis=None, dtype=None, *, keepdims=False: ops.sum(a, axis, keepdims, dtype=dtype),
    "mean": _mean,
    "prod": lambda a, axis=None, dtype=None, *, keepdims=False: (
        ops.prod(a, dtype=dtype) if axis is None and not keepdims else ops.prod(a, axis, keepdims, dtype=dtype)
    ),
    **dict.fromkeys(["max", "amax"], _reduction("amax", ())), **dict.fromkeys(["min", "amin"], _reduction("amin", ())),
    "argmax": _reduction("argmax"), "argmin": _reduction("argmin"), "any": _reduction("any"), "all": _reduction("all"),
    "std": _spread("std"), "var": _spread("var"),
    "cumsum": _along("cumsum"), "cumprod": _along("cumprod"),
    "linalg.norm": _norm,
    # shapes
    "reshape": _reshape,
    "ravel": lambda a: ops.reshape(a, (-1,)),
    "transpose": _transpose,
    "swapaxes": lambda a, axis1, axis2: ops.transpose(a, axis1, axis2),
    "moveaxis": lambda a, source, destination: ops.movedim(a, source, destination),
    "expand_dims": _expand_dims,
    "squeeze": lambda a, axis=None: ops.squeeze(a) if axis is None else ops.squeeze(a, axis),
    "broadcast_to": lambda array, shape: ops.broadcast_to(array, shape),
    "flip": lambda m, axis=None: ops.flip(m, tuple(range(m.ndim)) if axis is None else axis),
    "roll": lambda a, shift, axis=None: ops.roll(a, shift) if axis is None else ops.roll(a, shift, axis),
    "tile": lambda a, reps: ops.tile(a, reps if isinstance(reps, tuple | list) else (reps,)),
    "repeat": lambda a, repeats, axis=None: ops.repeat_interleave(a, repeats, axis),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: ops.diagonal(a, offset, axis1, axis2),
    "diag": lambda v, k=0: ops.diag(v, k),
    "tril": lambda m, k=0: ops.tril(m, k),
    "triu": lambda m, k=0: ops.triu(m, k),
    # splitting and joining
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0: ops.stack([_as_tensor(a) for a in arrays], axis),
    "vstack": _together("vstack"), "hstack": _together("hstack"), "dstack": _together("dstack"),
    "column_stack": _together("column_stack"),
    "split": _split,
    "array_split": lambda ary, indices_or_sections, axis=0: list(ops.tensor_split(ary, indices_or_sections, axis)),
    "take": _take,
    "take_along_axis": lambda arr, indices, axis=-1: ops.take_along_dim(arr, indices, axis),
    "where": _where,
    "nonzero": _where,
    "sort": _sort, "argsort": _along("argsort", -1),
    # products
    "dot": _dot,
    "outer": lambda a, b: ops.outer(ops.reshape(a, (-1,)), ops.reshape(b, (-1,))),
    "tensordot": lambda a, b, axes=2: ops.tensordot(a, b, axes),
    "einsum": lambda subscripts, *operands: ops.einsum(subscripts, *operands),
    # elementwise
    "clip": _clip,
    "round": lambda a, decimals=0: ops.round(a, decimals=decimals),
    "around": lambda a, decimals=0: ops.round(a, decimals=decimals),
    "real": lambda val: ops.real(val), "imag": lambda val: ops.imag(val), "angle": lambda z: ops.angle(z),
    "copy": lambda a: ops.clone(a),
    "zeros_like": _like("zeros_like"), "ones_like": _like("ones_like"), "empty_like": _like("empty_like"),
    "full_like": lambda a, fill_value, dtype=None: ops.full_like(a, fill_value, dtype=dtype),
}  # fmt: skip


_signature = functools.cache(inspect.signature)


def _as_tensor(value: Any) -> Any:
    """Return an operand in numgrad's form: an array as a tensor (on its memory if possible), a scalar as a number."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        if not any(isinstance(item, Tensor | np.ndarray | list | tuple) for item in value):
            return tensor(value)
        parts = [_as_tensor(item) for item in value]
        return ops.stack([part if isinstance(part, Tensor) else tensor(part) for part in parts])
    if not isinstance(value, np.ndarray):
        return value
    if not value.dtype.isnative or any(step < 0 for step in value.strides):
        value = np.array(value, value.dtype.newbyteorder("="))
    return from_array(value)


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Implement ``__array_ufunc__`` as described at the top of this file."""
    out = kwargs.get("out", ())
    if any(_is_foreign(value) for value in (*inputs, *out)):
        return NotImplemented
    if any(isinstance(value, Tensor) for value in out) or (method == "at" and isinstance(inputs[0], Tensor)):
        raise _out_error(ufunc.__name__)
    name = _UFUNCS.get(ufunc.__name__)
    if name is not None and method == "__call__" and not kwargs:
        operands = [_as_tensor(value) for value in inputs]
        if ufunc.__name__ in _OF_TENSORS:
            common = ops.result_type(*operands)
            operands = [value if isinstance(value, Tensor) else tensor(value, dtype=common) for value in operands]
        return getattr(ops, name)(*operands)
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    return _by_numpy(getattr(ufunc, method), name, inputs, kwargs)


def _is_foreign(value: Any) -> bool:
    """Return True if a value has its own ``__array_ufunc__``."""
    theirs = getattr(type(value), "__array_ufunc__", None)
    return theirs not in (None, np.ndarray.__array_ufunc__, _array_ufunc)


def _array_function(self: Tensor, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Implement ``__array_function__`` as described at the top of this file."""
    if not all(issubclass(cls, Tensor | np.ndarray) for cls in types):
        return NotImplemented
    if isinstance(kwargs.get("out"), Tensor):
        raise _out_error(function.__name__)
    kwargs = {key: value for key, value in kwargs.items() if key != "out" or value is not None}
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    translated = _FUNCTIONS.get(name)
    if translated is not None:
        try:
            bound = _signature(translated).bind(*map(_operand, args), **{k: _operand(v) for k, v in kwargs.items()})
        except TypeError:  # an argument that no operation supports
            pass
        else:
            result = translated(*bound.args, **bound.kwargs)
            if result is not NotImplemented:
                return result
    return _by_numpy(function, name, args, kwargs)


def _operand(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else _as_tensor(value)


def _by_numpy(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """Call NumPy's function on the elements.

    Raises:
        TypeError: a gradient would be lost.
    """
    lossless = name in _ANSWERS

    def elements(value: Any) -> Any:
        if isinstance(value, Tensor):
            if value.requires_grad and not lossless:
                raise TypeError(
                    f"numpy.{name}() cannot pass on the gradient of a tensor (shape {list(value.shape)}) that requires "
                    "one: numgrad has no operation for it, or not for these arguments. Give it tensor.detach().numpy()"
                )
            array = value._array().view()
            array.flags.writeable = False
            return array
        if isinstance(value, list | tuple):
            items = [elements(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return {key: elements(item) for key, item in value.items()} if type(value) is dict else value

    return function(*elements(tuple(args)), **elements(kwargs))


def _out_error(name: str) -> TypeError:
    return TypeError(
        f"numpy.{name}() cannot write to a tensor: the argument 'out' must be an array. Use an in-place method of the "
        "tensor, such as copy_"
    )


attach("__array_ufunc__", _array_ufunc)
attach("__array_function__", _array_function)
