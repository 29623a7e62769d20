"""Random draws from distributions whose parameters may be tensors: normal, Bernoulli, multinomial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import devices, random
from ...autograd.grad_mode import GRAD, no_grad, state
from ...autograd.node import Node, edge_of
from ...autograd.operations import operations
from ...core.layout import broadcast_shapes, layout_of
from ...core.types import float64
from ...tensors.tensor import Tensor
from ..batching.batches import is_batched
from ..batching.examples import drawn
from ..memory.copying import buffer_of, contiguous
from ..memory.overwriting import FilledNode, copy_
from ..pointwise.arithmetic import add, mul
from ..reductions.extremes import max as largest
from ..reductions.extremes import min as smallest
from ..reductions.searching import searchsorted
from ..shapes.broadcasting import expand
from ..table.checks import check, check_supported, check_type
from ..table.op import attach, public
from ..table.recording import node_class
from .factories import empty, finished
from .random_numbers import new_drawn, normal_, overwrite_drawn


class DrawBackward0(Node):
    """The node of random draws, which have zero gradients for their distribution's parameters."""

    __slots__ = ()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        shape, type = self.layout.shape, self.layout.type
        return tuple([None if edge is None else operations.zeros(shape, type) for edge in self.edges])


def with_zero_gradients(result: Tensor, node: type[DrawBackward0], *parameters: Any) -> Tensor:
    """Return the draws, with zero gradients for the tensors among the parameters of their distribution."""
    edges = tuple([edge_of(p) for p in parameters if isinstance(p, Tensor)]) if state.mode & GRAD else ()
    if any(edges):
        result._edge = (node(edges, result._layout), 0)
        result._requires_grad = True
    return result


#: The node classes, by whether mean and std are tensors.
_NORMAL_NODES = {
    tensors: node_class(f"NormalBackward{number}", DrawBackward0)
    for number, tensors in enumerate(((True, False), (False, True), (True, True)), 1)
}
_BernoulliBackward0 = node_class("BernoulliBackward0", DrawBackward0)
_BernoulliBackward1, _BernoulliBackward2 = [
    node_class(name, FilledNode) for name in ("BernoulliBackward1", "BernoulliBackward2")
]


@public(method=False, direct=True)
@drawn
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Sequence[int] | None = None, *,
    generator: random.Generator | None = None, **options: Any,
) -> Tensor:
    """Random numbers from normal distributions.

    Args:
        mean, std: tensors, one for each number, or a tensor and a number; two numbers require a ``size``.
        options: dtype, device and requires_grad, if a size is given.

    Raises:
        RuntimeError: a standard deviation is negative.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.normal(0.0, 1.0, (2,))
        tensor([ 1.5410, -0.2934])
    """
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    if not tensors:
        check_type(size is not None, "normal(): two numbers need the argument 'size'")
        requires_grad = options.pop("requires_grad", False)
        numbers = normal_(empty(size, **options), mean, std, generator=generator)
        numbers._counter[0] = 0
        return finished(numbers, requires_grad)
    for tensor in tensors:
        check_supported(tensor._layout, "f", "normal_kernel_cpu")
    if isinstance(std, Tensor):
        if std.numel() and float(smallest(std.detach())) < 0:
            raise RuntimeError(f"normal expects all elements of std >= 0.0 (shape {list(std.shape)})")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    shape, type = broadcast_shapes(*[t._layout.shape for t in tensors]), tensors[0]._layout.type
    source = random.given_or_default(generator, type.device)
    with no_grad():
        result = add(mul(new_drawn("normal", layout_of(type, shape), source, 0.0, 1.0), std), mean)
    return with_zero_gradients(result, _NORMAL_NODES[isinstance(mean, Tensor), isinstance(std, Tensor)], mean, std)


def _checked(probabilities: Tensor) -> Tensor:
    """Return the probabilities, detached and contiguous, in the dtype that is computed in.

    Raises:
        RuntimeError: one is not in [0, 1]; on a GPU the error is raised when a value is next read.
    """
    if not probabilities.is_floating_point():
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{probabilities.dtype.legacy}'")
    message = "Expected p_in >= 0 && p_in <= 1 to be true, but got false"
    probabilities = contiguous(probabilities.detach()).to(probabilities.dtype.compute)
    if probabilities._layout.type.backend.improbable(buffer_of(probabilities), message):
        raise RuntimeError(f"{message} (shape {list(probabilities.shape)})")
    return probabilities


