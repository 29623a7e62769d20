"""What both drivers, ``driver.py`` and ``simulated.py``, say of streams and of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Properties", "StreamHandle"]


class StreamHandle(int):
    """The address of a stream, 0 for a GPU's default one, which knows the GPU that it is of."""

    device: int
    own: Any  # the stream as the driver's bindings take it fastest

    def __new__(cls, address: int, device: int, own: Any = None) -> StreamHandle:
        handle = super().__new__(cls, address)
        handle.device = device
        handle.own = own
        return handle


@dataclass(frozen=True)
class Properties:
    """What a GPU is; sizes in bytes, clocks in kHz."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 49152
    shared_memory_per_multiprocessor: int = 49152
    L2_cache_size: int = 0
    clock_rate: int = 0
    memory_clock_rate: int = 0
    memory_bus_width: int = 0
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0

    def __repr__(self) -> str:
        memory = self.total_memory // 2**20
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={memory}MB, multi_processor_count={self.multi_processor_count})"
        )
