"""Reading and writing at indices and through masks, and other in-place changes."""

from __future__ import annotations

from fuzz.drawing import RANK, Draw, NothingFitsError, family
from fuzz.operations.pointwise import condition

# -- indexing ---------------------------------------------------------------------------------------------------


def indices(draw: Draw, extent: int, like: str = "") -> str:
    """Return integers below ``extent``: constants, or computed from a value (of the shape ``like``)."""
    if not extent:
        raise NothingFitsError
    if not like and draw.maybe(0.4):
        return f"torch.tensor({[draw.random.randrange(extent) for _ in range(draw.pick((1, 2, 3)))]})"
    x = like or str(draw.value("float", rank=range(1, 2)))
    return f"(({x}).abs() * 7).long() % {extent}" if draw.maybe(0.8) else f"({x} > 0.4).long() % {extent}"


@family(5)
def indexed(draw: Draw) -> str:
    x = draw.value(rank=range(1, RANK + 1))
    dim = draw.dim(x)
    places, first = indices(draw, x.shape[dim]), indices(draw, x.shape[0])
    choices = [
        f"{x}[{first}]", f"{x}.index_select({dim}, {places})", f"torch.take({x}, {places})",
        f"{x}[{condition(draw, x)}]", f"{x}[..., {indices(draw, x.shape[-1])}]",
        f"torch.gather({x}, {dim}, {x}.abs().argsort(dim={dim}, stable=True))",
        f"torch.take_along_dim({x}, {x}.abs().argsort(dim={dim}, stable=True), {dim})",
        f"torch.masked_select({x}, {condition(draw, x)})", f"{x}[{x}.abs().flatten().argmax() % {x.shape[0]}]",
        f"{x}[{first}, ...]", f"{x}[({x}.abs() < {abs(draw.number())}).nonzero(as_tuple=True)]",
        f"{x}[{x}.abs().argsort(dim={dim}, stable=True)[:1] % {x.shape[0]}]",
    ]
    if x.ndim > 1:
        choices += [
            f"{x}[:, {indices(draw, x.shape[1])}]", f"{x}[torch.tensor([0]), {indices(draw, x.shape[1])}]",
            f"F.embedding({first}, {x})", f"{x}[{x}.abs().sum({tuple(range(1, x.ndim))}) < {abs(draw.number()) + 0.5}]",
        ]
    return draw.pick(choices)


@family(4)
def written(draw: Draw) -> str:
    """At indices, out of place."""
    x = draw.value(rank=range(1, RANK + 1), empty=False)
    dim = draw.dim(x)
    y = draw.fits(x)
    if not y.tensor.numel():
        raise NothingFitsError
    number = draw.number()
    full = f"{y}.expand_as({x})"
    order = f"{x}.abs().argsort(dim={dim}, stable=True)"
    count = x.shape[dim]
    rows = f"{x}.abs()" if x.ndim == 1 else f"{x}.abs().movedim({dim}, 0).flatten(1).sum(1)"
    places = indices(draw, count, rows)
    return draw.pick((
        f"{x}.masked_fill({condition(draw, x)}, {number})", f"{x}.index_fill({dim}, {indices(draw, count)}, {number})",
        f"{x}.index_add({dim}, {places}, {full})", f"{x}.index_add({dim}, {places}, {full}, alpha={number})",
        f"{x}.index_copy({dim}, {rows}.argsort(stable=True), {full})", f"{x}.scatter({dim}, {order}, {full})",
        f"{x}.scatter({dim}, {order}, {number})", f"{x}.scatter_add({dim}, {order}, {full})",
        f"{x}.scatter_reduce({dim}, {order}, {full}, 'mean')",
        f"{x}.scatter_reduce({dim}, {order}, {full}, {draw.pick(REDUCED)!r}, include_self={draw.maybe()})",
        f"{x}.index_put(({rows}.argsort(stable=True)[:1] % {x.shape[0]},), {y}.mean())",
        f"{x}.index_put(({indices(draw, x.shape[0])},), {y}.sum(), accumulate=True)",
        f"{x}.masked_scatter({condition(draw, x)}, {full})",
        f"{x}.select_scatter({y}.mean().expand({x}.select({dim}, 0).shape), {dim}, 0)",
        f"{x}.slice_scatter({x}.narrow({dim}, 0, 1) * 2, {dim}, 0, 1)",
    ))


