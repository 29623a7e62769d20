"""The two libraries that the comparisons with PyTorch run in."""

from types import ModuleType

import numgrad
from numgrad import optim


def libraries() -> list[tuple[ModuleType, ModuleType]]:
    """Numgrad and PyTorch, each with its optimizers."""
    import torch

    return [(numgrad, optim), (torch, torch.optim)]
