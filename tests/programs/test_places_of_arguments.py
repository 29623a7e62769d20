"""Arguments that are given twice, that share memory, or that lie anywhere in theirs."""

import warnings

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn
from numgrad.nn.functional import scaled_dot_product_attention


@compared_with_eager
def test_a_tensor_with_a_graph_is_given_twice(compiled, see):
    product = compiled(lambda one, other: (one * other * other).sum() * (2 if one is other else 1))
    for number in range(4):
        leaf = numgrad.full((3,), number + 1.0, requires_grad=True)
        inner = leaf * 2
        product(inner, inner).backward()
        see(leaf.grad)


@compared_with_eager
def test_attention_of_a_tensor_to_itself(compiled, see):
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    call = compiled(attention)
    for _ in range(4):
        leaf = numgrad.randn(2, 3, 8, requires_grad=True)
        inner = leaf * 2
        call(inner, inner, inner, need_weights=False)[0].square().sum().backward()
        see(leaf.grad)


@compared_with_eager
def test_views_of_one_tensor_with_a_graph(compiled, see):
    attention = compiled(scaled_dot_product_attention)
    for _ in range(4):
        leaf = numgrad.randn(2, 4, 12, requires_grad=True)
        attention(*(leaf * 2).chunk(3, -1)).square().sum().backward()
        see(leaf.grad)


def test_a_tensor_with_a_graph_changed_in_place_and_a_view_of_it():
    @numgrad.compile
    def change(whole, part):
        whole.mul_(3)
        return part.sum()

    leaf = numgrad.ones(4, requires_grad=True)
    inner = leaf * 2
    with pytest.raises(RuntimeError, match="changed an argument in place that has a graph"):
        change(inner, inner[:2])


@compared_with_eager
def test_one_tensor_or_two_on_the_same_memory(compiled, see):
    product, exchanged = compiled(lambda x, y: (x * y * 3).sum()), compiled(lambda x, y: (y, x))
    x = numgrad.ones(3, requires_grad=True)
    for number in range(6):
        y = x if number < 3 else x.detach().requires_grad_()
        x.grad = None
        product(x, y).backward()
        one, other = exchanged(x, y)
        see(x.grad, y.grad, one is y, other is x)


@compared_with_eager
def test_changes_of_one_of_two_tensors_on_the_same_memory(compiled, see):
    add = compiled(lambda x, y: x.add_(1) + y)
    array = numgrad.zeros(3).numpy()
    for number in range(6):
        x = numgrad.from_numpy(array)
        y = x if number < 3 else numgrad.from_numpy(array)
        see(add(x, y), x._version, y._version)


PLACES = [
    lambda x: x.as_strided((2,), (1,), 2) + 0, lambda x: x.as_strided((3,), (1,)) + 0,
    lambda x: x.detach().as_strided_((2,), (1,), 1) + 0, lambda x: x * x.storage_offset(),
    lambda x: x * x.untyped_storage().nbytes(), lambda x: x.detach().resize_(3) + 0, lambda x: x._base * 2,
    lambda x: (x._base.mul_(0.5), x.sum())[1], lambda x: x * x._version, lambda x: x * x.is_inference(),
    lambda x: x * x._is_view(),
]


