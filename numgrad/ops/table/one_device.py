"""Tensors that an operation takes together must lie on one device."""

from __future__ import annotations

from ...core.layout import Layout
from ...core.tensor import Tensor


def check_one_device(*tensors: Tensor | Layout | None) -> None:
    """Raise unless the tensors, or those of these layouts, of which some may be missing, lie on one device.

    Raises:
        RuntimeError: they do not; the message is PyTorch's.
    """
    layouts = [one if isinstance(one, Layout) else one._layout for one in tensors if one is not None]
    found = {layout.type.device for layout in layouts}
    if len(found) > 1:
        first, second, *_ = sorted(map(str, found), reverse=True)
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
        )
