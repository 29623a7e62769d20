"""Functions of scalars that an operation has computed in one pass, besides those that are operations themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import devices
from ...core.layout import Layout
from .op import parameters
from .operands import operand


def fused_launcher(
    name: str, function: Callable[..., Any], given: Sequence[Any], out: Layout, into: bool = False
) -> Callable[..., Any]:
    """What computes a function of scalars for each element of ``out``, in its dtype.

    Args:
        name: of the kernel, before that of the function.
        given: for each parameter the layout of a tensor, or the class of a number, both of which a launch is given; or
            a number, which is written into the kernel.
        into: whether a launch is given last a tensor to overwrite, instead of making memory.
    """
    kinds = tuple([own.type.numpy if isinstance(own, Layout) else own for own in given])
    program = _program(name + function.__name__, function, out.type.numpy, kinds)
    operands = [own for own in given if not isinstance(own, float)]
    return out.type.backend.pointwise_launcher(program, operands, [out], into)


@functools.cache
def _program(name: str, function: Callable[..., Any], compute: Any, kinds: tuple[Any, ...]) -> devices.Program:
    operands = tuple([
        devices.Operand(name, constant=kind) if isinstance(kind, float) else operand(name, kind, True)
        for name, kind in zip(parameters(function), kinds, strict=True)
    ])
    return devices.Program(name, compute, operands, (("out", compute),), (function,))
