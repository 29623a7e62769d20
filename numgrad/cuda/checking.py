"""Checks of users' kernels without a GPU: races, barriers, bounds, and how warps use memory and diverge."""

from __future__ import annotations

from typing import Any

from ..devices import checked_launch
from ..ops.creation.from_data import from_numpy
from ..tensors.tensor import Tensor

__all__ = ["check"]


def check(kernel: Any, order: str = "up") -> CheckedKernel:
    """Return a kernel of Numba's ``@cuda.jit`` in a form whose launches report faults and wasted steps.

    ``check(kernel)[blocks, threads](*arguments)`` compiles the kernel for a GPU and runs the compiled instructions on
    the processor, with warps of 32 lanes; it needs no GPU, but the extra ``cuda``.  Arguments are NumPy arrays, tensors
    and numbers; arrays and tensors are changed as by a launch.  The report prints as a table and has these attributes:

    - ``findings``: races between threads, barriers that not all threads reach, and the first access that is misaligned
      or out of bounds, each with its line; ``ok`` is True if there are none;
    - ``accesses``: for each line, the transactions of 32 bytes that an access of a warp to global memory takes, or the
      passes in shared memory, with the least possible;
    - ``divergence``: the lines in which lanes were idle, and their share.

    Args:
        kernel: a kernel, not a device function.
        order: how lanes, warps and blocks follow each other: "up", "down" or "random".

    Example:
        >>> import numgrad
        >>> import numpy as np
        >>> from numba import cuda
        >>> @cuda.jit
        ... def shift(x):
        ...     i = cuda.grid(1)
        ...     if i < x.size - 1:
        ...         x[i] = x[i + 1]
        >>> numgrad.cuda.check(shift)[1, 64](np.arange(64.0)).findings[0].kind
        'race'
    """
    return CheckedKernel(kernel, order)


class CheckedKernel:
    """A kernel whose launches are checked; see :func:`check`."""

    def __init__(self, kernel: Any, order: str):
        self.kernel = kernel
        self.order = order

    def __getitem__(self, configuration: Any) -> Any:
        """Return the launch for ``[blocks, threads]``, or ``[blocks, threads, stream, dynamic shared memory]``."""
        blocks, threads, _, dynamic_shared = (*configuration, 0, 0)[:4]

        def launch(*arguments: Any) -> Any:
            hosts = [_host(value) for value in arguments]
            report = checked_launch(self.kernel, blocks, threads, hosts, dynamic_shared, self.order)
            for value, host in zip(arguments, hosts, strict=True):
                if isinstance(value, Tensor) and value.is_cuda:
                    value.copy_(from_numpy(host))
            return report

        return launch


def _host(value: Any) -> Any:
    """Return a tensor as an array, which shares the memory of the CPU; and other arguments as they are."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value
