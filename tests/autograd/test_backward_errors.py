"""Backward passes that cannot be run: PyTorch's exceptions, messages with the shapes, and nothing changed."""

import traceback
import warnings

import pytest
from snapshots import Scene, refused, unchanged

import numgrad
from numgrad import arange, autograd, ones, tensor, zeros
from numgrad.autograd import Function, backward, grad


@pytest.fixture
def scene():
    scene = Scene()
    yield scene
    scene.check_backward()


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def check(scene, action, error, words):
    with refused(error, scene.all, *words):
        action(scene)


# --- arguments --------------------------------------------------------------------------


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
    for output in (zeros(0, requires_grad=True), scene.leaf.expand(3, 2, 3)):
        check(scene, lambda s, output=output: output.backward(), RuntimeError, words)


def test_the_error_of_a_missing_gradient_names_the_shape(x):
    with pytest.raises(RuntimeError) as caught:
        (x * 2).backward()
    assert str(caught.value) == "grad can be implicitly created only for scalar outputs"
    assert "[2]" in caught.value.__notes__[0]


def test_one_element_needs_no_gradient_whatever_the_rank(x):
    (x[:1] * 2).expand(1, 1).backward()
    assert x.grad.tolist() == [2.0, 0.0]


def test_tensors_without_gradients_have_no_backward(scene):
    words = ["element 0 of tensors does not require grad and does not have a grad_fn"]
    for call in (
        lambda s: s.plain.sum().backward(),
        lambda s: autograd.backward(s.plain, ones(2, 3)),
        lambda s: autograd.grad(s.plain.sum(), s.leaf),
        lambda s: s.loss.detach().backward(),
    ):
        check(scene, call, RuntimeError, words)


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


def test_inputs_must_require_a_gradient(x):
    plain = tensor([1.0, 2.0])
    message = "One of the differentiated Tensors does not require grad"
    with refused(RuntimeError, [x, plain], message, "input 1, of shape [2]"):
        grad((x * plain).sum(), [x, plain], allow_unused=True)
    with refused(RuntimeError, [x, plain], message):
        (x * plain).sum().backward(inputs=[plain])
    for call in (lambda: (x * plain).sum().backward(inputs=[]), lambda: grad((x * plain).sum(), [])):
        with refused(RuntimeError, [x], "`inputs`", "cannot be empty"):
            call()


@pytest.mark.parametrize("wrong", [3.0, [1.0, 1.0], "ones"])
def test_gradients_are_tensors(scene, wrong):
    words = ["gradients can be either Tensors or None", type(wrong).__name__]
    for call in (
        lambda s: s.root.backward(wrong),
        lambda s: autograd.backward(s.root, [wrong]),
        lambda s: autograd.grad(s.root, s.leaf, [wrong]),
    ):
        check(scene, call, TypeError, words)


def test_tensors_are_tensors(x):
    with refused(TypeError, [x], "element 0 of tensors must be a Tensor or a GradientEdge, not float"):
        backward([5.0])
    for call in (grad, lambda output, inputs: backward(output, inputs=inputs)):
        with refused(RuntimeError, [x], "all inputs have to be Tensors or GradientEdges, but got int"):
            call((x * 2).sum(), [x, 5])
    for call in (lambda: backward(None), lambda: grad(x.sum(), None), lambda: x.sum().backward(inputs=5)):
        with refused(TypeError, [x], "object is not iterable"):
            call()


def test_one_gradient_for_each_output(x):
    with refused(RuntimeError, [x], "got 2 tensors and 1 gradients"):
        grad([x * 2, x * 3], x, [ones(2)])
    with refused(RuntimeError, [x], "got 1 tensors and 2 gradients"):
        backward([x * 2], [ones(2), ones(2)])


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


# --- messages ---------------------------------------------------------------------------


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
