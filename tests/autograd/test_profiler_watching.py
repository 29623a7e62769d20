"""Threads that a profile watches, named blocks, and refused arguments."""

import threading

import pytest
from profiles import Doubled, leaf, names, off_as_before  # noqa: F401 - used by every test

import numgrad
from numgrad.autograd import Function, detect_anomaly, profiler
from numgrad.autograd.profiler import profile, record_function
from numgrad.autograd.profiler_util import EventList
from numgrad.autograd.watching import Watcher, unwatch, watch

# -- who is watched ---------------------------------------------------------------------------------------------


def test_only_the_thread_that_entered_is_watched():
    x = numgrad.ones(3)
    with profile() as prof:
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
        x.sin()
    assert names(prof.function_events) == ["aten::sin"]


def test_backward_passes_that_go_on_in_another_thread_are_seen():
    class Nested(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            if ctx.depth:
                with numgrad.enable_grad():
                    Nested.apply(leaf(), ctx.depth - 1).sum().backward()
            return gradient, None

    with profile() as prof:
        Nested.apply(leaf(), 40).sum().backward()
    events = [event for event in prof.function_events if event.name == "NestedBackward"]
    assert len(events) == 41
    assert {event.thread for event in events} == {1, 2}
    assert all(event.cpu_parent.thread == event.thread for event in events)


def test_an_operation_that_fails_is_an_event_and_contains_nothing_later():
    x = numgrad.ones(3)
    with profile() as prof:
        with pytest.raises(RuntimeError):
            numgrad.mm(x, x)
        with pytest.raises(RuntimeError):
            x + numgrad.ones(2)
        x.sin()
    assert names(prof.function_events)[-2:] == ["aten::add", "aten::sin"]
    assert prof.function_events[-1].cpu_parent is None


def test_a_backward_that_fails_ends_what_it_began():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("on purpose")

    x = leaf()
    y = Failing.apply(x).sum()
    with profile() as prof:
        with pytest.raises(ValueError, match="on purpose"):
            y.backward()
        x.sin()
    assert "FailingBackward" in names(prof.function_events)
    assert prof.function_events[-1].name == "aten::sin"
    assert prof.function_events[-1].cpu_parent is None


def test_profiles_within_each_other_may_end_in_any_order():
    x = numgrad.ones(3)
    outer, inner = profile(), profile()
    outer.__enter__()
    x.sin()
    inner.__enter__()
    x.cos()
    outer.__exit__(None, None, None)
    x.exp()
    inner.__exit__(None, None, None)
    x.tan()
    assert names(outer.function_events) == ["aten::sin", "aten::cos"]
    assert names(inner.function_events) == ["aten::cos", "aten::exp"]


def test_a_watcher_that_raises_ends_the_operation_for_the_others():
    class Refusing(Watcher):
        def after(self, call, token, result):
            raise ValueError("refused")

    x = numgrad.ones(3)
    refusing = Refusing()
    with profile() as prof:
        watch(refusing)
        with pytest.raises(ValueError, match="refused"):
            x.sin()
        unwatch(refusing)
        x.cos()
    assert [event.cpu_parent for event in prof.function_events] == [None, None]


def test_an_error_of_a_watcher_before_the_first_node_is_raised():
    class Refusing(Watcher):
        def begin(self, category, subject, given):
            raise ValueError("refused")

    y = (leaf() * 2).sum()
    refusing = Refusing()
    watch(refusing)
    try:
        with pytest.raises(ValueError, match="refused"):
            y.backward()
    finally:
        unwatch(refusing)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_profiles_and_the_look_for_nan_in_forward_may_be_on_together():
    x = numgrad.tensor([-1.0, 1.0], requires_grad=True)
    prof, anomaly = profile(), detect_anomaly(check_forward=True)
    prof.__enter__()
    anomaly.__enter__()
    x.exp().sum().backward()
    with pytest.raises(RuntimeError, match="Operation 'log' returned nan"):
        x.log()
    prof.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="Operation 'sqrt' returned nan"):
        x.sqrt()
    anomaly.__exit__(None, None, None)
    x.log()
    found = names(prof.function_events)
    assert {"aten::exp", "aten::sum", "ExpBackward0", "aten::log"} <= set(found)
    assert "aten::sqrt" not in found


