"""Functions: the arguments of ``forward`` and ``backward``, the values that they keep and return."""

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function, grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


class MulConstant(Function):
    """The example of PyTorch's documentation."""

    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


class SumAndProduct(Function):
    """Two inputs, two outputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a + b, a * b

    @staticmethod
    def backward(ctx, of_sum, of_product):
        a, b = ctx.saved_tensors
        return of_sum + of_product * b, of_sum + of_product * a


# --- the node ---------------------------------------------------------------------------


def test_the_node_is_named_after_the_function(x):
    y = MulConstant.apply(x, 5.0)
    assert repr(y) == "tensor([ 5., 10.], grad_fn=<MulConstantBackward>)"
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "MulConstantBackward"
    assert "MulConstantBackward object at 0x" in repr(y.grad_fn)
    (node, number), = y.grad_fn.next_functions  # tensors only, as PyTorch has it
    assert (node.variable, number) == (x, 0)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_edges_are_those_of_the_tensor_inputs(x):
    plain, y = ones(2), x * 2
    a, b = SumAndProduct.apply(plain, y)
    assert a.grad_fn is b.grad_fn
    assert a.grad_fn.next_functions == ((None, 0), (y.grad_fn, 0))
    assert (a.output_nr, b.output_nr) == (0, 1)


def test_nothing_is_recorded_where_no_gradient_is_needed(x):
    assert MulConstant.apply(ones(2), 3).is_leaf
    with numgrad.no_grad():
        y = MulConstant.apply(x, 3)
    assert y.is_leaf
    assert y.tolist() == [3.0, 6.0]


# --- arguments of forward and backward --------------------------------------------------


def test_nothing_inside_forward_is_recorded(x):
    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((numgrad.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append((numgrad.is_grad_enabled(), g.requires_grad))
            return g

    seen = []
    Look.apply(x).sum().backward()
    assert seen == [(False, True, False), (False, False)]
    seen.clear()
    (Look.apply(x) * x).sum().backward()
    grad((Look.apply(x) * x).sum(), x, create_graph=True)
    assert seen[1] == (False, False)
    assert seen[3] == (True, True)


def test_several_outputs(x):
    y = tensor([3.0, 5.0], requires_grad=True)
    total, product = SumAndProduct.apply(x, y)
    (total * 10 + product).sum().backward()
    assert x.grad.tolist() == [13.0, 15.0]
    assert y.grad.tolist() == [11.0, 12.0]


def test_an_output_without_a_gradient_gets_zeros(x):
    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x.double().sum()

        @staticmethod
        def backward(ctx, first, second):
            seen.append((first, second))
            return first * 2, None

    seen = []
    Two.apply(x, True)[0].sum().backward()
    (first, second), = seen
    assert (second.item(), second.shape, second.dtype) == (0.0, (), numgrad.float64)
    seen.clear()
    Two.apply(x, False)[0].sum().backward()
    assert seen[0][1] is None
    assert first.tolist() == seen[0][0].tolist() == [1.0, 1.0]


def test_outputs_other_than_tensors_have_no_gradient(x):
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x):
            return "text", x * 2, None, x * 3, 5

        @staticmethod
        def backward(ctx, *gradients):
            seen.extend(None if g is None else g.tolist() for g in gradients)
            return gradients[1] * 2 + gradients[3] * 3

    seen = []
    text, first, nothing, second, number = Mixed.apply(x)
    assert (text, nothing, number) == ("text", None, 5)
    assert (first.output_nr, second.output_nr) == (1, 3)  # all outputs count
    (first + second * 10).sum().backward()
    assert seen == [None, [1.0, 1.0], None, [10.0, 10.0], None]
    assert x.grad.tolist() == [32.0, 32.0]
    assert MulConstant.apply(x, 1).requires_grad


def test_one_output_given_twice(x):
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            return result, result

        @staticmethod
        def backward(ctx, first, second):
            return (first + second) * 2

    first, second = Twice.apply(x)
    (first + second * 3).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]


def test_non_differentiable_outputs(x):
    class Largest(Function):
        @staticmethod
        def forward(ctx, x):
            value, index = x.max(0)
            rank = x * 0
            ctx.mark_non_differentiable(index, rank)
            ctx.save_for_backward(index, x)
            return value, index, rank

        @staticmethod
        def backward(ctx, of_value, of_index, of_rank):
            index, x = ctx.saved_tensors
            assert not index.requires_grad
            assert of_rank.tolist() == [0.0, 0.0]
            result = numgrad.zeros_like(x)
            result[index.item()] = of_value
            return result

    value, index, rank = Largest.apply(x)
    assert [t.requires_grad for t in (value, index, rank)] == [True, False, False]
    assert rank.is_leaf
    (value * 5).backward()
    assert x.grad.tolist() == [0.0, 5.0]


def test_integer_outputs_need_not_be_marked(x):
    class Index(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x.argmax()

        @staticmethod
        def backward(ctx, g, of_index):
            return g * 2

    y, index = Index.apply(x)
    assert not index.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_gradients_may_be_none(x):
    class Stop(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    (Stop.apply(x) + x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradients_are_brought_to_the_shape_and_dtype_of_the_input():
    class Product(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return (g * b).double(), g * a

    a, b = tensor([[1.0], [2.0]], requires_grad=True), tensor([3.0, 4.0, 5.0], requires_grad=True)
    Product.apply(a, b).sum().backward()
    assert (a.grad.tolist(), a.grad.dtype) == ([[12.0], [12.0]], numgrad.float32)
    assert b.grad.tolist() == [3.0, 3.0, 3.0]


# --- setup_context ----------------------------------------------------------------------


def test_setup_context(x):
    class Scaled(Function):
        @staticmethod
        def forward(x, factor):
            assert not numgrad.is_grad_enabled()
            return x * factor, factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((inputs, output[0].tolist(), output[1]))
            x, ctx.factor = inputs
            ctx.save_for_backward(x, output[0])

        @staticmethod
        def backward(ctx, g, of_number):
            kept, result = ctx.saved_tensors
            assert kept is x
            assert of_number is None
            assert result.grad_fn is y.grad_fn
            return g * ctx.factor, None

    seen = []
    y, _ = Scaled.apply(x, 3.0)
    assert seen == [((x, 3.0), [3.0, 6.0], 3.0)]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
