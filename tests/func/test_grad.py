"""``func.grad`` and ``grad_and_value``: derivatives, graphs and errors."""

from collections import OrderedDict

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.func import grad, grad_and_value


def squares(x):
    return (x * x).sum()


# -- values -------------------------------------------------------------------------------------------------


def test_gradient_and_value(x):
    assert grad(squares)(x).tolist() == [2, 4, 6]
    gradient, value = grad_and_value(squares)(x)
    assert gradient.tolist() == [2, 4, 6]
    assert value.item() == 14


def test_higher_derivatives():
    fourth = lambda x: x**4  # noqa: E731
    s = tensor(2.0)
    assert grad(grad(fourth))(s).item() == 48
    assert grad(grad(grad(fourth)))(s).item() == 48


def test_positions_of_arguments(x):
    product = lambda a, b, scale=1: (a * b * b).sum() * scale  # noqa: E731
    y = x + 1
    assert grad(product, 1)(x, y).tolist() == (2 * x * y).tolist()
    assert grad(product, -1)(x, y).tolist() == (2 * x * y).tolist()
    first, second = grad(product, (1, 0))(x, y, scale=2)
    assert first.tolist() == (4 * x * y).tolist()
    assert second.tolist() == (2 * y * y).tolist()


def test_one_tensor_in_two_places_is_two_inputs(x):
    first, second = grad(lambda a, b: (a * b * b).sum(), (0, 1))(x, x)
    assert first.tolist() == [1, 4, 9]
    assert second.tolist() == [2, 8, 18]


def test_nested_structures(x):
    tree = OrderedDict(b=x, a=(x * 2, [x]))
    result = grad(lambda tree: (tree["b"] * tree["a"][0]).sum())(tree)
    assert list(result) == ["b", "a"]
    assert isinstance(result, OrderedDict)
    assert result["b"].tolist() == [2, 4, 6]
    assert result["a"][0].tolist() == [1, 2, 3]
    assert result["a"][1][0].tolist() == [0, 0, 0]  # nothing depends on it


def test_auxiliary_outputs(x):
    def f(x):
        return squares(x), {"input": x, "twice": [x * 2]}

    gradient, aux = grad(f, has_aux=True)(x)
    assert gradient.tolist() == [2, 4, 6]
    assert aux["input"] is x
    assert aux["twice"][0].tolist() == [2, 4, 6]
    _, (value, aux) = grad_and_value(f, has_aux=True)(x)
    assert value.item() == 14
    assert not aux["twice"][0].requires_grad


def test_the_name_of_the_function_is_kept():
    assert grad(squares).__name__ == grad_and_value(squares).__name__ == "squares"


# -- graphs -------------------------------------------------------------------------------------------------


def test_without_gradients_outside_nothing_is_in_a_graph(x):
    gradient, value = grad_and_value(squares)(x)
    assert not gradient.requires_grad
    assert not value.requires_grad
    assert not x.requires_grad


def test_the_argument_is_a_leaf_inside_and_nothing_is_accumulated(x, w):
    seen = []

    def f(a):
        seen.append((a.requires_grad, a.is_leaf, a.data_ptr() == w.data_ptr(), a is w))
        return (a * a * w).sum()

    result = grad(f)(w)
    assert seen == [(True, True, True, False)]
    assert result.tolist() == [32, 50, 72]
    assert w.grad is None


def test_results_can_be_differentiated_by_the_argument_and_by_what_the_function_uses(x, w):
    a = x.clone().requires_grad_()
    grad(lambda a: (a**3 * w).sum())(a).sum().backward()
    assert a.grad.tolist() == (6 * x * w.detach()).tolist()
    assert w.grad.tolist() == (3 * x**2).tolist()


def test_each_result_is_in_a_graph_only_if_it_depends_on_something_outside(x, w):
    (first, second), value = grad_and_value(lambda a, b: (a * a).sum() + (b * w).sum(), (0, 1))(x, x)
    assert [first.requires_grad, second.requires_grad, value.requires_grad] == [False, True, True]
    gradient, value = grad_and_value(lambda a: w.sum())(x)
    assert gradient.tolist() == [0, 0, 0]
    assert [gradient.requires_grad, value.requires_grad] == [False, True]


def test_no_grad_outside_changes_only_the_graph(x, w):
    with numgrad.no_grad():
        gradient, value = grad_and_value(lambda a: (a * a * w).sum())(x)
        assert not numgrad.is_grad_enabled()
    assert gradient.tolist() == [8, 20, 36]
    assert [gradient.requires_grad, value.requires_grad] == [False, False]


