"""A picture in Graphviz' language, and what Graphviz makes of it: PNG and PDF."""

from __future__ import annotations

from html import escape

from .layout import RANKS, one_at_a_time, pygraphviz
from .picture import Box, Group, Picture
from .sizes import CAPTION, LABEL, ROW, TITLE, box_size
from .style import ALARM, DARK, GREY, LIGHT_UP, QUIET, style_of

__all__ = ["dot_text", "rendered"]

_TONES = {"plain": DARK, "quiet": QUIET, "alarm": ALARM}


def rendered(picture: Picture, form: str) -> bytes:
    """The picture as a "png" or "pdf" file.

    Raises:
        ImportError: pygraphviz is not installed.
    """
    graphviz = pygraphviz()
    with one_at_a_time:
        graph = graphviz.AGraph(string=dot_text(picture))
        data = graph.draw(format=form, prog="dot")
        graph.close()
    return data


def dot_text(picture: Picture) -> str:
    """The picture, its boxes at least as large as in the SVG, so that Graphviz lays it out the same way."""
    lines = [
        "digraph {",
        f'rankdir={RANKS[picture.direction]}; nodesep=0.28; ranksep=0.34; bgcolor="transparent"; dpi=144;',
        f'node [shape=box, fontname="sans-serif", fontsize={TITLE:g}, fontcolor="{DARK}", margin="0.1,0.05"];',
        f'edge [fontname="monospace", fontsize={LABEL:g}, fontcolor="{GREY}", color="{GREY}", arrowsize=0.8];',
    ]
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
        kind = "" if item.title == item.kind else f" {escape(item.kind)}"
        lines.append(
            f'subgraph cluster_{item.key} {{ margin=10; style="rounded,filled"; fillcolor="{GREY}18"; color="{GREY}8c"; '
            f'fontname="sans-serif"; fontsize={CAPTION:g}; fontcolor="{GREY}"; label=<<B>{escape(item.title)}</B>{kind}>;'
        )
        lines += [_box(box, picture) for box in inside.get(item.key, [])]
        waiting += ["}", *reversed(parts.get(item.key, []))]
    lines += [_box(box, picture) for box in inside.get(None, [])]
    turned = ", dir=back" if picture.arrowheads == "backward" else ""
    for arrow in picture.arrows:
        dashed = ", style=dashed" if arrow.dashed else ""
        lit = f', color="{LIGHT_UP}", penwidth=2' if arrow.tail in picture.lit else ""
        lines.append(f'"{arrow.tail}" -> "{arrow.head}" [label="{_quoted(arrow.label)}"{turned}{dashed}{lit}];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _box(box: Box, picture: Picture) -> str:
    style = style_of(picture, box)
    width, height = box_size(box)
    look = ",".join(["filled", *(["rounded"] if style.radius > 3 else []), *(["dashed"] if style.dashed else [])])
    title = "".join(
        f"<B>{escape(text)}</B>" if strong else f'<FONT COLOR="{QUIET}">{escape(text)}</FONT>'
        for text, strong in box.title
    )
    rows = "".join(
        f'<TR><TD ALIGN="LEFT">{_cell(row.label, QUIET)}</TD><TD ALIGN="LEFT">{_cell(row.text, _TONES[row.tone])}</TD></TR>'
        if any(row.label for row in box.rows) else f"<TR><TD>{_cell(row.text, _TONES[row.tone])}</TD></TR>"
        for row in box.rows
    )
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="1">{rows}</TABLE>' if rows else ""
    note = picture.lit.get(box.key)
    outside = (
        f', xlabel=<<TABLE BGCOLOR="{LIGHT_UP}" BORDER="0"><TR><TD>{_cell(note, "#ffffff")}</TD></TR></TABLE>>'
        if note else ""
    )
    label = f"<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLPADDING=\"0\" CELLSPACING=\"0\"><TR><TD>{title}</TD></TR>" + (
        f"<TR><TD>{table}</TD></TR>" if table else ""
    ) + "</TABLE>"
    return (
        f'"{box.key}" [label=<{label}>, style="{look}", fillcolor="{style.fill}", color="{style.stroke}", '
        f'penwidth={style.width:g}, width={width / 72:.4f}, height={height / 72:.4f}, '
        f'tooltip="{_quoted(box.tip)}"{outside}];'
    )


def _cell(text: str, colour: str) -> str:
    """Some text in a table; an empty one is none, which Graphviz does not take."""
    if not text:
        return ""
    lines = "<BR/>".join(map(escape, text.split("\n")))
    return f'<FONT FACE="monospace" POINT-SIZE="{ROW:g}" COLOR="{colour}">{lines}</FONT>'
