"""``torch.amp``: mixed precision, which numgrad lacks: enabling it warns, as numgrad computes in float32 and float64.

``autocast(enabled=False)`` and ``GradScaler`` behave as PyTorch's do.
"""

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
