"""Operations in one of the narrow integer dtypes, and those that are defined for complex numbers in such."""

import numpy as np
import pytest
from ops.samples import SAMPLES

from numgrad.ops.table.elementwise import Pointwise

#: One unsigned and one signed dtype; conversions are tested for all.
NARROW = ("uint8", "int16")

#: Operations whose arguments in their first sample are negative numbers.
SIGNED = {"hardtanh_op"}


def first_cases(dtype):
    """The contiguous case of each operation's first sample that is tried in ``dtype``."""
    found = {}
    for sample in SAMPLES:
        if dtype in sample.dtypes and sample.name not in found:
            cases = [case for case in sample.cases(shape=(2, 3)) if case.layout == "contiguous"]
            if cases:
                found[sample.name] = cases[0]
    return list(found.values())


def narrow():
    """Each operation that gives integers in one of the dtypes, which alternate; for comparisons, two."""
    cases = [
        case for case in first_cases("int64")
        if not isinstance(case.op, Pointwise) or case.op.result == "same" or case.op.name in ("eq", "lt")
    ]
    result = []
    for number, case in enumerate(cases):
        dtype = "int16" if case.sample.name in SIGNED else NARROW[number % 2]
        result.append(pytest.param(case, dtype, id=f"{case}-{dtype}"))
    return result


@pytest.mark.long
@pytest.mark.parametrize(("case", "dtype"), narrow())
def test_narrow_integers_give_what_int64_gives_wrapped_around(case, dtype):
    leaves = case.leaves(dtype)
    outputs = case(*leaves)
    wide = [None if leaf is None else leaf.long() if leaf.dtype.kind == "i" else leaf for leaf in leaves]
    for output, expected in zip(outputs, case.expected(*wide), strict=True):
        assert output.shape == expected.shape
        if output.dtype.kind == "i":
            assert output.numpy().dtype.name in (dtype, "int64")
            np.testing.assert_array_equal(output.numpy(), expected.astype(output.numpy().dtype))
        else:
            with np.errstate(over="ignore"):
                expected = expected.astype(output.numpy().dtype)
            np.testing.assert_allclose(output.numpy(), expected, 2e-6, 1e-6)


COMPLEX = [case for case in first_cases("float32") if isinstance(case.op, Pointwise) and "c" in case.op.dtypes]


#: Tried in complex64, too: arithmetic, NumPy's functions, powers, a real result.
IN_SINGLE_PRECISION = {"mul", "div", "exp", "pow_tensor", "abs"}


@pytest.mark.parametrize(("case", "dtype"), [
    pytest.param(case, dtype, id=f"{case}-{dtype}") for case in COMPLEX for dtype in ("complex64", "complex128")
    if dtype == "complex128" or case.sample.name in IN_SINGLE_PRECISION
])
def test_complex_numbers(case, dtype):
    leaves = case.leaves(dtype)
    (output,), (expected,) = case(*leaves), case.expected(*leaves)
    real = {"complex64": "float32", "complex128": "float64"}[dtype]
    assert output.dtype.name == {"c": dtype, "f": real, "b": "bool"}[expected.dtype.kind]
    np.testing.assert_allclose(output.numpy(), expected, *((3e-6, 1e-6) if real == "float32" else (1e-14, 1e-14)))


def test_the_arithmetic_is_among_them():
    names = {case.sample.name for case in COMPLEX}
    assert {"add", "sub", "mul", "div", "neg", "abs", "eq", "conj_physical"} | IN_SINGLE_PRECISION <= names
