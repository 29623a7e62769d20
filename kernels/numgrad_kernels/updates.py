"""The updates of the optimizers, for one element of a parameter and the optimizer state of that element.

Each is a function of numbers, which the loops of the CPU's and of the GPU's kernels call (``cpu/optimizers.py`` and
``cuda/optimizers.py``).  Its parameters are the element ``param`` and its gradient ``grad``, then the element's state,
and further numbers, in the order in which the optimizer passes them.  It returns the new element and its new state.

A kernel is compiled once for all options of an optimizer, since they are numbers, too.
"""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .facts import Facts
from .scalar import abs, maximum, minimum, sqrt

#: Placeholder: the dtype that a kernel computes in.
T = np.float32

#: The most elements of a block.
BLOCK = 2048

#: Every update, by its name.
UPDATES: dict[str, UpdateRule] = {}


@dataclass(frozen=True)
class UpdateRule:
    """The ``rule`` for one element, and the names of the state ``kept`` for it.

    A parameter of the rule called ``has_NAME`` is True if the state of that name exists; if it does not, the rule
    receives an arbitrary number for it.
    """

    rule: Callable[..., Any]
    kept: tuple[str, ...]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.rule).parameters)

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The parameters that have one value per element; the gradient is the second."""
        return self.parameters[: 2 + len(self.kept)]

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The operands that may be missing."""
        return tuple([name for name in self.kept if f"has_{name}" in self.parameters])

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The parameters that are the same for all elements."""
        return tuple([name for name in self.parameters[len(self.operands) :] if not name.startswith("has_")])

    def unpacked(self) -> list[str]:
        """Return statements that unpack parameter ``which``: the addresses of operands, as ``NAME_at``, and numbers."""
        count, width = len(self.operands), len(self.numbers)
        return [
            *[f"{name}_at = addresses[{count} * which + {i}]" for i, name in enumerate(self.operands)],
            *[f"has_{name} = {name}_at != 0" for name in self.optional],
            *[f"{name} = T(numbers[{width} * which + {i}])" for i, name in enumerate(self.numbers)],
        ]

    def elements(self, args: Any) -> dict[str, int]:
        """Return the number of elements of each operand that a run of the kernel reaches."""
        present = np.reshape(args.addresses.tolist(), (-1, len(self.operands))) != 0
        which, _, counts = np.reshape(args.blocks.tolist(), (-1, 3)).T
        return dict(zip(self.operands, (counts @ present[which]).tolist(), strict=True))

    def call(self, lane: str = "", without: Collection[str] = ()) -> str:
        """Return the statement that updates one element, in variables whose names end in ``lane``."""
        values = {name: f"{name}{lane}" if name in self.operands else name for name in self.parameters}
        values.update({f"has_{name}": "False" for name in without}, **dict.fromkeys(without, "T(0)"))
        return f"{', '.join(f'{name}{lane}' for name in ('param', *self.kept))} = rule({', '.join(values.values())})"


def update(*kept: str) -> Callable[[Callable[..., Any]], UpdateRule]:
    """Decorator that registers a rule for one element, with the names of its state."""

    def declared(rule: Callable[..., Any]) -> UpdateRule:
        UPDATES[rule.__name__] = result = UpdateRule(rule, kept)
        return result

    return declared


#: The parameters of a kernel.
_ARGUMENTS = ("addresses", "blocks", "numbers")


def function_of(update: UpdateRule, lines: Iterable[str], names: Mapping[str, Any]) -> Callable[..., None]:
    """Return the kernel of an update that consists of these statements, which use ``names`` and call the ``rule``."""
    name = update.rule.__name__
    text = "\n".join([f"def {name}({', '.join(_ARGUMENTS)}):", *indented(lines)]) + "\n"
    source = f"<{names['__name__']}: {name}>"
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    namespace = {**names, "rule": update.rule}
    exec(compile(text, source, "exec"), namespace)
    function = namespace[name]
    operands = frozenset(update.operands)
    function.facts = functools.partial(
        Facts, parameters=_ARGUMENTS, read=operands, written=operands - {"grad"}, hidden=update.elements
    )
    return function


def indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def descent(param, grad, sign, decay):
    """``sign * grad + decay * param``, the gradient of the loss with the penalty of weight decay."""
    slope = grad if sign > T(0) else -grad
    return slope + decay * (param if decay != T(0) else T(-0.0))  # without decay an infinite parameter adds nothing


def approach(average, weight, target):
    """``(1 - weight) * average + weight * target``."""
    return average + weight * (target - average) if weight < T(0.5) else target - (target - average) * (T(1) - weight)


@update("velocity")
def sgd(param, grad, velocity, has_velocity, sign, decay, rate, kept, share, nesterov):
    """Stochastic gradient descent.

    The new velocity is ``kept`` times the old one plus ``share`` times the gradient; ``nesterov`` is the factor of
    Nesterov's momentum, or 0.
    """
    slope = descent(param, grad, sign, decay)
    velocity = kept * velocity + share * slope
    ahead = slope + nesterov * velocity if nesterov != T(0) else velocity
    step = ahead if has_velocity else slope
    return param - rate * step, velocity


@update("first", "second", "largest")
def adam(
    param, grad, first, second, largest, has_largest, sign, decay, keep, weight, kept, taken, rate, correction, epsilon
):
    """Adam and, with decoupled weight decay, AdamW.

    ``keep`` is the factor of the parameter (decoupled weight decay), ``weight`` is 1 - beta1, ``kept`` and ``taken``
    are beta2 and 1 - beta2, ``rate`` is the step size and ``correction`` is 1 / sqrt(1 - beta2^t).
    """
    slope = descent(param, grad, sign, decay)
    first = approach(first, weight, slope)
    second = kept * second + taken * slope * slope
    largest = maximum(largest, second)
    scale = largest if has_largest else second
    return keep * param - rate * first / (sqrt(scale) * correction + epsilon), first, second, largest


@update("square", "velocity", "mean")
def rmsprop(
    param, grad, square, velocity, mean, has_velocity, has_mean, sign, decay, kept, taken, epsilon, rate, momentum
):
    """RMSprop, centered if there is a mean of the gradients; ``kept`` and ``taken`` are alpha and 1 - alpha."""
    slope = descent(param, grad, sign, decay)
    square = kept * square + taken * slope * slope
    mean = approach(mean, taken, slope)
    variance = square - mean * mean if has_mean else square
    step = slope / (sqrt(variance) + epsilon)
    velocity = momentum * velocity + step
    step = velocity if has_velocity else step
    return param - rate * step, square, velocity, mean


@update("total")
def adagrad(param, grad, total, sign, decay, rate, epsilon):
    """Adagrad; ``total`` is the sum of the squared gradients."""
    slope = descent(param, grad, sign, decay)
    total = total + slope * slope
    return param - rate * slope / (sqrt(total) + epsilon), total


@update("square", "change")
def adadelta(param, grad, square, change, sign, decay, kept, taken, epsilon, rate):
    """Adadelta; ``square`` and ``change`` are the means of the squares of the gradients and of the changes."""
    slope = descent(param, grad, sign, decay)
    square = kept * square + taken * slope * slope
    step = sqrt(change + epsilon) / sqrt(square + epsilon) * slope
    return param - rate * step, square, kept * change + taken * step * step


@update("first", "largest")
def adamax(param, grad, first, largest, sign, decay, weight, kept, epsilon, rate):
    """Adamax; ``weight`` is 1 - beta1, ``kept`` is beta2 and ``rate`` the step size."""
    slope = descent(param, grad, sign, decay)
    first = approach(first, weight, slope)
    largest = maximum(kept * largest, abs(slope) + epsilon)
    return param - rate * first / largest, first, largest


@update("first", "second")
def nadam(
    param, grad, first, second, sign, decay, keep, weight, kept, taken, rate, ahead, correction, epsilon
):
    """NAdam; ``rate`` is the step size of the gradient and ``ahead`` that of its mean, the others are as in Adam."""
    slope = descent(param, grad, sign, decay)
    first = approach(first, weight, slope)
    second = kept * second + taken * slope * slope
    scale = sqrt(second) * correction + epsilon
    return keep * param - (rate * slope + ahead * first) / scale, first, second


@update("first", "second")
def radam(param, grad, first, second, sign, decay, keep, weight, kept, taken, rate, adaptive, epsilon):
    """RAdam; ``adaptive`` is nonzero once the second moment is accurate enough, the others are as in Adam."""
    slope = descent(param, grad, sign, decay)
    first = approach(first, weight, slope)
    second = kept * second + taken * slope * slope
    scale = sqrt(second) + epsilon if adaptive != T(0) else T(1)
    return keep * param - rate * first / scale, first, second


@update("average")
def asgd(param, grad, average, sign, decay, keep, rate, share):
    """Averaged stochastic gradient descent; ``share`` is the weight of the parameter in its average."""
    slope = descent(param, grad, sign, decay)
    param = keep * param - rate * slope
    return param, average + share * (param - average) if share != T(1) else param


@update("before", "size")
def rprop(param, grad, before, size, sign, shrink, grow, least, most):
    """Rprop; ``before`` is the gradient of the previous step (0 after a change of sign) and ``size`` the step size."""
    slope = grad if sign > T(0) else -grad
    turn = slope * before
    factor = grow if turn > T(0) else (shrink if turn < T(0) else T(1))
    size = minimum(maximum(size * factor, least), most)
    slope = T(0) if turn < T(0) else slope
    step = size if slope > T(0) else (-size if slope < T(0) else T(0))
    return param - step, slope, size
