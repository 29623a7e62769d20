"""A picture in Graphviz' language, and what Graphviz makes of it: PNG and PDF."""

from __future__ import annotations

from html import escape

from ..picture import Arrow, Box, Group, Picture
from .layout import RANKS, one_at_a_time, pygraphviz
from .sizes import CAPTION, LABEL, ROW, TITLE, box_size, label_column
from .style import ALARM, DARK, GREY, LIGHT_UP, QUIET, style_of

_TONES = {"plain": DARK, "quiet": QUIET, "alarm": ALARM}


def rendered(picture: Picture, form: str) -> bytes:
    """The picture as a "png" or "pdf" file.

    Raises:
        ImportError: pygraphviz is not installed.
    """
    graphviz = pygraphviz()
    with one_at_a_time:
        graph = graphviz.AGraph(string=dot_text(picture))
        data: bytes = graph.draw(format=form, prog="dot")
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
    for item in picture.nested():
        lines.append(_box(item, picture) if isinstance(item, Box) else "}" if item is None else _group(item))
    lines += [_arrow(arrow, picture) for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _group(group: Group) -> str:
    caption = f"<B>{escape(group.title)}</B>{escape(group.caption[len(group.title):])}"
    return (
        f'subgraph cluster_{group.key} {{ margin=10; labeljust=l; label=<{caption}>; style="rounded,filled"; '
        f'fillcolor="{GREY}18"; color="{GREY}8c"; fontname="sans-serif"; fontsize={CAPTION:g}; fontcolor="{GREY}";'
    )


def _arrow(arrow: Arrow, picture: Picture) -> str:
    options = []
    if arrow.label:
        label = "\n".join(f" {line} " for line in arrow.label.split("\n"))
        options.append(f"label={_quoted(label)}")
    lit = arrow.tail in picture.lit  # the gradient comes the other way
    if lit or picture.arrowheads == "backward":
        options.append("dir=back")
    if arrow.dashed:
        options.append("style=dashed")
    if lit:
        options.append(f'color="{LIGHT_UP}", penwidth=2')
    return f'"{arrow.tail}" -> "{arrow.head}" [{", ".join(options)}];'


def _box(box: Box, picture: Picture) -> str:
    style = style_of(picture, box)
    width, height = box_size(box)
    shape = ["filled", *(["rounded"] if box.is_tensor else []), *(["dashed"] if style.dashed else [])]
    options = [
        f"label=<{_label(box)}>", f'style="{",".join(shape)}"', f'fillcolor="{style.fill}"', f'color="{style.stroke}"',
        f"penwidth={style.width:g}", f"width={width / 72:.4f}", f"height={height / 72:.4f}",
        f"tooltip={_quoted(box.tip or box.name)}",
    ]
    note = picture.lit.get(box.key)
    if note:
        text = _monospace(note, "#ffffff").replace("\n", "<BR/>")
        options.append(f'xlabel=<<TABLE BGCOLOR="{LIGHT_UP}" BORDER="0"><TR><TD>{text}</TD></TR></TABLE>>')
    return f'"{box.key}" [{", ".join(options)}];'


def _label(box: Box) -> str:
    """Title and rows as Graphviz' tables."""
    title = "".join(
        f"<B>{escape(text)}</B>" if strong else f'<FONT COLOR="{QUIET}">{escape(text)}</FONT>'
        for text, strong in box.title
    )
    column = label_column(box)
    side = "LEFT" if column else "CENTER"
    rows = [
        f'<TR><TD ALIGN="{side}">{_monospace(row.label.ljust(column), QUIET)}{_monospace(row.text, _TONES[row.tone])}'
        "</TD></TR>"
        for row in box.rows
    ]
    return (
        '<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="1">'
        f'<TR><TD>{title}</TD></TR>{"".join(rows)}</TABLE>'
    )


def _monospace(text: str, colour: str) -> str:
    """Some text in a table, its spaces kept; nothing for none, which Graphviz does not take."""
    if not text:
        return ""
    kept = escape(text).replace(" ", "&#160;")
    return f'<FONT FACE="monospace" POINT-SIZE="{ROW:g}" COLOR="{colour}">{kept}</FONT>'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
