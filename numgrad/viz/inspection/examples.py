"""Functions by the names that users give them, and arguments to try them on."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numgrad

from ...core.types import bool_, dtype, float32, int64
from ...ops import ops, public_functions
from ...ops.table.callables import function_of
from ...ops.table.elementwise import Pointwise
from ...random import Generator
from ...tensors.tensor import Tensor

#: The number of elements of the tensors of an example.
SIZE = 1_000_000


class _Template(NamedTuple):
    """A tensor of an example: its shape for a number of elements, and its dtype if this is not the example's."""

    shape: Callable[[int], tuple[int, ...]]
    dtype: dtype | None = None


def _side(size: int, parts: int = 1) -> int:
    """Return the side of ``parts`` squares that have about ``size`` elements in all."""
    return max(math.isqrt(size // parts), 3)


_ROW = _Template(lambda size: (size,))
_VECTOR = _Template(lambda size: (_side(size),))
_MATRIX = _Template(lambda size: (_side(size), _side(size)))
_STACK = _Template(lambda size: (4, _side(size, 4), _side(size, 4)))
_SIGNALS = _Template(lambda size: (4, 8, max(size // 32, 3)))
_IMAGES = _Template(lambda size: (4, 8, _side(size, 32), _side(size, 32)))
_FILTERS = _Template(lambda size: (8, 8, 3, 3))
_BOOLEANS, _INDICES = (_Template(_MATRIX.shape, dtype) for dtype in (bool_, int64))

#: The arguments of operations whose parameter names do not determine an example.
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["dot", "vdot"], (_ROW, _ROW)),
    **dict.fromkeys(["outer", "ger"], (_VECTOR, _VECTOR)),
    **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "logsumexp"], (_MATRIX, -1)),
    **dict.fromkeys(["softmax", "log_softmax", "view", "reshape", "unsqueeze"], (_MATRIX, -1)),
    **dict.fromkeys(["transpose", "permute"], (_MATRIX, 1, 0)),
    **dict.fromkeys(["cat", "concat", "stack"], ([_MATRIX, _MATRIX],)),
    **dict.fromkeys(["clamp", "clip"], (_ROW, 0.25, 0.75)),
    **dict.fromkeys(["hstack", "vstack", "row_stack", "dstack", "column_stack"], ([_MATRIX, _MATRIX],)),
    **dict.fromkeys(["chunk", "split", "topk", "kthvalue"], (_MATRIX, 2)),
    **dict.fromkeys(["avg_pool1d", "max_pool1d"], (_SIGNALS, 2)),
    **dict.fromkeys(["avg_pool2d", "max_pool2d"], (_IMAGES, 2)),
    "addmv": (_VECTOR, _MATRIX, _VECTOR), "baddbmm": (_STACK, _STACK, _STACK), "bmm": (_STACK, _STACK),
    "conv1d": (_SIGNALS, _Template(lambda size: (8, 8, 3))), "conv2d": (_IMAGES, _FILTERS),
    "dropout": (_ROW, 0.5, True), "flip": (_MATRIX, 0), "gather": (_MATRIX, -1, _INDICES),
    "layer_norm": (_MATRIX, (_VECTOR,)), "lerp": (_ROW, _ROW, 0.5), "masked_fill": (_MATRIX, _BOOLEANS, 0.0),
    "mv": (_MATRIX, _VECTOR), "pow": (_ROW, 3.0), "prelu": (_MATRIX, _VECTOR), "rms_norm": (_MATRIX, (_VECTOR,)),
    "roll": (_MATRIX, 1), "scatter_add": (_MATRIX, -1, _INDICES, _MATRIX), "take_along_dim": (_MATRIX, _INDICES, -1),
    "where": (_BOOLEANS, _MATRIX, _MATRIX),
}

#: Unannotated parameters that are tensors.
_TENSORS = ("A", "B", "input", "other", "self", "tensor", "x", "y")


def function_named(name: str) -> Callable[..., Any]:
    """Return the function that users call by this name: "tanh", "linalg.solve", "nn.functional.gelu", "Tensor.add_".

    A name alone is looked up in ``numgrad``, in its modules of mathematical functions, among the methods of tensors,
    and in the op table.

    Raises:
        ValueError: there is none.
    """
    *path, last = name.removeprefix("numgrad.").removeprefix("torch.").removeprefix("nn.").split(".")
    spaces: dict[str, Any] = {
        "": numgrad, "linalg": numgrad.linalg, "special": numgrad.special, "fft": numgrad.fft,
        "functional": numgrad.nn.functional, "F": numgrad.nn.functional, "Tensor": Tensor,
    }
    searched = [*spaces.values()] if not path else [spaces.get(".".join(path))]
    for space in searched:
        result = _function(space, last)
        if result is not None:
            return result
    op: Any = None if path else ops.get(name) or ops.get(f"{name}_op")
    if op is None:
        names = {attribute for space in searched for attribute in dir(space) if _function(space, attribute) is not None}
        names |= set() if path else {*ops}
        near = [".".join([*path, matche]) for matche in difflib.get_close_matches(last, sorted(names), 3)]
        raise ValueError(f"numgrad has no operation '{name}'{': ' * bool(near)}{', '.join(near)}")
    if isinstance(op, Pointwise):
        function: Any = function_of(op)
    else:
        function = functools.wraps(op.function)(lambda *args: op(*args))
    function.op = op
    return function


def _function(space: Any, name: str) -> Callable[..., Any] | None:
    value = None if name.startswith("_") else getattr(space, name, None)
    return value if callable(value) and not isinstance(value, type) else None


def example(
    name: str, function: Callable[..., Any], size: int = SIZE, dtype: dtype = float32, device: str = "cpu"
) -> tuple[Any, ...]:
    """Return arguments for an operation: tensors of about ``size`` elements, in a single row for pointwise operations.

    The arguments require a gradient if their dtype allows it.

    Raises:
        TypeError: no argument is known for one of the parameters.
    """
    op = getattr(function, "op", None)
    plain = name.removesuffix("_")
    if name != plain and plain in public_functions:  # in place
        return example(plain, public_functions[plain], size, dtype, device)
    if name in _ARGUMENTS:
        return tuple([_argument(value, size, dtype, device) for value in _ARGUMENTS[name]])
    if isinstance(op, Pointwise):
        whole = dtype.is_floating_point and "f" not in op.dtypes
        usual = int64 if whole else dtype
        return tuple([_tensor((size,), bool_ if n in op.conditions else usual, device) for n in op.inputs])
    arguments = []
    for parameter in signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(f"no value is known for its parameter '*{parameter.name}'")
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            break
        if "Tensor" not in str(parameter.annotation) and parameter.name not in _TENSORS:
            raise TypeError(f"no value is known for its parameter '{parameter.name}'")
        arguments.append(_argument(_MATRIX, size, dtype, device))
    return tuple(arguments)


def _argument(value: Any, size: int, dtype: dtype, device: str) -> Any:
    """Return an argument of an example."""
    if isinstance(value, list):
        return [_argument(part, size, dtype, device) for part in value]
    if value == (_VECTOR,):  # a shape
        return _VECTOR.shape(size)
    return _tensor(value.shape(size), value.dtype or dtype, device) if isinstance(value, _Template) else value


def _tensor(shape: tuple[int, ...], dtype: dtype, device: str) -> Tensor:
    """Return reproducible numbers between 0 and 1; ones for a dtype without derivatives, which are valid indices."""
    if not dtype.differentiable:
        return public_functions["full"](shape, 1, dtype=dtype, device=device)
    numbers = public_functions["rand"](shape, generator=Generator().manual_seed(0), dtype=dtype)
    return numbers.to(device).requires_grad_()