@pytest.mark.parametrize("function", PLACES)
def test_where_an_argument_lies_is_nothing_to_be_kept(function):
    compiled, base = numgrad.compile(function), numgrad.arange(8.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(4):
            one, other = base.clone(), base.clone()
            assert numgrad.equal(compiled(one[start : start + 2]), function(other[start : start + 2]))
            assert numgrad.equal(one, other)
            one, other = one[:4].clone(), other[:4].clone()  # a replay would reach beyond these
            assert numgrad.equal(compiled(one[:2]), function(other[:2]))
    (signature,) = compiled.signatures.values()
    assert "depends on more than the layout" in signature.eager[0]


@compared_with_eager
def test_an_argument_is_a_tensor_that_the_function_finds(compiled, see):
    pad, pair, model = numgrad.zeros(1), (numgrad.zeros(1), 1), nn.Linear(1, 1)
    named = {numgrad.zeros(1): 2.0}
    functions = [
        compiled(lambda x: x * 0 if x is pad else x + 1), compiled(lambda x: x * 0 if x is pair[0] else x + 1),
        compiled(lambda x: x + 1 + any(x is parameter for parameter in model.parameters())),
        compiled(lambda x: x + named.get(x, 1.0)),
    ]
    for x in (numgrad.zeros(1), numgrad.zeros(1), pad, pair[0], model.bias.detach(), *named, numgrad.zeros(1)):
        for _ in range(2):
            see(*[f(x) for f in functions])
    with numgrad.no_grad():
        model.bias.requires_grad_(False)
        see(*[f(model.bias) for f in functions for _ in range(2)])


@compared_with_eager(falls_back=True)
def test_a_value_by_the_identity_of_an_argument(compiled, see):
    one, other = numgrad.ones(1), numgrad.ones(1)
    values = {id(one): 1.0, id(other): 2.0}
    f = compiled(lambda x: x * values[id(x)])
    see(*[f(x) for x in (one, one, other, other)])


@pytest.mark.parametrize("function", [
    lambda x: x.as_strided((2,), (1,)) + 0, lambda x: (x * 2).as_strided((1,), (1,), 1) + 0,
    lambda x: x.as_strided((2, 2), (0, 1)) * 2,
])
def test_strided_parts_of_what_is_given_are_found(function):
    compiled, base = numgrad.compile(function, fullgraph=True), numgrad.arange(8.0)
    for start in range(4):
        assert numgrad.equal(compiled(base[start : start + 2]), function(base[start : start + 2]))
    assert replays(compiled) == [1]


@compared_with_eager
def test_names_and_numbers_are_distinguished(compiled, see):
    call = compiled(lambda x, a=None, b=None, nan=None: x * 3 if nan is None else x * 2)
    x, y = numgrad.ones(2), numgrad.ones(2)
    for _ in range(3):
        see(call(x, nan=y))
    for _ in range(3):
        see(call(x, float("nan"), y))


@compared_with_eager
def test_tensors_of_inference_mode_are_not_changed_outside(compiled, see):
    change = compiled(lambda x: x.add_(1) * 2)
    for number in range(5):
        with numgrad.inference_mode(number == 4):
            x = numgrad.ones(2)
        try:
            see(change(x))
        except RuntimeError as error:
            see(str(error))
        see(x)


@compared_with_eager
def test_methods_are_arguments(compiled, see):
    class Scale:
        by = 2.0

        def __call__(self, x):
            return x * self.by

        def twice(self, x):
            return self(self(x))

    scale, call = Scale(), compiled(lambda function, x: function(x))
    for number in range(6):
        scale.by = 2.0 if number < 4 else 3.0
        see(call(scale.twice, numgrad.ones(2)))


@compared_with_eager
def test_a_tensor_that_is_found_lies_elsewhere_in_its_memory(compiled, see):
    base = numgrad.arange(8.0)
    part = base[:2]
    call = compiled(lambda x: x * part)
    for number in range(6):
        part.data = base[number // 2 :][:2]
        see(call(numgrad.ones(2)))


@compared_with_eager
def test_an_argument_is_a_gradient_that_the_function_finds(compiled, see):
    weight = ramp(3).requires_grad_()
    weight.grad = ramp(3)
    doubled, added = compiled(lambda x: x * (2 if x is weight.grad else 1)), compiled(lambda w, x: (w.grad is x) + x)
    for number in range(8):
        x = weight.grad if number % 4 > 1 else ramp(3)
        see(doubled(x), added(weight, x))
        if number == 4:
            weight.grad = ramp(3)


_found = (ramp(3).requires_grad_() * 2)[:]


@pytest.mark.parametrize("function", [
    lambda x: x * len(x.grad_fn.name()), lambda x: x * len(x.grad_fn.next_functions), lambda x: x * x.output_nr,
    lambda x: x * (2 if x.retains_grad else 1), lambda x: x._base * 2, lambda x: x * (2 if x._is_view() else 1),
    lambda x: x * (2 if x is _found else 1), lambda x: x * {_found: 2}.get(x, 1), lambda x: x * getattr(x, "scale", 1),
])
def test_stand_ins_for_arguments_with_a_graph_are_not_visible(function):
    given = [(ramp(3).requires_grad_() * 2)[:], ramp(2, 3).requires_grad_().unbind()[1], _found]
    given[0].retain_grad()
    given[1].scale = 3
    compiled = numgrad.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in given * 2:
            assert numgrad.equal(compiled(x), function(x))
