"""Random programs: a few leaves, and steps that are lines of Python for both PyTorch and numgrad."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Leaf", "Program", "Step"]

NAME = re.compile(r"\bv(\d+)\b")


@dataclass(frozen=True, eq=False)
class Leaf:
    """An input: ``values`` in memory, seen through ``view``, an expression such as ``.t()``."""

    values: np.ndarray
    view: str = ""
    requires_grad: bool = False

    @property
    def differentiable(self) -> bool:
        return self.values.dtype.kind in "fc"

    def source(self) -> str:
        kind = self.values.dtype.name
        if self.values.size:
            made = f"torch.tensor({self.values.tolist()}, dtype=torch.{kind})"
        else:
            made = f"torch.zeros({self.values.shape}, dtype=torch.{kind})"
        return f"{made}{self.view}{'.requires_grad_()' if self.requires_grad else ''}"

    def tensor(self, module: ModuleType) -> Any:
        """Return a new leaf of PyTorch or numgrad, in new memory."""
        made = _viewed(self.view)(module.from_numpy(np.array(self.values)))
        return made.requires_grad_() if self.requires_grad else made


@functools.cache
def _viewed(view: str) -> Callable:
    return eval(f"lambda t: t{view}")


@dataclass(frozen=True)
class Step:
    """A line of the program: an expression that makes a value, or a statement that changes values in place."""

    text: str
    makes: bool = True

    @property
    def operands(self) -> set[int]:
        return {int(number) for number in NAME.findall(self.text)}

    def renamed(self, names: dict[int, int]) -> Step:
        text = NAME.sub(lambda match: f"v{names.get(int(match[1]), int(match[1]))}", self.text)
        return replace(self, text=text)


def _widened(text: str) -> str:
    return text.replace("float32", "float64").replace("complex64", "complex128").replace(".float()", ".double()")


@dataclass(frozen=True, eq=False)
class Program:
    """A program of numbered values: leaves ``v0``, ``v1``..., and one for each step, which makes or changes a value."""

    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    @functools.cached_property
    def body(self) -> str:
        """Python text of the program as a function of its leaves."""
        lines = [f"def program({', '.join(f'v{n}' for n in range(len(self.leaves)))}):"]
        for number, step in enumerate(self.steps, len(self.leaves)):
            lines.append(f"    v{number} = {step.text}" if step.makes else f"    {step.text}")
        return "\n".join([*lines, f"    return {', '.join(f'v{n}' for n in self.outputs)},"])

    def function(self, module: ModuleType) -> Callable[..., tuple]:
        """Return the program as a function, with PyTorch or numgrad."""
        scope = {"torch": module, "F": module.nn.functional}
        exec(self._code, scope)
        return scope["program"]

    @functools.cached_property
    def _code(self) -> Any:
        return compile(self.body, "<program>", "exec")

    def tensors(self, module: ModuleType) -> list:
        return [leaf.tensor(module) for leaf in self.leaves]

    def __str__(self) -> str:
        """A script that runs with PyTorch, and with numgrad when the first line says ``import numgrad as torch``."""
        lines = ["import torch", "F = torch.nn.functional"]
        lines += [f"v{number} = {leaf.source()}" for number, leaf in enumerate(self.leaves)]
        call = f"outputs = program({', '.join(f'v{n}' for n in range(len(self.leaves)))})"
        return "\n".join([*lines, self.body, call])

    @functools.cached_property
    def single(self) -> bool:
        """Return True if the program uses single precision."""
        return self.widened().body != self.body or any(leaf.values.dtype == np.float32 for leaf in self.leaves)

    @functools.cached_property
    def connected(self) -> bool:
        """Return True if no value is detached from the leaves, except integers."""
        return not any(word in self.body.replace(".detach().amax(", "") for word in ("detach", "no_grad"))

    def widened(self) -> Program:
        """Return the same program in double precision."""
        leaves = tuple(
            replace(leaf, values=leaf.values.astype(np.float64)) if leaf.values.dtype == np.float32 else leaf
            for leaf in self.leaves
        )
        steps = tuple(replace(step, text=_widened(step.text)) for step in self.steps)
        return replace(self, leaves=leaves, steps=steps)

    def moved(self, seed: int, relative: float) -> Program:
        """Return the program on other numbers, each changed by at most ``relative`` times its magnitude, or times 1 if
        that is larger.
        """
        choose = np.random.default_rng(seed)

        def move(leaf: Leaf) -> Leaf:
            if not leaf.differentiable:
                return leaf
            move = relative * choose.uniform(-1, 1, leaf.values.shape) * np.maximum(abs(leaf.values), 1)
            return replace(leaf, values=np.asarray(leaf.values + move, leaf.values.dtype))

        return replace(self, leaves=tuple(map(move, self.leaves)))
