"""A GPU that notes every kernel it is given and runs none: all that is read from it is zero.

It stands in for NVIDIA's driver, and has its other functions from the simulator's.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys

from numgrad.devices import needs
from numgrad.devices.cuda import runtime
from numgrad.devices.cuda.simulated import *  # noqa: F403

#: Every kernel that was asked for: its name, its text, the types of its arguments.
asked: list[tuple] = []


def copy_to_host(target, source, size, stream):
    """Put zeros where what is in the memory of the GPU is wanted."""
    ctypes.memset(target, 0, size)


def _find(find_spec, name, *more):
    return None if name == "nvmath" else find_spec(name, *more)


def load(name, text, arguments):
    """Note a kernel; launching it does nothing."""
    asked.append((name, text, tuple(arguments)))

    def launch(*given):
        pass

    launch.occupancy = lambda device: (256, 1000)
    return launch


def begin():
    """Have it be what computes on "cuda" in this process, without cuBLAS, so that products are kernels, too."""
    needs.check = lambda: None
    importlib.util.find_spec = functools.partial(_find, importlib.util.find_spec)
    runtime.begin = lambda: setattr(runtime, "driver", sys.modules[__name__])
