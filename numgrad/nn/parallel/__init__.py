"""``torch.nn.parallel``: modules that compute parts of a batch in several places."""

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel
else:
    __getattr__, __dir__ = _found_later(globals(), "nn.parallel", {"DistributedDataParallel": "distributed"})
