"""The ``out`` argument of public functions: overwrite a tensor with the result."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.checks import check_updatable
from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.levels import Tangents, level_of
from ...core.layout import layout_of
from ...core.types import dtype
from ...tensors.tensor import Tensor, check_one_device, show_elements_of, tensor_of
from ..batching.batches import is_mapped
from .arguments import wrong_kind
from .checks import check, check_implemented


def is_plain(target: Tensor) -> bool:
    """Return True if a change of this tensor needs no checks and no recording."""
    mode = state.mode
    return (
        mode <= ORDINARY and target._counter.__class__ is list
        and not (mode & GRAD and (target._requires_grad or target._view is not None))
    )


def not_cast(result: dtype, target: dtype) -> RuntimeError:
    """Return the error for a result that would have to be stored in a dtype of a lower category."""
    return RuntimeError(f"result type {result.legacy} can't be cast to the desired output type {target.legacy}")


def write_out(name: str, out: Any, result: Any, exact: bool = False) -> Any:
    """Overwrite ``out`` with the result of the function ``name``, and return it; a tuple for several results.

    A tensor of another shape takes the shape of the result, with a warning if it has elements.

    Args:
        exact: True if the dtype must be that of the result.

    Raises:
        RuntimeError: if a gradient would have to be recorded, the dtype cannot hold the result, or a view with elements
            or a tensor under ``vmap`` would have to take another shape.
        NotImplementedError: if the result has a tangent.
    """
    alike = out.__class__ is Tensor and result.__class__ is Tensor and out._layout is result._layout
    if alike and is_plain(out) and not result._requires_grad:
        return out.copy_(result)
    if isinstance(result, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of {len(result)} Tensors")
        written = [write_out(name, target, part, exact) for target, part in zip(out, result, strict=True)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    if not isinstance(out, Tensor):
        raise wrong_kind(name, "out", None, Tensor, out)
    check(
        not state.mode & GRAD or (not result.requires_grad and not out.requires_grad),
        "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad (shapes {}, {}).", name, result, out,
    )
    check_implemented(
        not isinstance(level_of((result, out)), Tangents),
        "Trying to use forward AD with {}_out that does not support it because it is an out= function", name,
    )
    if out._layout.type is not result._layout.type:
        check_one_device(out, result)
    target = out.dtype
    check(
        not exact or target is result.dtype, "Expected out tensor to have dtype {!s}, but got {!s} instead",
        result.dtype, target,
    )
    if result.dtype.category > target.category:
        raise not_cast(result.dtype, target)
    if out._layout.shape == result._layout.shape:
        return out.copy_(result)
    check(out._view is None, "{}(): out has shape {}, but the result has {}", name, out, result)
    check_updatable(out)
    check(not is_mapped(result), "vmap: {}(): out cannot take the shape {} for each example", name, result)
    if out.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. Resize it to no elements before: out.resize_(0).",
            UserWarning, stacklevel=3,
        )
    layout = layout_of(out._layout.type, result._layout.shape)
    if out._offset + layout.size <= out._storage.size:
        show_elements_of(out, tensor_of(layout, out._storage, out._offset))
        return out.copy_(result)
    show_elements_of(out, result.to(target).contiguous())
    out._counter[0] += 1
    return out
