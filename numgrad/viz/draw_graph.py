"""``numgrad.viz.draw``: a picture of the graph that was recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .._naming import type_name
from .._tensor import Tensor
from ..autograd.node import Node
from ..nn.modules.module import Module
from .assemble import Assembly
from .describe import Describer
from .drawing import Drawing
from .folding import Fold
from .layout import RANKS
from .names import Names, calling_variables
from .subjects import roots_of

__all__ = ["draw", "node_mimebundle"]

#: Boxes for nodes that a picture has unless told otherwise.
MANY = 150


def draw(
    subject: Any,
    module: Module | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    names: Mapping[str, Tensor] | None = None,
    values: bool = False,
    saved: bool = True,
    fold: Fold = "auto",
    max_depth: int | None = None,
    max_nodes: int | None = MANY,
    direction: str = "down",
    arrows: str = "forward",
) -> Drawing:
    """Draw the graph that backward would go through from a tensor."""
    if module is not None and not isinstance(module, Module):
        raise TypeError(f"draw(): argument 'module' must be an nn.Module, not {type_name(module)}")
    roots = roots_of(subject)
    known = Names()
    for name, tensor in (names or {}).items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"draw(): names[{name!r}] must be a Tensor, not {type_name(tensor)}")
        known.add(name, tensor)
    if module is not None:
        known.add_module(module)
    for variables in calling_variables():
        known.add_variables(variables)
    assembly = Assembly(roots, module, known, fold)
    drawing = Drawing(assembly.picture(Describer(known, values, saved), max_depth, max_nodes, direction, arrows))
    if file is not None:
        drawing.save(file)
    return drawing


def node_mimebundle(node: Node) -> dict[str, str]:
    """What Jupyter shows of a node: the graph behind it, and its usual text."""
    bundle = draw(node)._repr_mimebundle_()
    return bundle
