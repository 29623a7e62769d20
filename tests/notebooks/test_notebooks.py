"""Every notebook runs from a clean kernel and reproduces its stored output; solutions pass the exercises' checks."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import nbformat
import pytest
from environments import python_with
from notebooks.execute import NOTEBOOKS, ROOT, checks, comparable, error_text, run, solutions

# written here and there when something is used for the first time on a machine
_NOTICE = re.compile(r"Matplotlib is building the font cache.*\n?")
_PATH = re.compile(r"(?<![\w.])(?:/(?:home|root|tmp|Users|usr|opt|mnt|var|work|srv)/|[A-Z]:\\\\?)[\w.-]+")
_SECRET = re.compile(r"(?i)\b(?:api[_-]?key|secret|passw(?:or)?d|access[_-]?token)\b\s*[=:]|\bgh[pousr]_\w{20}")
_PICTURE = re.compile(r"!\[(.*?)\]\(|<img\b[^>]*?(?:\balt=\"([^\"]*)\"[^>]*)?>")

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def tags(cell):
    return cell.metadata.get("tags", ())


def text_of(output):
    """Return the text of an output that a reader without pictures sees, and its media types."""
    if output.output_type == "stream":
        return output.name, _NOTICE.sub("", comparable(output.text))
    if output.output_type == "error":
        return output.ename, comparable(error_text(output))
    kinds = sorted(kind for kind in output.data if "widget" not in kind)
    return kinds, comparable(output.data.get("text/plain", ""))


def texts_of(cell):
    return [text for text in map(text_of, cell.outputs) if text[1] or text[0] != "stderr"]


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.filterwarnings("default")  # the libraries that run a kernel warn of one another
@every_notebook
def test_runs_and_prints_what_is_stored(path, tmp_path):
    stored = nbformat.read(path, as_version=4)
    cells = code_cells(stored)
    answers = [code for pair in zip(solutions(stored), checks(stored), strict=True) for code in pair]
    fresh = code_cells(run(stored, tmp_path, answers, python_with("notebooks")))
    for cell, old in zip(fresh, cells, strict=False):
        if "raises-exception" in tags(cell):
            assert any(output.output_type == "error" for output in cell.outputs), f"no error from:\n{cell.source}"
        if "varies" not in tags(cell):
            assert texts_of(cell) == texts_of(old), f"another output than the one stored, of:\n{cell.source}"
    for cell in fresh:
        if "stderr" not in tags(cell):
            warned = [text for name, text in texts_of(cell) if name == "stderr"]
            assert not warned, f"written to stderr by:\n{cell.source}"
    for number, cell in enumerate(fresh[len(cells) + 1 :: 2], start=1):
        assert texts_of(cell) == [("stdout", f"Exercise {number} is right.\n")], f"after the solution:\n{cell.source}"


@every_notebook
def test_is_complete(path):
    notebook = nbformat.read(path, as_version=4)
    first, number = notebook.cells[0].source, int(path.stem.partition("_")[0])
    assert re.match(rf"# {number}\. \S", first), "the first cell gives number and title"
    assert "You will be able to" in first, "the first cell says what the reader will be able to do"
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    exercises = re.findall(r"^### Exercise (\d)", "\n".join(words).partition("\n## Exercises\n")[2], re.MULTILINE)
    codes = solutions(notebook)
    assert len(codes) >= 3
    assert exercises == [str(number) for number in range(1, len(codes) + 1)]
    assert all(re.search(r"^\s*assert ", code, re.MULTILINE) for code in codes), "a solution checks itself"
    answer_cells = [cell for cell in code_cells(notebook) if cell.source.startswith("# Your answer\n")]
    assert len(answer_cells) == len(checks(notebook)) == len(codes), "an exercise has a cell to answer in and a check"
    links = re.findall(r"\]\((\w+\.ipynb)\)", "\n".join(words))
    neighbours = [other.name for other in NOTEBOOKS if abs(NOTEBOOKS.index(other) - NOTEBOOKS.index(path)) == 1]
    assert set(neighbours) <= set(links), "it links to the notebook before it and to the next one"
    assert all((path.parent / link).exists() for link in links)


@every_notebook
def test_outputs_are_stored_and_name_no_machine(path):
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run by execute.py --write"
    outputs = json.dumps([cell.outputs for cell in cells])
    assert not _PATH.findall(outputs)
    assert not _SECRET.findall(path.read_text(encoding="utf-8"))


@every_notebook
def test_pictures_have_alternative_text(path):
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert all("".join(found).strip() for found in _PICTURE.findall(cell.source)), cell.source
            continue
        for output in cell.outputs:
            data = output.get("data", {})
            if {"image/png", "image/jpeg"} & set(data):
                assert cell.metadata.get("alt", "").strip(), f"no alternative text for the picture of:\n{cell.source}"
            if "image/svg+xml" in data:
                assert re.search(r"<title>\s*\S|aria-label=\"[^\"]", data["image/svg+xml"]), cell.source
            assert all("".join(found).strip() for found in _PICTURE.findall(data.get("text/html", ""))), cell.source


@every_notebook
def test_solutions_pass_the_linter(path):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = code_cells(notebook) + [nbformat.v4.new_code_cell(code) for code in solutions(notebook)]
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", str(path), "-"],
        input=nbformat.writes(notebook), capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr
