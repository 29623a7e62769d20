"""Statistics of the allocator of a GPU's memory, under PyTorch's names."""

from __future__ import annotations


class Counts:
    """Numbers of blocks, of their allocated and requested bytes, of segments, and of their bytes.

    Each has its present value, its maximum (``..._peak``), the sum of its decreases (``..._freed``), and its value when
    that sum was last reset (``..._before``).
    """

    #: The attributes, by PyTorch's names.
    NAMES = {  # noqa: RUF012 - constant
        "allocation": "blocks", "segment": "segments", "allocated_bytes": "bytes", "reserved_bytes": "reserved",
        "requested_bytes": "requested",
    }

    def __init__(self) -> None:
        self.blocks = self.blocks_peak = self.blocks_freed = self.blocks_before = 0
        self.bytes = self.bytes_peak = self.bytes_freed = self.bytes_before = 0
        self.requested = self.requested_peak = self.requested_freed = self.requested_before = 0
        self.segments = self.segments_peak = self.segments_freed = self.segments_before = 0
        self.reserved = self.reserved_peak = self.reserved_freed = self.reserved_before = 0

    def note_peaks(self) -> None:
        """Update the maxima of blocks and of their bytes, which only increase until blocks are removed."""
        if self.blocks > self.blocks_peak:
            self.blocks_peak = self.blocks
        if self.bytes > self.bytes_peak:
            self.bytes_peak = self.bytes
        if self.requested > self.requested_peak:
            self.requested_peak = self.requested

    def remove_blocks(self, blocks: int, allocated: int, requested: int) -> None:
        """Count freed blocks."""
        self.blocks -= blocks
        self.bytes -= allocated
        self.requested -= requested
        self.blocks_freed += blocks
        self.bytes_freed += allocated
        self.requested_freed += requested

    def add_segment(self, size: int) -> None:
        """Count a segment."""
        self.segments += 1
        self.reserved += size
        self.segments_peak = max(self.segments_peak, self.segments)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def remove_segment(self, size: int) -> None:
        """Count a segment that was returned to the driver."""
        self.segments -= 1
        self.reserved -= size
        self.segments_freed += 1
        self.reserved_freed += size

    def reset_peaks(self) -> None:
        """Reset the maxima to the present values."""
        for name in self.NAMES.values():
            setattr(self, f"{name}_peak", getattr(self, name))

    def reset_sums(self) -> None:
        """Reset the sums of decreases."""
        for name in self.NAMES.values():
            setattr(self, f"{name}_before", getattr(self, name))
            setattr(self, f"{name}_freed", 0)


def amount(size: float) -> str:
    """Return a number of bytes as PyTorch writes it."""
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024 or unit == "GiB":
            break
    return f"{size:.2f} {unit}"
