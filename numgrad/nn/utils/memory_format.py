"""Filters of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Give the filters of all two-dimensional convolutions in a module a memory format; returns the module.

    The results of a convolution have their channels last if its filters have.
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """The same for three-dimensional convolutions."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: Module, memory_format: Any, classes: tuple[type, ...]) -> Module:
    for each in module.modules():
        if isinstance(each, classes):
            weight: Any = each.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module
