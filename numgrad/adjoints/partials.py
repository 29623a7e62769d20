"""Formulas for the derivatives of scalar functions, as source, for reverse and forward mode.

In a formula, ``u`` is the argument and ``v`` the value of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .source import Names

#: Functions of one argument, by their names without the module.
UNARY = {
    "sin": "math.cos({u})", "cos": "-math.sin({u})", "tan": "1.0 + {v} * {v}",
    "asin": "1.0 / math.sqrt(1.0 - {u} * {u})", "acos": "-1.0 / math.sqrt(1.0 - {u} * {u})",
    "atan": "1.0 / (1.0 + {u} * {u})",
    "sinh": "math.cosh({u})", "cosh": "math.sinh({u})", "tanh": "1.0 - {v} * {v}",
    "asinh": "1.0 / math.sqrt({u} * {u} + 1.0)", "acosh": "1.0 / math.sqrt({u} * {u} - 1.0)",
    "atanh": "1.0 / (1.0 - {u} * {u})",
    "exp": "{v}", "expm1": "{v} + 1.0", "exp2": f"{{v}} * {0.6931471805599453}",
    "log": "1.0 / {u}", "log1p": "1.0 / (1.0 + {u})", "log2": f"{1 / 0.6931471805599453} / {{u}}",
    "log10": f"{0.4342944819032518} / {{u}}",
    "sqrt": "0.5 / {v}", "cbrt": "1.0 / (3.0 * {v} * {v})", "square": "2.0 * {u}", "reciprocal": "-{v} * {v}",
    "abs": "np.sign({u})", "fabs": "np.sign({u})",
    "erf": f"{1.1283791670955126} * math.exp(-{{u}} * {{u}})",
    "erfc": f"-{1.1283791670955126} * math.exp(-{{u}} * {{u}})",
    "negative": "-1.0", "positive": "1.0", "float": "1.0", "float64": "1.0", "float32": "1.0",
    "degrees": f"{57.29577951308232}", "radians": f"{0.017453292519943295}",
    "deg2rad": f"{0.017453292519943295}", "rad2deg": f"{57.29577951308232}",
}

#: NumPy's names of the same functions.
ALIASES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "absolute": "abs", "arctan2": "atan2", "power": "pow", "float_power": "pow",
}

#: Functions of two arguments ``a`` and ``b``: the partial derivatives.
BINARY = {
    "atan2": ("{b} / ({a} * {a} + {b} * {b})", "-{a} / ({a} * {a} + {b} * {b})"),
    "hypot": ("{a} / {v}", "{b} / {v}"),
    "logaddexp": ("math.exp({a} - {v})", "math.exp({b} - {v})"),
    "copysign": ("np.sign({a}) * math.copysign(1.0, {b})", "0.0"),
    "add": ("1.0", "1.0"), "subtract": ("1.0", "-1.0"), "multiply": ("{b}", "{a}"),
    "divide": ("1.0 / {b}", "-{v} / {b}"), "true_divide": ("1.0 / {b}", "-{v} / {b}"),
    "fmod": ("1.0", "-np.trunc({a} / {b})"), "mod": ("1.0", "-np.floor({a} / {b})"),
    "remainder": ("1.0", "-np.floor({a} / {b})"),
    "pow": ("{b} * {a} ** ({b} - 1)", "({v} * math.log({a}) if {a} > 0.0 else 0.0)"),
}

#: Functions that return one of their arguments, with the comparison that holds if it is the first.
CHOOSING = {"min": "<=", "max": ">=", "minimum": "<=", "maximum": ">=", "fmin": "<=", "fmax": ">="}

#: Functions whose derivative is zero wherever it exists.
CONSTANT = {
    "int", "len", "bool", "round", "floor", "ceil", "trunc", "rint", "sign", "int64", "int32", "int16", "int8",
    "uint8", "uint16", "uint32", "uint64", "isnan", "isinf", "isfinite", "searchsorted", "argmax", "argmin", "argsort",
    "any", "all", "digitize", "logical_and", "logical_or", "logical_xor", "logical_not", "floor_divide",
    "count_nonzero", "signbit", "isclose", "intp", "bool_",
}


class Derivatives:
    """Derivatives of the functions of numbers in the ``namespace`` of generated code, which ``derivative`` makes."""

    def __init__(self, names: Names, namespace: dict[str, Any], derivative: Callable[[Any, int], Any] | None = None):
        self.names, self.namespace, self.derivative = names, namespace, derivative
        self._found: dict[tuple[str, int], str] = {}

    def by(self, function: str, position: int) -> str:
        """Return the name of the derivative of a function by an argument."""
        key = function, position
        if key not in self._found:
            assert self.derivative is not None
            own = self._found[key] = self.names.fresh(f"{function}_by_{position}")
            self.namespace[own] = self.derivative(self.namespace[function], position)
        return self._found[key]


def base_of(function: str) -> str:
    """Return the name of a function without its module, which is its key in the tables."""
    base = function.rpartition(".")[2]
    return ALIASES.get(base, base)
