"""``torch.types``: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from .core.types import Size as Size
from .core.types import device as device
from .core.types import dtype as dtype
from .tensors.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | Any
Storage: TypeAlias = Any
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype, _device, _size = dtype, device, Size | list[int] | tuple[int, ...]
_int, _float, _bool = int, float, bool
_Number = int, float, bool
