"""What an allocator counts, and how sizes are written."""

from __future__ import annotations

__all__ = ["Counts", "amount"]


class Counts:
    """Blocks, their bytes as they were given and as they were asked for, segments and their bytes.

    For each there is how many there are, how many there were at most (``..._peak``), how many have gone
    (``..._freed``), and how many there were when these began to be counted (``..._before``).
    """

    #: PyTorch's names of what is counted.
    NAMES = {  # noqa: RUF012 - it is not changed
        "allocation": "blocks", "segment": "segments", "allocated_bytes": "bytes", "reserved_bytes": "reserved",
        "requested_bytes": "requested",
    }

    def __init__(self) -> None:
        self.blocks = self.blocks_peak = self.blocks_freed = self.blocks_before = 0
        self.bytes = self.bytes_peak = self.bytes_freed = self.bytes_before = 0
        self.requested = self.requested_peak = self.requested_freed = self.requested_before = 0
        self.segments = self.segments_peak = self.segments_freed = self.segments_before = 0
        self.reserved = self.reserved_peak = self.reserved_freed = self.reserved_before = 0

    def add_block(self, given: int, requested: int) -> None:
        """Count a block: once for each tensor, so written out."""
        self.blocks += 1
        self.bytes += given
        self.requested += requested
        if self.blocks > self.blocks_peak:
            self.blocks_peak = self.blocks
        if self.bytes > self.bytes_peak:
            self.bytes_peak = self.bytes
        if self.requested > self.requested_peak:
            self.requested_peak = self.requested

    def remove_block(self, given: int, requested: int) -> None:
        """Count a block that was given back."""
        self.blocks -= 1
        self.bytes -= given
        self.requested -= requested
        self.blocks_freed += 1
        self.bytes_freed += given
        self.requested_freed += requested

    def add_segment(self, size: int) -> None:
        """Count a segment."""
        self.segments += 1
        self.reserved += size
        self.segments_peak = max(self.segments_peak, self.segments)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def remove_segment(self, size: int) -> None:
        """Count a segment that was given back."""
        self.segments -= 1
        self.reserved -= size
        self.segments_freed += 1
        self.reserved_freed += size

    def reset_peaks(self) -> None:
        """Forget how much there was before."""
        for name in self.NAMES.values():
            setattr(self, f"{name}_peak", getattr(self, name))

    def reset_sums(self) -> None:
        """Begin to count what comes and goes."""
        for name in self.NAMES.values():
            setattr(self, f"{name}_before", getattr(self, name))
            setattr(self, f"{name}_freed", 0)


def amount(size: float) -> str:
    """A number of bytes as PyTorch writes it."""
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024 or unit == "GiB":
            break
    return f"{size:.2f} {unit}"