def test_inference_mode_outside_changes_nothing(x):
    with numgrad.inference_mode():
        y = x * 1
        assert grad(squares)(x).tolist() == [2, 4, 6]
        assert numgrad.is_inference_mode_enabled()
    assert grad(squares)(y).tolist() == [2, 4, 6]


def test_no_grad_inside_counts(x):
    def f(x):
        with numgrad.no_grad():
            c = x**2
        return (x - c).sum()

    assert grad(f)(x).tolist() == [1, 1, 1]


def test_each_level_has_its_own_derivative():
    one, s = tensor(1.0), tensor(3.0)
    assert grad(lambda x: x * grad(lambda y: x + y)(one))(one).item() == 1
    assert grad(lambda x: x * grad(lambda y: x * y)(one))(s).item() == 6


def test_an_inner_gradient_by_something_constant_passes_the_outer_on(x):
    inner = lambda a: grad_and_value(lambda b: (b * b * a).sum())(x)  # noqa: E731
    assert grad(lambda a: inner(a)[1])(ones(3)).tolist() == [1, 4, 9]
    assert grad(lambda a: inner(a)[0].sum())(ones(3)).tolist() == [2, 4, 6]
    a = ones(3, requires_grad=True)
    assert not grad(lambda a: inner(a)[1])(a).requires_grad


def test_hooks_on_the_argument_run_once(x):
    seen = []

    def f(x):
        x.register_hook(lambda gradient: seen.append(gradient.tolist()) or gradient * 10)
        return squares(x)

    assert grad(f)(x).tolist() == [20, 40, 60]
    assert seen == [[2, 4, 6]]
    a = x.clone().requires_grad_()
    grad(f)(a).sum().backward()
    assert a.grad.tolist() == [20, 20, 20]
    assert len(seen) == 2


def test_the_graph_goes_when_the_results_do(x):
    import gc
    from weakref import ref

    kept = []

    def f(x):
        y = x * x
        kept.append(ref(y))
        return (y * y).sum()

    gc.disable()
    try:
        results = grad_and_value(f)(x)
        assert kept[0]() is None
        results = grad_and_value(f)(x.clone().requires_grad_())
        assert kept[1]() is not None
        del results
        assert kept[1]() is None
    finally:
        gc.enable()


# -- errors -------------------------------------------------------------------------------------------------

ERRORS = {
    "not a scalar": (lambda x: grad(lambda a: a)(x), RuntimeError, "to return a scalar Tensor, got tensor with 1 dims"),
    "one element": (lambda x: grad(lambda a: a[:1])(x), RuntimeError, "to return a scalar Tensor"),
    "no tensor": (lambda x: grad(lambda a: 1.0)(x), RuntimeError, "to return a Tensor, got <class 'float'>"),
    "no pair": (lambda x: grad(squares, has_aux=True)(x), RuntimeError, r"should be a tuple: \(output, aux\)"),
    "aux": (lambda x: grad(lambda a: (squares(a), 1), has_aux=True)(x), RuntimeError, "Expected tensors, got .*'int'"),
    "position": (lambda x: grad(squares, 1)(x), RuntimeError, "Got argnum=1, but only 1 positional inputs"),
    "keyword": (lambda x: grad(squares)(x=x), RuntimeError, "but only 0 positional inputs"),
    "positions": (lambda x: grad(squares, (0, 0))(x), RuntimeError, "argnums elements must be unique"),
    "no positions": (lambda x: grad(squares, ())(x), RuntimeError, "argnums must be non-empty"),
    "a list": (lambda x: grad(squares, [0])(x), RuntimeError, "argnums must be int or Tuple"),
    "no int": (lambda x: grad(squares, (0, 1.0))(x), RuntimeError, "argnum must be int, got: <class 'float'>"),
    "an argument": (lambda x: grad(squares)(1.0), ValueError, "must be Tensor, got <class 'float'>"),
    "integers": (lambda x: grad(squares)(x.long()), RuntimeError, "floating point dtype"),
    "in place": (lambda x: grad(lambda a: a.mul_(2).sum())(x), RuntimeError, "a leaf Variable that requires grad"),
    "backward": (lambda x: grad(lambda a: squares(a).backward())(x), RuntimeError, r"backward\(\) called inside"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(x, case):
    call, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        call(x)
    assert x.tolist() == [1, 2, 3]
    assert numgrad.is_grad_enabled()
    assert grad(squares)(x).tolist() == [2, 4, 6]
