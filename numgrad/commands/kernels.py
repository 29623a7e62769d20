"""``python -m numgrad kernels``: the kernels of operations, or those stored on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from numgrad.core.types import dtype, to_dtype
from numgrad.devices import begin_cuda, gpu_count, needs
from numgrad.viz.inspection import InspectedKernel, Inspection, inspect_example

from .cache import list_kernels


def print_kernels(names: Sequence[str], dtype: str, size: int, sections: Sequence[str]) -> bool:
    """Inspect the operations of these names on examples, and print the results; return False if a name is unknown.

    Args:
        names: names of operations; without any, the kernels stored on disk are listed.
        dtype: the dtype of the example tensors.
        size: their approximate number of elements.
        sections: the sections to print besides the figures: see ``Inspection.text``.  For "cuda" and "ptx" the example
            runs on a GPU; without one, its kernels are made but not run.
    """
    if not names:
        list_kernels()
    selected = [section for section in InspectedKernel.sections if section in sections]
    result = True
    for number, name in enumerate(names):
        try:
            texts = list(_texts(name, size, to_dtype(dtype), selected))
        except (TypeError, ValueError) as error:
            print(f"python -m numgrad kernels: {error}", file=sys.stderr)
            result = False
        else:
            print("\n" * (number > 0) + "\n\n".join(texts))
    return result


def _texts(name: str, size: int, dtype: dtype, sections: Sequence[str]) -> Iterator[str]:
    """Yield the texts to print for one operation: those of the CPU's kernels, and those of GPU kernels."""
    of_gpus = [section for section in sections if section in ("cuda", "ptx")]
    of_cpu = [section for section in sections if section not in of_gpus]
    on_gpu = _inspect_on_gpu(name, size, dtype) if of_gpus else None
    if on_gpu is None:  # without numba-cuda, print the parts that are available
        yield inspect_example(name, size, dtype).text(*sections)
        return
    if of_cpu:
        yield inspect_example(name, size, dtype).text(*of_cpu)
    yield on_gpu.text(*of_gpus)


def _inspect_on_gpu(name: str, size: int, dtype: dtype) -> Inspection | None:
    """Inspect the operation on a GPU, or the kernels that would run there; return None without numba-cuda."""
    try:
        begin_cuda(dry=needs.is_simulated() or not gpu_count())
    except ImportError:
        return None
    return inspect_example(name, size, dtype, "cuda")
