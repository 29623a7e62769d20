"""NVIDIA's GPUs: the same functions as the CPU's, on rows in their memory."""

from . import memory as memory
from . import runtime as runtime
from .launching import *  # noqa: F403
from .memory import *  # noqa: F403
from .pointwise import *  # noqa: F403
