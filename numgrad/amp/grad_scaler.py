"""``GradScaler``, which scales losses so that small gradients do not vanish, and skips steps with infinite gradients.

In float32, gradients seldom vanish; the class exists for programs written for mixed precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..accelerator import is_available
from ..core.types import finfo, float32
from ..tensors.tensor import Tensor

__all__ = ["GradScaler"]


class GradScaler:
    """A factor for losses, which grows while gradients are finite, and shrinks when they are not.

    Args:
        device: the device of the gradients, "cuda" or "cpu"; without a GPU, "cuda" disables the scaler with a warning.
        init_scale: the initial scale.
        growth_factor: the factor of the scale after ``growth_interval`` successive steps with finite gradients.
        backoff_factor: the factor of the scale after a step with gradients that are not finite.
        growth_interval: the number of steps after which the scale grows.
        enabled: False to leave losses and steps unchanged.

    Raises:
        AssertionError: ``growth_factor`` is not above 1, or ``backoff_factor`` not below.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ):
        if enabled and device == "cuda" and not is_available():
            warnings.warn("GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        if enabled and growth_factor <= 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._finite_steps = 0
        #: The optimizers whose gradients were divided since the last update, by identity: True if all gradients were
        #: finite, None if there were none.
        self._seen: dict[int, bool | None] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or the tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)([self.scale(output) for output in outputs])
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, for example before they are clipped.

        Raises:
            RuntimeError: the method, or a step, was called for the optimizer since the last :meth:`update`.
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._seen:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        gradients = [
            parameter.grad for group in optimizer.param_groups for parameter in group["params"]
            if parameter.grad is not None
        ]  # fmt: skip
        for gradient in gradients:
            gradient.detach().mul_(1 / self._scale)
        finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
        self._seen[id(optimizer)] = finite if gradients else None

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Perform the optimizer's step with gradients divided by the scale, unless one of them is not finite.

        Raises:
            RuntimeError: a step was called for the optimizer since the last :meth:`update`, or a closure is given.
            AssertionError: no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._seen:
            self.unscale_(optimizer)
        finite = self._seen[id(optimizer)]
        if finite is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._stepped.add(id(optimizer))
        return optimizer.step(*args, **kwargs) if finite else None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adjust the scale to the gradients since the last update, or set it to ``new_scale``.

        Raises:
            AssertionError: there were no gradients since the last update, and no ``new_scale`` is given.
        """
        if not self._enabled:
            return
        checks = [finite for finite in self._seen.values() if finite is not None]
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not checks:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif not all(checks):
            self._scale *= self._backoff_factor
            self._finite_steps = 0
        else:
            self._finite_steps += 1
            if self._finite_steps == self._growth_interval:
                if self._scale * self._growth_factor <= finfo(float32).max:  # losses stay finite
                    self._scale *= self._growth_factor
                self._finite_steps = 0
        self._seen, self._stepped = {}, set()

    def get_scale(self) -> float:
        """Return the scale; 1 if the scaler is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of steps after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return True if the scaler is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state for :meth:`load_state_dict`; empty if the scaler is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._finite_steps,
        }  # fmt: skip

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore a state returned by :meth:`state_dict`.

        Raises:
            RuntimeError: the state is that of a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._finite_steps = state_dict["growth_interval"], state_dict["_growth_tracker"]
