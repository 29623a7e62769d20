"""A picture as a Mermaid flowchart: text that Markdown viewers on the web, and JupyterLab, draw."""

from __future__ import annotations

from ..picture import Box, Picture
from .layout import RANKS
from .style import ALARM, GREY, STYLES


def mermaid_text(picture: Picture) -> str:
    """The picture; Mermaid does the layout."""
    lines = [f"flowchart {RANKS[picture.direction]}"]
    for item in picture.nested():
        if isinstance(item, Box):
            lines.append(_box(item, picture))
        else:
            lines.append("end" if item is None else f'subgraph {item.key}["{_text(item.caption)}"]')
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
    lines.append(f"classDef group fill:{GREY}18,stroke:{GREY},color:{GREY}")
    lines += [f"class {group.key} group" for group in picture.groups]
    lines.append(f"classDef alarm stroke:{ALARM},stroke-width:2.2px")
    return "\n".join(lines) + "\n"


def _box(box: Box, picture: Picture) -> str:
    lines = [f"<b>{_text(box.name)}</b>", *[_text(f"{row.label} {row.text}".strip()) for row in box.rows]]
    if picture.lit.get(box.key):
        lines.append(f"<b>{_text(picture.lit[box.key])}</b>")
    opening, closing = ("([", "])") if box.is_tensor else ("[", "]")
    kind = "lit" if box.key in picture.lit else "freed" if box.freed else "alarm" if box.alarm else box.kind
    return f'{box.key}{opening}"{"<br/>".join(lines)}"{closing}:::{kind}'


def _text(text: str) -> str:
    """A text with what Mermaid takes for its own signs written otherwise."""
    for sign, written in (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, written)
    return text.replace("\n", "<br/>")
