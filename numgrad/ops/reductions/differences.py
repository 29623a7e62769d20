"""The numerical gradient of values on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.layout import normal_dim
from ...core.types import uint8
from ...tensors.tensor import Tensor
from ..pointwise.arithmetic import div, mul
from ..shapes.joining import cat
from ..shapes.parts import narrow
from ..shapes.views import reshape
from ..table.checks import check
from ..table.op import composite
from ..table.public_signatures import Several


@composite(method=False)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> Several:
    """Estimate the derivatives of the function of which ``input`` has the values on a grid, along some dimensions.

    Inside, they are second-order central differences, which Fornberg (1988) gives for uneven grids; at the edges, they
    are one-sided differences.

    Args:
        input: real or complex values, with at least ``edge_order + 1`` points along each dimension in question.
        spacing: the distance of neighbours, 1 by default; or one for each dimension; or for each dimension a vector of
            coordinates.
        dim: the dimensions; all by default.
        edge_order: 1 or 2, the order of accuracy at the edges.

    Returns:
        A tuple of tensors of the shape of ``input``, one for each dimension.

    Raises:
        RuntimeError: the arguments do not fit together, or a dimension has too few points.
        IndexError: a dimension is out of range.

    Example:
        >>> import numgrad
        >>> numgrad.gradient(numgrad.tensor([0.0, 1.0, 4.0, 9.0]), spacing=0.5)
        (tensor([ 2.,  4.,  8., 10.]),)
    """
    shape, spacing = input._layout.shape, 1 if spacing is None else spacing
    several = not isinstance(spacing, Tensor) and isinstance(spacing, Sequence)
    if dim is None and several:
        dim = range(len(spacing))
    named = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [normal_dim(number, len(shape)) for number in named]
    check(len(set(dims)) == len(dims), "a dim appears multiple times in the list of dims {}", tuple(dims))
    check(edge_order in (1, 2), "gradient() only supports edge_order=1 and edge_order=2, not {}", edge_order)
    check(input.dtype is not uint8, "gradient() does not support uint8 input.")
    if several and len(spacing) != len(dims):
        raise RuntimeError(
            f"gradient() expected spacing to be unspecified, a scalar, or of the length of dim, but got {len(spacing)} "
            f"spacings for {len(dims)} dimensions"
        )
    for number in dims:
        check(
            shape[number] > edge_order,
            "gradient() expected each dimension size to be at least edge_order+1 (dimension {}, edge_order {})",
            number, edge_order, input,
        )
    spacings = spacing if several else [spacing] * len(dims)
    return tuple([_slope(input, number, apart, edge_order) for number, apart in zip(dims, spacings, strict=True)])


def _slope(input: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """Return the derivative along one dimension, given the distance of neighbours or a vector of coordinates."""
    extent = input._layout.shape[dim]
    if isinstance(spacing, Tensor) and spacing._layout.shape:
        check(
            len(spacing._layout.shape) == 1,
            "gradient() expected each element of spacing to have one dimension, but got an element with {} "
            "dimensions!", len(spacing._layout.shape),
        )
        check(
            spacing._layout.size == extent,
            "gradient() expected the size of each element of spacing to match the size of dimension {}", dim, spacing,
            input,
        )
        steps: Any = narrow(spacing, 0, 1, extent - 1) - narrow(spacing, 0, 0, extent - 1)
    else:
        steps = None
    ones = (1,) * (len(input._layout.shape) - dim - 1)

    def values(start: int, count: int = 1) -> Tensor:
        return narrow(input, dim, start, count)

    def step(start: int, count: int = 1) -> Any:
        """Return the distances of neighbours, in the input's dimension."""
        return spacing if steps is None else reshape(narrow(steps, 0, start, count), (count, *ones))

    def edge(at: int, inwards: int) -> Tensor:
        near = step(min(at, at + inwards))
        if edge_order == 1:
            return inwards * div(values(at + inwards) - values(at), near)
        far = step(min(at + inwards, at + 2 * inwards))
        weights = -(2 * near + far) / (near * (near + far)), (near + far) / (near * far), -near / (far * (near + far))
        return inwards * sum([mul(values(at + inwards * n), weight) for n, weight in enumerate(weights)])

    first, last = edge(0, 1), edge(extent - 1, -1)
    if extent == 2:
        return cat([first, last], dim)
    inside = extent - 2
    if steps is None:
        central = div(values(2, inside) - values(0, inside), 2 * spacing)
    else:
        left, right = step(0, inside), step(1, inside)
        central = (
            mul(values(0, inside), -right / (left * (left + right)))
            + mul(values(1, inside), (right - left) / (left * right))
            + mul(values(2, inside), left / (right * (left + right)))
        )
    return cat([first, central, last], dim)
