"""Numbers of things, and of bytes, in words."""

from __future__ import annotations


def counted(count: int, what: str, plural: str | None = None) -> str:
    """A number of things: "1 element", "12,345 elements"; ``plural`` where an "s" is not enough."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"


def number_of_bytes(size: float) -> str:
    """A number of bytes in the unit that suits it, by thousands."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"
