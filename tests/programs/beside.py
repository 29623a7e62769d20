"""Programs run twice: with functions as they are, and compiled.  What is seen must be the same, bit for bit.

Also what tests of compiled functions have in common besides.
"""

import math
import warnings

import numpy as np

import numgrad

__all__ = ["Holder", "beside", "calls", "in_turn", "ramp", "replays"]


class Holder:
    """An object of a test's own, with whatever attributes."""


def ramp(*shape):
    """-1, -0.5, 0, 0.5 and so on."""
    return numgrad.arange(float(math.prod(shape))).reshape(shape) * 0.5 - 1


def beside(scenario=None, *, as_it_is=False):
    """A test of ``scenario(compiled, see)``, which compiles with the one and tells the other of all it finds.

    Args:
        as_it_is: whether something is found that cannot be compiled, which a warning says.
    """
    if scenario is None:
        return lambda scenario: beside(scenario, as_it_is=as_it_is)

    def test():
        made = []

        def compiled(function):
            made.append(numgrad.compile(function))
            return made[-1]

        expected = _run(scenario, lambda function: function)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = _run(scenario, compiled)
        assert len(found) == len(expected)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert one == other, f"what is seen for the {number + 1}th time"
        refused = [str(one.message) for one in told if "cannot be compiled as a whole" in str(one.message)]
        assert bool(refused) == as_it_is, refused

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test


def _run(scenario, compiled):
    numgrad.manual_seed(0)
    found = []
    scenario(compiled, lambda *values: found.append([*map(_plain, values)]))
    return found


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
        return type(value), [(key, _plain(one)) for key, one in value.items()]
    return value


def replays(compiled):
    """Return the number of programs for each signature."""
    return [len(one.programs) for one in compiled.signatures.values()]


def calls(compiled, *arguments):
    """The results of three calls: one that is recorded, and replays."""
    return [compiled(*arguments) for _ in range(3)]


def in_turn(functions, see, *changes, shape=(3,)):
    """Two calls of each function after each change."""
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            see(*[f(ramp(*shape)) for f in functions])
