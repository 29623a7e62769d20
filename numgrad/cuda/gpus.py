"""GPUs: their number, properties and the current device."""

from __future__ import annotations

from typing import Any

from .. import devices
from ..core.device import numbered, to_device
from ..devices import begin_cuda, buffers, cuda_in_use

__all__ = [
    "current_device", "device", "device_count", "device_of", "get_device_capability", "get_device_name",
    "get_device_properties", "init", "is_available", "is_bf16_supported",
    "is_initialized", "set_device", "synchronize",
]


def is_available() -> bool:
    """Return True if numgrad can compute on a GPU.  The check raises no error and keeps nothing of CUDA in memory.

    In Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``), GPU computation is possible, but slow.

    Example:
        >>> import numgrad as torch
        >>> device = "cuda" if torch.cuda.is_available() else "cpu"
    """
    return device_count() > 0


def device_count() -> int:
    """Return the number of GPUs that numgrad can compute on."""
    return devices.gpu_count()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return True if the current GPU computes with bfloat16: it is stored in 16 bits, and computed with in float32.

    Without ``including_emulation``, only for GPUs that have instructions for it, from Ampere on.
    """
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def init() -> None:
    """Initialize GPU support, which otherwise happens when a program first needs a GPU.

    Raises:
        ImportError: numba-cuda is not installed, or NumPy is too new for it.
        RuntimeError: there is no driver, or no GPU.
    """
    begin_cuda()


def is_initialized() -> bool:
    """Return True if this process has initialized GPU support."""
    return cuda_in_use()


def index_of(device: Any) -> int:
    """Return the index of a GPU given as an index, a device or its name; None means the current one.

    Raises:
        ImportError, RuntimeError: the GPU is not available.
        ValueError: the device is not a GPU.
    """
    named = to_device("cuda" if device is None else device)
    if named.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {named}")
    index = numbered(named).index
    assert index is not None
    return index


def current_device() -> int:
    """Return the index of this thread's current GPU, which "cuda" without an index refers to; initially 0."""
    return begin_cuda().runtime.current_device()


def set_device(device: Any) -> None:
    """Set this thread's current GPU, which "cuda" without an index refers to.

    Args:
        device: its index, device or name; a negative index has no effect.

    Raises:
        ImportError, RuntimeError: the GPU is not available.
        ValueError: the device is not a GPU.
    """
    if not (isinstance(device, int) and device < 0):
        begin_cuda().runtime.set_device(index_of(device))


class device:  # noqa: N801 - PyTorch's name
    """Context manager that sets this thread's current GPU, which "cuda" without an index refers to.

    Args:
        device: its index, device or name; None or a negative index has no effect.
    """

    def __init__(self, device: Any):
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *_: object) -> None:
        set_device(self.prev_idx)


class device_of(device):  # noqa: N801 - PyTorch's name
    """Context manager that makes the GPU of a tensor current in this thread; no effect for a tensor on the CPU."""

    def __init__(self, tensor: Any):
        super().__init__(tensor.device.index if tensor.is_cuda else None)


def get_device_properties(device: Any = None) -> Any:
    """Return the properties of a GPU.

    Args:
        device: its index, device or name; the current one for None.

    Returns:
        Properties: ``name``; ``major`` and ``minor``, its compute capability; ``total_memory``, ``L2_cache_size`` and
        ``shared_memory_per_block`` in bytes; ``multi_processor_count``, ``max_threads_per_multi_processor``,
        ``warp_size`` and others.
    """
    return begin_cuda().runtime.driver.device_properties(index_of(device))


def get_device_name(device: Any = None) -> str:
    """Return the name of a GPU, the current one for None."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a GPU, the current one for None: (9, 0) for Hopper."""
    return get_device_properties(device).capability


def synchronize(device: Any = None) -> None:
    """Wait until everything launched on a GPU, the current one for None, has run.

    Raises:
        ImportError, RuntimeError: the GPU is not available.
        IndexError: an earlier operation encountered an index out of range.
        RuntimeError: an earlier operation encountered an invalid value, such as a probability above 1.
    """
    index = index_of(device)
    begin_cuda().runtime.driver.synchronize_device(index)
    buffers.waited()
