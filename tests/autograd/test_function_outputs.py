"""Results of forward: one tensor twice, tensors made elsewhere, tensors without a gradient, other objects."""

import pytest
from autograd_functions import returning

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def marking(make):
    """A Function that returns ``make(x)``, a tuple of which the first element is marked as not differentiable."""

    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            outputs = make(x)
            ctx.mark_non_differentiable(outputs[0])
            return outputs

        @staticmethod
        def backward(ctx, first, *others):
            return others[0] if others else first

    return Marks


# --- outputs of other types --------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "text", 3, [1, 2], {"a": 1}, ()], ids=repr)
def test_an_output_that_is_not_a_tensor(x, value):
    assert returning(lambda x: value).apply(x) == value
    assert returning(lambda x: (value, 2)).apply(x) == (value, 2)


def test_a_list_is_not_a_tuple_of_outputs(x):
    first, second = returning(lambda x: [x * 2, x * 3]).apply(x)
    assert not first.requires_grad
    assert not second.requires_grad


def test_a_tuple_of_one(x):
    result = returning(lambda x: (x * 2,)).apply(x)
    assert isinstance(result, tuple)
    result[0].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_no_inputs():
    assert returning(lambda x: ones(2)).apply(None).tolist() == [1.0, 1.0]


# --- the same tensor twice --------------------------------------------------------------


def test_the_same_tensor_twice(x):
    seen = []

    def backward(ctx, first, second):
        seen.append((first.tolist(), second.tolist()))
        return first + second

    first, second = returning(lambda x: (x, x), backward).apply(x)
    (first + 3 * second).sum().backward()
    assert (first.output_nr, second.output_nr) == (0, 1)
    first, second = returning(lambda x: (lambda y: (y, y))(x * 2), backward).apply(x)
    assert first is second
    assert first.output_nr == 1  # the later position counts
    (first + 3 * second).sum().backward()
    assert seen == [([1.0, 1.0], [3.0, 3.0]), ([0.0, 0.0], [4.0, 4.0])]


# --- tensors made elsewhere, or with a graph --------------------------------------------


def test_a_tensor_made_outside(x):
    constant, other = ones(2), tensor([3.0, 4.0], requires_grad=True)
    y = returning(lambda x: constant, lambda ctx, g: g * 7).apply(x)
    assert y is constant
    y = other * 2
    returning(lambda x: y, lambda ctx, g: g * 7).apply(x).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    assert other.grad is None


def test_a_graph_made_in_forward_is_cut_off(x):
    def forward(x):
        with numgrad.enable_grad():
            return weight * 2 * x

    weight = ones(2, requires_grad=True)
    y = returning(forward, lambda ctx, g: g * 7).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    assert weight.grad is None
    assert not returning(forward).apply(ones(2)).requires_grad


def test_grad_mode_set_in_forward_ends_with_it(x):
    def forward(x):
        numgrad.set_grad_enabled(True)
        return x * 2

    with numgrad.no_grad():
        assert not returning(forward).apply(x).requires_grad
        assert not numgrad.is_grad_enabled()


def test_in_inference_mode(x):
    with numgrad.inference_mode():
        assert returning(lambda x: x * 2).apply(x).is_inference()
        assert not returning(lambda x: x).apply(x).requires_grad


# --- not differentiable -----------------------------------------------------------------


def test_an_input_that_is_not_differentiable(x):
    for base in (x, x * 1):
        (y,) = marking(lambda x: (x,)).apply(base)
        assert y is not base
        assert not y.requires_grad
        assert base.requires_grad


def test_marking_twice_counts_the_last(x):
    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x * 2, x * 3
            ctx.mark_non_differentiable(first)
            ctx.mark_non_differentiable(second)
            return first, second

    assert [y.requires_grad for y in Marks.apply(x)] == [True, False]


def test_all_outputs_may_be_marked(x):
    (y,) = marking(lambda x: (x * 2,)).apply(x)
    assert y.is_leaf
    assert not y.requires_grad


def test_only_tensors_can_be_marked(x):
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments"):
        marking(lambda x: (3,)).apply(x)


@pytest.mark.parametrize("materialize", [True, False, "differentiable"])
def test_gradients_of_outputs_without_gradient(x, materialize):
    class Several(Function):
        @staticmethod
        def forward(ctx, x):
            marked, index = x * 2, x.argmax()
            ctx.mark_non_differentiable(marked)
            ctx.set_materialize_grads(bool(materialize))
            ctx._materialize_non_diff_grads = materialize is True
            return marked, index, x * 3, x.double(), "text"

        @staticmethod
        def backward(ctx, *gradients):
            seen.extend(gradients)
            return gradients[2]

    seen = []
    Several.apply(x)[2].sum().backward()
    assert seen[2].tolist() == [1.0, 1.0]
    assert seen[4] is None
    if materialize == "differentiable":
        assert (seen[0], seen[1], seen[3].tolist()) == (None, None, [0.0, 0.0])
    elif materialize:
        assert [g.dtype for g in seen[:4]] == [numgrad.float32, numgrad.int64, numgrad.float32, numgrad.float64]
        assert [g.tolist() for g in (seen[0], seen[1], seen[3])] == [[0.0, 0.0], 0, [0.0, 0.0]]
    else:
        assert (seen[0], seen[1], seen[3]) == (None, None, None)


def test_materialize_grads_is_a_bool(x):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(1)

    with pytest.raises(TypeError, match=r"set_materialize_grads received .* expected \(bool\)"):
        Wrong.apply(x)


def test_a_backward_that_gets_no_gradient_is_called(x):
    first = returning(lambda x: x * 2, lambda ctx, g: seen.append(None if g is None else g.tolist()))
    last = returning(lambda x: x * 2, lambda ctx, g: None)
    seen = []
    last.apply(first.apply(x)).sum().backward()
    first.forward = staticmethod(lambda ctx, x: (ctx.set_materialize_grads(False), x * 2)[1])
    last.apply(first.apply(x)).sum().backward()
    assert seen == [[0.0, 0.0], None]
    assert x.grad is None
