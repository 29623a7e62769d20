"""Matrix products under ``vmap``: products of stacks, or larger ones where a factor is the same for all examples."""

from __future__ import annotations

from ..batches import expanded, is_shared, physical, size_of
from ..matrices import addmm as products
from ..matrices.matmul import bmm, bmm_op, dot_op, mm, mm_op, mv, mv_op, times, vdot_op
from ..pointwise.arithmetic import add, conj, mul
from ..reductions.sums import sum_dims
from ..shapes.views import reshape, squeeze_dim, t_op, unsqueeze_op

__all__: list[str] = []


@mm_op.batched
def _(input, mat2):
    left, right = physical(input), physical(mat2)
    if is_shared(mat2):
        (rows, inner), width = input._layout.shape, mat2._layout.shape[1]
        return reshape(mm(reshape(left, (size_of(input) * rows, inner)), right), (size_of(input), rows, width))
    return bmm(expanded(input), right)


@mv_op.batched
def _(input, vec):
    if is_shared(input):
        return mm(physical(vec), t_op(physical(input)))
    if is_shared(vec):
        size, (rows, inner) = size_of(input), input._layout.shape
        return reshape(mv(reshape(physical(input), (size * rows, inner)), physical(vec)), (size, rows))
    return squeeze_dim(bmm(physical(input), unsqueeze_op(physical(vec), 2)), 2)


@dot_op.batched
def _(input, tensor):
    if is_shared(tensor):
        return mv(physical(input), physical(tensor))
    if is_shared(input):
        return mv(physical(tensor), physical(input))
    return sum_dims(mul(physical(input), physical(tensor)), (1,), False)


@vdot_op.batched
def _(input, other):
    return sum_dims(mul(conj(expanded(input)), expanded(other)), (1,), False)


def _added(input, product, beta, alpha):
    """``beta * input + alpha * product``."""
    product = times(product, alpha)
    return add(times(input, beta), product) if beta != 0 else product


@products.addmm_op.decomposed
def _(input, mat1, mat2, beta, alpha):
    return _added(input, mm_op(mat1, mat2), beta, alpha)


@products.addmv_op.decomposed
def _(input, mat, vec, beta, alpha):
    return _added(input, mv_op(mat, vec), beta, alpha)


@products.addr_op.decomposed
def _(input, vec1, vec2, beta, alpha):
    return _added(input, mul(unsqueeze_op(vec1, 1), vec2), beta, alpha)


@products.baddbmm_op.decomposed
def _(input, batch1, batch2, beta, alpha):
    return _added(input, bmm_op(batch1, batch2), beta, alpha)


@products.addbmm_op.decomposed
def _(input, batch1, batch2, beta, alpha):
    return _added(input, sum_dims(bmm_op(batch1, batch2), (0,), False), beta, alpha)
