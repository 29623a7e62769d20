"""Reading and writing at indices, joining and rearranging."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timing import Input, Part, derivative, integers

__all__ = ["parts"]


def _index_put(module: Any, x: Any, values: Any, row: Any, column: Any) -> Any:
    return module.index_put(x, (row, column), values, accumulate=True)


def _uses(part: Any) -> Any:
    """The sum of 200 parts of one leaf."""
    return lambda module, x, *index: module.stack([part(x, i, *index) for i in range(200)]).sum(0)


def _row_by_row(module: Any, rows: Any) -> Any:
    """A matrix that is written row by row."""
    out = module.zeros(rows.shape)
    for i in range(rows.shape[0]):
        out[i] = rows[i]
    return out


def parts(rows: int, columns: int) -> Iterator[Part]:
    """The table on about as many elements as the other large ones."""
    x = Input((rows, columns))
    places, chosen = integers((rows, columns), columns), integers((rows,), rows)
    some, across = integers((rows * columns // 4,), rows, 1), integers((rows * columns // 4,), columns, 2)
    vocabulary, words = Input((5000, 64)), integers((rows * columns // 64,), 5000)
    cases = [
        derivative("gather along rows", lambda m, x, i: x.gather(1, i), x, places),
        derivative("gather along columns", lambda m, x, i: x.gather(0, i), x, integers((rows, columns), rows)),
        derivative("index_select of rows", lambda m, x, i: x.index_select(0, i), x, chosen),
        derivative("index_select of columns", lambda m, x, i: x.index_select(1, i), x, integers((columns,), columns)),
        derivative("x[rows]", lambda m, x, i: x[i], x, chosen),
        derivative("x[rows, columns]", lambda m, x, i, j: x[i, j], x, some, across),
        derivative("x[mask]", lambda m, x, k: x[k], x, integers((rows, columns), 2).astype(bool)),
        derivative("embedding", lambda m, w, i: m.nn.functional.embedding(i, w), vocabulary, words),
        derivative("cat of rows", lambda m, x, y: m.cat([x, y], 0), x, x),
        derivative("cat of columns", lambda m, x, y: m.cat([x, y], 1), x, x),
        derivative("stack", lambda m, x, y: m.stack([x, y], -1), x, x),
        derivative("t().contiguous()", lambda m, x: x.t().contiguous(), x),
        derivative(
            "permute(0, 2, 1, 3).contiguous()", lambda m, x: x.permute(0, 2, 1, 3).contiguous(),
            Input((8, rows // 10, columns // 64, 80)),
        ),
        derivative("scatter_add along rows", lambda m, x, s, i: x.scatter_add(1, i, s), x, x, places),
        derivative("index_add of rows", lambda m, x, s, i: x.index_add(0, i, s), x, x, chosen),
        derivative("index_put, adding", _index_put, x, Input((rows * columns // 4,)), some, across),
    ]
    leaf, two = Input((200, 8)), integers((2,), 200)
    cases += [
        derivative("200 times x[i]", _uses(lambda x, i: x[i]), leaf),
        derivative("200 times x[1:4]", _uses(lambda x, i: x[1:4]), leaf),
        derivative("200 times index_select", _uses(lambda x, i, index: x.index_select(0, index)), leaf, two),
        derivative("200 times x[i], of many", _uses(lambda x, i: x[i % len(x)]), x),
        derivative("y[i] = row", _row_by_row, leaf),
    ]
    yield Part("Indexing, joining, rearranging, forward and backward", cases, 0.9)