def test_a_profile_that_ends_in_a_hook_leaves_nothing_behind():
    x = leaf()
    prof = profile()

    def end(gradient):
        prof.__exit__(None, None, None)

    y = (x * 2) * 3
    y.register_hook(end)
    prof.__enter__()
    y.sum().backward()
    numgrad.ones(2) + 1
    assert "SumBackward0" in names(prof.function_events)
    assert "MulBackward0" not in names(prof.function_events)


@pytest.mark.parametrize("of_leaf", [False, True])
def test_a_profile_that_begins_in_a_hook_goes_on_after_it(of_leaf):
    x = leaf()
    y = x * 2
    prof = profile()

    def begin(gradient):
        prof.__enter__()

    (x if of_leaf else y).register_hook(begin)
    y.sum().backward()
    x.exp()
    prof.__exit__(None, None, None)
    assert "aten::exp" in names(prof.function_events)


# -- blocks -----------------------------------------------------------------------------------------------------


def test_functions_may_be_decorated():
    @record_function("named")
    def function(x):
        """Documented."""
        return x.sin()

    x = numgrad.ones(3)
    with profile() as prof:
        function(x)
        function(x)
    assert names(prof.function_events) == ["named", "aten::sin"] * 2
    assert function.__name__ == "function"
    assert function.__doc__ == "Documented."


def test_a_block_may_be_entered_within_itself():
    block = record_function("twice")
    with profile() as prof, block, block:
        pass
    outer, inner = prof.function_events
    assert inner.cpu_parent is outer


def test_blocks_without_a_profile_do_nothing():
    with record_function("unseen") as block:
        assert isinstance(block, record_function)


def test_misuse_of_a_block():
    with pytest.raises(TypeError, match="name must be a str, not int"):
        record_function(3)
    with pytest.raises(TypeError, match="args must be a str, not int"):
        record_function("a", 3)
    with pytest.raises(RuntimeError, match="not entered"):
        record_function("a").__exit__(None, None, None)


# -- the profile ------------------------------------------------------------------------------------------------


def test_a_profile_is_entered_once():
    prof = profile()
    x = numgrad.ones(2)
    with prof:
        with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
            prof.__enter__()
        x.sin()
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        prof.__enter__()
    assert names(prof.function_events) == ["aten::sin"]


def test_a_profile_that_has_not_ended_shows_nothing(tmp_path):
    prof = profile()
    for _ in range(2):
        assert repr(prof) == str(prof) == "<unfinished numgrad.autograd.profile>"
        assert prof.function_events == []
        assert prof.key_averages() == []
        assert prof.table() == ""
        assert prof.self_cpu_time_total == 0
        assert prof.total_average().count == 0
        with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
            prof.export_chrome_trace(str(tmp_path / "trace.json"))
        if not prof.entered:
            prof.__enter__()
    prof.__exit__(None, None, None)
    assert repr(prof) == "[]"
    assert str(prof) == ""


def test_a_profile_that_is_not_enabled_notes_nothing():
    with profile(enabled=False) as prof:
        numgrad.ones(2).sin()
    with prof:
        pass
    assert prof.function_events == []
    assert prof.self_cpu_time_total == 0


def test_other_devices_are_refused():
    with pytest.warns(UserWarning, match="cuda is not available"):
        assert profile(use_device="cuda").use_device is None
    with pytest.raises(ValueError, match="use_cpu=False"):
        profile(use_cpu=False)
    with pytest.raises(TypeError):
        profile(True, True)


def test_the_module_is_found():
    assert numgrad.autograd.profiler is profiler
    assert profiler.EventList is EventList is numgrad.autograd.profiler_util.EventList
