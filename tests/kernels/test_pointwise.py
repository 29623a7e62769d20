"""Kernels made from scalar functions: their text, their results, and the machine code of every operation."""

import json
import linecache
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import types

import numgrad
import numgrad_kernels
from numgrad_kernels import libm, scalar, store
from numgrad_kernels.pointwise import Operand, PointwiseProgram, argument_types, flat_facts, kernel_text
from numgrad_kernels.scalar import exp, where

F4, F8, I8, B1 = map(np.dtype, ("float32", "float64", "int64", "bool"))


def program(name, function, *inputs, compute=F4, out=F4):
    """A program of one function; an input is an Operand or the name of an array of the computing dtype."""
    operands = [i if isinstance(i, Operand) else Operand(i, compute) for i in inputs]
    return PointwiseProgram(name, compute, tuple(operands), (("out", out),), (function,))


def strided_types(program, rank, layout="A"):
    """Types of the arguments where arrays have so many dimensions, with any strides."""
    arguments = argument_types(program)
    return [
        types.Array(argument.dtype, rank, layout) if isinstance(argument, types.Array) else argument
        for argument in arguments
    ]


def compiled(program, rank=1, *, contiguous=True, parallel=False):
    text = kernel_text(program, rank, parallel)
    rows = argument_types(program) if rank == 1 else strided_types(program, rank, "C")
    arguments = rows if contiguous else strided_types(program, rank)
    return store.compile_kernel(program.name, text, arguments, flat_facts(program), parallel=parallel)


def in_python(program, rank=1):
    """The kernel as plain Python runs it."""
    namespace = {}
    exec(kernel_text(program, rank, False), namespace)
    return namespace["kernel"]


# -- the text ---------------------------------------------------------------------------------------------------------


def rate(input, weight, *, slope):
    scaled = weight * input
    return where(scaled > 0, scaled, slope * exp(scaled))


def rate_of_change(input, other):
    return input * other + 1


def wave(input, other):
    return scalar.sin(input) * other


def test_a_flat_loop():
    assert kernel_text(program("rate", rate, "input", "weight", Operand("slope", constant=0.5)), 1, False) == (
        '''"""rate: one pass over memory, computed in float32."""

from numpy import float32

from numgrad_kernels.scalar import exp


def kernel(input, weight, out):
    for i in range(out.shape[0]):
        input_i = input[i]
        weight_i = weight[i]
        scaled = weight_i * input_i
        out[i] = scaled if scaled > float32(0.0) else float32(0.5) * exp(scaled)
'''
    )


def test_a_nest_of_loops_with_conversions_and_numbers_given_at_run_time():
    weight = Operand("weight", I8)
    slope = Operand("slope", F8, scalar=True)
    assert kernel_text(program("rate", rate, "input", weight, slope), 3, False) == (
        '''"""rate: one pass over memory, computed in float32."""

from numpy import float32

from numgrad_kernels.scalar import exp


def kernel(input, weight, slope, out):
    slope_i = float32(slope)
    for i0 in range(out.shape[0]):
        for i1 in range(out.shape[1]):
            for i in range(out.shape[2]):
                input_i = input[i0, i1, i]
                weight_i = float32(weight[i0, i1, i])
                scaled = weight_i * input_i
                out[i0, i1, i] = scaled if scaled > float32(0.0) else slope_i * exp(scaled)
'''
    )


def test_rows_in_one_piece_and_repeated_elements_are_taken_before_the_innermost_loop():
    mixed = program("rate", rate, "input", Operand("weight", F8), Operand("slope", constant=0.5))
    assert kernel_text(mixed, 2, False, "crc") == (
        '''"""rate: one pass over memory, computed in float32."""

from numpy import float32

from numgrad_kernels.local import element_row
from numgrad_kernels.scalar import exp


def kernel(input, weight, out):
    for i0 in range(out.shape[0]):
        input_r = element_row(input, (i0,))
        weight_i = float32(weight[i0, 0])
        out_r = element_row(out, (i0,))
        for i in range(out.shape[1]):
            input_i = input_r[i]
            scaled = weight_i * input_i
            out_r[i] = scaled if scaled > float32(0.0) else float32(0.5) * exp(scaled)
'''
    )


