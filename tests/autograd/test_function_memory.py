"""Functions whose backward releases saved tensors and gradients early to use less memory."""

from weakref import ref

import pytest

from numgrad import ones, tensor
from numgrad.autograd import Function, detect_anomaly, grad
from numgrad.autograd.function import once_differentiable

ONCE = "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True"


class Product(Function):
    clear_saved_tensors_on_access = True

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x * 1, y * 1)
        return x * y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        watched = ref(x)
        result = gradient * x
        del x
        assert watched() is None
        return gradient * y, result


class Boxed(Function):
    boxed_grads_call = True

    @staticmethod
    def forward(ctx, x, y):
        return x * 2, y * 3

    @staticmethod
    def backward(ctx, gradients):
        assert isinstance(gradients, list)
        first = gradients.pop(0) * 2
        watched = ref(gradients[0])
        second = gradients.pop() * 3
        assert watched() is None
        return first, second


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture
def y():
    return tensor([3.0, 4.0], requires_grad=True)


def test_saved_tensors_are_free_when_backward_drops_them(x, y):
    Product.apply(x, y).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    assert y.grad.tolist() == [1.0, 2.0]


def test_saved_tensors_can_be_read_once(x, y):
    out = Product.apply(x, y)
    out.sum().backward(retain_graph=True)
    for again in (out.sum().backward, lambda: out.grad_fn.saved_tensors):
        with pytest.raises(RuntimeError, match=ONCE):
            again()
    assert out.grad_fn._raw_saved_tensors == ()
    out = Product.apply(x, y)
    assert len(out.grad_fn.saved_tensors) == 2
    with pytest.raises(RuntimeError, match=ONCE):
        out.sum().backward()


def test_backward_gets_the_gradients_in_a_list_of_its_own(x, y):
    first, second = Boxed.apply(x, y)
    (first * second).sum().backward(retain_graph=True)
    once = x.grad.tolist(), y.grad.tolist()
    assert once == ([18.0, 24.0], [6.0, 12.0])
    assert [g.tolist() for g in grad((first * second).sum(), [x, y])] == [*once]


def test_gradients_that_are_missing_are_in_the_list_too(x, y):
    first, _ = Boxed.apply(x, y)
    assert grad(first.sum(), y)[0].tolist() == [0.0, 0.0]


def test_hooks_of_the_node_see_what_was_taken_out(x):
    class Twice(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, t):
            return t * 2, t * 2

        @staticmethod
        def backward(ctx, gradients):
            return gradients.pop() * 2

    seen = []
    _, second = Twice.apply(x)
    second.grad_fn.register_hook(lambda inputs, outputs: seen.append(outputs[1].tolist()))
    second.sum().backward()
    assert seen == [[1.0, 1.0]]
    assert x.grad.tolist() == [2.0, 2.0]


def test_once_differentiable_knows_the_list(x):
    class Once(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, t):
            return t * 2

        @staticmethod
        @once_differentiable
        def backward(ctx, gradients):
            return gradients.pop() * 2

    (g,) = grad(Once.apply(x), x, ones(2, requires_grad=True), create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_anomaly_mode_names_the_node_though_its_gradients_are_gone(x):
    class Failing(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, t):
            return t * 2, t * 3

        @staticmethod
        def backward(ctx, gradients):
            gradients.clear()
            raise RuntimeError("of the user")

    with detect_anomaly(), pytest.raises(RuntimeError, match="of the user"):
        Failing.apply(x)[0].sum().backward()
