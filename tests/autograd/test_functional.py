"""``autograd.functional``: products with Jacobians and Hessians, and these themselves, against formulas."""

import pytest

from numgrad import eye, ones, tensor, zeros
from numgrad.autograd import grad
from numgrad.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from numgrad.func import vmap

M = tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])


@pytest.fixture
def x():
    return tensor([1.0, 2.0])


def linear(x):
    return M @ x


def cubes(x):
    return (x**3).sum()


WAYS = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]


# -- values -------------------------------------------------------------------------------------------------


def test_products_with_the_jacobian_of_a_linear_function(x):
    v = tensor([1.0, 10.0, 100.0])
    output, product = vjp(linear, x, v)
    assert output.tolist() == (M @ x).tolist()
    assert product.tolist() == (v @ M).tolist()
    output, product = jvp(linear, x, tensor([1.0, 10.0]))
    assert output.tolist() == (M @ x).tolist()
    assert product.tolist() == (M @ tensor([1.0, 10.0])).tolist()


def test_products_with_the_hessian(x):
    v = tensor([1.0, 10.0])
    for product in (vhp, hvp):
        value, result = product(cubes, x, v)
        assert value.item() == 9
        assert result.tolist() == [6, 120]


@pytest.mark.parametrize("ways", WAYS)
def test_the_jacobian_of_a_linear_function_is_its_matrix(x, ways):
    assert jacobian(linear, x, **ways).tolist() == M.tolist()


@pytest.mark.parametrize("ways", WAYS)
def test_shapes_are_those_of_output_and_input(ways):
    result = jacobian(lambda a, b: (a.sum(), a[0] * b), (ones(2), ones(3, 1)), **ways)
    assert [[tuple(part.shape) for part in row] for row in result] == [[(2,), (3, 1)], [(3, 1, 2), (3, 1, 3, 1)]]
    assert isinstance(result, tuple)
    assert isinstance(result[0], tuple)
    assert result[0][0].tolist() == [1, 1]
    assert result[0][1].tolist() == [[0], [0], [0]]
    assert result[1][0][:, 0].tolist() == [[1, 0], [1, 0], [1, 0]]
    assert result[1][1].reshape(3, 3).tolist() == eye(3).tolist()


@pytest.mark.parametrize("ways", WAYS)
def test_a_scalar_has_a_jacobian_without_dimensions(ways):
    result = jacobian(lambda a: a**2, tensor(3.0), **ways)
    assert result.shape == ()
    assert result.item() == 6


@pytest.mark.parametrize("ways", WAYS)
def test_an_input_without_elements(ways):
    assert jacobian(lambda a: a.sum() + ones(2), zeros(0), **ways).shape == (2, 0)


