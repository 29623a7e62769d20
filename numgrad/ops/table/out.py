"""The ``out`` argument of public functions: overwrite a tensor with the result."""

from __future__ import annotations

from typing import Any

from ...autograd.checks import check_updatable
from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.levels import Tangents, level_of
from ...core.tensor import Tensor, check_one_device, show_elements_of
from ...core.types import dtype
from ..batching.batches import is_mapped
from .arguments import wrong_kind


def is_plain(target: Tensor) -> bool:
    """Return whether a change of this tensor needs no checks and no recording."""
    return not (
        state.mode > ORDINARY or target._requires_grad or target._view is not None
        or target._counter.__class__ is not list
    )


def not_cast(result: dtype, target: dtype) -> RuntimeError:
    """Return the error for a result that would have to be stored in a dtype of a lower category."""
    return RuntimeError(f"result type {result.legacy} can't be cast to the desired output type {target.legacy}")


def write_out(name: str, out: Any, result: Any) -> Any:
    """Overwrite ``out`` with the result of the function ``name``, and return it; a tuple for several results.

    A tensor without elements takes the shape of the result.

    Raises:
        RuntimeError: if a gradient would have to be recorded, the shapes differ, the dtype cannot hold the result, or
            the tensor would have to take another shape under ``vmap``.
        NotImplementedError: if the result has a tangent.
    """
    alike = out.__class__ is Tensor and result.__class__ is Tensor and out._layout is result._layout
    if alike and is_plain(out) and not result._requires_grad:
        return out.copy_(result)
    if isinstance(result, tuple):
        if not isinstance(out, tuple | list) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of {len(result)} Tensors")
        written = [write_out(name, target, part) for target, part in zip(out, result, strict=True)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    if not isinstance(out, Tensor):
        raise wrong_kind(name, "out", None, Tensor, out)
    if state.mode & GRAD and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            f"arguments requires grad (shapes {list(result.shape)}, {list(out.shape)})."
        )
    if isinstance(level_of((result, out)), Tangents):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )
    if out._layout.type is not result._layout.type:
        check_one_device(out, result)
    target = out.dtype
    if result.dtype.category > target.category:
        raise not_cast(result.dtype, target)
    if out._layout.shape == result._layout.shape:
        return out.copy_(result)
    if out.numel() or out._view is not None:
        raise RuntimeError(f"{name}(): out has shape {list(out.shape)}, but the result has {list(result.shape)}")
    check_updatable(out)
    if is_mapped(result):
        raise RuntimeError(f"vmap: {name}(): out cannot take the shape {list(result.shape)} for each example")
    made = result.to(target).contiguous()
    show_elements_of(out, made)
    out._counter[0] += 1
    return out
