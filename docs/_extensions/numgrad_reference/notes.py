"""The page of design notes, which are collected from docstrings and comments of the source."""

from __future__ import annotations

import re
from pathlib import Path

from .markup import Lines, escaped, heading, literal

#: The folders that have notes.
SOURCES = ("numgrad", "kernels")


def notes(root: Path) -> dict[str, tuple[str, list[str]]]:
    """Return the text of each ``Note [...]`` in docstrings and comments, with the path of its file, by its title."""
    result = {}
    for path in sorted(each for folder in SOURCES for each in (root / folder).rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            start = re.fullmatch(r"(\s*)(#:? ?)?Note \[([^]]+)\]", line)
            if start is not None:
                indent, mark, title = start[1], (start[2] or "").rstrip(), start[3]
                text = list(_note_lines(lines[number + 1 :], indent, mark))
                result[title] = path.relative_to(root).as_posix(), text
    return result


def _note_lines(lines: list[str], indent: str, mark: str) -> Lines:
    for line in lines:
        if mark and not line.strip().startswith(mark):
            return
        text = line.removeprefix(indent).removeprefix(mark).removeprefix(" " if mark else "")
        if '"""' in text or text.startswith("Note ["):
            yield text.partition('"""')[0] if '"""' in text else ""
            return
        yield text


def notes_page(root: Path) -> Lines:
    """Yield the page of the notes, in alphabetical order."""
    yield from heading("Design notes")
    yield from ("Notes in the source explain one idea each. References to them read ``Note [...]``.", "")
    for title, (path, text) in sorted(notes(root).items()):
        yield from heading(title, "-")
        yield from (f"*In* {literal(path)}", "")
        yield from map(escaped, text)
        yield ""
