"""Types of names, from Numba's type inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from numba.core import compiler, typed_passes, types
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.rewrites import rewrite_registry

from .source import Refused


def infer(function: Callable[..., Any], argument_types: Sequence[types.Type]) -> dict[str, types.Type]:
    """Return the type of each name of a Python function, which must be the same for all its assignments."""
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    try:
        program = compiler.run_frontend(function)
        state = SimpleNamespace(func_ir=program, typemap=None, calltypes=None)
        rewrite_registry.apply("before-inference", state)  # constant indices of tuples
        inferred = typed_passes.type_inference_stage(typing, target, program, tuple(argument_types), None)
    except NumbaError as error:
        refusal = Refused(f"Numba cannot infer its types: {_first_lines(error)}")
        refusal.line = getattr(getattr(error, "loc", None), "line", None)
        raise refusal from None
    kinds: dict[str, types.Type] = {}
    for variable, kind in inferred.typemap.items():
        if variable.startswith(("$", "arg.")):
            continue
        name = variable.split(".")[0]
        if isinstance(kind, types.Literal):
            kind = kind.literal_type
        if name in kinds and kinds[name] != kind:
            unified = typing.unify_types(kinds[name], kind)
            if unified is None:
                raise Refused(f"'{name}' is both {kinds[name]} and {kind}")
            kind = unified
        kinds[name] = kind
    return kinds


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[1:4])


def is_array(kind: Any) -> bool:
    """Return True for the type of an array."""
    return isinstance(kind, types.Array)


def is_floating(kind: Any) -> bool:
    """Return True for floating-point numbers and arrays of them, which have derivatives."""
    return isinstance(kind, types.Float) or (is_array(kind) and isinstance(kind.dtype, types.Float))


def zero(kind: types.Type) -> str:
    """Return the source of a zero of a scalar type."""
    if isinstance(kind, types.Boolean):
        return "False"
    if kind == types.float32:
        return "np.float32(0.0)"
    return "0.0" if isinstance(kind, types.Float) else "0"


def empty(kind: types.Array) -> str:
    """Return the source of an empty array of a type, in the memory layout of that type."""
    source = f"np.empty(({'0, ' * kind.ndim}), np.{kind.dtype})"
    if kind.layout == "F" and kind.ndim > 1:
        return f"{source}.T"
    if kind.layout == "A":
        return f"{source}[{', '.join(['::2'] * kind.ndim)}]"
    return source
