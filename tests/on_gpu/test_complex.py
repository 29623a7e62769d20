"""Operations on complex numbers on a GPU, forward and backward, compared with the CPU."""

import numpy as np
import pytest
from on_gpu.comparison import ON_THE_CPU, check, on_device
from ops.gradients import weights_for
from ops.samples import SAMPLES
from ops.test_complex_gradients import CASES as DIFFERENTIABLE
from ops.test_complex_gradients import LAID_OUT

import numgrad
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.op import ops

#: What the two devices may differ by, for each dtype of the inputs.
TOLERANCE = {"complex64": 1e-5, "complex128": 1e-12}

DTYPES = tuple(TOLERANCE)

CASES, LAID_OUT = ([case for case in cases if case.op.name not in ON_THE_CPU] for cases in (DIFFERENTIABLE, LAID_OUT))

TRIED = {case.op.name for case in CASES}

#: Pointwise entries for complex numbers without derivatives.
PLAIN = [
    next(case for case in sample.cases(shape=(2, 3)) if case.layout == "contiguous")
    for sample in {sample.name: sample for sample in reversed(SAMPLES)}.values()
    if isinstance(ops[sample.name], Pointwise) and "c" in ops[sample.name].dtypes and sample.name not in TRIED
]


def compare(function, *inputs):
    """Compare the outputs of a function, and their gradients, on both devices."""
    moved = [on_device(x) for x in inputs]
    names = {x.dtype.name for x in inputs if isinstance(x, numgrad.Tensor)}
    tolerance = max((TOLERANCE[name] for name in names & {*DTYPES}), default=0)
    pairs = [*zip(function(*moved), function(*inputs), strict=True)]
    outputs = [(found, expected) for found, expected in pairs if expected.requires_grad]
    if outputs:
        found, expected = zip(*outputs, strict=True)
        weights = [weights_for(output, number) for number, output in enumerate(expected)]
        pairs += zip(
            gradients(found, moved, [weight.to("cuda") for weight in weights]), gradients(expected, inputs, weights),
            strict=True,
        )
    for found, expected in pairs:  # at last, so that a GPU that runs nothing gets all kernels to see
        check(found, expected, tolerance, tolerance)


def gradients(outputs, inputs, weights):
    wanted = [x for x in inputs if isinstance(x, numgrad.Tensor) and x.requires_grad]
    return numgrad.autograd.grad(outputs, wanted, weights, materialize_grads=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case, dtype):
    compare(case, *case.leaves(dtype, requires_grad=True))


@pytest.mark.parametrize("case", LAID_OUT, ids=str)
def test_in_other_layouts(case):
    compare(case, *case.leaves("complex128", requires_grad=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", PLAIN, ids=str)
def test_without_derivatives(case, dtype):
    compare(case, *case.leaves(dtype))


@pytest.mark.parametrize("function", [
    lambda z: [z * 1j], lambda z: [z ** (1.5 + 2j)], lambda z: [(2 + 1j) ** z], lambda z: [(1 + 2j) / z],
    lambda z: [z**3], lambda z: [z**0.5], lambda z: [z + z.real], lambda z: [numgrad.polar(z.abs(), z.angle())],
    lambda z: [z.abs().to(z.dtype) * z], lambda z: [numgrad.complex(z.real, z.imag * 2)], lambda z: [z.norm(3, 0)],
    lambda z: [numgrad.view_as_real(z).sum(0)], lambda z: [numgrad.where(z.real > 0, z, 2j)],
    lambda z: [z.to(numgrad.complex64) * z], lambda z: [z.to(numgrad.complex128)], lambda z: [z.real.to(z.dtype)],
])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_parts_and_powers(function, dtype):
    values = np.array([0.5 + 1j, -1.5 - 0.25j, 2 - 3j], dtype)
    compare(function, numgrad.tensor(values, requires_grad=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [numgrad.isnan, numgrad.isinf, numgrad.isfinite, numgrad.isreal])
def test_infinities_and_nan_in_either_part(function, dtype):
    parts = [0, 1, np.inf, -np.inf, np.nan]
    values = np.array([complex(a, b) for a in parts for b in parts], dtype)
    compare(lambda z: [function(z)], numgrad.tensor(values))
