"""Requirements of computing on a GPU, which are checked before anything of CUDA is imported."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys

from numba.core import config

#: The system's name of the library of NVIDIA's driver.
_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


class OutOfMemoryError(RuntimeError):
    """A device has too little free memory for a tensor, even after it has freed the memory kept for later tensors."""


def is_simulated() -> bool:
    """Return True if Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) replaces a GPU."""
    return bool(config.ENABLE_CUDASIM)


def is_emulated() -> bool:
    """Return True if the emulator replaces a GPU: ``NUMGRAD_GPU=emulated``, with an order of threads after a colon.

    Raises:
        ValueError: the variable has another value.
    """
    chosen = os.environ.get("NUMGRAD_GPU", "")
    if chosen not in ("", "emulated", "emulated:up", "emulated:down", "emulated:random"):
        raise ValueError(f"NUMGRAD_GPU={chosen}: expected emulated, emulated:down or emulated:random")
    return bool(chosen)


def check() -> int:
    """Return the number of GPUs; raise an error if a requirement is missing.

    Raises:
        ImportError: the extra "cuda" is not installed, or "simulator" where the simulator is on.
        RuntimeError: there is no driver, or no GPU.
    """
    for package in ("numba_cuda", "cuda", "cuda.bindings"):
        if importlib.util.find_spec(package) is None:
            from numgrad_kernels.cuda import how_to_install  # only where it is missing

            name = "numba-cuda" if package == "numba_cuda" else "cuda-bindings"
            raise ImportError(f"computing on a GPU needs the package {name}: {how_to_install()}")
    if is_simulated() or is_emulated():
        return 1
    _load_driver()
    from cuda.bindings import driver  # installed, as checked above

    (error,) = driver.cuInit(0)
    count = 0
    if not error:
        error, count = driver.cuDeviceGetCount()
    if error == driver.CUresult.CUDA_ERROR_NO_DEVICE or not (error or count):
        raise RuntimeError("No CUDA GPUs are available")
    if error:
        raise RuntimeError(f"NVIDIA's driver does not start: CUDA error {int(error)} ({error.name})")
    return count


def count() -> int:
    """Return the number of usable GPUs; 0 if any requirement is missing."""
    try:
        gpus = check()
        from numgrad_kernels.cuda import adapter as adapter  # may be incompatible with NumPy
    except Exception:
        return 0
    return gpus


def _load_driver() -> None:
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        raise RuntimeError(
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed its driver; "
            "without a GPU, NUMGRAD_GPU=emulated or NUMBA_ENABLE_CUDASIM=1 lets programs run on the processor."
        ) from None
