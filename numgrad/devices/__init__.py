"""The only importer of kernels: allocates memory, chooses the kernel, launches it.

A device's backend is the package ``cpu`` or ``cuda``: what operations ask of a device is a function of both, by the
same name, and ``TensorType.backend`` is the one to ask.  What concerns no device is a function of this package.
"""

from numgrad_kernels import libm as libm
from numgrad_kernels.cache import cache_directory as cache_directory
from numgrad_kernels.pointwise import Operand as Operand
from numgrad_kernels.pointwise import Program as Program
from numgrad_kernels.store import Kernel as Kernel
from numgrad_kernels.store import compiled_kernels as compiled_kernels

from . import cpu as cpu
from . import launches as launches
from .common import NUMBERS as NUMBERS
from .common import OutOfBoundsError as OutOfBoundsError
from .common import Steps as Steps
from .common import check_sizes as check_sizes
from .common import check_values as check_values
from .common import evenly_spaced as evenly_spaced
from .common import filler as filler
from .common import row_adder as row_adder
from .cpu.products import blas_name as blas_name
from .gpus import begin_cuda as begin_cuda
from .gpus import cuda_in_use as cuda_in_use
from .gpus import cuda_text as cuda_text
from .gpus import gpu_count as gpu_count
from .gpus import gpu_driver as gpu_driver
from .gpus import gpu_driver_version as gpu_driver_version
from .gpus import gpu_ptx as gpu_ptx
from .gpus import ptx as ptx
from .host_functions import *  # noqa: F403
from .launches import kernel_listeners as kernel_listeners
from .memory import check_countable as check_countable
from .memory import from_numpy as from_numpy
from .memory import reports_memory as reports_memory
from .memory import shape_told as shape_told
from .moving import is_pinned as is_pinned
from .moving import moved as moved
from .moving import overwrite as overwrite
from .moving import pinned as pinned
from .rows import DeviceRow as DeviceRow
