"""The ways to call a checkpoint, and functions to test them with."""

from numgrad import tensor
from numgrad.utils.checkpoint import checkpoint

__all__ = ["changing", "kept", "leaf", "reentrant", "twice"]


def kept(function, *args, **kwargs):
    return checkpoint(function, *args, use_reentrant=False, **kwargs)


def reentrant(function, *args, **kwargs):
    return checkpoint(function, *args, use_reentrant=True, **kwargs)


def twice(function, *args):
    return kept(lambda *args: kept(function, *args), *args)


def leaf():
    return tensor([0.5, 1.5], requires_grad=True)


def changing(first, second):
    """A function that is ``first`` in forward, ``second`` in backward."""
    calls = []

    def function(x):
        calls.append(None)
        return (first if len(calls) == 1 else second)(x)

    return function
