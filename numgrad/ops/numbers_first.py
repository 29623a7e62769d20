"""Deprecated forms of calls, with factors among the tensors: ``p.add_(-0.1, grad)`` for ``p.add_(grad, alpha=-0.1)``.

PyTorch has them still, and optimizers in programs of its first years use them.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..tensors.tensor import Tensor
from .table.op import attach, public_functions

#: For each function, the number of its tensors, and the names of its factors in the order in which they are passed.
_FACTORS: dict[str, tuple[int, tuple[str, ...]]] = {
    **dict.fromkeys(["add", "sub"], (2, ("alpha",))),
    **dict.fromkeys(["addcmul", "addcdiv"], (3, ("value",))),
    **dict.fromkeys(["addmm", "addmv", "addr", "addbmm", "baddbmm"], (3, ("beta", "alpha"))),
}


def _accepting_numbers(call: Callable[..., Any], name: str, count: int, factors: tuple[str, ...]) -> Any:
    """Return a function of ``count`` tensors that also takes ``factors`` by position, before the second tensor.

    The first of two factors may precede the first tensor.
    """

    @functools.wraps(call)
    def accepting(*args: Any, **keywords: Any) -> Any:
        if len(args) > count:
            tensors = [value for value in args if isinstance(value, Tensor)]
            numbers = [value for value in args if not isinstance(value, Tensor)]
            begins = isinstance(args[0], Tensor) or len(factors) == 2
            ends = all(isinstance(value, Tensor) for value in args[1 - count :])
            if begins and ends and len(tensors) == count and len(numbers) <= len(factors):
                given = dict(zip(factors, numbers, strict=False))
                new = ", ".join([*["tensor"] * (count - name.endswith("_")), *[f"{factor}=..." for factor in given]])
                warnings.warn(f"{name}() with numbers before tensors is deprecated: use {name}({new})", stacklevel=2)
                return call(*tensors, **given, **keywords)
        return call(*args, **keywords) if keywords else call(*args)

    return accepting


def _replaced(functions: Mapping[str, Any], name: str, factors: tuple[int, tuple[str, ...]]) -> dict[str, Any]:
    """Return the function ``name`` that accepts its factors among the tensors, by this name and all others it has."""
    function = functions[name]
    accepting = _accepting_numbers(function, name, *factors)
    return {alias: accepting for alias, other in functions.items() if other is function}


for _name, _of_name in _FACTORS.items():
    public_functions.update(_replaced(public_functions, _name, _of_name))
    for _method in (_name, f"{_name}_"):
        for _alias, _accepting in _replaced(vars(Tensor), _method, _of_name).items():
            attach(_alias, _accepting)
