"""``torch.utils.tensorboard``: data for TensorBoard, written by the package tensorboardX."""

from typing import Any

from . import writer


def __getattr__(name: str) -> Any:
    return getattr(writer, name)
