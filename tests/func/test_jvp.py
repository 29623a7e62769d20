"""``func.jvp`` and ``linearize``: products of Jacobians with vectors, going forward and by a linear function."""

import pytest

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.func import grad, jvp, linearize


def forward(func, primals, tangents):
    return jvp(func, primals, tangents)


def linear(func, primals, tangents):
    value, product = linearize(func, *primals)
    return value, product(*tangents)


WAYS = pytest.mark.parametrize("way", [forward, linear])


@WAYS
def test_value_and_product(x, way):
    value, product = way(lambda a: a * a, (x,), (x,))
    assert value.tolist() == [1, 4, 9]
    assert product.tolist() == [2, 8, 18]


@WAYS
def test_structures(x, way):
    primals, tangents = ({"a": x, "b": [x + 1]}, x), ({"a": x, "b": [ones(3)]}, zeros(3))
    value, product = way(lambda d, c: [d["a"] * d["b"][0], {"c": c.sum()}], primals, tangents)
    assert value[0].tolist() == (x * (x + 1)).tolist()
    assert product[0].tolist() == (x * (x + 1) + x).tolist()
    assert product[1]["c"].item() == 0


@WAYS
def test_results_independent_of_the_primals_have_zero_tangents(x, way):
    value, product = way(lambda a: (ones(2), a, a.long()), (x,), (x,))
    assert value[0].tolist() == [1, 1]
    assert product[0].tolist() == [0, 0]
    assert product[1].tolist() == [1, 2, 3]
    assert product[2].dtype is value[2].dtype is numgrad.int64
    assert product[2].tolist() == [0, 0, 0]


@WAYS
def test_results_are_in_the_callers_graph_or_in_none(x, w, way):
    value, product = way(lambda a: a * a, (x,), (x,))
    assert not value.requires_grad
    assert not product.requires_grad
    value, product = way(lambda a: a * a * w, (x,), (x,))
    assert numgrad.autograd.grad((value + product).sum(), w)[0].tolist() == [3, 12, 27]
    value, product = way(lambda a: a * a, (x,), (w,))
    assert not value.requires_grad
    assert numgrad.autograd.grad(product.sum(), w)[0].tolist() == [2, 4, 6]
    a = x.clone().requires_grad_()
    value, product = way(lambda a: a * a, (a,), (x,))
    assert numgrad.autograd.grad((value + product).sum(), a)[0].tolist() == [4, 8, 12]
    with numgrad.no_grad():
        value, product = way(lambda a: a * a * w, (x,), (w,))
    assert product.tolist() == [32, 100, 216]
    assert not value.requires_grad
    assert not product.requires_grad


@WAYS
def test_in_a_gradient(x, way):
    ones_ = ones(3)
    assert grad(lambda a: way(lambda b: b**3, (a,), (ones_,))[1].sum())(x).tolist() == [6, 12, 18]
    assert grad(lambda v: way(lambda b: b**3, (x,), (v,))[1].sum())(ones_).tolist() == [3, 12, 27]


@WAYS
def test_of_a_gradient(x, way):
    value, product = way(grad(lambda a: (a**3).sum()), (x,), (ones(3),))
    assert value.tolist() == [3, 12, 27]
    assert product.tolist() == [6, 12, 18]


@WAYS
def test_one_in_the_other(x, way):
    once = lambda a: way(lambda b: b**3, (a,), (ones(3),))[1]  # noqa: E731
    value, product = way(once, (x,), (ones(3),))
    assert value.tolist() == [3, 12, 27]
    assert product.tolist() == [6, 12, 18]


@WAYS
def test_each_level_has_its_own_derivative(way):
    one, s = tensor(1.0), tensor(3.0)
    inner = lambda f: way(f, (one,), (one,))[1]  # noqa: E731
    assert way(lambda a: a * inner(lambda b: a + b), (s,), (one,))[1].item() == 1
    assert way(lambda a: a * inner(lambda b: a * b), (s,), (one,))[1].item() == 6


def test_linearize_calls_the_function_once(x):
    calls = []
    _, product = linearize(lambda a: calls.append(1) or a * a, x)
    assert product(x).tolist() == [2, 8, 18]
    assert product(ones(3)).tolist() == [2, 4, 6]
    assert len(calls) == 1


