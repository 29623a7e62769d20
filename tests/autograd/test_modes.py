"""Modes of recording: ``no_grad``, ``enable_grad``, ``set_grad_enabled`` in blocks and as functions."""

import contextlib
import copy
import pickle
import threading

import numpy as np
import pytest

import numgrad
from numgrad import autograd, enable_grad, inference_mode, is_grad_enabled, nn, no_grad, ones, set_grad_enabled, tensor
from numgrad.autograd import is_multithreading_enabled, set_multithreading_enabled


@pytest.fixture(autouse=True)
def recording_as_before():
    assert is_grad_enabled()
    yield
    left = is_grad_enabled()
    set_grad_enabled(True)
    assert left


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


#: The modes that switch recording off, and those that switch it on.
OFF = [no_grad, lambda: set_grad_enabled(False)]
ON = [enable_grad, lambda: set_grad_enabled(True)]
NAMES = ["own", "set"]


# --- as a context manager ---------------------------------------------------------------


@pytest.mark.parametrize("off", OFF, ids=NAMES)
@pytest.mark.parametrize("on", ON, ids=NAMES)
def test_modes_nest(x, off, on):
    with off():
        assert not is_grad_enabled()
        assert not (x * 2).requires_grad
        with on():
            assert is_grad_enabled()
            assert (x * 2).requires_grad
            with off():
                assert not is_grad_enabled()
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


@pytest.mark.parametrize("off", OFF, ids=NAMES)
def test_modes_end_with_an_exception(off):
    with pytest.raises(ValueError, match="out"), off():
        raise ValueError("out")
    assert is_grad_enabled()


def test_one_object_may_be_entered_twice():
    mode = no_grad()
    with mode:
        with mode:
            assert not is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_results_without_recording_are_leaves(x):
    with no_grad():
        y = x * 2
        z = tensor([1.0], requires_grad=True)
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad_fn is None
    assert z.requires_grad
    assert (y + 1).is_leaf


def test_a_recorded_graph_can_be_differentiated_without_recording(x):
    y = (x * x).sum()
    with no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert not x.grad.requires_grad


def test_leaves_may_be_written_to_without_recording(x):
    with no_grad():
        x.mul_(2)
        x[0] = 5.0
        x -= 1
    assert x.tolist() == [4.0, 3.0]
    assert x.is_leaf
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [8.0, 6.0]


def test_leaves_may_be_made_without_recording(x):
    with no_grad():
        made = [ones(1, requires_grad=True), nn.Parameter(ones(1)), ones(1).requires_grad_(), (x * 2).requires_grad_()]
        layer = nn.Linear(2, 1)
        assert not layer(ones(1, 2)).requires_grad
        assert not x.requires_grad_(False).requires_grad
    assert [one.requires_grad and one.is_leaf for one in made] == [True] * 4
    assert layer(ones(1, 2)).requires_grad


def test_conversions_without_effect_keep_their_place_in_the_graph(x):
    y = x * 2
    with no_grad():
        same = [y, y.contiguous(), y.to(numgrad.float32)]
        others = [y.clone(), y.to(numgrad.float64), y.detach(), y + 0]
    assert [one.grad_fn is y.grad_fn for one in same] == [True] * 3
    assert [one.requires_grad for one in others] == [False] * 4


def test_changes_without_recording_are_seen_by_backward(x):
    y = x * x
    with no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_gradients_are_recorded_if_create_graph_says_so(x):
    y = (x * x).sum()
    with no_grad():
        recorded, = autograd.grad(y, x, create_graph=True)
    assert recorded.requires_grad
    plain, = autograd.grad(y, x)
    assert not plain.requires_grad


