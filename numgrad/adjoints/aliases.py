"""Names that may refer to the same memory."""

from __future__ import annotations


class Aliases:
    """Classes of names that may refer to the same memory, each with one name that represents it."""

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}

    def root(self, variable: str) -> str:
        """Return the name that represents all names that may share memory with this one."""
        while variable in self._roots:
            variable = self._roots[variable]
        return variable

    def share(self, first: str, second: str) -> None:
        """Note that two names may refer to the same memory."""
        first, second = self.root(first), self.root(second)
        if first != second:
            self._roots[first] = second
