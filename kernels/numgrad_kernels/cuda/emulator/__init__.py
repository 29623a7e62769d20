"""Compiled kernels for GPUs, run on the processor: warps, barriers and shuffles as on a GPU, and every access checked.

``ptx.py`` reads the PTX of a kernel.  ``translation.py``, with the instructions in ``arithmetic.py``, ``accesses.py``
and ``warps.py``, translates it to LLVM's language, as a function that runs one thread up to its next barrier or
exchange with other lanes.  ``scheduler.py`` runs the threads of a block in any order that a GPU may choose.
``checks.py`` finds accesses that are misaligned, outside of all buffers, or racing.  ``kernel.py`` puts these together.
``profile.py`` counts how warps access memory and diverge, and ``report.py`` describes it by lines of Python.
"""

from .kernel import ORDERS, EmulatedKernel, FaultError
from .profile import Profile
from .ptx import UntranslatedError
from .report import LaunchReport, report

__all__ = ["ORDERS", "EmulatedKernel", "FaultError", "LaunchReport", "Profile", "UntranslatedError", "report"]
