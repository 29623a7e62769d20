"""The end of all processes when one fails."""

from __future__ import annotations

import sys
from types import TracebackType

from .mpi import mpi

__all__ = ["abort_on_errors"]


def abort_on_errors(rank: int, size: int) -> None:
    """Make an uncaught exception of this process end all processes, after its traceback is printed."""
    before = sys.excepthook

    def end_all(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        print(f"Rank {rank} of {size} has failed, which ends the others:", file=sys.stderr)
        before(kind, error, traceback)
        sys.stdout.flush()
        sys.stderr.flush()
        mpi().COMM_WORLD.Abort(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = end_all
