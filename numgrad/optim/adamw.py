"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .adam import Adam
from .hyperparameters import hyperparameters

__all__ = ["AdamW"]


class AdamW(Adam):
    r"""Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    A step first shrinks the parameter, ``p = p - lr * weight_decay * p``, and then performs a step of :class:`Adam`
    without penalty.  The arguments are Adam's.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.AdamW([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.8990], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(params, **hyperparameters(locals()), decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # the loaded state may come from an Adam
            group["decoupled_weight_decay"] = True
