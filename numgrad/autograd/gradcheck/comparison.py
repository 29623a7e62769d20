"""The Jacobians of a function by automatic differentiation compared with those by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import GradcheckError
from .analytical import jacobian_vector_products, largest_difference, vector_jacobian_products
from .directions import Probe, probe, units_of
from .errors import JacobianBlock, close, mismatch_error, not_reentrant_error, not_zero_error
from .numerical import Derivatives, combined, derivatives_along
from .problem import Problem

#: The name and the function of each part of complex numbers, by its unit; in the order in which they are checked.
_PARTS: dict[complex, tuple[str, Callable[[Any], Any]]] = {1j: ("imaginary", np.imag), 1: ("real", np.real)}

#: A Jacobian by finite differences and by automatic differentiation.
_Pair = tuple[np.ndarray, np.ndarray]


class Comparison:
    """Compares the Jacobians of a problem, whole or, if ``fast``, multiplied with random vectors.

    Args:
        problem: the function and where it is differentiated.
        eps: the step of the finite differences.
        atol: absolute tolerance of the Jacobians' elements.
        rtol: relative tolerance.
        nondet_tol: by how much the gradients of two runs of backward may differ.
        dtypes: whether gradients are to have their inputs' dtypes, and tangents their outputs'.
        fast: whether to multiply with random vectors.
    """

    def __init__(
        self, problem: Problem, eps: float, atol: float, rtol: float, nondet_tol: float, dtypes: bool, fast: bool
    ):
        self._problem = problem
        self._eps, self._atol, self._rtol = eps, atol, rtol
        self._nondet_tol = nondet_tol
        self._types: set[tuple[Any, Any]] | None = set() if dtypes else None
        self._fast = fast
        self._probe = probe(problem.inputs, problem.outputs, fast)
        self._measured: list[Derivatives] | None = None

    def all_with_zero(self) -> None:
        """Nothing that the function returns changes: none of its outputs requires a gradient."""
        numerical = self._numerical(self._problem.evaluate_all, self._probe)
        for argument, derivatives in zip(self._problem.arguments, numerical, strict=True):
            if any(matrix.any() for by_unit in derivatives for matrix in by_unit.values()):
                raise not_zero_error(argument)

    def backward(self) -> None:
        """The gradients of all outputs, of complex ones those of their imaginary and of their real parts."""
        for unit, (name, _) in _PARTS.items():
            for i, y in enumerate(self._problem.outputs):
                if unit in units_of(y):
                    part = f"{name} part of complex outputs" if y.is_complex() else ""
                    self._backward_of(i, unit, part)

    def forward(self) -> None:
        """The tangents along all inputs, along complex ones for their imaginary and for their real parts."""
        for unit, (name, _) in _PARTS.items():
            for k, x in enumerate(self._problem.inputs):
                if unit in units_of(x):
                    part = f"{name} part of complex inputs" if x.is_complex() else ""
                    self._forward_of(k, unit, part)

    def _backward_of(self, i: int, unit: complex, part: str) -> None:
        pairs = self._by_backward(i, unit, self._probe, self._measure(), twice=True)
        for k, (numerical, analytical) in enumerate(pairs):
            reach = self._probe.outputs[i].reach() * self._reach(k)
            if not close(analytical, numerical, self._atol * reach, self._rtol).all():
                slow = self._whole(self._by_backward, i, unit, k)
                raise self._mismatch(i, k, part, False, numerical, analytical, slow)

    def _by_backward(
        self, i: int, unit: complex, by: Probe, measured: list[Derivatives], twice: bool = False
    ) -> list[_Pair]:
        """For each input both Jacobians of an output's part, multiplied from both sides as the probe says."""
        problem, weights = self._problem, by.outputs[i]
        runs = [
            vector_jacobian_products(problem.outputs[i], problem.inputs, weights, unit, self._types)
            for _ in range(2 if twice else 1)
        ]
        difference = max(largest_difference(a, b) for a, b in zip(runs[0], runs[-1], strict=True))
        if not difference <= self._nondet_tol:
            raise not_reentrant_error(difference, self._nondet_tol)
        self._check_dtypes()
        part = _PARTS[unit][1]
        pairs = []
        for rows, directions, derivatives in zip(runs[0], by.inputs, measured, strict=True):
            analytical = combined({unit: line.project(_PARTS[unit][1](rows)) for unit, line in directions.items()})
            numerical = combined({unit: part(matrix) for unit, matrix in derivatives[i].items()})
            pairs.append((weights.project(numerical), analytical.T))
        return pairs

    def _forward_of(self, k: int, unit: complex, part: str) -> None:
        pairs = self._by_forward(k, unit, self._probe, self._measure())
        for i, (numerical, analytical) in enumerate(pairs):
            if not close(analytical, numerical, self._atol * self._reach(k), self._rtol).all():
                slow = self._whole(self._by_forward, k, unit, i)
                raise self._mismatch(i, k, part, True, numerical, analytical, slow)

    def _by_forward(self, k: int, unit: complex, by: Probe, measured: list[Derivatives]) -> list[_Pair]:
        """For each output both Jacobians with respect to an input's part, multiplied from one side."""
        problem = self._problem
        products = jacobian_vector_products(
            problem.evaluate, problem.inputs, k, by.inputs[k][unit], unit, self._types
        )
        self._check_dtypes()
        return [(by_unit[unit], rows) for rows, by_unit in zip(products, measured[k], strict=True)]

    # -- finite differences ---------------------------------------------------------------------------------

    def _measure(self) -> list[Derivatives]:
        if self._measured is None:
            self._measured = self._numerical(self._problem.evaluate, self._probe)
            for of_output in self._measured:
                for y, by_unit in zip(self._problem.outputs, of_output, strict=True):
                    if by_unit[1].shape[1] != y.numel():
                        raise AssertionError(
                            "Expected `func` to return outputs with the same shape when inputs are perturbed, but "
                            f"got {y.numel()} elements and {by_unit[1].shape[1]}."
                        )
        return self._measured

    def _numerical(self, evaluate: Callable[[], list[Any]], by: Probe) -> list[Derivatives]:
        """For each input the derivatives of all outputs along the probe's directions."""
        return [
            derivatives_along(evaluate, x, directions, self._eps)
            for x, directions in zip(self._problem.inputs, by.inputs, strict=True)
        ]

    # -- what is said of a mismatch -------------------------------------------------------------------------

    def _reach(self, k: int) -> float:
        return sum(directions.reach() for directions in self._probe.inputs[k].values()) if self._fast else 1.0

    def _whole(self, compute: Callable[..., list[_Pair]], one: int, unit: complex, other: int) -> _Pair | None:
        """In fast mode the Jacobians themselves; ``compute`` gives those of ``one`` output or input, by the other."""
        if not self._fast:
            return None
        problem = self._problem
        every = probe(problem.inputs, problem.outputs, fast=False)
        return compute(one, unit, every, self._numerical(problem.evaluate, every))[other]

    def _check_dtypes(self) -> None:
        for expected, given in self._types or ():
            raise GradcheckError(f"Gradient has dtype mismatch: it is {given}, but is to be {expected}")

    def _mismatch(
        self, i: int, k: int, part: str, forward: bool, numerical: np.ndarray, analytical: np.ndarray,
        slow: _Pair | None,
    ) -> GradcheckError:  # fmt: skip
        problem = self._problem
        block = JacobianBlock(problem.outputs[i], i, problem.inputs[k], k, problem.arguments[k], forward, part)
        if slow is not None:  # one number, or in forward mode one row
            numerical, analytical = [values[0] if forward else values[0, 0] for values in (numerical, analytical)]
        return mismatch_error(block, numerical, analytical, self._atol, self._rtol, slow)
