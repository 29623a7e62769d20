"""Benchmarks of layers other than products: softmax, normalization, losses, attention."""

from __future__ import annotations

from collections.abc import Iterator

from timing import Input, Part, derivative, integers

__all__ = ["attention", "parts"]


def parts(rows: int, columns: int) -> Iterator[Part]:
    """The table over long and short rows, and once over columns."""
    x, narrow, wide = Input((rows, columns)), Input((rows * 20, columns // 20)), Input((32, columns))
    scale, labels = Input((columns,)), integers((rows,), columns)
    cases = [
        derivative("softmax over rows", lambda m, x: x.softmax(-1), x),
        derivative("softmax over short rows", lambda m, x: x.softmax(-1), narrow),
        derivative("softmax over columns", lambda m, x: x.softmax(0), x),
        derivative("log_softmax over rows", lambda m, x: x.log_softmax(-1), x),
        derivative("log_softmax over short rows", lambda m, x: x.log_softmax(-1), narrow),
        derivative(
            "layer_norm", lambda m, x, w, b: m.nn.functional.layer_norm(x, (columns,), w, b), x, scale, scale
        ),
        derivative(
            "layer_norm of short rows",
            lambda m, x, w, b: m.nn.functional.layer_norm(x, (columns // 20,), w, b),
            narrow, Input((columns // 20,)), Input((columns // 20,)),
        ),
        derivative(
            "layer_norm of few rows", lambda m, x, w, b: m.nn.functional.layer_norm(x, (columns,), w, b),
            wide, scale, scale,
        ),
        derivative("cross_entropy", lambda m, x, y: m.nn.functional.cross_entropy(x, y), x, labels),
        derivative(
            "cross_entropy of short rows", lambda m, x, y: m.nn.functional.cross_entropy(x, y),
            narrow, integers((rows * 20,), columns // 20),
        ),
    ]
    yield Part("Softmax, normalization and losses, forward and backward", cases, 0.9)


def attention(rows: int, columns: int) -> Iterator[Part]:
    """Causal attention of 8 x 8 heads on 64 places of width 32, and of other sizes."""
    cases = [
        derivative(
            f"scaled_dot_product_attention, {' x '.join(map(str, shape))}",
            lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
            *[Input(shape)] * 3,
        )
        for shape in ((8, 8, 64, 32), (4, 8, 512, 64), (2, 3, 101, 24))
    ]
    yield Part("Causal attention, forward and backward", cases, 1.0)
