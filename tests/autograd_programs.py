"""Small programs run with PyTorch and with numgrad, whose outputs and errors are compared."""

import re
import warnings

import pytest

import numgrad

__all__ = ["Programs", "assert_same", "leaf"]


class Programs(list):
    """Programs ``function(m, show)``, where ``m`` is the module and ``show`` prints; used as a decorator."""

    def __call__(self, function):
        self.append(pytest.param(function, id=function.__name__))
        return function


def leaf(m, *values):
    return m.tensor(values or (1.0, 2.0), requires_grad=True)


def assert_same(function):
    """Both modules show the same text and end with the same kind of error, whose messages begin alike."""
    import torch

    expected, expected_error = _run(torch, function)
    lines, error = _run(numgrad, function)
    for line, wanted in zip(lines, expected, strict=False):
        assert line == wanted, f"numgrad shows {line}, PyTorch {wanted}"
    assert len(lines) == len(expected), f"numgrad ends with {error!r}, PyTorch with {expected_error!r}"
    assert type(error).__name__ == type(expected_error).__name__, (error, expected_error)
    if error is not None:
        # numgrad may add shapes and dtypes to the end of PyTorch's message.
        start = re.split(r"[:.(]", str(expected_error))[0]
        assert str(error).startswith(start), (error, expected_error)


def _run(module, function):
    """The lines that a program shows, and the error that it ends with."""
    lines = []

    def show(*things):
        text = " ".join(str(thing) for thing in things)
        lines.append(re.sub(r"0x[0-9a-f]+", "0x", text))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(module, show)
        except Exception as error:
            return lines, error
        finally:
            module.set_grad_enabled(True)
    return lines, None
