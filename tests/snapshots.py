"""What must be as it was before: the state of tensors around something that fails."""

from contextlib import contextmanager

import pytest


def state(tensor):
    """Everything that a failed operation could have changed about a tensor, its gradient and its place in the graph."""
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    node = tensor.grad_fn
    return {
        "elements": tensor.detach().numpy().tobytes(),
        "memory": tensor.data_ptr(),
        "layout": (tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype),
        "flags": (tensor.requires_grad, tensor.is_leaf, tensor._is_view()),
        "version": tensor._version,
        "graph": None if node is None else (node, node.next_functions),
        "grad": None if grad is None else (id(grad), grad.detach().numpy().tobytes(), grad._version),
    }


@contextmanager
def unchanged(*tensors):
    """The block leaves the tensors as they were."""
    before = [state(tensor) for tensor in tensors]
    yield
    assert [state(tensor) for tensor in tensors] == before


@contextmanager
def refused(error, tensors, *words):
    """The block raises ``error`` with all the ``words`` in its message, and leaves the tensors as they were."""
    with unchanged(*tensors):
        with pytest.raises(error) as caught:
            yield
        for word in words:
            assert word in str(caught.value)
