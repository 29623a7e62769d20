"""What ``backward`` and ``autograd.grad`` refuse, in PyTorch's words, leaving everything as it was."""

import traceback

import pytest
from snapshots import refused

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.autograd import Function, backward, grad


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def test_other_than_one_element_needs_a_gradient(x):
    message = "grad can be implicitly created only for scalar outputs"
    for output in (x * 2, zeros(0, requires_grad=True), x.expand(3, 2)):
        with refused(RuntimeError, [x], message):
            output.backward()
        with refused(RuntimeError, [x], message):
            grad([output], [x])
    (x[:1] * 2).expand(1, 1).backward()  # one element, whatever the rank
    assert x.grad.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("call", [lambda x: x.backward(), lambda x: grad(x, tensor(1.0, requires_grad=True))])
def test_what_was_not_recorded_has_no_backward(call):
    x = tensor(2.0)
    with refused(RuntimeError, [x], "element 0 of tensors does not require grad and does not have a grad_fn"):
        call(x * 2)


def test_inputs_must_require_a_gradient(x):
    plain = tensor([1.0, 2.0])
    message = "One of the differentiated Tensors does not require grad"
    with refused(RuntimeError, [x, plain], message):
        grad((x * plain).sum(), [x, plain], allow_unused=True)
    with refused(RuntimeError, [x, plain], message):
        (x * plain).sum().backward(inputs=[plain])
    with refused(RuntimeError, [x], "inputs", "cannot be empty"):
        (x * plain).sum().backward(inputs=[])


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 1), (1, 2), ()])
def test_gradients_have_the_shape_of_their_output(x, shape):
    words = "Mismatch in shape", f"torch.Size({list(shape)})", "torch.Size([2])"
    with refused(RuntimeError, [x], *words):
        grad(x * 2, x, ones(shape))
    with refused(RuntimeError, [x], *words):
        backward(x * 2, ones(shape))


def test_one_gradient_for_each_output(x):
    with refused(RuntimeError, [x], "got 2 tensors and 1 gradients"):
        grad([x * 2, x * 3], x, [ones(2)])
    with refused(RuntimeError, [x], "got 1 tensors and 2 gradients"):
        backward([x * 2], [ones(2), ones(2)])


@pytest.mark.parametrize("wrong", [3.0, [1.0, 1.0], "ones"])
def test_gradients_are_tensors(x, wrong):
    with refused(TypeError, [x], "gradients can be either Tensors or None", type(wrong).__name__):
        (x * 2).backward(wrong)


def test_tensors_are_tensors(x):
    with refused(TypeError, [x], "element 0 of tensors must be a Tensor or a GradientEdge, not float"):
        backward([5.0])
    for call in (grad, lambda output, inputs: backward(output, inputs=inputs)):
        with refused(RuntimeError, [x], "all inputs have to be Tensors or GradientEdges, but got int"):
            call((x * 2).sum(), [x, 5])
    for call in (lambda: backward(None), lambda: grad(x.sum(), None), lambda: x.sum().backward(inputs=5)):
        with refused(TypeError, [x], "object is not iterable"):
            call()


