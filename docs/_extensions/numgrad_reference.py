"""Sphinx extension that writes the reference: a page for each public module and for each family of operations.

Names come from the ``__all__`` of public modules, descriptions from docstrings, formulas and dtypes from the op table,
and signatures of operations from ``numgrad/ops/signatures.pyi``.  The pages are written into ``reference/generated``
when the build starts; the notebooks are copied beside the pages that teach.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import shutil
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import numgrad
from numgrad.__main__ import _parser
from numgrad.core.layout import layout_of
from numgrad.core.types import tensor_type
from numgrad.ops import ops, public_functions
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.formulas import formula, rule_formula
from numgrad.ops.table.op import Op, composites, public_name

#: Dtypes whose support is shown.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")

#: Titles of the folders of ``numgrad/ops``.
FOLDERS = {
    "pointwise": "Pointwise operations", "reductions": "Reductions, scans and sorting", "shapes": "Shapes and views",
    "indexing": "Indexing", "matrices": "Matrices", "network": "Network operations", "spectral": "Fourier transforms",
    "creation": "Creation and random numbers", "memory": "Copies and conversions",
}

#: Types of defaults that signatures show.
SIMPLE = (bool, int, float, complex, str, types.NoneType)

Lines = Iterator[str]


def heading(text: str, mark: str = "=") -> Lines:
    """Yield a heading in reStructuredText."""
    yield from (text, mark * len(text), "")


def summary(value: Any) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return escaped(" ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()))


def escaped(text: str) -> str:
    """Return a line of a docstring, whose only markup are literals, in reStructuredText."""
    return re.sub(r"(``.+?``|:[a-z:]+:`.+?`)|[*|]|_(?=\W|$)", lambda found: found[1] or rf"\{found[0]}", text)


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Lines:
    """Yield a table with a header row; nothing without other rows."""
    rows = list(rows)
    if not rows:
        return
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in (titles, *rows):
        for number, cell in enumerate(row):
            yield f"   {'  -' if number else '* -'} {cell}"
    yield ""


# -- the op table ----------------------------------------------------------------------------------------------------


def entries_of(name: str, *others: str) -> list[Op]:
    """Return the entries of the op table that compute a public function of the first of these names that has some."""
    found = [op for key, op in ops.items() if public_name(key) == name or key.removesuffix("_op") == name]
    return found or (entries_of(*others) if others else [])


def literal(text: str) -> str:
    """Return text as an inline literal, on one line."""
    return f"``{' '.join(text.split())}``"


def result_dtypes(op: Pointwise) -> dict[str, str]:
    """Return the dtype of a pointwise operation's result for each dtype of its operands that it is defined for."""
    found = {}
    for name in DTYPES:
        operand = layout_of(tensor_type(getattr(numgrad, name)), (2,))
        condition = layout_of(tensor_type(numgrad.bool), (2,))
        given = [condition if each in op.conditions else operand for each in op.inputs]
        try:
            found[name] = str(op.compute_types(given)[1]).removeprefix("torch.")
        except (RuntimeError, NotImplementedError, TypeError):
            continue
    return found


def dtypes_text(op: Pointwise) -> str:
    """Describe the dtypes that a pointwise operation is defined for, and those of its result."""
    by_result = defaultdict(list)
    for given, result in result_dtypes(op).items():
        by_result["the same" if given == result else result].append(given)
    return "; ".join(f"{', '.join(given)} → {result}" for result, given in by_result.items())


def facts(op: Op) -> Lines:
    """Yield the list of what the table says about an entry: node, formula, gradients, dtypes, devices."""
    if op.has_gradient:
        yield f"* Node: ``{op.node_class.__name__}``"
    if isinstance(op, Pointwise):
        yield f"* Value: {literal(formula(op.function))}"
    rules = defaultdict(list)
    for name in op.inputs:
        rules[rule_formula(op.rules[name]) if name in op.rules else ""].append(literal(name))
    for text, names in rules.items():
        if text:
            yield f"* Gradient of {', '.join(names)}: {literal(text)}"
        elif op.has_gradient:
            yield f"* No gradient: {', '.join(names)}"
    if op.has_gradient:
        yield "* Derivatives: of every order, in reverse and forward mode"
    else:
        yield "* Derivatives: none"
    if isinstance(op, Pointwise):
        yield f"* Dtypes: {dtypes_text(op)}"
    yield f"* Devices: CPU, CUDA{f' (computed on the host by {op.host.library})' if op.host is not None else ''}"


