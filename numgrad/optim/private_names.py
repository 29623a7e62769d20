"""Functions of PyTorch's ``optim.optimizer`` that optimizers written for PyTorch import."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..autograd.grad_mode import set_grad_enabled
from ..core.types import dtype, float32, float64, get_default_dtype
from ..ops.pointwise.complexes import view_as_real_op
from ..tensors.tensor import Tensor

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

#: Parts of the docstrings of PyTorch's optimizers.
_params_doc = "params: the parameters, or groups of parameters."
_foreach_doc = "foreach: accepted for compatibility with PyTorch."
_fused_doc = "fused: accepted for compatibility with PyTorch."
_capturable_doc = "capturable: accepted for compatibility with PyTorch."
_differentiable_doc = "differentiable: True to record the step."
_maximize_doc = "maximize: True to ascend instead of descending."


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method ``step`` that is recorded only if the optimizer's option ``differentiable`` is True."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """Return the number in a tensor of one element; any other value unchanged."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    return x


def _dispatch_sqrt(x: Any) -> Any:
    """Return the square root of a number or tensor."""
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return False for ``fused`` and for ``foreach``: a loop over the parameters works for all of them."""
    return False, False


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """Return a decorator that returns its function."""
    return lambda func: func


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex parameters, and the tensors that belong to them, by their real views in the lists."""
    for number, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[number] = view_as_real_op(tensors[number])


def _get_scalar_dtype(is_fused: bool | None = None) -> dtype:
    """Return the dtype of the number of steps."""
    return float64 if get_default_dtype() is float64 and not is_fused else float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the devices whose steps can be captured."""
    return ["cuda"]
