"""Small data sets that come with numgrad."""

from .digits import load_digits

__all__ = ["load_digits"]
