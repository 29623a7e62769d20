"""Matrix products and contractions against PyTorch: values, strides, gradients, nodes, errors.

Programs are expressions in ``m``, the module, ``F``, and the tensors ``x``, ``y`` and ``z``.
"""

import itertools

import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")]

LAYOUTS = ("contiguous", "transposed", "stepped")


def program(expression):
    """The expression as a function of the module and up to three tensors."""

    def run(m, x, y=None, z=None):
        return eval(expression, {"m": m, "F": m.nn.functional, "x": x, "y": y, "z": z})

    return run


def expressions(text):
    return [line.strip() for line in text.split(";")]


def integers(*shapes, dtype="int64"):
    random = np.random.default_rng(3)
    return [np.asarray(random.integers(-3 if dtype.startswith("i") else 0, 4, shape), dtype) for shape in shapes]


LEFT = [(4,), (3, 4), (1, 4), (2, 3, 4), (5, 1, 3, 4), (1, 3, 4), (2, 1, 3, 4)]
RIGHT = [(4,), (4, 2), (2, 4, 3), (5, 1, 4, 3), (1, 4, 3), (5, 2, 4, 3), (3, 4)]


@pytest.mark.parametrize("right", RIGHT, ids=str)
@pytest.mark.parametrize("left", LEFT, ids=str)
def test_matmul(left, right):
    for layout in LAYOUTS:
        for expression in ("x @ y", "x.detach() @ y", "x @ y.detach()"):
            assert_same(program(expression), *randoms(left, right, layout=layout))
    assert_same(program("m.matmul(x, y)"), *randoms(left, right, dtype="float32"))
    assert_same(program("x.matmul(other=y)"), *integers(left, right))


def test_a_vector_times_a_matrix_counts_as_changed():
    def versions(m, x, y):
        return m.tensor([(x @ y)._version, (x @ y.t().contiguous().t())._version, (y.t() @ x)._version])

    assert_same(versions, *randoms((4,), (4, 4)))


ADDED = [
    ("addmm", (2,), (3, 4), (4, 2)), ("addmm", (3, 2), (3, 4), (4, 2)), ("addmm", (), (3, 4), (4, 2)),
    ("addmm", (3, 1), (3, 4), (4, 2)), ("addmm", (2,), (3, 0), (0, 2)), ("addmm", (2,), (0, 3), (3, 2)),
    ("addmv", (3,), (3, 4), (4,)), ("addmv", (), (3, 4), (4,)), ("addmv", (1,), (3, 4), (4,)),
    ("addmv", (3,), (3, 0), (0,)),
    ("addr", (3, 4), (3,), (4,)), ("addr", (4,), (3,), (4,)), ("addr", (), (3,), (4,)), ("addr", (3, 1), (3,), (4,)),
    ("baddbmm", (3, 5), (2, 3, 4), (2, 4, 5)), ("baddbmm", (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    ("baddbmm", (5,), (2, 3, 0), (2, 0, 5)), ("addbmm", (3, 5), (2, 3, 4), (2, 4, 5)),
    ("addbmm", (5,), (2, 3, 4), (2, 4, 5)), ("addbmm", (3, 5), (0, 3, 4), (0, 4, 5)),
]


@pytest.mark.parametrize(("name", "shapes"), [(name, shapes) for name, *shapes in ADDED], ids=str)
def test_products_added_to_a_tensor(name, shapes):
    every = "", ", beta=2", ", alpha=3", ", beta=0.5, alpha=-2", ", beta=0"
    for layout, factors in itertools.product(LAYOUTS, every):
        assert_same(program(f"m.{name}(x, y, z{factors})"), *randoms(*shapes, layout=layout))
    for detached in ("x.detach(), y, z", "x, y.detach(), z", "x, y, z.detach()"):
        assert_same(program(f"m.{name}({detached}, alpha=2)"), *randoms(*shapes, dtype="float32"))
    for dtype, factors in itertools.product(("int64", "int32", "uint8"), ("", ", beta=2, alpha=3")):
        assert_same(program(f"x.{name}(y, z{factors})"), *integers(*shapes, dtype=dtype))


@pytest.mark.parametrize("name", ["addmm", "addmv", "baddbmm", "addbmm", "addr"])
def test_terms_with_a_factor_of_zero_may_be_nan(name):
    shapes = next(shapes for called, *shapes in ADDED if called == name)
    x, y, z = randoms(*shapes)
    x[...] = np.nan
    assert_same(program(f"m.{name}(x, y, z, beta=0)"), x, y, z)
    assert_same(program(f"m.{name}(x, y, z, beta=0, alpha=2)"), x, y, z)


LINEAR = [((4,), (3, 4), (3,)), ((2, 4), (3, 4), (3,)), ((2, 5, 4), (3, 4), (3,)), ((2, 1, 5, 4), (3, 4), (3,)),
          ((2, 5, 4), (4,), ()), ((4,), (4,), ()), ((2, 5, 4), (3, 4), ()), ((2, 4), (3, 4), ()), ((4,), (3, 4), ()),
          ((2, 4), (3, 4), (2, 3)), ((0, 4), (3, 4), (3,)), ((2, 0, 4), (3, 4), (3,)), ((2, 0), (3, 0), (3,)),
          ((2, 4), (4,), ()), ((2, 4), (3, 4), (1, 3))]


@pytest.mark.parametrize("shapes", LINEAR, ids=str)
def test_the_linear_layer(shapes):
    for layout in LAYOUTS:
        arrays = randoms(*shapes, layout=layout)
        assert_same(program("F.linear(x, y)"), *arrays)
        assert_same(program("F.linear(x, y, z)"), *arrays)
        assert_same(program("F.linear(x.detach(), y, bias=z)"), *arrays)
        if len(shapes[0]) == 3:
            assert_same(program("F.linear(x.transpose(0, 1), y, z)"), *arrays)
    assert_same(program("F.linear(x, y, z)"), *randoms(*shapes, dtype="float32"))
    assert_same(program("F.linear(x, y, z)"), *integers(*shapes))


PRODUCTS = [
    ("m.mm(x, y)", (3, 4), (4, 2)), ("x.mm(mat2=y)", (3, 0), (0, 2)), ("m.mv(x, y)", (3, 4), (4,)),
    ("x.mv(vec=y)", (0, 4), (4,)), ("m.bmm(x, y)", (2, 3, 4), (2, 4, 5)), ("x.bmm(mat2=y)", (2, 0, 4), (2, 4, 5)),
    ("m.dot(x, y)", (4,), (4,)), ("x.dot(tensor=y)", (0,), (0,)), ("m.vdot(x, y)", (4,), (4,)),
    ("m.inner(x, y)", (4,), (4,)), ("m.inner(x, y)", (3, 4), (4,)), ("x.inner(y)", (3, 4), (2, 4)),
    ("m.inner(x, other=y)", (2, 3, 4), (5, 4)), ("m.inner(x, y)", (), (3, 4)), ("m.inner(x, y)", (3, 0), (2, 0)),
    ("m.outer(x, y)", (3,), (4,)), ("x.outer(vec2=y)", (0,), (4,)), ("m.ger(x, y)", (3,), (4,)),
    ("m.tensordot(x, y, 2)", (2, 3, 4), (3, 4)), ("m.tensordot(x, y, dims=1)", (2, 3, 4), (4, 2)),
    ("m.tensordot(x, y, 0)", (2, 3), (4,)), ("m.tensordot(x, y, ([1, 2], [0, 1]))", (2, 3, 4), (3, 4)),
    ("m.tensordot(x, y, ([2, 0], [1, 2]))", (2, 3, 4), (5, 4, 2)), ("m.tensordot(x, y, ([-1], [0]))", (2, 3, 4), (4,)),
    ("m.tensordot(x, y, m.tensor([[0], [0]]))", (2, 3), (2, 4)), ("m.tensordot(x, y, ([1], [1]))", (3, 4), (3, 1)),
    ("m.tensordot(x, y, ([1], [1]))", (3, 1), (3, 4)), ("m.tensordot(x, y, 1)", (3, 0), (0, 2)),
    ("m.chain_matmul(x, y)", (3, 4), (4, 2)), ("m.chain_matmul(x, y, x, y)", (3, 4), (4, 3)),
    ("m.kron(x, y)", (2, 3), (4, 2)), ("x.kron(y)", (3,), (2, 2)),
    ("m.kron(x, y)", (2, 1, 2), (3,)), ("m.kron(x, y)", (), ()), ("m.kron(x, y)", (0, 2), (2, 2)),
]


@pytest.mark.parametrize(("expression", "left", "right"), PRODUCTS, ids=str)
def test_products(expression, left, right):
    graph = not ("kron" in expression or "chain" in expression or ("inner" in expression and len(left) == 1))
    # PyTorch's kron refuses some tensors whose elements do not lie in order.
    for layout in LAYOUTS[:1] if "kron" in expression else LAYOUTS:
        arrays = randoms(left, right, layout=layout)
        assert_same(program(expression), *arrays, graph=graph)
        assert_same(program(expression.replace("x", "x.detach()", 1)), *arrays, graph=graph)
        assert_same(program(expression.replace("y", "y.detach()", 1)), *arrays, graph=graph)
    assert_same(program(expression), *randoms(left, right, dtype="float32"), graph=graph)
    for dtype in ("int64", "int16", "uint8", "bool"):
        if dtype != "bool" or 0 not in left + right:  # which PyTorch accepts
            assert_same(program(expression), *integers(left, right, dtype=dtype))


@pytest.mark.parametrize(("expression", "left", "right"), PRODUCTS, ids=str)
def test_products_of_complex_numbers(expression, left, right):
    import torch

    import numgrad

    arrays = [np.asarray(a + 1j * b) for a, b in zip(randoms(left, right), randoms(left, right, seed=1), strict=True)]
    expected, found = [program(expression)(m, *map(m.from_numpy, arrays)).numpy() for m in (torch, numgrad)]
    np.testing.assert_allclose(found, expected, 1e-13, 1e-13, strict=True)


def test_second_derivatives():
    def second(expression):
        def run(m, x, y, z):
            out = program(expression)(m, x, y, z)
            first = m.autograd.grad(out.tanh().sum(), (x, y, z), create_graph=True)
            return m.autograd.grad(sum((g * g).sum() for g in first), (x, y, z))

        return run

    x, y, z = randoms((3,), (2, 4), (3, 4))
    for expression in ("F.linear(y, z, x)", "m.addmm(x, y, z.t(), beta=2, alpha=3)", "(y @ z.t().contiguous()) * x",
                       "m.einsum('ij,kj,k->ik', y, z, x)", "m.tensordot(y, z, ([1], [1])) * x", "y @ z.t() * x"):
        for layout in LAYOUTS[:2]:
            assert_same(second(expression), *[np.asarray(a, order="F" if layout == "transposed" else "C")
                                              for a in (x, y, z)], graph=False)


ERRORS = expressions(
    "x.mm(x); x.mm(v); x.mm(x.t().float()); x.mm(i.t()); b.mm(b.t()); x.mm(3); m.mm(x, c); x.mv(x); x.mv(w); "
    "x.mv(v.float()); v.dot(w); v.dot(x); v.dot(v.float()); v.bmm(v); c.bmm(c); c.bmm(c.mT.float()); b.mv(b[0]); "
    "b[0].dot(b[0]); x @ v[0]; x @ w; x @ x; c @ x; c @ w; v @ x; x @ i.t(); x @ 3; b @ b.t(); c @ c; m.vdot(v, w); "
    "m.inner(v, w); m.inner(x, w); m.inner(x, i); m.outer(v, x); m.outer(x, v); m.addmm(x, x, x.t()); "
    "m.addmm(v, x, x.t()); m.addmm(c, x, x.t()); m.addmm(w, x, x); m.addmm(w, x, v); m.addmm(w.float(), x, x.t()); "
    "m.addmm(w, x, x.t().float()); m.addmm(b[:, :3], b, b.t()); m.addmv(v, x, v); m.addmv(w, x, w); "
    "m.addmv(x, x, v); m.addmv(w, v, v); m.addmv(w, x, x); m.addmv(w.float(), x, v); m.addbmm(x, c, c.mT); "
    "m.baddbmm(x, c, c); m.baddbmm(x, c, c.mT); m.baddbmm(w.float(), c, c.mT); m.addr(x, v, v); m.addr(x, x, v); "
    "m.addr(i, i[0][:3], i[0], alpha=1.5); m.addr(c, w, v); F.linear(x, w); F.linear(v, w); F.linear(x, x, v); "
    "F.linear(x, x, w[:2]); F.linear(x, i); F.linear(x, x, w.float()); F.linear(x, c); F.linear(v[0], x); "
    "F.linear(x, v[0]); F.linear(x, v, w); m.tensordot(x, x, 1); m.tensordot(x, x, 3); m.tensordot(x, x, -1); "
    "m.tensordot(x, x, ([0], [0, 1])); m.tensordot(x, x, ([0], [1])); m.tensordot(x, x, ([5], [0])); "
    "m.tensordot(x, i, 2); m.chain_matmul(); m.chain_matmul(x, v); m.chain_matmul(x, x); m.einsum('ij,jk', x); "
    "m.einsum('ij', x, x); m.einsum('ij->k', x); m.einsum('ij->ii', x); m.einsum('ijk', x); m.einsum('i', x); "
    "m.einsum('ij,jk->ik', x, x); m.einsum('ii', x); m.einsum('i1', x); m.einsum('i...j...', x); m.einsum('i.j', x); "
    "m.einsum('ij->i->j', x); m.einsum('ij-i', x); m.einsum(x, [60, 0]); m.einsum(x, [0, 1], [5]); "
    "m.einsum('ij,j', x, v.float()); m.einsum(); m.einsum('ij'); m.einsum(x); m.einsum('ij,jk', x, 3); "
    "m.einsum(3, x); m.einsum('ij,jk->ik', b, b.t()); m.einsum('ii->', c); m.einsum('i.', v); m.einsum('i....', v); "
    "m.einsum(x, [..., ...]); m.einsum(x, [0, 1], [..., ..., 0]); m.einsum(x, [0.0, 1])"
)


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression):
    import torch

    import numgrad

    caught = []
    for m in (torch, numgrad):
        names = {
            "m": m, "F": m.nn.functional,
            "x": m.ones(3, 4, dtype=m.float64), "v": m.ones(4, dtype=m.float64), "w": m.ones(3, dtype=m.float64),
            "i": m.arange(12).view(3, 4), "b": m.arange(12).view(3, 4) > 3, "c": m.ones(2, 3, 4, dtype=m.float64),
        }
        with pytest.raises(Exception) as error:  # noqa: PT011 - of any kind, as long as both are the same
            eval(expression, names)
        caught.append(error)
    assert caught[1].type is caught[0].type
    known = str(caught[0].value).split("\n")[0].split(" (position")[0]
    assert words(known)[:3] == words(str(caught[1].value))[:3]


def words(message):
    return [word.strip(".,:`'()") for word in message.split()]


# -- einsum -------------------------------------------------------------------------------------------------------

EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 2)), ("ij,jk->ki", (3, 4), (4, 2)), ("ij,jk", (3, 4), (4, 2)), ("ij->ji", (3, 4)),
    ("ij->", (3, 4)), ("ij->j", (3, 4)), ("ij", (3, 4)), ("ba", (3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)),
    ("iij->ij", (3, 3, 2)), ("ijij->ij", (2, 3, 2, 3)), ("i,i", (4,), (4,)), ("i,j->ij", (3,), (4,)),
    ("i,j->ji", (3,), (4,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bij,bjk->bki", (2, 3, 4), (2, 4, 5)),
    ("bij,bjk->ibk", (2, 3, 4), (2, 4, 5)), ("bij,bjk->kbi", (2, 3, 4), (2, 4, 5)),
    ("bij,bjk->ikb", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk", (2, 3, 4), (2, 4, 5)), ("...ij,...jk->...ik", (3, 4), (2, 4, 5)),
    ("...ij,jk", (2, 1, 3, 4), (4, 5)),
    ("i...,...j->...ij", (2, 3), (3, 4)), ("...,...", (2, 3), (3,)), ("...", (2, 3)), ("...->...", (2, 3)),
    ("i...->...", (2, 3)), ("i...->i", (2, 3)), ("...ab->ab...", (2, 3, 4)), ("ij,j", (3, 4), (4,)),
    ("ij,ij->ij", (3, 4), (3, 4)), ("ij,ij->", (3, 4), (3, 4)), ("ij,ij->i", (3, 4), (3, 4)),
    ("ij,kj->ik", (3, 4), (3, 1)),
    ("ij,ij->ij", (3, 4), (1, 4)), ("ij,kj->ik", (3, 1), (2, 4)), ("bA,cA->Abc", (3, 4), (2, 4)),
    ("bA,aA", (3, 4), (2, 4)),
    ("abc,cd,d->ab", (2, 3, 4), (4, 2), (2,)), ("i,ij,j->", (3,), (3, 4), (4,)),
    ("ij,jk,kl->il", (3, 4), (4, 2), (2, 5)),
    ("a,b,c->abc", (2,), (3,), (4,)), ("a,b,c->cab", (2,), (3,), (4,)), ("abc,abd->cd", (2, 3, 4), (2, 3, 5)),
    ("aij,bjk->aibk", (2, 3, 4), (3, 4, 5)), ("aij,bjk->bkai", (2, 3, 4), (3, 4, 5)),
    ("aij,bjk->baki", (2, 3, 4), (3, 4, 5)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)), ("ij,,jk", (3, 4), (), (4, 2)),
    (" i j , j k -> i k ", (3, 4), (4, 2)), ("", ()), ("->", ()), (",->", (), ()), ("ab,b->...a", (3, 4), (4,)),
    ("ab->...", (3, 4)), ("ab,cd->", (2, 3), (4, 2)), ("bn,anm,bm->ba", (2, 3), (5, 3, 4), (2, 4)),
    ("ij,jk", (3, 0), (0, 2)),
    ("bij,bjk->bik", (0, 3, 4), (0, 4, 5)), ("ijk->kij", (2, 3, 4)), ("a,a,a->a", (3,), (3,), (3,)),
    ("a,a,a->", (3,), (3,), (3,)), ("ab,ac,ad->bcd", (2, 3), (2, 4), (2, 2)), ("i...,i...->i...", (3, 4), (3, 1)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(equation, shapes) for equation, *shapes in EINSUMS], ids=str)
def test_einsum(equation, shapes):
    names = ", ".join("xyz"[: len(shapes)])
    call = f"m.einsum({equation!r}, {names})"
    for layout in LAYOUTS:
        assert_same(program(call), *randoms(*shapes, layout=layout))
        assert_same(program(call.replace("x", "x.detach()")), *randoms(*shapes, layout=layout))
    assert_same(program(f"m.einsum({equation!r}, [{names}])"), *randoms(*shapes, dtype="float32"))
    assert_same(program(call), *integers(*shapes))


LISTS = expressions(
    "m.einsum(x, [0, 1], y, [1]); m.einsum(x, [0, 1], y, [1], [0]); m.einsum(x, [1, 0]); m.einsum(x, [51, 0]); "
    "m.einsum(x, [0, Ellipsis], y, [Ellipsis], [0, Ellipsis]); m.einsum(x, [...], y, [...]); m.einsum(x, [30, 2], [])"
)


@pytest.mark.parametrize("expression", LISTS)
def test_einsum_by_numbers(expression):
    assert_same(program(expression), *randoms((3, 4), (4,)))


@pytest.mark.parametrize("program", [
    lambda m, x, y, v: m.linalg.vecdot(x, y), lambda m, x, y, v: m.linalg.vecdot(x, v[:, None], dim=0),
    lambda m, x, y, v: m.linalg.cross(x, y), lambda m, x, y, v: m.linalg.cross(x, y, dim=0),
    lambda m, x, y, v: m.linalg.diagonal(x), lambda m, x, y, v: m.linalg.diagonal(x, offset=1, dim1=1, dim2=0),
    lambda m, x, y, v: m.linalg.matmul(x, v), lambda m, x, y, v: m.linalg.matrix_power(x, 3),
    lambda m, x, y, v: m.linalg.multi_dot([x, y]), lambda m, x, y, v: m.linalg.multi_dot((v, x, y[:, :1], v[:1])),
    lambda m, x, y, v: m.linalg.multi_dot([v, v]), lambda m, x, y, v: m.linalg.multi_dot([x, y[:, :2], x[:2]]),
    lambda m, x, y, v: m.linalg.multi_dot([x]), lambda m, x, y, v: m.linalg.multi_dot([x, v, y]),
    lambda m, x, y, v: m.linalg.cross(x, y[:, :2]),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_of_linalg(program, dtype):
    assert_same(program, *randoms((3, 3), (3, 3), (3,), dtype=dtype), graph=False)