def test_functions_and_hooks_see_the_mode_that_they_run_in(x):
    seen = []

    class Twice(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(is_grad_enabled())
            return g * 2

    x.register_hook(lambda g: seen.append(is_grad_enabled()))
    Twice.apply(x).sum().backward()
    assert seen == [False, False, False]
    Twice.apply(x).sum().backward(create_graph=True)
    assert seen[3:] == [False, True, True]


def test_other_modes_set_in_a_block_stay():
    try:
        with no_grad():
            autograd.set_detect_anomaly(True)
        assert autograd.anomaly_mode.is_anomaly_enabled()
    finally:
        autograd.set_detect_anomaly(False)


def test_blocks_may_end_in_any_order():
    off, on = no_grad(), enable_grad()
    off.__enter__()
    on.__enter__()
    off.__exit__(None, None, None)
    assert is_grad_enabled()
    on.__exit__(None, None, None)
    assert not is_grad_enabled()
    set_grad_enabled(True)


def test_a_block_that_ends_in_inference_mode_records_nothing_there(x):
    def generate():
        with no_grad():
            yield

    generator = generate()
    next(generator)
    with inference_mode():
        generator.close()
        assert is_grad_enabled()
        assert not (x * x).requires_grad
    set_grad_enabled(True)


def test_blocks_on_an_exit_stack():
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(no_grad()) is None
        assert not is_grad_enabled()
    assert is_grad_enabled()


@pytest.mark.parametrize("mode", [no_grad, enable_grad])
@pytest.mark.parametrize("again", [lambda m: m.clone(), copy.copy, copy.deepcopy, pickled])
def test_copies_of_the_context_managers(mode, again):
    twin = again(mode())
    assert type(twin) is mode
    with enable_grad(), twin:
        assert is_grad_enabled() is (mode is enable_grad)


def test_a_subclass_may_do_more():
    done = []

    class Logged(no_grad):
        def __enter__(self):
            super().__enter__()
            done.append("in")

        def __exit__(self, *exception):
            super().__exit__(*exception)
            done.append("out")

    assert not Logged()(is_grad_enabled)()
    assert done == ["in", "out"]


# --- as a function ----------------------------------------------------------------------


def test_set_grad_enabled_holds_at_once():
    set_grad_enabled(False)
    assert not is_grad_enabled()
    set_grad_enabled(mode=True)
    assert is_grad_enabled()


def test_set_grad_enabled_made_early_and_entered_late():
    mode = set_grad_enabled(False)
    assert not is_grad_enabled()
    with mode:
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_modes_set_inside_a_block_end_with_it():
    with no_grad():
        set_grad_enabled(True)
        assert is_grad_enabled()
    assert is_grad_enabled()
    with enable_grad():
        set_grad_enabled(False)
    assert is_grad_enabled()


def test_set_grad_enabled_made_anew_sets_anew():
    mode = set_grad_enabled(False)
    set_grad_enabled(True)
    assert mode.clone().mode is False
    assert not is_grad_enabled()
    set_grad_enabled(True)
    assert repr(mode) == "numgrad.autograd.grad_mode.set_grad_enabled(mode=False)"


@pytest.mark.parametrize("switch", [set_grad_enabled, set_multithreading_enabled])
@pytest.mark.parametrize("mode", [None, 1, 0.0, "True", np.True_, is_grad_enabled])
def test_the_mode_must_be_a_bool(switch, mode):
    message = rf"{switch.__name__}\(\): argument 'enabled' \(position 1\) must be bool, not {type(mode).__name__}"
    with pytest.raises(TypeError, match=message):
        switch(mode)
    assert is_grad_enabled()


@pytest.mark.parametrize("mode", [no_grad, enable_grad, inference_mode])
def test_wrong_arguments(mode):
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        mode(other=True)
    with pytest.raises(TypeError, match="positional arguments"):
        mode(is_grad_enabled, is_grad_enabled)


# --- the flag for threads in backward ---------------------------------------------------


def test_multithreading_is_a_flag_without_effect(x):
    assert is_multithreading_enabled()
    with set_multithreading_enabled(False) as nothing:
        assert nothing is None
        assert not is_multithreading_enabled()
        (x * x).sum().backward()
    assert is_multithreading_enabled()
    assert x.grad.tolist() == [2.0, 4.0]
    mode = set_multithreading_enabled(False)
    assert not is_multithreading_enabled()
    mode.clone()
    set_multithreading_enabled(True)
    assert is_multithreading_enabled()


def test_each_thread_has_its_own_flag():
    seen = []
    with set_multithreading_enabled(False):
        thread = threading.Thread(target=lambda: seen.append(is_multithreading_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# --- threads ----------------------------------------------------------------------------


def test_each_thread_has_its_own_mode(x):
    entered, checked = threading.Event(), threading.Event()
    seen = []

    def work():
        seen.append(is_grad_enabled())
        with no_grad():
            entered.set()
            assert checked.wait(10)
            seen.append((x * 2).requires_grad)

    with no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        assert entered.wait(10)
        set_grad_enabled(True)
        assert (x * 2).requires_grad
        checked.set()
        thread.join()
    assert seen == [True, False]


def test_a_new_thread_records_and_leaves_the_others_alone(x):
    results = []
    with no_grad():
        thread = threading.Thread(target=lambda: (results.append(x * 2), set_grad_enabled(False)))
        thread.start()
        thread.join()
        assert results[0].requires_grad
    assert is_grad_enabled()


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode"])
def test_the_names_are_in_three_places(name):
    assert getattr(numgrad, name) is getattr(autograd, name) is getattr(autograd.grad_mode, name)
    assert name in numgrad.__all__
    assert name in autograd.__all__


def test_the_threads_names():
    assert autograd.grad_mode.set_multithreading_enabled is set_multithreading_enabled
    assert "set_multithreading_enabled" in autograd.__all__
