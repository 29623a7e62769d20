"""``backward`` and ``grad``: conversion of their arguments to graph edges and initial gradients."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.layout import Layout
from .checks import check_gradient, is_tensor, mismatch
from .engine import run_backward
from .function_node import BackwardCFunction
from .grad_mode import ANOMALY, WATCHED, set_grad_enabled, state
from .graph import GradientEdge
from .hooks import SHARED_OUTSIDE
from .locations import warn_user
from .node import AccumulateGrad, DeadEnd, Edge, Node, edge_of
from .operations import operations
from .order import nodes_behind
from .saved import PACKED

__all__ = ["backward", "grad"]

#: An edge where backward starts, or None if nothing was recorded, and the layout of the output.
Output = tuple[Edge, Layout]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of ``tensors`` and add them to the ``grad`` of the leaves of their graph.

    A leaf without a ``grad`` receives one with the leaf's strides if the leaf is dense, and a row-major one otherwise.
    An existing ``grad`` is updated in place; with ``create_graph``, the sum is a new tensor.

    Args:
        tensors: one tensor or several, or their gradient edges.
        grad_tensors: the gradient of each tensor, with its shape; None means 1 for a tensor of one element.
        retain_graph: keep the saved values, so that the graph can be traversed again; defaults to ``create_graph``.
        create_graph: record the computation of the gradients, so that they can be differentiated.  The ``grad`` of a
            leaf then refers to the leaf: set it to None after use, or call :func:`grad` instead.
        grad_variables: the former name of ``grad_tensors``.
        inputs: accumulate only into these: a tensor, leaf or not, several tensors, or a dictionary of them.  Gradient
            edges are accepted too, but only that of a leaf has a ``grad`` to accumulate into.

    Raises:
        RuntimeError: a tensor requires no gradient, a gradient is missing or has the wrong shape, the graph was
            freed, or a saved tensor was modified.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> numgrad.autograd.backward([(x**2).sum(), x.sum()])
        >>> x.grad
        tensor([3., 5.])
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    targets = None if inputs is None else _as_inputs(inputs, "backward")
    outputs = _as_tuple(tensors)
    roots = _roots(outputs, _as_gradients(grad_tensors, len(outputs)))
    keep = create_graph if retain_graph is None else retain_graph
    edges = None if targets is None else _edges(targets)
    if create_graph:
        warn_user(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak."
        )
    for tensor in targets or ():
        if is_tensor(tensor):
            tensor.retain_grad()  # no effect on a leaf
    run_backward(*roots, keep, create_graph, edges, True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of ``outputs``, weighted with ``grad_outputs`` and summed, with respect to ``inputs``.

    Nothing is accumulated in any ``grad``.

    Args:
        outputs: one tensor or several, or their gradient edges.
        inputs: one tensor or several, or their gradient edges, or a dictionary of tensors.
        grad_outputs: the gradient of each output, with its shape; None means 1 for an output of one element.
        retain_graph: keep the values saved for backward; defaults to ``create_graph``.
        create_graph: record the computation of the gradients, so that they can be differentiated.
        only_inputs: accepted for old programs; it has no effect.
        allow_unused: return None for an input that the outputs do not depend on instead of raising an error; defaults
            to ``materialize_grads``.
        is_grads_batched: each of ``grad_outputs`` has an additional first dimension, the batch of gradients, and so
            does each result.  One backward pass computes the whole batch, as under :func:`numgrad.vmap`; a graph with
            hooks or user-defined Functions takes one pass per gradient.
        materialize_grads: return zeros for an input that the outputs do not depend on.

    Returns:
        A tuple with one gradient per input; for a dictionary of inputs, a dictionary with the same keys.

    Raises:
        RuntimeError: as :func:`backward`, or an input is unused.
        ValueError: ``materialize_grads`` with ``allow_unused=False``; batches that are missing or differ in size.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> numgrad.autograd.grad((x**3).sum(), x)
        (tensor([ 3., 12.]),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    targets = (inputs,) if is_tensor(inputs) else _as_inputs(inputs, "grad")
    results = (outputs,) if is_tensor(outputs) else _as_tuple(outputs)
    vectors = _as_gradients(grad_outputs, len(results))
    keep = create_graph if retain_graph is None else retain_graph
    edges = _edges(targets)
    if is_grads_batched:
        gradients = _batched(results, vectors, edges, keep, create_graph)
    else:
        gradients = run_backward(*_roots(results, vectors), keep, create_graph, edges)
    for index, gradient in enumerate(gradients):
        if gradient is None:
            if materialize_grads:
                gradients[index] = _zeros_for(targets[index], create_graph)
            elif not allow_unused:
                raise _unused_error(index, edges[index])
    return dict(zip(inputs, gradients, strict=True)) if isinstance(inputs, dict) else tuple(gradients)


# -- arguments -----------------------------------------------------------------------------------------------


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return (values,) if is_tensor(values) or isinstance(values, GradientEdge) else tuple(values)


def _as_inputs(inputs: Any, caller: str) -> tuple[Any, ...]:
    targets = _as_tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if not targets:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    return targets


def _as_gradients(values: Any, count: int) -> tuple[Any, ...]:
    gradients = (None,) * count if values is None else _as_tuple(values)
    if len(gradients) != count:
        raise RuntimeError(f"got {count} tensors and {len(gradients)} gradients")
    return gradients


def _output(index: int, output: Any) -> Output:
    if is_tensor(output):
        edge = edge_of(output)
        leads_nowhere = edge is not None and edge[0].__class__ is DeadEnd
        return None if leads_nowhere else edge, output._layout
    if isinstance(output, GradientEdge):
        return _checked(output), output.node.output(output.output_nr)
    raise TypeError(f"element {index} of tensors must be a Tensor or a GradientEdge, not {type(output).__name__}")


def _roots(outputs: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[list[tuple[Node, int]], list[Any]]:
    """Return the edges where backward starts and their gradients."""
    roots, checked = [], []
    for index, output in enumerate(outputs):
        edge: Edge = getattr(output, "_edge", None)
        if edge is None or output._view is not None:
            edge, layout = _output(index, output)
        else:
            layout = output._layout
        if edge is None:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        gradient = gradients[index]
        if gradient is None:
            gradient = _implicit(layout)
        else:
            if getattr(gradient, "_layout", None) is not layout:
                gradient = _checked_gradient(index, gradient, layout)
            gradient._shared = gradient._shared or SHARED_OUTSIDE
        roots.append(edge)
        checked.append(gradient)
    return roots, checked


def _checked_gradient(index: int, gradient: Any, layout: Layout) -> Any:
    """Return the gradient given for an output of this layout, with a scalar moved to its device; strides may differ."""
    gradient_layout, type = check_gradient(gradient)._layout, layout.type
    if gradient_layout.shape != layout.shape:
        raise mismatch(index, gradient_layout.shape, layout.shape)
    if gradient_layout.type is not type and gradient_layout.type.dtype.is_complex != type.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
            f"in dtype: grad_output[{index}] has a dtype of {gradient.dtype} and output[{index}] has a "
            f"dtype of {type.dtype}."
        )
    if gradient_layout.type.device is type.device:
        return gradient
    if gradient_layout.shape:
        raise RuntimeError(
            f"invalid gradient at index {index} - expected device {type.device} but got {gradient.device}"
        )
    return gradient.to(type.device)


def _implicit(layout: Layout) -> Any:
    """Return the gradient of an output of one element with respect to itself."""
    shape, type = layout.shape, layout.type
    if layout.size != 1:
        error = RuntimeError("grad can be implicitly created only for scalar outputs")
        error.add_note(f"The output has the shape {list(shape)}: pass a gradient of that shape.")
        raise error
    if type.dtype.is_complex:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {type.dtype}")
    return operations.ones(shape, type)


def _edges(inputs: tuple[Any, ...]) -> list[tuple[Node, int]]:
    edges = []
    for index, value in enumerate(inputs):
        if is_tensor(value):
            edge = edge_of(value)
            if edge is None:
                raise RuntimeError(
                    f"One of the differentiated Tensors does not require grad (input {index}, of shape "
                    f"{list(value.shape)})"
                )
            edges.append(edge)
        elif isinstance(value, GradientEdge):
            edges.append(_checked(value))
        else:
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}")
    return edges


def _checked(edge: GradientEdge) -> tuple[Node, int]:
    if not isinstance(edge.node, Node):
        raise RuntimeError(
            f"GradientEdge's first object must be an autograd.graph.Node but got {type(edge.node).__name__}"
        )
    count = len(edge.node.outputs)
    if not isinstance(edge.output_nr, int) or not 0 <= edge.output_nr < count:
        raise RuntimeError(
            f"GradientEdge's output_nr must be one of the {count} of {edge.node.name()}, but is {edge.output_nr!r}"
        )
    return edge.node, edge.output_nr


# -- results -------------------------------------------------------------------------------------------------


def _zeros_for(value: Any, recorded: bool) -> Any:
    """Return the gradient of an input that the outputs do not depend on."""
    if not is_tensor(value):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros = operations.zeros(value._layout.shape, value._layout.type, value._layout.strides)
    zeros._requires_grad = recorded
    return zeros


def _unused_error(index: int, edge: tuple[Node, int]) -> RuntimeError:
    node, number = edge
    has_shape = number < len(node.outputs)
    shape = f" (It has the shape {list(node.output(number).shape)}.)" if has_shape else ""
    return RuntimeError(
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
        f"allow_unused=True if this is the desired behavior.{shape}"
    )


# -- batches -------------------------------------------------------------------------------------------------


def _batched(
    outputs: tuple[Any, ...], batches: tuple[Any, ...], edges: list[tuple[Node, int]], keep: bool, create_graph: bool
) -> list[Any]:
    """Return the stacked gradients for each gradient of the batch; None for an edge where none arrives."""
    count = _batch_size(outputs, batches)
    if not count:
        return [None] * len(edges)

    def run(*gradients: Any, keep: bool = keep) -> list[Any]:
        return run_backward(*_roots(outputs, gradients), keep, create_graph, edges)

    with set_grad_enabled(create_graph):  # indexing and stacking belong to the computation
        if count > 1 and _knows_batches(outputs):
            return operations.for_each(run, batches, count)
        rows = [run(*[batch[n] for batch in batches], keep=keep or n < count - 1) for n in range(count)]
        return [_stacked(edge, gradients) for edge, gradients in zip(edges, zip(*rows, strict=True), strict=True)]


def _knows_batches(outputs: tuple[Any, ...]) -> bool:
    """Return True if one pass can compute the batch: only operations of the table, no hooks and no watchers."""
    if state.mode & (ANOMALY | WATCHED):
        return False
    edges = [_output(index, output)[0] for index, output in enumerate(outputs)]
    for node in nodes_behind([edge[0] for edge in edges if edge is not None]):
        hooked = node.attached is not None and not node.attached.is_idle()
        if node.__class__ is AccumulateGrad:
            hooked = hooked or node.variable._hooks is not None
        if hooked or isinstance(node, BackwardCFunction) or PACKED in (getattr(node, "versions", None) or ()):
            return False
    return True


def _stacked(edge: tuple[Node, int], gradients: tuple[Any, ...]) -> Any:
    if all(gradient is None for gradient in gradients):
        return None
    layout = edge[0].output(edge[1])
    return operations.stack([operations.zeros(layout.shape, layout.type) if g is None else g for g in gradients])


def _batch_size(outputs: tuple[Any, ...], batches: tuple[Any, ...]) -> int:
    for index, batch in enumerate(batches):
        shape = _output(index, outputs[index])[1].shape
        if batch is None:
            raise ValueError(f"is_grads_batched=True needs a batch of gradients for each output, but [{index}] is None")
        if check_gradient(batch)._layout.shape[1:] != shape or not batch._layout.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{index}] has a shape of "
                f"torch.Size({list(batch.shape)}) and output[{index}] has a shape of torch.Size({list(shape)})."
            )
    sizes = [batch._layout.shape[0] for batch in batches]
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    if 0 in sizes:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0: the batch of gradients is empty")
    return sizes[0] if sizes else 0
