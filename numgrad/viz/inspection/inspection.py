"""What ``numgrad.inspect`` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .kernels import InspectedKernel

#: What can be shown of a kernel beside its figures.
SECTIONS = ("python", "loop", "llvm", "assembly", "cuda", "ptx")


class Inspection(Sequence[InspectedKernel]):
    """The kernels that a computation ran, in order.  It prints as text, and notebooks show it with more to unfold.

    Attributes:
        subject: what was looked at.
        kernels: the kernels, each with ``python``, ``types``, ``llvm``, ``assembly``, ``vectors``, ``cuda`` and
            ``ptx``, and with ``time``, ``bytes`` and ``bandwidth`` of its last run.
        notes: what else there is to say.
    """

    def __init__(self, subject: str, kernels: Sequence[InspectedKernel], notes: Sequence[str] = ()):
        self.subject = subject
        self.kernels = list(kernels)
        self.notes = list(notes)

    def text(self, *sections: str) -> str:
        """The inspection as text, with these sections of each kernel: by default "python" and "loop".

        Args:
            sections: of "python", "loop" (the main loop of the machine code), "llvm", "assembly", and for NVIDIA's
                GPUs "cuda" (the Python text) and "ptx".  A kernel that ran on a GPU has its text and "ptx" only.

        Raises:
            ValueError: there is no such section.
        """
        from .text import inspection_text

        for section in sections:
            if section not in SECTIONS:
                raise ValueError(f"no section '{section}': there are {', '.join(SECTIONS)}")
        return inspection_text(self, sections or SECTIONS[:2])

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, index: Any) -> Any:
        return self.kernels[index]

    def __iter__(self) -> Iterator[InspectedKernel]:
        return iter(self.kernels)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .html import inspection_html

        return inspection_html(self)
