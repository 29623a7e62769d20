"""Inference mode: tensors made in it, and their uses outside."""

import copy
import pickle
import threading

import numpy as np
import pytest

import numgrad
from numgrad import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, nn, no_grad, ones, tensor
from numgrad.autograd import grad_mode

UPDATED = "Inplace update to inference tensor outside InferenceMode is not allowed"
SAVED = "Inference tensors cannot be saved for backward"
REQUIRING = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"


@pytest.fixture(autouse=True)
def no_inference_mode_left():
    yield
    assert (is_grad_enabled(), is_inference_mode_enabled()) == (True, False)
    assert not grad_mode.inference_blocks


@pytest.fixture
def frozen():
    with inference_mode():
        return ones(2)


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


# --- the mode ---------------------------------------------------------------------------


def test_nothing_is_recorded_even_if_asked_for(x):
    with inference_mode():
        assert (is_inference_mode_enabled(), is_grad_enabled()) == (True, False)
        assert not (x * 2).requires_grad
        with enable_grad():
            assert (is_inference_mode_enabled(), is_grad_enabled()) == (True, True)
            y = x * x
            assert not y.requires_grad
            assert y.is_leaf
            assert y.is_inference()
            with no_grad():
                assert not is_grad_enabled()
            assert is_grad_enabled()
        assert not is_grad_enabled()


def test_false_goes_back_to_normal(x):
    with inference_mode():
        with inference_mode(False):
            assert (is_inference_mode_enabled(), is_grad_enabled()) == (False, True)
            y = x * 2
            assert y.requires_grad
            assert not y.is_inference()
            with inference_mode():
                assert ones(1).is_inference()
            assert not ones(1).is_inference()
        assert ones(1).is_inference()


def test_false_records_inside_no_grad(x):
    with no_grad():
        with inference_mode(False):
            assert (x * 2).requires_grad
        assert not is_grad_enabled()


def test_the_surrounding_modes_are_restored():
    with no_grad():
        with inference_mode():
            numgrad.set_grad_enabled(True)
        assert not is_grad_enabled()
    with enable_grad(), inference_mode():
        assert not is_grad_enabled()
    with pytest.raises(ValueError, match="out"), inference_mode():
        raise ValueError("out")
    assert not ones(1).is_inference()


def test_one_object_may_be_entered_twice():
    mode = inference_mode()
    with mode:
        with mode:
            assert is_inference_mode_enabled()
        assert is_inference_mode_enabled()
        assert not is_grad_enabled()


def test_each_thread_has_its_own_mode():
    entered, checked = threading.Event(), threading.Event()
    seen = []

    def work():
        seen.append((is_inference_mode_enabled(), ones(1).is_inference()))
        with inference_mode():
            entered.set()
            assert checked.wait(10)
            seen.append((is_inference_mode_enabled(), ones(1).is_inference()))

    thread = threading.Thread(target=work)
    with inference_mode():
        thread.start()
        assert entered.wait(10)
    seen.append((is_inference_mode_enabled(), ones(1).is_inference()))
    checked.set()
    thread.join()
    assert seen == [(False, False), (False, False), (True, True)]


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("again", [inference_mode.clone, copy.copy, copy.deepcopy, pickled])
def test_copies_of_the_context_manager(mode, again):
    twin = again(inference_mode(mode))
    assert twin.mode is mode
    with twin:
        assert is_inference_mode_enabled() is mode


# --- which tensors are inference tensors ------------------------------------------------


def test_tensors_made_inside():
    normal = ones(2, 2)
    with inference_mode():
        made = [
            ones(2), tensor([1]), numgrad.arange(3), numgrad.rand(2), numgrad.from_numpy(np.ones(2)),
            nn.Parameter(ones(1)), normal + 1, normal.sum(), normal @ normal, normal.max(0).indices,
            normal[normal > 0], normal[[0]], normal.clone(), normal.double(), normal.new_ones(1),
            numgrad.zeros_like(normal), normal.t().contiguous(), numgrad.cat([normal, normal]),
            nn.functional.softmax(normal, 0), copy.deepcopy(normal),
        ]
    assert [one.is_inference() for one in made] == [True] * len(made)


def test_views_of_normal_tensors_and_the_tensors_themselves_are_normal(x):
    normal = ones(2, 2)
    with inference_mode():
        same = [
            normal[0], normal.t(), normal.view(4), normal.reshape(4), normal.expand(3, 2, 2), *normal.split(1),
            normal.detach(), normal.data, normal.contiguous(), normal.float(), normal.add_(1), x.requires_grad_(),
        ]
    assert [one.is_inference() for one in same] == [False] * len(same)


