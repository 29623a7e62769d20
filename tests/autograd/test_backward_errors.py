"""What ``backward`` and ``autograd.grad`` refuse, in PyTorch's words, leaving everything as it was."""

import pytest
from snapshots import refused

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.autograd import backward, grad


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
    with refused(TypeError, [x], "element 0 of tensors must be a Tensor, not float"):
        backward([5.0])
    with refused(TypeError, [x], "element 1 of inputs must be a Tensor, not int"):
        grad((x * 2).sum(), [x, 5])


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
