"""Checkpoints: save memory by computing parts of a program again in backward, instead of keeping what they computed."""

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from .errors import CheckpointError
from .random_states import DefaultDeviceType, get_device_states, set_device_states
from .recomputation import noop_context_fn
from .reentrant import CheckpointFunction, check_backward_validity, detach_variable
from .segments import checkpoint, checkpoint_sequential
from .settings import GraphExecGroup, set_checkpoint_debug_enabled, set_checkpoint_early_stop

__all__ = [
    "CheckpointError", "CheckpointFunction", "DefaultDeviceType", "GraphExecGroup", "check_backward_validity",
    "checkpoint", "checkpoint_sequential", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "utils.checkpoint")
