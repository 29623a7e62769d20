"""Docstrings: everything public has one, and their examples are right."""

import doctest
import importlib
import inspect
import pkgutil
import re
import types
import warnings

import pytest
from numgrad_reference.pages import public_modules

import numgrad
from numgrad import autograd
from numgrad.ops import public_functions

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module_names(package):
    """The package and all modules in it; ``__main__`` runs a command when imported."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package.__name__, *[module.name for module in found if not module.name.endswith("__main__")]]


def examples(module):
    """The docstrings of a module that have examples in them."""
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


def run(test):
    """Run the examples of one docstring, and return doctest's report of failures."""
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)  # by default, as -v says in sys.argv
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = runner.run(test, out=report.append, clear_globs=False)
    assert result.attempted == len(test.examples)
    return "".join(report)


MODULES = module_names(numgrad)


def test_all_modules_are_looked_at():
    assert {"numgrad", "numgrad.autograd.function", "numgrad.ops.shapes.views", "numgrad.random"} <= set(MODULES)


def test_there_are_examples():
    found = {test.name for name in MODULES for test in examples(importlib.import_module(name))}
    assert "numgrad.autograd.function.Function" in found


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    for test in examples(importlib.import_module(name)):
        assert run(test) == ""


#: Functions that the op table makes: their docstrings are not found in the modules that declare them.
OPERATIONS = [name for name, each in public_functions.items() if ">>>" in (each.__doc__ or "")]


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_of_operations(name):
    (test,) = doctest.DocTestFinder().find(public_functions[name], name, module=False, globs={})
    assert run(test) == ""


def test_operations_have_examples():
    assert {"add", "tanh", "sum", "matmul", "gather", "cat", "sort", "softmax"} <= {*OPERATIONS}


def test_a_wrong_example_is_found():
    parser = doctest.DocTestParser()
    good = parser.get_doctest(">>> numgrad.tensor([1.0])\ntensor([1.])\n", {"numgrad": numgrad}, "good", None, 0)
    wrong = parser.get_doctest(">>> numgrad.tensor([1.0])\ntensor([2.])\n", {"numgrad": numgrad}, "wrong", None, 0)
    assert run(good) == ""
    assert "tensor([2.])" in run(wrong)


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (numgrad.exp, "(input: Tensor, *, out: Tensor | None = None) -> Tensor"),
        (numgrad.Tensor.add_, "(input: Tensor, other: Tensor | complex, *, alpha: complex = 1) -> Tensor"),
        (numgrad.ones(1).cumsum, "(dim: int, *, dtype: dtype | None = None) -> Tensor"),
        (numgrad.transpose, "(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor"),
        (numgrad.chunk, "(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]"),
        (numgrad.ones(1).mode, "(dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_signatures_are_those_of_users(function, signature):
    assert str(inspect.signature(function)).replace("numgrad.", "") == signature


def test_the_source_of_an_operation_is_found():
    assert inspect.getsource(numgrad.sum).startswith("@lookup\ndef sum(")
    assert inspect.getsource(numgrad.exp).startswith("@pointwise(")


def undocumented(owner, names):
    """Return the public functions, classes and modules without a docstring of their own."""
    kinds = types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType
    found = {name: getattr(owner, name) for name in names}
    # Inherited docstrings do not count for classes.
    return [name for name, value in found.items() if isinstance(value, kinds) and not vars_doc(value)]


#: Types of decisions and plans, which no user passes.
INTERNAL = re.compile(r"\b(Layout|TensorRef|Plan|Prepared)\b")


def without_signature(owner, names):
    """Return the public functions and classes with unknown parameters, or with internal types."""
    result = []
    for name in names:
        value = getattr(owner, name)
        try:
            is_class = isinstance(value, type) and not issubclass(value, Exception | autograd.graph.Node)
            if (inspect.isroutine(value) or is_class) and INTERNAL.search(str(inspect.signature(value))):
                result.append(name)
        except ValueError:
            result.append(name)
    return result


def vars_doc(value):
    return value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__


@pytest.mark.parametrize(
    "module",
    [module for module in public_modules().values() if module is not numgrad.multiprocessing],  # Python's functions
    ids=lambda module: module.__name__,
)
def test_everything_exported_is_documented(module):
    """``help`` and editors show a docstring, and the parameters of everything that can be called."""
    assert module.__doc__
    assert undocumented(module, module.__all__) == []
    assert without_signature(module, module.__all__) == []
    assert len(module.__all__) == len(set(module.__all__))


def public_methods(cls):
    """Return the methods that a class defines itself, except inherited and special ones."""
    methods = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
    methods = {name: value.fget if isinstance(value, property) else value for name, value in methods.items()}
    return {name: value for name, value in methods.items() if inspect.isroutine(value)}


@pytest.mark.parametrize(
    "cls",
    [
        numgrad.Tensor, numgrad.Size, numgrad.Generator, autograd.Function, autograd.function.FunctionCtx,
        autograd.graph.Node,
    ],
    ids=lambda cls: cls.__name__,
)  # fmt: skip
def test_every_method_is_documented(cls):
    methods = public_methods(cls)
    assert methods
    assert [name for name, method in methods.items() if not (method.__doc__ or "").strip()] == []


def test_methods_of_tensors_have_signatures():
    methods = [name for name in public_methods(numgrad.Tensor) if inspect.isfunction(vars(numgrad.Tensor)[name])]
    assert without_signature(numgrad.Tensor, methods) == []


def test_exported_names_exist():
    names = {}
    exec("from numgrad import *", names)
    assert set(numgrad.__all__) <= set(names)
    for name in numgrad.__all__:
        assert names[name] is getattr(numgrad, name)
