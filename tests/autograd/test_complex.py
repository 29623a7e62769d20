"""Complex numbers in the graph: gradients are conjugate Wirtinger derivatives, complex for complex leaves."""

import numpy as np
import pytest

import numgrad
from numgrad import complex64, complex128, float32, float64, tensor
from numgrad.autograd import Function, grad


def leaf(*values, dtype=complex128):
    return tensor(values, dtype=dtype, requires_grad=True)


def test_complex_leaves_have_complex_gradients():
    z = leaf(3 + 4j, 1j)
    assert z.requires_grad
    assert z.is_leaf
    z.abs().sum().backward()
    assert z.grad.dtype is complex128
    np.testing.assert_allclose(z.grad.numpy(), [0.6 + 0.8j, 1j])
    (z * z).real.sum().backward()  # added in place
    np.testing.assert_allclose(z.grad.numpy(), [6.6 - 7.2j, -1j])


def test_a_step_against_the_gradient_goes_downhill():
    z = leaf(2 - 1j, -3j)
    target = tensor([1 + 1j, -1.0], dtype=complex128)
    for _ in range(100):
        distance = (z - target).abs().square().sum()
        (slope,) = grad(distance, z)
        with numgrad.no_grad():
            z -= 0.1 * slope
    np.testing.assert_allclose(z.detach().numpy(), target.numpy(), atol=1e-8)


@pytest.mark.parametrize("name", [
    "SGD", "Adam", "RMSprop", "Adagrad", "AdamW", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
])
def test_optimizers_take_complex_parameters(name):
    z = leaf(2 - 1j, -3j)
    optimizer = getattr(numgrad.optim, name)([z], lr=0.05)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (z - 1).abs().square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)


def test_operations_on_complex_numbers_are_recorded():
    z = leaf(1 + 1j)
    assert (z * 2).grad_fn.name() == "MulBackward0"
    assert repr(z * 2) == "tensor([2.+2.j], dtype=torch.complex128, grad_fn=<MulBackward0>)"
    assert z.conj().grad_fn.name() == "ConjBackward0"
    assert [node.name() for node, _ in z.real.grad_fn.next_functions] == ["ViewAsRealBackward0"]
    assert not (z == 1).requires_grad
    assert not z.isfinite().requires_grad


@pytest.mark.parametrize(("output", "gradient", "message"), [
    (lambda z: z.sum(), None, "implicitly created only for real scalar outputs but got torch.complex128"),
    (lambda z: z, None, "implicitly created only for scalar outputs"),
    (lambda z: z.sum(), tensor(1.0), r"same dtype.*grad_output\[0\] has a dtype of torch.float32"),
    (lambda z: z.abs().sum(), tensor(1j), r"same dtype.*output\[0\] has a dtype of torch.float64"),
])
def test_gradients_that_backward_does_not_take(output, gradient, message):
    with pytest.raises(RuntimeError, match=message):
        output(leaf(1j, 2)).backward(gradient)


def test_the_gradient_of_a_complex_output_is_given():
    z = leaf(1j, 2)
    (z * (1 + 2j)).backward(tensor([1j, 1 - 1j], dtype=complex128))
    np.testing.assert_allclose(z.grad.numpy(), [2 + 1j, -1 - 3j])  # times the conjugate


def test_real_leaves_among_complex_numbers_have_real_gradients():
    x, z = leaf(1.0, 2.0, dtype=float64), leaf(1j, 2 - 1j)
    (x * z).real.sum().backward()
    assert x.grad.dtype is float64
    np.testing.assert_array_equal(x.grad.numpy(), [0, 2])
    (slope,) = grad((x * z).imag.sum(), x, create_graph=True)
    assert slope.dtype is float64
    (second,) = grad(slope.sum(), z)
    np.testing.assert_array_equal(second.numpy(), [1j, 1j])


def test_a_real_leaf_that_takes_any_dtype_still_has_a_real_gradient():
    x = leaf(1.0, 2.0, dtype=float32)
    x.grad_dtype = None
    (x * tensor([1j, 2.0], dtype=complex128)).real.sum().backward()
    assert x.grad.dtype is float64
    assert x.grad.tolist() == [0, 2]


def test_conversions():
    z = leaf(1 + 2j, 3 - 1j)
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        z.to(float64).sum().backward()
    np.testing.assert_array_equal(z.grad.numpy(), [1, 1])
    x = leaf(1.0, 2.0, dtype=float32)
    x.to(complex128).backward(tensor([1 + 2j, 3j], dtype=complex128))
    assert x.grad.dtype is float32
    assert x.grad.tolist() == [1, 0]
    w = leaf(1j, dtype=complex64)
    w.to(complex128).abs().sum().backward()
    assert w.grad.dtype is complex64


def test_second_derivatives():
    z = leaf(3 + 4j)
    (slope,) = grad(z.abs().sum() ** 3, z, create_graph=True)  # 3 * |z| * z
    np.testing.assert_allclose(slope.detach().numpy(), [45 + 60j])
    (second,) = grad(slope.real.sum(), z)  # of 3 * |z| * x
    np.testing.assert_allclose(second.numpy(), [15 + 3 * 3 * (3 + 4j) / 5])


