"""What messages call the type of a value."""

from __future__ import annotations

from typing import Any

from ._tensor import Tensor


def class_name(kind: type) -> str:
    """A class with its module, unless it is one of Python's own."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def type_name(value: Any) -> str:
    """The class of a value; of a tensor PyTorch's name of its dtype and device, such as ``torch.FloatTensor``."""
    return value._layout.type.name if isinstance(value, Tensor) else class_name(type(value))
