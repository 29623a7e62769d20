"""``torch.amp``: mixed precision, float16 or bfloat16 where that is safe, and the scaler of losses for float16."""

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
