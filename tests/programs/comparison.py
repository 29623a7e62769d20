"""Comparison of compiled programs with the functions themselves, bit for bit, and helpers of tests of programs."""

import math
import warnings

import numpy as np

import numgrad

__all__ = ["Holder", "calls", "compared_with_eager", "in_turn", "program_of", "ramp", "replays"]


class Holder:
    """An object with any attributes."""


def ramp(*shape):
    """Return a tensor of -1, -0.5, 0, 0.5 and so on."""
    return numgrad.arange(float(math.prod(shape))).reshape(shape) * 0.5 - 1


def compared_with_eager(scenario=None, *, falls_back=False):
    """Return a test that runs ``scenario(compiled, see)`` twice, and compares the values passed to ``see``.

    ``compiled`` is ``numgrad.compile`` in one run, and returns the function itself in the other.

    Args:
        falls_back: True if a call must warn that it cannot be compiled.
    """
    if scenario is None:
        return lambda scenario: compared_with_eager(scenario, falls_back=falls_back)

    def test():
        expected = _run(scenario, lambda function: function)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen = _run(scenario, numgrad.compile)
        assert len(seen) == len(expected)
        for number, (ours, eager) in enumerate(zip(seen, expected, strict=True), 1):
            assert ours == eager, f"call number {number} of see"
        messages = [str(warning.message) for warning in caught]
        refused = [message for message in messages if "cannot be compiled as a whole" in message]
        assert bool(refused) == falls_back, refused

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test


def _run(scenario, compiled):
    numgrad.manual_seed(0)
    seen = []
    scenario(compiled, lambda *values: seen.append([*map(_plain, values)]))
    return seen


def _plain(value):
    """Return a comparable form of a value: of a tensor all observable properties and its bits."""
    if isinstance(value, numgrad.Tensor):
        flags = value.requires_grad, value.is_leaf, value.is_inference()
        elements = value.detach().numpy()
        return value.dtype, tuple(value.shape), value.stride(), flags, str(elements.ravel()[:6]), elements.tobytes()
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return type(value), [*map(_plain, value)]
    if isinstance(value, dict):
        return type(value), [(key, _plain(element)) for key, element in value.items()]
    return value


def replays(compiled):
    """Return the number of programs for each signature."""
    return [len(signature.programs) for signature in compiled.signatures.values()]


def program_of(compiled):
    """Return the only program of a compiled function."""
    ((guarded,),) = [signature.programs for signature in compiled.signatures.values()]
    return guarded.program


def calls(compiled, *arguments):
    """Return the results of three calls: a recorded one and two replays."""
    return [compiled(*arguments) for _ in range(3)]


def in_turn(functions, see, *changes, shape=(3,)):
    """Call each function twice after each change."""
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            see(*[f(ramp(*shape)) for f in functions])
