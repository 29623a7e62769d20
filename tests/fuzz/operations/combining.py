"""Reductions, scans, products, losses and normalization."""

from __future__ import annotations

from fuzz.drawing import RANK, Draw, family

SUMMED = "sum mean prod logsumexp amax amin std var nansum nanmean"
ALONG = "cumsum cumprod logcumsumexp softmax log_softmax"
PICKED = "max min median nanmedian mode cummax cummin sort"
LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits kl_div"


# -- reductions and scans ---------------------------------------------------------------------------------------


@family(7)
def reduction(draw: Draw) -> str:
    x = draw.value("float int bool" if draw.maybe(0.08) else "float complex", empty=draw.maybe(0.1))
    name, keepdim = draw.pick(SUMMED), draw.pick((", keepdim=True", ""))
    if name == "prod":
        return draw.pick((f"{x}.prod()", f"{x}.prod({draw.dim(x)}{keepdim})"))
    options = draw.pick(("", "", ", correction=0", ", correction=2")) if name in ("std", "var") else ""
    dims = draw.pick((draw.dim(x), draw.dims(x)))
    if name != "logsumexp" and draw.maybe(0.35):
        return f"{x}.{name}({options.removeprefix(', ')})"
    return f"{x}.{name}({dims}{options}{keepdim})"


@family(2)
def norms(draw: Draw) -> str:
    x = draw.value()
    p = draw.pick((1, 2, 2, 3, 0, 0.5, "float('inf')", "float('-inf')"))
    y = draw.alike(x)
    return draw.pick((
        f"torch.norm({x})", f"{x}.norm({p}, {draw.dim(x)})", f"torch.linalg.vector_norm({x}, {p})",
        f"torch.dist({x}, {y}, {p})", f"F.normalize({x}, dim={draw.dim(x)})",
        f"F.cosine_similarity({x}, {y}, dim={draw.dim(x)})", f"F.pairwise_distance({x}, {y})",
        f"torch.var_mean({x}, {draw.dim(x)})[{draw.pick((0, 1))}]", f"torch.std_mean({x})[{draw.pick((0, 1))}]",
        f"torch.trapezoid({x})", f"{x}.aminmax()[0]",
    ))


@family(4)
def along(draw: Draw) -> str:
    x = draw.value(rank=range(RANK + 1))
    return f"{x}.{draw.pick(ALONG)}({draw.dim(x)})"


@family(3)
def picked(draw: Draw) -> str:
    x, name = draw.value("float", empty=False), draw.pick(PICKED)
    dim, part = draw.dim(x), draw.pick((0, 0, 0, 1))
    extent = x.shape[dim] if x.ndim else 1
    return draw.pick((
        f"{x}.{name}({dim})[{part}]", f"{x}.{name}({dim})[0]", f"{x}.{draw.pick('max min median')}()",
        f"{x}.topk({draw.random.randint(1, extent)}, {dim})[{part}]",
        f"{x}.kthvalue({draw.random.randint(1, extent)}, {dim})[0]", f"{x}.sort({dim}, descending=True)[0]",
        f"{x}.msort()", f"{x}.argsort(dim={dim}, stable=True)",
        f"{x}.argmax({dim}, keepdim=True)", f"torch.diff({x}, dim={dim})",
    ))


# -- products ---------------------------------------------------------------------------------------------------


@family(5)
def product(draw: Draw) -> str:
    x = draw.value(rank=range(1, RANK + 1))
    y = draw.value(rank=range(1, RANK + 1), accept=lambda v: v.shape[-min(v.ndim, 2)] == x.shape[-1])
    letters = "abcd"[: x.ndim]
    return draw.pick((
        f"{x} @ {y}", f"torch.matmul({x}, {y})",
        f"torch.inner({x}, {y}.mT)" if y.ndim > 1 else f"torch.inner({x}, {y})",
        f"torch.tensordot({x}, {y}, 1)" if y.shape[0] == x.shape[-1] else f"{x} @ {y}",
        f"F.linear({x}, {y}.mT)" if y.ndim > 1 else f"F.linear({x}, {y})",
        f"torch.einsum('{letters},{letters}->{letters[0]}', {x}, {x})",
    ))


