"""Kernels from the store, and who wants to know when one had to be written, and compiled or loaded from disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns

from numba.core.types import Type

from numgrad_kernels import store
from numgrad_kernels.facts import Facts

from . import launches

__all__ = ["compile_kernel", "kernel_listeners", "tell_made"]

#: Called with the kernel's name, and when the work of having it began and ended, in nanoseconds of ``perf_counter_ns``.
#: The thread is the one that asked for the kernel.
kernel_listeners: list[Callable[[str, int, int], None]] = []


def compile_kernel(
    name: str, write: Callable[[], str], arguments: Sequence[Type], facts: Facts, *, parallel: bool = False
) -> store.Kernel:
    """The kernel with the text that ``write`` returns, for these arguments, as ``numgrad_kernels.store`` has it."""
    begun = perf_counter_ns()
    kernel = store.compile_kernel(name, write(), arguments, facts, parallel=parallel)
    launches.made(kernel)
    tell_made(name, begun)
    return kernel


def tell_made(name: str, begun: int) -> None:
    """Tell those who want to know that a kernel has been had by now."""
    if kernel_listeners:
        ended = perf_counter_ns()
        for tell in tuple(kernel_listeners):
            tell(name, begun, ended)
