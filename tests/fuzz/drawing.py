"""Drawing of a program from a seed: operands among the present values, numbers at random."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from fuzz.programs import Leaf, Program, Step

import numgrad

__all__ = ["FAMILIES", "RANK", "Draw", "NothingFitsError", "Value", "family", "random_program"]

#: Functions that draw a line of a program, with how often they are taken; a line that starts with ``!`` is a statement.
FAMILIES: list[tuple[float, Callable[[Draw], str]]] = []

#: No value has more elements or dimensions.
ELEMENTS, RANK = 72, 4
#: Numbers beyond this are drawn again nearly always: what follows them would be all infinities and rounding errors.
LARGE = 1e3


def family(weight: float) -> Callable:
    """Put a function among those that draw."""

    def put(function: Callable[[Draw], str]) -> Callable[[Draw], str]:
        FAMILIES.append((weight, function))
        return function

    return put


class NothingFitsError(LookupError):
    """There is no value that this operation takes."""


class Value:
    """A value that steps may use: its name in the program, and its value in a run with numgrad."""

    def __init__(self, number: int, tensor: numgrad.Tensor):
        self.number, self.tensor = number, tensor
        self.shape, self.ndim = tuple(tensor.shape), tensor.ndim
        kind = "complex" if tensor.is_complex() else "float" if tensor.is_floating_point() else "int"
        self.kind = "bool" if tensor.dtype == numgrad.bool else kind

    def __str__(self) -> str:
        return f"v{self.number}"

    @property
    def dtype(self) -> str:
        return str(self.tensor.dtype)  # "torch.float64", as the program says it


class Draw:
    """Source of the operands and numbers that an operation chooses."""

    def __init__(self, choose: random.Random, differentiable: bool):
        self.random, self.differentiable = choose, differentiable
        self.values: list[Value] = []
        self.leaves: list[np.ndarray] = []

    def changeable(self, kinds: str = "float complex") -> Value:
        """A value in memory that belongs to no leaf: otherwise the program would not be a function of its leaves."""
        return self.value(kinds, empty=False, accept=lambda v: not any(
            np.may_share_memory(v.tensor.numpy(), leaf) for leaf in self.leaves
        ))

    def value(self, kinds: str = "float complex", rank: range = range(RANK + 1), empty: bool = True,
              accept: Callable[[Value], bool] = lambda value: True) -> Value:
        """One of the values, the newest three times as likely as the others."""
        found = [v for v in self.values if v.kind in kinds and v.ndim in rank and (empty or v.tensor.numel())]
        found = [v for v in found if accept(v)]
        if not found:
            raise NothingFitsError
        return found[-1] if self.maybe(0.4) else self.random.choice(found)

    def alike(self, value: Value, kinds: str = "float complex", same: bool = False) -> Value:
        """A value that broadcasts together with another, or has the same shape."""
        return self.value(kinds, accept=lambda v: v.shape == value.shape if same else _broadcast(v.shape, value.shape))

    def fits(self, value: Value, kinds: str = "float complex") -> Value:
        """A value that is broadcast to the shape of another."""
        return self.value(kinds, accept=lambda v: _broadcast(v.shape, value.shape) == value.shape)

    def dim(self, value: Value) -> int:
        return self.random.randrange(-value.ndim, value.ndim) if value.ndim else self.random.choice((0, -1))

    def dims(self, value: Value) -> tuple[int, ...]:
        return tuple(self.random.sample(range(value.ndim), self.random.randint(min(1, value.ndim), value.ndim)))

    def place(self, value: Value, dim: int) -> int:
        """An index into a dimension."""
        extent = value.shape[dim] if value.ndim else 1
        if not extent:
            raise NothingFitsError
        return self.random.randrange(-extent, extent)

    def number(self) -> float:
        return self.random.choice((round(self.random.uniform(-2, 2), 2), self.random.randint(-2, 3), 0.5))

    def pick(self, names: str | Iterable) -> Any:
        return self.random.choice(names.split() if isinstance(names, str) else list(names))

    def maybe(self, chance: float = 0.5) -> bool:
        return self.random.random() < chance


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


# -- leaves -----------------------------------------------------------------------------------------------------


def _random_leaf(choose: random.Random, extents: list[int], kind: str, ties: bool) -> Leaf:
    """A leaf whose dimensions are taken from ``extents``, so that leaves of one program fit each other."""
    rank = choose.choices((0, 1, 2, 3), (12, 33, 40, 15))[0]
    shape = [choose.choice(extents) if choose.random() > 0.12 else 1 for _ in range(rank)]
    seen = choose.choices(("", "transposed", "stepped"), (70, 15, 15))[0] if rank else ""
    view = ""
    if seen == "transposed" and rank > 1:
        shape, view = shape[::-1], ".permute(" + ", ".join(map(str, reversed(range(rank)))) + ")"
    elif seen == "stepped":
        shape[-1], view = 2 * shape[-1], "[..., ::2]"
    return Leaf(_random_values(choose.randrange(2**32), tuple(shape), kind, ties), view)


def _random_values(seed: int, shape: tuple[int, ...], kind: str, ties: bool) -> np.ndarray:
    """Numbers around 0, positive ones, or with ``ties`` a few that occur often."""
    choose = np.random.default_rng(seed)
    if kind == "bool":
        return np.asarray(choose.random(shape) < 0.5)
    if kind == "int64":
        return np.asarray(choose.integers(0, 3, shape))
    look = choose.integers(0, 8)
    if look == 0 and ties:
        values = choose.integers(-2, 3, shape).astype(float)
    else:
        values = choose.uniform(0.15, 0.95, shape) if look < 4 else choose.uniform(-2, 2, shape)
    if kind.startswith("complex"):
        values = values + 1j * choose.uniform(-1, 1, shape)
    return np.asarray(np.round(values, 3), kind)


# -- drawing ----------------------------------------------------------------------------------------------------


def random_program(seed: int, families: list[tuple[float, Callable[[Draw], str]]], *,
                   differentiable: bool = False, plain: bool = False) -> Program:
    """The program of a seed.

    It is run with numgrad while it is drawn, so that most steps have operands that they can take; a step that raises is
    sometimes left to be the last.

    Args:
        families: functions that draw a line, with their weights; a line that starts with ``!`` is a statement.
        differentiable: draw only programs that finite differences can follow: of doubles, without detached values.
        plain: all leaves are real and of one shape, and lie contiguous: few kernels do for many programs.
    """
    choose = random.Random(seed)
    kind = choose.choices(("float64", "float32", "complex128"), (80, 0 if differentiable else 9, 11))[0]
    extents = [choose.choice((2, 3)), choose.choice((1, 2, 3, 4)), *([0] if choose.random() < 0.08 else [])]
    kinds = [kind, *choose.choices((kind, "float64", "int64", "bool"), (76, 6, 9, 9), k=choose.randint(0, 3))]
    if plain:
        leaves = [Leaf(_random_values(choose.randrange(2**32), (2, 3), "float64", False)) for _ in kinds]
    else:
        leaves = [_random_leaf(choose, extents, each, not differentiable) for each in kinds]
    leaves = [
        replace(leaf, requires_grad=leaf.differentiable and (not number or choose.random() < 0.75))
        for number, leaf in enumerate(leaves)
    ]
    draw = Draw(choose, differentiable)
    draw.values = [Value(number, leaf.tensor(numgrad).detach()) for number, leaf in enumerate(leaves)]
    scope: dict[str, Any] = {"torch": numgrad, "F": numgrad.nn.functional}
    scope.update((str(value), value.tensor) for value in draw.values)
    draw.leaves = [value.tensor.numpy() for value in draw.values]
    steps: list[Step] = []
    wanted, weights = choose.randint(2, 7), [weight for weight, _ in families]
    for _ in range(6 * wanted):
        if len(steps) == wanted:
            break
        try:
            line = choose.choices(families, weights)[0][1](draw)
        except NothingFitsError:
            continue
        step = Step(line.removeprefix("!"), makes=not line.startswith("!"))
        number = len(leaves) + len(steps)
        verdict = _run(step, number, scope, draw)
        if verdict == "good" or (verdict == "strange" and choose.random() < 0.03):
            steps.append(step)
            if step.makes:
                draw.values.append(Value(number, scope[f"v{number}"]))
        elif verdict == "raises" and choose.random() < 0.04:
            steps.append(step)
            break
    return Program(tuple(leaves), tuple(steps), _outputs(choose, draw.values, steps, len(leaves)))


def _run(step: Step, number: int, scope: dict[str, Any], draw: Draw) -> str:
    """Run a step where the program is drawn, and return the verdict."""
    before = [value.tensor.numpy().copy() for value in draw.values] if not step.makes else []
    try:
        with numgrad.no_grad(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if step.makes:
                made = scope[f"v{number}"] = eval(step.text, scope)
            else:
                exec(step.text, scope)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return "raises"
    if step.makes:
        if not isinstance(made, numgrad.Tensor) or made.numel() > ELEMENTS or made.ndim > RANK:
            return "too much"
        return "good" if _moderate(made.numpy()) else "strange"
    if all(_moderate(value.tensor.numpy()) for value in draw.values):
        draw.values = [Value(value.number, value.tensor) for value in draw.values]  # shapes may have changed
        return "good"
    for value, array in zip(draw.values, before, strict=True):
        if value.shape == value.tensor.shape:
            value.tensor.numpy()[...] = array
    return "too much"


def _moderate(array: np.ndarray) -> bool:
    return bool(np.isfinite(array).all() and (not array.size or abs(array).max() < LARGE))


def _outputs(choose: random.Random, values: list[Value], steps: list[Step], leaves: int) -> tuple[int, ...]:
    """The last numbers that no other step uses, and sometimes another value."""
    used = {number for step in steps if step.makes for number in step.operands}
    numbers = [value.number for value in values if value.kind in ("float", "complex")]
    unused = [number for number in numbers if number >= leaves and number not in used][-3:]
    made = [value.number for value in values[leaves:]]
    return (*(unused or numbers[-1:]), *choose.sample(made, min(len(made), choose.choice((0, 0, 0, 1)))))
