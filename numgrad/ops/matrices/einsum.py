"""Einstein summation: products and sums of tensors, with labelled dimensions.

Note [How einsum contracts its operands]
Every operand is brought to the same dimensions in the same order: first those of the result, then those summed over,
with size 1 where the operand lacks one.  Then the operands are multiplied from left to right, two at a time; a
dimension is summed over as soon as no later operand has it.  Each step is a batched matrix product: dimensions that
both operands have and the result keeps are the batch, those of one operand alone are rows or columns, and those summed
over are the inner dimension.

The equation and the shapes determine the sequence of operations, which ``_planned`` caches; a call only runs it.  The
gradients, of any order, are those of the operations.
"""

from __future__ import annotations

import functools
import operator
import string
from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.grad_mode import GRAD, state
from ...core.layout import numel
from ...tensors.tensor import Tensor
from ..pointwise.arithmetic import mul
from ..reductions.sums import sum_dims
from ..shapes.diagonals import diagonal_op
from ..shapes.dimensions import permute_op, unsqueeze_op
from ..shapes.joining import checked_tensors
from ..shapes.views import reshaped, view_as_shape
from ..table.checks import check, check_value
from ..table.op import composite
from .products import bmm

#: Labels in PyTorch's order, that of characters; ``...`` stands for the unlabelled dimensions.
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_ELLIPSIS = "..."

#: An operation on a tensor, with its further arguments.
_Step = tuple[Callable[..., Tensor], tuple[Any, ...]]


def _of_number(number: Any) -> str:
    """Return the label that a number in a sublist stands for."""
    if number is Ellipsis:
        return _ELLIPSIS
    check_value(0 <= number < 52, "einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return _LETTERS[operator.index(number)]


def _parsed(text: str, first: int, number: int | None) -> list[str]:
    """Return the labels of operand ``number`` (None: of the result); ``text`` begins at character ``first``."""
    labels: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == ".":
            if _ELLIPSIS in labels:
                raise RuntimeError(
                    "einsum(): found '.' for output but an ellipsis (...) was already found" if number is None else
                    f"einsum(): found '.' for operand {number} for which an ellipsis was already found"
                )
            if text[at : at + 3] != _ELLIPSIS:
                what = "output that is not part of any ellipsis (...)"
                if number is not None:
                    what = f"operand {number} that is not part of any ellipsis"
                raise RuntimeError(f"einsum(): found '.' for {what}")
            labels.append(_ELLIPSIS)
            at += 2
        elif letter in _LETTERS:
            labels.append(letter)
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {first + at} in the equation string, subscripts must be "
                "in [a-zA-Z]"
            )
        at += 1
    return labels


def _read_equation(equation: str, count: int) -> tuple[list[list[str]], list[str] | None]:
    """Return the labels of each of ``count`` operands, and those of the result if the equation has them."""
    left, arrow, right = equation.partition("->")
    terms, start = [], 0
    for number, text in enumerate(left.split(",")):
        terms.append(_parsed(text, start, number))
        start += len(text) + 1
    if len(terms) != count:
        fewer = "fewer" if len(terms) > count else "more"
        raise RuntimeError(f"einsum(): {fewer} operands were provided than specified in the equation")
    return terms, _parsed(right, len(left) + 2, None) if arrow else None


def _implicit(terms: Sequence[Sequence[str]]) -> list[str]:
    """Return the implicit labels of the result: those that occur once, in alphabetical order."""
    everything = [label for labels in terms for label in labels]
    ellipsis = [_ELLIPSIS] if _ELLIPSIS in everything else []
    return ellipsis + sorted([label for label in everything if label != _ELLIPSIS and everything.count(label) == 1])


def _check_output(output: Sequence[str], terms: Sequence[Sequence[str]]) -> None:
    for label in output:
        check(
            label == _ELLIPSIS or any(label in labels for labels in terms),
            "einsum(): output subscript {} does not appear in the equation for any input operand", label,
        )
        check(output.count(label) <= 1, "einsum(): output subscript {} appears more than once in the output", label)


