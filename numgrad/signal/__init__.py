"""Functions of signals, under the names of PyTorch's ``torch.signal``."""

from __future__ import annotations

from . import windows

__all__ = ["windows"]
