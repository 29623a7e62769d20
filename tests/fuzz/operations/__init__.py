"""Steps to draw: each function writes one line of Python and is listed in ``FAMILIES``."""

from fuzz.drawing import FAMILIES
from fuzz.operations import combining, images, placing, pointwise, shaping

__all__ = ["FAMILIES", "combining", "images", "placing", "pointwise", "shaping"]