@pytest.mark.parametrize(
    "ways", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_the_hessian(x, ways):
    assert hessian(cubes, x, **ways).tolist() == [[6, 0], [0, 12]]
    (aa, ab), (ba, bb) = hessian(lambda a, b: (a**2 * b).sum(), (x, x), **ways)
    assert aa.tolist() == [[2, 0], [0, 4]]
    assert ab.tolist() == ba.tolist() == [[2, 0], [0, 4]]
    assert bb.tolist() == [[0, 0], [0, 0]]


def test_dtypes_are_the_inputs_in_reverse_and_the_outputs_in_forward_mode(x):
    double = lambda a: a.double() * 2  # noqa: E731
    assert jacobian(double, x).dtype is x.dtype
    assert jacobian(double, x, vectorize=True).dtype is x.dtype
    assert jacobian(double, x, vectorize=True, strategy="forward-mode").dtype is x.double().dtype


def test_a_vector_may_be_left_out_for_one_element():
    one = tensor([[2.0]])
    assert vjp(lambda a: a**2, one)[1].tolist() == [[4]]
    assert jvp(lambda a: a**2, one)[1].tolist() == [[4]]
    assert vhp(lambda a: a**3, one)[1].tolist() == [[12]]
    assert hvp(lambda a: a**3, one)[1].tolist() == [[12]]


# -- results that do not depend on the inputs ---------------------------------------------------------------


def test_independent_inputs_have_zero_gradients(x):
    constant = ones(3)
    assert vjp(lambda a, b: a * 2, (x, x), x)[1][1].tolist() == [0, 0]
    assert jvp(lambda a: (a, constant), x, x)[1][1].tolist() == [0, 0, 0]
    assert hvp(lambda a: a.sum(), x, x)[1].tolist() == [0, 0]
    assert hessian(lambda a: a.sum(), x).tolist() == [[0, 0], [0, 0]]
    for ways in WAYS:
        assert jacobian(lambda a: constant, x, **ways).tolist() == zeros(3, 2).tolist()


def test_an_output_of_integers_has_zeros(x):
    _, numbers = jacobian(lambda a: (a, a.long()), x)
    assert numbers.tolist() == [[0, 0], [0, 0]]


STRICT = {
    "vjp, an output": (lambda x: vjp(lambda a: (a, ones(1)), x, (x, ones(1)), strict=True), "Output 1"),
    "vjp, an input": (lambda x: vjp(lambda a, b: a * 2, (x, x), x, strict=True), "independent of input 1"),
    "vjp, the gradient": (
        lambda x: vjp(lambda a: a * 2, x, ones(2), create_graph=True, strict=True),
        "jacobian .* independent of input 0",
    ),
    "jvp, an input": (lambda x: jvp(lambda a, b: a * 2, (x, x), (x, x), strict=True), "independent of input 1"),
    "jvp, the product": (
        lambda x: jvp(lambda a: a, x, ones(2), create_graph=True, strict=True), "jacobian .* independent of input 0"
    ),
    "jacobian, one input of one output": (
        lambda x: jacobian(lambda a, b: (a * b, a), (x, x), strict=True), "Output 1 .* independent of input 1"
    ),
    "jacobian, a derivative": (
        lambda x: jacobian(lambda a: a * 2, x, create_graph=True, strict=True), "jacobian .* independent of input 0"
    ),
    "hessian": (lambda x: hessian(lambda a: a.sum(), x, strict=True), "twice differentiable"),
    "vhp": (lambda x: vhp(lambda a: a.sum(), x, x, strict=True), "twice differentiable"),
    "hvp": (lambda x: hvp(lambda a, b: cubes(a), (x, x), (x, x), strict=True), "independent of input 1"),
    "vhp, the product": (
        lambda x: vhp(lambda a: (a * a).sum(), x, ones(2), create_graph=True, strict=True),
        "hessian .* independent of input 0",
    ),
}


@pytest.mark.parametrize("case", STRICT)
def test_strict_mode_names_what_is_independent(x, case):
    call, message = STRICT[case]
    x.requires_grad_()
    with pytest.raises(RuntimeError, match=message):
        call(x)


def test_strict_mode_lets_the_others_pass(x):
    assert vjp(lambda a: a**2, x, x, create_graph=True, strict=True)[1].tolist() == [2, 8]
    assert hvp(cubes, x, x, create_graph=True, strict=True)[1].tolist() == [6, 24]
    assert hessian(cubes, x, create_graph=True, strict=True).tolist() == [[6, 0], [0, 12]]


# -- graphs -------------------------------------------------------------------------------------------------


def test_results_are_in_no_graph_unless_it_is_asked_for(x):
    x.requires_grad_()
    results = [
        *vjp(lambda a: a**2, x, x), *jvp(lambda a: a**2, x, x), *vhp(cubes, x, x), *hvp(cubes, x, x),
        jacobian(linear, x), jacobian(linear, x, vectorize=True), hessian(cubes, x),
    ]
    assert [result.requires_grad for result in results] == [False] * len(results)
    assert x.grad is None


GRAPHS = {
    "vjp": lambda x: vjp(lambda a: a**3, x, x, create_graph=True)[1],  # 3 x**3
    "jvp": lambda x: jvp(lambda a: a**3, x, x, create_graph=True)[1],
    "jacobian": lambda x: jacobian(lambda a: a**4 * 3 / 4, x, create_graph=True),
    "jacobian at once": lambda x: jacobian(lambda a: a**4 * 3 / 4, x, create_graph=True, vectorize=True),
    "hessian": lambda x: hessian(lambda a: (a**5).sum() * 3 / 20, x, create_graph=True),
    "vhp": lambda x: vhp(lambda a: (a**4).sum() / 4, x, x, create_graph=True)[1],
    "hvp": lambda x: hvp(lambda a: (a**4).sum() / 4, x, x, create_graph=True)[1],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_results_can_be_differentiated(x, name):
    x.requires_grad_()
    result = GRAPHS[name](x)
    assert result.sum().item() == 27
    (gradient,) = grad(result.sum(), x)
    assert gradient.tolist() == [9, 36]


def test_the_graph_is_asked_for_even_without_recording(x):
    from numgrad import no_grad

    x.requires_grad_()
    with no_grad():
        _, product = vjp(lambda a: a**2, x, x, create_graph=True)
        assert not vjp(lambda a: a**2, x, x)[1].requires_grad
    assert product.requires_grad


def test_the_function_gets_other_tensors_on_the_same_memory(x):
    seen = []
    x.requires_grad_()
    vjp(lambda a: seen.append(a) or a * 1, x, x)
    vjp(lambda a: seen.append(a) or a * 1, x, x, create_graph=True)
    assert all(one is not x and one.data_ptr() == x.data_ptr() and one.requires_grad for one in seen)
    assert [one.is_leaf for one in seen] == [True, False]


# -- errors -------------------------------------------------------------------------------------------------

ERRORS = {
    "inputs": (lambda x: vjp(linear, [x]), TypeError, "The inputs given to vjp must be .* <class 'list'>"),
    "an input": (lambda x: hessian(linear, (x, 1)), TypeError, "at index 1 has type <class 'int'>"),
    "outputs": (
        lambda x: jacobian(lambda a: [a], x), TypeError, "outputs of the user-provided function given to jacobian"
    ),
    "v": (lambda x: jvp(linear, x, 1.0), TypeError, "The v given to jvp must be"),
    "v missing": (lambda x: vjp(linear, x), RuntimeError, "v can only be None if the user-provided function returns"),
    "v missing, too": (lambda x: hvp(cubes, x), RuntimeError, "v can only be None if the input"),
    "v too many": (lambda x: vjp(linear, x, (x, x)), RuntimeError, "should contain a single Tensor"),
    "v too few": (lambda x: jvp(lambda a, b: a, (x, x), x), RuntimeError, "invalid length: should be 2 but got 1"),
    "shape of v": (
        lambda x: vjp(linear, x, x), RuntimeError, r"v has invalid size: should be .*\[3\]\) but got .*\[2\]\)"
    ),
    "shape of one": (
        lambda x: vhp(lambda a, b: cubes(a), (x, x), (x, ones(3))), RuntimeError, "Entry 1 in v has invalid size"
    ),
    "not scalar": (lambda x: hessian(linear, x), RuntimeError, "given to hessian should contain a single element"),
    "a tuple": (lambda x: hvp(lambda a: (cubes(a),), x, x), RuntimeError, "given to hvp should return a single Tensor"),
    "integers": (lambda x: vjp(linear, tensor([1, 2])), RuntimeError, "only Tensors of floating point dtype"),
    "strategy": (lambda x: jacobian(linear, x, strategy="sideways"), AssertionError, "forward-mode"),
    "outer strategy": (lambda x: hessian(cubes, x, outer_jacobian_strategy="up"), AssertionError, "forward-mode"),
    "forward, not at once": (
        lambda x: jacobian(linear, x, strategy="forward-mode"), NotImplementedError, "vectorize=True"
    ),
    "forward with a graph": (
        lambda x: jacobian(linear, x, True, vectorize=True, strategy="forward-mode"), NotImplementedError,
        "create_graph=True",
    ),
    "forward and strict": (
        lambda x: jacobian(linear, x, strict=True, vectorize=True, strategy="forward-mode"), RuntimeError, "strict=True"
    ),
    "at once and strict": (
        lambda x: jacobian(linear, x, strict=True, vectorize=True), RuntimeError, "strict=True.* and .*vectorized=True"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(x, case):
    call, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        call(x)


FOR_EXAMPLES = {
    "jacobian": lambda x, t: jacobian(lambda x: x * t, x),
    "jacobian of two": lambda x, t: jacobian(lambda t, x: x * t, (t, x))[1],
    "hessian": lambda x, t: hessian(lambda x: (x * x * t).sum(), x),
    "vjp": lambda x, t: vjp(lambda x: x * t, x, x)[1],
    "jvp": lambda x, t: jvp(lambda x: x * t, x, x)[1],
    "vhp": lambda x, t: vhp(lambda x: (x * x * t).sum(), x, x)[1],
    "hvp": lambda x, t: hvp(lambda x: (x * x * t).sum(), x, x)[1],
}


@pytest.mark.parametrize("case", FOR_EXAMPLES)
def test_no_zeros_for_what_all_examples_of_vmap_have_in_common(x, case):
    with pytest.raises(RuntimeError, match=r"autograd.functional.\* APIs"):
        vmap(lambda t: FOR_EXAMPLES[case](x, t))(eye(2))


def test_results_that_differ_among_examples_of_vmap(x):
    found = vmap(lambda t: jacobian(lambda t: x * t, t))(eye(2))
    assert found.tolist() == [[[1, 0], [0, 2]]] * 2
    assert vmap(lambda t: hessian(cubes, x) @ t)(eye(2)).tolist() == [[6, 0], [0, 12]]