REDUCED = ("sum", "prod", "amax", "amin")


# -- changes in place -------------------------------------------------------------------------------------------


@family(8)
def changed(draw: Draw) -> str:
    x = draw.changeable()
    y, number = draw.fits(x), draw.number()
    z = draw.fits(x)
    return "!" + draw.pick((
        f"{x}.add_({y})", f"{x}.mul_({y})", f"{x}.sub_({y}, alpha=0.5)", f"{x}.div_({y})", f"{x}.copy_({y})",
        f"{x}.mul_({number})", f"{x}.add_({number})", f"{x}.pow_(2)",
        f"{x}.{draw.pick('exp tanh sin sigmoid neg abs sqrt square relu log cos')}_()", f"{x}.fill_({number})",
        f"{x}.zero_()", f"{x}.addcmul_({y}, {z})", f"{x}.lerp_({y}, {number})", f"{x}.clamp_(-0.6, 0.6)",
        f"{x}.cumsum_({draw.dim(x)})", f"{x}.masked_fill_({condition(draw, x)}, {number})", f"{x}.fill_({y}.mean())",
        f"{x}.pow_({y})", f"{x}.addcdiv_({y}, {z})", f"F.leaky_relu({x}, 0.1, inplace=True)",
        f"{x}.mul_({y}).add_({z})",
    ))


@family(5)
def assigned(draw: Draw) -> str:
    x = draw.changeable()
    y = draw.fits(x)
    value = draw.pick((str(draw.number()), f"{y}.mean()", str(y)))
    if not x.ndim:
        return f"!{x}[...] = {value}"
    dim = draw.dim(x)
    place, first = draw.place(x, dim), draw.place(x, 0)
    return "!" + draw.pick((
        f"{x}[{first}] = {value}", f"{x}[::2] = {value}", f"{x}[..., 1:] = {value}",
        f"{x}[{condition(draw, x)}] = {value}",
        f"{x}[{x}.abs().flatten().argsort(stable=True)[:1] % {x.shape[0]}] = {value}",
        f"{x}.select({dim}, {place}).mul_({value})", f"{x}[{first}] += {value}",
        f"{x}.index_add_({dim}, torch.arange({x.shape[dim]}), {y}.expand_as({x}))",
        f"{x}.index_fill_({dim}, torch.tensor([0]), {value})",
        f"{x}.scatter_({dim}, {x}.abs().argsort(dim={dim}, stable=True), {y}.expand_as({x}))",
        f"{x}[{condition(draw, x)}] *= {draw.number()}",
        f"{x}.index_put_(({indices(draw, x.shape[0])},), {y}.mean(), accumulate=True)",
    ))


@family(1)
def reshaped(draw: Draw) -> str:
    x = draw.changeable()
    if not x.ndim:
        return f"!{x}.unsqueeze_(0)"
    dim = draw.dim(x)
    one, two = draw.pick(("unsqueeze_", "squeeze_")), draw.pick(("transpose_", "swapaxes_"))
    return "!" + draw.pick((f"{x}.{one}({dim})", f"{x}.{two}({dim}, 0)"))


@family(1)
def unrecorded(draw: Draw) -> str:
    if draw.differentiable:
        raise NothingFitsError
    if draw.maybe():
        return f"{draw.value()}.detach()"
    x = draw.changeable()
    return f"!with torch.no_grad(): {x}.mul_({draw.number()})"
