"""Covariances and correlations of variables, each with several observations."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.types import bool_
from ...tensors.tensor import Tensor
from ..matrices.matmul import matmul
from ..pointwise.arithmetic import div
from ..pointwise.complexes import complex_op, imag, real
from ..shapes.diagonals import diagonal
from ..shapes.dimensions import squeeze
from ..shapes.views import reshape
from ..table.checks import check
from ..table.op import composite


@composite
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of all pairs of variables: ``sum(w * (x - mean(x)) * conj(y - mean(y))) / divisor``.

    The divisor is the sum of the weights, less ``correction`` times the weighted mean of ``aweights``.

    Args:
        input: of shape (variables, observations), or (observations,) for a single variable.
        correction: 1 for an unbiased estimate, 0 for the mean.
        fweights: of shape (observations,), integers: the frequency of each observation.
        aweights: of that shape, floating-point numbers: the importance of each observation.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or weights are negative or sum to 0.

    Example:
        >>> import numgrad
        >>> numgrad.cov(numgrad.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    shape = input._layout.shape
    check(
        len(shape) <= 2,
        "cov(): expected input to have two or fewer dimensions but got an input with {} dimensions", len(shape), shape,
    )
    check(input.dtype is not bool_, "cov(): bool dtype is not supported for input")
    rows = input if len(shape) == 2 else reshape(input, (1, -1))
    count = rows._layout.shape[1]
    for name, factors in (("fweights", fweights), ("aweights", aweights)):
        if factors is not None:
            _check_weights(name, factors, count)
    weights: Any = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    total: Any = count if weights is None else weights.sum()
    check(weights is None or total != 0, "cov(): weights sum to zero, can't be normalized")
    divisor = total - correction
    if aweights is not None and correction:
        divisor = total - correction * ((weights * aweights).sum() / total)
    if divisor <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            stacklevel=2,
        )
        divisor = 0
    weighted = rows if weights is None else rows * weights
    mean = div(weighted.sum(1, keepdim=True), total)
    apart = rows - mean
    products = matmul(apart, (apart if weights is None else apart * weights).mH)
    return squeeze(div(products, divisor))


def _check_weights(name: str, weights: Tensor, count: int) -> None:
    dtype, shape = weights.dtype, weights._layout.shape
    integral = not (dtype.is_floating_point or dtype.is_complex)
    check(
        len(shape) <= 1,
        "cov(): expected {} to have one or fewer dimensions but got {} with {} dimensions", name, name, len(shape),
    )
    if integral is not (name == "fweights"):
        kind = "integral" if name == "fweights" else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {dtype.legacy} dtype")
    check(
        weights.numel() == count,
        "cov(): expected {} to have the same numel as there are observations in the input but got {} != {}",
        name, weights.numel(), count,
    )
    check(not bool((weights < 0).any()), "cov(): {} cannot be negative", name)


@composite
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlations: the covariances divided by the two standard deviations, from -1 to 1.

    Args:
        input: of shape (variables, observations), or (observations,) for the correlation of a variable with itself.

    Raises:
        RuntimeError: the input has more than two dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.corrcoef(numgrad.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    shape = input._layout.shape
    check(
        len(shape) <= 2,
        "corrcoef(): expected input to have two or fewer dimensions but got an input with {} dimensions",
        len(shape), shape,
    )
    products = cov(input)
    if not products._layout.shape:
        return products / products
    variances = diagonal(products)
    deviations = (real(variances) if products.is_complex() else variances).sqrt()
    out = products / deviations[:, None] / deviations
    if not out.is_complex():
        return out.clamp(-1, 1)
    return complex_op(real(out).clamp(-1, 1), imag(out).clamp(-1, 1))
