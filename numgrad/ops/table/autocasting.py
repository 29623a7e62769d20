"""Mixed precision: the dtypes in which autocast lets operations compute.

Note [Autocast]
Within ``autocast``, the bit AUTOCAST of the mode is set, and ``state.autocast`` holds the lower dtype of each kind of
device.  PyTorch's lists say what happens to the floating-point operands of an operation, unless they are of float64:
those of LOWER operations, mostly products, become the lower dtype; those of FULL ones float32; those of WIDEST ones the
widest dtype among them.  All other operations take operands as they are.  A call in one of the lists runs without
autocast once its operands are converted, so that it decides for everything that it is made of.

An operation looks at the lists only where it takes the general path anyway: in a special mode, and when a call has no
entry.  Functions that are made of operations, but one operation in PyTorch, are decorated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ...autograd.grad_mode import AUTOCAST, GRAD, in_mode, state
from ...core.types import dtype, float32, float64
from ...tensors.tensor import Tensor

__all__ = ["autocasting", "called_in_autocast", "cast_call", "cast_to", "listed_names", "policy_of"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _listed(names: str) -> frozenset[str]:
    return frozenset(names.split())


#: Operations computed in the lower dtype on all devices, and further ones on one kind of device.
_LOWER = _listed(
    "addbmm addmm baddbmm bmm convolution chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d linear matmul mm multi_dot prelu recurrent_layer scaled_dot_product_attention vecdot"
)
_LOWER_ON = {"cpu": _listed(""), "cuda": _listed("addmv addr fused_gru_cell fused_lstm_cell mv")}

#: Losses and others computed in float32 on all devices.
_FULL = _listed(
    "binary_cross_entropy_with_logits cdist cosine_embedding_loss cross_entropy hinge_embedding_loss kl_div l1_loss "
    "margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss_2d poisson_nll_loss prod "
    "smooth_l1_loss soft_margin_loss triplet_margin_loss"
)
_FULL_ON = {
    "cpu": _listed(
        "adaptive_avg_pool3d avg_pool3d binary_cross_entropy cholesky cholesky_ex cond ctc_loss det eig eigh eigvals "
        "eigvalsh fft_c2c fft_c2r fft_r2c grid_sampler grid_sample huber_loss inv inv_ex inverse lstsq lu_solve "
        "matrix_rank max_pool3d max_unpool2d max_unpool3d nanquantile pinv pinverse polar qr quantile ReflectionPad1D "
        "ReflectionPad2D ReplicationPad1D ReplicationPad2D ReplicationPad3D slogdet solve stft svd svdvals trace "
        "view_as_complex"
    ),
    "cuda": _listed(
        "acos asin cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm layer_norm log log10 log1p "
        "log2 log_softmax norm pdist pow reciprocal renorm rsqrt sinh softmax softmin softplus sum tan"
    ),
}

#: Operations whose operands are converted to the widest dtype among them.
_WIDEST_ON = {
    "cpu": _listed("cat index_copy stack"),
    "cuda": _listed(
        "addcdiv addcmul atan2 bilinear cat cross dot grid_sample grid_sampler index_put scatter_add stack "
        "tensordot"
    ),
}


@functools.cache
def policy_of(name: str, device: str) -> str:
    """Return the list in which an operation, or a function, is for a kind of device: "" if in none."""
    name = name.removesuffix("_op").removeprefix("linalg_")
    if name in _LOWER or name in _LOWER_ON[device]:
        return "lower"
    if name in _FULL or name in _FULL_ON[device]:
        return "full"
    if name == "bilinear" and device == "cpu":
        return "kept"  # PyTorch computes it without other operations
    return "widest" if name in _WIDEST_ON[device] else ""


def cast_call(names: Iterable[str], call: Callable[..., Any], args: Sequence[Any], keywords: Any = None) -> Any:
    """Call a function without autocast, its operands converted, if one of its names is in a list.

    Return NotImplemented if none is, or if there is no operand to which autocast applies.
    """
    tensors = [*_tensors([*args, *(keywords or {}).values()])]
    device = tensors[0]._layout.type.device.type if tensors else ""
    lower = state.autocast.get(device)
    if lower is None:
        return NotImplemented
    policy = next(filter(None, [policy_of(name, device) for name in names]), "")
    if not policy:
        return NotImplemented
    target = lower if policy == "lower" else float32
    if policy == "widest" and all(t._layout.type.dtype is lower for t in tensors if _applies(t, device)):
        target = lower
    keywords = keywords or {}
    if policy == "kept":
        return in_mode(state.mode & ~AUTOCAST, functools.partial(call, **keywords), *args)
    keywords = {name: _cast(value, device, target) for name, value in keywords.items()}
    return cast_to(target, device, functools.partial(call, **keywords), args)


def cast_to(target: dtype, device: str, call: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call a function without autocast, its floating-point operands on a kind of device converted to a dtype."""
    return in_mode(state.mode & ~AUTOCAST, call, *[_cast(value, device, target) for value in args])


def listed_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the name by which a list contains a function, as a tuple; an empty one if no list does."""
    name = function.__name__
    return (name,) if any(policy_of(name, device) for device in _LOWER_ON) else ()


def called_in_autocast(
    names: Iterable[str], function: Callable[..., Any], args: Sequence[Any], keywords: Any
) -> Any:
    """Call a function as autocast prescribes; return NotImplemented if it is off, or prescribes nothing."""
    return cast_call(names, function, args, keywords) if state.mode & AUTOCAST else NotImplemented


def _tensors(values: Iterable[Any]) -> Iterable[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif value.__class__ in (list, tuple):
            yield from [each for each in value if isinstance(each, Tensor)]


def _applies(tensor: Tensor, device: str) -> bool:
    """Return True if autocast converts a tensor: one of floating-point numbers on this kind of device, not float64."""
    type = tensor._layout.type
    return type.dtype.is_floating_point and type.dtype is not float64 and type.device.type == device


def _cast(value: Any, device: str, target: dtype) -> Any:
    """Return an argument with its tensors converted."""
    if value.__class__ in (list, tuple) and any(isinstance(each, Tensor) for each in value):
        return type(value)([_cast(each, device, target) for each in value])
    if not isinstance(value, Tensor) or value._layout.type.dtype is target or not _applies(value, device):
        return value
    kept = state.autocast_casts
    if kept is None or target is float32 or not (value._requires_grad and value._edge is None and value._view is None):
        return _converted(value, target)
    key = id(value), target, state.mode & GRAD
    cached = kept.get(key)
    if cached is None or cached[1] != value._counter[0]:
        cached = kept[key] = value, value._counter[0], _converted(value, target)
    return cached[2]


def _converted(value: Tensor, target: dtype) -> Tensor:
    return in_mode(state.mode & ~AUTOCAST, value.to, target)


def autocasting(function: Function) -> Function:
    """Decorate a function that is made of operations, and in one of the lists."""
    names = listed_names(function)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        result = called_in_autocast(names, function, args, keywords)
        return function(*args, **keywords) if result is NotImplemented else result

    return call  # type: ignore[return-value]
