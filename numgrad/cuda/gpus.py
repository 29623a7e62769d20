"""Which GPUs there are, what they are, and which one is the current."""

from __future__ import annotations

from typing import Any

from .. import devices
from ..core.device import numbered, to_device
from ..devices import begin_cuda, cuda_in_use, rows

__all__ = [
    "current_device", "device", "device_count", "device_of", "get_device_capability", "get_device_name",
    "get_device_properties", "init", "is_available", "is_initialized", "set_device", "synchronize",
]


def is_available() -> bool:
    """Whether numgrad can compute on a GPU.  Nothing is raised where it cannot, and nothing of CUDA kept in memory.

    In Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) it can, slowly.

    Example:
        >>> import numgrad as torch
        >>> device = "cuda" if torch.cuda.is_available() else "cpu"
    """
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs that numgrad can compute on."""
    return devices.gpu_count()


def init() -> None:
    """Begin to use GPUs, which otherwise happens when a program first needs one.

    Raises:
        ImportError: numba-cuda is not installed, or NumPy is too new for it.
        RuntimeError: there is no driver, or no GPU.
    """
    begin_cuda()


def is_initialized() -> bool:
    """Whether this process has begun to use GPUs."""
    return cuda_in_use()


def index_of(device: Any) -> int:
    """The number of a GPU, which is given as a number, a device or its name; the current one's for None.

    Raises:
        ImportError, RuntimeError: there is no such GPU.
        ValueError: the device is no GPU.
    """
    named = to_device("cuda" if device is None else device)
    if named.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {named}")
    index = numbered(named).index
    assert index is not None
    return index


def current_device() -> int:
    """The number of the GPU that this thread uses where only "cuda" is named: 0 at first."""
    return begin_cuda().runtime.current_device()


def set_device(device: Any) -> None:
    """Have this thread use another GPU where only "cuda" is named.

    Args:
        device: its number, device or name; nothing happens for a negative number.

    Raises:
        ImportError, RuntimeError: there is no such GPU.
        ValueError: the device is no GPU.
    """
    if not (isinstance(device, int) and device < 0):
        begin_cuda().runtime.set_device(index_of(device))


class device:  # noqa: N801 - PyTorch's name
    """A context in which this thread uses another GPU where only "cuda" is named.

    Args:
        device: its number, device or name; nothing changes for None or a negative number.
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
    """A context in which this thread uses the GPU of a tensor where only "cuda" is named; none for one on the CPU."""

    def __init__(self, tensor: Any):
        super().__init__(tensor.device.index if tensor.is_cuda else None)


def get_device_properties(device: Any = None) -> Any:
    """What a GPU is.

    Args:
        device: its number, device or name; the current one for None.

    Returns:
        Properties: ``name``; ``major`` and ``minor``, its compute capability; ``total_memory``, ``L2_cache_size`` and
        ``shared_memory_per_block`` in bytes; ``multi_processor_count``, ``max_threads_per_multi_processor``,
        ``warp_size`` and others.
    """
    return begin_cuda().runtime.driver.device_properties(index_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a GPU, the current one for None."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, the current one for None: (9, 0) for Hopper."""
    return get_device_properties(device).capability


def synchronize(device: Any = None) -> None:
    """Wait until all that was launched on a GPU, the current one for None, has run.

    Raises:
        ImportError, RuntimeError: there is no such GPU.
        IndexError: an operation before met an index that leads outside.
        RuntimeError: it met a value that it refuses, such as a probability above 1.
    """
    index = index_of(device)
    begin_cuda().runtime.driver.synchronize_device(index)
    rows.waited()
