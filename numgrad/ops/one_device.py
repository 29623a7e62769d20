"""Tensors that an operation takes together must lie on one device."""

from __future__ import annotations

from .._layout import Layout
from .._tensor import Tensor

__all__ = ["check_one_device"]


def check_one_device(*tensors: Tensor | Layout | None) -> None:
    """Raise unless the tensors, or those of these layouts, of which some may be missing, lie on one device.

    Raises:
        RuntimeError: they do not; the message is PyTorch's.
    """
    layouts = [one if isinstance(one, Layout) else one._layout for one in tensors if one is not None]
    places = sorted({str(layout.type.device) for layout in layouts}, reverse=True)
    if len(places) > 1:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {places[0]} and "
            f"{places[1]}!"
        )