def test_views_of_inference_tensors_are_inference_tensors(frozen):
    views = [frozen[0], frozen.view(2, 1), frozen.expand(2, 2), *frozen.split(1), frozen.detach(), frozen.data, *frozen]
    assert [view.is_inference() for view in views] == [True] * len(views)
    assert frozen.view(2, 1)[0].is_inference()


def test_views_of_inference_tensors_do_not_know_their_base(frozen):
    view = frozen[1:]
    assert not view._is_view()
    assert view._base is None


def test_results_outside_are_normal(frozen):
    made = [frozen + 1, frozen.exp(), frozen.sum(), frozen.clone(), frozen > 0, frozen[[0]], frozen.double()]
    made += [frozen * frozen, copy.deepcopy(frozen), pickled(frozen), numgrad.from_numpy(frozen.numpy())]
    assert [one.is_inference() for one in made] == [False] * len(made)
    made[3].add_(1)
    assert made[3].requires_grad_().requires_grad
    assert frozen.tolist() == [1.0, 1.0]


def test_is_inference_is_a_function_too(frozen):
    assert numgrad.is_inference(frozen)
    assert not numgrad.is_inference(input=ones(1))
    with pytest.raises(TypeError, match=r"is_inference\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        numgrad.is_inference(3)


def test_an_inference_tensor_shows_as_any_other(frozen):
    assert repr(frozen) == "tensor([1., 1.])"
    assert (frozen.requires_grad, frozen.is_leaf, frozen.grad_fn, frozen.grad) == (False, True, None, None)


def test_assigned_data_decide():
    normal, other = ones(2), ones(3)
    with inference_mode():
        normal.data = ones(3)
        assert normal.is_inference()
    with pytest.raises(RuntimeError, match=UPDATED):
        normal.add_(1)
    normal.data = other
    assert not normal.is_inference()
    normal.add_(1)
    assert other.tolist() == [2.0] * 3


# --- errors outside of the mode ---------------------------------------------------------


@pytest.mark.parametrize("change", [
    lambda t: t.add_(1), lambda t: t.mul_(ones(2)), lambda t: t.exp_(), lambda t: t.zero_(), lambda t: t.fill_(2),
    lambda t: t.copy_(ones(2)), lambda t: t.uniform_(), lambda t: t.normal_(), lambda t: t.__setitem__(0, 5.0),
    lambda t: t.__setitem__(t > 0, 5.0), lambda t: t.index_fill_(0, tensor([0]), 3.0), lambda t: t.cumsum_(0),
    lambda t: t.masked_fill_(t > 0, 3.0), lambda t: t.clamp_(max=0), lambda t: t[0].add_(1),
    lambda t: numgrad.add(ones(2), 1, out=t),
    lambda t: numgrad.sum(ones(2, 2), 0, out=t), lambda t: nn.init.zeros_(t), lambda t: t.detach().add_(1),
    lambda t: nn.functional.relu_(t), lambda t: t.data.add_(1),
])
@pytest.mark.parametrize("around", [enable_grad, no_grad, lambda: inference_mode(False)], ids=["on", "off", "normal"])
def test_writing(frozen, change, around):
    with around(), pytest.raises(RuntimeError, match=UPDATED):
        change(frozen)
    assert frozen.tolist() == [1.0, 1.0]
    with inference_mode():
        change(frozen)


def test_an_empty_out_is_not_filled_either():
    with inference_mode():
        out = numgrad.empty(0)
    with pytest.raises(RuntimeError, match=UPDATED):
        numgrad.add(ones(2), 1, out=out)
    assert out.shape == (0,)


def test_writing_inside(frozen):
    with inference_mode():
        frozen.add_(1)
        frozen[0] = 5.0
        frozen *= 2
        frozen[1:].zero_()
    assert frozen.tolist() == [10.0, 0.0]


@pytest.mark.parametrize("compute", [
    lambda x, t: x * t, lambda x, t: t * x, lambda x, t: x / t, lambda x, t: x**t, lambda x, t: x.dot(t),
    lambda x, t: (x * 3) * t, lambda x, t: x * t[0], lambda x, t: x.mul(2).mul_(t), lambda x, t: numgrad.outer(x, t),
    lambda x, t: nn.functional.mse_loss(x, t), lambda x, t: numgrad.maximum(x, t),
], ids=range(11))
def test_saving_for_backward(frozen, x, compute):
    with pytest.raises(RuntimeError, match=SAVED):
        compute(x, frozen)
    with no_grad():
        assert not compute(x, frozen).is_inference()
    compute(x, frozen.clone()).sum().backward()


def test_saving_indices_for_backward(x):
    with inference_mode():
        index = tensor([0])
    for compute in (lambda x: x.gather(0, index), lambda x: x[index], lambda x: x.index_select(0, index)):
        with pytest.raises(RuntimeError, match=SAVED):
            compute(x)
        assert compute(x.detach()).tolist() == [1.0]


@pytest.mark.parametrize("compute", [
    lambda x, t: x + t, lambda x, t: x - t, lambda x, t: numgrad.cat([x, t]), lambda x, t: numgrad.stack([x, t]),
    lambda x, t: x * (t + 0), lambda x, t: x.mul(2).add_(t), lambda x, t: x.mul(2).copy_(t) + x,
], ids=range(7))
def test_recording_what_is_not_saved(frozen, x, compute):
    y = compute(x, frozen)
    assert y.requires_grad
    y.sum().backward()
    assert not x.grad.is_inference()


def test_a_function_may_not_save_them(frozen, x):
    class Product(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    with pytest.raises(RuntimeError, match=SAVED):
        Product.apply(x, frozen)
    assert Product.apply(ones(2), frozen).tolist() == [1.0, 1.0]
    with inference_mode():
        assert Product.apply(x, frozen).is_inference()


def test_requiring_gradients(frozen):
    with pytest.raises(RuntimeError, match=REQUIRING):
        frozen.requires_grad_()
    with pytest.raises(RuntimeError, match=REQUIRING):
        frozen.requires_grad = True
    with pytest.raises(RuntimeError, match=REQUIRING):
        nn.Parameter(frozen)
    assert not frozen.requires_grad_(False).requires_grad
    assert not nn.Parameter(frozen, requires_grad=False).requires_grad
    with inference_mode():
        assert frozen.requires_grad_().requires_grad
        assert not (frozen * 2).requires_grad
    (frozen * 2).sum().backward()
    assert frozen.grad.tolist() == [2.0, 2.0]


def test_there_is_no_version(frozen):
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        frozen._version  # noqa: B018
    with inference_mode(), pytest.raises(RuntimeError, match="do not track version"):
        frozen[:1]._version  # noqa: B018


# --- normal tensors inside --------------------------------------------------------------


def test_normal_tensors_may_be_changed_and_are_seen_to_be(x):
    y = x * x
    with inference_mode():
        x.add_(1)
        assert x._version == 1
    assert x.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_views_made_inside_may_not_be_changed_where_gradients_are_required(x):
    normal = ones(2)
    with inference_mode():
        view, of_leaf = normal[:1], x[:1]
        of_leaf.mul_(3)
    view.add_(1)
    assert normal.tolist() == [2.0, 1.0]
    for one, value in ((view, x[:1]), (of_leaf, 1.0)):
        with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
            one.add_(value)
    assert x.tolist() == [3.0, 2.0]
    normal[:1].add_(x[:1])  # a view made outside may
    assert normal.requires_grad


def test_backward_inside_makes_inference_gradients(x):
    y = (x * x).sum()
    with inference_mode():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert x.grad.is_inference()
    with pytest.raises(RuntimeError, match=UPDATED):
        (x * x).sum().backward()  # would add to it
    x.grad = None
    (x * x).sum().backward()
    y = (x * x).sum()
    with inference_mode():
        y.backward()  # adds to a normal one
    assert x.grad.tolist() == [4.0, 8.0]
    assert not x.grad.is_inference()


def test_gradients_are_not_recorded_inside(x):
    y = (x * x).sum()
    with inference_mode():
        gradient, = numgrad.autograd.grad(y, x, create_graph=True)
    assert not gradient.requires_grad


def test_a_model_made_inside_can_be_run_but_not_trained_outside():
    with inference_mode():
        model = nn.Linear(2, 1)
        assert model.weight.requires_grad
    assert not model(ones(1, 2)).is_inference()
    for param in model.parameters():
        param.grad = numgrad.ones_like(param)
    with pytest.raises(RuntimeError, match=UPDATED):
        numgrad.optim.SGD(model.parameters(), 0.1).step()


@pytest.mark.parametrize("make", [
    lambda p: numgrad.optim.SGD(p, 0.1, momentum=0.9), numgrad.optim.Adam, numgrad.optim.RMSprop,
], ids=["SGD", "Adam", "RMSprop"])
def test_an_optimizer_does_not_update_state_made_in_inference_mode_outside_of_it(make):
    model = nn.Linear(2, 1)
    optimizer = make(model.parameters())
    model(ones(1, 2)).sum().backward()
    with inference_mode():
        optimizer.step()
        optimizer.step()
    before = model.weight.tolist()
    with pytest.raises(RuntimeError, match=UPDATED):
        optimizer.step()
    assert model.weight.tolist() == before


def test_operations_that_change_nothing_are_allowed_outside(frozen):
    with inference_mode():
        view = frozen.view(2, 1)
    assert view.detach_() is view
    assert frozen.resize_(2) is frozen
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        frozen.resize_(1)
