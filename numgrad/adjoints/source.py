"""Source of functions: reading it, choosing names in generated code, and errors for unsupported functions."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import keyword
import linecache
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np

#: Modules whose functions a differentiable function may call, under the names that generated code uses.
MODULES = {"math": math, "np": np, "np.linalg": np.linalg, "np.random": np.random}

#: Names in the source of derivatives of scalar functions.
SCOPE = {"math": math, "np": np, "float32": np.float32}

_REFUSED_STATEMENTS = {
    ast.Try: "'try'", ast.With: "'with'", ast.FunctionDef: "a function within", ast.Lambda: "'lambda'",
    ast.ListComp: "a list comprehension", ast.List: "a list", ast.Dict: "a dictionary", ast.Set: "a set",
    ast.GeneratorExp: "a generator", ast.Yield: "'yield'", ast.Starred: "'*'",
    ast.Global: "'global'", ast.Nonlocal: "'nonlocal'", ast.JoinedStr: "a formatted string",
}

_SERIAL = count(1)


class Refused(TypeError):  # noqa: N818 - as in "ConnectionRefused"
    """Exception for a function that cannot be differentiated; the message states the line and the reason."""

    def __init__(self, reason: str, node: ast.AST | None = None):
        super().__init__(reason)
        self.reason, self.located = reason, False
        #: Line in generated code, where that is what failed.
        self.line: int | None = None
        if node is not None:
            self.locate(node)

    def locate(self, node: ast.AST) -> None:
        """Add the line of ``node`` to the message, unless it already has a line."""
        origin = getattr(node, "origin", None)
        if origin is not None and not self.located:
            self.located = True
            line = origin.lines[node.lineno - origin.first].strip()  # type: ignore[attr-defined]
            self.args = (f"{origin.name}, line {node.lineno}: {self.reason}\n    {line}",)  # type: ignore[attr-defined]


@contextmanager
def placing(node: ast.AST) -> Iterator[None]:
    """Context manager that adds the line of ``node`` to a ``Refused`` error without a line."""
    try:
        yield
    except Refused as refusal:
        refusal.locate(node)
        raise


class NoSource(Refused):
    """Exception for a function without source."""


class SourceFunction:
    """Function from which nodes were read: its name, its lines and the number of its first line."""

    def __init__(self, name: str, lines: list[str], first: int):
        self.name, self.lines, self.first = name, lines, first

    def __deepcopy__(self, memo: dict[int, Any]) -> SourceFunction:
        return self


def python_function(function: Any) -> Callable[..., Any]:
    """Return the Python function that a dispatcher of Numba's or ``differentiable`` has compiled.

    Raises:
        Refused: it is none: a method of an object, a built-in function, a class.
    """
    while hasattr(function, "py_func"):
        function = function.py_func
    if not isinstance(function, FunctionType):
        raise Refused(
            f"{getattr(function, '__name__', repr(function))} is of type '{type(function).__name__}': only functions "
            "that are defined by 'def' can be differentiated"
        )
    if function.__name__ == "<lambda>":
        raise Refused("a lambda cannot be differentiated: define the function by 'def'")
    return function


def read(function: Any) -> ast.FunctionDef:
    """Return the definition of a Python function as a syntax tree, with line numbers.

    Raises:
        NoSource: the source cannot be read.
        Refused: the function contains something that no part of the translation supports.
    """
    function = python_function(function)
    name = function.__name__
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError) as error:
        raise NoSource(f"{name}: its source cannot be read ({error}): define it in a file or a notebook") from None
    if not isinstance(tree, ast.FunctionDef):
        raise Refused(f"{name}: only functions that are defined by 'def' can be differentiated")
    ast.increment_lineno(tree, first - 1)
    origin = SourceFunction(name, lines, first)
    for node in ast.walk(tree):
        node.origin = origin  # type: ignore[attr-defined]
    tree.decorator_list = []
    arguments = tree.args
    if arguments.vararg or arguments.kwarg:
        raise Refused("parameters must be named: no *args or **kwargs", tree)
    arguments.args += arguments.kwonlyargs
    arguments.kwonlyargs, arguments.kw_defaults = [], []
    _check(tree)
    return tree


def _check(tree: ast.FunctionDef) -> None:
    """Raise an error for statements and expressions that no part of the translation supports."""
    allowed = {
        id(node) for call in ast.walk(tree) if isinstance(call, ast.Call) and text(call.func).split(".")[-1] == "array"
        for node in ast.walk(call)
    }
    printed = {
        id(node) for statement in walk(tree.body) if isinstance(statement, (ast.Raise, ast.Assert, ast.Expr))
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node is tree or (isinstance(node, ast.List) and id(node) in allowed):
            continue
        if isinstance(node, ast.JoinedStr) and id(node) in printed:
            continue
        if type(node) in _REFUSED_STATEMENTS:
            raise Refused(f"{_REFUSED_STATEMENTS[type(node)]} is not supported", node)
    for statement in walk(tree.body):
        _check_bindings([each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.expr)])


def _check_bindings(expressions: list[ast.expr]) -> None:
    """Raise an error for a name that is read before ``:=`` binds it in the same statement, which binds it first."""
    nodes = [each for part in expressions for each in ast.walk(part)]
    for binding in nodes:
        if isinstance(binding, ast.NamedExpr):
            start = binding.lineno, binding.col_offset
            for each in nodes:
                is_read = isinstance(each, ast.Name) and each.id == binding.target.id
                if is_read and (each.lineno, each.col_offset) < start:  # type: ignore[attr-defined]
                    raise Refused(f"'{binding.target.id}' occurs before ':=' in one statement: use two", binding)


def namespace_of(function: Any) -> dict[str, Any]:
    """Return the globals of a Python function, with the variables that it closes over."""
    function = python_function(function)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}


class Names:
    """Names in use in generated code."""

    def __init__(self) -> None:
        self.reserved = {*dir(builtins), *keyword.kwlist, "np", "math", "same_length"}

    def fresh(self, stem: str) -> str:
        """Return ``stem``, followed by a number if the name is reserved, and reserve it."""
        name = stem = stem.replace("numgrad_", "")  # the beginning of the names of procedures
        number = 1
        while name in self.reserved:
            number += 1
            name = f"{stem}_{number}"
        self.reserved.add(name)
        return name


def text(node: ast.AST) -> str:
    """Return the source of a node."""
    return ast.unparse(ast.fix_missing_locations(node))


def index_text(node: ast.Subscript) -> str:
    """Return the source of the index of an element or view."""
    return text(ast.Subscript(name("a"), node.slice, ast.Load()))[2:-1]


def indices_of(node: ast.expr) -> list[ast.expr]:
    """Return the indices of an element or view, one for each axis or new axis."""
    index = node.slice  # type: ignore[attr-defined]
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def is_none(node: ast.expr) -> bool:
    """Return True for the constant None, which as an index makes a new axis."""
    return isinstance(node, ast.Constant) and node.value is None


def expression(source: str) -> ast.expr:
    """Parse an expression."""
    return ast.parse(source, mode="eval").body


def definition(source: str) -> ast.FunctionDef:
    """Parse the definition of a function."""
    return ast.parse(source).body[0]  # type: ignore[return-value]


def statements(source: str, at: ast.AST | None = None) -> list[ast.stmt]:
    """Parse statements, and set their line to that of the node ``at``."""
    parsed = ast.parse(textwrap.dedent(source)).body
    return parsed if at is None else [located(each, at) for each in parsed]


def located(node: Any, at: ast.AST) -> Any:
    """Set the line of a node, and of nodes within it that lack one, to that of the node ``at``; return the node."""
    origin = getattr(at, "origin", None)
    if origin is not None:
        for each in ast.walk(node):
            if not hasattr(each, "origin"):
                each.origin, each.lineno = origin, at.lineno  # type: ignore[attr-defined]
    return node


def name(identifier: str, store: bool = False) -> ast.Name:
    """Return the node of a name."""
    return ast.Name(identifier, ast.Store() if store else ast.Load())


def assign(target: str | ast.expr, value: ast.expr, at: ast.AST) -> ast.Assign:
    """Return an assignment."""
    if isinstance(target, str):
        target = name(target, store=True)
    return located(ast.Assign([target], copy.deepcopy(value)), at)


def names_in(node: ast.AST | Iterable[ast.AST], context: type | None = ast.Load) -> set[str]:
    """Return the names that are read in a node (or written, or both)."""
    nodes = [node] if isinstance(node, ast.AST) else node
    return {
        each.id for part in nodes for each in ast.walk(part)
        if isinstance(each, ast.Name) and (context is None or isinstance(each.ctx, context))
    }


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of statements within a statement."""
    return [block for field in ("body", "orelse") if (block := getattr(statement, field, None))]


def walk(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Iterate over all statements of a block and of those within."""
    for statement in block:
        yield statement
        for inner in blocks(statement):
            yield from walk(inner)


def compiled(source: str, function_name: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Return the Python function compiled from its source, which tracebacks and ``inspect`` can show."""
    file = f"<numgrad {function_name} {next(_SERIAL)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = dict(namespace)
    exec(compile(source, file, "exec"), scope)  # generated from the abstract syntax tree of the user's own function
    return scope[function_name]
