"""Pictures as text: a tree in which each line is computed from the lines below it, and a Mermaid flowchart."""

from __future__ import annotations

from ..graph.picture import Arrow, Box, Picture
from .graphviz import RANKS
from .style import ALARM, GREY, STYLES

#: The number of indentation levels after which lines restart at the left, prefixed with the number of levels omitted.
DEEPEST = 40


def tree_text(picture: Picture) -> str:
    """Return the graph as a tree, from the results to the leaves.  A shared box is written once, with a number."""
    boxes = {box.key: box for box in picture.boxes}
    behind: dict[str, list[Arrow]] = {}
    uses: dict[str, int] = {}
    for arrow in picture.arrows:
        behind.setdefault(arrow.head, []).append(arrow)
        uses[arrow.tail] = uses.get(arrow.tail, 0) + 1
    numbers: dict[str, int] = {}
    lines = []
    written: set[str] = set()
    starts = [box.key for box in picture.boxes if box.key not in uses]
    # Key of the box; label of the arrow to the box above; prefix of its line; prefix of the lines below it; level.
    waiting = [(key, "", "", "", 0) for key in reversed(starts)]
    while waiting:
        key, flowing, before, below, level = waiting.pop()
        name = f"{boxes[key].name} → {_in_one_line(flowing)}" if flowing else boxes[key].name
        if uses.get(key, 0) > 1:
            name = f"#{numbers.setdefault(key, len(numbers) + 1)} {name}"
        lines.append(before + (f"{name}, see above" if key in written else _line(name, boxes[key], picture)))
        if key in written:
            continue
        written.add(key)
        parts = behind.get(key, [])
        if len(parts) == 1:
            waiting.append((parts[0].tail, parts[0].label, below, below, level))
        elif level and level % DEEPEST == 0:
            below = f"({level}) "
        for index, part in reversed(list(enumerate(parts)) if len(parts) > 1 else []):
            last = index == len(parts) - 1
            before, after = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((part.tail, part.label, below + before, below + after, level + 1))
    return "\n".join(lines)


def _line(name: str, box: Box, picture: Picture) -> str:
    """Return a box as one line."""
    parts: list[str] = []
    for row in box.rows:
        if row.text.startswith(" "):  # a further row of a matrix
            parts[-1] += row.text
        elif row.text != "AccumulateGrad":
            parts.append(f"{row.label} {row.text}".strip())
    between = " " if box.is_tensor else ": "
    text = between.join([name, *([", ".join(parts)] if parts else [])])
    note = picture.lit.get(box.key)
    return text if note is None else f"{text}  <== {_in_one_line(note)}"


def _in_one_line(text: str) -> str:
    """Join several lines into one; lines that continue a matrix begin with a space."""
    return text.replace("\n ", " ").replace("\n", ", ")


def mermaid_text(picture: Picture) -> str:
    """Return the picture as a flowchart, which Mermaid lays out."""
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
    for category, style in STYLES.items():
        dashes = ",stroke-dasharray:5 3" if style.dashed else ""
        lines.append(
            f"classDef {category} fill:{style.fill},stroke:{style.stroke},color:{style.text},"
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
    state = "lit" if box.key in picture.lit else "freed" if box.freed else "alarm" if box.alarm else box.category
    return f'{box.key}{opening}"{"<br/>".join(lines)}"{closing}:::{state}'


#: Escapes for the characters that are syntax in Mermaid.
_WRITTEN = str.maketrans({"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "\n": "<br/>"})


def _text(text: str) -> str:
    """Return a text escaped for a flowchart."""
    return text.translate(_WRITTEN)
