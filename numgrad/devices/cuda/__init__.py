"""NVIDIA's GPUs: the same functions as the CPU's, on rows in their memory."""

from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any

from . import memory as memory
from . import runtime as runtime
from .alignments import *  # noqa: F403
from .attention import *  # noqa: F403
from .bags import *  # noqa: F403
from .convolution import *  # noqa: F403
from .copying import *  # noqa: F403
from .executing import *  # noqa: F403
from .flat_indices import *  # noqa: F403
from .indexing import *  # noqa: F403
from .launching import *  # noqa: F403
from .likelihood import *  # noqa: F403
from .memory import *  # noqa: F403
from .normalization import *  # noqa: F403
from .optimizers import *  # noqa: F403
from .padding import *  # noqa: F403
from .pointwise import *  # noqa: F403
from .products import *  # noqa: F403
from .random import *  # noqa: F403
from .recurrence import *  # noqa: F403
from .reductions import *  # noqa: F403
from .resampling import *  # noqa: F403
from .scans import *  # noqa: F403
from .softmax import *  # noqa: F403
from .sorting import *  # noqa: F403


def axis_launcher(
    name: str, read: _Callable[[_Any], _Any], type: _Any, sizes: _Sequence[int], *arguments: _Any
) -> _Callable[[_Any], _Any]:
    """What calls the function of this name on a tensor of which ``read`` gives a row of this type.

    The row is seen as ``sizes``, (outer, length, inner), and has more arguments after it.
    """
    function = globals()[name]
    return lambda tensor: function(read(tensor), *sizes, *arguments)
