"""``numgrad.viz.draw``, and the drawing that it returns: to show, to save, and to light parts of."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...autograd.node import Node
from ...core.tensor import Tensor, type_name
from ...nn.modules.module import Module
from ..programs.description import compiled_of
from ..programs.picture import program_picture
from ..rendering.graphviz import RANKS, Layout, dot_text, lay_out, rendered
from ..rendering.svg import Window, svg_text
from ..rendering.text import mermaid_text, tree_text
from .assembly import Assembly, roots_of
from .boxes import Describer
from .module_calls import Fold
from .names import known_names, printable
from .picture import Picture

#: Boxes for nodes that a picture has unless told otherwise, and the picture that stands for a node in Jupyter.
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
    """Draw the graph that backward would go through from a tensor, as it is now.

    The picture reads like the computation: leaves at the top, results at the bottom, arrows from operands to results,
    at each the shape of the tensor that flows, which is that of its gradient, too.  Gradients go against the arrows.

    - Round boxes are tensors: leaves (blue) with their gradient, once there is one, results (green), and data (sand):
      tensors that some operation has saved, that require no gradient and have a name.
    - Angular boxes are the nodes of the graph, with the name that ``grad_fn`` prints and what they have saved for
      backward, under the names of their ``_saved_`` attributes.  Violet ones are Functions of the user.  A dashed box
      is freed: backward has dropped what it had saved.  A red frame says that a saved tensor was changed in place
      since, so backward will refuse.  Hooks and the gradients that ``retain_grad()`` keeps are named, too.
    - Frames around boxes, with ``module``, are the calls of its parts; green boxes are calls that are folded.

    Names come from ``names``, then from ``module`` (its parameters and buffers), then from the variables of the calling
    program that hold the very tensor: of the function that calls ``draw``, of its callers, of the module or notebook.

    Args:
        subject: a tensor that requires gradients, a node (``grad_fn``), a gradient edge, or several of them in a list,
            tuple or dictionary, whose keys are then their names.  Of what ``numgrad.compile`` returns the programs are
            drawn: boxes are the steps and the memory that is there before or after, arrows what steps read; of the
            other arguments only ``file``, ``max_nodes``, ``direction`` and ``arrows`` count.
        module: the model that computed it.  Which of its parts recorded a node is known of the latest 4,096 calls of
            modules, and only if no other thread recorded at the same time.
        file: where to save the picture as well; see :meth:`Drawing.save` for the endings of its name.
        names: tensors by the names that they are to have.
        values: whether to write out elements: all of small tensors, of larger ones the first, the least, the greatest.
        saved: whether to write down what nodes have saved.
        fold: which calls of modules are shown as one box: "auto" (none in a small graph, in a large one those that
            must be for the picture to stay readable), None, a depth (0 is ``module`` itself, 1 the modules that it
            calls, and so on), or the names of modules, in which ``*`` stands for anything: ``"blocks.*"``.
        max_depth: boxes that are more steps away from the subject than this are left out.
        max_nodes: so many boxes are shown, the nearest; None for all.  What is left out is counted in a box of its own.
        direction: where the computation goes: "down", "right", "up" or "left".
        arrows: "forward" for arrows that go with the computation, "backward" for the way of the gradients, which is
            that of ``next_functions``.

    Returns:
        The picture, which Jupyter shows; it holds no tensors.

    Raises:
        TypeError: an argument is of a type that it cannot have.
        ValueError: a tensor has no graph, since it requires no gradient; or an option has an impossible value.
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
        known = known_names(module, {**(names or {}), **{root.name: root.tensor for root in roots if root.name}})
        assembly = Assembly(roots, module, known, fold)
        drawing = Drawing(assembly.picture(Describer(known, values, saved), max_depth, max_nodes, direction, arrows))
    if file is not None:
        drawing.save(file)
    return drawing


