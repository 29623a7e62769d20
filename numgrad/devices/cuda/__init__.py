"""NVIDIA's GPUs: functions with the names of those in ``devices.cpu``, for buffers in a GPU's memory."""

from . import memory as memory
from . import runtime as runtime
from .alignments import *  # noqa: F403
from .attention import *  # noqa: F403
from .bags import *  # noqa: F403
from .convolution import *  # noqa: F403
from .copying import *  # noqa: F403
from .executing import *  # noqa: F403
from .flat_indices import *  # noqa: F403
from .graphs import *  # noqa: F403
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
from .windows import *  # noqa: F403
