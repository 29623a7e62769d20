"""Products of matrices, in pieces that each are one call of BLAS."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Blas, Out, reaches
from ..foreign import dot, gemm, gemv

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def _largest(args):
    count, m, n, k, *_ = args.plan.tolist()
    return count * max(m * n, m * k, k * n)


@reaches(_largest)
def products(address: Blas, plan, x, x_start, y, y_start, bias, out: Out):
    """``out`` becomes the products of a stack of (m, k) and (k, n) matrices, with ``bias`` added to each row if any.

    ``address`` is that of BLAS's gemm.  ``plan`` contains the number of matrices, m, n and k; for either factor the
    step from one row to the next, that from one matrix to the next and whether it is stored transposed; and the rows
    and columns of a piece.  The division of a product into pieces does not depend on the number of threads, so neither
    does its rounding.
    """
    count, m, n, k = plan[0], plan[1], plan[2], plan[3]
    down = (m + plan[10] - 1) // plan[10]
    across = (n + plan[11] - 1) // plan[11]
    for piece in prange(count * down * across):
        matrix = piece // (down * across)
        i = piece // across % down * plan[10]
        j = piece % across * plan[11]
        height = min(plan[10], m - i)
        width = min(plan[11], n - j)
        first = (matrix * m + i) * n + j
        if bias.size:
            for row in range(height):
                line = first + row * n
                for column in range(width):
                    out[line + column] = bias[j + column]
        gemm(
            address, height, width, k,
            x, x_start + matrix * plan[5] + i * (1 if plan[6] else plan[4]), plan[4], plan[6],
            y, y_start + matrix * plan[8] + j * (plan[7] if plan[9] else 1), plan[7], plan[9],
            1 if bias.size else 0, out, first, n,
        )  # fmt: skip


def vector_products(address: Blas, plan, x, y, out: Out):
    """``out`` becomes the product of an (m, k) matrix and a vector, by BLAS's gemv.

    ``plan`` contains m, k, the step from one row to the next, whether the matrix is stored transposed, and the vector's
    step.
    """
    gemv(address, plan[0], plan[1], x, 0, plan[2], plan[3], y, 0, plan[4], out)


def dots(address: Blas, plan, x, y, out: Out):
    """``out`` becomes the dot product of two vectors, by BLAS's dot; ``plan`` contains their length and steps."""
    out[0] = dot(address, plan[0], x, 0, plan[1], y, 0, plan[2])
