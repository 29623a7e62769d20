"""A picture as text: each line is computed from the one below it, or from those that branch off below it."""

from __future__ import annotations

from .picture import Box, Picture

__all__ = ["tree_text"]


def tree_text(picture: Picture) -> str:
    """The graph from the results to the leaves.  What several use is written once and has a number."""
    boxes = {box.key: box for box in picture.boxes}
    behind: dict[str, list[str]] = {}
    uses: dict[str, int] = {}
    for arrow in picture.arrows:
        behind.setdefault(arrow.head, []).append(arrow.tail)
        uses[arrow.tail] = uses.get(arrow.tail, 0) + 1
    numbers: dict[str, int] = {}
    lines = []
    written: set[str] = set()
    starts = [box.key for box in picture.boxes if box.key not in uses]
    waiting = [(key, "", "") for key in reversed(starts)]  # what stands before the line, and before those below it
    while waiting:
        key, before, below = waiting.pop()
        text = _line(boxes[key], picture.lit.get(key))
        if uses.get(key, 0) > 1:
            numbers.setdefault(key, len(numbers) + 1)
            name = f"#{numbers[key]} {boxes[key].name}"
            text = f"{name}, see above" if key in written else f"#{numbers[key]} {text}"
        lines.append(before + text)
        if key in written:
            continue
        written.add(key)
        parts = behind.get(key, [])
        if len(parts) == 1:
            waiting.append((parts[0], below, below))
        for place, part in reversed(list(enumerate(parts)) if len(parts) > 1 else []):
            last = place == len(parts) - 1
            waiting.append((part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    return "\n".join(lines)


def _line(box: Box, note: str | None) -> str:
    """A box in one line."""
    parts: list[str] = []
    for row in box.rows:
        if row.text.startswith(" "):  # the next line of a matrix
            parts[-1] += row.text
        elif row.text != "AccumulateGrad":
            parts.append(f"{row.label} {row.text}".strip())
    between = " " if box.is_tensor else ": "
    text = between.join([box.name, *([", ".join(parts)] if parts else [])])
    return text if note is None else f"{text}  <== {note}".replace("\n", " ")
