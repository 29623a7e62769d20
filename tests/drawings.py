"""Parsing pictures of graphs."""

from xml.etree import ElementTree

__all__ = ["SVG", "boxes", "part"]

SVG = "{http://www.w3.org/2000/svg}"


def part(svg, category):
    """The groups of elements of an SVG of a category: node, group, note."""
    root = ElementTree.fromstring(svg)
    return [element for element in root.iter(f"{SVG}g") if category in element.get("class", "").split()]


def boxes(svg):
    """The category and the lines of each box, by its title, in order."""
    result = {}
    for element in part(svg, "node"):
        title, *lines = ["".join(text.itertext()) for text in element.iter(f"{SVG}text")]
        result[title] = (element.get("class").split()[1], lines)
    return result
