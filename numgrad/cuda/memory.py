"""GPU memory used by tensors, and memory cached for later ones.

All quantities are in bytes, for a GPU given by index, device or name, the current one for None.  They are 0 before GPUs
are in use.
"""

from __future__ import annotations

from typing import Any

from ..devices import begin_cuda, cuda_in_use
from . import gpus

__all__ = [
    "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats",
]


def _counts(device: Any) -> Any:
    """Return the current counters of the GPU's allocator."""
    return begin_cuda().memory.allocator(gpus.index_of(device)).settle().counts


def memory_allocated(device: Any = None) -> int:
    """Return the number of bytes in tensors, in multiples of 512."""
    return _counts(device).bytes if cuda_in_use() else 0


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak number of bytes in tensors since the start or :func:`reset_peak_memory_stats`."""
    return _counts(device).bytes_peak if cuda_in_use() else 0


def memory_reserved(device: Any = None) -> int:
    """Return the number of bytes obtained from the driver: those in tensors, and those cached for later ones."""
    return _counts(device).reserved if cuda_in_use() else 0


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak number of bytes obtained from the driver since the start or :func:`reset_peak_memory_stats`."""
    return _counts(device).reserved_peak if cuda_in_use() else 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the peaks to the current values."""
    if cuda_in_use():
        _counts(device).reset_peaks()


#: PyTorch's older names.
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved
reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Reset the totals of allocated and freed memory."""
    if cuda_in_use():
        _counts(device).reset_sums()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the allocator's counters under PyTorch's names.

    Returns:
        dict: for "allocation" (tensors' blocks), "segment" (blocks from the driver), "allocated_bytes",
        "reserved_bytes" and "requested_bytes", each as "….all.current", "….all.peak", "….all.allocated" and
        "….all.freed"; the contents of the pools of blocks up to 1 MiB and of larger ones, as "….small_pool.current"
        and "….large_pool.current", where "inactive_split" are free blocks in segments that also contain tensors; and
        "num_alloc_retries" and "num_ooms", the number of times memory ran out and freeing the cache did or did not
        help.  Empty before GPUs are in use.
    """
    if not cuda_in_use():
        return {}
    allocator = begin_cuda().memory.allocator(gpus.index_of(device)).settle()
    counts = allocator.counts
    stats = {"num_alloc_retries": allocator.retries, "num_ooms": allocator.failures}
    for name, attribute in counts.NAMES.items():
        current, freed = getattr(counts, attribute), getattr(counts, f"{attribute}_freed")
        stats[f"{name}.all.current"] = current
        stats[f"{name}.all.peak"] = getattr(counts, f"{attribute}_peak")
        stats[f"{name}.all.allocated"] = current + freed - getattr(counts, f"{attribute}_before")
        stats[f"{name}.all.freed"] = freed
    for pool, small in (("small_pool", True), ("large_pool", False)):
        for name, number in allocator.pools(small).items():
            stats[f"{name}.{pool}.current"] = number
    for name in ("inactive_split", "inactive_split_bytes"):
        stats[f"{name}.all.current"] = sum(stats[f"{name}.{pool}.current"] for pool in ("small_pool", "large_pool"))
    return dict(sorted(stats.items()))


_ROWS = {
    "Allocated memory": "allocated_bytes", "Requested memory": "requested_bytes",
    "GPU reserved memory": "reserved_bytes", "Allocations": "allocation", "GPU reserved segments": "segment",
}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a table of the allocator's counters.

    Args:
        device: the GPU, by index, device or name; the current one for None.
        abbreviated: omit the lines for the pools of small and of large blocks.
    """
    from ..devices.cuda.counts import amount  # loaded on demand

    index = gpus.index_of(device)
    stats = memory_stats(index)
    cell = "|{:<21} | {:>12} | {:>12} | {:>12} | {:>12}|".format
    head = cell("Metric", "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed")
    width = len(head) - 2
    rule = "|" + "=" * width + "|"
    title = f"numgrad CUDA memory summary, device ID {index}"
    failures = f"CUDA OOMs: {stats['num_ooms']}; allocations retried: {stats['num_alloc_retries']}"
    lines = [rule, f"|{title:^{width}}|", f"|{failures:^{width}}|", rule, head, rule]
    for title, name in _ROWS.items():
        form = amount if name.endswith("bytes") else str
        numbers = [form(stats[f"{name}.all.{what}"]) for what in ("current", "peak", "allocated", "freed")]
        lines.append(cell(title, *numbers))
        for pool in () if abbreviated else ("large_pool", "small_pool"):
            number = stats.get(f"{name}.{pool}.current")
            if number is not None:
                lines.append(cell(f"      from {pool[:5]} pool", form(number), "", "", ""))
    split = amount(stats["inactive_split_bytes.all.current"])
    return "\n".join([*lines, cell("Non-releasable memory", split, "", "", ""), rule]) + "\n"


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total bytes of a GPU's memory.

    Raises:
        ImportError, RuntimeError: the GPU is not available.
    """
    return begin_cuda().runtime.driver.memory_info(gpus.index_of(device))


def empty_cache() -> None:
    """Return cached memory to the drivers of all GPUs, if there are any."""
    if cuda_in_use():
        cuda = begin_cuda()
        for index in range(cuda.runtime.driver.device_count()):
            cuda.memory.allocator(index).empty_cache()


def ipc_collect() -> None:
    """Return at once: numgrad's processes share no memory of GPUs that could be freed."""
