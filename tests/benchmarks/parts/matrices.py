"""Matrix products, whose time is that of BLAS."""

from __future__ import annotations

from collections.abc import Iterator

from timing import Input, Part, derivative

__all__ = ["large", "parts"]


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Square matrices, stacks of them, and layers, from 32 to 1,024."""
    cases = []
    for n in (32, 64, 128, 256, 512, 1024):
        cases.append(derivative(f"mm of {n} x {n}", lambda m, x, y: x @ y, Input((n, n)), Input((n, n))))
    for n in (32, 64, 128, 256):
        stack = Input((8, n, n))
        cases.append(derivative(f"bmm of 8 x {n} x {n}", lambda m, x, y: m.bmm(x, y), stack, stack))
    for n in (32, 128, 512, 1024):
        inputs = Input((n, n)), Input((n, n)), Input((n,))
        cases.append(derivative(f"linear, {n} x {n}", lambda m, x, w, b: m.nn.functional.linear(x, w, b), *inputs))
    cases.append(
        derivative("mm of 97 x 331 by 331 x 53", lambda m, x, y: x @ y, Input((97, 331)), Input((331, 53)))
    )
    yield Part("Matrix products, forward and backward", cases, 1.3)


def large() -> Iterator[Part]:
    """Products that keep a GPU busy: float32, of sizes that are powers of two and others."""
    cases = []
    for n in (256, 512, 1000, 1024, 2048, 4096, 8192):
        cases.append(derivative(f"mm of {n} x {n}", lambda m, x, y: x @ y, Input((n, n)), Input((n, n))))
    for count, n in ((512, 64), (64, 256), (32, 1024)):
        stack = Input((count, n, n))
        cases.append(derivative(f"bmm of {count} x {n} x {n}", lambda m, x, y: m.bmm(x, y), stack, stack))
    for batch, n in ((8192, 512), (4096, 4096)):
        inputs = Input((batch, n)), Input((n, n)), Input((n,))
        cases.append(
            derivative(f"linear, {batch} x {n}", lambda m, x, w, b: m.nn.functional.linear(x, w, b), *inputs)
        )
    cases.append(derivative("mm of x.t() and x, 65536 x 128", lambda m, x: x.t() @ x, Input((65536, 128))))
    yield Part("Matrix products in float32, forward and backward", cases)
