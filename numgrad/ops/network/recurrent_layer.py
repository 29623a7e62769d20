"""A layer of a recurrent network over all steps, in one direction, and its gradients, as one operation each.

The inputs of all steps are multiplied at once; then a kernel goes through the steps.  On a device without such a
kernel, other operations compute the steps, as they do for second derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...autograd.grad_mode import no_grad
from ...core.layout import layout_of
from ...devices import Given, Plan, TensorRef
from ...tensors.tensor import Tensor
from ..composition import differentiated_as, gradients_through
from ..matrices.matmul import linear
from ..matrices.products import multiplied
from ..memory.copying import contiguous_op
from ..pointwise.arithmetic import add
from ..reductions.sums import sum_dims
from ..shapes.joining import stack, unbind_op
from ..shapes.splitting import split_sizes_op
from ..table.checks import check, check_supported
from ..table.lookup import operation
from .recurrence import GATES, steps_composed


class _Sizes(NamedTuple):
    """The sizes and options of a layer that its kernel takes."""

    type: Any
    kind: str
    steps: int
    examples: int
    rows: int
    size: int
    gates: int
    backwards: bool


def _sizes(input: TensorRef, begin: TensorRef, sizes: TensorRef | None, kind: str, backwards: bool) -> _Sizes:
    """Return the sizes of a layer; an input without ``sizes`` has the shape (steps, examples, features)."""
    (_, examples, size), steps = begin.shape, input.shape[0] if sizes is None else sizes.shape[0]
    rows = input.shape[0] if sizes is not None else steps * examples
    return _Sizes(input.type, kind, steps, examples, rows, size, GATES[kind] * size, backwards)


def _check(
    sizes: _Sizes, input: TensorRef, begin: TensorRef, weight: TensorRef, weight_hh: TensorRef, bias: TensorRef | None,
    bias_hh: TensorRef | None,
) -> None:
    """Raise unless all tensors have one floating-point or complex dtype, and the shapes fit.

    Raises:
        RuntimeError: the dtypes differ, or the shapes do not fit.
        NotImplementedError: the dtype is an integer one or bool.
    """
    check_supported(input, "fc", sizes.kind)
    for tensor in (begin, weight, weight_hh, bias, bias_hh):
        if tensor is not None and tensor.type is not input.type:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {input.type.dtype.legacy} and "
                f"{tensor.type.dtype.legacy} (input {list(input.shape)}, {list(tensor.shape)})"
            )
    features = input.shape[-1]
    if weight.shape != (sizes.gates, features):
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({sizes.rows}x{features} and "
            f"{'x'.join(map(str, weight.shape[::-1]))}): the weight of the input must have the shape "
            f"{[sizes.gates, features]}"
        )
    check(
        weight_hh.shape == (sizes.gates, sizes.size),
        "the weight of the hidden state must have the shape {}, not {}", [sizes.gates, sizes.size], weight_hh,
    )
    for b in (bias, bias_hh):
        check(b is None or b.shape == (sizes.gates,), "a bias must have the shape {}, not {}", [sizes.gates], b)
    check(
        len(input.shape) != 3 or input.shape[1] == sizes.examples,
        "the state must have an example for each of the input's: input {}, state {}", input, begin,
    )


@operation(
    "MkldnnRnnLayerBackward0", aten="mkldnn_rnn_layer",
    inputs=["input", "begin", "weight", "weight_hh", "bias", "bias_hh", "sizes"], nondifferentiable=["sizes"],
    outputs=["out", "end"], extras=["gates", "extra"], joint=True, anywhere=["sizes"],
)
def recurrent_layer(
    p: Plan, input: TensorRef, begin: TensorRef, weight: TensorRef, weight_hh: TensorRef, bias: TensorRef | None,
    bias_hh: TensorRef | None, sizes: TensorRef | None, kind: str, backwards: bool,
) -> tuple[TensorRef, ...]:
    """Add the steps that compute all hidden states, the final state, and the gates and further data for gradients.

    Args:
        input: of shape (steps, examples, features), or packed, of shape (rows, features).
        begin: the initial state, of shape (1, examples, size), or for an LSTM (2, examples, size): hidden and cell
            state.
        weight, weight_hh: of the input and of the hidden state, (gates, features) and (gates, size).
        bias, bias_hh: added to the respective products; both or none.
        sizes: the number of examples in each step of a packed input, int64; the caller checks them.
        kind: a key of ``recurrence.STEPS``.
        backwards: True to go from the last step to the first.
    """
    layer = _sizes(input, begin, sizes, kind, backwards)
    _check(layer, input, begin, weight, weight_hh, bias, bias_hh)
    type, backend = layer.type, p.backend
    layouts = layout_of(type, (*input.shape[:-1], layer.size)), layout_of(type, begin.shape)
    if not (layer.rows and layer.size and backend.recurrence_is_fused(type)):
        operands = _as_given(input, begin, weight, weight_hh, bias, bias_hh, sizes)
        none = layout_of(type, (0,))
        return *p.host(_by_operations, layouts, *operands, kind, backwards), p.new_tensor(none), p.new_tensor(none)
    if bias is not None and bias_hh is not None and kind != "gru":  # the steps add both at once
        bias, bias_hh = None, add.op.build(p, bias, bias_hh)
    added, other = [None if tensor is None else p.contiguous(tensor) for tensor in (bias, bias_hh)]
    rows = p.tensor(p.contiguous(input), type, (layer.rows, input.shape[-1]))
    gates = multiplied(p, rows, weight, (False, True), added)
    extra = p.new_tensor(layout_of(type, (layer.rows, layer.size if kind in ("lstm", "gru") else 0)))
    out, end = [p.new_tensor(layout) for layout in layouts]
    p.assign(begin, end)
    backend.recurrence(p, *layer[1:], sizes, weight_hh, other, *map(p.contiguous, (gates, extra, end, out)))
    return out, end, gates, extra


def _as_given(*tensors: TensorRef | None) -> list[Given | None]:
    """Return references to the operands of the call, as arguments of a host function that computes with tensors."""
    return [None if tensor is None else Given(tensor.memory.number) for tensor in tensors]


def _by_operations(*arguments: Any) -> list[Any]:
    """Return the storage of the result and of the state, computed by other operations."""
    with no_grad():
        return [contiguous_op.function(tensor)._storage for tensor in steps_of_layer(*arguments)]


def steps_of_layer(
    input: Tensor, begin: Tensor, weight: Tensor, weight_hh: Tensor, bias: Tensor | None, bias_hh: Tensor | None,
    sizes: Tensor | None, kind: str, backwards: bool,
) -> tuple[Tensor, Tensor]:
    """Return the hidden states and the final state of the layer, computed by other operations."""
    gates = linear(input, weight, bias)
    each = unbind_op(gates, 0) if sizes is None else split_sizes_op(gates, tuple(sizes.tolist()), 0)
    weights = weight_hh, bias_hh, None
    out, *end = steps_composed(kind, each, unbind_op(begin, 0), weights, backwards, sizes is not None)
    return out, stack(end)


@recurrent_layer.gradient("input", "begin", "weight", "weight_hh", "bias", "bias_hh")
def _(
    grad, input, begin, weight, weight_hh, bias, bias_hh, sizes, out, gates, extra, needed, kind, backwards
):  # fmt: skip
    """``S, first = through_the_steps(grad, gates, weight_hh); (S @ weight, first, transpose(S) @ input,
    transpose(S) @ hidden, sum(S), sum(S))``.
    """
    gradients = recurrent_layer_backward(
        *grad, input, begin, weight, weight_hh, bias, bias_hh, sizes, out, gates, extra, kind, backwards, needed
    )
    return [tensor if is_needed else None for tensor, is_needed in zip(gradients, needed, strict=True)]


_GRADIENTS = ["of_input", "of_begin", "of_weight", "of_weight_hh", "of_bias", "of_bias_hh"]


@operation(
    "MkldnnRnnLayerBackwardBackward0", aten="mkldnn_rnn_layer_backward",
    inputs=[
        "grad_out", "grad_end", "input", "begin", "weight", "weight_hh", "bias", "bias_hh", "sizes", "out", "gates",
        "extra",
    ],
    nondifferentiable=["sizes", "out", "gates", "extra"], outputs=_GRADIENTS, anywhere=["sizes"], mixed=True,
)
def recurrent_layer_backward(
    p: Plan, grad_out: TensorRef | None, grad_end: TensorRef | None, input: TensorRef, begin: TensorRef,
    weight: TensorRef, weight_hh: TensorRef, bias: TensorRef | None, bias_hh: TensorRef | None,
    sizes: TensorRef | None, out: TensorRef, gates: TensorRef, extra: TensorRef, kind: str, backwards: bool,
    output_mask: tuple[bool, ...],
) -> Sequence[TensorRef]:
    """Add the steps that compute the gradients of the layer's inputs; ``output_mask`` is False for empty tensors.

    The rule accounts for the layer's results being functions of these inputs.
    """
    layer, type = _sizes(input, begin, sizes, kind, backwards), input.type
    _check(layer, input, begin, weight, weight_hh, bias, bias_hh)
    if gates.shape == (0,):
        shapes = input.shape, begin.shape, weight.shape, weight_hh.shape, (layer.gates,), (layer.gates,)
        layouts = [layout_of(type, shape if used else (0,)) for shape, used in zip(shapes, output_mask, strict=True)]
        operands = _as_given(grad_out, grad_end, input, begin, weight, weight_hh, bias, bias_hh, sizes)
        return p.host(_gradients_by_operations, layouts, *operands, kind, backwards, output_mask)
    grads = p.new_tensor(layout_of(type, begin.shape), zeroed=grad_end is None)
    if grad_end is not None:
        p.assign(grad_end, grads)
    grad = p.new(out.size, type.numpy, zeroed=True) if grad_out is None else p.contiguous(grad_out)
    forward = [p.contiguous(tensor) for tensor in (begin, gates, extra, out)]
    buffers = p.backend.recurrence_backward(p, *layer[1:], sizes, weight_hh, *forward, grad, p.contiguous(grads))
    widths = layer.gates, layer.gates, layer.size
    slopes, shares, before = [p.tensor(x, type, (layer.rows, n)) for x, n in zip(buffers, widths, strict=True)]
    result = [p.new_tensor(layout_of(type, (0,))) for _ in output_mask]
    if output_mask[1]:
        result[1] = grads
    if output_mask[0]:
        result[0] = p.tensor(p.contiguous(multiplied(p, slopes, weight)), type, input.shape)
    if output_mask[2]:
        rows = p.tensor(p.contiguous(input), type, (layer.rows, input.shape[-1]))
        result[2] = multiplied(p, slopes, rows, (True, False))
    if output_mask[3]:
        result[3] = multiplied(p, shares, before, (True, False))
    if output_mask[4]:
        result[4] = sum_dims.build(p, slopes, (0,), False)
    if output_mask[5] and output_mask[4] and kind != "gru":
        result[5] = p.new_tensor(result[4].layout)
        p.assign(result[4], result[5])
    elif output_mask[5]:
        result[5] = sum_dims.build(p, shares, (0,), False)
    return result


def _gradients_by_operations(*arguments: Any) -> list[Any]:
    """Return the storage of each gradient, computed by other operations."""
    with no_grad():
        return [contiguous_op.function(gradient)._storage for gradient in _gradients(*arguments)]


@differentiated_as(recurrent_layer_backward)
def _gradients(
    grad_out: Tensor | None, grad_end: Tensor | None, input: Tensor, begin: Tensor, weight: Tensor, weight_hh: Tensor,
    bias: Tensor | None, bias_hh: Tensor | None, sizes: Tensor | None, kind: str, backwards: bool,
    output_mask: tuple[bool, ...],
) -> list[Tensor]:
    """Return the gradients of the inputs, from autograd through the single steps."""
    nothing = input.new_empty(0)
    gradients = gradients_through(
        lambda *given: steps_of_layer(*(*given, sizes, kind, backwards)),
        (input, begin, weight, weight_hh, bias, bias_hh), (grad_out, grad_end), output_mask,
    )  # fmt: skip
    return [nothing if gradient is None else gradient for gradient in gradients]
