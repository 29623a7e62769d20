"""An inspection as HTML: a table of the kernels, and of each what can be unfolded."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from typing import TYPE_CHECKING

from ...core.display import counted, number_of_bytes
from ..rich.html import Html, element, faint, framed, joined, table
from .text import duration, figures, origin, section, title

if TYPE_CHECKING:
    from .inspection import Inspection
    from .kernels import InspectedKernel

#: Kernels that are shown with all that is made of them, and lines of a section.
_MOST, _LINES = 8, 200

#: Vectors: registers, as assembly names them, and LLVM's types.
_VECTORS = re.compile(r"(%[xyz]mm\d+|\bv\d+\.\d+[bhsd]|<\d+ x \w+>)")

_STYLE = Html("<style>.numgrad .vector { background: rgba(90,150,230,.28); border-radius: 3px; }</style>")


def inspection_html(inspection: Inspection) -> str:
    """The whole of an inspection."""
    kernels = inspection.kernels
    parts = [element("p", element("b", inspection.subject))]
    parts += [element("p", faint(note)) for note in inspection.notes]
    if len(kernels) > 1:
        parts.append(_table(kernels))
    for number, kernel in enumerate(kernels):
        content = joined([_about(kernel), *_sections(kernel, whole=len(kernels) <= _MOST)])
        parts.append(_unfolded(element("b", title(kernel)), content, is_open=number == 0))
    return framed(_STYLE, *parts, height="none")


def kernel_html(kernel: InspectedKernel) -> str:
    """One kernel by itself."""
    head = element("p", element("b", title(kernel)))
    return framed(_STYLE, head, _about(kernel), *_sections(kernel, whole=True), height="none")


def _table(kernels: list[InspectedKernel]) -> Html:
    rows = []
    for kernel in kernels:
        run = kernel.last
        if run is not None:
            amounts = [f"{run.elements:,}", duration(run.time), number_of_bytes(run.read), number_of_bytes(run.written)]
            rows.append([kernel.name, kernel.stage, str(len(kernel.runs)), *amounts, f"{run.bandwidth:.3g} GB/s"])
    return table(rows, ["kernel", "", "runs", "elements", "time of the last", "read", "written", ""], class_="names")


def _about(kernel: InspectedKernel) -> Html:
    lines = [line for line in (figures(kernel), origin(kernel)) if line]
    return joined([element("p", line) for line in lines])


def _sections(kernel: InspectedKernel, whole: bool) -> list[Html]:
    if kernel.kernel is None:
        return []
    types = table(list(kernel.types.items()), class_="left")
    parts = [
        _unfolded("Python", element("pre", _python(kernel.python.strip())), is_open=True),
        _unfolded(counted(len(kernel.types), "argument") + ", Numba's types", types),
    ]
    for name in kernel.sections[1:] if whole else ():
        head, text = section(kernel, name)
        if text:
            shown = _shortened(text, name)
            parts.append(_unfolded(head, element("pre", shown if name in ("cuda", "ptx") else _marked(shown))))
    return parts


def _unfolded(head: str, content: Html, is_open: bool = False) -> Html:
    attributes = {"open": ""} if is_open else {}
    return element("details", element("summary", head), content, **attributes)


def _shortened(text: str, name: str) -> str:
    lines = text.splitlines()
    if len(lines) <= _LINES:
        return text
    return "\n".join([*lines[:_LINES], f"... {len(lines) - _LINES} more lines are in the kernel's attribute {name}"])


def _marked(code: str) -> Html:
    """Machine code, or LLVM's, with its vectors marked."""
    parts = _VECTORS.split(code)
    return joined([element("span", part, class_="vector") if place % 2 else part for place, part in enumerate(parts)])


def _python(text: str) -> Html:
    """Python with its keywords in bold, its strings and comments faint."""
    lines = text.splitlines(keepends=True)
    parts: list[str] = []
    row, column = 1, 0

    def rest(until: tuple[int, int]) -> str:
        passed = [*lines[row - 1 : until[0]]]
        if until[0] <= len(lines):
            passed[-1] = passed[-1][: until[1]]
        return "".join(passed)[column:]

    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT) or keyword.iskeyword(token.string):
            parts.append(rest(token.start))
            parts.append(element("b", token.string) if keyword.iskeyword(token.string) else faint(token.string))
            row, column = token.end
    return joined([*parts, "".join(lines[row - 1 :])[column:]])
