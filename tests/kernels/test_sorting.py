"""Sorting short lines, compiled and as plain Python, against NumPy."""

import numpy as np
import pytest

from numgrad_kernels.buffer_types import type_given
from numgrad_kernels.cpu import sorting
from numgrad_kernels.facts import facts_of
from numgrad_kernels.source import module_text
from numgrad_kernels.store import compile_kernel

#: Equal elements, zeros of both signs, infinities and NaN.
LINES = np.array(
    [[1, np.nan, -0.0, 1, 0, np.inf, -np.inf, np.nan], [3, 1, 2, 1, 3, 2, 1, 0], [5, 4, 3, 2, 1, 0, -1, -2]], "float64"
)


def compiled(before, *arguments):
    types = list(map(type_given, arguments))
    float64 = np.dtype("float64")
    text = module_text(sorting.sort_lines, float64, {"before": before})
    compile_kernel("sort_lines", text, types, facts_of(sorting.sort_lines, float64)).entry(*arguments)


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_stay_in_order(count, descending, monkeypatch):
    order = np.argsort(LINES[:, ::-1] if descending else LINES, 1, kind="stable")  # NaN last
    order = (7 - order[:, ::-1] if descending else order)[:, :count]
    before = sorting.descending if descending else sorting.before

    def in_python(_, *arguments):
        monkeypatch.setattr(sorting, "before", before)
        sorting.sort_lines(*arguments)

    for run in (compiled, in_python):
        for inner in (1, 3):
            x = LINES if inner == 1 else LINES.T
            out, places = np.empty(3 * count), np.empty(3 * count, np.int64)
            run(before, np.ascontiguousarray(x).reshape(-1), 8, inner, count, out, places)
            found, values = [row.reshape((3, count) if inner == 1 else (count, 3)) for row in (places, out)]
            expected = order if inner == 1 else order.T
            assert np.array_equal(found, expected)
            assert np.take_along_axis(x, expected, int(inner == 1)).tobytes() == values.tobytes()
