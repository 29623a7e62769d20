"""Tensors that an operation takes together must lie on one device."""

from __future__ import annotations

from .._tensor import Tensor

__all__ = ["check_one_device"]


def check_one_device(*tensors: Tensor | None) -> None:
    """Raise unless the tensors, of which some may be missing, lie on one device.

    Raises:
        RuntimeError: they do not; the message is PyTorch's.
    """
    places = sorted({str(tensor.device) for tensor in tensors if tensor is not None}, reverse=True)
    if len(places) > 1:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {places[0]} and "
            f"{places[1]}!"
        )
