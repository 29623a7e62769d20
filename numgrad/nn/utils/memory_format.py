"""Conversion of convolution filters to another memory format."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the filters of all two-dimensional convolutions in a module to a memory format; return the module.

    The result of a convolution is in channels-last format if its filters are.
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the filters of all three-dimensional convolutions in a module to a memory format; return the module."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: Module, memory_format: Any, classes: tuple[type, ...]) -> Module:
    for each in module.modules():
        if isinstance(each, classes):
            weight: Any = each.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module
