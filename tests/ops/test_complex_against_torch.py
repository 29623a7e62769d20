"""Operations on complex numbers against PyTorch: values, dtypes, gradients and the names of nodes."""

import pytest
from ops.torch_comparison import assert_same, randoms

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:Casting complex values")]


def changed(copy, change):
    """A copy, after ``change`` has written to it."""
    change(copy)
    return copy


def assigned(copy, index, value):
    copy[index] = value
    return copy


#: Functions of one 3 x 3 matrix, or methods and properties where there is no function.
OF_ONE = """
    abs angle sgn conj conj_physical resolve_conj real imag view_as_real neg reciprocal exp exp2 expm1 log log2 log10
    log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid square sum mean prod trace t
    clone positive adjoint isreal isfinite isnan ravel diag std var norm logical_not tril triu H mH squeeze
"""

PROGRAMS = {
    "add": (lambda m, x, y: m.add(x, y, alpha=2 - 1j), (2, 3), (3,)),
    "sub": (lambda m, x, y: x.sub(y, alpha=0.5j), (2, 3), (3,)),
    "rsub": (lambda m, x, y: m.rsub(x, y, alpha=2j), (2, 3), (3,)),
    "mul": (lambda m, x, y: x * y, (2, 3), (3,)),
    "div": (lambda m, x, y: x / y, (2, 3), (3,)),
    "a number times": (lambda m, x: x * (1 + 2j), (2, 3)),
    "a number over": (lambda m, x: (1 - 2j) / x, (2, 3)),
    "pow": (lambda m, x, y: x**y, (2, 3), (3,)),
    "to the 3.5": (lambda m, x: x**3.5, (2, 3)),
    "to a complex power": (lambda m, x: x ** (1.5 + 2j), (2, 3)),
    "of a number": (lambda m, x: (2 + 1j) ** x, (2, 3)),
    "float_power": (lambda m, x, y: m.float_power(x, y), (2, 3), (3,)),
    "where": (lambda m, x, y: m.where(x.real > 0, x, y), (2, 3), (3,)),
    "addcmul": (lambda m, x, y, z: m.addcmul(x, y, z, value=2 - 1j), (2, 3), (2, 3), (2, 3)),
    "addcdiv": (lambda m, x, y, z: m.addcdiv(x, y, z, value=2 - 1j), (2, 3), (2, 3), (2, 3)),
    "lerp": (lambda m, x, y, z: m.lerp(x, y, z), (2, 3), (2, 3), (2, 3)),
    "lerp by a number": (lambda m, x, y: m.lerp(x, y, 0.3), (2, 3), (2, 3)),
    "isclose": (lambda m, x, y: m.isclose(x, y, rtol=2.0), (2, 3), (2, 3)),
    "to float64": (lambda m, x: x.to(m.float64), (2, 3)),
    "to complex64": (lambda m, x: x.to(m.complex64), (2, 3)),
    "mm": (lambda m, x, y: m.mm(x, y), (2, 3), (3, 4)),
    "bmm": (lambda m, x, y: m.bmm(x, y), (2, 2, 3), (2, 3, 4)),
    "mv": (lambda m, x, y: m.mv(x, y), (2, 3), (3,)),
    "dot": (lambda m, x, y: m.dot(x, y), (3,), (3,)),
    "vdot": (lambda m, x, y: m.vdot(x, y), (3,), (3,)),
    "outer": (lambda m, x, y: m.outer(x, y), (3,), (2,)),
    "matmul": (lambda m, x, y: x @ y, (4, 2, 3), (3, 2)),
    "einsum": (lambda m, x, y: m.einsum("bij,jk->bik", x, y), (4, 2, 3), (3, 2)),
    "linear": (lambda m, x, y, b: m.nn.functional.linear(x, y, b), (4, 3), (2, 3), (2,)),
    "addmm": (lambda m, x, y, b: m.addmm(b, x, y, beta=2j, alpha=1 - 1j), (4, 3), (3, 2), (2,)),
    "addmv": (lambda m, x, y, b: m.addmv(b, x, y, beta=2j, alpha=1 - 1j), (4, 3), (3,), (4,)),
    "addr": (lambda m, x, y, b: m.addr(b, x, y, beta=2j, alpha=1 - 1j), (4,), (2,), (4, 2)),
    "baddbmm": (lambda m, x, y, b: m.baddbmm(b, x, y, beta=2j, alpha=1 - 1j), (2, 4, 3), (2, 3, 2), (2, 4, 2)),
    "sum": (lambda m, x: x.sum(1), (2, 3)),
    "sum of real parts": (lambda m, x: x.sum(dtype=m.float64), (2, 3)),
    "mean": (lambda m, x: x.mean(0, True), (2, 3)),
    "prod": (lambda m, x: x.prod(1), (2, 3)),
    "prod of real parts": (lambda m, x: x.prod(dtype=m.float64), (2, 3)),
    "cumsum": (lambda m, x: x.cumsum(1), (2, 3)),
    "cumprod": (lambda m, x: x.cumprod(1), (2, 3)),
    "var": (lambda m, x: x.var(1), (2, 3)),
    "std_mean": (lambda m, x: m.std_mean(x, 1), (2, 3)),
    "norm 1": (lambda m, x: x.norm(1, 1), (2, 3)),
    "norm 3": (lambda m, x: x.norm(3, 1), (2, 3)),
    "norm inf": (lambda m, x: x.norm(float("inf"), 1), (2, 3)),
    "select": (lambda m, x: x[1], (2, 3)),
    "index": (lambda m, x: x[m.tensor([1, 0, 1])], (2, 3)),
    "mask": (lambda m, x: x[x.real > 0], (2, 3)),
    "gather": (lambda m, x: x.gather(1, m.tensor([[0, 1], [2, 2]])), (2, 3)),
    "scatter": (lambda m, x, y: x.scatter(1, m.tensor([[0, 1], [2, 1]]), y), (2, 3), (2, 2)),
    "scatter_add": (lambda m, x, y: x.scatter_add(1, m.tensor([[0, 1], [2, 2]]), y), (2, 3), (2, 2)),
    "index_copy": (lambda m, x, y: x.index_copy(0, m.tensor([1, 0]), y), (2, 3), (2, 3)),
    "index_fill": (lambda m, x: x.index_fill(0, m.tensor([1]), 2j), (2, 3)),
    "index_put_": (
        lambda m, x, y: (x * 1).index_put_((m.tensor([1, 1]), m.tensor([0, 2])), y, accumulate=True), (2, 3), (2,)
    ),
    "masked_fill": (lambda m, x: x.masked_fill(x.real > 0, 1j), (2, 3)),
    "cat": (lambda m, x, y: m.cat([x, y]), (2, 3), (1, 3)),
    "stack": (lambda m, x, y: m.stack([x, y], 1), (2, 3), (2, 3)),
    "split": (lambda m, x: x.split(2, 1), (2, 3)),
    "expand": (lambda m, x: x.expand(4, 2, 3), (2, 3)),
    "pad": (lambda m, x: m.nn.functional.pad(x, (1, 2), value=2.0), (2, 3)),
    "as_strided": (lambda m, x: x.as_strided((2, 2), (1, 2)), (2, 3)),
    "add_": (lambda m, x, y: (x * 1).add_(y, alpha=1j), (2, 3), (3,)),
    "pow_": (lambda m, x, y: (x * 1).pow_(y), (2, 3), (3,)),
    "abs_": (lambda m, x: (x * 1).abs_(), (2, 3)),
    "sgn_": (lambda m, x: (x * 1).sgn_(), (2, 3)),
    "conj_physical_": (lambda m, x: (x * 1).conj_physical_(), (2, 3)),
    "copy_": (lambda m, x, y: (x * 1).copy_(y), (2, 3), (3,)),
    "fill_": (lambda m, x, y: (x * 1).fill_(y), (2, 3), ()),
    "assigned": (lambda m, x, y: assigned(x * 1, 1, y), (2, 3), (3,)),
    "real parts copied": (lambda m, x, y: changed(x * 1, lambda z: z.real.copy_(y.real)), (2, 3), (3,)),
    "real parts assigned": (lambda m, x, y: changed(x * 1, lambda z: setattr(z, "real", y.imag)), (2, 3), (3,)),
    "imaginary parts times": (lambda m, x, y: changed(x * 1, lambda z: z.imag.mul_(y.abs())), (2, 3), (3,)),
    "both parts times": (lambda m, x: changed(x * 1, lambda z: m.view_as_real(z).mul_(2)), (2, 3)),
    "l1_loss": (lambda m, x, y: m.nn.functional.l1_loss(x, y), (2, 3), (2, 3)),
    "mse_loss": (lambda m, x, y: m.nn.functional.mse_loss(x, y), (2, 3), (2, 3)),
    "normalize": (lambda m, x: m.nn.functional.normalize(x), (2, 3)),
    "ordered": (lambda m, x: x.sort(0), (2, 3)),
    "the largest": (lambda m, x: x.max(), (2, 3)),
}

