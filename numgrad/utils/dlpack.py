"""Exchange of memory with other libraries through DLPack."""

from ..interop.interchange import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
