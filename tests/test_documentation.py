"""The documentation: links and paths lead somewhere, tables are complete, and every public name is in the reference."""

import ast
import functools
import inspect
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from numgrad_reference import reference
from numgrad_reference.dtypes import dtypes_text, result_dtypes
from numgrad_reference.pages import public_modules

import numgrad
from numgrad.ops import ops

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: The pages that people write; those of the reference are generated.
PAGES = sorted([*ROOT.glob("*.md"), *(path for path in DOCS.rglob("*.md") if "notebooks" not in path.parts)])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


@functools.cache
def text_of(page):
    return page.read_text(encoding="utf-8")


@functools.cache
def prose_of(page):
    """A page without blocks of code."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)


@functools.cache
def anchors(page):
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", prose_of(page), re.M)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@functools.cache
def generated():
    return reference(ROOT)


def broken_links(text, page):
    """The relative links in a text that lead nowhere, and those to anchors that are not there."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def included(page):
    """The file that a page includes."""
    match = re.search(r"^```\{include\} (\S+)$", text_of(page), re.M)
    return match and (page.parent / match[1]).resolve()


@every_page
def test_links_and_anchors(page):
    assert broken_links(prose_of(page), page) == []
    assert not included(page) or included(page).exists()


def test_a_broken_link_is_found():
    page = ROOT / "README.md"
    assert broken_links("[a](docs/index.md) [b](CONTRIBUTING.md#running-tests) [c](https://a.b)", page) == []
    assert broken_links("[a](docs/no.md) [b](CONTRIBUTING.md#no)", page) == ["docs/no.md", "CONTRIBUTING.md#no"]


@every_page
def test_files_that_are_named_exist(page):
    if page.name == "CHANGELOG.md":
        return
    named = re.findall(r"\b(?:numgrad|kernels|tests|examples|notebooks|docs)/[\w./-]*\w", text_of(page))
    assert [path for path in named if not (ROOT / path).exists()] == []


@every_page
def test_extras_that_are_named_exist(page):
    named = {extra for group in re.findall(r"\.\[([\w,]+)\]", text_of(page)) for extra in group.split(",")}
    assert named <= {*PROJECT["optional-dependencies"]}


def test_every_extra_with_numba_cuda_has_the_version_whose_internals_are_used():
    wanted = [each for extra in PROJECT["optional-dependencies"].values() for each in extra if "numba-cuda" in each]
    assert len(wanted) == 4
    assert all(re.fullmatch(r"numba-cuda(\[cu1[23]\])?>=0\.30,<0\.31", each) for each in wanted)
    assert metadata.version("numba-cuda").startswith("0.30.")


def test_pages_are_in_the_contents():
    linked = set()
    for page in PAGES:
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text_of(page), re.M | re.S):
            linked |= {(page.parent / f"{line}.md").resolve() for line in block.splitlines() if line[:1] not in ":"}
    written = {page for page in PAGES if DOCS in page.parents} - {DOCS / "index.md"}
    assert written - linked == set()


