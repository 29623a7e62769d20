"""Functions that programs call of ``torch._C``, ``torch._jit_internal``, ``torch._utils`` and their like."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...autograd.grad_mode import LEVELS, state
from ...core.device import to_device
from ...cuda.gpus import index_of
from ...hub import load_state_dict_from_url
from ...nn.functional.reduction import newer_reduction
from ...nn.modules.module import _to_arguments
from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor

_TensorBase, TensorBase, load_url = Tensor, Tensor, load_state_dict_from_url

#: The metaclass of tensors.
_TensorMeta = type(Tensor)


# -- torch._C ---------------------------------------------------------------------------------------------------------


def _get_tracing_state() -> None:
    """Return None: nothing is traced."""


def _is_tracing() -> bool:
    return False


def _without_effect(*args: Any, **keywords: Any) -> None:
    """Accept a setting of TorchScript, or a note about the use of a function."""


_log_api_usage_once = _jit_set_profiling_executor = _jit_set_profiling_mode = _without_effect
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_texpr_fuser_enabled = _without_effect
_jit_set_nvfuser_enabled = _debug_set_fusion_group_inlining = _set_graph_executor_optimize = _without_effect


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call the function itself, as the ``__torch_function__`` of a class that overrides nothing."""
    return func(*args, **(kwargs or {}))


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return the device, the dtype, ``non_blocking`` and the memory format, from the arguments of ``Module.to``."""
    memory_format = kwargs.pop("memory_format", None)
    return (*_to_arguments(*args, **kwargs), memory_format)


def _are_functorch_transforms_active() -> bool:
    """Return True inside functions that are differentiated or batched by ``func``."""
    return bool(state.mode & LEVELS)


@contextlib.contextmanager
def DisableTorchFunction() -> Iterator[None]:
    """Return a context manager without effect, since functions are not overridden."""
    yield


DisableTorchFunctionSubclass = DisableTorchFunction


# -- torch._jit_internal ----------------------------------------------------------------------------------------------


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str | None = None, func_name: str | None = None,
) -> Callable[..., Any]:
    """Return a function that calls one of two functions, as the argument of this name and position says."""

    @functools.wraps(if_true if if_true.__doc__ else if_false)
    def call(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    if func_name is not None:
        call.__name__ = func_name
    return call


#: Annotations of a number, or a list of this length.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list


def get_callable_argument_names(fn: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters; none if any of them is not an ordinary one."""
    parameters = inspect.signature(fn).parameters.values()
    ordinary = all(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    return [parameter.name for parameter in parameters] if ordinary else []


# -- torch.distributed.elastic.multiprocessing.errors ------------------------------------------------------------------


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Return the function unchanged: the traceback of a process that fails is printed, and ends the others."""
    return fn


# -- torch.nn._reduction ----------------------------------------------------------------------------------------------


def get_enum(reduction: str) -> int:
    """Return the number of a reduction.

    Raises:
        ValueError: there is none of this name.
    """
    numbers = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction that two deprecated arguments of losses describe."""
    if not emit_warning:
        with warnings.catch_warnings(action="ignore"):
            return legacy_get_string(size_average, reduce)
    return newer_reduction("mean", size_average is not False, reduce is not False, stacklevel=3)


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return the number of the reduction that two deprecated arguments of losses describe."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


# -- torch._utils -----------------------------------------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Return the elements of all tensors in one tensor of one dimension."""
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return views of ``flat``, one after another, of the shapes of the tensors."""
    shapes = [tensor.shape for tensor in tensors]
    parts = flat.split([math.prod(shape) for shape in shapes])
    return tuple([part.view(shape) for part, shape in zip(parts, shapes, strict=True)])


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the number of a GPU, given by its number, device or name; the current one for None if ``optional``."""
    if device is None and not optional:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got: None")
    if allow_cpu and device is not None and not isinstance(device, int) and to_device(device).type == "cpu":
        return -1
    return index_of(device)


def _element_size(dtype: Any) -> int:
    """Return the number of bytes of an element."""
    return dtype.itemsize


# -- torch.utils._python_dispatch -------------------------------------------------------------------------------------


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return False: no tensor consists of others."""
    return False


# -- torch.utils._foreach_utils ---------------------------------------------------------------------------------------


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]:
    """Return parallel lists of tensors in groups, by the device and dtype of the tensors of the first list.

    Each group has its part of every list, and the positions of its tensors if ``with_indices``.
    """
    groups: dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]] = {}
    for position, tensors in enumerate(zip(*tensorlistlist, strict=True)):
        first = tensors[0]
        assert first is not None
        lists, positions = groups.setdefault((first.device, first.dtype), ([[] for _ in tensors], []))
        for part, tensor in zip(lists, tensors, strict=True):
            part.append(tensor)
        if with_indices:
            positions.append(position)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the devices on which one launch updates many tensors."""
    return ["cpu", "cuda"]


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices
