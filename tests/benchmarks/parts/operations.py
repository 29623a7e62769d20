"""The small operations that are timed, as code: ``m`` is the library, ``F`` its ``nn.functional``, the other names are
those of ``overhead.OPERANDS``.

They are grouped by the operand whose gradient is computed; those under None have none.
"""

__all__ = ["LISTED", "OTHERS"]

#: Small operations of every kind, on which a call is measured.
LISTED: dict[str | None, list[str]] = {
    "x": [
        # pointwise: of one shape, with a row, a column, a number, transposed operands, in place
        "x + y", "x * y", "x / y", "x + row", "x * side", "x * 2.5", "1 - x", "x.t() + y", "x * y.t()", "x ** 2",
        "x.exp()", "x.tanh()", "m.maximum(x, y)", "m.where(mask, x, y)", "x.clamp(0.2, 0.8)", "F.relu(x)", "F.gelu(x)",
        "x.masked_fill(mask, 0.5)", "x.clone().add_(y)", "x.clone().mul_(row)",
        # reductions
        "x.sum()", "x.sum(0)", "x.sum(1, keepdim=True)", "x.mean()", "x.mean(-1)", "x.var()", "x.var(0)", "x.std(1)",
        "x.max()", "x.max(1)", "x.min(0)", "x.amax(1, keepdim=True)", "x.norm()", "m.linalg.vector_norm(x, 2, 1)",
        "x.prod()", "x.prod(1)", "x.logsumexp(1)",
        # views
        "x.view(64)", "x.reshape(4, 16)", "x.transpose(0, 1)", "x.permute(1, 0)", "x.t()", "x.unsqueeze(1)",
        "x.select(1, 3)", "x[1:5]", "x[:, ::2]", "x.narrow(0, 2, 3)", "x.chunk(2)", "x.split(3)", "x.unbind()",
        "x.flatten()", "x.diagonal()",
        # indexing
        "x[2]", "x[:, 0]", "x[2, 3]", "x[i]", "x[mask]", "x[i, i]", "x.index_select(0, i)", "x.gather(1, k)",
        "x.take_along_dim(k, 1)", "x.scatter(1, k, y)", "c = x.clone(); c[2:4] = row; c",
        "c = x.clone(); c[i] = part; c",
        # joining and rearranging
        "m.cat([x, y])", "m.cat([x, y], 1)", "m.stack([x, y])", "x.tril()", "x.triu(1)", "x.flip(0)", "x.roll(1, 0)",
        # products
        "x @ y", "m.mm(x, y.t())", "x @ u", "m.addmm(row, x, y)", "F.linear(x, w, b)", "F.linear(x, w)",
        "m.einsum('ij,jk->ik', x, y)", "m.einsum('ij,ij->i', x, y)",
        # networks
        "x.softmax(-1)", "x.log_softmax(-1)", "F.cross_entropy(x, labels)", "F.mse_loss(x, y)",
        "F.layer_norm(x, (8,), row, row)", "F.embedding(words, x)",
        # sorting and scans
        "x.sort(1)", "x.topk(3, 1)", "x.cumsum(0)",
        # copies
        "x.clone()", "x.t().contiguous()", "x.to(m.float64)",
    ],
    "v": ["v.dot(u)", "v.expand(8, 8)", "y @ v"],
    "column": ["column.squeeze(1)", "column.expand(8, 8)"],
    "cube": ["m.bmm(cube, block)", "cube.permute(2, 0, 1)", "cube.sum((0, 2))"],
    None: [
        "x == y", "x < 0.5", "x > row", "x.argmax()", "x.argmax(1)", "mask.any()", "mask.any(1)", "mask.all(0)",
        "m.zeros_like(x)", "m.ones(8, 8)", "m.full((8, 8), 2.5)", "m.arange(8)", "x.contiguous()", "x.detach()",
        "F.dropout(x, training=False)", "m.add(x, y, out=z)", "m.mul(x, row, out=z)", "z.add_(y)", "z.copy_(x)",
        "z.zero_()", "z.masked_fill_(mask, 0.5)", "z[2:4] = row; z",
    ],
}  # fmt: skip