class _Chain:
    """A sequence of operations on one tensor, and the shape that they produce.

    Attributes:
        shape: the sizes after all operations.
        recorded: the operations that PyTorch records, so that the graph has the same nodes.
        short: an equivalent sequence for unrecorded calls, with at most one permutation and one reshape in a row.
    """

    def __init__(self, shape: Sequence[int]):
        self.recorded: list[_Step] = []
        self.short: list[_Step] = []
        self._note_shape(shape)

    def _note_shape(self, shape: Sequence[int]) -> None:
        """Set the shape of the tensor that both sequences have produced."""
        self.shape, self._sizes = list(shape), list(shape)
        #: The dimensions of the tensor that ``short`` has produced, in the order of ``shape``; None if it lacks one.
        self._dims: list[int | None] = list(range(len(shape)))

    def unsqueeze(self, dim: int) -> None:
        self.recorded.append((unsqueeze_op, (dim,)))
        self.shape.insert(dim, 1)
        self._dims.insert(dim, None)

    def permute(self, dims: Sequence[int]) -> None:
        self.recorded.append((permute_op, (tuple(dims),)))
        self.shape = [self.shape[d] for d in dims]
        self._dims = [self._dims[d] for d in dims]

    def reshape(self, shape: Sequence[int], op: Callable[..., Tensor] = reshaped) -> None:
        self.recorded.append((op, (tuple(shape),)))
        self._shorten(list(shape))

    def diagonal(self, first: int, second: int) -> None:
        """Take the diagonal of two dimensions, instead of the first."""
        self._both((diagonal_op, (0, first, second)))
        kept = [extent for dim, extent in enumerate(self.shape) if dim not in (first, second)]
        self._note_shape([*kept, self.shape[first]])
        self.permute([*range(first), len(kept), *range(first, len(kept))])

    def sum(self, dims: Sequence[int], keepdim: bool) -> None:
        self._both((sum_dims, (tuple(dims), keepdim)))
        sizes = [1 if dim in dims else extent for dim, extent in enumerate(self.shape)]
        self._note_shape(sizes if keepdim else [extent for dim, extent in enumerate(sizes) if dim not in dims])

    def finish(self) -> tuple[tuple[_Step, ...], tuple[_Step, ...]]:
        """Return the operations of a recorded call, and those of an unrecorded one."""
        self._shorten(self.shape)
        return tuple(self.recorded), tuple(self.short)

    def _both(self, step: _Step) -> None:
        self._shorten(self.shape)
        self.recorded.append(step)
        self.short.append(step)

    def _shorten(self, shape: list[int]) -> None:
        """Extend ``short`` by the pending permutations and unsqueezes, with ``shape`` as the result."""
        dims = [dim for dim in self._dims if dim is not None]
        moved = [dim for dim in dims if self._sizes[dim] != 1]
        if moved != sorted(moved):
            self.short.append((permute_op, (tuple(dims),)))
            self._sizes = [self._sizes[dim] for dim in dims]
        if self._sizes != shape:
            if self.short and self.short[-1][0] is reshaped:
                self.short.pop()
            self.short.append((reshaped, (tuple(shape),)))
        self._note_shape(shape)


def _covered(labels: Sequence[str], rank: int, number: int) -> int:
    """Return the number of an operand's dimensions that its ellipsis covers."""
    named = sum([label != _ELLIPSIS for label in labels])
    if named != rank if _ELLIPSIS not in labels else named > rank:
        more = "and no ellipsis was given" if _ELLIPSIS not in labels else "even though an ellipsis was given"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({rank}) for operand {number} {more}"
        )
    return rank - named


