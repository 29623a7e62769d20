"""Pointwise functions of single numbers, for functions that Numba compiles.

They can be called in functions decorated with ``numba.njit``, ``numba.cuda.jit`` and ``numgrad.vectorize``, and in
plain Python.  Each computes what numgrad's function of the same name computes for an element of a tensor.  float32
gives float32, computed in float32; of several floats the widest one decides; integers count as float64.

Example:
    >>> import numba
    >>> from numgrad import scalar
    >>> @numba.njit
    ... def layer(x, w, b):
    ...     return scalar.gelu(w * x + b)
    >>> print(f"{layer(1.0, 2.0, -0.5):.6f}")
    1.399789
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from .devices import function_in
from .ops.table.elementwise import Pointwise
from .ops.table.op import ops

#: The functions, by the names of their operations where these differ.
_NAMES = [
    "abs", "acos", "acosh", "airy_ai", "asin", "asinh", "atan", "atan2", "atanh", "bessel_j0", "bessel_j1",
    "bessel_y0", "bessel_y1", "ceil", "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "copysign", "cos", "cosh", "deg2rad", "digamma", "elu", "entr", "erf", "erfc",
    "erfcx", "erfinv", "exp", "exp2", "expm1", "floor", "fmax", "fmin", "fmod", "frac", "gammainc", "gammaincc",
    "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "heaviside", "hermite_polynomial_h",
    "hermite_polynomial_he", "huber", "hypot", "i0", "i0e", "i1", "i1e", "laguerre_polynomial_l", "leaky_relu",
    "legendre_polynomial_p", "lerp", "lgamma", "log", "log10", "log1p", "log2", "log_ndtr", "logaddexp",
    "logaddexp2", "logit", "logsigmoid", "maximum", "minimum", "mish", "modified_bessel_k0", "modified_bessel_k1",
    "mse", "ndtri", "pow", "rad2deg", "reciprocal", "relu", "remainder", "round", "rsqrt",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sigmoid",
    "sign", "silu", "sin", "sinc", "sinh", "smooth_l1", "softplus", "softshrink", "softsign", "spherical_bessel_j0",
    "sqrt", "tan", "tanh", "tanhshrink", "trunc", "where", "xlog1py", "xlogy", "zeta",
]
_OPERATIONS = {"pow": "pow_tensor", "where": "choose", "gammainc": "igamma", "gammaincc": "igammac"}

__all__ = [*_NAMES]


def function_of(op: Pointwise, function_name: str) -> Callable[..., Any]:
    """Return the function of scalars that computes an operation."""
    names = ", ".join([*op.inputs, *[f"{name}={value!r}" for name, value in op.attributes.items()]])
    arguments = ", ".join([*op.inputs, *op.attributes])
    scope: dict[str, Any] = {"computed": functools.partial(_computed, op), "typed": functools.partial(_typed, op)}
    text = (
        f"def {function_name}({names}):\n    return computed({arguments})\n"
        f"def implementation({names}):\n    return typed({', '.join(op.inputs)})\n"
    )
    exec(text, scope)  # Numba compares the parameters of the two
    function = scope[function_name]
    function.__module__, function.__doc__, function.op = __name__, op.function.__doc__, op
    overload(function, jit_options={"error_model": "numpy"})(scope["implementation"])
    return function


@functools.cache
def _in(op: Pointwise, compute: np.dtype) -> Callable[..., Any]:
    return function_in(compute, op.function)


def _compute(dtypes: Sequence[Any]) -> np.dtype:
    floats = [each for each in dtypes if np.dtype(each).kind == "f"]
    return np.result_type(*floats) if floats else np.dtype(np.float64)


def _typed(op: Pointwise, *kinds: Any) -> Any:
    kinds = tuple([getattr(kind, "literal_type", kind) for kind in kinds])
    if not all(isinstance(kind, types.Float | types.Integer | types.Boolean) for kind in kinds):
        return None
    return _in(op, _compute([as_dtype(kind) for kind in kinds]))


def _computed(op: Pointwise, *values: Any) -> Any:
    compute = _compute([np.result_type(value) for value in values[: len(op.inputs)]])
    with np.errstate(all="ignore"):
        return _in(op, compute)(*values)


def _operation(function_name: str) -> Any:
    named = _OPERATIONS.get(function_name, function_name)
    return ops.get(named) or ops[f"{named}_op"]


globals().update({function_name: function_of(_operation(function_name), function_name) for function_name in _NAMES})