@public
@drawn
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """Ones, each with the probability given by the element of ``input`` (or by ``p``), and zeros, of its dtype.

    Raises:
        RuntimeError: a probability is not in [0, 1]; on a GPU the error is raised when a value is next read.

    Example:
        >>> import numgrad
        >>> numgrad.bernoulli(numgrad.tensor([0.0, 1.0]))
        tensor([0., 1.])
    """
    type = input._layout.type
    source = random.given_or_default(generator, type.device)
    if p is None:
        probability: Any = _checked(input)
    else:
        _check_probability(p)
        probability = float(p)
    result = new_drawn("bernoulli", layout_of(type, input._layout.shape), source, probability, 1.0)
    return with_zero_gradients(result, _BernoulliBackward0, input)


def _check_probability(p: float) -> None:
    check(0 <= p <= 1, "bernoulli_ expects p to be in [0, 1], but got p={}", p)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill the tensor with ones, each with probability ``p`` (a number or a tensor that broadcasts), and zeros."""
    source = random.given_or_default(generator, self._layout.type.device)
    if isinstance(p, Tensor):
        if is_batched(p):
            return copy_(self, bernoulli(expand(p.detach(), self._layout.shape)))
        probability = _checked(expand(p, self._layout.shape))
        return overwrite_drawn(self, _BernoulliBackward1, "bernoulli", source, probability, 1.0)
    _check_probability(p)
    return overwrite_drawn(self, _BernoulliBackward2, "bernoulli", source, float(p), 1.0)


def kept_(self: Tensor, p: float) -> Tensor:
    """Fill a tensor on a GPU with ``1 / p``, with probability ``p``, and zeros: dropout's factors, in one kernel."""
    source = random.given_or_default(None, self._layout.type.device)
    return overwrite_drawn(self, _BernoulliBackward2, "bernoulli", source, p, 1 / p)


attach("bernoulli_", bernoulli_)


@public
@drawn
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to the rows of ``input`` (1-D or 2-D), as int64.

    Without replacement, or for one sample, each probability is divided by an exponential random number and the largest
    quotients win (Efraimidis and Spirakis 2006).  With replacement, uniform numbers are looked up in the cumulative
    sums.  The weights are checked at once, which synchronizes with a GPU.

    Raises:
        RuntimeError: the weights are not probabilities, or too few for ``num_samples`` without replacement.

    Example:
        >>> import numgrad
        >>> numgrad.multinomial(numgrad.tensor([0.0, 1.0]), 1)
        tensor([1])
    """
    check(input.is_floating_point(), "multinomial only supports floating-point dtypes for input, got: {}", input.dtype)
    layout = input._layout
    check(len(layout.shape) in (1, 2), "prob_dist must be 1 or 2 dim, not shape {}", input)
    check(num_samples > 0, "cannot sample n_sample <= 0 samples")
    check(
        replacement or num_samples <= layout.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement: {} of shape {}", num_samples, input,
    )
    weights = contiguous(input.detach()).reshape(-1, layout.shape[-1])
    count, size = weights._layout.shape
    if weights._layout.size:
        if not (float(smallest(weights)) >= 0 and float(largest(weights)) < math.inf):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        check(float(smallest(weights.sum(1))) > 0, "invalid multinomial distribution (sum of probabilities <= 0)")
    source = random.given_or_default(generator, layout.type.device)
    if replacement and num_samples > 1:
        sums = weights.cumsum(1)
        devices.check_countable((*layout.shape[:-1], num_samples), float64.numpy)
        drawn_layout = layout_of(layout.type.with_dtype(float64), (*layout.shape[:-1], num_samples))
        drawn = new_drawn("uniform", drawn_layout, source, 0.0, 1.0).reshape(count, num_samples)
        picked = searchsorted((sums / sums[:, -1:]).double(), drawn)
    else:
        rates = new_drawn("exponential", layout_of(layout.type, (count, size)), source, 1.0)
        scores = weights / rates
        picked = scores.argmax(1, True) if num_samples == 1 else scores.sort(1, True, stable=True)[1][:, :num_samples]
    return contiguous(picked.reshape(*layout.shape[:-1], num_samples))