def _aligned(shape: Sequence[int], labels: Sequence[str], order: Sequence[Any], covered: int, number: int) -> _Chain:
    """Return an operand with the dimensions of ``order``: letters, and numbers for those an ellipsis covers."""
    chain = _Chain(shape)
    positions: dict[Any, int] = {}
    missing = covered - _covered(labels, len(shape), number)
    dim = 0
    for label in labels:
        if label == _ELLIPSIS:
            for _ in range(missing):
                chain.unsqueeze(dim)
            for index in range(covered):
                positions[index] = dim
                dim += 1
        elif label in positions:
            first = positions[label]
            if chain.shape[first] != chain.shape[dim]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                    f"{chain.shape[dim]} != {chain.shape[first]}"
                )
            chain.diagonal(first, dim)
        else:
            positions[label] = dim
            dim += 1
    for label in order:
        if label not in positions:
            positions[label] = len(chain.shape)
            chain.unsqueeze(len(chain.shape))
    chain.permute([positions[label] for label in order])
    return chain


def _check_sizes(operands: Sequence[_Chain], order: Sequence[Any]) -> None:
    """Raise unless each dimension has one size in all operands, or 1."""
    for dim, label in enumerate(order):
        seen = 1
        for number, operand in enumerate(operands):
            extent = operand.shape[dim]
            if seen == 1:
                seen = extent
            elif extent not in (1, seen):
                named = f"subscript {label}" if isinstance(label, str) else f"dimension {label} covered by ellipsis"
                raise RuntimeError(
                    f"einsum(): {named} has size {extent} for operand {number} which does not broadcast with "
                    f"previously seen size {seen}"
                )


def _swapped_bmm(left: Tensor, right: Tensor) -> Tensor:
    return bmm(right, left)


def _product(left: _Chain, right: _Chain, summed: Sequence[int]) -> tuple[Callable[..., Tensor], _Chain]:
    """Return the function that multiplies two tensors of one rank, and its result, summed over common dimensions.

    Both factors are brought into the shapes that the function takes.  The dimensions summed over have size 1 in the
    result.
    """
    if not summed:
        return mul, _Chain([n if m == 1 else m for m, n in zip(left.shape, right.shape, strict=True)])
    both: list[int] = []
    rows: list[int] = []
    columns: list[int] = []
    for dim, (m, n) in enumerate(zip(left.shape, right.shape, strict=True)):
        if dim not in summed:
            (both if m != 1 and n != 1 else rows if m != 1 else columns).append(dim)
    product: Callable[..., Tensor] = bmm
    if rows and columns and columns[-1] < rows[0]:  # so that the result is contiguous in its final order
        left, right, rows, columns, product = right, left, columns, rows, _swapped_bmm
    order = [*both, *rows, *summed, *columns]
    shape = [1 if d in summed else (right if d in columns else left).shape[d] for d in order]
    batch, height, inner, width = [
        numel(tuple([chain.shape[d] for d in dims]))
        for chain, dims in ((left, both), (left, rows), (left, summed), (right, columns))
    ]
    left.permute(order)
    left.reshape((batch, height, inner))
    right.permute([*both, *summed, *columns, *rows])
    right.reshape((batch, inner, width))
    result = _Chain((batch, height, width))
    result.reshape(shape, view_as_shape)
    result.permute([order.index(d) for d in range(len(order))])
    return product, result


def _contracted(operands: Sequence[_Chain], kept: int) -> tuple[list[Any], _Chain]:
    """Return the product of all operands, summed over all dimensions from number ``kept`` on.

    Returns:
        For each multiplication the operations on both factors and the function that multiplies them; and the result.
    """
    rank = len(operands[0].shape)
    # The number of remaining operands in which the dimension has a size other than 1.
    counts = [sum([operand.shape[dim] != 1 for operand in operands]) for dim in range(rank)]
    products = []
    result = operands[0]
    for operand in operands[1:]:
        alone: tuple[list[int], list[int]] = ([], [])
        summed = []
        for dim in range(kept, rank):
            if result.shape[dim] != 1 != operand.shape[dim]:
                counts[dim] -= 1
                if counts[dim] == 1:
                    summed.append(dim)
                    counts[dim] = 0
            elif counts[dim] == 1 and (result.shape[dim] != 1 or operand.shape[dim] != 1):
                alone[result.shape[dim] == 1].append(dim)
                counts[dim] = 0
        factors = result, operand
        for factor, dims in zip(factors, alone, strict=True):
            if dims:
                factor.sum(dims, keepdim=True)
        product, result = _product(*factors, summed)
        products.append((*[factor.finish() for factor in factors], product))
    if rank > kept:
        if len(operands) == 1:
            result.sum(range(kept, rank), keepdim=False)
        else:
            result.reshape(result.shape[:kept], view_as_shape)
    return products, result


