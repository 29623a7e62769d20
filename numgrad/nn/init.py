"""Initializers of parameters, in place.  On the CPU, random values equal PyTorch's for the same seed.

Every function overwrites its tensor without recording the operation, and returns the tensor.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.missing import found_later as _found_later
from ..ops.creation.factories import empty, empty_like, ones_like
from ..ops.creation.factories import eye as identity
from ..ops.creation.from_data import from_numpy
from ..ops.creation.random_numbers import randperm
from ..ops.pointwise.comparison import where
from ..ops.table.op import named
from ..tensors.tensor import Tensor

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]

#: The factors by which nonlinearities shrink the standard deviation of their input.
_GAINS = {
    "linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1, "conv_transpose2d": 1,
    "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4,
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """Return the factor by which the standard deviation before a nonlinearity should be larger.

    Args:
        nonlinearity: the name of the nonlinearity's function.
        param: the negative slope of "leaky_relu", 0.01 by default.

    Raises:
        ValueError: there is no such nonlinearity, or the slope is not a number.

    Example:
        >>> import numgrad
        >>> numgrad.nn.init.calculate_gain("relu")
        1.4142135623730951
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    if isinstance(param, bool) or not isinstance(param, int | float):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2 / (1 + param**2))


# -- one value, or a pattern ------------------------------------------------------------------------------------


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number.

    Example:
        >>> import numgrad
        >>> numgrad.nn.init.constant_(numgrad.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Example:
        >>> import numgrad
        >>> numgrad.nn.init.ones_(numgrad.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Example:
        >>> import numgrad
        >>> numgrad.nn.init.zeros_(numgrad.empty(2))
        tensor([0., 0.])
    """
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    Raises:
        ValueError: the tensor is not a matrix.

    Example:
        >>> import numgrad
        >>> numgrad.nn.init.eye_(numgrad.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    _check_matrix(tensor)
    return tensor.copy_(identity(*tensor.shape))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make the weight of a convolution (of one, two or three dimensions) the identity, in each of the groups.

    Raises:
        ValueError: the tensor is not such a weight, or its outputs do not divide into the groups.

    Example:
        >>> import numgrad
        >>> numgrad.nn.init.dirac_(numgrad.empty(1, 2, 3))
        tensor([[[0., 1., 0.],
                 [0., 0., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = outputs // groups
    centre = tuple([extent // 2 for extent in kernel])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(each, inputs)):
            tensor[(group * each + channel, channel, *centre)] = 1
    return tensor


# -- random -----------------------------------------------------------------------------------------------------


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the uniform distribution on [a, b).

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.uniform_(numgrad.empty(3))
        tensor([0.4963, 0.7682, 0.0885])
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the normal distribution.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.normal_(numgrad.empty(3))
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill from the normal distribution restricted to [a, b].

    Numbers are drawn until all are within the bounds.  If the bounds contain more than 30 % of the normal distribution,
    the numbers are drawn from it.  Otherwise they are drawn from the uniform distribution on [a, b], and each is
    accepted with the ratio of its density to the largest density within the bounds.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.trunc_normal_(numgrad.empty(3))
        tensor([ 1.5410, -0.2934, -1.3986])
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    inside = _normal_distribution((b - mean) / std) - _normal_distribution((a - mean) / std)
    if inside > 0.3:
        low, high = [_rounded(bound, tensor) for bound in (a, b)]
        tensor.normal_(mean, std, generator=generator)
        while (rejected := (tensor < low).logical_or(tensor > high)).any():
            drawn = empty_like(tensor).normal_(mean, std, generator=generator)
            tensor.copy_(where(rejected, drawn, tensor))
        return tensor
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    pending = ones_like(tensor, dtype=bool)
    while True:
        drawn = empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(where(pending, drawn, tensor))
        log_ratio = drawn.sub(mean).div(std).pow(2).mul(-0.5).sub(log_peak)
        chance = empty_like(tensor).uniform_(generator=generator)
        pending = pending.logical_and(chance.log() > log_ratio)
        if not pending.any():
            return tensor


def _normal_distribution(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _rounded(value: float, tensor: Tensor) -> float:
    """Return the number rounded to the tensor's dtype."""
    return tensor._layout.type.dtype.compute.numpy.type(value).item()


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the uniform distribution of standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Raises:
        ValueError: the tensor has fewer than 2 dimensions.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.xavier_uniform_(numgrad.empty(2, 2))
        tensor([[-0.0092,  0.6570],
                [-1.0080, -0.9013]])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from the normal distribution of standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Raises:
        ValueError: the tensor has fewer than 2 dimensions.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.xavier_normal_(numgrad.empty(2, 2))
        tensor([[ 1.0896, -0.2075],
                [-1.5406,  0.4019]])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill from the uniform distribution of standard deviation ``gain / sqrt(fan)``.

    Args:
        tensor: the weight.
        a: the negative slope of "leaky_relu".
        mode: "fan_in" or "fan_out", the one to use as ``fan``.
        nonlinearity: the function that follows the weight, which determines the gain.
        generator: the source of the random numbers, by default numgrad's own generator.

    Raises:
        ValueError: the tensor has fewer than 2 dimensions, or there is no such mode or nonlinearity.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.kaiming_uniform_(numgrad.empty(2, 2))
        tensor([[-0.0130,  0.9291],
                [-1.4256, -1.2747]])
    """
    if 0 in tensor.shape:
        return _nothing_done(tensor)
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill from the normal distribution of standard deviation ``gain / sqrt(fan)``; see ``kaiming_uniform_``.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.nn.init.kaiming_normal_(numgrad.empty(2, 2))
        tensor([[ 1.5410, -0.2934],
                [-2.1788,  0.5684]])
    """
    if 0 in tensor.shape:
        return _nothing_done(tensor)
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _nothing_done(tensor: Tensor) -> Tensor:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return the inputs per output and the outputs per input of a weight of shape (out, in, kernel ...)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Make rows or columns, whichever are fewer, orthogonal with norm ``gain``; further dimensions are flattened.

    They are the Q of a QR decomposition of normal random numbers, with signs that make Q uniformly distributed.

    Raises:
        ValueError: the tensor has fewer than 2 dimensions.

    Example:
        >>> import numgrad
        >>> weight = numgrad.nn.init.orthogonal_(numgrad.empty(2, 4))
        >>> numgrad.allclose(weight @ weight.T, numgrad.eye(2), atol=1e-6)
        True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = empty(rows, columns, dtype=tensor.dtype).normal_(0, 1, generator=generator).numpy()
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q *= np.sign(np.diagonal(r))
    flattened = np.ascontiguousarray(q.T if rows < columns else q)
    tensor.copy_(from_numpy(flattened).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix from the normal distribution, and overwrite a fraction of each column with zeros.

    Raises:
        ValueError: the tensor is not a matrix.
    """
    _check_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _deprecated(name: str) -> Callable[..., Tensor]:
    """Return the function that PyTorch named without the underscore, which warns."""
    function = globals()[f"{name}_"]

    def call(*args: Any, **keywords: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2
        )
        return function(*args, **keywords)

    return named(call, name, f"Call :func:`{name}_`, with a warning: this name is deprecated.")


constant, dirac, eye, kaiming_normal, kaiming_uniform = map(
    _deprecated, ("constant", "dirac", "eye", "kaiming_normal", "kaiming_uniform")
)
normal, orthogonal, sparse, uniform, xavier_normal, xavier_uniform = map(
    _deprecated, ("normal", "orthogonal", "sparse", "uniform", "xavier_normal", "xavier_uniform")
)


def _check_matrix(tensor: Tensor) -> None:
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "nn.init")
