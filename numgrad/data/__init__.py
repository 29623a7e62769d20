"""Small data sets that come with numgrad."""

from .digits import digits, load_digits

__all__ = ["digits", "load_digits"]
