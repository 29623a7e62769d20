"""Building blocks of neural networks."""

from . import functional

__all__ = ["functional"]
