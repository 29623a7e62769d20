"""``nn.DataParallel``: a module whose batches PyTorch splits over GPUs; here one device computes them whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


class DataParallel(Module):
    """Calls ``module``, whose parameters are found below that name in its ``state_dict``, as in PyTorch.

    Args:
        module: what is called.
        device_ids: the GPUs to compute on: one at most.
        output_device, dim: taken because PyTorch takes them.

    Raises:
        NotImplementedError: there are several GPUs in ``device_ids``.
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
        """What the module returns."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Refused: numgrad has no processes that train together.

    Raises:
        NotImplementedError: in any case.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any):
        raise NotImplementedError(
            "numgrad has no DistributedDataParallel: torch.distributed.is_available() is False; train the module itself"
        )
