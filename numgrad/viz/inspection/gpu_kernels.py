"""What there is to see of a kernel that ran on a GPU."""

from __future__ import annotations

from ... import devices
from .kernels import InspectedKernel, shown_ptx


class InspectedGpuKernel(InspectedKernel):
    """A kernel for NVIDIA's GPUs, with the runs that were looked at; see ``InspectedKernel``.

    It has no ``llvm``, ``assembly`` and ``loop``: a GPU's threads compute one element each, or a few.
    """

    sections = ("python", "ptx")

    @property
    def origin(self) -> str:
        """What ran it: "driver" for NVIDIA's, "simulated" for Numba's simulator, "dry" for nothing at all."""
        return devices.gpu_driver()

    @property
    def seconds(self) -> float:
        """0: kernels for GPUs are compiled or loaded when they are first launched, which is told elsewhere."""
        return 0.0

    @property
    def cuda(self) -> str:
        """The Python module, again."""
        return self.python

    @property
    def ptx(self) -> str:
        """The assembly of NVIDIA's GPUs, compiled for the GPU that it ran on, or for Hopper (sm_90).

        Raises:
            NotImplementedError: Numba's simulator is on, which compiles nothing.
        """
        ran_on = self.last.device if self.last is not None and self.origin == "driver" else ""
        number = ran_on.partition(":")[2]
        return shown_ptx(devices.gpu_ptx(self._store_kernel, int(number) if number else None))

    @property
    def vector_bits(self) -> int:
        """0: a GPU has no vectors."""
        return 0

    @property
    def vectors(self) -> str:
        """In words, that there are none."""
        return "no vectors: a GPU's threads compute side by side"

    @property
    def loop(self) -> str:
        raise self._without("main loop")

    @property
    def llvm(self) -> str:
        raise self._without("LLVM code")

    @property
    def assembly(self) -> str:
        raise self._without("assembly of the processor's")

    def _without(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{self.name} runs on a GPU and has no {what}: see its ptx")