def test_old_names_of_arguments(x):
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead"):
        backward(x * 2, grad_variables=ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    with (
        pytest.warns(FutureWarning, match="`grad_variables` is deprecated"),
        refused(RuntimeError, [x], "`grad_tensors` and `grad_variables` (deprecated) arguments both passed"),
    ):
        backward(x * 2, ones(2), grad_variables=ones(2))
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated and is ignored now"):
        assert grad((x * 2).sum(), x, only_inputs=False)[0].tolist() == [2.0, 2.0]


def test_an_error_in_the_middle_leaves_later_passes_alone(x):
    changed = x * 1
    total = (changed * changed).sum() + (x * 5).sum()
    changed.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    assert numgrad.is_grad_enabled()
    x.grad = None
    (x * 5).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


# --- gradients that a node returns ------------------------------------------------------


def returning(make):
    """A Function whose backward returns ``make()``."""

    class Returning(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return make()

    return Returning.apply


@pytest.mark.parametrize("shape", [(5,), (3, 1, 2), (2, 3), (0,)])
def test_a_gradient_of_another_shape_than_the_input(shape):
    x = ones(3, 2, requires_grad=True)
    message = f"Function ReturningBackward returned an invalid gradient at index 0 - got {list(shape)} but expected "
    with refused(RuntimeError, [x], message, "shape compatible with [3, 2]"):
        returning(lambda: ones(shape))(x).sum().backward()


def test_which_gradient_has_another_shape():
    class Second(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g, ones(5)

    x = ones(3, requires_grad=True)
    for second in (ones(3, requires_grad=True), x):
        with pytest.raises(RuntimeError, match=r"SecondBackward returned an invalid gradient at index 1 - got \[5\]"):
            Second.apply(x, second).sum().backward()


def test_a_gradient_that_broadcasts_is_summed():
    x = ones(2, requires_grad=True)
    returning(lambda: ones(3, 2))(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", [numgrad.float64, numgrad.int64, numgrad.bool])
def test_a_gradient_of_another_dtype_is_converted(dtype):
    x = ones(2, requires_grad=True)
    returning(lambda: ones(2, dtype=dtype))(x).sum().backward()
    assert x.grad.dtype is numgrad.float32
    assert x.grad.tolist() == [1.0, 1.0]


# --- what an error says -----------------------------------------------------------------


def raising(error):
    def hook(gradient):
        raise error

    return hook


def test_an_error_says_at_which_node_it_was_raised(x):
    y = x * 3
    y.register_hook(raising(KeyError("mine")))
    with pytest.raises(KeyError, match="mine") as caught:
        y.exp().sum().backward()
    assert caught.value.__notes__ == ["Raised in backward at MulBackward0, given a gradient of shape [2]."]
    x.register_hook(raising(ValueError("at the leaf")))
    with pytest.raises(ValueError, match="at the leaf") as caught:
        (x * 2).sum().backward()
    note = "Raised in backward at torch::autograd::AccumulateGrad, given a gradient of shape [2]."
    assert caught.value.__notes__ == [note]


def test_an_error_at_a_node_of_several_outputs(x):
    first, _ = x.unbind()
    first.register_hook(raising(ValueError("no")))
    with pytest.raises(ValueError, match="no") as caught:
        (first * 2).backward()
    note = "Raised in backward at UnbindBackward0, given gradients of the shapes [], None."
    assert caught.value.__notes__ == [note]


def test_the_innermost_node_comes_first(x):
    def inner(gradient):
        z = ones(3, requires_grad=True)
        with numgrad.enable_grad():
            y = z.exp()
            total = y.sum()
        y.register_hook(raising(ValueError("deep inside")))
        total.backward()

    y = x * 2
    y.register_hook(inner)
    with pytest.raises(ValueError, match="deep inside") as caught:
        y.sum().backward()
    assert caught.value.__notes__ == [
        "Raised in backward at ExpBackward0, given a gradient of shape [3].",
        "Raised in backward at MulBackward0, given a gradient of shape [2].",
    ]


def test_the_traceback_leads_to_the_line_that_raised(x):
    y = x * 2
    y.register_hook(raising(ValueError("here")))
    with pytest.raises(ValueError, match="here") as caught:
        y.sum().backward()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "hook")


def test_freed_graphs_name_the_node(x):
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time") as caught:
        y.sum().backward()
    assert caught.value.__notes__ == ["Raised in backward at MulBackward0, given a gradient of shape [2]."]


def test_a_missing_gradient_tells_the_shape(x):
    with pytest.raises(RuntimeError) as caught:
        (x * 2).backward()
    assert str(caught.value) == "grad can be implicitly created only for scalar outputs"
    assert "[2]" in caught.value.__notes__[0]
