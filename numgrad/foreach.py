"""Functions of lists of tensors, such as ``_foreach_add_``, which optimizers written for PyTorch call.

Each applies the operation of its name to one tensor after the other.  It returns a tuple of results, or, if the name
ends with an underscore, overwrites the tensors and returns their list.  A second operand is a number, a 0-d tensor, or
a list with a number or a tensor for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .ops import public_functions
from .ops.table.checks import check_supported
from .ops.table.op import named
from .tensors.tensor import Tensor

#: Operations on one tensor; operations with a second operand; and those with two more tensors and a ``value``.
UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
]
BINARY = ["add", "clamp_max", "clamp_min", "div", "lerp", "maximum", "minimum", "mul", "pow", "sub"]
TERNARY = ["addcdiv", "addcmul"]

__all__ = [
    "_foreach_clone", "_foreach_copy_", "_foreach_max", "_foreach_mm", "_foreach_norm", "_foreach_powsum",
    "_foreach_zero_",
    *[f"_foreach_{name}{end}" for name in (*UNARY, *BINARY, *TERNARY) for end in ("", "_")],
]


def _each(name: str, tensors: Sequence[Tensor], *operands: Any) -> list[tuple[Any, ...]]:
    """Return the arguments of each call: a tensor, and its operands.

    Raises:
        TypeError: the tensors are not in a list or tuple.
        RuntimeError: there is no tensor, or a list is of another length.
    """
    if not isinstance(tensors, list | tuple):
        raise TypeError(f"{name}(): argument 'self' must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    columns = []
    for operand in operands:
        column = list(operand) if isinstance(operand, list | tuple) else [operand] * len(tensors)
        if len(column) != len(tensors):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(column)}"
            )
        columns.append(column)
    return list(zip(tensors, *columns, strict=True))


def _foreach(name: str, call: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    own_name = f"_foreach_{name}" + "_" * in_place

    def on_all(self: Sequence[Tensor], *operands: Any, **options: Any) -> Any:
        results = [call(*arguments, **options) for arguments in _each(own_name, self, *operands)]
        return list(self) if in_place else tuple(results)

    doc = f"Overwrite each tensor with ``{name}`` of it." if in_place else f"Return ``{name}`` of each tensor."
    return named(on_all, own_name, doc)


def _call(name: str) -> Callable[..., Any]:
    """Return the function of the first tensor and its operands that computes the operation ``name``."""
    if name.startswith(("maximum", "minimum")):  # numbers are bounds, too
        clamp = {"max": "clamp_min", "min": "clamp_max"}[name[:3]] + "_" * name.endswith("_")
        return vars(Tensor)[clamp]
    method = getattr(Tensor, name)
    if name.startswith("addc"):
        return lambda x, first, second, value=1: method(x, first, second, value=value)
    return method


def _ternary(name: str, in_place: bool) -> Callable[..., Any]:
    own_name, call = f"_foreach_{name}" + "_" * in_place, _call(name + "_" * in_place)

    def on_all(
        self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Any = 1
    ) -> Any:
        values = value.tolist() if isinstance(value, Tensor) else value
        results = [call(*arguments) for arguments in _each(own_name, self, tensor1, tensor2, values)]
        return list(self) if in_place else tuple(results)

    doc = f"Overwrite each tensor with ``{name}`` of it." if in_place else f"Return ``{name}`` of each tensor."
    return named(on_all, own_name, doc)


for _name in (*UNARY, *BINARY):
    globals()[f"_foreach_{_name}"] = _foreach(_name, _call(_name), False)
    globals()[f"_foreach_{_name}_"] = _foreach(_name, _call(f"{_name}_"), True)
for _name in TERNARY:
    globals()[f"_foreach_{_name}"], globals()[f"_foreach_{_name}_"] = _ternary(_name, False), _ternary(_name, True)
_foreach_clone = _foreach("clone", Tensor.clone, False)
_foreach_max = _foreach("max", public_functions["max"], False)
_foreach_copy_ = _foreach("copy", Tensor.copy_, True)
_foreach_zero_ = _foreach("zero", Tensor.zero_, True)


_foreach_mm = _foreach("mm", public_functions["mm"], False)


def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the ``ord``-norm of the elements of each tensor; ``ord`` may be a 0-d tensor."""
    norm, ord = public_functions["norm"], _number(ord)
    return tuple([norm(x.reshape(-1), ord, 0, dtype=dtype) for (x,) in _each("_foreach_norm", self)])


def _foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the sum of the magnitudes of each tensor's elements to the power ``ord``; it may be a 0-d tensor.

    Raises:
        NotImplementedError: the elements are integers.
    """
    ord, each = _number(ord), []
    for (x,) in _each("_foreach_powsum", self):
        check_supported(x._layout, "fc", "powsum_cpu")
        each.append((x if dtype is None else x.to(dtype)).abs().pow(ord).sum())
    return tuple(each)


def _number(ord: Any) -> Any:
    """Return an exponent as a number."""
    return ord.item() if isinstance(ord, Tensor) and not ord.dim() else ord
