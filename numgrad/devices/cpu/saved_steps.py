"""Steps of linked programs as what JSON can say, and back.

Kernels are their texts, from which the kernel store has their machine code.  Addresses of BLAS's functions, which are
others in each process, are the names of these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype, from_dtype

from numgrad_kernels import cache, rows, store
from numgrad_kernels.store import Kernel

from .blas import FUNCTIONS, blas_addresses
from .linking import Copied, Place, ReadNumber, Run

__all__ = ["VersionError", "described_steps", "restored_steps"]


class VersionError(RuntimeError):
    """What a kernel is made of besides its text is not what it was."""


def described_steps(steps: Sequence[Run | Copied]) -> dict[str, Any]:
    """The steps, and the kernels that they run.

    Raises:
        ValueError: a kernel finds its rows by their addresses.
    """
    kernels: dict[Kernel, int] = {}
    described: list[Any] = []
    for step in steps:
        if isinstance(step, Copied):
            described.append([_place(step.target), step.source and _place(step.source), step.size])
            continue
        if step.kernel.facts.hides:
            raise ValueError(f"the kernel {step.kernel.name} is given addresses")
        number = kernels.setdefault(step.kernel, len(kernels))
        described.append([number, _operands(step), step.reports])
    return {"kernels": [_kernel(one) for one in kernels], "steps": described}


def _kernel(kernel: Kernel) -> dict[str, Any]:
    arguments = [
        [type(one).__name__, as_dtype(one.dtype).name] if isinstance(one, types.Array) else ["", as_dtype(one).name]
        for one in kernel.arguments
    ]
    return {
        "name": kernel.name, "text": kernel.text, "sources": _sources(kernel.text), "arguments": arguments,
        "parallel": kernel.parallel,
    }


def _sources(text: str) -> str:
    """A digest of what compiles a kernel, and of all that its text imports."""
    return hashlib.sha256(cache.sources(text).encode()).hexdigest()


def _place(place: Place) -> list[int]:
    return [place.line, place.offset, place.count]


def _operands(step: Run) -> list[Any]:
    facts = step.kernel.facts
    described: list[Any] = []
    for name, kind, operand in zip(facts.parameters, step.kernel.arguments, step.operands, strict=True):
        if isinstance(operand, Place):
            described.append({"row": _place(operand)})
        elif isinstance(operand, ReadNumber):
            described.append({"read": _place(operand.place), "dtype": operand.dtype.name})
        elif facts.calls_blas and name == "address" and operand:  # 0 where another function takes its place
            described.append({"blas": _blas_function(operand)})
        elif isinstance(kind, types.Complex):
            described.append({"complex": [operand.real, operand.imag]})
        else:
            described.append(float(operand) if isinstance(kind, types.Float) else int(operand))
    return described


def _blas_function(address: int) -> list[str]:
    """Which function of BLAS is at the address, and for which dtype."""
    return next(
        [function, dtype.name] for function in FUNCTIONS for dtype, own in blas_addresses(function).items()
        if own == address
    )


def restored_steps(described: dict[str, Any]) -> list[Run | Copied]:
    """The steps that were described so, with kernels that are loaded or compiled now.

    Raises:
        VersionError: their texts import what is not the same here.
        RuntimeError: they call a BLAS whose functions are not known here.
    """
    kernels = [_restored_kernel(**one) for one in described["kernels"]]
    steps: list[Run | Copied] = []
    for first, second, third in described["steps"]:
        if isinstance(first, list):
            steps.append(Copied(Place(*first), second and Place(*second), third))
        else:
            steps.append(Run(kernels[first], tuple([_operand(one) for one in second]), tuple(third)))
    return steps


def _restored_kernel(name: str, text: str, sources: str, arguments: list[list[str]], parallel: bool) -> Kernel:
    if sources != _sources(text):
        raise VersionError(f"the kernel {name} was made of other sources")
    kinds: list[types.Type] = []
    for kind, dtype in arguments:
        element = from_dtype(np.dtype(dtype))
        kinds.append(getattr(rows, kind)(element) if kind else element)
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
                raise RuntimeError(f"the program calls BLAS's {function} for {dtype}, which is not to be found here")
            return address
    return described
