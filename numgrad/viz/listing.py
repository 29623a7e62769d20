"""Base of results that consist of several items."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

from ..core.display import for_terminal
from .html import element, framed


class Listing(Sequence[Any]):
    """A sequence of items about a subject, with remarks in sentences.  It prints as text, and notebooks show it."""

    #: The names of the sections of each item; the text has the first two unless others are requested.
    sections: ClassVar[Collection[str]] = ()

    def __init__(self, subject: str, items: Iterable[Any], notes: Iterable[str] = ()):
        self.subject = subject
        self.items = list(items)
        self.notes = list(notes)

    def text(self, *sections: str) -> str:
        """Return the text with these ``sections`` of each item, by default the first two.

        Raises:
            ValueError: there is no such section.
        """
        for section in sections:
            if section not in self.sections:
                raise ValueError(f"no section '{section}': there are {', '.join(self.sections)}")
        return self._text(sections or [*self.sections][:2])

    def _text(self, sections: Collection[str]) -> str:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]

    def __str__(self) -> str:
        return for_terminal(self.text())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return framed(element("pre", self.text()))
