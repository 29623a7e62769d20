"""Inspections as text, and as HTML: a table of the kernels, with details of each to unfold."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ...core.display import counted, duration, number_of_bytes
from ..html import Html, element, faint, framed, joined, table, unfolding

if TYPE_CHECKING:
    from .kernels import InspectedKernel, Inspection


#: Descriptions of the platforms that run kernels for GPUs.
_ON_GPUS = {
    "driver": "compiled for the GPU", "simulated": "run by Python, in Numba's simulator of a GPU",
    "emulated": "compiled for a GPU, and run on the processor", "dry": "not run: there is no GPU",
}

#: The number of lines of the main loop that are shown.
_LOOP_LINES = 40


def inspection_text(inspection: Inspection, sections: Collection[str]) -> str:
    """Return the subject, the notes, and each kernel with these sections."""
    parts = ["\n".join([inspection.subject, *[f"({note})" for note in inspection.notes]])]
    return "\n\n".join([*parts, *[kernel_text(kernel, sections) for kernel in inspection.kernels]])


def kernel_text(kernel: InspectedKernel, sections: Collection[str] = ("python", "loop")) -> str:
    """Return a kernel's name, types and figures, with these sections."""
    lines = [title(kernel)]
    if kernel.kernel is not None:
        lines += [f"  {name}: {type}" for name, type in kernel.types.items()]
    lines += [f"  {line}" for line in (figures(kernel), origin(kernel)) if line]
    names = [name if name in kernel.sections else "python" * (name == "cuda") for name in sections]
    for name in dict.fromkeys(filter(None, names)) if kernel.kernel is not None else ():
        head, text = section(kernel, name)
        lines += ["", f"  {head}"] if head else [""]
        lines += [f"    {line}".rstrip() for line in text.splitlines()]
    return "\n".join(lines)


def title(kernel: InspectedKernel) -> str:
    """Return the kernel's name, and the stage in which it ran."""
    return f"{kernel.name}, {kernel.stage}" if kernel.stage else kernel.name


def figures(kernel: InspectedKernel) -> str:
    """Return the figures of the last run, or of a planned one, as a line; "" if there are none."""
    run = kernel.last
    traffic: Any = run or kernel.planned
    if traffic is None:
        return ""
    amounts = f"reads {number_of_bytes(traffic.read)}, writes {number_of_bytes(traffic.written)}"
    if run is None:
        return f"{counted(traffic.elements, 'element')}, not run here: {amounts}"
    where = ", on several threads" if run.parallel else f", on {run.device}" * (run.device != "cpu")
    fastest = min(run.time for run in kernel.runs)
    best = f"; the fastest took {duration(fastest)}" if fastest < 0.9 * run.time else ""
    times = f" (the last of {len(kernel.runs)} runs{best})" if len(kernel.runs) > 1 else ""
    return (
        f"{counted(run.elements, 'element')} in {duration(run.time)}: {amounts}, {run.bandwidth:.3g} GB/s"
        f"{where}{times}"
    )


def origin(kernel: InspectedKernel) -> str:
    """Return the kernel's source in this process as a line."""
    if kernel.kernel is None:
        return f"{kernel.library}'s own machine code: there is no text to show"
    if kernel.origin in _ON_GPUS:
        return _ON_GPUS[kernel.origin]
    source = " from disk" if kernel.origin == "loaded" else ""
    blas = "; it calls BLAS for each piece of a matrix" if kernel.calls_blas else ""
    return f"{kernel.origin}{source} in {duration(kernel.seconds)}{blas}"


def section(kernel: InspectedKernel, name: str) -> tuple[str, str]:
    """Return the heading and the text of a section of a kernel."""
    if name == "python":
        return "", kernel.python.strip()
    if name == "loop":
        lines = kernel.loop.splitlines() if kernel.vector_bits or not kernel.calls_blas else []
        more = [f"... {len(lines) - _LOOP_LINES} more lines"] if len(lines) > _LOOP_LINES else []
        return f"main loop, {kernel.vectors}", "\n".join([*lines[:_LOOP_LINES], *more])
    if name in ("cuda", "ptx"):
        head = "for GPUs" if name == "cuda" else "PTX"
        try:
            return head, getattr(kernel, name).strip()
        except (ImportError, NotImplementedError) as error:
            return head, f"none: {error}"
    if name == "llvm":
        return "LLVM", kernel.llvm
    return f"assembly, main loop {kernel.vectors}", kernel.assembly


#: The number of kernels shown with all sections, and of lines of a section.
_MOST, _LINES = 8, 200

#: Vectors: registers in assembly, and LLVM's types.
_VECTORS = re.compile(r"(%[xyz]mm\d+|\bv\d+\.\d+[bhsd]|<\d+ x \w+>)")

_STYLE = Html("<style>.numgrad .vector { background: rgba(90,150,230,.28); border-radius: 3px; }</style>")


def inspection_html(inspection: Inspection) -> str:
    """Return a complete inspection as HTML."""
    kernels = inspection.kernels
    parts = [element("p", element("b", inspection.subject))]
    parts += [element("p", faint(note)) for note in inspection.notes]
    if len(kernels) > 1:
        parts.append(_table(kernels))
    for number, kernel in enumerate(kernels):
        content = joined([_about(kernel), *_sections(kernel, whole=len(kernels) <= _MOST)])
        parts.append(unfolding(element("b", title(kernel)), content, is_open=number == 0))
    return framed(_STYLE, *parts, height="none")


def kernel_html(kernel: InspectedKernel) -> str:
    """Return one kernel by itself as HTML."""
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
        unfolding("Python", element("pre", _python(kernel.python.strip())), is_open=True),
        unfolding(counted(len(kernel.types), "argument") + ", Numba's types", types),
    ]
    for name in kernel.sections[1:] if whole else ():
        head, text = section(kernel, name)
        if text:
            shown = _shortened(text, name)
            parts.append(unfolding(head, element("pre", shown if name in ("cuda", "ptx") else _marked(shown))))
    return parts


def _shortened(text: str, name: str) -> str:
    lines = text.splitlines()
    if len(lines) <= _LINES:
        return text
    return "\n".join([*lines[:_LINES], f"... {len(lines) - _LINES} more lines are in the kernel's attribute {name}"])


def _marked(code: str) -> Html:
    """Return machine code or LLVM's code with its vectors marked."""
    parts = _VECTORS.split(code)
    return joined([element("span", part, class_="vector") if index % 2 else part for index, part in enumerate(parts)])


#: In Python: strings (short ones end with their line) and comments, or keywords.
_STRING = r"""\w*(?:\"{3}[\s\S]*?\"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_WORDS = re.compile(rf"({_STRING}|#.*|\b(?:{'|'.join(keyword.kwlist)})\b)")


def _python(text: str) -> Html:
    """Return Python code with its keywords in bold, its strings and comments faint."""
    parts: list[str] = _WORDS.split(text)
    for index in range(1, len(parts), 2):
        parts[index] = element("b", parts[index]) if keyword.iskeyword(parts[index]) else faint(parts[index])
    return joined(parts)
