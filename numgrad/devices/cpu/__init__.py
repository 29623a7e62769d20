"""The CPU: NumPy's memory, Numba's kernels, serial below a size and parallel above it."""

from .launching import *  # noqa: F403
from .products import *  # noqa: F403
from .random import *  # noqa: F403
from .reductions import *  # noqa: F403
from .softmax import *  # noqa: F403
