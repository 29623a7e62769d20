"""``matmul``, the operator ``@``, and the linear layer, dispatched to the products that compute them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.grad_mode import AUTOCAST, GRAD, ORDINARY, state
from ...core.layout import Layout, broadcast_shapes, numel
from ...core.types import bool_
from ...devices import Plan
from ...tensors.tensor import Tensor
from ..memory.copying import contiguous
from ..pointwise.arithmetic import add
from ..shapes.broadcasting import expand_op
from ..shapes.dimensions import squeeze_dim, squeeze_result, t, t_op, transpose_op, unsqueeze, unsqueeze_op
from ..shapes.views import reshaped, unsafe_view, view
from ..table.autocasting import cast_call
from ..table.dispatch import caller
from ..table.entries import Entries, Entry
from ..table.op import attach, check_tensors, composite, public_functions
from .addmm import addmm, addmm_op, call_weighted
from .products import bmm, dot_op, mm, mm_op, multiplied, mv, mv_op, shapes_text

#: The calls of ``matmul`` that are a single product, by the layouts of the factors.
_calls = Entries()
_known_calls = _calls.recent


#: The operations for a single product, by the ranks of the factors.
_SINGLE = {(2, 2): mm_op, (2, 1): mv_op, (1, 1): dot_op}


@composite(direct=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product of vectors, matrices, and stacks of matrices that broadcast, by NumPy's rules.

    Raises:
        RuntimeError: an operand is 0-d, the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> numgrad.matmul(x, numgrad.tensor([1.0, 1.0]))
        tensor([3., 7.])
        >>> numgrad.matmul(x, x)
        tensor([[ 7., 10.],
                [15., 22.]])
    """
    if state.mode & AUTOCAST and (out := cast_call(("matmul",), matmul, (input, other))) is not NotImplemented:
        return out
    try:
        key = input._layout, other._layout
    except AttributeError:
        check_tensors("matmul", input=input, other=other)
        raise
    call = _known_calls.get(key)
    if call is not None:
        return call(input, other)
    left, right = len(key[0].shape), len(key[1].shape)
    op = _SINGLE.get((left, right))
    if op is not None:
        call = _calls.find(key)
        if call is None:
            if not _calls.again(key):
                return op(input, other)
            call = _calls.keep(key, caller(op.entry((input, other))[0]))
        return call(input, other)
    if left == 0 or right == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D {shapes_text(*key)}"
        )
    if left == 1 and right == 2:
        out = squeeze_result(mm(unsqueeze(input, 0), other), 0)
        out._counter[0] = 1  # PyTorch's in-place squeeze counts as a change
        return out
    if left <= 2 or right <= 2:
        return _folded(input, other) if _should_fold(input, other) else _batched(input, other)
    if left == right == 3 and input._layout.shape[0] != other._layout.shape[0]:
        # A single matrix expanded to the whole stack would get a gradient as large as the stack.
        if input._layout.shape[0] == 1 and input.requires_grad:
            return matmul(squeeze_dim(input, 0), other)
        if other._layout.shape[0] == 1 and other.requires_grad:
            return matmul(input, squeeze_dim(other, 0))
    return _batched(input, other)


