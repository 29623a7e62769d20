"""Errors of distributed computing."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError"]


class DistError(RuntimeError):
    """Error of distributed computing."""

    __module__ = "numgrad.distributed"


class DistBackendError(DistError):
    """Error of communication: a call timed out, or a rank that it waits for has ended, or the ranks' calls differ."""

    __module__ = "numgrad.distributed"