def test_hooks_are_given_complex_gradients():
    z = leaf(3 + 4j)
    doubled = z * 2
    seen = []
    doubled.register_hook(lambda gradient: seen.append(gradient.dtype) or gradient * 1j)
    doubled.retain_grad()
    doubled.abs().sum().backward()
    assert seen == [complex128]
    np.testing.assert_allclose(doubled.grad.numpy(), [-0.8 + 0.6j])
    np.testing.assert_allclose(z.grad.numpy(), [-1.6 + 1.2j])


def test_a_hook_must_not_make_a_complex_gradient_real():
    doubled = leaf(3 + 4j) * 2
    doubled.register_hook(lambda gradient: gradient.real)
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        doubled.abs().sum().backward()


class Turned(Function):
    """``1j * input``, real or complex."""

    @staticmethod
    def forward(ctx, x):
        ctx.is_real = not x.is_complex()
        return x * 1j

    @staticmethod
    def backward(ctx, gradient):
        turned = gradient * -1j
        return turned.real if ctx.is_real else turned


def test_functions_take_and_give_complex_numbers():
    z = leaf(1 + 2j)
    out = Turned.apply(z)
    assert out.grad_fn.name() == "TurnedBackward"
    (out * out).real.sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [-2 + 4j])
    x = leaf(2.0, dtype=float64)
    out = Turned.apply(x)
    assert out.dtype is complex128
    out.imag.sum().backward()
    assert x.grad.tolist() == [1]


def test_a_function_must_not_return_a_complex_gradient_for_a_real_input():
    class Wrong(Turned):
        @staticmethod
        def backward(ctx, gradient):
            return gradient * -1j

    message = r"WrongBackward returned an invalid gradient at index 0.*complex128.*float64"
    with pytest.raises(RuntimeError, match=message):
        Wrong.apply(leaf(2.0, dtype=float64)).imag.sum().backward()


def test_saved_outputs_are_complex_numbers_in_the_graph():
    z = leaf(0.5 + 1j)
    out = z.exp()
    assert out.grad_fn._saved_result.grad_fn is out.grad_fn
    packed = []
    with numgrad.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.dtype) or t, lambda t: t):
        out = z.exp().abs().sum()
    assert packed[0] is complex128
    out.backward()
    np.testing.assert_allclose(z.grad.numpy(), [np.exp(0.5)])


def test_in_place_through_the_parts():
    z = leaf(1 + 2j, 3 - 1j)
    copy = z * 1
    real = copy.real
    real.mul_(tensor([2.0, 3.0], dtype=float64))
    assert copy.grad_fn.name() == "torch::autograd::CopySlices"
    copy.backward(tensor([1 + 1j, 1 + 1j], dtype=complex128))
    np.testing.assert_array_equal(z.grad.numpy(), [2 + 1j, 3 + 1j])
    np.testing.assert_array_equal(real.detach().numpy(), [2, 9])
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        z.imag.zero_()


def test_parts_can_be_assigned():
    z = tensor([1 + 2j, 3.0])
    z.real = tensor([5.0, 6.0])
    z.imag = 7
    assert z.tolist() == [5 + 7j, 6 + 7j]


def test_a_gradient_must_be_complex_to_be_assigned():
    z = leaf(1j)
    with pytest.raises(RuntimeError, match="dtype 'float' to a tensor with grad_dtype 'ComplexDouble'"):
        z.grad = numgrad.zeros(1)
    z.grad = numgrad.zeros(1, dtype=complex128)


def test_once_differentiable_refuses_complex_gradients_too():
    class Halved(Function):
        @staticmethod
        def forward(ctx, z):
            return z / 2

        @staticmethod
        @numgrad.autograd.function.once_differentiable
        def backward(ctx, gradient):
            return gradient / 2

    z = leaf(1 + 1j)
    (slope,) = grad(Halved.apply(z).abs().sum(), z, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.abs().sum().backward()


def test_only_integers_and_bools_have_no_gradients():
    for dtype in (numgrad.int64, numgrad.bool_ if hasattr(numgrad, "bool_") else numgrad.bool):
        with pytest.raises(RuntimeError, match="only Tensors of floating point"):
            numgrad.zeros(1, dtype=dtype).requires_grad_()
    assert numgrad.zeros(1, dtype=complex64).requires_grad_().requires_grad


def test_conjugates_and_negatives_are_computed_at_once():
    z = leaf(1 + 2j)
    for value in (z, z.conj(), z.conj().imag, z.real, -z):
        for module in (numgrad, numgrad.Tensor):
            assert not module.is_conj(value)
            assert not module.is_neg(value)
            assert module.resolve_conj(value) is value
            assert module.resolve_neg(value) is value
            assert [module.is_neg.__name__, module.resolve_neg.__name__] == ["is_neg", "resolve_neg"]
    assert grad(z.conj().imag.resolve_neg().resolve_conj().sum(), z)[0].tolist() == [-1j]
