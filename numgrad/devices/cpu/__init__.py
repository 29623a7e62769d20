"""The CPU: NumPy's memory, Numba's kernels, serial below a size and parallel above it."""

from .arranging import *  # noqa: F403
from .attention import *  # noqa: F403
from .axes import *  # noqa: F403
from .indexing import *  # noqa: F403
from .launching import *  # noqa: F403
from .likelihood import *  # noqa: F403
from .normalization import *  # noqa: F403
from .optimizers import *  # noqa: F403
from .pointwise import *  # noqa: F403
from .pooling import *  # noqa: F403
from .products import *  # noqa: F403
from .random import *  # noqa: F403
from .ranges import *  # noqa: F403
from .scans import *  # noqa: F403
from .searching import *  # noqa: F403
from .softmax import *  # noqa: F403
from .sorting import *  # noqa: F403
from .threads import *  # noqa: F403
