"""Einstein's summation: products and sums of tensors by the names of their dimensions.

Note [How a sum of products is computed]
Every operand gets all dimensions that occur, in one order: first those of the result, then those summed over (size 1
where it has none).  Then the operands are multiplied from left to right, two at a time; a dimension is summed over as
soon as no later operand has it.  One step is a batched matrix product: dimensions that both have and the result keeps
are the batch, those of one operand alone are rows or columns, those summed over are the inner dimension.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from ..._layout import numel
from ..._tensor import Tensor
from ..pointwise.arithmetic import mul
from ..reductions.sums import sum as sum_of
from ..shapes.diagonals import diagonal_op
from ..shapes.dimensions import movedim
from ..shapes.views import permute_op, reshape, unsqueeze_op, view
from ..table import public
from .matmul import bmm

__all__ = ["einsum"]

#: Labels in PyTorch's order; ``...`` stands for the dimensions without one.
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_ELLIPSIS = "..."


def _of_number(number: Any) -> str:
    """The label that a number in a sublist stands for."""
    if number is Ellipsis:
        return _ELLIPSIS
    if not 0 <= number < 52:
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return _LETTERS[number]


def _parsed(text: str, first: int, place: str) -> list[str]:
    """The labels in a part of the equation, which begins at its character ``first``."""
    labels: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == ".":
            if _ELLIPSIS in labels:
                raise RuntimeError(f"einsum(): found '.' for {place} for which an ellipsis was already found")
            if text[at : at + 3] != _ELLIPSIS:
                raise RuntimeError(f"einsum(): found '.' for {place} that is not part of any ellipsis")
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


def _read_equation(equation: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str] | None]:
    """The labels of each operand, and of the result if they are given."""
    left, arrow, right = equation.partition("->")
    terms, start = [], 0
    for number, text in enumerate(left.split(",")):
        terms.append(_parsed(text, start, f"operand {number}"))
        start += len(text) + 1
    if len(terms) != len(operands):
        fewer = "fewer" if len(terms) > len(operands) else "more"
        raise RuntimeError(f"einsum(): {fewer} operands were provided than specified in the equation")
    return terms, _parsed(right, len(left) + 2, "the output") if arrow else None


def _implicit(terms: Sequence[Sequence[str]]) -> list[str]:
    """The result's labels where none are given: those that occur once, in alphabetical order."""
    everything = [label for labels in terms for label in labels]
    ellipsis = [_ELLIPSIS] if _ELLIPSIS in everything else []
    return ellipsis + [label for label in _LETTERS if everything.count(label) == 1]


def _check_output(output: Sequence[str], terms: Sequence[Sequence[str]]) -> None:
    for label in output:
        if label != _ELLIPSIS and not any(label in labels for labels in terms):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")


def _covered(labels: Sequence[str], operand: Tensor, number: int) -> int:
    """How many dimensions of an operand its ellipsis stands for."""
    rank, named = len(operand._layout.shape), sum([label != _ELLIPSIS for label in labels])
    if named != rank if _ELLIPSIS not in labels else named > rank:
        more = "and no ellipsis was given" if _ELLIPSIS not in labels else "even though an ellipsis was given"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
            f"({rank}) for operand {number} {more}"
        )
    return rank - named


def _aligned(operand: Tensor, labels: Sequence[str], order: Sequence[Any], covered: int, number: int) -> Tensor:
    """The operand with the dimensions of ``order``: letters, and numbers for what an ellipsis covers."""
    places: dict[Any, int] = {}
    missing = covered - _covered(labels, operand, number)
    dim = 0
    for label in labels:
        if label == _ELLIPSIS:
            for _ in range(missing):
                operand = unsqueeze_op(operand, dim)
            for index in range(covered):
                places[index] = dim
                dim += 1
        elif label in places:
            first, shape = places[label], operand._layout.shape
            if shape[first] != shape[dim]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                    f"{shape[dim]} != {shape[first]}"
                )
            operand = movedim(diagonal_op(operand, 0, first, dim), -1, first)
        else:
            places[label] = dim
            dim += 1
    for label in order:
        if label not in places:
            places[label] = len(operand._layout.shape)
            operand = unsqueeze_op(operand, len(operand._layout.shape))
    return permute_op(operand, tuple([places[label] for label in order]))


def _check_sizes(operands: Sequence[Tensor], order: Sequence[Any]) -> None:
    """Raise unless each dimension has one size in all operands, or 1."""
    for dim, label in enumerate(order):
        seen = 1
        for number, operand in enumerate(operands):
            extent = operand._layout.shape[dim]
            if seen == 1:
                seen = extent
            elif extent not in (1, seen):
                named = f"subscript {label}" if isinstance(label, str) else f"dimension {label} covered by ellipsis"
                raise RuntimeError(
                    f"einsum(): {named} has size {extent} for operand {number} which does not broadcast with "
                    f"previously seen size {seen}"
                )


