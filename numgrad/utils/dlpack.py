"""Exchanging memory with other libraries by DLPack."""

from .._interchange import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
