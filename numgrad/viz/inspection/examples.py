"""What to call an operation with that somebody asks for by its name alone."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ...core.types import bool_, dtype, float32, int64
from ...ops.table.elementwise import Pointwise
from ...ops.table.op import public_functions
from ...random import Generator

#: Elements of the tensors of an example.
SIZE = 1_000_000


class _Kind:
    """A kind of tensor that an example may have; other arguments are given as they are."""


_ROW, _VECTOR, _MATRIX, _STACK, _TRUTHS, _PLACES = (_Kind() for _ in range(6))

#: The arguments of operations of which the names of their parameters do not say enough.
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["bmm"], (_STACK, _STACK)),
    **dict.fromkeys(["baddbmm"], (_STACK, _STACK, _STACK)),
    **dict.fromkeys(["dot", "vdot"], (_ROW, _ROW)),
    **dict.fromkeys(["outer", "ger"], (_VECTOR, _VECTOR)),
    **dict.fromkeys(["mv"], (_MATRIX, _VECTOR)),
    **dict.fromkeys(["addmv"], (_VECTOR, _MATRIX, _VECTOR)),
    **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "logsumexp"], (_MATRIX, -1)),
    **dict.fromkeys(["softmax", "log_softmax"], (_MATRIX, -1)),
    **dict.fromkeys(["cat", "concat", "stack"], ([_MATRIX, _MATRIX],)),
    **dict.fromkeys(["clamp", "clip"], (_ROW, 0.25, 0.75)),
    **dict.fromkeys(["hstack", "vstack", "row_stack", "dstack", "column_stack"], ([_MATRIX, _MATRIX],)),
    **dict.fromkeys(["chunk", "split", "topk", "kthvalue"], (_MATRIX, 2)),
    "dropout": (_ROW, 0.5, True), "flip": (_MATRIX, 0), "gather": (_MATRIX, -1, _PLACES),
    "layer_norm": (_MATRIX, (_VECTOR,)), "lerp": (_ROW, _ROW, 0.5), "masked_fill": (_MATRIX, _TRUTHS, 0.0),
    "pow": (_ROW, 3.0), "prelu": (_MATRIX, _VECTOR), "rms_norm": (_MATRIX, (_VECTOR,)), "roll": (_MATRIX, 1),
    "scatter_add": (_MATRIX, -1, _PLACES, _MATRIX), "take_along_dim": (_MATRIX, _PLACES, -1),
    "where": (_TRUTHS, _MATRIX, _MATRIX),
}

#: Parameters without annotation that are tensors.
_TENSORS = ("input", "other", "self", "tensor", "x", "y")


def example(
    name: str, function: Callable[..., Any], size: int = SIZE, kind: dtype = float32, device: str = "cpu"
) -> tuple[Any, ...]:
    """Arguments for an operation: tensors of about ``size`` elements, those of pointwise operations in one row.

    They require a gradient, if their dtype can have one.

    Raises:
        TypeError: it has a parameter of which nothing is known.
    """
    op = getattr(function, "op", None)
    plain = name.removesuffix("_")
    if name != plain and plain in public_functions:  # in place
        return example(plain, public_functions[plain], size, kind, device)
    if name in _ARGUMENTS:
        return tuple([_made(value, size, kind, device) for value in _ARGUMENTS[name]])
    if isinstance(op, Pointwise):
        whole = kind.is_floating_point and "f" not in op.dtypes
        usual = int64 if whole else kind
        return tuple([_tensor((size,), bool_ if n in op.conditions else usual, device) for n in op.inputs])
    arguments = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(f"nothing is known of its parameter '*{parameter.name}'")
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            break
        if "Tensor" not in str(parameter.annotation) and parameter.name not in _TENSORS:
            raise TypeError(f"nothing is known of its parameter '{parameter.name}'")
        arguments.append(_made(_MATRIX, size, kind, device))
    return tuple(arguments)


def _made(value: Any, size: int, kind: dtype, device: str) -> Any:
    """An argument of an example."""
    side = max(math.isqrt(size), 1)
    shapes = {_ROW: (size,), _VECTOR: (side,), _STACK: (4, side // 2, side // 2)}
    if isinstance(value, list):
        return [_made(part, size, kind, device) for part in value]
    if value == (_VECTOR,):  # a shape
        return (side,)
    if value is _PLACES:
        return public_functions["zeros"](side, side, dtype=int64, device=device)
    if not isinstance(value, _Kind):
        return value
    return _tensor(shapes.get(value, (side, side)), bool_ if value is _TRUTHS else kind, device)


def _tensor(shape: tuple[int, ...], kind: dtype, device: str) -> Tensor:
    """Numbers between 0 and 1, the same each time; ones of a dtype that has no others."""
    if not kind.differentiable:
        return public_functions["full"](shape, 1, dtype=kind, device=device)
    numbers = public_functions["rand"](shape, generator=Generator().manual_seed(0), dtype=kind)
    return numbers.to(device).requires_grad_()
