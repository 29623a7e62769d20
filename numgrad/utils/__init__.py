"""What stands around the computation: loading data, exchanging memory with other libraries, saving memory, timing."""

from . import benchmark, checkpoint, data, dlpack, hooks

__all__ = ["benchmark", "checkpoint", "data", "dlpack", "hooks"]
