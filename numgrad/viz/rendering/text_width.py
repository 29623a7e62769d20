"""How wide a text will be, so that boxes have room for it whatever fonts a reader has.

The widths are those of DejaVu Sans, which is wider than other sans-serif fonts; fixed-width fonts are nearly all alike.
Because nothing is measured with the fonts of this machine, a picture is the same everywhere.
"""

from __future__ import annotations

import unicodedata

#: The width of a character of a fixed-width font, for a size of 1.
MONOSPACE = 0.602

#: Widths of the letters in bold, for a size of 1; the others are taken to be as wide as a digit.
_WIDTHS = {
    character: width
    for width, characters in {
        0.36: "'ijl IJ|\\/.,:;", 0.45: "-f!()[]tr_`", 0.6: '"*?zcs', 0.67: "vxyLkaeEFT", 0.73: "bdghnopquSYPCZ{}$",
        0.77: "BAKRVX", 0.84: "UGD#+<=>HN^~OQ&", 0.92: "w", 1.02: "%@Mm", 1.1: "W",
    }.items()
    for character in characters
}  # fmt: skip
_DIGIT, _REGULAR = 0.7, 0.92
#: The padding of boxes makes up for what is left off: most readers have narrower fonts.
_TIGHT = 0.94


def sans_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in a sans-serif font."""
    width = sum(_WIDTHS.get(character, _DIGIT) * _cells(character) for character in text)
    return size * width * _TIGHT * (1 if bold else _REGULAR)


def monospace_width(text: str, size: float) -> float:
    """The width of a text in a fixed-width font."""
    return size * MONOSPACE * sum(map(_cells, text))


def _cells(character: str) -> int:
    """2 for the wide characters of East Asian scripts, otherwise 1."""
    return 1 if character.isascii() or unicodedata.east_asian_width(character) not in "WF" else 2
