"""The only package that imports kernels: it allocates memory, chooses kernels and launches them.

The backend of a device, ``TensorType.backend``, is the package ``cpu`` or ``cuda``.  Both have functions of the same
names for operations to call.  Functions that depend on no device are in this package itself.
"""

from numgrad_kernels import libm as libm
from numgrad_kernels.cache import cache_directory as cache_directory
from numgrad_kernels.cache import sources as sources
from numgrad_kernels.dispatchers import stored_module as stored_module
from numgrad_kernels.formulas import Formula as Formula
from numgrad_kernels.formulas import FormulaError as FormulaError
from numgrad_kernels.inline import function_in as function_in
from numgrad_kernels.inline import text_in as text_in
from numgrad_kernels.pointwise import Operand as Operand
from numgrad_kernels.pointwise import PointwiseProgram as PointwiseProgram
from numgrad_kernels.procedures import Procedure as Procedure
from numgrad_kernels.store import Kernel as Kernel
from numgrad_kernels.store import compiled_kernels as compiled_kernels

from ..core.device import backends
from . import cpu as cpu
from . import launches as launches
from .buffers import DeviceBuffer as DeviceBuffer
from .common import *  # noqa: F403
from .cpu.lapack import has_lapack as has_lapack
from .cpu.products import blas_name as blas_name
from .dense import *  # noqa: F403
from .gpus import *  # noqa: F403
from .host_functions import *  # noqa: F403
from .launches import keeps_kernels as keeps_kernels
from .launches import kernel_listeners as kernel_listeners
from .launches import kernels_compiled as kernels_compiled
from .memory import *  # noqa: F403
from .moving import *  # noqa: F403
from .plan import *  # noqa: F403
from .windows import *  # noqa: F403

backends.update(cpu=lambda: cpu, cuda=begin_cuda)  # noqa: F405
