"""``torch.distributed``: one program in several processes, on one machine or many, which exchange tensors by MPI.

MPI is loaded by ``init_process_group``, through the package mpi4py: ``pip install "numgrad-jit[distributed]"``.
A program is started with ``python -m numgrad launch --processes 4 program.py`` or ``mpiexec -n 4 python program.py``.

Collectives change tensors in place and are not recorded.  Those of ``distributed.nn.functional`` return new tensors and
are differentiable.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later

_GROUPS = [
    "Backend", "GroupMember", "ProcessGroup", "default_pg_timeout", "destroy_process_group", "get_backend",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
]
_COLLECTIVES = [
    "all_gather", "all_gather_into_tensor", "all_gather_single", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "gather", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter",
]
_OBJECTS = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]
_SUBGROUPS = ["new_group", "new_subgroups", "new_subgroups_by_enumeration"]
_MESSAGES = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]

__all__ = [
    "DistBackendError", "DistError", "GradBucket", "ReduceOp", "Work", "is_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "nn",
    *_GROUPS, *_SUBGROUPS, *_COLLECTIVES, *_OBJECTS, *_MESSAGES,
]

_LATER = {
    "nn": "nn", "is_nccl_available": "nccl", "GradBucket": ".nn.parallel.buckets", "ReduceOp": "reductions",
    "DistBackendError": "errors", "DistError": "errors", "Work": "work",
    **dict.fromkeys(_GROUPS, "groups"),
    **dict.fromkeys(_SUBGROUPS, "subgroups"),
    **dict.fromkeys(_COLLECTIVES, "collectives"),
    **dict.fromkeys(_OBJECTS, "objects"),
    **dict.fromkeys(_MESSAGES, "point_to_point"),
}


def is_available() -> bool:
    """Return True if the package mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_mpi_available() -> bool:
    """Return True if the package mpi4py is installed."""
    return is_available()


def is_gloo_available() -> bool:
    """Return False: the name ``"gloo"`` chooses MPI."""
    return False


def is_torchelastic_launched() -> bool:
    """Return False: programs are started by MPI's launcher."""
    return False


def is_initialized() -> bool:
    """Return True between ``init_process_group`` and ``destroy_process_group``."""
    groups = sys.modules.get(f"{__name__}.groups")
    return groups is not None and groups.world_group() is not None


def uses_mpi() -> bool:
    """Return True if this process has started MPI, after which it should not fork."""
    return "mpi4py.MPI" in sys.modules


if TYPE_CHECKING:
    from ..nn.parallel.buckets import GradBucket
    from . import nn
    from .collectives import *  # noqa: F403
    from .errors import DistBackendError, DistError
    from .groups import *  # noqa: F403
    from .nccl import is_nccl_available
    from .objects import *  # noqa: F403
    from .point_to_point import *  # noqa: F403
    from .reductions import ReduceOp
    from .subgroups import *  # noqa: F403
    from .work import Work
else:
    __getattr__, __dir__ = _found_later(globals(), "distributed", _LATER)