def _product(left: Tensor, right: Tensor, summed: Sequence[int]) -> Tensor:
    """The product of two tensors of one rank, summed over dimensions that both have; these are kept, of size 1."""
    if not summed:
        return mul(left, right)
    both: list[int] = []
    rows: list[int] = []
    columns: list[int] = []
    for dim, (m, n) in enumerate(zip(left._layout.shape, right._layout.shape, strict=True)):
        if dim not in summed:
            (both if m != 1 and n != 1 else rows if m != 1 else columns).append(dim)
    if rows and columns and columns[-1] < rows[0]:  # so that the result lies in memory as it is read
        left, right, rows, columns = right, left, columns, rows
    sizes = [
        numel(tuple([tensor._layout.shape[d] for d in dims]))
        for tensor, dims in ((left, both), (left, rows), (left, summed), (right, columns))
    ]
    first = reshape(permute_op(left, (*both, *rows, *summed, *columns)), (sizes[0], sizes[1], sizes[2]))
    second = reshape(permute_op(right, (*both, *summed, *columns, *rows)), (sizes[0], sizes[2], sizes[3]))
    order = [*both, *rows, *summed, *columns]
    shape = [1 if d in summed else (right if d in columns else left)._layout.shape[d] for d in order]
    return permute_op(view(bmm(first, second), shape), tuple([order.index(d) for d in range(len(order))]))


def _contracted(operands: list[Tensor], kept: int) -> Tensor:
    """The product of all operands, summed over all dimensions from number ``kept`` on."""
    rank = len(operands[0]._layout.shape)
    # How many of the operands still to come have the dimension at all.
    counts = [sum([operand._layout.shape[dim] != 1 for operand in operands]) for dim in range(rank)]
    result = operands[0]
    for operand in operands[1:]:
        alone: tuple[list[int], list[int]] = ([], [])
        summed = []
        sizes, others = result._layout.shape, operand._layout.shape
        for dim in range(kept, rank):
            if sizes[dim] != 1 != others[dim]:
                counts[dim] -= 1
                if counts[dim] == 1:
                    summed.append(dim)
                    counts[dim] = 0
            elif counts[dim] == 1 and (sizes[dim] != 1 or others[dim] != 1):
                alone[sizes[dim] == 1].append(dim)
                counts[dim] = 0
        left, right = [
            sum_of(tensor, tuple(dims), keepdim=True) if dims else tensor
            for tensor, dims in zip((result, operand), alone, strict=True)
        ]
        result = _product(left, right, summed)
    if rank == kept:
        return result
    if len(operands) == 1:
        return sum_of(result, tuple(range(kept, rank)))
    return view(result, result._layout.shape[:kept])


def einsum(*args: Any) -> Tensor:
    """The sum of products of tensors, by the names of their dimensions: ``einsum("ij,jk->ik", a, b)``.

    Each operand has a letter for each of its dimensions; those of the result follow ``->``, in alphabetical order if
    they are left out.  What is not in the result is summed over, a letter that an operand has twice takes its
    diagonal, and ``...`` stands for dimensions without letters, which broadcast.  Instead of an equation each operand
    may be followed by a list of numbers, with one for the result at the end.

    Raises:
        RuntimeError: the equation does not fit the operands, or sizes under one letter differ.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    output: list[str] | None
    if isinstance(args[0], Tensor):
        operands = list(args[0 : len(args) - len(args) % 2 : 2])
        terms = [[_of_number(n) for n in numbers] for numbers in args[1::2]]
        output = [_of_number(n) for n in args[-1]] if len(args) % 2 else None
        _check_operands(operands)
    else:
        equation, *rest = args
        if not isinstance(equation, str):
            raise TypeError(
                f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}"
            )
        operands = list(rest[0]) if len(rest) == 1 and isinstance(rest[0], tuple | list) else rest
        _check_operands(operands)
        terms, output = _read_equation(equation, operands)
    if output is None:
        output = _implicit(terms)
    _check_output(output, terms)
    covered = max([_covered(labels, x, n) for n, (labels, x) in enumerate(zip(terms, operands, strict=True))])
    order: list[Any] = []
    for label in output:
        order += range(covered) if label == _ELLIPSIS else label
    kept = len(order)
    if _ELLIPSIS not in output:
        order += range(covered)
    order += [label for label in _LETTERS if label not in order and any(label in labels for labels in terms)]
    aligned = [
        _aligned(operand, labels, order, covered, number)
        for number, (operand, labels) in enumerate(zip(operands, terms, strict=True))
    ]
    _check_sizes(aligned, order)
    return _contracted(aligned, kept)


def _check_operands(operands: Sequence[Any]) -> None:
    for number, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 1, but got {type(operand).__name__}")


public(einsum, method=False)
