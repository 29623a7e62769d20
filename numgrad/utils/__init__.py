"""What stands around the computation: loading data, exchanging memory with other libraries."""

from . import data, dlpack

__all__ = ["data", "dlpack"]