def test_a_product_with_the_hessian_that_can_be_differentiated_by_the_vector(x, w):
    _, product = jvp(grad(lambda a: (a**3).sum()), (x,), (w,))
    assert product.tolist() == [24, 60, 108]
    assert numgrad.autograd.grad(product.sum(), w)[0].tolist() == [6, 12, 18]


def test_auxiliary_outputs(x):
    value, product, aux = jvp(lambda a: (a * 2, [a * 3]), (x,), (x,), has_aux=True)
    assert value.tolist() == product.tolist() == [2, 4, 6]
    assert aux[0].tolist() == [3, 6, 9]


def test_where_a_standard_deviation_is_0_so_is_its_tangent():
    for data in ([3.0], [3.0, 3.0]):
        x = tensor(data)
        assert [one.item() for one in jvp(lambda x: x.std(correction=0), (x,), (numgrad.ones_like(x),))] == [0, 0]
        assert jvp(lambda x: numgrad.std_mean(x, correction=0), (x,), (x,))[1][0].item() == 0


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("f", [
    numgrad.mean, numgrad.median, numgrad.std, lambda x: x.var(0), lambda x: numgrad.cat(numgrad.var_mean(x[None], 1)),
    lambda x: numgrad.stack(numgrad.std_mean(x)),
])
def test_reductions_of_empty_tensors_have_tangent_0_and_gradient_0(f):
    x = ones(2)
    value, tangent = jvp(lambda x: f(x[:0]), (x,), (x,))
    assert value.isnan().all()
    assert tangent.tolist() == numgrad.zeros_like(value).tolist()
    assert grad(lambda x: f(x[:0]).sum())(x).tolist() == [0, 0]


def test_no_grad_inside_does_not_concern_forward_mode(x):
    def f(a):
        with numgrad.no_grad():
            c = a * a
        return a * c

    assert jvp(f, (x,), (ones(3),))[1].tolist() == [3, 12, 27]


ERRORS = {
    "no tuple": (lambda x: jvp(lambda a: a, x, x), RuntimeError, "Expected primals to be a tuple"),
    "structure": (
        lambda x: jvp(lambda a: a, (x,), (x, x)), RuntimeError, r"primals with structure \(\*,\) and .* \(\*, \*\)"
    ),
    "nothing": (lambda x: jvp(lambda: x, (), ()), RuntimeError, "primals to contain at least one Tensor"),
    "primal": (lambda x: jvp(lambda a: x, (1.0,), (x,)), RuntimeError, "primals to only contain Tensors, got .*float"),
    "tangent": (lambda x: jvp(lambda a: x, (x,), (1.0,)), RuntimeError, "tangents to only contain Tensors, got"),
    "shape": (lambda x: jvp(lambda a: a, (x,), (x[:2],)), RuntimeError, "different size than that of the original"),
    "integers": (lambda x: jvp(lambda a: a, (x.long(),), (x,)), ValueError, "Expected primal to be floating point"),
    "output": (lambda x: jvp(lambda a: (a, 1.0), (x,), (x,)), RuntimeError, "only tensors, got .*float"),
    "no outputs": (lambda x: jvp(lambda a: (), (x,), (x,)), RuntimeError, "non-empty output"),
    "no pair": (lambda x: jvp(lambda a: a, (x,), (x,), has_aux=True), RuntimeError, "if has_aux is True"),
    "aux": (lambda x: jvp(lambda a: (a, 1), (x,), (x,), has_aux=True), RuntimeError, "Expected tensors, got .*int"),
    "strict": (
        lambda x: jvp(lambda a: (a, ones(1)), (x,), (x,), strict=True), RuntimeError, "independent of the inputs"
    ),
    "structure of linearize": (
        lambda x: linearize(lambda a: a, x)[1](x, x), RuntimeError, r"tangents \(\*, \*\) .* primals \(\*,\)"
    ),
    "shape of linearize": (lambda x: linearize(lambda a: a, x)[1](x[0]), RuntimeError, "tangent:0 with shape"),
    "dtype of linearize": (lambda x: linearize(lambda a: a, x)[1](x.double()), RuntimeError, "tangent:0 with dtype"),
    "output of linearize": (lambda x: linearize(lambda a: 1.0, x), RuntimeError, "only tensors, got .*float"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(x, case):
    call, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        call(x)
    assert jvp(lambda a: a * 2, (x,), (x,))[1].tolist() == [2, 4, 6]  # no level is left open
