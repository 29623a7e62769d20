"""Names that may refer to the same memory."""

from __future__ import annotations


class Aliases:
    """Classes of names that may refer to the same memory, each with one name that represents it."""

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}

    def root(self, own: str) -> str:
        """Return the name that represents all names that may share memory with this one."""
        while own in self._roots:
            own = self._roots[own]
        return own

    def share(self, one: str, other: str) -> None:
        """Note that two names may refer to the same memory."""
        one, other = self.root(one), self.root(other)
        if one != other:
            self._roots[one] = other
