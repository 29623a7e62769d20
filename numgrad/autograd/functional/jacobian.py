"""Full Jacobians and Hessians of functions of tensors, by one gradient per element of the outputs or inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import forward_ad
from ..grad_mode import recording
from ..operations import operations
from . import gradients
from .gradients import Tensors

#: For each output and input, the corresponding part of the Jacobian.
Parts = tuple[Tensors, ...]


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of a function: the derivative of each output element by each input element.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise an error instead of returning zeros if an output does not depend on an input; with
            ``create_graph``, also if a derivative does not.
        vectorize: compute all rows (all columns in forward mode) at once, as a batch.
        strategy: "reverse-mode" takes one step per output element, "forward-mode" one per input element; the latter
            requires ``vectorize``.

    Returns:
        A tensor of the output's shape followed by the input's, with the input's dtype (in forward mode the output's).
        For a tuple of outputs or of inputs, a tuple of such tensors; for both, a tuple of tuples, of which ``[i][j]``
        belongs to output i and input j.

    Raises:
        AssertionError: ``strategy`` is unknown.
        TypeError: inputs or outputs are neither tensors nor tuples of tensors.
        NotImplementedError: forward mode without ``vectorize`` or with ``create_graph``.
        RuntimeError: ``strict`` with forward mode or with ``vectorize``; an independent output or derivative in
            strict mode.

    Example:
        >>> import numgrad
        >>> numgrad.autograd.functional.jacobian(lambda x: x**2, numgrad.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _forward(func, inputs)
    with recording():
        inputs, several_in = gradients.as_tensors(inputs, "inputs", "jacobian")
        inputs = gradients.prepared(inputs, create_graph)
        outputs, several_out = gradients.outputs_of(func, inputs, strict, "jacobian")
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        parts = (
            _rows_at_once(outputs, inputs, create_graph)
            if vectorize
            else _row_by_row(outputs, inputs, create_graph, strict)
        )
        rows = [gradients.alone(gradients.cut(row, create_graph), several_in) for row in parts]
        return gradients.alone(tuple(rows), several_out)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of a scalar function: the Jacobian of its gradient.

    Args:
        func: takes the inputs, returns a tensor of one element.
        inputs: a tensor or a tuple of tensors.
        create_graph: record the computation, so that the result can be differentiated.
        strict: raise an error instead of returning zeros if the output or its gradient does not depend on an input.
        vectorize: compute all rows at once, as a batch.
        outer_jacobian_strategy: mode in which the gradient is differentiated: "reverse-mode" or, with ``vectorize``,
            "forward-mode".

    Returns:
        A tensor of the input's shape twice, with its dtype; for a tuple of inputs, a tuple of tuples, of which
        ``[i][j]`` belongs to inputs i and j.

    Raises:
        AssertionError: the strategy is unknown.
        TypeError: inputs or output are neither tensors nor tuples of tensors.
        NotImplementedError: forward mode without ``vectorize`` or with ``create_graph``.
        RuntimeError: ``func`` does not return a single tensor of one element; ``strict`` with forward mode or with
            ``vectorize``; an independent output or gradient in strict mode.

    Example:
        >>> import numgrad
        >>> numgrad.autograd.functional.hessian(lambda x: (x**3).sum(), numgrad.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    tensors, several = gradients.as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*arguments: Any) -> Any:
        outputs, several = gradients.outputs_of(func, arguments, strict, "hessian")
        gradients.check_scalar(outputs, several, "hessian")
        return outputs[0].squeeze()

    def gradient(*arguments: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple([argument.requires_grad_(True) for argument in arguments])
        result = jacobian(scalar, arguments, create_graph=True)
        gradients.check_recorded(result, gradients.CONSTANT_JACOBIAN if strict else None)
        return result

    parts = jacobian(gradient, tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return gradients.alone(tuple([gradients.alone(row, several) for row in parts]), several)


def construct_standard_basis_for(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """Return the identity matrix of all elements of the tensors, with the columns of each tensor as one matrix."""
    total, first = sum(tensor_numels), 0
    columns = []
    for tensor, numel in zip(tensors, tensor_numels, strict=True):
        columns.append(tensor.new_zeros(total, numel))
        columns[-1].diagonal(-first).fill_(1)
        first += numel
    return tuple(columns)


# -- reverse mode: by rows -----------------------------------------------------------------------------------


def _row_by_row(outputs: Tensors, inputs: Tensors, create_graph: bool, strict: bool) -> Parts:
    """Return the Jacobian, computed by one gradient per output element."""
    parts = []
    for number, output in enumerate(outputs):
        errors = (gradients.INDEPENDENT.format(f"Output {number}", ""), gradients.JACOBIAN[1]) if strict else None
        rows: list[list[Any]] = [[] for _ in inputs]
        elements = output.reshape(-1)
        for index in range(output.numel()):
            computed = gradients.gradients((elements[index],), inputs, None, create_graph, retain_graph=True)
            for row, gradient in zip(rows, gradients.filled(computed, inputs, errors, create_graph), strict=True):
                row.append(gradient)
        parts.append(tuple([
            operations.stack(row).view(output.shape + tensor.shape) for row, tensor in zip(rows, inputs, strict=True)
        ]))
    return tuple(parts)


def _rows_at_once(outputs: Tensors, inputs: Tensors, create_graph: bool) -> Parts:
    """Return the Jacobian, computed by a batch of gradients, one per output element."""

    def rows(*vectors: Any) -> Tensors:
        """Return the products of vectors with the Jacobian, one per input."""
        computed = gradients.gradients(outputs, inputs, vectors, create_graph, retain_graph=True)
        return gradients.filled(computed, inputs, None, create_graph)

    return split_rows(_for_each(rows, standard_basis(outputs)), outputs, inputs)


def split_rows(rows: Sequence[Any], outputs: Sequence[Any], inputs: Sequence[Any]) -> Parts:
    """Split tensors, one per input and with a first dimension for all output elements, into parts of a Jacobian."""
    return tuple([
        tuple([
            row.narrow(0, start, output.numel()).view(output.shape + tensor.shape)
            for row, tensor in zip(rows, inputs, strict=True)
        ])
        for start, output in _with_starts(outputs)
    ])


# -- forward mode: by columns --------------------------------------------------------------------------------


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    name = "torch.autograd.functional.jacobian"
    advice = 'and `strategy="forward-mode"` are not supported together (yet). Please either set'
    if create_graph:
        raise NotImplementedError(
            f'{name}: `create_graph=True` {advice} `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(f'{name}: `strict=True` {advice} `strict=False` or `strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )


def _forward(func: Callable[..., Any], inputs: Any) -> Any:
    """Return the Jacobian, computed by a batch of tangents, one per input element."""
    inputs, several_in = gradients.as_tensors(inputs, "inputs", "jacobian")
    several_out = False

    def columns(*tangents: Any) -> Tensors:
        """Return the derivative of each output in the direction of the tangents."""
        nonlocal several_out
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(*pair) for pair in zip(inputs, tangents, strict=True)]
            outputs, several_out = gradients.outputs_of(func, tuple(duals), False, "jacobian")
            pairs = [forward_ad.unpack_dual(output) for output in outputs]
        return gradients.materialized([pair.tangent for pair in pairs], [pair.primal for pair in pairs])

    parts = split_columns(_for_each(columns, standard_basis(inputs)), inputs)
    return gradients.alone(tuple([gradients.alone(row, several_in) for row in parts]), several_out)


def split_columns(columns: Sequence[Any], inputs: Sequence[Any]) -> Parts:
    """Split tensors, one per output and with a first dimension for all input elements, into parts of a Jacobian."""
    return tuple([
        tuple([
            column.narrow(0, start, tensor.numel()).movedim(0, -1).reshape(column.shape[1:] + tensor.shape)
            for start, tensor in _with_starts(inputs)
        ])
        for column in columns
    ])


# -- batches -------------------------------------------------------------------------------------------------


def standard_basis(tensors: Sequence[Any]) -> Tensors:
    """Return the unit vectors of the space of all tensors' elements, as a batch for each tensor."""
    count = sum([tensor.numel() for tensor in tensors])
    vectors = []
    for start, tensor in _with_starts(tensors):
        vector = tensor.detach().new_zeros((count, tensor.numel()))
        vector.diagonal(-start).fill_(1)
        vectors.append(vector.view((count, *tensor.shape)))
    return tuple(vectors)


def _with_starts(tensors: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each tensor with the index of its first element among the elements of all."""
    starts = itertools.accumulate([tensor.numel() for tensor in tensors], initial=0)
    return zip(starts, tensors, strict=False)  # the last start has no tensor


def _for_each(function: Callable[..., Tensors], batches: Tensors) -> Tensors:
    """Return the function's results for each element of the batches, stacked along a new first dimension."""
    return tuple(operations.for_each(function, batches, len(batches[0])))
