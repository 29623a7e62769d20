"""Shared parts of the tests of ``gradcheck``: Functions with wrong derivatives, and the messages for them."""

import pytest

from numgrad import complex128, float64, tensor
from numgrad.autograd import Function, gradcheck
from numgrad.autograd.gradcheck import GradcheckError

__all__ = ["both_modes", "complex_input", "double", "drifting", "function", "message", "real_input", "times"]

both_modes = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def real_input():
    return tensor([[0.5, 0.75], [1.0, 1.25]], dtype=float64, requires_grad=True)


def complex_input():
    return tensor([0.5 + 1j, 0.75 - 0.5j], dtype=complex128, requires_grad=True)


def function(forward, backward=None, jvp=None, base=Function):
    """A Function of these methods; those that are not given are missing."""
    methods = {"forward": forward, "backward": backward, "jvp": jvp}
    return type("Custom", (base,), {name: staticmethod(f) for name, f in methods.items() if f}).apply


def double(ctx, x):
    return x * 2


def times(factor):
    return lambda ctx, given: given * factor


def drifting(step):
    """A derivative of 2 that differs in each call."""
    calls = iter(range(1, 10**6))
    return lambda ctx, given: given * (2 + step * next(calls))


def message(function, inputs, check=gradcheck, **options):
    """Return the message for a wrong derivative."""
    with pytest.raises(GradcheckError) as caught:
        check(function, inputs, **options)
    assert check(function, inputs, raise_exception=False, **options) is False
    return str(caught.value)
