"""Snapshots of the state of tensors, and of a graph, that a failure must leave unchanged."""

from contextlib import contextmanager

import pytest

from numgrad import ones, tensor, zeros


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


class Scene:
    """A leaf with a gradient, and a graph on it that has saved the leaf, a result and a view."""

    def __init__(self):
        self.leaf = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        self.leaf.grad = ones(2, 3)
        self.plain = zeros(2, 3)
        self.square = self.leaf * self.leaf
        self.root = self.square.sqrt()
        self.row = self.root[0]
        self.loss = (self.row * self.square).sum()
        self.all = [self.leaf, self.plain, self.square, self.root, self.row, self.loss]

    def check_backward(self):
        self.loss.backward()
        top, bottom = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]  # top * top**2 + top * bottom**2
        expected = [[1 + 3 * a * a + b * b for a, b in zip(top, bottom, strict=True)]]
        expected += [[1 + 2 * a * b for a, b in zip(top, bottom, strict=True)]]
        assert self.leaf.grad.tolist() == expected
