"""An inspection as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.display import counted, number_of_bytes

if TYPE_CHECKING:
    from .inspection import Inspection
    from .kernels import InspectedKernel

#: What ran a kernel for GPUs.
_ON_GPUS = {
    "driver": "compiled for the GPU", "simulated": "run by Python, in Numba's simulator of a GPU",
    "dry": "not run: there is no GPU",
}

#: Lines of the main loop that are shown.
_LOOP_LINES = 40


def inspection_text(inspection: Inspection, sections: Sequence[str]) -> str:
    """The subject, the notes, and each kernel with these sections."""
    parts = ["\n".join([inspection.subject, *[f"({note})" for note in inspection.notes]])]
    return "\n\n".join([*parts, *[kernel_text(kernel, sections) for kernel in inspection.kernels]])


def kernel_text(kernel: InspectedKernel, sections: Sequence[str] = ("python", "loop")) -> str:
    """What there is to say of a kernel, with these sections of it."""
    lines = [title(kernel)]
    if kernel.kernel is not None:
        lines += [f"  {name}: {type}" for name, type in kernel.types.items()]
    lines += [f"  {line}" for line in (figures(kernel), origin(kernel)) if line]
    wanted = [name if name in kernel.sections else "python" * (name == "cuda") for name in sections]
    for name in dict.fromkeys(filter(None, wanted)) if kernel.kernel is not None else ():
        head, text = section(kernel, name)
        lines += ["", f"  {head}"] if head else [""]
        lines += [f"    {line}".rstrip() for line in text.splitlines()]
    return "\n".join(lines)


def title(kernel: InspectedKernel) -> str:
    """The kernel's name, and in which stage it ran."""
    return f"{kernel.name}, {kernel.stage}" if kernel.stage else kernel.name


def figures(kernel: InspectedKernel) -> str:
    """What the last run took, as a line; "" if there was none."""
    run = kernel.last
    if run is None:
        return ""
    place = ", on several threads" if run.parallel else f", on {run.device}" * (run.device != "cpu")
    fastest = min(run.time for run in kernel.runs)
    best = f"; the fastest took {duration(fastest)}" if fastest < 0.9 * run.time else ""
    times = f" (the last of {len(kernel.runs)} runs{best})" if len(kernel.runs) > 1 else ""
    return (
        f"{counted(run.elements, 'element')} in {duration(run.time)}: reads {number_of_bytes(run.read)}, "
        f"writes {number_of_bytes(run.written)}, {run.bandwidth:.3g} GB/s{place}{times}"
    )


def origin(kernel: InspectedKernel) -> str:
    """Where the process has the kernel from, as a line."""
    if kernel.kernel is None:
        return f"{kernel.library}'s own machine code: there is no text to show"
    if kernel.origin in _ON_GPUS:
        return _ON_GPUS[kernel.origin]
    place = " from disk" if kernel.origin == "loaded" else ""
    blas = "; it calls BLAS for each piece of a matrix" if kernel.calls_blas else ""
    return f"{kernel.origin}{place} in {duration(kernel.seconds)}{blas}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    factor, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{seconds * factor:.3g} {unit}"


def section(kernel: InspectedKernel, name: str) -> tuple[str, str]:
    """The heading and the text of a section of a kernel."""
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
