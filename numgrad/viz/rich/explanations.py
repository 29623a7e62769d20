"""What ``numgrad.explain`` says of a tensor: its topics in a table."""

from __future__ import annotations

from typing import Any

from .html import element, framed, table


def html(explanation: Any) -> str:
    """The explanation as HTML."""
    return framed(element("p", explanation.summary), table(explanation.topics.items(), class_="left words"))
