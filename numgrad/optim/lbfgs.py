"""L-BFGS: a quasi-Newton method with a limited history."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.pointwise.complexes import view_as_real_op as view_as_real
from ..ops.shapes.joining import cat
from ..tensors.tensor import Tensor
from .hyperparameters import RATE, hyperparameters
from .line_search import minimum_of_cubic, strong_wolfe
from .optimizer import Optimizer

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS (Liu and Nocedal, 1989): joint steps of all parameters, by the curvature estimated from recent gradients.

    A call of ``step`` makes up to ``max_iter`` iterations and needs a closure, which clears the gradients, computes the
    loss, calls ``backward()`` on it and returns it.  The method is intended for losses without noise.

    Args:
        params: tensors or named tensors; there may be only one parameter group.
        lr: the step length without a line search, or the first length to try.
        max_iter: the maximum number of iterations per call of ``step``.
        max_eval: the maximum number of calls of the closure; ``max_iter * 5 // 4`` if None.
        tolerance_grad: iterations end when no element of the gradient is larger.
        tolerance_change: iterations end when the changes of all parameters, or of the loss, are smaller.
        history_size: the number of recent steps from which the curvature is estimated.
        line_search_fn: "strong_wolfe", or None for steps of ``lr``.

    Raises:
        ValueError: there are several parameter groups, or the learning rate is negative.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([3.0], requires_grad=True)
        >>> optimizer = numgrad.optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1.0) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> loss = optimizer.step(closure)
        >>> x
        tensor([1.], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, hyperparameters(locals(), lr=RATE))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Make up to ``max_iter`` iterations and return the initial loss.

        Raises:
            RuntimeError: the line search is unknown.
            AssertionError: a second parameter group was added.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        tolerance, limit = group["tolerance_change"], group["max_eval"]
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, gradient = float(first_loss), self._gradient()
        evaluations = 1
        state["func_evals"] += 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            size = float(group["lr"])
            if state["n_iter"] == 1:
                size *= min(1.0, 1.0 / gradient.abs().sum().item())
            before = loss
            state.update(d=direction, t=size, prev_flat_grad=gradient, prev_loss=before)
            slope = gradient.dot(direction).item()
            if slope > -tolerance:
                break
            calls = 0
            if group["line_search_fn"] is not None:
                at = functools.partial(self._tried, closure, direction, [param.clone() for param in self._params])
                loss, gradient, size, calls = strong_wolfe(
                    at, size, direction, loss, gradient, slope, limit - evaluations
                )
                state["t"] = size
                self._move(size, direction)
            else:
                self._move(size, direction)
                if iteration != group["max_iter"]:  # otherwise nothing would use them
                    loss, gradient, calls = float(closure()), self._gradient(), 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                iteration == group["max_iter"]
                or evaluations >= limit
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction) * size <= tolerance
                or abs(loss - before) < tolerance
            ):
                break
        return first_loss

    def _direction(self, state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
        """Return minus the gradient times the inverse curvature, by the two-loop recursion over the recent steps."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, steps, scales = history = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * float(state["t"])
        curvature = change.dot(step).item()
        if curvature > 1e-10:
            for items, new in zip(history, (change, step, 1.0 / curvature), strict=True):
                items.append(new)
                del items[: max(0, len(items) - history_size)]
            state["H_diag"] = curvature / change.dot(change).item()
        parts = state["al"] = [None] * history_size
        direction = -gradient
        for number in reversed(range(len(steps))):
            parts[number] = steps[number].dot(direction).item() * float(scales[number])
            direction.add_(changes[number], alpha=-parts[number])
        direction.mul_(float(state["H_diag"]))
        for number, step in enumerate(steps):
            part = changes[number].dot(direction).item() * float(scales[number])
            direction.add_(step, alpha=parts[number] - part)
        return direction

    def _gradient(self) -> Tensor:
        """Return the gradients of all parameters as one vector."""
        return cat([
            _as_vector(param.new_zeros(param.shape) if param.grad is None else param.grad) for param in self._params
        ])

    def _move(self, size: float, direction: Tensor) -> None:
        """Add ``size * direction`` to the parameters."""
        start = 0
        for param in self._params:
            values = view_as_real(param) if param.is_complex() else param
            stop = start + values.numel()
            values.add_(direction[start:stop].view(values.shape), alpha=size)
            start = stop

    def _tried(
        self, closure: Callable[[], Any], direction: Tensor, before: Sequence[Tensor], size: float
    ) -> tuple[float, Tensor]:
        """Return loss and gradient after a trial step, then restore the parameters' values in ``before``."""
        self._move(size, direction)
        try:
            return float(closure()), self._gradient()
        finally:
            for param, values in zip(self._params, before, strict=True):
                param.copy_(values)


def _as_vector(tensor: Tensor) -> Tensor:
    return (view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)


def _largest(tensor: Tensor) -> float:
    return tensor.abs().max().item()


def _strong_wolfe(
    obj_func: Callable[..., tuple[float, Tensor]], x: Any, t: float, d: Tensor, f: float, g: Tensor, gtd: Any,
    c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """Call :func:`strong_wolfe` under PyTorch's name, with the loss and gradient of ``obj_func(x, t, d)``."""
    return strong_wolfe(
        lambda size: obj_func(x, size, d), float(t), d, float(f), g, float(gtd), max_ls, c1, c2, tolerance_change
    )


def _cubic_interpolate(
    x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[float, float] | None = None
) -> float:
    """Return the minimum, within bounds, of the cubic through two points of a line with their slopes."""
    low, high = sorted((float(x1), float(x2))) if bounds is None else bounds
    return minimum_of_cubic(tuple(map(float, (x1, f1, g1))), tuple(map(float, (x2, f2, g2))), low, high)
