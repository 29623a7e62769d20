"""Arguments of a Function's ``jvp``, and its permitted results for each type of output."""

import pytest

from numgrad import tensor
from numgrad.autograd import Function, forward_ad


def made(forward, jvp):
    methods = {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
    return type("Made", (Function,), methods).apply


def tangents(function, *args):
    """The tangents of the outputs; an argument ``(value, tangent)`` is made dual."""
    with forward_ad.dual_level():
        given = [forward_ad.make_dual(*arg) if isinstance(arg, tuple) else arg for arg in args]
        outputs = function(*given)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        found = [forward_ad.unpack_dual(y).tangent for y in outputs]
        return [None if t is None else t.tolist() for t in found]


@pytest.fixture
def x():
    return tensor([1.0, 3.0]), tensor([1.0, 2.0])


def marked(ctx, x):
    y = x * 3
    ctx.mark_non_differentiable(y)
    return x * 2, y


@pytest.mark.parametrize("forward", [marked, lambda ctx, x: (x * 2, x.argmax()), lambda ctx, x: (x * 2, x > 1)])
@pytest.mark.parametrize("given", [lambda t: t, lambda t: t * 0, lambda t: t.to(int)])
def test_an_output_that_is_not_differentiable_has_no_tangent(x, forward, given):
    assert tangents(made(forward, lambda ctx, t: (t * 2, None)), x) == [[2.0, 4.0], None]
    message = r"Function's jvp returned a gradient at position 1.*You should return None.*\(The function is Made\.\)"
    with pytest.raises(RuntimeError, match=message):
        tangents(made(forward, lambda ctx, t: (t * 2, given(t))), x)


def test_inputs_other_than_tensors_may_have_any_tangent(x):
    def first(x):
        return made(lambda ctx, x: (x * 2, "text", None), lambda ctx, t: (t * 2, t, t))(x)[0]

    assert tangents(first, x) == [[2.0, 4.0]]


@pytest.mark.parametrize("materialize", [True, False])
def test_inputs_without_a_tangent(x, materialize):
    def forward(ctx, *inputs):
        ctx.set_materialize_grads(materialize)
        return inputs[0] * 2

    def jvp(ctx, *given):
        seen.extend(given)
        return given[0] * 2

    seen = []
    assert tangents(made(forward, jvp), x, tensor([5.0]), tensor([1, 2]), "text") == [[2.0, 4.0]]
    assert seen[1].tolist() == [0.0] if materialize else seen[1] is None
    assert seen[2:] == [None, None]  # integers have no derivative


@pytest.mark.parametrize(("returned", "message"), [
    (lambda t: [t], r"expected Variable or None \(got list\) for grad output 0"),
    (lambda t: (t, 3), r"expected Variable or None \(got int\) for grad output 1"),
    (lambda t: t.to(int), "Expected both tensor and its forward grad to be floating point or complex"),
])
def test_invalid_results_of_jvp(x, returned, message):
    with pytest.raises(RuntimeError, match=message):
        tangents(made(lambda ctx, x: x * 2, lambda ctx, t: returned(t)), x)


def test_an_input_changed_in_place_must_have_its_tangent_changed(x):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        tangents(made(forward, lambda ctx, t: None), x)


@pytest.mark.parametrize("jvp", [lambda ctx, own, other: other * 1, lambda ctx, own, other: own.add_(other)])
def test_an_input_changed_in_place_gets_a_tangent_if_it_had_none(x, jvp):
    def forward(ctx, target, other):
        ctx.mark_dirty(target)
        return target.mul_(other)

    assert tangents(made(forward, jvp), tensor([1.0, 1.0]), x) == [[1.0, 2.0]]

    def through_a_view(other):
        base = tensor([1.0, 1.0, 1.0])
        made(forward, jvp)(base[1:], other)
        return base

    assert tangents(through_a_view, x) == [[0.0, 1.0, 2.0]]


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[:1], lambda x: x.view(2, 1)], ids=["same", "part", "column"])
@pytest.mark.parametrize(("returned", "message"), [
    (lambda t: t.clone(), "returning a view .* but the jvp is not returning a view"),
    (lambda t: (t * 2).view_as(t), "is not returning a view of the given grad input"),
    (lambda t: None, "returning a view .* but the jvp is not returning a view"),
], ids=["clone", "other", "none"])
def test_the_tangent_of_a_view_is_a_view_of_the_tangent(x, view, returned, message):
    assert tangents(made(lambda ctx, x: view(x), lambda ctx, t: view(t).view_as(view(t))), x) == [view(x[1]).tolist()]
    with pytest.raises(RuntimeError, match=message):
        tangents(made(lambda ctx, x: view(x), lambda ctx, t: returned(view(t))), x)


@pytest.mark.parametrize("returned", [lambda own, other: other[:1], lambda own, other: other[:1].clone()])
def test_a_view_of_what_has_no_tangent_may_have_any(x, returned):
    function = made(lambda ctx, own, other: own[:1], lambda ctx, own, other: returned(own, other))
    assert tangents(function, tensor([5.0, 6.0]), x) == [[1.0]]


@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[:1]], ids=["itself", "part"])
def test_a_view_that_a_function_made_does_not_take_the_tangent_that_its_base_is_given_later(x, view):
    function = made(lambda ctx, x: x.view_as(x), lambda ctx, t: t.view_as(t))

    def later(dual):
        base = tensor([5.0, 6.0])
        seen = view(function(base))
        base.copy_(dual)
        return base, seen

    assert tangents(later, x) == [[1.0, 2.0], None]
