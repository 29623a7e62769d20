"""A layer of a recurrent network over all steps, in one direction: one operation, and its gradients another.

The inputs of all steps are multiplied at once; then a kernel goes through the steps.  Where the device has none, the
steps are done by other operations, as they are to be differentiated a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...autograd.backward import grad as gradients_of
from ...autograd.grad_mode import no_grad, recording_apart
from ...core.layout import Layout, layout_of
from ...core.tensor import Tensor, tensor_of
from ...devices import Plan
from ..matrices.matmul import linear
from ..matrices.products import multiplied, turned_plan
from ..memory.copying import contiguous_op, copier, row_reader
from ..pointwise.arithmetic import add
from ..reductions.axes import Prepared, axis_launcher
from ..shapes.joining import stack, unbind_op
from ..shapes.splitting import split_sizes_op
from ..table.composition import as_variable, differentiated_as
from ..table.operands import not_implemented
from ..table.planned import planned
from .recurrence import GATES, steps_composed


class _Sizes(NamedTuple):
    """What a layer's kernel asks for."""

    type: Any
    kind: str
    steps: int
    examples: int
    rows: int
    size: int
    gates: int
    backwards: bool


def _sizes(input: Layout, begin: Layout, sizes: Layout | None, kind: str, backwards: bool) -> _Sizes:
    """The sizes of a layer: an input without ``sizes`` has the shape (steps, examples, features)."""
    (_, examples, size), steps = begin.shape, input.shape[0] if sizes is None else sizes.shape[0]
    rows = input.shape[0] if sizes is not None else steps * examples
    return _Sizes(input.type, kind, steps, examples, rows, size, GATES[kind] * size, backwards)


def _check(
    own: _Sizes, input: Layout, begin: Layout, weight: Layout, weight_hh: Layout, bias: Layout | None,
    bias_hh: Layout | None,
) -> None:
    """Raise unless all have one dtype, of floating-point or complex numbers, and the shapes fit.

    Raises:
        RuntimeError: they do not.
        NotImplementedError: the dtype is one of integers or bools.
    """
    if not (input.type.dtype.is_floating_point or input.type.dtype.is_complex):
        raise not_implemented(own.kind, input)
    for one in (begin, weight, weight_hh, bias, bias_hh):
        if one is not None and one.type is not input.type:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {input.type.dtype.legacy} and "
                f"{one.type.dtype.legacy} (input {list(input.shape)}, {list(one.shape)})"
            )
    features = input.shape[-1]
    if weight.shape != (own.gates, features):
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({own.rows}x{features} and "
            f"{'x'.join(map(str, weight.shape[::-1]))}): the weight of the input must have the shape "
            f"{[own.gates, features]}"
        )
    if weight_hh.shape != (own.gates, own.size):
        raise RuntimeError(
            f"the weight of the hidden state must have the shape {[own.gates, own.size]}, not {list(weight_hh.shape)}"
        )
    for one in (bias, bias_hh):
        if one is not None and one.shape != (own.gates,):
            raise RuntimeError(f"a bias must have the shape {[own.gates]}, not {list(one.shape)}")
    if len(input.shape) == 3 and input.shape[1] != own.examples:
        raise RuntimeError(
            f"the state must have an example for each of the input's: input {list(input.shape)}, state "
            f"{list(begin.shape)}"
        )


def _each_step(own: _Sizes, sizes: Layout | None) -> Callable[[Any], Any]:
    """What gives how many examples each step has, as a row, of the tensor that says so, or None."""
    if sizes is not None:
        return row_reader(sizes)
    all_of_them = np.full(own.steps, own.examples, np.int64)
    return lambda nothing: all_of_them


