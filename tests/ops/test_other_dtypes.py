"""Every operation in one of the narrow integer dtypes, and those that are defined for complex numbers in such."""

import numpy as np
import pytest
from ops.samples import SAMPLES

from numgrad.ops.elementwise import Pointwise

NARROW = ("uint8", "int8", "int16", "int32")

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
    """Each operation in one of the dtypes, which take turns."""
    made = []
    for number, case in enumerate(first_cases("int64")):
        dtype = "int8" if case.sample.name in SIGNED else NARROW[number % 4]
        made.append(pytest.param(case, dtype, id=f"{case}-{dtype}"))
    return made


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


@pytest.mark.parametrize("case", COMPLEX, ids=str)
def test_complex_numbers(case):
    leaves = case.leaves("complex64")
    (output,), (expected,) = case(*leaves), case.expected(*leaves)
    assert output.dtype.name == {"c": "complex64", "f": "float32", "b": "bool"}[expected.dtype.kind]
    np.testing.assert_allclose(output.numpy(), expected, 3e-6, 1e-6)


def test_the_arithmetic_is_among_them():
    assert {"add", "sub", "mul", "div", "neg", "abs", "eq", "conj_physical"} <= {case.sample.name for case in COMPLEX}
