"""Operations on each element, and complex numbers."""

from __future__ import annotations

from fuzz.drawing import Draw, Value, family

REAL_OR_COMPLEX = """sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh exp expm1 log log2 log10 log1p sqrt
    rsqrt reciprocal square neg sigmoid abs sgn angle positive"""
BINARY = """maximum minimum fmax fmin atan2 hypot copysign fmod remainder xlogy logaddexp logaddexp2 heaviside
    float_power floor_divide"""
REAL = "erf erfc exp2 floor ceil round trunc frac sign deg2rad rad2deg sinc logit relu nan_to_num"
ACTIVATIONS = """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu
    softplus softshrink softsign tanhshrink"""


# -- pointwise --------------------------------------------------------------------------------------------------


@family(8)
def unary(draw: Draw) -> str:
    x = draw.value()
    return f"torch.{draw.pick(REAL_OR_COMPLEX)}({x})"


@family(4)
def unary_real(draw: Draw) -> str:
    x = draw.value("float")
    return f"torch.{draw.pick(REAL)}({x})" if draw.maybe() else f"F.{draw.pick(ACTIVATIONS)}({x})"


@family(1.5)
def unary_with_numbers(draw: Draw) -> str:
    x, number = draw.value("float"), draw.number()
    return draw.pick((
        f"F.leaky_relu({x}, {number})", f"F.elu({x}, {number})", f"F.softplus({x}, {abs(number) + 0.5}, 1.0)",
        f"F.threshold({x}, {number}, 0.5)", f"F.hardtanh({x}, {-abs(number) - 0.1}, 0.7)", f"F.gelu({x}, 'tanh')",
        f"torch.clamp({x}, {number}, {number + 1})", f"torch.clamp({x}, max={number})", f"{x}.clamp_min({number})",
        f"torch.round({x}, decimals=1)", f"torch.nan_to_num({x}, {number})", f"torch.logit({x}, 0.1)",
        f"F.hardshrink({x}, 0.4)", f"F.softshrink({x}, 0.3)", f"F.celu({x}, 0.7)",
    ))


@family(9)
def arithmetic(draw: Draw) -> str:
    x = draw.value()
    y = draw.alike(x, "float complex int bool" if draw.maybe(0.2) else "float complex")
    return draw.pick((f"{x} + {y}", f"{x} - {y}", f"{x} * {y}", f"{x} / {y}", f"{x} ** {y}", f"{y} * {x}"))


@family(4)
def arithmetic_with_numbers(draw: Draw) -> str:
    x, number = draw.value("float complex int" if draw.maybe(0.1) else "float complex"), draw.number()
    return draw.pick((
        f"{x} + {number}", f"{number} - {x}", f"{x} * {number}", f"{x} / {number}", f"{number} / {x}",
        f"{x} ** {number}", f"{x} ** 2", f"{abs(number)} ** {x}", f"{x} % 0.7", f"{x} // 0.6",
        f"torch.add({x}, {number}, alpha=2)", f"torch.sub({x}, {number}, alpha=0.5)", f"torch.rsub({x}, {number})",
    ))


@family(4)
def binary(draw: Draw) -> str:
    x = draw.value("float")
    y = draw.alike(x, "float")
    name = draw.pick(BINARY)
    return f"torch.{name}({x}, {y})"


@family(3)
def ternary(draw: Draw) -> str:
    x = draw.value()
    y = draw.alike(x)
    z = draw.alike(x)
    number = draw.number()
    return draw.pick((
        f"torch.addcmul({x}, {y}, {z}, value={number})", f"torch.addcdiv({x}, {y}, {z}, value={number})",
        f"torch.lerp({x}, {y}, {z})", f"torch.lerp({x}, {y}, {number})", f"torch.clamp({x}, {y}, {z})",
        f"torch.add({x}, {y}, alpha={number})", f"torch.clamp({x}, min={y})",
        f"torch.div({x}, {y}, rounding_mode='floor')", f"torch.div({x}, {y}, rounding_mode='trunc')",
    ))


@family(3)
def chosen(draw: Draw) -> str:
    """With a computed condition."""
    x = draw.value()
    y = draw.alike(x)
    return f"torch.where({condition(draw, x)}, {x}, {draw.pick((y, y, draw.number()))})"


@family(1)
def compared(draw: Draw) -> str:
    x = draw.value("float int")
    y = draw.pick((draw.number(), draw.alike(x, "float int")))
    return draw.pick((f"{x} < {y}", f"{x} >= {y}", f"{x} == {y}", f"torch.isclose({x}, {x})", f"{x} != {y}"))


@family(1.5)
def converted(draw: Draw) -> str:
    x = draw.value("float complex int bool")
    kinds = ["double()", "to(torch.complex128)", "to(torch.float64)", "clone()", "contiguous()", "bool()"]
    kinds += ["int()", "long()"] if x.kind != "complex" else []
    kinds += [] if draw.differentiable else ["float()", "to(torch.complex64)", "to(torch.float32)"]
    return f"{x}.{draw.pick(kinds)}"


def condition(draw: Draw, x: Value) -> str:
    """A mask of the shape of ``x``, or one that is broadcast to it."""
    masks = [v for v in draw.values if v.kind == "bool" and v.shape == x.shape]
    if masks and draw.maybe():
        return str(draw.random.choice(masks))
    y = draw.fits(x, "float int")
    last = f"({y} < {y}.mean())" if y.kind == "float" else f"({y} == 1)"
    return draw.pick((f"({y} > {draw.number()})", f"({y} <= 0.5)", last))


# -- complex numbers --------------------------------------------------------------------------------------------


@family(2)
def complexes(draw: Draw) -> str:
    x = draw.value("complex")
    return draw.pick((
        f"torch.view_as_real({x})", f"{x}.real", f"{x}.imag", f"torch.conj_physical({x})", f"torch.conj({x})",
        f"{x}.abs()", f"torch.angle({x})", f"{x} * {x}.conj()", f"{x}.mH" if x.ndim > 1 else f"{x}.conj()",
        f"{x}.resolve_conj()",
    ))


@family(1)
def made_complex(draw: Draw) -> str:
    x = draw.value("float")
    y = draw.alike(x, "float", same=True)
    return draw.pick((f"torch.complex({x}, {y})", f"torch.polar({x}, {y})", f"torch.view_as_complex({x})"))