@planned(
    "MkldnnRnnLayerBackward0", aten="mkldnn_rnn_layer",
    inputs=["input", "begin", "weight", "weight_hh", "bias", "bias_hh", "sizes"], nondifferentiable=["sizes"],
    outputs=["out", "end"], extras=["gates", "beside"], joint=True, anywhere=["sizes"],
)
def recurrent_layer(
    input: Layout, begin: Layout, weight: Layout, weight_hh: Layout, bias: Layout | None, bias_hh: Layout | None,
    sizes: Layout | None, kind: str, backwards: bool,
) -> Prepared:
    """The hidden states in all steps, and the state after the last one; for the gradients the gates, and what else.

    Args:
        input: of shape (steps, examples, features), or packed, of shape (rows, features).
        begin: that before the first step, of shape (1, examples, size), or for an LSTM (2, examples, size): the hidden
            state and that of the cells.
        weight, weight_hh: of the input and of the hidden state, (gates, features) and (gates, size).
        bias, bias_hh: added to the products of either; both or none.
        sizes: how many examples each step of a packed input has, int64; whoever calls sees to it that they fit.
        kind: a key of ``recurrence.STEPS``.
        backwards: whether the last step is done first.
    """
    own = _sizes(input, begin, sizes, kind, backwards)
    _check(own, input, begin, weight, weight_hh, bias, bias_hh)
    outer = input.shape[:-1]
    out, end = layout_of(input.type, (*outer, own.size)), layout_of(input.type, begin.shape)
    run = own.type.backend.recurrence_launcher(*own) if own.rows and own.size else None
    if run is None:
        none = layout_of(input.type, (0,))
        return (out, end, none, none), _by_operations(kind, backwards, none)
    gates = layout_of(input.type, (own.rows, own.gates))
    beside = layout_of(input.type, (own.rows, own.size if kind in ("lstm", "gru") else 0))
    rows = layout_of(input.type, (own.rows, input.shape[-1]))
    reads = [row_reader(each) for each in (input, weight_hh, bias, bias_hh)]
    total = None  # of the biases, if they may be added at once: in the steps, which go through the gates anyway
    if bias is not None and bias_hh is not None and kind != "gru":
        total = add.op.launcher([bias, bias_hh], layout_of(input.type, (own.gates,)))
    p = Plan(own.type.backend, own.type.device.index)
    biased = (own.gates,) if bias is not None and total is None else ()
    factors = p.operand(rows), p.operand(weight)
    row = p.contiguous(p.operand(layout_of(input.type, biased))) if biased else None
    multiply = p.returns(multiplied(p, *factors, (False, True), row)).launcher()
    start, each_step = copier(begin, end), _each_step(own, sizes)
    new, new_beside = [own.type.backend.memory_launcher(one, False) for one in (out, beside)]

    def launch(input: Tensor, begin: Tensor, weight: Tensor, *given: Tensor | None) -> tuple[Any, ...]:
        weight_hh, bias, bias_hh, sizes = given
        inputs, own_weight, own_bias, other_bias = [
            read(one) for read, one in zip(reads, (input, weight_hh, bias, bias_hh), strict=True)
        ]
        if total is not None:
            own_bias, other_bias = None, total(bias, bias_hh)
        added = () if own_bias is None else (tensor_of(layout_of(own.type, (own.gates,)), own_bias),)
        gate_rows = multiply(tensor_of(rows, inputs), weight, *added)
        found = new(), start(begin), gate_rows, new_beside()
        run(each_step(sizes), own_weight, other_bias, gate_rows, found[3], found[1], found[0])
        return found

    return (out, end, gates, beside), launch


def _by_operations(kind: str, backwards: bool, none: Layout) -> Callable[..., tuple[Any, ...]]:
    new = none.type.backend.memory_launcher(none, False)

    def launch(*tensors: Any) -> tuple[Any, ...]:
        with no_grad():
            found = steps_of_layer(*[*tensors, kind, backwards])
            return *[contiguous_op.function(one)._storage for one in found], new(), new()

    return launch


def steps_of_layer(
    input: Tensor, begin: Tensor, weight: Tensor, weight_hh: Tensor, bias: Tensor | None, bias_hh: Tensor | None,
    sizes: Tensor | None, kind: str, backwards: bool,
) -> tuple[Tensor, Tensor]:
    """The layer by other operations."""
    gates = linear(input, weight, bias)
    each = unbind_op(gates, 0) if sizes is None else split_sizes_op(gates, tuple(sizes.tolist()), 0)
    weights = weight_hh, bias_hh, None
    out, *end = steps_composed(kind, each, unbind_op(begin, 0), weights, backwards, sizes is not None)
    return out, stack(end)


@recurrent_layer.gradient("input", "begin", "weight", "weight_hh", "bias", "bias_hh")
def _(
    grad, input, begin, weight, weight_hh, bias, bias_hh, sizes, out, gates, beside, needed, kind, backwards
):  # fmt: skip
    """``S, first = through_the_steps(grad, gates, weight_hh); (S @ weight, first, transpose(S) @ input,
    transpose(S) @ hidden, sum(S), sum(S))``.
    """
    found = recurrent_layer_backward(
        *grad, input, begin, weight, weight_hh, bias, bias_hh, sizes, out, gates, beside, kind, backwards, needed
    )
    return [one if is_needed else None for one, is_needed in zip(found, needed, strict=True)]


_GRADIENTS = ["of_input", "of_begin", "of_weight", "of_weight_hh", "of_bias", "of_bias_hh"]


