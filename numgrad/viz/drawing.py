"""What ``draw`` returns: a picture of a graph, to show, to save, and to light parts of."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..autograd.node import Node
from ..core.tensor import Tensor, type_name
from .names import printable
from .picture import Picture
from .rendering.dot import dot_text, rendered
from .rendering.layout import Layout, lay_out
from .rendering.mermaid import mermaid_text
from .rendering.svg import Window, svg_text
from .rendering.text import tree_text


class Drawing:
    """A picture of a graph as it was when it was drawn.  Jupyter shows it; it prints as text.

    It holds neither the graph nor its tensors.

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

    def __init__(self, picture: Picture, layout: _Later | None = None):
        self._picture = picture
        self._layout = layout or _Later(picture)

    @property
    def picture(self) -> Picture:
        """What is in it."""
        return self._picture

    def with_picture(self, picture: Picture) -> Drawing:
        """Another picture of the same boxes and arrows, each in its place here."""
        return Drawing(picture, self._layout)

    # -- forms ----------------------------------------------------------------------------------------------

    @functools.cached_property
    def svg(self) -> str:
        """The picture as SVG.

        Raises:
            ImportError: pygraphviz is not installed.
        """
        return svg_text(self._picture, self._layout.made)

    def part(self, around: Any, width: float, height: float) -> str:
        """The picture as SVG in so much room: as it is, a little smaller, or only what lies around a node.

        Args:
            around: a node, or a tensor, as in ``highlighted``.
            width, height: the room, in pixels.  A picture that does not fit is made smaller, down to 80 %.

        Raises:
            ImportError: pygraphviz is not installed.
            TypeError: ``around`` is neither a node nor a tensor.
            ValueError: it is not part of the graph that was drawn, or there is no room.
        """
        if not (width > 0 and height > 0):
            raise ValueError(f"part(): width and height must be greater than 0, not {width} and {height}")
        key = self._place(around, "part")
        box = self._layout.made.boxes[key]
        middle = box.left + box.width / 2, box.top + box.height / 2
        return svg_text(self._picture, self._layout.made, Window(middle, width, height))

    @property
    def summary(self) -> str:
        """What there is to see, in a sentence: the text for those who do not see the picture."""
        return self._picture.summary

    @property
    def dot(self) -> str:
        """The picture in Graphviz' language."""
        return dot_text(self._picture)

    @property
    def mermaid(self) -> str:
        """The picture as a Mermaid flowchart, which Markdown on the web and JupyterLab show."""
        return mermaid_text(self._picture)

    @property
    def text(self) -> str:
        """The graph as an indented text, from the results to the leaves.

        What is indented by 40 levels begins at the left again, behind the number of levels that are left out: ``(40)``.
        """
        return tree_text(self._picture)

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
            Path(path).write_bytes(rendered(self._picture, ending[1:]))
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

        Everything stays in its place, so that pictures in a row can be leafed through.

        Args:
            notes: by node (or by tensor, for the node where its gradient arrives) what to write at it: one line or
                several, or None.  A node that is folded into a module, or not shown, lights the box for that.

        Raises:
            TypeError: a key is neither a node nor a tensor.
            ValueError: a node is not part of the graph that was drawn.
        """
        lit: dict[str, str] = {}
        for subject, note in notes.items():
            key = self._place(subject, "highlighted")
            text = "\n".join(map(printable, (note or "").split("\n")))
            lit[key] = "\n".join(part for part in (lit.get(key), text) if part)
        return self.with_picture(replace(self._picture, lit=lit))

    def _place(self, subject: Any, asked: str) -> str:
        """The key of the box that shows a node or a tensor."""
        if not isinstance(subject, Node | Tensor):
            raise TypeError(f"{asked}() takes nodes and tensors, not {type_name(subject)}")
        node: Any = subject
        if isinstance(subject, Tensor):
            weak = subject._accumulator
            node = subject.grad_fn or (weak() if weak is not None else None)
        key = None if node is None else self._picture.places.get(node.sequence)
        if key is None:
            what = f"a tensor of shape {list(subject.shape)}" if isinstance(subject, Tensor) else repr(subject)
            raise ValueError(f"{asked}(): {what} is not part of the graph that was drawn")
        return key


class _Later:
    """The layout of a picture, found when it is first asked for."""

    def __init__(self, picture: Picture):
        self.picture = picture

    @functools.cached_property
    def made(self) -> Layout:
        return lay_out(self.picture)
