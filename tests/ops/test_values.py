"""Every operation in every dtype and layout gives NumPy's result."""

import numpy as np
import pytest
from ops.samples import SAMPLES
from ops.sampling import ALL, FLOATS

import numgrad
from numgrad.ops.table.elementwise import Pointwise

CASES = [case for sample in SAMPLES for case in sample.cases()]

#: The first case of each operation.
FIRST = {case.sample.name: case for case in reversed(CASES)}

#: Relative and absolute error: a few units in the last place, more where terms cancel.
TOLERANCE = {
    "float32": (2e-6, 1e-6), "float64": (4e-15, 2e-15), "complex64": (4e-6, 2e-6), "complex128": (1e-14, 4e-15),
}


def defined():
    """Contiguous operands in every dtype that has kernels of its own, the other layouts in one of them, in turn."""
    return [
        pytest.param(case, dtype, id=f"{case}-{dtype}")
        for case in CASES if case.is_in_turn
        for dtype in (own_dtypes(case) if case.layout == "contiguous" else [case.dtype])
    ]


def own_dtypes(case):
    """The dtypes that a case is tested in; if others are converted to floating point first, int64 is one of them.

    The samples of such an operation differ in numbers alone, so the first shows the conversion.
    """
    if isinstance(case.op, Pointwise) and case.op.result == "float":
        return [dtype for dtype in case.sample.dtypes if dtype in FLOATS or (dtype == "int64" and first(case))]
    return case.sample.dtypes


def first(case):
    return FIRST[case.sample.name] is case


def expected_dtype(case, array, dtype):
    """NumPy's dtype; but a result has the precision of the inputs, or of the default dtype if they are integers."""
    if case.sample.dtype is not None:
        return case.sample.dtype
    if array.dtype.kind != "f":
        return "complex64" if (array.dtype.kind, dtype) == ("c", "float32") else array.dtype.name
    return dtype if dtype.startswith("float") else "float32"


def expected_strides(case, array):
    """The strides of an output in elements; None if they are arbitrary, since no element depends on them."""
    if array.size == 0:
        return None
    if case.sample.memory in ("view", "reference"):
        strides = tuple(step // array.itemsize for step in array.strides)
    else:
        kept = case.sample.memory == "kept" and case.layout == "transposed"
        dense = np.empty(array.shape[::-1]).T if kept else np.empty(array.shape)
        strides = tuple(step // dense.itemsize for step in dense.strides)
    return tuple(None if extent == 1 else step for extent, step in zip(array.shape, strides, strict=True))


def strides(tensor):
    return tuple(None if n == 1 else step for n, step in zip(tensor.shape, tensor.stride(), strict=True))


@pytest.mark.parametrize(("case", "dtype"), defined())
def test_values(case, dtype):
    leaves = case.leaves(dtype)
    before = [None if leaf is None else leaf.numpy().copy() for leaf in leaves]
    outputs, expected = case(*leaves), case.expected(*leaves)
    assert len(outputs) == len(expected)
    for output, array in zip(outputs, expected, strict=True):
        assert output.shape == array.shape
        kind = expected_dtype(case, array, dtype)
        assert output.dtype is getattr(numgrad, kind)
        relative, absolute = TOLERANCE.get(kind, (0, 0))
        np.testing.assert_allclose(output.numpy(), array, relative, absolute)
        wanted = expected_strides(case, array)
        assert wanted is None or strides(output) == wanted
        shared = any(np.shares_memory(output.numpy(), leaf.numpy()) for leaf in leaves if leaf is not None)
        assert shared == (case.sample.memory in ("view", "taken") and output.numel() > 0)
    for leaf, array in zip(leaves, before, strict=True):
        assert leaf is None or np.array_equal(leaf.numpy(), array)


def with_numbers():
    """Each operand in float64, as for derivatives; the last one of an operation's first case in other dtypes."""
    return [
        pytest.param(case, dtype, number, id=f"{case}-{dtype}-{number}")
        for case in CASES if case.sample.shapes is None and len(case.shapes) > 1 and case.layout == "contiguous"
        for dtype in own_dtypes(case) if dtype == "float64" or (dtype != "bool" and first(case))
        for number, domain in enumerate(case.sample.domains)
        if domain.dtype is None and (dtype == "float64" or number == len(case.shapes) - 1)
    ]


@pytest.mark.long
@pytest.mark.parametrize(("case", "dtype", "number"), with_numbers())
def test_a_number_counts_as_a_tensor_of_it(case, dtype, number):
    leaves = case.leaves(dtype)
    value = leaves[number][2, 3].item()
    leaves[number] = leaves[number][2, 3]
    (expected,) = case.expected(*leaves)
    leaves[number] = value
    (output,) = case(*leaves)
    kind = expected_dtype(case, expected, dtype)
    assert (output.shape, output.dtype) == (expected.shape, getattr(numgrad, kind))
    np.testing.assert_allclose(output.numpy(), expected, *TOLERANCE.get(kind, (0, 0)))


def refused():
    return [
        pytest.param(case, dtype, id=f"{case}-{dtype}")
        for case in CASES for dtype in case.sample.refused if case.layout == "contiguous"
    ]


@pytest.mark.parametrize(("case", "dtype"), refused())
def test_other_dtypes_are_refused(case, dtype):
    leaves = case.leaves(dtype)
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        case(*leaves)
    message = str(caught.value)
    assert str(list(leaves[0].shape)) in message, "the message names the shapes"
    assert any(name in message.lower() for name in (dtype, *LEGACY[dtype])), "the message names the dtype"


LEGACY = {"float32": ("float",), "float64": ("double", "float"), "int64": ("long", "integer"), "bool": ("bool",)}


def test_all_dtypes_are_tried():
    assert {dtype for sample in SAMPLES for dtype in sample.dtypes} >= set(ALL)
