"""Types of tensors on GPUs, such as ``torch.cuda.FloatTensor``."""

from ..core.types import dtype as _dtype
from ..ops.creation.from_data import legacy_type as _legacy_type

globals().update({
    f"{_type.legacy}Tensor": _legacy_type(_type, "cuda") for _type in _dtype.named.values()
    if not (_type.is_complex or _type.is_limited)
})
