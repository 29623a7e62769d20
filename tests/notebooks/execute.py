"""Runs notebooks from a clean kernel, and stores their outputs in one form, so that a change is a small diff.

    python tests/notebooks/execute.py                    # runs all notebooks, and prints their times
    python tests/notebooks/execute.py --write [FILE...]  # stores the fresh outputs, too

The stored outputs have no times, no addresses, no paths of this machine and no state of widgets. Cells say by
their tags what a run may do: `raises-exception` (ends in an error), `stderr` (warns), `varies` (prints timings and the
like, which no test compares), `check` (checks the reader's answer to an exercise).

A picture that a cell draws has its alternative text in the cell's metadata, under `alt` (in JupyterLab: the property
inspector, "Cell metadata"). There nbconvert and nbviewer find it; the notebook's words after the picture say what is to
be seen in it for those whose reader shows no alternative text. SVG has a `<title>` or an `aria-label`, Markdown its
`![text](...)`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

__all__ = ["NOTEBOOKS", "ROOT", "checks", "comparable", "error_text", "normalize", "run", "solutions"]

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"), key=lambda path: int(path.stem.partition("_")[0]))

_SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>\s*```python\n(.*?)```\s*</details>", re.DOTALL)
_ADDRESS = re.compile(r"0x[0-9a-f]{8,16}\b")
_CELL_FILE = re.compile(r"[^\s\"']*ipykernel_\d+[/\\]\d+\.py")  # the file that IPython names for a cell's code
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MODEL = "application/vnd.jupyter.widget-view+json"  # means nothing without the state of widgets
_LONGEST_CELL = 240  # seconds


def solutions(notebook: Any) -> list[str]:
    """The code of the solutions, which are in folded Markdown cells."""
    texts = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return [code for text in texts for code in _SOLUTION.findall(text)]


def checks(notebook: Any) -> list[str]:
    """The code of the cells that check the reader's answers, one for each exercise."""
    return [cell.source for cell in notebook.cells if "check" in cell.metadata.get("tags", ())]


class _Client(NotebookClient):
    """Runs a notebook in a kernel of the environment of this Python."""

    def __init__(self, notebook: Any, python: str, **options: Any) -> None:
        super().__init__(notebook, **options)
        self._python = python

    def create_kernel_manager(self) -> Any:
        manager = super().create_kernel_manager()
        manager.kernel_spec.argv[0] = self._python
        return manager


def run(
    notebook: Any, directory: str | Path, more: list[str] | None = None, python: str = sys.executable
) -> Any:
    """A copy of the notebook with the outputs of a fresh run.

    Args:
        notebook: as nbformat reads it.
        directory: where the kernel runs.
        more: further code to run after the notebook, each in a cell at its end.
        python: of the environment that the kernel runs in.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell without the tag `raises-exception` failed.
    """
    fresh = nbformat.from_dict(notebook)
    fresh.cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    fresh.cells += [nbformat.v4.new_code_cell(code) for code in more or []]
    with tempfile.TemporaryDirectory() as profile:
        client = _Client(
            fresh,
            python,
            timeout=_LONGEST_CELL,
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
            extra_arguments=["--IPKernelApp.log_level=40"],  # not of the transport it uses
            resources={"metadata": {"path": str(directory)}},
        )
        paths = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "kernels"), os.environ.get("PYTHONPATH")]))
        # an empty profile, without the user's settings of IPython
        client.execute(env=os.environ | {"IPYTHONDIR": profile, "PYTHONPATH": paths})
    return fresh


def comparable(text: str) -> str:
    """The text without the parts that differ from run to run: addresses, and IPython's file names of cells."""
    return _CELL_FILE.sub("cell.py", _ADDRESS.sub("0x0", text))


def error_text(output: Any) -> str:
    """An error's name, message and notes: the text below its traceback."""
    text = _COLOUR.sub("", "\n".join(output.traceback))
    return text[text.rfind(f"{output.ename}: ") :]


def _anonymous(text: str, addresses: dict[str, str]) -> str:
    """The text without paths of this machine; addresses become small numbers, the same for the same address."""
    text = _ADDRESS.sub(lambda found: addresses.setdefault(found[0], f"0x7f{16 * len(addresses) + 16:010x}"), text)
    return _CELL_FILE.sub("cell.py", text).replace(f"{ROOT}{os.sep}", "").replace(str(ROOT), ".")


def _clean(value: Any, addresses: dict[str, str]) -> Any:
    if isinstance(value, str):
        return _anonymous(value, addresses)
    return [_anonymous(line, addresses) for line in value] if isinstance(value, list) else value


def normalize(notebook: Any) -> Any:
    """The notebook in the form that is stored; changed in place."""
    addresses: dict[str, str] = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {key: cell.metadata[key] for key in ("alt", "tags") if key in cell.metadata}
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":
                output.text = _anonymous(output.text, addresses)
            elif output.output_type == "error":
                output.evalue = _anonymous(output.evalue, addresses)
                output.traceback = _clean(output.traceback, addresses)
            else:
                output.metadata = {}
                output.data.pop(_MODEL, None)
                for kind in output.data:
                    if not kind.startswith("image/") or kind == "image/svg+xml":
                        output.data[kind] = _clean(output.data[kind], addresses)
    return notebook


def main() -> None:
    """Run the notebooks that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, default=NOTEBOOKS, metavar="NOTEBOOK")
    parser.add_argument("--write", action="store_true", help="store the fresh outputs in the file")
    options = parser.parse_args()
    for path in options.notebooks:
        start = time.perf_counter()
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as directory:
            fresh = run(notebook, directory)
        if options.write:
            nbformat.write(normalize(fresh), path)
        print(f"{path.name}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
