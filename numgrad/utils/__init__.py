"""What stands around the computation: loading data, exchanging memory with other libraries."""

from . import data, dlpack, hooks

__all__ = ["data", "dlpack", "hooks"]
