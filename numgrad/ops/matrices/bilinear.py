"""The bilinear layer: a matrix product of outer products."""

from __future__ import annotations

from ...core.layout import Layout
from ...tensors.tensor import Tensor, check_one_device
from ..pointwise.arithmetic import add, mul
from ..shapes.dimensions import t, unsqueeze
from ..shapes.views import reshape, view_as_shape
from ..table.autocasting import autocasting
from ..table.checks import check, check_index
from ..table.op import composite
from .products import mm


@composite(method=False)
@autocasting
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``out[..., k] = sum over i, j of input1[..., i] * weight[k, i, j] * input2[..., j] + bias[k]``.

    Args:
        input1, input2: of shapes (..., n) and (..., m).
        weight: of shape (k, n, m).
        bias: of shape (k); None stands for 0.

    Returns:
        A tensor of shape (..., k).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        IndexError: the weight does not have three dimensions, or an input is 0-d.
        NotImplementedError: the operands are bool.
    """
    _check(input1._layout, input2._layout, weight._layout, None if bias is None else bias._layout)
    count, rows, columns = weight._layout.shape
    products = mul(unsqueeze(input1, -1), unsqueeze(input2, -2))
    flat = reshape(products, (products._layout.size // (rows * columns or 1), rows * columns))
    out = view_as_shape(mm(flat, t(reshape(weight, (count, rows * columns)))), (*input1._layout.shape[:-1], count))
    return out if bias is None else add(out, bias)


def _check(input1: Layout, input2: Layout, weight: Layout, bias: Layout | None) -> None:
    """Raise unless the shapes fit and the dtypes are equal."""
    tensors_by_name = {"input1": input1, "input2": input2, "weight": weight}
    if bias is not None:
        tensors_by_name["bias"] = bias
    tensors = tensors_by_name.values()
    check_one_device(*tensors)
    dtypes = ", ".join([f"{name}: {layout.type.dtype.legacy.lower()}" for name, layout in tensors_by_name.items()])
    same = all(layout.type is input1.type for layout in tensors)
    check(same, "All tensors must have the same dtype, got {}", dtypes, *tensors)
    first, second = len(input1.shape), len(input2.shape)
    check(first == second, "bilinear(): input dimensions do not match: got {} and {}", first, second, *tensors)
    for dim, (m, n) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        check(m == n, "bilinear(): input batch dimensions do not match at dim {}: got {} and {}", dim, m, n, *tensors)
    check_index(
        len(weight.shape) == 3 and first,
        "bilinear(): expected inputs of at least one dimension and a weight of three dimensions", *tensors,
    )
    for name, factor, size in (("input1", input1, weight.shape[1]), ("input2", input2, weight.shape[2])):
        check(
            factor.shape[-1] == size, "bilinear(): {} size does not match weight size: got {} but expected {}",
            name, factor.shape[-1], size, *tensors,
        )
    check(
        bias is None or bias.shape[:1] == weight.shape[:1],
        "bilinear(): bias size does not match weight size: got {} but expected {}",
        bias.shape[0] if bias is not None and bias.shape else "no dimension", weight.shape[0], *tensors,
    )
