"""Backward passes that cannot be run: PyTorch's exceptions, messages with the shapes, and nothing changed."""

import warnings

import pytest
from snapshots import Scene, refused, unchanged

import numgrad
from numgrad import arange, autograd, ones, tensor


@pytest.fixture
def scene():
    scene = Scene()
    yield scene
    scene.check_backward()


def check(scene, action, error, words):
    with refused(error, scene.all, *words):
        action(scene)


# --- gradients --------------------------------------------------------------------------


def test_a_scalar_is_needed_where_no_gradient_is_given(scene):
    words = ["grad can be implicitly created only for scalar outputs"]
    for call in (
        lambda s: s.root.backward(),
        lambda s: autograd.backward(s.root),
        lambda s: autograd.backward([s.loss, s.root]),
        lambda s: autograd.grad(s.root, s.leaf),
        lambda s: autograd.backward([s.loss, s.root], [None, None]),
    ):
        check(scene, call, RuntimeError, words)


def test_what_needs_no_gradient_has_no_backward(scene):
    words = ["element 0 of tensors does not require grad and does not have a grad_fn"]
    for call in (
        lambda s: s.plain.sum().backward(),
        lambda s: autograd.backward(s.plain, ones(2, 3)),
        lambda s: autograd.grad(s.plain.sum(), s.leaf),
        lambda s: s.loss.detach().backward(),
    ):
        check(scene, call, RuntimeError, words)
    check(scene, lambda s: autograd.grad(s.loss, s.plain), RuntimeError, ["does not require grad", "[2, 3]"])


def test_unused_inputs_are_an_error_unless_allowed(scene):
    other = ones(4, requires_grad=True)
    with unchanged(other):
        check(
            scene,
            lambda s: autograd.grad(s.loss, [s.leaf, other], retain_graph=True),
            RuntimeError,
            ["appears to not have been used in the graph", "allow_unused=True", "[4]"],
        )
    with unchanged(*scene.all, other):
        _, unused = autograd.grad(scene.loss, [scene.leaf, other], retain_graph=True, allow_unused=True)
        assert unused is None


@pytest.mark.parametrize("bad", [1.0, [1.0], "a"])
def test_gradients_and_roots_are_tensors(scene, bad):
    for call in (
        lambda s: s.root.backward(bad),
        lambda s: autograd.backward(s.root, [bad]),
        lambda s: autograd.grad(s.root, s.leaf, [bad]),
        lambda s: autograd.backward(bad),
    ):
        check(scene, call, TypeError, [])
    check(scene, lambda s: autograd.grad(s.loss, [bad]), RuntimeError, ["all inputs have to be Tensors"])


@pytest.mark.parametrize("given", [(2,), (3, 2, 1, 2), (4, 3), (0,), (2, 2, 3)])
def test_gradients_that_do_not_fit_are_an_error(scene, given):
    words = ["Mismatch in shape", f"torch.Size({list(given)})", "torch.Size([2, 3])"]
    for call in (
        lambda s: s.root.backward(ones(given)),
        lambda s: autograd.backward(s.root, ones(given)),
        lambda s: autograd.grad(s.root, s.leaf, ones(given)),
    ):
        check(scene, call, RuntimeError, words)


TOLERATED = [  # shapes of an output and of a gradient with as many elements, or that broadcasts
    ((), (1,)), ((), (1, 1)), ((1,), ()), ((1, 1), (1,)), ((2, 2), (2,)), ((2, 2), ()), ((2,), (1,)), ((2,), (2, 1)),
    ((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), (2, 1)), ((2, 3), (6,)), ((2, 3), (3, 2)), ((2, 3), (1, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "given"), TOLERATED, ids=repr)
def test_backward_reshapes_or_broadcasts_a_gradient_and_warns_once(shape, given):
    x = ones(shape, requires_grad=True)
    count = numgrad.Size(given).numel()
    gradient = arange(1.0, count + 1).reshape(given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (x * 3).backward(gradient)
    expected = gradient.reshape(shape) if count == x.numel() else gradient.expand(shape)
    assert x.grad.tolist() == (expected * 3).tolist()
    assert x.grad.shape == shape
    assert [warning.category for warning in caught] == [DeprecationWarning]
    assert f"a gradient of shape {list(given)} for an output of shape {list(shape)}" in str(caught[0].message)
    assert caught[0].filename == __file__  # it points at the call


@pytest.mark.parametrize(("shape", "given"), TOLERATED, ids=repr)
def test_autograd_does_not_reshape_gradients(shape, given):
    x = ones(shape, requires_grad=True)
    y = x * 3
    words = "Mismatch in shape", f"torch.Size({list(given)})", f"torch.Size({list(shape)})"
    with refused(RuntimeError, [x, y], *words):
        autograd.backward(y, ones(given))
    with refused(RuntimeError, [x, y], *words):
        autograd.grad(y, x, ones(given))


def test_a_gradient_of_the_right_shape_does_not_warn():
    x = ones(2, 3, requires_grad=True)
    (x * 3).backward(ones(2, 3))
    (x * 3).backward(ones(3, 2).t())
    (x * 3).backward(gradient=ones(3).expand(2, 3))
    assert x.grad.tolist() == [[9, 9, 9], [9, 9, 9]]


def test_gradients_of_another_dtype_are_converted():
    for dtype in (numgrad.float64, numgrad.int64):
        x = ones(2, requires_grad=True)
        (x * 3).backward(tensor([1, 2], dtype=dtype))
        assert x.grad.dtype is numgrad.float32
        assert x.grad.tolist() == [3, 6]


def test_counts_of_roots_and_gradients(scene):
    check(
        scene, lambda s: autograd.backward([s.loss], [None, None]), RuntimeError, ["1 tensors and 2 gradients"]
    )
    check(scene, lambda s: s.loss.backward(inputs=[]), RuntimeError, ["`inputs`", "cannot be empty"])
    check(scene, lambda s: autograd.grad(s.loss, []), RuntimeError, ["`inputs`", "cannot be empty"])


# --- graphs that cannot be gone through -------------------------------------------------


def test_a_freed_graph():
    scene = Scene()
    scene.check_backward()
    for call in (scene.loss.backward, lambda: autograd.grad(scene.loss, scene.leaf)):
        with refused(RuntimeError, scene.all, "Trying to backward through the graph a second time", "retain_graph"):
            call()


def test_a_saved_tensor_that_was_changed():
    scene = Scene()
    scene.root.detach().add_(1)
    words = ["one of the variables needed for gradient computation has been modified by an inplace operation"]
    words += ["[torch.FloatTensor [2, 3]]", "is at version 1; expected version 0 instead"]
    with refused(RuntimeError, scene.all, *words):
        scene.root.sum().backward()


def test_an_error_in_a_users_backward_reaches_the_caller(scene):
    class Broken(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("no gradient today")

    loss = Broken.apply(scene.square).sum()
    check(scene, lambda s: loss.backward(), ValueError, ["no gradient today"])
    assert numgrad.is_grad_enabled()


def test_grad_mode_survives_errors(scene):
    with pytest.raises(RuntimeError), numgrad.no_grad():
        scene.leaf + ones(2)
    assert numgrad.is_grad_enabled()
    assert (scene.leaf + 1).requires_grad