def indented(lines: Iterable[str], by: int = 3) -> Lines:
    """Yield lines indented by some blanks."""
    for line in lines:
        yield f"{' ' * by}{line}" if line else ""


def function_entry(full_name: str, name: str, function: Any) -> Lines:
    """Yield the description of a function, with what the op table says about it."""
    yield from (f".. autofunction:: {full_name}", "")
    entries = entries_of(name, function.__name__)
    for op in entries:
        if len(entries) > 1:
            yield from indented((f"**{op.name}**", ""))
        yield from indented(facts(op))
        yield ""
    if name in composites:
        yield from indented(("Composed of other operations, and differentiated as they are.", ""))


def family(function: Any) -> str:
    """Return the module of ``numgrad.ops`` that declares a public function, or an empty string."""
    name = function.__name__
    origin = next((op.function.__module__ for op in entries_of(name)), None)
    origin = origin or getattr(inspect.unwrap(function), "__module__", "")
    found = origin.removeprefix("numgrad.ops.") if origin.startswith("numgrad.ops.") else ""
    return found if found.partition(".")[0] in FOLDERS else ""


def families() -> dict[str, dict[str, list[str]]]:
    """Return the names of public functions by family, and these by folder."""
    found: dict[str, dict[str, list[str]]] = {folder: defaultdict(list) for folder in FOLDERS}
    for name, function in public_functions.items():
        folder, _, module = (family(function) if inspect.isfunction(function) else "").partition(".")
        if folder:
            found[folder][module].append(name)
    return found


def family_page(title: str, names: list[str], internal: list[Op]) -> Lines:
    """Yield the page of a family of operations."""
    yield from heading(title)
    yield from table(
        ("Function", ""), ((f":py:func:`~numgrad.{name}`", summary(public_functions[name])) for name in sorted(names))
    )
    for name in sorted(names):
        yield from function_entry(f"numgrad.{name}", name, public_functions[name])
    if internal:
        yield from heading("Entries without a function of their own", "-")
        yield from ("Functions, modules and rules of other operations call these entries of the op table.", "")
        for op in internal:
            yield from (f"**{op.name}**: {summary(op.function)}", "")
            yield from facts(op)
            yield ""


# -- modules ---------------------------------------------------------------------------------------------------------


def public_modules() -> dict[str, types.ModuleType]:
    """Return the public modules: those that the ``__all__`` of another names, from ``numgrad`` on."""
    found: dict[str, types.ModuleType] = {}

    def visit(name: str, module: types.ModuleType) -> None:
        if module in found.values():
            return
        found[name] = module
        for each in module.__all__:
            value = getattr(module, each)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("numgrad"):
                visit(f"{name}.{each}", value)

    visit("numgrad", numgrad)
    for name in ("serialization", "testing"):  # public, but not exported by a star import
        visit(f"numgrad.{name}", getattr(numgrad, name))
    return found


