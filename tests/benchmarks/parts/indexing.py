"""Reading and writing at indices, joining and rearranging."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timing import Input, Part, derivative, integers

__all__ = ["parts"]


def _index_put(module: Any, x: Any, values: Any, row: Any, column: Any) -> Any:
    return module.index_put(x, (row, column), values, accumulate=True)


def parts(rows: int, columns: int) -> Iterator[Part]:
    """On about as many elements as the other large tables."""
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
    yield Part("Indexing, joining, rearranging, forward and backward", cases, 0.9)
