"""A picture as text: each line is computed from the one below it, or from those that branch off below it."""

from __future__ import annotations

from ..picture import Arrow, Box, Picture

#: Levels of indentation after which lines begin at the left again, with the number of levels left out.
DEEPEST = 40


def tree_text(picture: Picture) -> str:
    """The graph from the results to the leaves.  What several use is written once and has a number."""
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
    # What flows from the box to the one above; what stands before its line, and before the lines below it; its level.
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
        for place, part in reversed(list(enumerate(parts)) if len(parts) > 1 else []):
            last = place == len(parts) - 1
            before, after = ("└─ ", "   ") if last else ("├─ ", "│  ")
            waiting.append((part.tail, part.label, below + before, below + after, level + 1))
    return "\n".join(lines)


def _line(name: str, box: Box, picture: Picture) -> str:
    """A box in one line."""
    parts: list[str] = []
    for row in box.rows:
        if row.text.startswith(" "):  # the next line of a matrix
            parts[-1] += row.text
        elif row.text != "AccumulateGrad":
            parts.append(f"{row.label} {row.text}".strip())
    between = " " if box.is_tensor else ": "
    text = between.join([name, *([", ".join(parts)] if parts else [])])
    note = picture.lit.get(box.key)
    return text if note is None else f"{text}  <== {_in_one_line(note)}"


def _in_one_line(text: str) -> str:
    """Several lines in one: those that go on with a matrix begin with a space."""
    return text.replace("\n ", " ").replace("\n", ", ")
