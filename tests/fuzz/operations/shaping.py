"""Views, rearrangements and joins."""

from __future__ import annotations

from fuzz.drawing import Draw, Value, family

# -- views and rearrangements -----------------------------------------------------------------------------------


@family(9)
def view(draw: Draw) -> str:
    x = draw.value("float complex int bool" if draw.maybe(0.1) else "float complex")
    return draw.pick(ranked(draw, x) if x.ndim else [
        f"{x}.unsqueeze(0)", f"{x}.expand({draw.pick((1, 2, 3))})", f"{x}.view(1, -1)", f"{x}.reshape(-1)",
        f"{x}.squeeze()", f"{x}[None]", f"{x}.view_as({x})", f"{x}[...]",
    ])


def ranked(draw: Draw, x: Value) -> list[str]:
    """Views of a tensor that has dimensions."""
    dim, other = draw.dim(x), draw.dim(x)
    extent = x.shape[dim]
    start = draw.random.randint(0, extent)
    length = draw.random.randint(0 if draw.maybe(0.1) else min(1, extent - start), extent - start)
    views = [
        f"{x}[{start}:{start + length}]", f"{x}[::2]", f"{x}[..., 1:]", f"{x}[..., None]", f"{x}[None, ..., ::2]",
        f"{x}.narrow({dim}, {start}, {length})", f"{x}.transpose({dim}, {other})", f"{x}.unsqueeze({dim})",
        f"{x}.reshape(-1)", f"{x}.flatten()", f"{x}.view(-1)", f"{x}.view({x}.shape)", f"{x}.squeeze({dim})",
        f"{x}.squeeze()", f"{x}.movedim({dim}, {other})", f"{x}.expand(2, *{x}.shape)",
        f"{x}.unflatten({dim}, (-1, 1))", f"{x}.swapaxes({dim}, 0)", f"{x}.unfold({dim}, {max(extent - 1, 1)}, 1)",
        f"{x}.permute({', '.join(map(str, permuted(draw, x)))})", f"{x}.as_strided((2, 2), (1, 1))",
        f"{x}.chunk(2, {dim})[0]", f"{x}.expand_as({x})", f"{x}.tensor_split(2, {dim})[-1]",
    ]
    if extent:
        place = draw.place(x, dim)
        views += [f"{x}.select({dim}, {place})", f"{x}.unbind({dim})[{place}]", f"{x}.split(1, {dim})[{place}]"]
        views += [f"{x}[{draw.place(x, 0)}]", f"{x}[..., {draw.place(x, -1)}]"] if x.shape[0] and x.shape[-1] else []
    if x.ndim > 1:
        views += [f"{x}.diagonal()", f"{x}.diagonal(1, -2, -1)", f"{x}.mT", f"{x}.transpose(-1, 0)", f"{x}.flatten(-2)"]
    return views


def permuted(draw: Draw, x: Value) -> list[int]:
    return draw.random.sample(range(x.ndim), x.ndim)


@family(5)
def rearranged(draw: Draw) -> str:
    x = draw.value()
    dim = draw.dim(x)
    twice = ", ".join(["2"] * x.ndim) or "1"
    flat = [f"{x}.repeat({twice})", f"torch.atleast_2d({x})", f"{x}.tile((2,))", f"{x}.clone()"]
    if not x.ndim:
        return draw.pick(flat)
    choices = [
        *flat, f"torch.flip({x}, {draw.dims(x)})", f"torch.roll({x}, {draw.pick((1, -1, 5))}, {dim})",
        f"torch.roll({x}, 2)", f"{x}.repeat_interleave(2, {dim})", f"{x}.repeat_interleave(2)",
        f"torch.diag_embed({x})", f"F.pad({x}, (1, 1))", f"F.pad({x}, (-1, 2), value={draw.number()})",
        f"F.pad({x}, (1, 0))", f"{x}.contiguous()", f"torch.diagflat({x})",
        f"torch.combinations({x})" if x.ndim == 1 else f"{x}.contiguous()",
        f"{x}.unsqueeze(-1).expand(*{x}.shape, 2).clone()",
    ]
    if x.ndim > 1:
        mode = draw.pick(("reflect", "replicate", "circular"))
        choices += [
            f"torch.tril({x}, {draw.pick((0, 1, -1))})", f"torch.triu({x})", f"torch.rot90({x}, 1, (0, 1))",
            f"{x}.fliplr()", f"torch.diag({x})", f"torch.trace({x})",
            f"F.pad({x}, (1, {draw.pick((0, 1, -1))}), mode='{mode}')",
        ]
    return draw.pick(choices)


@family(3)
def joined(draw: Draw) -> str:
    x = draw.value()
    alike = draw.alike(x, same=True)
    y = draw.value()
    dim = draw.dim(x)
    return draw.pick((
        f"torch.cat(({x}, {alike}), {dim})", f"torch.stack(({x}, {alike}), {dim})", f"torch.hstack(({x}, {alike}))",
        f"torch.vstack(({x}, {alike}))", f"torch.dstack(({x}, {alike}))", f"torch.block_diag({x}, {y})",
        f"torch.meshgrid({x}, {y}, indexing='ij')[{draw.pick((0, 1))}]", f"torch.cartesian_prod({x}, {y})",
        f"torch.broadcast_tensors({x}, {y})[0]", f"torch.column_stack(({x}, {alike}))", f"torch.cat(({x}, {y}))",
    ))
