"""The only importer of kernels: allocates memory, chooses the kernel, launches it.

What an operation needs of a device is one function here, the CPU's or the GPU's: see ``choosing.py``.
"""

from numgrad_kernels import libm as libm
from numgrad_kernels.cache import cache_directory as cache_directory
from numgrad_kernels.pointwise import Operand as Operand
from numgrad_kernels.pointwise import Program as Program
from numgrad_kernels.store import Kernel as Kernel
from numgrad_kernels.store import compiled_kernels as compiled_kernels

from . import launches as launches
from .choosing import begin_cuda as begin_cuda
from .choosing import cuda_in_use as cuda_in_use
from .choosing import gpu_count as gpu_count
from .choosing import gpu_driver as gpu_driver
from .choosing import gpu_driver_version as gpu_driver_version
from .choosing import gpu_ptx as gpu_ptx
from .compiling import kernel_listeners as kernel_listeners
from .cpu import *  # noqa: F403
from .cuda_text import cuda_text as cuda_text
from .cuda_text import ptx as ptx
from .host_functions import *  # noqa: F403
from .memory import check_countable as check_countable
from .memory import from_numpy as from_numpy
from .memory import out_of_memory as out_of_memory
from .memory import reports_memory as reports_memory
from .memory import shape_told as shape_told
from .moving import is_pinned as is_pinned
from .moving import moved as moved
from .moving import overwrite as overwrite
from .moving import pinned as pinned
from .optimizers import UpdateTable as UpdateTable
from .rows import DeviceRow as DeviceRow
