"""Shared parts of the tests of profilers: programs to profile, and checks that nothing is left behind."""

import pytest

import numgrad
from numgrad.autograd import Function
from numgrad.autograd.grad_mode import WATCHED, state
from numgrad.autograd.profiler import profile, record_function

__all__ = ["Doubled", "leaf", "names", "off_as_before", "profiled"]


@pytest.fixture(autouse=True)
def off_as_before():
    """No watcher exists before or after a test."""
    assert not state.mode & WATCHED
    assert state.watchers == ()
    yield
    assert not state.mode & WATCHED
    assert state.watchers == ()


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x + x

    @staticmethod
    def backward(ctx, gradient):
        return gradient + gradient


def names(events):
    return [event.name for event in events]


def leaf():
    return numgrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def profiled(**options):
    """The profile of a block in which something is computed and differentiated."""
    x = leaf()
    with profile(**options) as prof, record_function("block"):
        y = (x * 2).sum()
        y.backward()
    return prof
