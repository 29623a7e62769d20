"""Calls that cannot be one program: they run uncompiled and warn, or raise errors."""

import gc
import logging
import sys
import threading
import warnings

import numpy as np
import pytest
from programs.comparison import calls, replays

import numgrad
from numgrad import nn
from numgrad.compiler import CaptureError


def branching(x):
    if x.sum() > 0:
        return x * 2
    return -x


def test_functions_that_need_values_run_uncompiled():
    compiled = numgrad.compile(branching)
    x = numgrad.ones(2)
    with pytest.warns(UserWarning, match="cannot be compiled as a whole: asking whether it is true") as caught:
        assert numgrad.equal(compiled(x), x * 2)
    assert "x.sum() > 0" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert numgrad.equal(compiled(-x), x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the same is said once, also of arguments of other shapes
        compiled(numgrad.ones(3))
    assert len(caught) == 1


def test_fullgraph_makes_an_error_of_each_call_that_is_not_one_program():
    compiled = numgrad.compile(branching, fullgraph=True)
    for _ in range(2):
        with pytest.raises(CaptureError, match="needs values"):
            compiled(numgrad.ones(2))
    compiled = numgrad.compile(lambda x, other: x * 2, fullgraph=True)
    for _ in range(2):
        with pytest.raises(CaptureError, match="an argument of the class object"):
            compiled(numgrad.ones(2), object())


@pytest.mark.parametrize("look", [
    lambda x: x.sum().item(), lambda x: x.tolist(), lambda x: x.numpy(), lambda x: float(x.sum()), lambda x: f"{x}",
    lambda x: np.asarray(x), lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.unique(), lambda x: int(x[0]),
    lambda x: x.data_ptr() if x.any() else 0, lambda x: [y for y in x if y],
])
def test_looks_at_elements_end_a_program(look):
    with pytest.raises(CaptureError, match="needs values"):
        numgrad.compile(look, fullgraph=True)(numgrad.ones(3))


class OwnAccess:
    w = 2.0

    def __getattribute__(self, name):
        if name.startswith("__"):
            raise TypeError(name)
        return object.__getattribute__(self, name)


own_access, logger = OwnAccess(), logging.getLogger(__name__)


@pytest.mark.parametrize(("read", "reason"), [
    (lambda x: sys.getrecursionlimit(), "sys.getrecursionlimit"), (lambda x: gc.isenabled(), "gc.isenabled"),
    (lambda x: threading.active_count(), "threading.active_count"), (lambda x: len(np.geterr()), "np.geterr"),
    (lambda x: np.get_printoptions()["precision"], "np.get_printoptions"),
    (lambda x: numgrad.initial_seed(), "the seed"), (lambda x: x.data_ptr() == 3, "data_ptr"),
    (lambda x: numgrad.backends.cuda.flash_sdp_enabled(), "kinds of attention"),
    (lambda x: hash(x) == 3, "it uses hash"), (lambda x: x.__hash__() == 3, "it uses __hash__"),
    (lambda x: len(OwnAccess.__subclasses__()), "it uses __subclasses__"), (lambda x: own_access.w, "__getattribute__"),
    (lambda x: len(logger.handlers), "class NullHandler"),
])
def test_looks_at_what_no_guard_sees_end_a_program(read, reason, monkeypatch):
    monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    compiled = numgrad.compile(lambda x: x * read(x))
    with pytest.warns(UserWarning, match=f"cannot be compiled as a whole: .*{reason}"):
        assert compiled(numgrad.ones(1)).item() == read(numgrad.ones(1))


def test_hooks_end_a_program():
    model = nn.Linear(2, 2)
    compiled = numgrad.compile(model, fullgraph=True)
    x = numgrad.randn(1, 2)
    with numgrad.no_grad():
        calls(compiled, x)
        handle = model.register_forward_hook(lambda module, args, output: output + 1)
        with pytest.raises(CaptureError, match="hooks"):
            compiled(x)
        handle.remove()
        assert numgrad.equal(compiled(x), model(x))


def test_errors_that_a_function_catches_end_a_program():
    def guarded(x, index):
        try:
            return x[index]
        except IndexError:
            return x[:2] * 0

    compiled = numgrad.compile(guarded)
    x = numgrad.arange(3.0)
    with pytest.warns(UserWarning, match="error"):
        assert compiled(x, numgrad.tensor([0, 5])).tolist() == [0, 0]
    assert compiled(x, numgrad.tensor([1, 2])).tolist() == [1, 2]


def test_arguments_that_cannot_be_distinguished_are_warned_of_once():
    compiled = numgrad.compile(lambda x, array: x + float(array.sum()))
    with pytest.warns(UserWarning, match="class ndarray") as caught:
        results = [compiled(numgrad.zeros(()), np.ones(size)).item() for size in range(4)]
    assert results == [0, 1, 2, 3]
    assert len(caught) == 1


def test_attributes_of_arguments_are_not_taken_for_those_of_others():
    def scaled(x):
        return x * getattr(x, "scale", 1.0)

    compiled = numgrad.compile(scaled)
    x = numgrad.ones(2)
    assert all(result.tolist() == [1, 1] for result in calls(compiled, x))
    x.scale = 2.0
    with pytest.warns(UserWarning, match="additional attributes"):
        assert compiled(x).tolist() == [2, 2]
    x.scale = 3.0
    assert compiled(x).tolist() == [3, 3]


def test_gradients_that_come_and_go():
    first, second = (nn.Parameter(numgrad.ones(3)) for _ in range(2))
    optimizer = numgrad.optim.SGD([first, second], lr=0.5)
    step = numgrad.compile(optimizer.step)
    for present in ([first], [first], [first, second], [second], [first, second]):
        before = [tensor.detach().clone() for tensor in (first, second)]
        for one in (first, second):
            one.grad = numgrad.ones(3) if any(one is each for each in present) else None
        step()
        for one, old in zip((first, second), before, strict=True):
            assert numgrad.equal(one, old - (0 if one.grad is None else 0.5))


def test_a_function_that_is_not_to_be_compiled_ends_a_program():
    @numgrad.compiler.disable(reason="it prints")
    def shown(x):
        return x + 1

    assert numgrad.equal(shown(numgrad.ones(2)), numgrad.full((2,), 2.0))
    with pytest.raises(CaptureError, match=r"shown\(\), which is not to be compiled \(it prints\)"):
        numgrad.compile(lambda x: shown(x) * 2, fullgraph=True)(numgrad.ones(2))


def test_calls_that_change_what_they_find_are_not_replayed():
    class Counter:
        count = 0

        def __init__(self):
            self.count = 0

        def __call__(self, x):
            self.count += 1
            return x * self.count

    compiled = numgrad.compile(Counter())
    with pytest.warns(UserWarning, match=r"changes state that the next one reads \(count\)"):
        results = [compiled(numgrad.ones(())).item() for _ in range(6)]
    assert results == [1, 2, 3, 4, 5, 6]


def test_a_function_with_ever_other_shapes_runs_as_it_is(monkeypatch):
    monkeypatch.setattr("numgrad.programs.compiled.SIGNATURES", 4)
    compiled = numgrad.compile(lambda x: x.sum())
    with pytest.warns(UserWarning, match="in more than 4 ways") as caught:
        assert [compiled(numgrad.ones(size)).item() for size in range(8)] == [*range(8)]
    assert len(caught) == 1
    assert len(compiled.signatures) == 4


def test_rare_changes_are_recorded_anew_after_a_pause(monkeypatch):
    class Weight:
        value = 0.0

    def weighted(x):
        return x * Weight.value

    def results(numbers):
        found = []
        for Weight.value in numbers:
            found += [result.item() for result in calls(compiled, numgrad.ones(()))]
        return found

    compiled = numgrad.compile(weighted)
    with pytest.warns(UserWarning, match="changes from call to call") as caught:
        assert results(range(12)) == [number for number in range(12) for _ in range(3)]
    assert len(caught) == 1
    assert replays(compiled) == [8]
    monkeypatch.setattr("numgrad.programs.compiled.PAUSE", 0.0)
    assert results(range(12, 30)) == [number for number in range(12, 30) for _ in range(3)]
    assert results([15]) == [15] * 3  # which is no longer among the eight
    assert replays(compiled) == [8]


def test_signatures_are_limited_and_replaced_after_a_pause(monkeypatch):
    monkeypatch.setattr("numgrad.programs.compiled.SIGNATURES", 4)
    monkeypatch.setattr("numgrad.programs.compiled.PAUSE", 0.0)
    compiled = numgrad.compile(lambda x: x.sum(), fullgraph=True)
    for size in (*range(8), *range(8)):
        assert calls(compiled, numgrad.ones(size))[2].item() == size
    assert len(compiled.signatures) == 4
