"""``func.vjp``: products of vectors with Jacobians, their structures, graphs and errors."""

from collections import namedtuple

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.func import grad, vjp

Pair = namedtuple("Pair", "left right")


def test_one_product_after_the_other(x):
    y = x + 1
    value, product = vjp(lambda a, b: (a * b, a.sum()), x, y)
    assert [part.tolist() for part in value] == [(x * y).tolist(), 6]
    for scale in (1.0, 2.0):
        left, right = product((x * scale, tensor(10.0)))
        assert left.tolist() == (x * y * scale + 10).tolist()
        assert right.tolist() == (x * x * scale).tolist()


def test_structures(x):
    value, product = vjp(lambda pair: {"k": [pair.left * 2, pair.right["r"]]}, Pair(x, {"r": x + 1}))
    assert value["k"][0].tolist() == [2, 4, 6]
    ((left, right),) = product({"k": [x, x]})
    assert left.tolist() == [2, 4, 6]
    assert right["r"].tolist() == [1, 2, 3]


def test_inputs_without_influence_have_zero_gradients(x):
    _, product = vjp(lambda a, b: a * 2, x, x)
    assert product(x)[1].tolist() == [0, 0, 0]
    _, product = vjp(lambda a: ones(2), x)
    assert product(ones(2))[0].tolist() == [0, 0, 0]


def test_an_input_that_is_returned_is_the_callers_tensor(x):
    assert vjp(lambda a: a, x)[0] is x


def test_auxiliary_outputs(x):
    value, product, aux = vjp(lambda a: (a * 2, {"third": a * 3}), x, has_aux=True)
    assert value.tolist() == [2, 4, 6]
    assert product(x)[0].tolist() == [2, 4, 6]
    assert aux["third"].tolist() == [3, 6, 9]
    assert not aux["third"].requires_grad


def test_results_are_in_the_callers_graph_or_in_none(x, w):
    value, product = vjp(lambda a: a * a, x)
    assert not value.requires_grad
    assert not product(x)[0].requires_grad
    assert product(w)[0].requires_grad  # which requires a gradient itself
    value, product = vjp(lambda a: a * a * w, x)
    (result,) = product(x)
    (gradient,) = numgrad.autograd.grad((value + result).sum(), w, retain_graph=True)
    assert gradient.tolist() == (x * x + 2 * x * x).tolist()
    with numgrad.no_grad():
        assert not product(x)[0].requires_grad


def test_without_recording_the_value_is_in_no_graph(x, w):
    with numgrad.no_grad():
        value, product = vjp(lambda a: a * w * w, x)
        assert product(x)[0].tolist() == [16, 50, 108]
    assert not value.requires_grad
    assert product(x)[0].requires_grad


def test_the_product_is_differentiated_by_the_vector(x):
    _, product = vjp(lambda a: a * a, x)
    assert grad(lambda v: product(v)[0].sum())(ones(3)).tolist() == [2, 4, 6]


def test_the_graph_may_be_freed(x):
    _, product = vjp(lambda a: a * a, x)
    assert product(x, retain_graph=False)[0].tolist() == [2, 8, 18]
    with pytest.raises(RuntimeError, match="second time"):
        product(x)


ERRORS = {
    "a primal": (lambda x: vjp(lambda a: x, 1.0), ValueError, "must be Tensor"),
    "no outputs": (lambda x: vjp(lambda a: (), x), RuntimeError, r"non-empty output \(got output = \[\]\)"),
    "None": (lambda x: vjp(lambda a: None, x), RuntimeError, r"non-empty output \(got output = \[None\]\)"),
    "an output": (lambda x: vjp(lambda a: (a, 1.0), x), RuntimeError, "only tensors, got unsupported type .*float"),
    "integers": (lambda x: vjp(lambda a: a.long(), x), RuntimeError, "got Tensor with dtype .*int64"),
    "no pair": (lambda x: vjp(lambda a: a, x, has_aux=True), RuntimeError, "if has_aux is True"),
    "structure": (
        lambda x: vjp(lambda a: [a, {"k": a}], x)[1]((x, {"k": x})), RuntimeError,
        r"cotangents: \(\*, \{'k': \*\}\), primal output: \[\*, \{'k': \*\}\]",
    ),
    "shape": (lambda x: vjp(lambda a: a * 1, x)[1](x[:2]), RuntimeError, r"shape of torch.Size\(\[2\]\) and output"),
    "vector": (lambda x: vjp(lambda a: a * 1, x)[1](1.0), TypeError, "but got float"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(x, case):
    call, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        call(x)
