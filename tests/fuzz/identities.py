"""Identities of derivatives that need no PyTorch: finite differences, and loops over examples for batches.

Every mode has a counterpart here that gives the same facts.  The differences are taken with a step, with twice the
step and with more of it to one side: where these disagree (at a kink, or where numbers are huge) nothing is said.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzz.comparing import Disagreement, difference, outcome
from fuzz.modes import MODES, Facts, batch, differentiable, flattened, nested_by, scalar, seen, twice, wanted, weights
from fuzz.programs import Program

import numgrad

__all__ = ["itself"]

#: Distances up and down: the differences, others that show how well they are known, and some that lean to one side.
STEPS = ((1e-4, 1e-4), (2e-4, 2e-4), (1.7e-4, 0.3e-4))
#: Tolerances of the others and of the leaning ones, relative to the largest element, and how much more is allowed.
KNOWN, LEANING, SLACK = 1e-4, 3e-2, 20.0
#: With these words numgrad refuses, as PyTorch does.
REFUSED = re.compile(
    "derivative for .* is not implemented|modified by an inplace|base has been modified inplace"
    "|none of output has requires|^vmap: "
)


def itself(mode_name: str, program: Program, seed: int) -> Disagreement | None:
    """Return numgrad's result in this mode, and its counterpart."""
    found = outcome(numgrad, MODES[mode_name], program, seed)
    if found.error is not None:
        plain = outcome(numgrad, _outputs, program, seed)
        if plain.error is not None or REFUSED.search(str(found.error)):
            return Disagreement("refused", str(found.error), excuse="refused")
        return difference(plain, found)
    runs = [outcome(steps, COUNTERPARTS[mode_name], program, seed) for steps in STEPS]
    for run in runs:
        if run.error is not None:
            raise run.error
    found.facts[:] = [(name, value) for name, value in found.facts if name != "requires_grad"]
    slack = {}
    for place, ((name, value), (_, wide), (_, leaning)) in enumerate(zip(*[run.facts for run in runs], strict=True)):
        if place < len(found.facts) and found.facts[place][0] == name and found.facts[place][1] is None:
            found.facts[place] = (name, np.zeros_like(value))  # no path, and no change
        if value.dtype.kind not in "fc":
            continue
        if place < len(found.facts) and not np.isfinite(found.facts[place][1]).all():
            return Disagreement("unknown", f"{name} is not finite", excuse="not finite")
        size = max(1.0, abs(value).max(initial=0.0))
        spread, lean = (abs(value - other).max(initial=0.0) for other in (wide, leaning))
        if not (spread <= KNOWN * size and lean <= LEANING * size):  # NaN, too
            return Disagreement("unknown", "finite differences differ", excuse="unknown to finite differences")
        slack[name] = SLACK * spread + 1e-6 * size
    return difference(runs[0], found, slack)


def _outputs(module: Any, program: Program, choose: random.Random) -> Facts:
    program.function(module)(*program.tensors(module))
    return []


#: Distances up and down.
Steps = tuple[float, float]

# -- finite differences -----------------------------------------------------------------------------------------


def gradient(function: Callable, x: Any, steps: Steps) -> Any:
    """The gradient of a real number by a tensor, of complex ones along both axes."""
    result = numgrad.zeros_like(x)
    for place in np.ndindex(tuple(x.shape)):
        for axis in (1, 1j) if x.is_complex() else (1,):
            move = numgrad.zeros_like(x)
            move[place] = axis
            result[place] += axis * slope(function, x, move, steps).item()
    return result


def slope(function: Callable, x: Any, direction: Any, steps: Steps) -> Any:
    """The derivative in a direction."""
    up, down = steps
    ends = function(x + up * direction), function(x - down * direction)
    return _combined(lambda high, low: (high - low) / (up + down), *ends)


def _combined(function: Callable, *values: Any) -> Any:
    """A function of tensors, or of the parts of tuples of them."""
    if isinstance(values[0], tuple | list):
        return tuple(_combined(function, *parts) for parts in zip(*values, strict=True))
    return function(*values)


def jacobian(function: Callable, x: Any, steps: Steps) -> Any:
    """The derivatives of a tensor by each element, which come last."""
    columns = []
    for place in np.ndindex(tuple(x.shape)):
        direction = numgrad.zeros_like(x)
        direction[place] = 1
        columns.append(slope(function, x, direction, steps))
    value = function(x)
    if not columns:
        return value.new_zeros((*value.shape, *x.shape))
    return numgrad.stack(columns, -1).reshape((*value.shape, *x.shape))