def node_mimebundle(node: Node) -> dict[str, str]:
    """The picture that Jupyter shows of a node: the graph behind it, the nearest of it.

    The text of the node is left to what shows it.
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
    """A picture of a graph as it was when it was drawn.  Jupyter shows it; it prints as text.

    It holds neither the graph nor its tensors.

    Attributes:
        picture: what is in it.

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
        self._model = model  # the drawing that has the layout, None if it is this one

    def with_picture(self, picture: Picture) -> Drawing:
        """Another picture of the same boxes and arrows, with the layout of this one."""
        return Drawing(picture, self._model or self)

    @functools.cached_property
    def _layout(self) -> Layout:
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
        """The picture as SVG of at most this size: as it is, a little smaller, or only what lies around a node.

        Args:
            around: a node, or a tensor, as in ``highlighted``.
            width, height: the size, in pixels.  A picture that does not fit is made smaller, down to 80 %.

        Raises:
            ImportError: pygraphviz is not installed.
            TypeError: ``around`` is neither a node nor a tensor.
            ValueError: it is not part of the graph that was drawn, or the width or the height is not positive.
        """
        if not (width > 0 and height > 0):
            raise ValueError(f"part(): width and height must be greater than 0, not {width} and {height}")
        key = self._box_key(around, "part")
        box = self._layout.boxes[key]
        middle = box.left + box.width / 2, box.top + box.height / 2
        return svg_text(self.picture, self._layout, Window(middle, width, height))

    @property
    def summary(self) -> str:
        """What there is to see, in a sentence: the text for those who do not see the picture."""
        return self.picture.summary

    @property
    def dot(self) -> str:
        """The picture in Graphviz' language."""
        return dot_text(self.picture)

    @property
    def mermaid(self) -> str:
        """The picture as a Mermaid flowchart, which Markdown on the web and JupyterLab show."""
        return mermaid_text(self.picture)

    @property
    def text(self) -> str:
        """The graph as an indented text, from the results to the leaves.

        What is indented by 40 levels begins at the left again, behind the number of levels that are left out: ``(40)``.
        """
        return tree_text(self.picture)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What Jupyter shows: SVG or, where pygraphviz is not installed, Mermaid, which JupyterLab draws.

        Not both, since JupyterLab would rather draw the Mermaid.  It shows SVG only in notebooks that it trusts, as it
        does once they have run here, and the text in others.
        """
        try:
            picture = {"image/svg+xml": self.svg}
        except ImportError:
            picture = {"text/vnd.mermaid": self.mermaid}
        return {**picture, "text/plain": self.text}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, in the form that the ending of its name says.

        Args:
            path: ends in ``.svg``, ``.png``, ``.pdf``, ``.dot`` (or ``.gv``), ``.mmd`` (Mermaid) or ``.txt``.

        Raises:
            ValueError: it ends in something else.
            ImportError: the form needs pygraphviz, which is not installed.
            OSError: the file cannot be written.
        """
        ending = Path(path).suffix.lower()
        if ending == ".png" or ending == ".pdf":
            Path(path).write_bytes(rendered(self.picture, ending[1:]))
            return
        forms = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".txt": "text"}
        if ending not in forms:
            raise ValueError(
                f"cannot tell how to draw '{os.fspath(path)}': the name of the file must end in .svg, .png, .pdf, "
                ".dot, .gv, .mmd or .txt"
            )
        Path(path).write_text(getattr(self, forms[ending]), encoding="utf-8")

    # -- lighting up ----------------------------------------------------------------------------------------

    def highlighted(self, notes: Mapping[Any, str | None]) -> Drawing:
        """The same picture with some of its boxes lit, each with a note of its own.  What was lit before is not.

        Nothing moves, so that pictures in a row can be leafed through.

        Args:
            notes: by node (or by tensor, for the node where its gradient arrives) what to write at it: one line or
                several, or None.  A node that is folded into a module, or not shown, lights the box for that.

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
        """The key of the box that shows a node or a tensor."""
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
