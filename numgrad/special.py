"""Special functions, under the names of PyTorch's ``torch.special``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later
from .core.tensor import Tensor
from .ops import public_functions as _public_functions
from .ops.pointwise.special import entr, erfc
from .ops.table.arguments import checked as _checked

__all__ = [
    "entr", "erf", "erfc", "exp2", "expit", "expm1", "log1p", "log_softmax", "logit", "logsumexp", "ndtr", "round",
    "sinc", "softmax", "xlogy",
]

erf = _public_functions["erf"]
exp2 = _public_functions["exp2"]
expit = _public_functions["sigmoid"]
expm1 = _public_functions["expm1"]
log1p = _public_functions["log1p"]
log_softmax = _public_functions["log_softmax"]
logit = _public_functions["logit"]
logsumexp = _public_functions["logsumexp"]
round = _public_functions["round"]
sinc = _public_functions["sinc"]
softmax = _public_functions["softmax"]
xlogy = _public_functions["xlogy"]


@_checked
def ndtr(input: Tensor) -> Tensor:
    """The probability that a standard normal number is less than ``input``, element by element."""
    return erfc(input * -math.sqrt(0.5)) * 0.5


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "special")
