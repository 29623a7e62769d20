"""What computing on a GPU needs, and what of it is missing: found out before anything of CUDA is imported."""

from __future__ import annotations

import ctypes
import importlib.util
import sys

from numba.core import config

#: What a system calls the library that comes with NVIDIA's driver.
_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


class OutOfMemoryError(RuntimeError):
    """A device has not enough free memory for a tensor, even without what was kept for later tensors."""


def is_simulated() -> bool:
    """Whether Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) stands in for a GPU."""
    return bool(config.ENABLE_CUDASIM)


def check() -> int:
    """Look whether there is all that is needed; returns the number of GPUs.

    Raises:
        ImportError: the extra "cuda" is not installed, or "simulator" where the simulator is on.
        RuntimeError: there is no driver, or no GPU.
    """
    for package in ("numba_cuda", "cuda", "cuda.bindings"):
        if importlib.util.find_spec(package) is None:
            from numgrad_kernels.cuda import how_to_install  # only where it is missing

            name = "numba-cuda" if package == "numba_cuda" else "cuda-bindings"
            raise ImportError(f"computing on a GPU needs the package {name}: {how_to_install()}")
    if is_simulated():
        return 1
    _load_driver()
    from cuda.bindings import driver  # which is there, as we know by now

    (error,) = driver.cuInit(0)
    count = 0
    if not error:
        error, count = driver.cuDeviceGetCount()
    if error == driver.CUresult.CUDA_ERROR_NO_DEVICE or not (error or count):
        raise RuntimeError("No CUDA GPUs are available")
    if error:
        raise RuntimeError(f"NVIDIA's driver does not start: CUDA error {int(error)} ({error.name})")
    return count


def found() -> int:
    """The number of GPUs that can be computed on: 0 where anything is missing, whatever it is."""
    try:
        count = check()
        from numgrad_kernels.cuda import adapter as adapter  # which may not go together with NumPy
    except Exception:
        return 0
    return count


def _load_driver() -> None:
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        raise RuntimeError(
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed its driver; "
            "without a GPU, NUMBA_ENABLE_CUDASIM=1 lets programs run in Numba's simulator."
        ) from None
