"""Dropout: elements, or whole channels, set to 0 at random, the others scaled to keep the mean."""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels import scalar

from ... import random
from ...autograd.grad_mode import LEVELS, state
from ...core.types import bool_
from ...tensors.tensor import Tensor
from ..batching.physical import like_examples
from ..creation.distributions import bernoulli_, kept_
from ..creation.factories import empty, empty_like, zeros
from ..memory.copying import buffer_of
from ..memory.overwriting import FilledNode, OverwriteCall
from ..pointwise.arithmetic import add, div, mul
from ..table.checks import check, not_implemented
from ..table.declaring import pointwise
from ..table.op import named, public
from ..table.recording import begin, finish

#: The negated limit of the SELU activation at minus infinity.
_ALPHA = 1.7580993408473766


def _channels(input: Tensor) -> Tensor:
    """Return a tensor of one element for each channel of each example."""
    shape = input._layout.shape
    check(len(shape) >= 2, "Feature dropout requires at least 2 dimensions in the input, not {}", len(shape))
    return like_examples(input, empty((*shape[:2], *[1] * (len(shape) - 2)), dtype=input.dtype, device=input.device))


def _dropped(
    input: Tensor, p: float, train: bool, *, inplace: bool, feature: bool = False, alpha: bool = False
) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or not input._layout.size:
        return input
    if input.is_complex():
        raise not_implemented("bernoulli_scalar_cpu_", input._layout)
    if not input.is_floating_point():
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype.legacy} "
            f"(shape {list(input.shape)})"
        )
    times = mul.inplace if inplace else mul
    if p == 1:
        return times(input, zeros((), dtype=input.dtype, device=input.device))
    on_gpu = input.device.type == "cuda"
    if on_gpu and input._layout.contiguous and not (inplace or feature or alpha or state.mode & LEVELS):
        return _native(input, 1 - p)
    drawn = _channels(input) if feature else empty_like(input)
    if not alpha:
        return times(input, kept_(drawn, 1 - p) if on_gpu else div(bernoulli_(drawn, 1 - p), 1 - p))
    kept = bernoulli_(drawn, 1 - p)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = add(mul(add(kept, -1), _ALPHA * scale), _ALPHA * scale * p)
    return (add.inplace if inplace else add)(times(input, mul(kept, scale)), shift)


@pointwise(
    "NativeDropoutBackward0", dtypes="f", nondifferentiable=["mask", "scale"], conditions=["mask"], export=False,
    inplace=False,
)
def native_dropout(input, mask, scale):
    """``input`` times ``scale`` where ``mask`` holds, times 0 elsewhere."""
    return input * scalar.where(mask, scale, 0)


@native_dropout.gradient("input")
def _(grad, mask, scale):
    return native_dropout(grad, mask, scale)


def _native(input: Tensor, kept: float) -> Tensor:
    """Return dropout of a tensor on a GPU: one kernel draws, multiplies, and stores a mask of bytes."""
    out, mask = empty_like(input), empty_like(input, dtype=bool_)
    source = random.given_or_default(None, input.device)

    def write(target: Tensor) -> None:
        source.drop(buffer_of(input), buffer_of(target), buffer_of(mask), kept)

    OverwriteCall("native_dropout", write, FilledNode, out, draws=True).run()
    out._counter[0] = 0
    entry, operands = native_dropout.op.entry((input, mask, 1 / kept), native_dropout.op.attributes)
    recorded = begin(entry, operands)
    if recorded is not None:
        finish(recorded, out)
    return out


def _forms(name: str, doc: str, **options: bool) -> tuple[Any, Any]:
    """Return the public function ``name`` and its in-place form."""

    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        return _dropped(input, p, train, inplace=False, **options)

    def drop_(input: Tensor, p: float, train: bool) -> Tensor:
        return _dropped(input, p, train, inplace=True, **options)

    in_place = named(drop_, f"{name}_", f":func:`{name}` in place.")
    return public(named(drop, name, doc), method=False), public(in_place, method=False)


dropout, dropout_ = _forms(
    "dropout",
    """Each element, while training, 0 with probability ``p`` and divided by ``1 - p`` otherwise.

    Args:
        input: floating-point numbers, of any shape.
        p: the probability of 0, in [0, 1].
        train: if not, the input itself is returned.

    Raises:
        RuntimeError: ``p`` is not a probability, or the input is of integers or bools.
        NotImplementedError: the input is of complex numbers.
    """,
)
feature_dropout, feature_dropout_ = _forms(
    "feature_dropout", ":func:`dropout` of whole channels: all of ``input[n, c]`` together.", feature=True
)
alpha_dropout, alpha_dropout_ = _forms(
    "alpha_dropout",
    """Dropout for self-normalizing networks: dropped elements become the activation's limit, not 0.

    The result is scaled and shifted to keep mean 0 and variance 1. Arguments and errors are those of :func:`dropout`.
    """,
    alpha=True,
)
feature_alpha_dropout, feature_alpha_dropout_ = _forms(
    "feature_alpha_dropout", ":func:`alpha_dropout` of whole channels: all of ``input[n, c]`` together.", feature=True,
    alpha=True,
)
