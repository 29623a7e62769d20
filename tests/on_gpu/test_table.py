"""Every operation of the table on a GPU, forward and backward, held against the CPU, in every layout of tensors."""

import numpy as np
import pytest
from on_gpu.comparison import ON_THE_CPU, check, on_device
from ops.samples import SAMPLES

import numgrad
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.op import ops

#: Operations of which samples besides the first are tested.
ROWS = ("contiguous", "0-d")

#: What the two devices may differ by: their mathematics is not the same to the last bit.
TOLERANCE = {"float32": (2e-5, 2e-6), "float64": (1e-9, 1e-11)}


def cases():
    """Return each sample in float32, and the first one of an operation in all dtypes, and in all layouts in float64.

    The CPU's tests use the same, so that it compiles few kernels for the comparison.
    """
    seen, result = set(), []
    for sample in SAMPLES:
        if sample.name in ON_THE_CPU:
            continue
        first = sample.name not in seen
        seen.add(sample.name)
        for case in sample.cases(shape=(3, 5)):
            if not case.is_in_turn or not (first or case.layout in ROWS):
                continue
            kind = "float32" if case.layout == "contiguous" else "float64"
            dtypes = [kind] if kind in sample.dtypes else sample.dtypes[:1]
            if first and case.layout == "contiguous":
                dtypes = sample.dtypes
            result += [pytest.param(case, kind, id=f"{case}-{kind}") for kind in dtypes]
    return result


def pointwise_cases():
    """The first sample of each pointwise operation, over rows."""
    first = {sample.name: sample for sample in reversed(SAMPLES)}
    return [
        case for sample in first.values() for case in sample.cases(shape=(3, 5))
        if isinstance(case.op, Pointwise) and case.layout == "contiguous"
    ]


def compare(case, dtype):
    """Run a case on both devices, forward and backward."""
    leaves = case.leaves(dtype, requires_grad=dtype.startswith("float"))
    moved = [on_device(leaf) for leaf in leaves]
    expected, found = case(*leaves), case(*moved)
    pairs = list(zip(found, expected, strict=True))
    outputs = [output for output in expected if output.requires_grad]
    if outputs:
        weights = [numgrad.from_numpy(np.random.default_rng(n).uniform(0.5, 1.5, output.shape)).to(output.dtype)
                   for n, output in enumerate(outputs)]
        gradients = numgrad.autograd.grad(outputs, wanted(leaves), weights, allow_unused=True)
        others = numgrad.autograd.grad(
            [output for output in found if output.requires_grad], wanted(moved),
            [weight.to("cuda") for weight in weights], allow_unused=True,
        )
        pairs += zip(others, gradients, strict=True)
    for other, own in pairs:  # last: both kernels are compiled although neither is run
        assert (own is None) == (other is None)
        if own is not None:
            check(other, own, *TOLERANCE.get(dtype, TOLERANCE["float32"]))


def wanted(leaves):
    return [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]


@pytest.mark.parametrize(("case", "dtype"), cases())
def test_a_gpu_does_what_the_cpu_does(case, dtype):
    compare(case, dtype)


@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in pointwise_cases()])
def test_long_rows_are_read_four_elements_at_a_time(case, cuda, monkeypatch):
    monkeypatch.setattr(cuda.pointwise, "QUADS_FROM", 1)
    compare(case, case.sample.dtypes[0])


def test_every_operation_is_tried():
    """Operations that move tensors between devices or pin memory have tests of their own."""
    assert {sample.name for sample in SAMPLES} == set(ops) - {"move_op", "pin_op"}
