"""A picture as a Mermaid flowchart: text that Markdown viewers on the web, and JupyterLab, draw."""

from __future__ import annotations

from html import escape

from .picture import Box, Group, Picture
from .style import ALARM, LIGHT_UP, STYLES

__all__ = ["mermaid_text"]

DIRECTIONS = {"down": "TB", "up": "BT", "right": "LR", "left": "RL"}


def mermaid_text(picture: Picture) -> str:
    """The picture; Mermaid does the layout."""
    lines = [f"flowchart {DIRECTIONS[picture.direction]}"]
    inside: dict[str | None, list[Box]] = {}
    for box in picture.boxes:
        inside.setdefault(box.group, []).append(box)
    parts: dict[str | None, list[Group]] = {}
    for group in picture.groups:
        parts.setdefault(group.parent, []).append(group)
    waiting: list[Group | str] = [*reversed(parts.get(None, []))]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        title = item.title if item.title == item.kind else f"{item.title} {item.kind}"
        lines.append(f'subgraph {item.key}["{_text(title)}"]')
        lines += [_box(box, picture) for box in inside.get(item.key, [])]
        waiting += ["end", *reversed(parts.get(item.key, []))]
    lines += [_box(box, picture) for box in inside.get(None, [])]
    for arrow in picture.arrows:
        link = "-.->" if arrow.dashed else "-->"
        label = f'|"{_text(arrow.label)}"|' if arrow.label else ""
        ends = (arrow.tail, arrow.head) if picture.arrowheads == "forward" else (arrow.head, arrow.tail)
        lines.append(f"{ends[0]} {link}{label} {ends[1]}")
    for kind, style in STYLES.items():
        dashes = ",stroke-dasharray:5 3" if style.dashed else ""
        lines.append(
            f"classDef {kind} fill:{style.fill},stroke:{style.stroke},color:{style.text},"
            f"stroke-width:{style.width:g}px{dashes}"
        )
    lines.append(f"classDef alarm stroke:{ALARM},stroke-width:2.2px")
    lines.append(f"classDef note fill:{LIGHT_UP},color:#ffffff")
    return "\n".join(lines) + "\n"


def _box(box: Box, picture: Picture) -> str:
    lines = [f"<b>{_text(box.name)}</b>", *[_text(f"{row.label} {row.text}".strip()) for row in box.rows]]
    if picture.lit.get(box.key):
        lines.append(f"<b>{_text(picture.lit[box.key])}</b>")
    opening, closing = ("([", "])") if box.kind in ("leaf", "data", "output") else ("[", "]")
    kind = "lit" if box.key in picture.lit else "freed" if box.freed else "alarm" if box.alarm else box.kind
    return f'{box.key}{opening}"{"<br/>".join(lines)}"{closing}:::{kind}'


def _text(text: str) -> str:
    """A text with what Mermaid takes for its own signs written otherwise."""
    return escape(text).replace("#", "#35;").replace("&quot;", "#quot;").replace("\n", "<br/>")
