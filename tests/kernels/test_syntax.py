"""Syntax trees of functions: those that Python would find, however the text is laid out."""

import ast
import importlib
import inspect
import sys
import textwrap
from types import FunctionType

import pytest

from numgrad_kernels import blocks, polynomials
from numgrad_kernels.syntax import syntax_tree
from numgrad_kernels.syntax import where as place

# ruff: noqa: E731 - a function is written as some people write them


def decorated(function):
    return function


@decorated
def with_a_long_head(
    x, *,
    y=1,
) -> int:
    """A docstring.

at the margin
    """
    return x + y


def with_lines_at_the_margin(x):
    y = x
# a comment that belongs to nothing

    text = """
a text that goes on at the margin"""
    return len(text) + \
y


class Holder:
    def method(self, x):
        if x > 0:
            return x
    # as far out as the method
        return (
            -x
        )

    def last(self, x): return x


def as_python_finds_it(function):
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    found.decorator_list = []
    if ast.get_docstring(found) is not None:
        found.body = found.body[1:]
    return ast.dump(found)


MINE = [with_a_long_head, with_lines_at_the_margin, Holder.method, Holder.last, as_python_finds_it]
KERNELS = [each for module in (blocks, polynomials) for each in vars(module).values() if isinstance(each, FunctionType)]


@pytest.mark.parametrize("function", [*MINE, *KERNELS], ids=lambda each: each.__qualname__)
def test_a_function_has_the_tree_of_its_whole_text(function):
    assert ast.dump(syntax_tree(function)) == as_python_finds_it(function)


def test_each_tree_is_a_new_one():
    assert syntax_tree(with_a_long_head) is not syntax_tree(with_a_long_head)


def test_a_function_without_source_text():
    namespace = {}
    exec(compile("def invisible(x):\n    return x", "<a file that is not there>", "exec"), namespace)
    with pytest.raises(TypeError, match=r"invisible .*its source text is needed"):
        syntax_tree(namespace["invisible"])


def test_a_function_whose_source_text_has_changed(tmp_path, monkeypatch):
    file = tmp_path / "edited_since.py"
    file.write_text("def first(x):\n    return x\n\n\ndef second(y):\n    return y + y\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("edited_since")
    monkeypatch.delitem(sys.modules, "edited_since")
    file.write_text("# another line\n\n\n\ndef first(x):\n    return x\n")
    with pytest.raises(TypeError, match=r"second .*its source text has changed"):
        syntax_tree(module.second)


def test_a_lambda():
    functions = [
        lambda x: x + 1,
    ]
    nameless = lambda x: x + 1
    for function in (*functions, nameless):
        with pytest.raises(TypeError, match="define it with 'def'"):
            syntax_tree(function)


def test_the_place_of_a_function():
    assert place(Holder.method) == f"Holder.method ({__file__}:{Holder.method.__code__.co_firstlineno})"
