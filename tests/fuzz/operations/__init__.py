"""What steps are drawn from: each function writes one line of Python, and is put into ``FAMILIES``."""

from fuzz.drawing import FAMILIES
from fuzz.operations import combining, images, placing, pointwise, shaping

__all__ = ["FAMILIES", "combining", "images", "placing", "pointwise", "shaping"]
