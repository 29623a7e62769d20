"""Sphinx extension that writes the reference: a page for each public module and for each family of operations.

Names come from the ``__all__`` of public modules, descriptions and signatures from these objects, formulas and dtypes
from the op table.  The pages are written into ``reference/generated`` when the build starts; the notebooks are copied
beside the pages that teach.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .markup import escaped
from .notes import notes_page
from .pages import Reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx

def process_docstring(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape characters that docstrings do not use as markup, except in examples."""
    example = False
    for number, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            lines[number] = escaped(line)


def reference(root: Path) -> Reference:
    """Return all pages, for the repository in the folder ``root``."""
    result = Reference()
    result.add_tables()
    result.add_tensor()
    result.add_commands()
    result.add("notes", notes_page(root))
    result.add_modules()
    return result


def generate(app: Sphinx) -> None:
    """Write the pages, and copy the notebooks."""
    source = Path(app.srcdir)
    reference(source.parent).write(source / "reference" / "generated")
    notebooks = source / "learn" / "notebooks"
    notebooks.mkdir(exist_ok=True)
    originals = {path.name: path for path in (source.parent / "notebooks").glob("*.ipynb")}
    for copy in notebooks.glob("*.ipynb"):
        if copy.name not in originals:
            copy.unlink()
    for name, original in originals.items():
        copy = notebooks / name
        if not copy.exists() or copy.stat().st_mtime < original.stat().st_mtime:
            shutil.copy2(original, copy)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-docstring", process_docstring, priority=100)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
