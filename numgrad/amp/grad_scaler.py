"""``GradScaler``: losses are multiplied so that small gradients do not vanish, and steps with infinite ones left out.

With float32 gradients seldom vanish, and it could be left out; programs have it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..accelerator import is_available
from ..core.tensor import Tensor
from ..core.types import finfo, float32

__all__ = ["GradScaler"]


class GradScaler:
    """Multiplies losses by a scale, which grows while gradients are finite, and shrinks when they are not.

    Args:
        device: where gradients are, "cuda" or "cpu"; for a GPU where there is none it is switched off, with a warning.
        init_scale: the scale at the beginning.
        growth_factor: by which it is multiplied after ``growth_interval`` steps in a row with finite gradients.
        backoff_factor: by which it is multiplied after one with gradients that are not.
        growth_interval: see there.
        enabled: if not, losses and steps are left as they are.

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
        #: Of each optimizer since the last update, by identity: whether its gradients are divided already and whether
        #: all were finite then, None of none.
        self._seen: dict[int, bool | None] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)([self.scale(one) for one in outputs])
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, before they are clipped for example.

        Raises:
            RuntimeError: that was done since the last :meth:`update`, or a step.
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
        """The optimizer's step, with gradients divided by the scale; left out if one of them is not finite.

        Raises:
            RuntimeError: there was one since the last :meth:`update`, or a closure is given.
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
        """Change the scale by what the steps since the last update have found, or to ``new_scale``.

        Raises:
            AssertionError: there were no gradients since then, and no ``new_scale`` is given.
        """
        if not self._enabled:
            return
        found = [finite for finite in self._seen.values() if finite is not None]
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif not all(found):
            self._scale *= self._backoff_factor
            self._finite_steps = 0
        else:
            self._finite_steps += 1
            if self._finite_steps == self._growth_interval:
                if self._scale * self._growth_factor <= finfo(float32).max:  # else losses would become infinite
                    self._scale *= self._growth_factor
                self._finite_steps = 0
        self._seen, self._stepped = {}, set()

    def get_scale(self) -> float:
        """The scale, 1 if this is not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """By which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Have the scale grow by it."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """By which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Have the scale shrink by it."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Have the scale grow after so many steps."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs to go on; nothing if this is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._finite_steps,
        }  # fmt: skip

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where a state was saved.

        Raises:
            RuntimeError: it is that of a scaler that was not enabled.
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