def test_mathematics_on_any_strides_goes_through_buffers():
    assert kernel_text(program("wave", wave, "input", Operand("other", F8)), 1, False, "aaa") == (
        '''"""wave: one pass over memory, computed in float32."""

from numpy import float32

from numgrad_kernels.local import local_array
from numgrad_kernels.scalar import sin


def kernel(input, other, out):
    input_b = local_array(64, float32)
    other_b = local_array(64, float32)
    out_b = local_array(64, float32)
    n = out.shape[0]
    for start in range(0, n, 64):
        count = min(64, n - start)
        for i in range(count):
            input_b[i] = input[start + i]
        for i in range(count):
            other_b[i] = other[start + i]
        for i in range(count):
            input_i = input_b[i]
            other_i = other_b[i]
            out_b[i] = sin(input_i) * other_i
        for i in range(count):
            out[start + i] = out_b[i]
'''
    )


@pytest.mark.parametrize("function", [rate_of_change, wave])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_rows_are_read_as_any_strides_are(rank, function):
    """All ways to read give the same bits: rows in one piece, any strides, these through buffers; and Python agrees."""
    kernel = program("both", function, "input", "other")
    shape = {1: (130,), 2: (5, 70), 3: (3, 2, 65)}[rank]
    rng = np.random.default_rng(rank)
    wide = rng.random((*shape[:-1], shape[-1] + 7)).astype(F4)[..., 3:-4]
    repeated = np.ndarray(shape, F4, rng.random(1).astype(F4), 0, (0,) * rank)
    results, expected = [], np.empty(shape, F4)
    for inner in ("crc", "", "aaa"):
        results.append(out := np.empty(shape, F4))
        text = kernel_text(kernel, rank, False, inner)
        kernel_of_text = store.compile_kernel(kernel.name, text, strided_types(kernel, rank), flat_facts(kernel))
        kernel_of_text.entry(wide, repeated, out)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    namespace = {}
    exec(kernel_text(kernel, rank, False, "crc"), namespace)
    namespace["kernel"](wide, repeated, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("rank", [1, 2])
def test_one_element_of_an_output_may_be_written_again_and_again(rank):
    def same(number):
        return number

    operands, outputs = (Operand("number", F8, scalar=True),), (("out", np.dtype(F4)),)
    filled = PointwiseProgram("fill", np.dtype(F4), operands, outputs, (same,))
    memory = np.zeros(3, F4)
    out = np.ndarray((3, 4)[-rank:], F4, memory, 0, (4, 0)[-rank:])
    text = kernel_text(filled, rank, False, "r")
    store.compile_kernel("fill", text, strided_types(filled, rank), flat_facts(filled)).entry(2.5, out)
    assert memory.tolist() == ([2.5] * 3 if rank == 2 else [2.5, 0, 0])


def test_a_parallel_kernel_cuts_the_first_dimension_into_fixed_pieces():
    assert kernel_text(program("double", doubled, "input"), 2, True) == (
        '''"""double: one pass over memory, computed in float32."""

from numba import njit, prange
from numgrad_kernels.parallel import call
from numpy import float32


@njit
def loop(input, out):
    for i0 in range(out.shape[0]):
        for i in range(out.shape[1]):
            input_i = input[i0, i]
            out[i0, i] = input_i + input_i


def kernel(input, out):
    rows = out.shape[0]
    step = max(1, 4096 // max(1, out.shape[1]))
    for piece in prange((rows + step - 1) // step):
        low = piece * step
        high = min(rows, low + step)
        call(loop, (input[low:high], out[low:high]))
'''
    )


def doubled(input):
    return input + input


def test_a_condition_is_read_as_it_is():
    def chosen(condition, input):
        return where(condition, scalar.log1p(input), 0)

    condition = Operand("condition", B1, cast=False)
    assert kernel_text(program("chosen", chosen, condition, "input"), 1, False) == (
        '''"""chosen: one pass over memory, computed in float32."""

from numpy import bool_, float32

from numgrad_kernels.scalar import log1p


def kernel(condition, input, out):
    for i in range(out.shape[0]):
        condition_i = condition[i]
        input_i = input[i]
        out[i] = log1p(input_i) if condition_i else float32(0.0)
'''
    )


def test_several_outputs_share_what_they_read():
    def of_input(grad, other):
        return grad * other

    def of_other(grad, input):
        return grad * input

    fused = PointwiseProgram(
        "mul_backward", F8, (Operand("grad", F8), Operand("input", F8), Operand("other", F8)),
        (("grad_input", F8), ("grad_other", F4)), (of_input, of_other),
    )  # fmt: skip
    assert kernel_text(fused, 1, False) == (
        '''"""mul_backward: one pass over memory, computed in float64."""

from numpy import float32, float64


def kernel(grad, input, other, grad_input, grad_other):
    for i in range(grad_input.shape[0]):
        grad_i = grad[i]
        input_i = input[i]
        other_i = other[i]
        grad_input[i] = grad_i * other_i
        grad_other[i] = grad_i * input_i
'''
    )


def test_debuggers_and_tracebacks_find_the_text(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_kernels", {})
    kernel = compiled(program("legible", doubled, "input"))
    (file,) = tmp_path.glob("legible_*.py")
    assert linecache.getlines(str(file)) == kernel.text.splitlines(keepends=True)


# -- results ----------------------------------------------------------------------------------------------------------


def softened(input, low, high):
    middle = (low + high) / 2
    return where(input > 0, scalar.tanh(input - middle) * (high - low), scalar.log1p(exp(input)))


def arrays(rank, strided, count, dtype):
    shape = {1: (130,), 2: (5, 26), 3: (5, 2, 13)}[rank]
    rng = np.random.default_rng(rank)
    result = [rng.normal(size=(*shape[:-1], 2 * shape[-1])).astype(dtype) for _ in range(count)]
    return [array[..., ::2] if strided else np.ascontiguousarray(array[..., ::2]) for array in result]


@pytest.mark.parametrize("dtype", [F4, F8])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_compiled_kernels_and_the_same_text_in_python_agree(rank, dtype):
    kernels = program("softened", softened, "input", "low", "high", compute=dtype, out=dtype)
    inputs = arrays(rank, True, 3, dtype)
    out, expected = np.empty_like(inputs[0]), np.empty_like(inputs[0])
    compiled(kernels, rank, contiguous=False).entry(*inputs, out)
    in_python(kernels, rank)(*inputs, expected)
    exact = np.where(
        inputs[0] > 0,
        np.tanh(inputs[0] - (inputs[1] + inputs[2]) / 2) * (inputs[2] - inputs[1]),
        np.log1p(np.exp(inputs[0])),
    )
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(out, exact, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(expected, exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [F4, F8, np.dtype("complex64"), I8])
@pytest.mark.parametrize("place", [0, 1])
def test_a_buffer_may_be_read_and_written(place, dtype, tmp_path, monkeypatch):
    """An in-place operation runs on vectors, too, without checks before the loop."""
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_kernels", {})  # only who compiles a kernel has its code
    kernel = compiled(program("rate_of_change", rate_of_change, "input", "other", compute=dtype, out=dtype))
    inputs = [(100 * array).astype(dtype) for array in arrays(1, False, 2, F8)]
    expected = np.empty_like(inputs[0])
    kernel.entry(*inputs, expected)
    kernel.entry(*inputs, inputs[place])
    np.testing.assert_array_equal(inputs[place], expected)
    assert "vector.body" in kernel.llvm()
    assert "memcheck" not in kernel.llvm()


def any_name(i, n, start, low, high, exp, out, x, x_i):
    count = i - n
    kernel = count * low
    range = start / high
    rows = scalar.exp(kernel - range)
    return rows + high * exp - out / x + x_i


@pytest.mark.parametrize(("rank", "parallel"), [(1, False), (2, True)])
def test_operands_and_variables_may_have_any_name(rank, parallel):
    names = any_name.__code__.co_varnames[: any_name.__code__.co_argcount]
    mixed = [Operand(name, F8, scalar=name == "low") for name in names]
    kernels = program("any_name", any_name, *mixed, compute=F8, out=F8)
    inputs = arrays(rank, False, len(names), F8)
    inputs = [0.75 if operand.scalar else np.abs(array) + 1 for operand, array in zip(mixed, inputs, strict=True)]
    out = np.empty_like(inputs[0])
    compiled(kernels, rank, parallel=parallel).entry(*inputs, out)
    v = dict(zip(names, inputs, strict=True))
    expected = np.exp((v["i"] - v["n"]) * v["low"] - v["start"] / v["high"])
    expected += v["high"] * v["exp"] - v["out"] / v["x"] + v["x_i"]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_an_input_may_be_called_as_an_output_is():
    def fused(grad_x, x):
        return grad_x * x

    inputs = Operand("grad_x", F8), Operand("x", F8)
    kernels = PointwiseProgram("fused", F8, inputs, (("grad_x", F8),), (fused,))
    first, second = arrays(1, False, 2, F8)
    out = np.empty_like(first)
    compiled(kernels).entry(first, second, out)
    assert np.array_equal(out, first * second)


# -- the machine code of the table ------------------------------------------------------------------------------------

EVERY_OPERATION = r"""
import json, re, sys
import numgrad
from numgrad.ops import ops
from numgrad.ops.table.elementwise import Pointwise
from numgrad_kernels import scalar, store

def matrix(strided):
    return numgrad.ones(4, 8)[:, ::2] if strided else numgrad.ones(4, 4)

def operand(op, name, strided):
    x = matrix(strided)
    return x > 0 if name in op.conditions else x.requires_grad_(name not in op.nondifferentiable)

def run(op, operands, attributes, strided=False):
    result = op.run(operands, attributes)
    if result.requires_grad and not op.underived:
        result.backward(matrix(strided))

def form(op):
    # What the loops over strided arrays depend on: how many there are, of which dtypes, what is computed on them.
    return len(op.inputs), len(op.conditions), op.result, bool(set(op.function.__code__.co_names) & set(vars(scalar)))

half = int(sys.argv[1])
table = [op for op in ops.values() if isinstance(op, Pointwise) and "f" in op.dtypes]
strided_ones = [*{form(op): op for op in table}.values(), ops["mul"], ops["exp"], ops["pow_tensor"], ops["choose"]]
for op in table[half::2]:
    contiguous, strided = ([operand(op, name, layout) for name in op.inputs] for layout in (False, True))
    run(op, contiguous, op.attributes)
    if op in strided_ones:
        run(op, strided, op.attributes, True)
        if len(op.inputs) > 1:
            run(op, [contiguous[0], *[2.0] * (len(op.inputs) - 1)], op.attributes)
    for name, values in op.baked.items():
        for value in (min(values), max(values), 1.7):
            run(op, contiguous, {**op.attributes, name: value})

print(json.dumps({
    "operations": [op.name for op in table[half::2]],
    "strided": [op.name for op in table[half::2] if op in strided_ones],
    "kernels": [
        [
            kernel.name,
            ", ".join(map(str, kernel.arguments)),
            bool(re.search(sys.argv[2], kernel.llvm())),
            # a rule that is 0 becomes a call that fills memory with zeros
            16 if "@llvm.memset" in kernel.llvm() else
            max(map(int, re.findall(r"<(\d+) x float>", kernel.llvm())), default=1),
        ]
        for kernel in store.compiled_kernels()
    ],
}))
"""

#: The conversion of a float32, or of several at once, to something wider.
WIDENED = r"fpext (<\d+ x )?float"

#: Functions computed in a number of rounds that depends on the element.
ROUNDS = (
    "beta_slope", "gamma_slope", "hermite_polynomial_h", "hermite_polynomial_he", "igamma_op", "igamma_op_backward",
    "igammac_op", "igammac_op_backward", "laguerre_polynomial_l", "legendre_polynomial_p", "zeta",
    *[f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"],
)  # fmt: skip

NOT_VECTORISED = {
    ("logit_loss_gradient_backward", "A"),  # too many arrays: each pair would have to be checked for overlap
    ("signbit", "A"), ("signbit", "C"),  # vectors of integers: the test of one bit
    # a branch, seldom taken, calls the C library's fmod
    *[(name, layout) for name in ("floor_quotient", "fmod", "remainder_op") for layout in "AC"],
    ("remainder_op_backward", "A"), ("remainder_op_backward", "C"),
    ("choose", "A"),  # reads bytes and numbers at different steps
    *[(name, "C") for name in ROUNDS],
}


@pytest.fixture(scope="module")
def table():
    """The float32 kernels of the table's pointwise operations, made by two processes."""
    roots = [str(Path(package.__file__).parents[1]) for package in (numgrad_kernels, numgrad)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(roots)}
    processes = []
    for half in "01":
        command = [sys.executable, "-c", EVERY_OPERATION, half, WIDENED]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen(command, env=environment, **pipes))
    result = {"operations": [], "strided": [], "kernels": []}
    for process in processes:
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        for key, values in json.loads(output).items():
            result[key] += values
    return result


def _layout(arguments):
    """ "A" of a kernel over a nest of loops, which takes sizes and steps in an array at the end; else "C"."""
    return "A" if arguments.endswith(", int64, array(int64, 1d, C)") else "C"


@pytest.mark.long
def test_every_operation_was_compiled_forward_and_backward(table):
    found = {(name, _layout(arguments)) for name, arguments, *_ in table["kernels"]}
    assert {(name, "C") for name in table["operations"]} <= found
    assert {(name, "A") for name in table["strided"]} <= found
    assert len(table["strided"]) > 10
    backward = {"mul", "div", "exp", "tanh", "pow_tensor", "pow_number", "maximum_op", "choose", "log_one_plus_exp"}
    assert {(f"{name}_backward", "C") for name in backward} <= found
    assert {(f"{name}_backward", "A") for name in ("mul", "exp", "pow_tensor", "choose")} <= found
    assert any("C), float64, array" in arguments for _, arguments, *_ in table["kernels"])  # numbers are passed, too


@pytest.mark.long
def test_float32_stays_float32(table):
    assert [(name, arguments) for name, arguments, widened, _ in table["kernels"] if widened] == []


def test_a_widened_float32_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    text = "def kernel(x, out):\n    for i in range(out.shape[0]):\n        out[i] = x[i] * 0.1\n"
    widened = program("widened", doubled, "input")
    kernel = store.compile_kernel("widened", text, argument_types(widened), flat_facts(widened))
    assert re.search(WIDENED, kernel.llvm())


@pytest.mark.long
def test_every_kernel_is_vectorised(table):
    operations = set(table["operations"])
    if not libm.libmvec_found():  # then the C library computes one number at a time: only our own functions remain
        operations &= {"add", "mul", "div", "exp", "log", "tanh", "sigmoid", "maximum_op", "choose"}
    scalar_loops = [
        (name, arguments)
        for name, arguments, _, lanes in table["kernels"]
        if lanes < 4
        and name.removesuffix("_backward") in operations
        and (name, _layout(arguments)) not in NOT_VECTORISED
    ]
    assert not scalar_loops, "\n".join(map(str, scalar_loops))
