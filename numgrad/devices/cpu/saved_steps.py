"""Conversion of the steps of linked programs to JSON, and back.

Kernels are saved as their texts, for which the kernel store has the machine code.  The addresses of BLAS's functions,
which differ between processes, are saved as names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype, from_dtype

from numgrad_kernels import buffer_types, cache, store
from numgrad_kernels.store import Kernel

from .blas import FUNCTIONS, ROUTINES, blas_addresses
from .linking import Copied, Place, ReadNumber, Run

__all__ = ["VersionError", "described_steps", "restored_steps"]


class VersionError(RuntimeError):
    """The sources of a kernel, besides its text, have changed."""


def described_steps(steps: Sequence[Run | Copied]) -> dict[str, Any]:
    """Return the description of the steps, and of the kernels that they run.

    Raises:
        ValueError: a kernel takes the addresses of its buffers.
    """
    kernels: dict[Kernel, int] = {}
    described: list[Any] = []
    for step in steps:
        if isinstance(step, Copied):
            described.append([_numbers_of(step.target), step.source and _numbers_of(step.source), step.size])
            continue
        if step.kernel.facts.hides:
            raise ValueError(f"the kernel {step.kernel.name} takes addresses")
        number = kernels.setdefault(step.kernel, len(kernels))
        described.append([number, _operands(step), step.reports])
    return {"kernels": list(map(_kernel, kernels)), "steps": described}


def _kernel(kernel: Kernel) -> dict[str, Any]:
    arguments = [
        [type(kind).__name__, as_dtype(kind.dtype).name] if isinstance(kind, types.Array) else ["", as_dtype(kind).name]
        for kind in kernel.arguments
    ]
    return {
        "name": kernel.name, "text": kernel.text, "sources": _sources(kernel.text), "arguments": arguments,
        "parallel": kernel.parallel,
    }


def _sources(text: str) -> str:
    """Return a digest of the compiler of a kernel, and of all imports of its text."""
    return hashlib.sha256(cache.sources(text).encode()).hexdigest()


def _numbers_of(place: Place) -> list[int]:
    return [place.line, place.offset, place.count]


def _operands(step: Run) -> list[Any]:
    facts = step.kernel.facts
    described: list[Any] = []
    for name, kind, operand in zip(facts.parameters, step.kernel.arguments, step.operands, strict=True):
        if isinstance(operand, Place):
            described.append({"row": _numbers_of(operand)})
        elif isinstance(operand, ReadNumber):
            described.append({"read": _numbers_of(operand.place), "dtype": operand.dtype.name})
        elif facts.calls_blas and name == "address" and operand:  # 0 if another function replaces BLAS's
            described.append({"blas": _blas_function(operand)})
        elif isinstance(kind, types.Complex):
            described.append({"complex": [operand.real, operand.imag]})
        else:
            described.append(float(operand) if isinstance(kind, types.Float) else int(operand))
    return described


def _blas_function(address: int) -> list[str]:
    """Return the name of the function of BLAS at an address, and of its dtype."""
    return next(
        [function, dtype.name]
        for function in (*FUNCTIONS, *ROUTINES) for dtype, entry in blas_addresses(function).items()
        if entry == address
    )


def restored_steps(described: dict[str, Any]) -> list[Run | Copied]:
    """Return the steps of a description, with kernels that are loaded or compiled now.

    Raises:
        VersionError: the imports of a kernel's text have changed.
        RuntimeError: a kernel calls a function of BLAS whose address is unknown here.
    """
    kernels = [_restored_kernel(**kernel) for kernel in described["kernels"]]
    steps: list[Run | Copied] = []
    for first, second, third in described["steps"]:
        if isinstance(first, list):
            steps.append(Copied(Place(*first), second and Place(*second), third))
        else:
            steps.append(Run(kernels[first], tuple(map(_operand, second)), tuple(third)))
    return steps


def _restored_kernel(name: str, text: str, sources: str, arguments: list[list[str]], parallel: bool) -> Kernel:
    if sources != _sources(text):
        raise VersionError(f"the sources of the kernel {name} have changed")
    kinds: list[types.Type] = []
    for kind, dtype in arguments:
        element = from_dtype(np.dtype(dtype))
        kinds.append(getattr(buffer_types, kind)(element) if kind else element)
    return store.compile_text(name, text, kinds, parallel=parallel)


def _operand(described: Any) -> Any:
    match described:
        case {"row": place}:
            return Place(*place)
        case {"read": place, "dtype": dtype}:
            return ReadNumber(Place(*place), np.dtype(dtype))
        case {"complex": [real, imaginary]}:
            return complex(real, imaginary)
        case {"blas": [function, dtype]}:
            address = blas_addresses(function).get(np.dtype(dtype))
            if address is None:
                raise RuntimeError(f"the program calls BLAS's {function} for {dtype}, whose address is unknown here")
            return address
    return described