def statements(text):
    """The statements of a program, without docstrings and comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return [ast.unparse(node) for node in tree.body]


def test_declarations_that_are_shown_are_those_of_the_source():
    blocks = re.findall(r"^```python\n(.*?)^```", text_of(DOCS / "inside" / "adding_an_operation.md"), re.M | re.S)
    shown = [statement for block in blocks for statement in statements(block)]
    sources = [*ROOT.glob("numgrad/ops/**/*.py"), *ROOT.glob("tests/ops/samples/*.py")]
    found = {statement for path in sources if "entr" in text_of(path) or "logsumexp" in text_of(path)
             for statement in statements(text_of(path))}
    assert [statement for statement in shown if statement not in found] == []
    assert len(shown) == 5


def test_the_readme_is_a_page():
    assert len(text_of(ROOT / "README.md").splitlines()) <= 250


@pytest.mark.parametrize(
    "question",
    [
        "save", "use a GPU", "add an operation", "contribute", "list the operations", "number of threads", "compile",
        "differs from PyTorch", "cite", "report a bug", "run the tests", "clear the kernel cache",
    ],
)  # fmt: skip
def test_a_newcomers_question_has_a_link(question):
    rows = re.findall(r"^\| ([^|]*\?) \| (.*) \|$", text_of(ROOT / "README.md"), re.M)
    (answer,) = [answer for asked, answer in rows if question in asked]
    assert "](" in answer


def test_environment_variables_are_listed():
    sources = [*ROOT.glob("numgrad/**/*.py"), *ROOT.glob("kernels/**/*.py")]
    used = {name for path in sources for name in re.findall(r"\bNUMGRAD_[A-Z_]*[A-Z]\b", text_of(path))}
    listed = set(re.findall(r"`(NUMGRAD_\w+)`", text_of(DOCS / "reference" / "environment.md")))
    assert used == listed != set()


def test_the_citation_has_the_version():
    assert f"\nversion: {numgrad.__version__}\n" in text_of(ROOT / "CITATION.cff")


def test_the_glossary_is_in_order():
    terms = re.findall(r"^(\w[\w ,]*)\n  \w", text_of(DOCS / "inside" / "glossary.md"), re.M)
    assert len(terms) > 30
    assert terms == sorted(terms)


# -- the reference ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", public_modules())
def test_every_public_name_is_in_the_reference(name):
    pages = "\n".join(generated().pages.values())
    module = public_modules()[name]
    for each in module.__all__:
        value, full = getattr(module, each), f"{name}.{each}"
        known = id(value) in generated().documented or inspect.ismodule(value)
        assert known or full in pages or f"``{each}``" in generated().pages[name]


def test_every_attribute_of_tensors_is_in_the_reference():
    page = generated().pages["numgrad.Tensor"]
    named = set(re.findall(r"(?:auto\w+:: |~numgrad\.|``)(\w+)", page))
    public = {name for name in dir(numgrad.Tensor) if not name.startswith("_") and hasattr(numgrad.Tensor, name)}
    assert named >= public >= {"backward", "shape", "sum", "add_", "T"}


def test_every_entry_of_the_table_is_in_the_reference():
    pages = "\n".join(text for name, text in generated().pages.items() if name.startswith("ops."))
    documented = {*re.findall(r"^ *\*\*(\w+)\*\*", pages, re.M), *re.findall(r"autofunction:: numgrad\.(\w+)", pages)}
    assert [name for name in ops if not {name, name.removesuffix("_op")} & documented] == []


def test_an_entry_says_what_the_table_knows():
    page = generated().pages["ops.pointwise.trigonometric"]
    entry = page[page.index(".. autofunction:: numgrad.cos\n") :].split(".. autofunction", 2)[1]
    assert "* Node: ``CosBackward0``" in entry
    assert "* Gradient of ``input``: ``grad * conj(-sin(input))``" in entry
    assert result_dtypes(ops["cos"])["int64"] == "float32"
    assert result_dtypes(ops["cos"])["float64"] == "float64"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("logsumexp_op", "float32, float64 → the same"),
        ("trace_op", "uint8, int8, int16, int32 → int64; int64, float32, float64, complex64, complex128 → the same"),
        ("std_op", "float32, float64 → the same; complex64 → float32; complex128 → float64"),
        ("view_as_complex_op", "float32 → complex64; float64 → complex128"),
        ("argsort_op", "bool, uint8, int8, int16, int32, float32, float64 → int64; int64 → the same"),
        ("nonzero_op", "bool, uint8, int8, int16, int32, float32, float64 → int64; int64 → the same"),
        ("to_type", "bool, uint8, int8, int16, int32, int64, float32, float64, complex64, complex128 → the given one"),
    ],
)
def test_dtypes_of_an_operation_that_is_not_pointwise_are_those_that_it_decides_for(name, text):
    assert dtypes_text(ops[name]) == f"Dtypes: {text}"


@pytest.mark.parametrize("name", ["floor_divide", "heaviside"])
def test_a_backward_that_raises_is_mentioned(name):
    pages = "\n".join(generated().pages.values())
    entry = pages[pages.index(f".. autofunction:: numgrad.{name}\n") :].split(".. autofunction", 2)[1]
    assert "backward through the result raises an error" in entry


def test_design_notes_are_collected():
    page = generated().pages["notes"]
    assert "A call is a lookup\n------------------" in page
    assert "The steps of a call depend on the layouts of its operands" in page