def _should_fold(input: Tensor, other: Tensor) -> bool:
    """Return True if a stack times a matrix or vector should be computed as one larger product.

    This is so if the smaller operand requires a gradient, which the product then sums, or if the stack folds as a view.
    """
    shape, strides = input._layout.shape, input._layout.strides
    if len(shape) < len(other._layout.shape):
        return input.requires_grad
    if other.requires_grad or 0 in shape:
        return True
    return all(strides[d] == strides[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


def _folded(input: Tensor, other: Tensor) -> Tensor:
    """Return a stack of matrices times one matrix or vector, or vice versa, computed as one larger product."""
    swapped = len(input._layout.shape) < len(other._layout.shape)
    stack, single = input, other
    if swapped:
        rank = len(other._layout.shape)
        stack = transpose_op(other, rank - 2, rank - 1)
        single = t_op(input) if len(input._layout.shape) == 2 else input
    outer, inner = stack._layout.shape[:-1], stack._layout.shape[-1]
    rows = reshaped(stack, (numel(outer), inner))
    if len(single._layout.shape) == 1:
        return unsafe_view(mv(rows, single), outer)
    out = unsafe_view(mm(rows, single), (*outer, single._layout.shape[1]))
    return contiguous(transpose_op(out, len(outer) - 1, len(outer))) if swapped else out


def _batched(input: Tensor, other: Tensor) -> Tensor:
    """Return the product of stacks of matrices, broadcast against each other; a vector acts as a row or a column."""
    shape, others = input._layout.shape, other._layout.shape
    rows, inner = (1, *shape)[-2:]
    batch = broadcast_shapes(shape[:-2], others[:-2])
    count = numel(batch)
    left = _stacked(input, (*batch, rows, inner), (count, rows, inner))
    if len(others) == 1:
        vectors = _stacked(other, batch + others, (count, *others))
        return unsafe_view(squeeze_dim(bmm(left, unsqueeze_op(vectors, 2)), 2), (*batch, rows))
    right = _stacked(other, batch + others[-2:], (count, *others[-2:]))
    return unsafe_view(bmm(left, right), (*batch, *shape[-2:-1], others[-1]))


def _stacked(operand: Tensor, expanded: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """Return the operand expanded to the stack's dimensions, with these flattened into one."""
    if operand._layout.shape == shape and not (operand._requires_grad and state.mode & GRAD):
        return operand
    return reshaped(expand_op(operand, expanded), shape)


def _tensor(value: Any) -> Any:
    """Return the other operand of ``@`` as a tensor, which shares the memory of an array; None for other classes."""
    if isinstance(value, np.ndarray):
        return public_functions["from_numpy"](value)
    return value if isinstance(value, Tensor) else None


def _matmul(self: Tensor, other: Any) -> Tensor:
    if other.__class__ is not Tensor:
        other = _tensor(other)
        if other is None:
            return NotImplemented
    return matmul(self, other)


def _rmatmul(self: Tensor, other: Any) -> Tensor:
    left = _tensor(other)
    return NotImplemented if left is None else matmul(left, self)


attach("__matmul__", _matmul)
attach("__rmatmul__", _rmatmul)


# -- the linear layer ---------------------------------------------------------------------------------------------


#: The unrecorded calls of the linear layer, by the layouts.
_layers = Entries()
_known_layers = _layers.recent


def _unrecorded(input: Layout, weight: Layout, bias: Layout | None, again: bool) -> Callable[..., Tensor]:
    """Return a function that computes the layer unrecorded; for a matrix it needs no view of the weight."""
    if (
        len(input.shape) != 2 or len(weight.shape) != 2 or weight.type is not input.type or input.type.dtype is bool_
        or input.type.dtype.is_half
        or input.shape[1] != weight.shape[1]
        or not (bias is None or (bias.contiguous and bias.type is input.type and bias.shape == weight.shape[:1]))
    ):
        return _composed
    p = Plan(input.type.backend, input.type.device.index)
    rows, factors = p.operand(input), p.operand(weight)
    row = None if bias is None else p.contiguous(p.operand(bias))
    out = multiplied(p, rows, factors, (False, True), row)
    op = mm_op if bias is None else addmm_op
    return caller(Entry(op, p.returns(out), out.layout, False, again=again), again)


@composite(export=False)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``, with an input of shape (..., k), a weight of (m, k), and a result of (..., m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.linear(numgrad.tensor([1.0, 2.0]), numgrad.tensor([[1.0, 1.0]]), numgrad.tensor([0.5]))
        tensor([3.5000])
    """
    shape, of_weight = input._layout.shape, weight._layout.shape
    rank = len(shape)
    if rank == 0 or not of_weight:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {rank}D and {weight.dim()}D"
        )
    mode = state.mode
    if mode <= ORDINARY and not (
        mode & GRAD and (input._requires_grad or weight._requires_grad or (bias is not None and bias._requires_grad))
    ):
        key = input._layout, weight._layout, None if bias is None else bias._layout
        call = (
            _known_layers.get(key) or _layers.find(key) or _layers.make(key, functools.partial(_unrecorded, *key))
        )
        return call(input, weight) if bias is None else call(input, weight, bias)
    if mode & AUTOCAST and (out := cast_call(("linear",), linear, (input, weight, bias))) is not NotImplemented:
        return out
    return _composed(input, weight, bias)


def _composed(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the layer, computed by other operations."""
    shape, of_weight = input._layout.shape, weight._layout.shape
    if bias is None:
        return matmul(input, t(weight))
    if len(shape) == 2:
        return call_weighted(addmm_op, bias, input, t(weight), 1, 1)
    of_bias = bias._layout
    if len(of_bias.shape) == 1 and len(of_weight) == 2 and input._layout.contiguous and of_bias.contiguous:
        rows = view(input, (numel(shape[:-1]), shape[-1]))
        return view(addmm(bias, rows, t(weight)), (*shape[:-1], of_weight[0]))
    return add.inplace(matmul(input, t(weight)), bias)