class Reference:
    """The pages of the reference.

    Attributes:
        documented: full names by the identity of the described function or class.
        pages: the text of each page by its name.
    """

    def __init__(self) -> None:
        self.documented: dict[int, str] = {}
        self.pages: dict[str, str] = {}

    def write(self, folder: Path) -> None:
        """Write the pages that differ from those that are there, and remove pages that no longer exist."""
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.rst"):
            if old.stem not in self.pages:
                old.unlink()
        for name, text in self.pages.items():
            path = folder / f"{name}.rst"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")

    def add(self, name: str, lines: Lines) -> str:
        """Add a page."""
        self.pages[name] = "\n".join(lines)
        return name

    def add_tables(self) -> None:
        """Add the pages of the families of operations, and of their folders."""
        internal = defaultdict(list)
        for key, op in ops.items():
            if public_name(key) not in public_functions:
                internal[op.function.__module__.removeprefix("numgrad.ops.")].append(op)
        for folder, modules in families().items():
            made = []
            names = dict.fromkeys([*modules, *[key.partition(".")[2] for key in internal if key.startswith(folder)]])
            for module in sorted(names):
                for name in modules[module]:
                    self.documented[id(public_functions[name])] = f"numgrad.{name}"
                title = module.replace("_", " ").capitalize()
                lines = family_page(title, modules[module], internal[f"{folder}.{module}"])
                made.append(self.add(f"ops.{folder}.{module}", lines))
            self.add(f"ops.{folder}", self._folder(FOLDERS[folder], modules, made))

    def add_tensor(self) -> None:
        """Add the page of Tensor: methods that are functions as well are listed, all others described."""
        names = [name for name in vars(numgrad.Tensor) if not name.startswith("_") and hasattr(numgrad.Tensor, name)]
        in_place = [name for name in names if name.endswith("_") and name[:-1] in names]
        functions = [name for name in names if name in public_functions and inspect.isfunction(public_functions[name])]
        others = [name for name in names if name not in in_place and name not in functions]
        self.documented[id(numgrad.Tensor)] = "numgrad.Tensor"
        self.add("numgrad.Tensor", self._tensor(sorted(others), sorted(functions), sorted(in_place)))

    def _tensor(self, others: list[str], functions: list[str], in_place: list[str]) -> Lines:
        yield from heading("Tensor")
        yield from (".. autoclass:: numgrad.Tensor", "")
        for name in others:
            value = inspect.getattr_static(numgrad.Tensor, name)
            kind = "automethod" if inspect.isroutine(value) else "autoattribute"
            yield from indented((f".. {kind}:: {name}", ""))
        yield from heading("Methods that are functions, too", "-")
        yield from ("The tensor is the first argument: ``x.sum(0)`` is ``numgrad.sum(x, 0)``.", "")
        yield from table(("Method", ""), (
            (f":py:func:`~numgrad.{name}`", summary(public_functions[name])) for name in functions
        ))
        yield from heading("Methods in place", "-")
        yield from ("Each overwrites the tensor with the result of the method without the underscore.", "")
        yield from (", ".join(map(literal, in_place)), "")

    def add_commands(self) -> None:
        """Add the page of the command line, from the texts of its ``--help``."""
        self.add("commands", self._commands())

    def _commands(self) -> Lines:
        parser = _parser()
        yield from heading("Command line")
        yield from ("``python -m numgrad`` and the script ``numgrad`` are the same program.", "")
        (commands,) = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        for name, each in commands.choices.items():
            yield from heading(name, "-")
            yield from (".. code-block:: text", "")
            yield from indented(each.format_help().splitlines())
            yield ""

    def _contents(self, title: str, pages: Iterable[str]) -> Lines:
        yield from heading(title)
        yield from (".. toctree::", "   :maxdepth: 1", "")
        yield from indented(pages)

    def _folder(self, title: str, modules: dict[str, list[str]], pages: Iterable[str]) -> Lines:
        yield from self._contents(title, pages)
        yield from table(("Family", "Functions"), (
            (module.replace("_", " ").capitalize(), ", ".join(f":py:func:`~numgrad.{name}`" for name in sorted(names)))
            for module, names in sorted(modules.items()) if names
        ))

    def add_modules(self) -> None:
        """Add a page for each public module, and one with the list of them."""
        made = []
        for full_name, module in public_modules().items():
            lines = list(self._module(full_name, module))
            if lines:
                made.append(self.add(full_name, iter(lines)))
        self.add("modules", self._contents("Modules", made))

    def _module(self, full_name: str, module: types.ModuleType) -> Lines:
        names = [name for name in dict.fromkeys(module.__all__) if name in vars(module) or hasattr(module, name)]
        described, same, constants, modules = [], [], [], []
        for name in names:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                modules.append(name)
            elif not (inspect.isroutine(value) or isinstance(value, type)):
                constants.append(name)
            elif id(value) in self.documented:
                same.append(name)
            else:
                self.documented[id(value)] = f"{full_name}.{name}"
                described.append(name)
        if not (described or constants or modules) and full_name != "numgrad.special":
            return
        yield from heading(full_name)
        yield from (f".. py:module:: {full_name}", "")
        yield from (inspect.getdoc(module) or "").splitlines()
        yield ""
        if described:
            kinds = {name: "class" if isinstance(getattr(module, name), type) else "func" for name in described}
            yield from table(("Name", ""), (
                (f":py:{kinds[name]}:`~{full_name}.{name}`", summary(getattr(module, name))) for name in described
            ))
        for name in described:
            if isinstance(getattr(module, name), type):
                yield from (f".. autoclass:: {full_name}.{name}", "   :members:", "")
            else:
                yield from function_entry(f"{full_name}.{name}", name, getattr(module, name))
        if constants:
            yield from heading("Values", "-")
            values = {name: literal(repr(getattr(module, name))) for name in constants}
            yield from table(("Name", "Value"), ((literal(name), value) for name, value in values.items()))
        if same and full_name != "numgrad":
            yield from heading("Names for what is described elsewhere", "-")
            yield from table(("Name", "Described as"), (
                (literal(name), self._link(getattr(module, name))) for name in same
            ))

    def _link(self, value: Any) -> str:
        return f":py:{'class' if isinstance(value, type) else 'func'}:`{self.documented[id(value)]}`"


