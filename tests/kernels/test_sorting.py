"""Sorting lines, whole or their first elements, compiled and as plain Python, against NumPy."""


import numpy as np
import pytest

from numgrad_kernels.buffer_types import type_given
from numgrad_kernels.cpu import sorting
from numgrad_kernels.facts import facts_of
from numgrad_kernels.source import module_text
from numgrad_kernels.store import compile_kernel

_SPECIAL = [1, np.nan, -0.0, 1, 0, np.inf, -np.inf, np.nan, 3, 1, 2, 1, 3, 2, 1, 0]

#: Equal elements, zeros of both signs, infinities and NaN; ascending and descending lines.
LINES = np.array([_SPECIAL, range(16), range(16, 0, -1), [5, 4, 5, 4] * 4], "float64")


def compiled(kernel, before, *arguments):
    types = list(map(type_given, arguments))
    float64 = np.dtype("float64")
    text = module_text(kernel, float64, {"before": before})
    compile_kernel(kernel.__name__, text, types, facts_of(kernel, float64)).entry(*arguments)


@pytest.mark.parametrize("count", [1, 3, 6, 15, 16])
@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_stay_in_order(count, descending, monkeypatch):
    order = np.argsort(LINES[:, ::-1] if descending else LINES, 1, kind="stable")  # NaN last
    order = (15 - order[:, ::-1] if descending else order)[:, :count]
    before = sorting.descending if descending else sorting.before
    kernel, counts = (sorting.sort_lines, ()) if count == 16 else (sorting.pick_first, (count,))

    def in_python(kernel, _, *arguments):
        monkeypatch.setattr(sorting, "before", before)
        kernel(*arguments)

    for run in (compiled, in_python):
        for inner in (1, 4):
            x = LINES if inner == 1 else LINES.T
            out, places = np.empty(4 * count), np.empty(4 * count, np.int64)
            run(kernel, before, np.ascontiguousarray(x).reshape(-1), 16, inner, *counts, out, places)
            found, values = [row.reshape((4, count) if inner == 1 else (count, 4)) for row in (places, out)]
            expected = order if inner == 1 else order.T
            assert np.array_equal(found, expected)
            assert np.take_along_axis(x, expected, int(inner == 1)).tobytes() == values.tobytes()