@planned(
    "MkldnnRnnLayerBackwardBackward0", aten="mkldnn_rnn_layer_backward",
    inputs=[
        "grad_out", "grad_end", "input", "begin", "weight", "weight_hh", "bias", "bias_hh", "sizes", "out", "gates",
        "beside",
    ],
    nondifferentiable=["sizes", "out", "gates", "beside"], outputs=_GRADIENTS, anywhere=["sizes"],
)
def recurrent_layer_backward(
    grad_out: Layout | None, grad_end: Layout | None, input: Layout, begin: Layout, weight: Layout, weight_hh: Layout,
    bias: Layout | None, bias_hh: Layout | None, sizes: Layout | None, out: Layout, gates: Layout, beside: Layout,
    kind: str, backwards: bool, wanted: tuple[bool, ...],
) -> Prepared:
    """The gradients for the inputs of the layer; of those that are not ``wanted``, tensors without elements.

    What comes out of the layer is a function of these inputs, and the rule knows that.
    """
    own, backend = _sizes(input, begin, sizes, kind, backwards), input.type.backend
    _check(own, input, begin, weight, weight_hh, bias, bias_hh)
    shapes = input.shape, begin.shape, weight.shape, weight_hh.shape, (own.gates,), (own.gates,)
    layouts = tuple([layout_of(input.type, shape if one else (0,)) for shape, one in zip(shapes, wanted, strict=True)])
    if gates.shape == (0,):
        return layouts, _gradients_by_operations(kind, backwards, wanted)
    rows, slope_rows, hidden_rows = [
        layout_of(input.type, (own.rows, width)) for width in (input.shape[-1], own.gates, own.size)
    ]
    given = begin, gates, beside, out
    reads = [row_reader(each) for each in given]
    read_input, read_weight, each_step = row_reader(input), row_reader(weight_hh), _each_step(own, sizes)
    start = _zeros(begin) if grad_end is None else copier(grad_end, layout_of(input.type, begin.shape))
    read_grad = _zeros(out) if grad_out is None else row_reader(grad_out)
    run = backend.recurrence_backward_launcher(*own)
    multiply = {
        0: turned_plan(slope_rows, weight).launcher(), 2: turned_plan(slope_rows, rows, True).launcher(),
        3: turned_plan(slope_rows, hidden_rows, True).launcher(),
    }
    total = axis_launcher("fold_axis", slope_rows, (0,), "sum", input.type.numpy)
    nothing = backend.memory_launcher(layout_of(input.type, (0,)), False)
    repeat = copier(layout_of(input.type, (own.gates,)), layout_of(input.type, (own.gates,)))

    def launch(grad_out: Any, grad_end: Any, input: Any, begin: Any, weight: Any, weight_hh: Any, *others: Any) -> Any:
        *_, sizes, out, gates, beside = others
        known = [read(one) for read, one in zip(reads, (begin, gates, beside, out), strict=True)]
        grads = start(grad_end)
        slopes, shares, before = run(each_step(sizes), read_weight(weight_hh), *known, read_grad(grad_out), grads)
        slopes, shares = tensor_of(slope_rows, slopes), tensor_of(slope_rows, shares)
        makers: list[Callable[[], Any]] = [
            lambda: multiply[0](slopes, weight), lambda: grads,
            lambda: multiply[2](slopes, tensor_of(rows, read_input(input))),
            lambda: multiply[3](shares, tensor_of(hidden_rows, before)), lambda: total(slopes),
        ]  # fmt: skip
        found = [make() if one else nothing() for make, one in zip(makers, wanted, strict=False)]
        if not wanted[5]:
            return *found, nothing()
        as_other = wanted[4] and kind != "gru"
        return *found, repeat(tensor_of(layouts[4], found[4])) if as_other else total(shares)

    return layouts, launch


def _zeros(like: Layout) -> Callable[[Any], Any]:
    """What gives zeros for a gradient that there is not."""
    new = like.type.backend.memory_launcher(layout_of(like.type, like.shape), True)
    return lambda nothing: new()


def _gradients_by_operations(kind: str, backwards: bool, wanted: tuple[bool, ...]) -> Callable[..., tuple[Any, ...]]:
    def launch(*tensors: Any) -> tuple[Any, ...]:
        with no_grad():
            found = _gradients(*tensors[:9], kind, backwards, wanted)
            return tuple([contiguous_op.function(one)._storage for one in found])

    return launch


@differentiated_as(recurrent_layer_backward)
def _gradients(
    grad_out: Tensor | None, grad_end: Tensor | None, input: Tensor, begin: Tensor, weight: Tensor, weight_hh: Tensor,
    bias: Tensor | None, bias_hh: Tensor | None, sizes: Tensor | None, kind: str, backwards: bool,
    wanted: tuple[bool, ...],
) -> list[Tensor]:
    """What autograd makes of the steps, one after the other."""
    given = input, begin, weight, weight_hh, bias, bias_hh
    nothing = input.new_empty(0)
    with recording_apart() as recorded:
        chosen = zip(given, wanted, strict=True)
        variables = [as_variable(one) if is_wanted and one is not None else None for one, is_wanted in chosen]
        used: list[Any] = [old if new is None else new for old, new in zip(given, variables, strict=True)]
        outputs = steps_of_layer(*[*used, sizes, kind, backwards])
        pairs = [(one, own) for one, own in zip(outputs, (grad_out, grad_end), strict=True) if own is not None]
        reached, cotangents = zip(*pairs, strict=True)
        present = [one for one in variables if one is not None]
        found = iter(gradients_of(reached, present, cotangents, create_graph=recorded, materialize_grads=True))
    return [nothing if one is None else next(found) for one in variables]