# -- notes -----------------------------------------------------------------------------------------------------------

#: The folders that have notes.
SOURCES = ("numgrad", "kernels")


def notes(root: Path) -> dict[str, tuple[str, list[str]]]:
    """Return the text of each ``Note [...]`` in docstrings and comments, with the path of its file, by its title."""
    found = {}
    for path in sorted(each for folder in SOURCES for each in (root / folder).rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            start = re.fullmatch(r"(\s*)(#:? ?)?Note \[([^]]+)\]", line)
            if start is not None:
                indent, mark, title = start[1], (start[2] or "").rstrip(), start[3]
                text = list(_note_lines(lines[number + 1 :], indent, mark))
                found[title] = path.relative_to(root).as_posix(), text
    return found


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


# -- signatures ------------------------------------------------------------------------------------------------------


class _Plain(ast.NodeTransformer):
    """Transformer of annotations in ``signatures.pyi`` to the names that users know."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "_Operand":
            return ast.parse("Tensor | number", mode="eval").body
        return ast.Name(node.id.removeprefix("_"))


def fill_defaults(given: ast.arguments, function: Any) -> None:
    """Replace the defaults of a declaration, which are dots, by those of the function."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    positional = given.args[len(given.args) - len(given.defaults) :]
    for parameters, defaults in ((positional, given.defaults), (given.kwonlyargs, given.kw_defaults)):
        for number, (parameter, default) in enumerate(zip(parameters, defaults, strict=True)):
            own = known[parameter.arg].default if parameter.arg in known else None
            if isinstance(default, ast.Constant) and default.value is ... and isinstance(own, SIMPLE):
                defaults[number] = ast.Constant(own)


def declared_signatures() -> dict[str, tuple[str, str]]:
    """Return the parameters and the result of each function and method of the op table, by its full name."""
    tree = ast.parse((Path(numgrad.__file__).parent / "ops" / "signatures.pyi").read_text(encoding="utf-8"))
    found = {}

    def visit(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                visit(node.body, "numgrad.Tensor")
            elif isinstance(node, ast.FunctionDef):
                node = _Plain().visit(node)
                given = node.args
                if given.kwarg is not None and given.kwarg.arg == "keywords":
                    given.kwarg = None
                owner = numgrad.Tensor if prefix.endswith("Tensor") else numgrad
                fill_defaults(given, getattr(owner, node.name, None))
                if owner is numgrad.Tensor:
                    given.args = given.args[1:]
                result = ast.unparse(node.returns) if node.returns is not None else ""
                found[f"{prefix}.{node.name}"] = f"({ast.unparse(given)})", result

    visit(tree.body, "numgrad")
    return found


_signatures = declared_signatures()


def process_signature(app: Sphinx, what: str, name: str, *rest: Any) -> tuple[str, str] | None:
    """Replace the signature of a function of the op table by the declared one."""
    return _signatures.get(name) if what in ("function", "method") else None


def process_docstring(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape what docstrings do not mean as markup, examples excepted."""
    example = False
    for number, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            lines[number] = escaped(line)


def generate(app: Sphinx) -> None:
    """Write all generated pages."""
    source = Path(app.srcdir)
    reference = Reference()
    reference.add_tables()
    reference.add_tensor()
    reference.add_commands()
    reference.add("notes", notes_page(source.parent))
    reference.add_modules()
    reference.write(source / "reference" / "generated")
    notebooks = source / "learn" / "notebooks"
    notebooks.mkdir(exist_ok=True)
    for notebook in (source.parent / "notebooks").glob("*.ipynb"):
        copy = notebooks / notebook.name
        if not copy.exists() or copy.stat().st_mtime < notebook.stat().st_mtime:
            shutil.copy2(notebook, copy)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-process-docstring", process_docstring, priority=100)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
