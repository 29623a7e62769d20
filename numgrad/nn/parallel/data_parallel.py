"""``nn.DataParallel``: PyTorch splits a module's batches over GPUs; numgrad computes them on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """A wrapper that calls ``module``, whose parameters appear below that name in ``state_dict``, as in PyTorch.

    Args:
        module: the module to call.
        device_ids: the GPUs to compute on, at most one.
        output_device, dim: accepted for compatibility with PyTorch.

    Raises:
        NotImplementedError: ``device_ids`` has several GPUs.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ):
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError(f"numgrad computes a batch on one GPU, not on {len(device_ids)}")
        self.module = module
        self.dim = dim
        self.device_ids = list(device_ids or [])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Return the module's output; see :class:`DataParallel`."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*arguments, **(module_kwargs or {}))
