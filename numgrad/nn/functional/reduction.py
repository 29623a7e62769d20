"""Shared parts of losses: reduction and argument checks."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeVar

from ...ops.table.arguments import bind, check_arguments
from ...ops.table.autocasting import called_in_autocast, listed_names
from ...tensors.tensor import Tensor

__all__ = ["check_sizes", "loss_function", "newer_reduction", "reduction_of"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: PyTorch's deprecated form of the reduction: parameters that precede it.
_OLDER = {"size_average": "bool | None", "reduce": "bool | None"}


def loss_function(function: _Function) -> _Function:
    """Decorate a loss so that it accepts the deprecated parameters and reports invalid arguments clearly.

    Raises:
        ValueError: the reduction is not "none", "mean" or "sum".
    """
    declared, listed = signature(function), listed_names(function)
    parameters = [*declared.parameters.values()]
    position = [*declared.parameters].index("reduction")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = args, kwargs
        try:
            if listed and (out := called_in_autocast(listed, call, args, kwargs)) is not NotImplemented:
                return out
            if not kwargs and len(args) <= position:
                return function(*args)
            if len(args) > position or "size_average" in kwargs or "reduce" in kwargs:
                kwargs, args = bind(call, args, kwargs).arguments, ()
                older = [kwargs.pop(name) for name in _OLDER]
                kwargs["reduction"] = newer_reduction(kwargs["reduction"], *older, stacklevel=3)
            _check_reduction(kwargs.get("reduction", "mean"))
            return function(*args, **kwargs)
        except Exception:
            check_arguments(call, function.__name__, *arguments, tensors=True)
            raise

    parameters[position:position] = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
        for name, annotation in _OLDER.items()
    ]
    call.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {**function.__annotations__, **_OLDER}
    return call  # type: ignore[return-value]


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Return the reduction that a loss's arguments specify.

    Raises:
        ValueError: the reduction is not "none", "mean" or "sum".
    """
    reduction = newer_reduction(reduction, size_average, reduce, stacklevel=5)
    _check_reduction(reduction)
    return reduction


def _check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def newer_reduction(reduction: str, size_average: bool | None, reduce: bool | None, *, stacklevel: int = 4) -> str:
    """Return the reduction in its current form; the deprecated parameters take precedence, with a warning."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=stacklevel,
        )
    return reduction


def check_sizes(input: Tensor, target: Tensor) -> None:
    """Warn if the target does not have the input's shape and must be broadcast."""
    if target._layout.shape != input._layout.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )
