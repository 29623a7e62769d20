"""Matrix products and contractions through their public functions, against NumPy's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad.nn.functional import linear


def arrays(*shapes, seed=0):
    random = np.random.default_rng(seed)
    return [np.asarray(random.integers(-4, 5, shape), np.float64) for shape in shapes]


def tensors(*shapes, requires_grad=False):
    made = [numgrad.from_numpy(array) for array in arrays(*shapes)]
    return [tensor.requires_grad_() for tensor in made] if requires_grad else made


MATMULS = [
    ((4,), (4,)), ((4,), (4, 2)), ((3, 4), (4,)), ((3, 4), (4, 2)), ((2, 3, 4), (4,)), ((2, 3, 4), (4, 2)),
    ((4,), (2, 4, 3)), ((3, 4), (2, 4, 3)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((2, 3, 4), (1, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)), ((5, 1, 3, 4), (4,)), ((2, 0, 4), (4, 3)), ((0, 3, 4), (0, 4, 2)), ((2, 3, 0), (0, 2)),
]


@pytest.mark.parametrize(("left", "right"), MATMULS)
def test_matmul_with_and_without_gradients(left, right):
    x, y = arrays(left, right)
    expected = x @ y
    for needed in ((False, False), (True, False), (False, True), (True, True)):
        a, b = numgrad.from_numpy(x.copy()), numgrad.from_numpy(y.copy())
        a.requires_grad, b.requires_grad = needed
        out = a @ b
        assert out.shape == expected.shape
        assert np.array_equal(out.detach().numpy(), expected)
        if any(needed):
            out.sum().backward()
            for tensor, other, need in ((a, b, needed[0]), (b, a, needed[1])):
                assert (tensor.grad is not None) == need
                assert not need or tensor.grad.shape == tensor.shape
                assert other.shape == (right if other is b else left)


def test_the_gradient_of_a_transposed_weight_lies_as_the_weight():
    x, weight, bias = tensors((5, 4), (3, 4), (3,), requires_grad=True)
    linear(x, weight, bias).sum().backward()
    assert weight.grad.is_contiguous()
    assert np.array_equal(weight.grad.numpy(), np.broadcast_to(x.detach().numpy().sum(0), (3, 4)))


OTHERS = [
    ("inner", np.inner, [(4,), (4,)]), ("inner", np.inner, [(2, 3, 4), (5, 4)]), ("inner", np.inner, [(), (3,)]),
    ("outer", np.outer, [(3,), (4,)]), ("kron", np.kron, [(2, 3), (3, 2)]), ("kron", np.kron, [(3,), (2, 2)]),
    ("vdot", np.vdot, [(4,), (4,)]),
    ("chain_matmul", lambda *m: np.linalg.multi_dot(m), [(3, 4), (4, 2), (2, 5), (5, 3)]),
]


@pytest.mark.parametrize(("name", "reference", "shapes"), OTHERS)
def test_products(name, reference, shapes):
    given = arrays(*shapes)
    result = getattr(numgrad, name)(*map(numgrad.from_numpy, given))
    expected = reference(*given)
    assert result.shape == expected.shape
    assert np.array_equal(result.numpy(), expected)


@pytest.mark.parametrize(("left", "right", "dims"), [
    ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4,), 0), ((2, 3, 4), (4, 2), ([2, 0], [0, 1])), ((2, 3), (3,), ([-1], [0])),
])
def test_tensordot(left, right, dims):
    x, y = arrays(left, right)
    result = numgrad.tensordot(numgrad.from_numpy(x), numgrad.from_numpy(y), dims)
    assert np.array_equal(result.numpy(), np.tensordot(x, y, dims))


def test_kron_of_what_does_not_lie_in_order():
    x, y = arrays((2, 3), (4, 2))
    result = numgrad.kron(numgrad.from_numpy(x).t(), numgrad.from_numpy(y).t())
    assert np.array_equal(result.numpy(), np.kron(x.T, y.T))


LINEAR = [((4,), (3, 4), (3,)), ((2, 4), (3, 4), (3,)), ((2, 5, 4), (3, 4), (3,)), ((2, 4), (3, 4), ()),
          ((4,), (4,), ()), ((0, 4), (3, 4), (3,)), ((2, 0), (3, 0), (3,))]


@pytest.mark.parametrize(("input", "weight", "bias"), LINEAR)
def test_the_linear_layer(input, weight, bias):
    x, w, b = arrays(input, weight, bias)
    given = [numgrad.from_numpy(array) for array in (x, w, b)]
    assert np.array_equal(linear(*given[:2]).numpy(), x @ w.T)
    assert np.array_equal(linear(*given).numpy(), x @ w.T + b)


def test_integers_and_other_dtypes():
    x, y = arrays((3, 4), (4, 2))
    for kind in (np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.complex64, np.complex128):
        a, b = (np.abs(array).astype(kind) for array in (x, y))
        for result in (numgrad.from_numpy(a) @ numgrad.from_numpy(b),
                       numgrad.bmm(numgrad.from_numpy(a)[None], numgrad.from_numpy(b)[None])[0]):
            assert result.numpy().dtype == kind
            assert np.array_equal(result.numpy(), a @ b)


def test_a_factor_of_zero_leaves_out_what_it_multiplies():
    x, y = tensors((3, 4), (4, 2))
    nothing = numgrad.full((3, 2), float("nan"), dtype=numgrad.float64)
    assert np.array_equal(numgrad.addmm(nothing, x, y, beta=0).numpy(), (x @ y).numpy())
    assert np.array_equal(numgrad.addmm(nothing, x, y, beta=0, alpha=2).numpy(), 2 * (x @ y).numpy())
    assert np.array_equal(numgrad.addr(nothing, x[:, 0], y[0], beta=0).numpy(), np.outer(x[:, 0], y[0]))


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 2)), ("ij,jk->ki", (3, 4), (4, 2)), ("ij,jk", (3, 4), (4, 2)), ("ba", (3, 4)),
    ("ij->", (3, 4)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ijij->ij", (2, 3, 2, 3)), ("i,j->ji", (3,), (4,)),
    ("...ij,...jk", (2, 3, 4), (4, 5)), ("i...->...", (2, 3)), ("...,...", (2, 3), (3,)),
    ("ij,kj->ik", (3, 4), (3, 1)), ("abc,cd,d->ab", (2, 3, 4), (4, 2), (2,)), ("a,b,c->cab", (2,), (3,), (4,)),
    ("aij,bjk->baki", (2, 3, 4), (3, 4, 5)), ("ij,,jk", (3, 4), (), (4, 2)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), ("ij,jk", (3, 0), (0, 2)),
    ("ab,ac,ad->bcd", (2, 3), (2, 4), (2, 2)), ("bA,aA", (3, 4), (2, 4)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(equation, shapes) for equation, *shapes in EINSUMS])
def test_einsum(equation, shapes):
    given = arrays(*shapes)
    result = numgrad.einsum(equation, *map(numgrad.from_numpy, given))
    expected = np.einsum(equation, *given)
    assert result.shape == expected.shape
    assert np.array_equal(result.numpy(), expected)


@pytest.mark.parametrize(("equation", "shapes"), [(equation, shapes) for equation, *shapes in EINSUMS])
def test_einsum_gives_the_same_whether_it_is_recorded_or_not(equation, shapes):
    operands = tensors(*shapes, requires_grad=True)
    recorded = numgrad.einsum(equation, *operands)
    with numgrad.no_grad():
        result = numgrad.einsum(equation, *operands)
    assert np.array_equal(result.detach().numpy(), recorded.detach().numpy())
    assert (result.shape, result.stride()) == (recorded.shape, recorded.stride())


def test_einsum_without_recording_moves_no_dimensions_that_are_in_order():
    x, y = tensors((3, 4), (4, 2))
    with numgrad.profiler.profile() as profile:
        numgrad.einsum("ij,jk->ik", x, y)
    assert [row.count for row in profile.key_averages() if row.key == "aten::bmm"] == [1]
    assert not [row.key for row in profile.key_averages() if "permute" in row.key]


def test_one_equation_for_operands_of_many_shapes():
    sizes = [(3, 4, 4, 2), (3, 4, 1, 2), (3, 1, 4, 2), (1, 1, 1, 1), (3, 0, 0, 2), (3, 0, 1, 2)]
    for n, k, j, m in sizes * 2:
        x, y = arrays((n, k), (j, m))
        result = numgrad.einsum("ij,jk->ik", numgrad.from_numpy(x), numgrad.from_numpy(y))
        assert np.array_equal(result.numpy(), np.einsum("ij,jk->ik", x, y))
        with pytest.raises(RuntimeError, match="subscript j has size 5 for operand 1"):
            numgrad.einsum("ij,jk->ik", numgrad.ones(3, 4), numgrad.ones(5, 2))


def test_one_equation_in_several_threads():
    def products(seed):
        for size in range(1, 40):
            x, y = arrays((size, 3), (3, seed + 1), seed=seed)
            result = numgrad.einsum("ab,bc->ca", numgrad.from_numpy(x), numgrad.from_numpy(y))
            assert np.array_equal(result.numpy(), (x @ y).T)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(products, [0, 1, 0, 1]))


def test_einsum_by_numbers():
    x, y = tensors((3, 4), (4,))
    assert np.array_equal(numgrad.einsum(x, [0, 1], y, [1], [0]).numpy(), x.numpy() @ y.numpy())
    assert np.array_equal(numgrad.einsum(x, [0, ...], [..., 0]).numpy(), x.numpy().T)


def test_numbers_of_einsum_are_integers():
    (x,) = tensors((3, 4))
    for numbers in [1, 0], [True, False], [np.int64(1), np.int64(0)]:
        assert np.array_equal(numgrad.einsum(x, numbers).numpy(), x.numpy().T)
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            numgrad.einsum(x, [float(number) for number in numbers])


@pytest.mark.parametrize(
    "function",
    [lambda x, y, z: numgrad.einsum("ij,kj,k->ik", x, y, z), lambda x, y, z: linear(x, y, z),
     lambda x, y, z: numgrad.addmm(z, x, y.t(), beta=2, alpha=3), lambda x, y, z: (x @ y.t().contiguous()) @ z,
     lambda x, y, z: numgrad.tensordot(x, y, ([1], [1])) * z, lambda x, y, z: numgrad.kron(x, z)],
)
def test_derivatives(function):
    check_gradients(function, *tensors((2, 4), (3, 4), (3,), requires_grad=True))


ERRORS = [
    (lambda x, v, c: x @ x, RuntimeError, "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)"),
    (lambda x, v, c: x.mm(v), RuntimeError, "mat2 must be a matrix, got 1-D tensor"),
    (lambda x, v, c: x.mm(x.t().float()), RuntimeError, "same dtype, but got: double != float"),
    (lambda x, v, c: x.mv(v[:3]), RuntimeError, "size mismatch, got input (3), mat (3x4), vec (3)"),
    (lambda x, v, c: v.dot(v[:3]), RuntimeError, "expected tensor [4] and src [3]"),
    (lambda x, v, c: c.bmm(c), RuntimeError, "Expected size for first two dimensions of batch2 tensor to be: [2, 4]"),
    (lambda x, v, c: x @ v[0], RuntimeError, "need to be at least 1D, but they are 2D and 0D"),
    (lambda x, v, c: (x > 0) @ (x > 0).t(), NotImplementedError, "not implemented for 'Bool'"),
    (lambda x, v, c: numgrad.addmm(v, x, x.t()), RuntimeError, "must match the existing size (4)"),
    (lambda x, v, c: numgrad.outer(x, v), RuntimeError, "Expected 1-D argument self, but got 2-D"),
    (lambda x, v, c: linear(v[0], x), RuntimeError, "both arguments to linear need to be at least 1D"),
    (lambda x, v, c: numgrad.tensordot(x, x, ([1, 1], [1, -1])), RuntimeError, "dim 1 appears multiple times"),
    (lambda x, v, c: numgrad.tensordot(x, x, 1), RuntimeError, "first has size 4 in dim -1 and second has size 3"),
    (lambda x, v, c: numgrad.einsum("ij,jk", x), RuntimeError, "fewer operands were provided"),
    (lambda x, v, c: numgrad.einsum("ij->ii", x), RuntimeError, "output subscript i appears more than once"),
    (lambda x, v, c: numgrad.einsum("ij->k", x), RuntimeError, "output subscript k does not appear"),
    (lambda x, v, c: numgrad.einsum("i1", x), RuntimeError, "invalid subscript given at index 1"),
    (lambda x, v, c: numgrad.einsum("ii", x), RuntimeError, "sizes don't match, 4 != 3"),
    (lambda x, v, c: numgrad.einsum("ij,jk", x, x), RuntimeError, "subscript j has size 3 for operand 1"),
    (lambda x, v, c: numgrad.einsum(x, [60, 0]), ValueError, "not within the valid range [0, 52)"),
    (lambda x, v, c: numgrad.einsum("ij->i.j", x), RuntimeError, "for output that is not part of any ellipsis (...)"),
    (lambda x, v, c: numgrad.einsum("ij->......", x), RuntimeError,
     "for output but an ellipsis (...) was already found"),
    (lambda x, v, c: numgrad.einsum("i.j", x), RuntimeError, "for operand 0 that is not part of any ellipsis"),
    (lambda x, v, c: numgrad.einsum(x, [..., ...]), RuntimeError, "for which an ellipsis was already found"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, words = ERRORS[number]
    with pytest.raises(kind) as caught:
        call(*tensors((3, 4), (4,), (2, 3, 4)))
    assert words in str(caught.value)


@pytest.mark.parametrize("factors", [{"alpha": 1.5}, {"beta": 2.7}, {"alpha": 2.9, "beta": 0.5}], ids=str)
@pytest.mark.parametrize(("name", "shapes"), [
    ("addmm", [(2, 2), (2, 3), (3, 2)]), ("addmv", [(2,), (2, 3), (3,)]),
    ("addbmm", [(2, 2), (2, 2, 3), (2, 3, 2)]), ("baddbmm", [(2, 2, 2), (2, 2, 3), (2, 3, 2)]),
])
def test_integers_cut_factors_off_under_vmap_too(name, shapes, factors):
    function = lambda *given: getattr(numgrad, name)(*given, **factors)  # noqa: E731
    given = [numgrad.arange(numgrad.zeros(shape).numel()).reshape(shape) + 1 for shape in shapes]
    expected = function(*given)
    for position, one in enumerate(given):
        batches = [*given[:position], numgrad.stack([one, one]), *given[position + 1 :]]
        found = numgrad.vmap(function, tuple([0 if n == position else None for n in range(3)]))(*batches)
        assert (found.dtype, found.tolist()) == (numgrad.int64, [expected.tolist()] * 2)


@pytest.mark.parametrize("name", ["addbmm", "addmm", "addmv", "addr", "baddbmm", "cumsum", "cumprod"])
def test_in_place(name):
    a, v, b = numgrad.arange(4.0).reshape(2, 2), numgrad.tensor([2.0, 3.0]), numgrad.arange(8.0).reshape(2, 2, 2)
    target, others = {
        "addbmm": (a, (b, b)), "addmm": (a, (a + 1, a)), "addmv": (v, (a, v)), "addr": (a, (v, v)),
        "baddbmm": (b, (b, b)),
    }.get(name, (a, (0,)))
    expected = getattr(target, name)(*others)
    changed = target.clone()
    assert getattr(changed, f"{name}_")(*others) is changed
    assert numgrad.equal(changed, expected)
    start = target.clone().requires_grad_()
    grown = start * 1
    getattr(grown, f"{name}_")(*others).sum().backward()
    (slope,) = numgrad.autograd.grad(getattr(start, name)(*others).sum(), start)
    assert numgrad.equal(start.grad, slope)


def test_results_that_do_not_fit_in_place():
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[2, 2\]"):
        numgrad.zeros(2).addmm_(numgrad.ones(2, 2), numgrad.ones(2, 2))


def test_addr_of_bools():
    x = numgrad.tensor([[False, True, True], [False, True, True]])
    rows, columns = numgrad.tensor([True, False]), numgrad.tensor([True, True, False])
    assert numgrad.addr(x, rows, columns).tolist() == [[True, True, True], [False, True, True]]
    assert numgrad.addr(x, rows, columns, beta=0).tolist() == [[True, True, False], [False, False, False]]
    assert numgrad.addr(x, rows, columns, alpha=False).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="beta must not be a floating point number"):
        numgrad.addr(x, rows, columns, beta=0.5)


@pytest.mark.parametrize("part", ["whole", "rows", "columns", "gaps"])
def test_a_linear_layer_is_the_same_where_nothing_is_recorded(part):
    every = slice(None)
    of = {"whole": (), "rows": slice(1, 3), "columns": (every, slice(1, 4)), "gaps": (every, slice(0, 5, 2))}
    random = np.random.default_rng(0)
    weight = numgrad.from_numpy(random.normal(size=(4, 5)).astype("f4"))[of[part]]
    rows = numgrad.from_numpy(random.normal(size=(3, weight.shape[1])).astype("f4"))
    for bias in (None, numgrad.arange(4.0)[: len(weight)], numgrad.arange(8.0)[::2][: len(weight)], numgrad.ones(1)):
        found = linear(rows, weight, bias)
        recorded = linear(rows, weight.detach().requires_grad_(), bias)
        assert recorded.requires_grad
        assert not found.requires_grad
        assert found.tolist() == recorded.tolist()


def test_addbmm_in_place_takes_the_shape_of_the_result():
    leaf = numgrad.ones((), requires_grad=True)
    x = leaf.clone()
    assert x.addbmm_(numgrad.ones(2, 1, 3), numgrad.ones(2, 3, 2)) is x
    assert x.tolist() == [[7, 7]]
    x.sum().backward()
    assert leaf.grad.item() == 2
    with pytest.raises(RuntimeError, match="doesn't match"):
        numgrad.ones(2)[0].addbmm_(numgrad.ones(2, 1, 3), numgrad.ones(2, 3, 2))  # a view
