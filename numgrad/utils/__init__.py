"""Utilities: loading data, exchanging memory with other libraries, checkpointing, timing."""

from . import benchmark, checkpoint, data, dlpack, hooks

__all__ = ["benchmark", "checkpoint", "data", "dlpack", "hooks"]