#: Real tensors, then complex ones after "complex".
MIXED = {
    "times": (lambda m, x, z: x * z, (2, 3), "complex", (3,)),
    "plus": (lambda m, x, z: z + x, (2, 3), "complex", (3,)),
    "over": (lambda m, x, z: x / z, (2, 3), "complex", (3,)),
    "to the power": (lambda m, x, z: x**z, (2, 3), "complex", (3,)),
    "base": (lambda m, x, z: z**x, (2, 3), "complex", (3,)),
    "to a number": (lambda m, x: x**2j, (2, 3)),
    "times a number": (lambda m, x: x * 2j, (2, 3)),
    "add_": (lambda m, x, z: (z * 1).add_(x), (3,), "complex", (2, 3)),
    "copy_": (lambda m, x, z: (z * 1).copy_(x), (3,), "complex", (2, 3)),
    "copy_ to real": (lambda m, x, z: (x * 1).copy_(z), (3,), "complex", (3,)),
    "mul_ of real": (lambda m, x, z: (x * 1).mul_(z), (3,), "complex", (3,)),
    "assigned": (lambda m, x, z: assigned(z * 1, 0, x), (), "complex", (3,)),
    "complex": (lambda m, x, y: m.complex(x, y), (3,), (3,)),
    "polar": (lambda m, x, y: m.polar(x.abs(), y), (3,), (3,)),
    "view_as_complex": (lambda m, x: m.view_as_complex(x), (3, 2)),
    "view_as_complex in place": (lambda m, x: changed(x * 1, lambda r: m.view_as_complex(r).mul_(2j)), (3, 2)),
    "to complex": (lambda m, x: x.to(m.complex128), (3, 2)),
    "angle": (lambda m, x: m.angle(x), (3, 2)),
    "alpha": (lambda m, x: m.add(x, x, alpha=2j), (3, 3)),
}


@pytest.mark.parametrize("name", OF_ONE.split())
def test_of_one_matrix(name):
    def program(module, x):
        found = getattr(module, name, None) or getattr(x, name)
        return found(x) if hasattr(module, name) else found() if callable(found) else found

    assert_same(program, *randoms((3, 3), seed=3, dtype="complex128"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_pytorch(name):
    program, *shapes = PROGRAMS[name]
    assert_same(program, *[randoms(shape, seed=3 + n, dtype="complex128")[0] for n, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", MIXED)
def test_real_and_complex_tensors(name):
    program, *shapes = MIXED[name]
    inputs, dtype = [], "float64"
    for number, shape in enumerate(shapes):
        if shape == "complex":
            dtype = "complex128"
        else:
            inputs += randoms(shape, seed=3 + number, dtype=dtype)
    assert_same(program, *inputs)
