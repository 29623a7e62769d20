"""What stands around the computation: loading data, exchanging memory with other libraries, saving memory."""

from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
