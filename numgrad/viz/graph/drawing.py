"""``numgrad.viz.draw`` and the drawing that it returns, which can be shown, saved and highlighted."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...autograd.node import Node
from ...core.display import for_terminal
from ...nn.modules.module import Module
from ...tensors.tensor import Tensor, type_name
from ..programs.description import compiled_of
from ..programs.picture import program_picture
from ..rendering.graphviz import RANKS, PictureLayout, dot_text, lay_out, rendered
from ..rendering.svg import Window, svg_text
from ..rendering.text import mermaid_text, tree_text
from .assembly import Assembly, roots_of
from .boxes import Describer
from .module_calls import Fold
from .names import known_names, printable
from .picture import Picture

#: The default number of boxes for nodes in a picture, and in the picture of a node that Jupyter shows.
MANY, FEW = 100, 40


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
    """Draw the graph that backward would traverse from a tensor, in its present state.

    The picture reads like the computation: leaves at the top, results at the bottom, arrows from operands to results.
    Each arrow shows the shape of its tensor, which is also that of its gradient.  Gradients flow against the arrows.

    - Round boxes are tensors: leaves (blue) with their gradient, once there is one, results (green), and data (sand),
      that is, named tensors without a gradient that some operation has saved.
    - Angular boxes are the nodes of the graph, with the name that ``grad_fn`` prints and their saved values, under the
      names of the ``_saved_`` attributes.  Violet boxes are user-defined Functions.  A dashed box is freed: backward
      has dropped its saved values.  A red frame marks a saved tensor that was changed in place, so backward will
      refuse.  Hooks and the gradients that ``retain_grad()`` keeps are listed, too.
    - Frames around boxes, with ``module``, are the calls of its submodules; green boxes are folded calls.

    Names come from ``names``, then from ``module`` (its parameters and buffers), then from the variables of the calling
    program that hold the tensor: of the function that calls ``draw``, of its callers, of the module or notebook.

    Args:
        subject: a tensor that requires gradients, a node (``grad_fn``), a gradient edge, or a list, tuple or dictionary
            of these, whose keys are then their names.  For a function compiled by ``numgrad.compile``, the programs are
            drawn: boxes are the steps and the memory that exists before or after, arrows the buffers that steps read;
            of the other arguments only ``file``, ``max_nodes``, ``direction`` and ``arrows`` apply.
        module: the model that computed it.  The submodule that recorded a node is known only for the latest 4,096 calls
            of modules, and only if no other thread recorded at the same time.
        file: a path to which the picture is saved as well; see :meth:`Drawing.save` for the supported suffixes.
        names: tensors by the names to show for them.
        values: True to show elements: all of small tensors; the first, the least and the greatest of larger ones.
        saved: True to show the values saved by nodes.
        fold: the calls of modules that are shown as one box: "auto" (none in a small graph; in a large one those that
            must be folded for the picture to stay readable), None, a depth (0 is ``module`` itself, 1 the modules that
            it calls, and so on), or the names of modules, in which ``*`` matches anything: ``"blocks.*"``.
        max_depth: the maximum number of steps between the subject and a box that is shown.
        max_nodes: the maximum number of boxes, the nearest first; None for all.  An extra box counts those omitted.
        direction: the direction of the computation: "down", "right", "up" or "left".
        arrows: "forward" for arrows in the direction of the computation, "backward" for the direction of the gradients,
            which is that of ``next_functions``.

    Returns:
        The picture, which Jupyter shows; it holds no tensors.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a tensor has no graph because it requires no gradient, or an option has an invalid value.
        ImportError: ``file`` needs pygraphviz, which is not installed.

    Example:
        >>> import numgrad
        >>> x, w = numgrad.ones(5), numgrad.zeros(5, 3, requires_grad=True)
        >>> b = numgrad.zeros(3, requires_grad=True)
        >>> y = (x @ w + b).tanh()
        >>> numgrad.viz.draw(y)
        y [3] float32
        TanhBackward0: saved self [3], result = y [3]
        AddBackward0 → [3]
        ├─ SqueezeBackward4 → [3]: saved self_sym_sizes=(1, 3)
        │  MmBackward0 → [1, 3]: saved self = view of x [1, 5]
        │  ├─ w [5, 3] float32, grad None
        │  └─ x [5] float32, no gradient
        └─ b [3] float32, grad None
        >>> model = numgrad.nn.Sequential(numgrad.nn.Linear(3, 2), numgrad.nn.ReLU())
        >>> numgrad.viz.draw(model(y.detach()), model, fold=1)
        output [2] float32
        1: ReLU, 1 operation
        0 → [2]: Linear, 3 operations, 2 parameters, 8 elements
    """
    compiled = compiled_of(subject)
    roots = roots_of(subject) if compiled is None else []
    if module is not None and not isinstance(module, Module):
        raise TypeError(f"draw(): argument 'module' must be an nn.Module, not {type_name(module)}")
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(f"draw(): argument 'names' must be a mapping of names to tensors, not {type_name(names)}")
    for name, tensor in (names or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"draw(): 'names' must have strings as keys, not {type_name(name)}")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"draw(): names[{name!r}] must be a Tensor, not {type_name(tensor)}")
    _check_choice("direction", direction, list(RANKS))
    _check_choice("arrows", arrows, ["forward", "backward"])
    _check_count("max_depth", max_depth, 0)
    _check_count("max_nodes", max_nodes, 1)
    if compiled is not None:
        drawing = Drawing(program_picture(compiled, max_nodes, direction, arrows))
    else:
        named = known_names(module, {**(names or {}), **{root.name: root.tensor for root in roots if root.name}})
        assembly = Assembly(roots, module, named, fold)
        drawing = Drawing(assembly.picture(Describer(named, values, saved), max_depth, max_nodes, direction, arrows))
    if file is not None:
        drawing.save(file)
    return drawing


def node_mimebundle(node: Node) -> dict[str, str]:
    """Return the picture that Jupyter shows for a node: the nearest part of the graph behind it.

    The bundle has no plain text, which is left to the caller.
    """
    bundle = draw(node, max_nodes=FEW)._repr_mimebundle_()
    return {mimetype: form for mimetype, form in bundle.items() if mimetype != "text/plain"}


def _check_choice(name: str, value: Any, choices: list[str]) -> None:
    if value not in choices:
        raise ValueError(f"draw(): {name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def _check_count(name: str, value: Any, least: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"draw(): {name} must be an int or None, not {type_name(value)}")
    if value < least:
        raise ValueError(f"draw(): {name} must be at least {least}, not {value}")


class Drawing:
    """A picture of a graph as it was when it was drawn.  Jupyter shows the picture; it prints as text.

    A drawing holds neither the graph nor its tensors.

    Attributes:
        picture: the content of the picture.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> drawing = numgrad.viz.draw((x * x).sum())
        >>> drawing.svg.startswith("<svg")
        True
        >>> drawing
        output [] float32
        SumBackward0: saved self_sym_sizes=(2,)
        MulBackward0 → [2]: saved other = x [2], self = x [2]
        ├─ #1 x [2] float32, grad None
        └─ #1 x, see above
    """

    def __init__(self, picture: Picture, model: Drawing | None = None):
        self.picture = picture
        self._model = model  # the drawing that owns the layout, None if it is this one

    def with_picture(self, picture: Picture) -> Drawing:
        """Return a drawing of another picture of the same boxes and arrows, with the layout of this one."""
        return Drawing(picture, self._model or self)

    @functools.cached_property
    def _layout(self) -> PictureLayout:
        return lay_out(self.picture) if self._model is None else self._model._layout

    # -- forms ----------------------------------------------------------------------------------------------

    @functools.cached_property
    def svg(self) -> str:
        """The picture as SVG.

        Raises:
            ImportError: pygraphviz is not installed.
        """
        return svg_text(self.picture, self._layout)

    def part(self, around: Any, width: float, height: float) -> str:
        """Return the picture as SVG within the given size: unchanged, slightly reduced, or only the part around a node.

        Args:
            around: a node or a tensor, as in ``highlighted``.
            width, height: the maximum size in pixels.  A picture that does not fit is scaled down, to 80 % at most.

        Raises:
            ImportError: pygraphviz is not installed.
            TypeError: ``around`` is neither a node nor a tensor.
            ValueError: ``around`` is not part of the graph that was drawn, or the width or the height is not positive.
        """
        if not (width > 0 and height > 0):
            raise ValueError(f"part(): width and height must be greater than 0, not {width} and {height}")
        key = self._box_key(around, "part")
        box = self._layout.boxes[key]
        middle = box.left + box.width / 2, box.top + box.height / 2
        return svg_text(self.picture, self._layout, Window(middle, width, height))

    @property
    def summary(self) -> str:
        """A one-sentence description of the picture, for readers who cannot see it."""
        return self.picture.summary

    @property
    def dot(self) -> str:
        """The picture in the DOT language of Graphviz."""
        return dot_text(self.picture)

    @property
    def mermaid(self) -> str:
        """The picture as a Mermaid flowchart, which JupyterLab and many Markdown viewers render."""
        return mermaid_text(self.picture)

    @property
    def text(self) -> str:
        """The graph as indented text, from the results to the leaves.

        Every 40 levels of indentation the text restarts at the left, prefixed with the number of levels omitted:
        ``(40)``.
        """
        return tree_text(self.picture)

    def __str__(self) -> str:
        return for_terminal(self.text)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the formats that Jupyter shows: SVG or, without pygraphviz, Mermaid, which JupyterLab draws.

        The bundle never has both, because JupyterLab would prefer the Mermaid.  JupyterLab shows SVG only in notebooks
        that it trusts, such as those that were run locally, and the text in others.
        """
        try:
            picture = {"image/svg+xml": self.svg}
        except ImportError:
            picture = {"text/vnd.mermaid": self.mermaid}
        return {**picture, "text/plain": self.text}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file in the format given by the suffix of its name.

        Args:
            path: a path that ends in ``.svg``, ``.png``, ``.pdf``, ``.dot`` (or ``.gv``), ``.mmd`` (Mermaid) or
                ``.txt``.

        Raises:
            ValueError: the path ends in anything else.
            ImportError: the format needs pygraphviz, which is not installed.
            OSError: the file cannot be written.
        """
        ending = Path(path).suffix.lower()
        if ending == ".png" or ending == ".pdf":
            Path(path).write_bytes(rendered(self.picture, ending[1:]))
            return
        forms = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".txt": "text"}
        if ending not in forms:
            raise ValueError(
                f"cannot infer the format of '{os.fspath(path)}': its name must end in .svg, .png, .pdf, "
                ".dot, .gv, .mmd or .txt"
            )
        Path(path).write_text(getattr(self, forms[ending]), encoding="utf-8")

    # -- highlighting ---------------------------------------------------------------------------------------

    def highlighted(self, notes: Mapping[Any, str | None]) -> Drawing:
        """Return the picture with some of its boxes highlighted, each with a note.  Earlier highlights are dropped.

        The layout does not change, so that successive pictures can be compared.

        Args:
            notes: for each node (or tensor, which stands for the node where its gradient arrives) a note of one or more
                lines, or None.  For a node that is folded into a module or not shown, the box that stands for it is
                highlighted.

        Raises:
            TypeError: a key is neither a node nor a tensor.
            ValueError: a node is not part of the graph that was drawn.
        """
        lit: dict[str, str] = {}
        for subject, note in notes.items():
            key = self._box_key(subject, "highlighted")
            text = "\n".join(map(printable, (note or "").split("\n")))
            lit[key] = "\n".join(part for part in (lit.get(key), text) if part)
        return self.with_picture(replace(self.picture, lit=lit))

    def _box_key(self, subject: Any, asked: str) -> str:
        """Return the key of the box that shows a node or a tensor."""
        if not isinstance(subject, Node | Tensor):
            raise TypeError(f"{asked}() takes nodes and tensors, not {type_name(subject)}")
        node: Any = subject
        if isinstance(subject, Tensor):
            weak = subject._accumulator
            node = subject.grad_fn or (weak() if weak is not None else None)
        key = None if node is None else self.picture.box_keys.get(node.sequence)
        if key is None:
            what = f"a tensor of shape {list(subject.shape)}" if isinstance(subject, Tensor) else repr(subject)
            raise ValueError(f"{asked}(): {what} is not part of the graph that was drawn")
        return key