@functools.lru_cache(maxsize=1024)
def _planned(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[Any, tuple[_Step, ...]], ...]:
    """Return the multiplications (see ``_contracted``) and the final operations: recorded, and unrecorded."""
    terms, output = _read_equation(equation, len(shapes))
    if output is None:
        output = _implicit(terms)
    _check_output(output, terms)
    covered = max([_covered(labels, len(x), n) for n, (labels, x) in enumerate(zip(terms, shapes, strict=True))])
    order: list[Any] = []
    for label in output:
        order += range(covered) if label == _ELLIPSIS else label
    kept = len(order)
    if _ELLIPSIS not in output:
        order += range(covered)
    order += sorted({label for labels in terms for label in labels} - {_ELLIPSIS, *order})
    aligned = [
        _aligned(shape, labels, order, covered, number)
        for number, (shape, labels) in enumerate(zip(shapes, terms, strict=True))
    ]
    _check_sizes(aligned, order)
    products, result = _contracted(aligned, kept)
    recorded, short = result.finish()
    # The short sequence may differ in strides of dimensions of size 1: ``mul`` depends on them, matrix products do not.
    fewer = tuple([(left[product is not mul], right[product is not mul], product) for left, right, product in products])
    seen = not products or products[-1][2] is mul or 1 in result.shape
    everything = tuple([(left[0], right[0], product) for left, right, product in products])
    return (everything, recorded), (fewer, recorded if seen else short)


def _run(tensor: Tensor, steps: Sequence[_Step]) -> Tensor:
    for op, arguments in steps:
        tensor = op(tensor, *arguments)
    return tensor


@composite(method=False, direct=True)
def einsum(*args: Any) -> Tensor:
    """The sum of products of tensors with labelled dimensions: ``einsum("ij,jk->ik", a, b)``.

    Each operand has a letter for each of its dimensions; those of the result follow ``->``.  Without ``->``, the result
    has the letters that occur once, in alphabetical order.  A letter missing in the result is summed over, a letter
    repeated in an operand takes its diagonal, and ``...`` stands for dimensions without letters, which broadcast.
    Instead of an equation, a list of numbers may follow each operand, with one for the result at the end.

    Raises:
        RuntimeError: the equation does not fit the operands, or sizes of one letter differ.

    Example:
        >>> import numgrad
        >>> numgrad.einsum("ij,j->i", numgrad.ones(2, 3), numgrad.tensor([1.0, 2.0, 3.0]))
        tensor([6., 6.])
    """
    check_value(
        len(args) >= 2,
        "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
        "subscripts list",
    )
    if isinstance(args[0], Tensor):
        operands: Sequence[Tensor] = args[0 : len(args) - len(args) % 2 : 2]
        terms = ["".join([_of_number(n) for n in numbers]) for numbers in args[1::2]]
        equation = ",".join(terms)
        if len(args) % 2:
            equation += "->" + "".join([_of_number(n) for n in args[-1]])
    else:
        equation, *arguments = args
        if not isinstance(equation, str):
            raise TypeError(
                f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}"
            )
        operands = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple | list) else arguments
    operands = checked_tensors("einsum", operands, 1)
    recorded, short = _planned(equation, tuple([operand._layout.shape for operand in operands]))
    records = state.mode & GRAD and any(operand._requires_grad for operand in operands)
    products, last = recorded if records else short
    result = operands[0]
    for operand, (left, right, product) in zip(operands[1:], products, strict=True):
        result = product(_run(result, left), _run(operand, right))
    return _run(result, last)