#: Others, of which some are drawn: almost all that the op table has for real numbers besides.
OTHERS: dict[str | None, list[str]] = {
    "x": [
        "x - y", "m.rsub(x, y)", "x.reciprocal()", "-x", "x.abs()", "x.sign()", "x.sgn()", "x.log()", "x.sigmoid()",
        "x.sqrt()", "x.rsqrt()", "x ** y", "x ** 1.7", "m.minimum(x, y)", "m.fmax(x, y)", "m.fmin(x, y)",
        "x.clamp_min(0.3)", "x.clamp_max(0.7)", "x.exp2()", "x.expm1()", "x.log1p()", "x.log2()", "x.log10()",
        "m.logaddexp(x, y)", "m.logaddexp2(x, y)", "x.logit()", "x.logit(0.2)", "m.special.xlogy(x, y)",
        "m.special.entr(x)", "x.erf()", "x.erfc()", "x.sin()", "x.cos()", "x.tan()", "x.asin()", "x.acos()", "x.atan()",
        "m.atan2(x, y)", "m.hypot(x, y)", "x.sinc()", "x.sinh()", "x.cosh()", "x.asinh()", "x.atanh()", "x.deg2rad()",
        "x.rad2deg()", "x.floor()", "x.ceil()", "x.trunc()", "x.round()", "x.round(decimals=1)", "x.frac()",
        "x.nan_to_num()", "m.copysign(x, y)", "m.fmod(x, y)", "m.remainder(x, y)",
        "m.div(x, y, rounding_mode='trunc')", "m.lerp(x, y, 0.3)", "m.addcmul(x, y, y)", "m.addcdiv(x, y, y)",
        "x.square()", "x.angle()", "m.complex(x, y)", "m.polar(x, y)",
        # activations and losses
        "F.silu(x)", "F.mish(x)", "F.gelu(x, approximate='tanh')", "F.hardsigmoid(x)", "F.hardswish(x)", "F.glu(x)",
        "F.hardtanh(x)", "F.threshold(x, 0.5, 0.1)", "F.hardshrink(x)", "F.softshrink(x)", "F.leaky_relu(x)",
        "F.prelu(x, row)", "F.elu(x)", "F.softplus(x)", "F.logsigmoid(x)", "F.binary_cross_entropy(x, y)",
        "F.binary_cross_entropy_with_logits(x, y)", "F.soft_margin_loss(x, y)", "F.nll_loss(x, labels)",
        "F.smooth_l1_loss(x, y)", "F.huber_loss(x, y)",
        # reductions, scans, statistics
        "x.amin(1)", "x.aminmax(dim=1)", "x.min()", "m.var_mean(x, 1)", "m.std_mean(x, 1)", "x.std()", "x.median()",
        "x.median(1)", "x.nanmedian()", "x.nanmedian(1)", "x.mode(1)", "x.kthvalue(3, 1)", "x.nansum()",
        "x.cumprod(1)", "x.logcumsumexp(1)", "x.cummax(1)", "x.cummin(1)", "x.trace()", "x.sort(dim=1, stable=True)",
        # shapes
        "x.repeat(2, 1)", "x.rot90()", "x.unfold(0, 3, 2)", "x.as_strided((4, 4), (8, 1))", "m.block_diag(x, y)",
        "F.pad(x, (1, 1))", "x.split([3, 5])", "x.unsafe_split(3)", "x.unsafe_split_with_sizes([3, 5])",
        "m.diagonal_scatter(x, row)", "m.select_scatter(x, row, 0, 2)", "x.unflatten(0, (2, 4))", "x.view_as(y)",
        # indexing
        "x.take(words)", "x.put(i, part[:, 0], True)", "x.index_add(0, i, part)", "x.index_copy(0, i, part)",
        "x.index_fill(0, i, 0.5)", "x.index_fill(0, i, number)", "m.index_put(x, (i,), part)", "x.masked_select(mask)",
        "x.masked_fill(mask, number)", "x.masked_scatter(mask, y)", "x.scatter(1, k, 0.5)", "x.scatter_add(1, k, y)",
        "x.scatter_reduce(1, k, y, 'mean')",
        # products
        "m.addmv(u, x, row)", "m.addr(x, u, row)",
    ],
    "v": ["v.vdot(u)", "m.outer(v, u)", "v.diag_embed()", "v.cumsum(0)"],
    "column": ["column.squeeze()", "column.squeeze((1,))"],
    "large": ["large.acosh()"],
    "pairs": ["m.view_as_complex(pairs)", "m.view_as_real(m.view_as_complex(pairs))"],
    "cube": ["m.baddbmm(block, cube, block)", "m.addbmm(part[:, :4], cube, block)",
             "F.scaled_dot_product_attention(cube, block, block)", "cube.flip((0, 2))"],
    None: [
        "x != y", "x <= y", "x >= 0.5", "x.isnan()", "x.isinf()", "x.isfinite()", "x.isposinf()", "x.isneginf()",
        "x.signbit()", "m.heaviside(y, row)", "m.isclose(x, y)", "x.logical_not()", "m.logical_and(x, mask)",
        "m.logical_or(x, mask)", "m.logical_xor(x, mask)", "k & labels", "k | labels", "k ^ labels", "k << 2", "k >> 1",
        "~k", "k // 3", "k % 3", "x // 0.3", "mask.all()", "x.argmin(0)", "x.argsort(1)", "x.count_nonzero()",
        "m.searchsorted(row, x)", "mask.nonzero()", "labels.unique()", "m.rand(8, 8)", "m.randn(8)", "m.eye(8)",
        "m.linspace(0, 1, 8)", "m.ones_like(x)", "z.uniform_()", "z.sub_(y)", "m.exp(x, out=z)", "m.mm(x, y, out=z)",
    ],
}  # fmt: skip
