"""Small data sets that come with numgrad."""

from .digits import digits, load_digits
from .text import sonnets

__all__ = ["digits", "load_digits", "sonnets"]
