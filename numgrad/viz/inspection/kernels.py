"""The kernels of an inspection: their text, their machine code, and the times of their runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ... import devices
from ...core.display import for_terminal
from ...devices.launches import Launch
from ...devices.traffic import Traffic, step_traffic
from ..listing import Listing
from .assembly import Loop, function_of, main_loop, readable, widest
from .report import inspection_html, inspection_text, kernel_html, kernel_text

#: x86's names of its vector registers.
_NAMES = {512: "zmm", 256: "ymm", 128: "xmm"}

_PTX_NAME = re.compile(r"_ZN15numgrad_kernels8compiled\d+cuda_\w+?6kernel\w*?(?=_param_|\W|$)")


def shown_ptx(code: str) -> str:
    """Return a kernel's PTX without comments, under the name "kernel"."""
    lines = [line for line in code.splitlines() if not line.lstrip().startswith("//") and "NumbaEnv" not in line]
    return _PTX_NAME.sub("kernel", "\n".join(lines)).strip().expandtabs(8)


class InspectedKernel:
    """A kernel of the CPU, or the library function that ran instead of one, with the observed runs.

    Attributes:
        name: the kernel's name; for a library the function's, such as "numpy.dot" or "cublas.sgemm".
        stage: "forward" or "backward"; "" if it was not run.
        kernel: the store's kernel; None for a library, which has no Python text and none of the attributes derived from
            it.
        runs: the times and bytes of each run, the last one last.
        planned: the traffic of a run, if none was observed and it is known from a plan.
    """

    #: The parts that can be shown in addition to the figures.
    sections: tuple[str, ...] = ("python", "loop", "llvm", "assembly", "cuda", "ptx")

    def __init__(self, name: str, stage: str, kernel: Any, planned: Traffic | None = None):
        self.name = name
        self.stage = stage
        self.kernel = kernel
        self.planned = planned
        self.runs: list[Launch] = []

    # -- runs ---------------------------------------------------------------------------------------------

    @property
    def last(self) -> Launch | None:
        """The last run, None if there was none."""
        return self.runs[-1] if self.runs else None

    @property
    def time(self) -> float | None:
        """The duration of the last run in seconds."""
        return None if self.last is None else self.last.time

    @property
    def bytes(self) -> int | None:
        """The bytes that the last run had to read and write, or that a run of its plan must, each counted once."""
        traffic = self.last or self.planned
        return None if traffic is None else traffic.read + traffic.written

    @property
    def bandwidth(self) -> float | None:
        """The bandwidth of the last run in GB/s: its bytes divided by its time."""
        return None if self.last is None else self.last.bandwidth

    @property
    def origin(self) -> str:
        """The kernel's source in this process: "compiled", "loaded", or a library's name, such as "numpy"."""
        return self.name.partition(".")[0] if self.kernel is None else self.kernel.origin

    @property
    def library(self) -> str:
        """The display name of the library that ran instead of a kernel of numgrad's."""
        names = {"numpy": "NumPy", "cublas": "cuBLAS", "pocketfft": "Pocketfft", "lapack": "LAPACK"}
        return names[self.name.partition(".")[0]]

    @property
    def seconds(self) -> float:
        """The time in seconds that compiling or loading the kernel took."""
        return 0.0 if self.kernel is None else self.kernel.seconds

    # -- code ---------------------------------------------------------------------------------------------

    @property
    def python(self) -> str:
        """The Python module that Numba compiled."""
        return self._store_kernel.text

    @property
    def types(self) -> dict[str, str]:
        """Numba's types of the arguments, by name."""
        kernel = self._store_kernel
        return {name: str(type) for name, type in zip(kernel.facts.parameters, kernel.arguments, strict=True)}

    @property
    def compute(self) -> np.dtype:
        """The dtype of the kernel's arithmetic."""
        return self._store_kernel.facts.compute

    @cached_property
    def llvm(self) -> str:
        """LLVM's optimised code of the function with the main loop."""
        code = self._store_kernel.llvm()
        name, _ = self._main
        match = re.search(rf"^define [^\n]*@\"?{re.escape(name)}\"?\(.*?^}}", code, re.MULTILINE | re.DOTALL)
        return readable(match[0] if match else code)

    @cached_property
    def assembly(self) -> str:
        """The machine code of that function, as text."""
        return readable(function_of(self._machine_code, self._main[0]))

    @property
    def loop(self) -> str:
        """The main loop of the machine code, as text; "" if there is no loop."""
        loop = self._main[1]
        return "" if loop is None else readable("\n".join(loop.lines))

    @property
    def vector_bits(self) -> int:
        """The width of the vectors in the main loop, in bits; 0 if it computes one element at a time."""
        loop = self._main[1]
        return 0 if loop is None else loop.bits

    @property
    def lanes(self) -> int:
        """The number of elements per vector."""
        return max(self.vector_bits // (8 * self.compute.itemsize), 1)

    @property
    def vectors(self) -> str:
        """A description of the width of the main loop's vectors and of the number of its vector instructions."""
        loop = self._main[1]
        if loop is None:
            return "no loop"
        if self.calls_blas and not loop.bits:
            return f"none of its own: BLAS ({devices.blas_name()}) does the work"
        widest_bits = widest(self._machine_code, self._main[0])
        notes = [f"; {widest_bits}-bit vectors outside it"] * (widest_bits > loop.bits)
        notes += [f"; it calls functions in {loop.calls} places, whose instructions are not shown"] * (loop.calls > 0)
        if not loop.bits:
            return f"no vectors: one {self.compute} at a time{''.join(notes)}"
        return f"{loop.bits}-bit: {self.lanes} {self.compute} at a time ({_counted(loop)}){''.join(notes)}"

    @property
    def calls_blas(self) -> bool:
        """True if BLAS multiplies matrices or vectors for the kernel; BLAS' machine code is not shown."""
        return self._store_kernel.facts.calls_blas

    @property
    def cuda(self) -> str:
        """The Python module of the kernel's counterpart for NVIDIA's GPUs.

        Raises:
            NotImplementedError: the kernel is written by hand for the CPU; another one runs on GPUs.
        """
        return devices.cuda_text(self._store_kernel)

    @property
    def ptx(self) -> str:
        """The PTX of the kernel's counterpart for NVIDIA's GPUs, compiled for Hopper (sm_90).

        Raises:
            ImportError: the package numba-cuda or NVIDIA's compiler is not installed.
            NotImplementedError: the kernel is written by hand for the CPU; another one runs on GPUs.
        """
        return shown_ptx(devices.ptx(self._store_kernel))

    @cached_property
    def _machine_code(self) -> str:
        return self._store_kernel.assembly()

    @cached_property
    def _main(self) -> tuple[str, Loop | None]:
        return main_loop(self._machine_code)

    @property
    def _store_kernel(self) -> Any:
        if self.kernel is None:
            raise AttributeError(f"{self.name} is {self.library}'s own machine code: there is no text to show")
        return self.kernel

    def __repr__(self) -> str:
        return f"<InspectedKernel {self.name}{', ' * bool(self.stage)}{self.stage}>"

    def __str__(self) -> str:
        return for_terminal(kernel_text(self))

    def _repr_html_(self) -> str:
        return kernel_html(self)


def _counted(loop: Loop) -> str:
    x86 = any("%" in line for line in loop.lines)
    parts = [
        f"{count} on {_NAMES[bits] if x86 else f'{bits}-bit'} registers"
        for bits, count in sorted(loop.registers.items(), reverse=True) if bits
    ]
    return f"{loop.registers.total()} instructions: {', '.join(parts)}, {loop.registers[0]} on none"


def _absent(what: str) -> Any:
    """Return a property that raises for an attribute which kernels for GPUs lack."""

    def refuse(kernel: InspectedGpuKernel) -> str:
        raise NotImplementedError(f"{kernel.name} runs on a GPU and has no {what}: see its ptx")

    return property(refuse)


class InspectedGpuKernel(InspectedKernel):
    """A kernel for NVIDIA's GPUs, with the observed runs; see ``InspectedKernel``.

    It has no ``llvm``, ``assembly`` and ``loop``: each of a GPU's threads computes one element, or a few.
    """

    sections = ("python", "ptx")

    @property
    def origin(self) -> str:
        """The launcher that ran it: "driver" (NVIDIA's), "simulated" (by Numba), "emulated", or "dry" (nothing)."""
        return devices.gpu_driver()

    @property
    def seconds(self) -> float:
        """Always 0: kernels for GPUs are compiled or loaded at their first launch, which is reported elsewhere."""
        return 0.0

    @property
    def cuda(self) -> str:
        """The Python module, as in ``python``."""
        return self.python

    @property
    def ptx(self) -> str:
        """The PTX, compiled for the GPU that it ran on, or for Hopper (sm_90).

        Raises:
            NotImplementedError: Numba's simulator is on, which compiles nothing.
        """
        ran_on = self.last.device if self.last is not None and self.origin == "driver" else ""
        number = ran_on.partition(":")[2]
        return shown_ptx(devices.gpu_ptx(self._store_kernel, int(number) if number else None))

    @property
    def vector_bits(self) -> int:
        """Always 0: a GPU has no vectors."""
        return 0

    @property
    def vectors(self) -> str:
        """A remark that there are none."""
        return "no vectors: a GPU's threads compute side by side"

    loop = _absent("main loop")
    llvm = _absent("LLVM code")
    assembly = _absent("assembly of the processor's")


def planned_kernels(plan: devices.Plan, stage: str, size: int) -> list[InspectedKernel]:
    """Return the kernels and library functions in the steps of a plan, whose result has ``size`` elements."""
    result = []
    make = InspectedKernel if plan.device is None else InspectedGpuKernel
    for step in plan.steps:
        if isinstance(step, devices.Step):
            kernel = plan.backend.kernel_of(step, plan.device)()
            result.append(make(kernel.name, stage, kernel, step_traffic(kernel.facts, step, size)))
        else:
            names = [getattr(part, "library", None) for part in (step.function, *step.operands)]
            result += [make(name, stage, None) for name in names if name is not None]
    return result


def inspected(launches: Iterable[tuple[str, Launch]]) -> list[InspectedKernel]:
    """Return the kernels that ran, once for each stage, in the order of their first runs."""
    kernels: dict[Any, InspectedKernel] = {}
    for stage, launch in launches:
        key = stage, launch.kernel or launch.name
        if key not in kernels:
            on_cpu = launch.kernel is None or isinstance(launch.kernel, devices.Kernel)
            kernels[key] = (InspectedKernel if on_cpu else InspectedGpuKernel)(launch.name, stage, launch.kernel)
        if kernels[key].origin != "dry":
            kernels[key].runs.append(launch)
    return list(kernels.values())


class Inspection(Listing):
    """The kernels that a computation ran, in order.  It prints as text, and notebooks show it with details to unfold.

    The sections of its ``text`` are "python", "loop" (the main loop of the machine code), "llvm", "assembly", and for
    NVIDIA's GPUs "cuda" (the Python text) and "ptx".  A kernel that ran on a GPU has only its text and "ptx".

    Attributes:
        subject: a description of the computation.
        kernels: the kernels, each with ``python``, ``types``, ``llvm``, ``assembly``, ``vectors``, ``cuda`` and
            ``ptx``, and with ``time``, ``bytes`` and ``bandwidth`` of its last run.
        notes: remarks, in sentences.
    """

    sections = InspectedKernel.sections

    @property
    def kernels(self) -> list[InspectedKernel]:
        return self.items

    def _text(self, sections: Collection[str]) -> str:
        return inspection_text(self, sections)

    def _repr_html_(self) -> str:
        return inspection_html(self)