@family(3)
def product_of_matrices(draw: Draw) -> str:
    x = draw.value(rank=range(2, 4))
    y = draw.value(rank=range(2, 4), accept=lambda v: v.ndim == x.ndim and v.shape[-2] == x.shape[-1])
    if x.ndim == 3:
        return draw.pick((f"torch.bmm({x}, {y})", f"torch.baddbmm({x} @ {y}, {x}, {y}, alpha=0.5)", f"{x}.mT @ {x}"))
    return draw.pick((
        f"torch.mm({x}, {y})", f"torch.addmm({x}[:, :1], {x}, {y}, beta={draw.number()})", f"{x}.t() @ {x}",
        f"torch.einsum('ij,jk->ki', {x}, {y})", f"torch.einsum('ij,jk->', {x}, {y})",
        f"torch.addmv({x}[:, 0], {x}, {y}[:, 0])", f"F.linear({x}, {y}.t(), {y}[0])", f"torch.mv({x}, {y}[:, 0])",
    ))


@family(2)
def product_of_vectors(draw: Draw) -> str:
    x = draw.value(rank=range(1, 2))
    y = draw.value(rank=range(1, 2))
    return draw.pick((
        f"torch.outer({x}, {y})", f"torch.dot({x}, {y})", f"torch.vdot({x}, {y})", f"torch.kron({x}, {y})",
        f"torch.addr(torch.outer({x}, {y}), {x}, {y}, alpha=2)", f"torch.einsum('i,j->ij', {x}, {y})",
    ))


@family(1)
def attention(draw: Draw) -> str:
    x = draw.value("float", rank=range(2, 5), empty=False)
    return draw.pick((
        f"F.scaled_dot_product_attention({x}, {x}, {x}{draw.pick(('', f', {x}[..., :1]', f', {x}[..., :1] > 0'))})",
        f"F.scaled_dot_product_attention({x}, {x} * 2, {x}, is_causal=True)", f"torch.cdist({x}, {x} * 0.5 + 1)",
        f"torch.cross({x}, {x} * {x}, dim={draw.dim(x)})",
    ))


# -- losses and normalization -----------------------------------------------------------------------------------


@family(3)
def loss(draw: Draw) -> str:
    x = draw.value("float complex" if draw.maybe(0.1) else "float")
    y = draw.alike(x, "float", same=True)
    reduction = draw.pick(("", ", reduction='sum'", ", reduction='none'"))
    return draw.pick((
        f"F.{draw.pick(LOSSES)}({x}, {y}{reduction})", f"F.{draw.pick(LOSSES)}({x}, {y}{reduction})",
        f"F.binary_cross_entropy(torch.sigmoid({x}), torch.sigmoid({y}){reduction})",
        f"F.poisson_nll_loss({x}, {y}{reduction})", f"F.gaussian_nll_loss({x}, {y}, {y} ** 2 + 0.5{reduction})",
        f"F.hinge_embedding_loss({x}, torch.sign({y}){reduction})",
        f"F.margin_ranking_loss({x}, {y}, {y}.sign(), 0.1{reduction})",
        f"F.soft_margin_loss({x}, {y}.sign(){reduction})",
    ))


@family(2)
def classification(draw: Draw) -> str:
    x = draw.value("float", rank=range(1, 4))
    classes = x.shape[min(x.ndim - 1, 1)]
    target = f"({x}.detach().amax({min(x.ndim - 1, 1)}) * 5).abs().long() % {max(classes, 1)}"
    reduction = draw.pick(("", ", reduction='sum'", ", reduction='none'", ", label_smoothing=0.2", ", ignore_index=1"))
    options = "" if "smoothing" in reduction else reduction
    return draw.pick((
        f"F.cross_entropy({x}, {target}{reduction})", f"F.nll_loss({x}, {target}{options})",
        f"F.cross_entropy({x}, {x}.softmax({min(x.ndim - 1, 1)}))", f"F.cross_entropy({x}, {target}{reduction})",
    ))


@family(3)
def normalized(draw: Draw) -> str:
    x = draw.value("float", rank=range(1, RANK + 1))
    shape = f"{x}.shape[{draw.pick((-1, -2)) if x.ndim > 1 else -1}:]"
    weight = draw.value("float", accept=lambda v: v.shape == x.shape[-1:])
    return draw.pick((
        f"F.layer_norm({x}, {shape})", f"F.layer_norm({x}, {x}.shape[-1:], {weight}, {weight})",
        f"F.rms_norm({x}, {shape})", f"F.layer_norm({x}, {x}.shape[-1:], {weight})", f"F.softmin({x}, {draw.dim(x)})",
        f"F.glu({x}, {draw.dim(x)})", f"F.rms_norm({x}, {x}.shape[-1:], {weight})", f"F.prelu({x}, {weight}.mean())",
    ))