def by_differences(steps: Steps) -> Any:
    """The transforms as finite differences and loops."""

    def vmap(function: Callable) -> Callable:
        return lambda x: _combined(lambda *each: numgrad.stack(each), *[function(member) for member in x.unbind()])

    def vjp(function: Callable, x: Any) -> tuple:
        def pull(vector: Any) -> tuple:
            def paired(x: Any) -> Any:
                product = (function(x) * vector.conj()).sum()
                return product.real if product.is_complex() else product

            return (gradient(paired, x, steps),)

        return function(x), pull

    def jac(function: Callable) -> Callable:
        return lambda x: jacobian(function, x, steps)

    return SimpleNamespace(
        grad=lambda function: lambda x: gradient(function, x, steps), vmap=vmap, vjp=vjp, jacrev=jac, jacfwd=jac,
        hessian=lambda function: jac(jac(function)),
        jvp=lambda function, x, v: (function(*x), slope(function, *x, *v, steps)),
    )


# -- the modes' counterparts ------------------------------------------------------------------------------------


def _backward(steps: Steps, program: Program, choose: random.Random) -> Facts:
    tensors = [x.detach() for x in program.tensors(numgrad)]
    facts = seen("output", program.function(numgrad)(*program.tensors(numgrad)))
    moved = [number for number, leaf in enumerate(program.leaves) if leaf.requires_grad]
    found = [gradient(flattened(numgrad, program, tensors, number), tensors[number], steps) for number in moved]
    return facts + seen("gradient", found)


def _second(steps: Steps, program: Program, choose: random.Random) -> Facts:
    tensors = program.tensors(numgrad)
    outputs = program.function(numgrad)(*tensors)
    rounds = twice(numgrad, outputs, wanted(tensors))
    facts = seen("output", outputs)
    for order in range(len(rounds)):
        gradients = [
            gradient(partial(_of_order, program, order, number), tensors[number].detach(), steps)
            for number, leaf in enumerate(program.leaves) if leaf.requires_grad
        ]
        facts += seen(f"gradient[{order}]", gradients)
    return facts


def _of_order(program: Program, order: int, number: int, x: Any) -> Any:
    """Return the function whose gradient is the gradient of an order, at another value of a leaf."""
    tensors = program.tensors(numgrad)
    tensors[number] = x.detach().clone().requires_grad_()
    outputs = program.function(numgrad)(*tensors)
    found = twice(numgrad, outputs, wanted(tensors), 1)[0] if order else differentiable(outputs)
    none = numgrad.zeros((), dtype=numgrad.float64)
    return scalar(numgrad, [none if x is None or not x.requires_grad else x for x in found]).detach()


def _forward(steps: Steps, program: Program, choose: random.Random) -> Facts:
    tensors = [x.detach() for x in program.tensors(numgrad)]
    able = [number for number, leaf in enumerate(program.leaves) if leaf.differentiable]
    moved = set(choose.sample(able, choose.randint(1, len(able))))
    function = program.function(numgrad)

    def at(distance: float) -> tuple:
        return function(*[
            x + distance * weights(numgrad, x, number) if number in moved else x.clone()  # it may be changed in place
            for number, x in enumerate(tensors)
        ])

    facts: Facts = []
    for number, (output, up, down) in enumerate(zip(at(0.0), at(steps[0]), at(-steps[1]), strict=True)):
        change = up - down if up.is_floating_point() or up.is_complex() else numgrad.zeros(up.shape)
        facts += seen(f"output {number}", output) + seen(f"tangent {number}", change / sum(steps))
    return facts


def _vmap(steps: Steps, program: Program, choose: random.Random) -> Facts:
    tensors, axes = batch(numgrad, program, choose)
    function = program.function(numgrad)
    each = [
        function(*[x if axis is None else x.select(axis, place).clone() for x, axis in zip(tensors, axes, strict=True)])
        for place in range(3)
    ]
    return seen("output", [numgrad.stack(parts) for parts in zip(*each, strict=True)])


def _nested(steps: Steps, program: Program, choose: random.Random) -> Facts:
    return nested_by(by_differences(steps), numgrad, program, choose)


COUNTERPARTS = {
    "backward": _backward, "second": _second, "forward": _forward,
    "vmap": _vmap, "nested": _nested, "checkpoint": _backward,
}
