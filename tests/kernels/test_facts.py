"""Facts of kernels besides their text: the arrays that they read and write."""

import ast
import importlib
import pkgutil
from types import FunctionType

import numpy as np
import pytest

import numgrad_kernels.cpu
import numgrad_kernels.cuda
from numgrad_kernels.facts import Blas, InOut, Out, Part, Report, facts_of, reaches
from numgrad_kernels.parallel import with_parts
from numgrad_kernels.source import module_text

FLOAT32 = np.dtype("float32")

#: The arguments that each function called by kernels with arrays writes.
WRITTEN_BY = {"address_in": 0, "gemm": 13, "gemv": 10, "store4": 0, "put": 0, "atomic_add": 0, "compare_and_swap": 0}


@reaches(lambda given: given.count)
def adds(address: Blas, x, count, sums: InOut, out: Out, row: Part, wrong: Report):
    sums[0] += x[0]
    out[0] = sums[0]
    row[count] = x[0]
    if x[0] != x[0]:
        wrong[0] = True


def test_facts_are_those_of_the_signature():
    facts = facts_of(adds, FLOAT32)
    assert (facts.compute, facts.parameters) == (FLOAT32, ("address", "x", "count", "sums", "out", "row", "wrong"))
    assert facts.read - {"address", "count"} == {"x", "sums"}
    assert (facts.written, facts.reports) == ({"sums", "out", "row", "wrong"}, {"wrong"})
    assert facts.calls_blas
    assert "def kernel(address, x, count, sums, out, row, wrong):\n    sums[0] += x[0]\n" in module_text(adds, FLOAT32)


def test_a_kernel_that_says_nothing_of_what_it_writes_is_refused():
    def silent(x, out):
        out[0] = x[0]

    with pytest.raises(TypeError, match="silent: say which arrays the kernel writes"):
        facts_of(silent, FLOAT32)


def kernels_of(package):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        for function in vars(importlib.import_module(module.name)).values():
            own = isinstance(function, FunctionType) and function.__module__ == module.name
            if own and {"Out", "Part", "InOut", "Report"} & {*function.__annotations__.values()}:
                yield function


def written(function):
    """The parameters of a kernel that it writes elements of, or of parts of them."""
    body = ast.parse(module_text(function, FLOAT32)).body[-1]
    part_of = {parameter.arg: parameter.arg for parameter in body.args.args}
    found = set()
    for node in sorted(ast.walk(body), key=lambda node: getattr(node, "lineno", 0)):
        match node:
            case ast.Assign([target], value):
                for pair in zip(getattr(target, "elts", [target]), getattr(value, "elts", [value]), strict=False):
                    match pair:
                        case ast.Name(name), ast.Subscript(ast.Name(whole), ast.Slice()):
                            part_of[name] = part_of.get(whole)
            case ast.Subscript(ast.Name(name), ctx=ast.Store()):
                found.add(part_of.get(name))
            case ast.Call(ast.Name(name), arguments) if name in WRITTEN_BY:
                found.add(part_of.get(getattr(arguments[WRITTEN_BY[name]], "id", "")))
    return found - {None}


@pytest.mark.parametrize("package", [numgrad_kernels.cpu, numgrad_kernels.cuda], ids=["cpu", "cuda"])
def test_kernels_write_the_arrays_that_they_say(package):
    kernels = [*kernels_of(package)]
    assert len(kernels) > 40
    assert [(k.__name__, written(k)) for k in kernels] == [
        (k.__name__, facts_of(k, FLOAT32).written) for k in kernels
    ]


@pytest.mark.parametrize("function", [*kernels_of(numgrad_kernels.cpu)], ids=lambda function: function.__name__)
def test_rounds_of_its_loops_can_be_done_apart(function):
    with_parts(module_text(function, FLOAT32))  # raises where they depend on each other
