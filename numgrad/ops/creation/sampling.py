"""Poisson and binomial numbers, and tensors filled with Cauchy, geometric and log-normal numbers.

On the CPU they are PyTorch's for the same seed, except for the last bits of some.  On GPUs they are others.
"""

from __future__ import annotations

from typing import Any

from ... import random
from ...core.layout import layout_of
from ...core.types import float32
from ...tensors.tensor import Tensor
from ..batching.examples import drawn
from ..indexing.checking import holds_everywhere
from ..memory.copying import convert
from ..memory.overwriting import FilledNode
from ..shapes.broadcasting import broadcast_tensors
from ..table.checks import check, check_supported, check_value
from ..table.op import attach, public
from ..table.recording import node_class
from .distributions import DrawBackward0, with_zero_gradients
from .random_numbers import new_drawn, overwrite_drawn

_PoissonBackward0, _BinomialBackward0 = [
    node_class(name, DrawBackward0) for name in ("PoissonBackward0", "BinomialBackward0")
]


def numbers_of(draw: str, generator: Any, *parameters: Tensor) -> Tensor:
    """Return a random number for each element of the parameters, which are of one shape and dtype.

    Those of 16 bits are rounded from float32.
    """
    layout = parameters[0]._layout
    source, dtype = random.given_or_default(generator, layout.type.device), layout.type.dtype
    computed = dtype if dtype.itemsize > 2 else float32
    given = [convert(parameter.detach(), computed) for parameter in parameters]
    return convert(new_drawn(draw, layout_of(layout.type.with_dtype(computed), layout.shape), source, *given), dtype)


@public(method=False)
@drawn
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random numbers from Poisson distributions, whose rates are the elements of ``input``, in its dtype.

    The rates are checked, which synchronizes with a GPU.

    Raises:
        RuntimeError: a rate is negative or NaN.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.poisson(numgrad.tensor([0.0, 2.0, 100.0]))
        tensor([ 0.,  6., 96.])
    """
    check_supported(input._layout, "f", "poisson_cpu")
    check(holds_everywhere(input.detach() >= 0), "invalid Poisson rate, expected rate to be non-negative")
    return with_zero_gradients(numbers_of("poisson", generator, input), _PoissonBackward0, input)


@public(method=False)
@drawn
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random numbers from binomial distributions: successes among ``count`` trials, each with probability ``prob``.

    Both tensors are of one floating-point dtype, and broadcast.  Counts below 0 give 0, and probabilities outside
    [0, 1] count as the nearer end.  The number is NaN where a parameter is not finite.

    Raises:
        ValueError: ``count`` is not floating-point.
        RuntimeError: the dtypes differ.

    Example:
        >>> import numgrad
        >>> numgrad.binomial(numgrad.tensor([0.0, 5.0]), numgrad.tensor(1.0))
        tensor([0., 5.])
    """
    message = "binomial only supports floating-point dtypes for count, got: {!s}"
    check_value(count.is_floating_point(), message, count.dtype)
    check(count.dtype is prob.dtype, "Found dtype {!s} but expected {!s}", prob.dtype, count.dtype)
    counts, probabilities = broadcast_tensors(count, prob)
    numbers = numbers_of("binomial", generator, counts, probabilities)
    return with_zero_gradients(numbers, _BinomialBackward0, count, prob)


# -- filling in place -------------------------------------------------------------------------------------------

_CauchyBackward0, _GeometricBackward0, _LogNormalBackward0 = [
    node_class(name, FilledNode) for name in ("CauchyBackward0", "GeometricBackward0", "LogNormalBackward0")
]


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers from the Cauchy distribution around ``median`` of the width ``sigma``.

    Raises:
        RuntimeError: ``sigma`` is not positive, or the elements are not floating-point numbers.
    """
    check(self.is_floating_point(), "cauchy_ fills floating-point tensors, but the dtype is {!s}", self.dtype)
    check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma={}", sigma)
    source = random.given_or_default(generator, self._layout.type.device)
    return overwrite_drawn(self, _CauchyBackward0, "cauchy", source, float(median), float(sigma))


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers of trials up to the first success, which has the probability ``p``.

    Raises:
        RuntimeError: ``p`` is not between 0 and 1.
    """
    check_supported(self._layout, "if", "geometric_cpu")
    check(0 < p < 1, "geometric_ expects p to be in (0, 1), but got p={}", p)
    source = random.given_or_default(generator, self._layout.type.device)
    return overwrite_drawn(self, _GeometricBackward0, "geometric", source, float(p))


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill the tensor with the exponentials of normal random numbers with this mean and standard deviation.

    Raises:
        RuntimeError: ``std`` is not positive.
    """
    check_supported(self._layout, "f", "log_normal_cpu")
    check(std > 0, "log_normal_ expects std > 0.0, but found std={}", std)
    source = random.given_or_default(generator, self._layout.type.device)
    return overwrite_drawn(self, _LogNormalBackward0, "log_normal", source, float(mean), float(std))


for _fill in (cauchy_, geometric_, log_normal_):
    attach(_fill.__name__, _fill)
