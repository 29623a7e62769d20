"""Methods made of other operations: Python's operators, PyTorch's second names, and further forms in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import LEVELS, no_grad, state
from ..autograd.views import record_inplace
from ..devices.recording import place_read
from ..tensors.tensor import Tensor, check_in_place, show_elements_of
from .memory.copying import kept_copy
from .memory.overwriting import copy_
from .pointwise import arithmetic as p
from .pointwise import comparison, exponential, integers
from .table.arguments import checked
from .table.callables import operator
from .table.checks import check_type
from .table.forms import OPERANDS
from .table.op import attach, named, named_in_place, public, public_functions
from .table.out import not_cast

# -- Python's operators ------------------------------------------------------------------------------------------------


def _guarded(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """Return an operator that returns NotImplemented for an unknown type, so that Python tries the other operand."""

    def call(self: Tensor, other: Any) -> Tensor:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return call


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    return _guarded(lambda self, other: function(other, self))


def _quotient_of(self: Tensor, other: Any) -> Any:
    """Return ``other / self``; for a number, by the reciprocal, as in PyTorch."""
    return p.mul(p.reciprocal(self), other) if isinstance(other, int | float | complex) else p.div(other, self)


def _inverted(self: Tensor) -> Tensor:
    """Return ``~self``."""
    check_type(
        self._layout.type.dtype.kind not in "fc",
        "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not on {}", self.dtype, self,
    )
    return integers.bitwise_not(self)


def _attach(name: str, function: Any, inplace: Any, reflected: Any = None) -> None:
    """Attach an operator in its three forms: ``x + y``, ``y + x`` for a ``y`` that is not a tensor, and ``x += y``."""
    op = getattr(function, "op", None)
    forward = _guarded(function) if op is None else operator(op)
    attach(f"__{name}__", forward)
    attach(f"__r{name}__", forward if reflected is function else reflected or _reflected(function))
    attach(f"__i{name}__", _guarded(inplace))


for _name, _function in {
    "add": p.add, "mul": p.mul, "and": integers.bitwise_and, "or": integers.bitwise_or, "xor": integers.bitwise_xor,
}.items():
    _attach(_name, _function, _function.inplace, reflected=_function)  # the order does not matter
for _name, _function in {
    "floordiv": integers.floor_divide, "mod": integers.remainder, "lshift": integers.bitwise_left_shift,
    "rshift": integers.bitwise_right_shift,
}.items():
    _attach(_name, _function, _function.inplace)
_attach("sub", p.sub, p.sub.inplace, reflected=operator(p.rsub.op))
_attach("truediv", p.div, p.div.inplace, reflected=_guarded(_quotient_of))
attach("__rdiv__", _guarded(_quotient_of))
_attach("pow", exponential.pow, exponential.pow_)
for _function in (comparison.eq, comparison.ne, comparison.lt, comparison.le, comparison.gt, comparison.ge):
    attach(f"__{_function.op.name}__", operator(_function.op))
for _name, _function in {"neg": p.neg, "abs": p.abs, "invert": _inverted, "pos": p.positive}.items():
    attach(f"__{_name}__", _function)


# -- in-place forms of other operations --------------------------------------------------------------------------------


def _truth_in_place(name: str) -> Callable[..., Tensor]:
    """Return the method that overwrites a tensor with 1 where a comparison or logical operation holds, 0 elsewhere."""
    function = public_functions[name]

    def call(self: Tensor, *others: Any) -> Tensor:
        return copy_(self, function(self, *others))

    return named(call, f"{name}_", f"Compute ``{name}`` in place: write 1 or 0 in the tensor's own dtype.")


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor", "logical_not"):
    attach(f"{_name}_", _truth_in_place(_name))


def _overwritten(name: str, resizes: bool = False) -> Callable[..., Tensor]:
    """Return the method that overwrites a tensor with the result of the method ``name``.

    If ``resizes`` is True, a tensor that is not a view takes the result's shape, as in PyTorch.
    """
    function = getattr(Tensor, name)

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_in_place(self, *[value for value in args if isinstance(value, Tensor)])
        levels = state.mode & LEVELS
        kept = kept_copy(self) if self.requires_grad or levels else self  # rules may need the old values
        result = function(kept, *args, **kwargs)
        if result.dtype.category > self.dtype.category:
            raise not_cast(result.dtype, self.dtype)
        if resizes and result._layout.shape != self._layout.shape and self._view is None and not levels:
            return _replaced(self, result)
        edge = result._edge
        # At the levels, copying records the changes of tangents and of batches.
        if levels or edge is None or edge[0].edges[0] != kept._edge or result._layout.type is not self._layout.type:
            return copy_(self, result)  # more than one operation, or the tensor is not its first operand
        with no_grad():
            copy_(self, result)
        record_inplace(self, *edge)
        return self

    return named_in_place(call, name)


for _name in ("addmm", "addmv", "addr", "baddbmm", "cumprod", "cumsum", "mvlgamma", "polygamma", "renorm"):
    attach(f"{_name}_", _overwritten(_name))
attach("addbmm_", _overwritten("addbmm", resizes=True))


def _replaced(self: Tensor, result: Tensor) -> Tensor:
    """Give a tensor the shape and the memory of a result that was computed from it, and the result's edge."""
    place_read(self._storage, "in-place method that changes the shape")
    show_elements_of(self, result)
    self._counter[0] += 1
    if result._edge is not None:
        record_inplace(self, *result._edge)
    return self


# -- second names ------------------------------------------------------------------------------------------------------

#: Second names of functions, methods and in-place methods.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "divide": "div", "fix": "trunc", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "subtract": "sub",
}

#: In-place methods that are functions of ``numgrad``, too.
FUNCTIONS_IN_PLACE = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
    "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
    "conj_physical_", "cos_", "cosh_", "deg2rad_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_",
    "floor_", "frac_", "gcd_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_",
    "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_",
    "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
)

for _alias, _name in ALIASES.items():
    public_functions[_alias] = public_functions[_name]
    for _suffix in ("", "_"):
        if hasattr(Tensor, _name + _suffix):
            attach(_alias + _suffix, getattr(Tensor, _name + _suffix))

public_functions["spmm"] = public_functions["mm"]  # in PyTorch for sparse matrices, and for dense ones, too

for _name in FUNCTIONS_IN_PLACE:
    public_functions[_name] = checked(getattr(Tensor, _name), _name)


def _of_tensor(name: str) -> Callable[[Tensor], Any]:
    """Return the method ``name`` as a function."""
    method = getattr(Tensor, name)

    def call(input: Tensor) -> Any:
        return method(input)

    call.__annotations__["return"] = method.__annotations__["return"]
    return named(call, name, method.__doc__)


for _name in ("detach", "detach_", "is_complex", "is_floating_point", "is_inference", "is_signed"):
    public(_of_tensor(_name), method=False)
