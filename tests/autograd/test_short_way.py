"""Backward over bare rows of elements: no tensors on the way, and nothing that nobody asked for is kept."""

import tracemalloc

import numgrad
from numgrad import ones
from numgrad.autograd.operations import operations


def leaf(size):
    return ones(size, requires_grad=True)


def test_gradients_that_nobody_asked_for_do_not_wait_either():
    """``grad`` keeps nothing for the operations that do not lead to its inputs."""
    depth, size = 50, 5_000
    w = ones(size, requires_grad=True)
    h, total = leaf(size), 0
    for _ in range(depth):
        h = h.tanh()
        total = total + (h * w).sum()
    numgrad.autograd.grad(total, w, retain_graph=True)  # which loads the kernels
    tracemalloc.start()
    try:
        found, = numgrad.autograd.grad(total, w, retain_graph=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape == (size,)
    assert peak < 8 * found.nbytes


def test_grad_goes_the_same_short_way_as_backward(monkeypatch):
    """Rows, not tensors, are handed from node to node, whichever function asks for the gradients."""
    made = []
    count = operations.tensor
    monkeypatch.setattr(operations, "tensor", lambda *arguments: made.append(1) or count(*arguments))
    x = leaf(3)

    def chain():
        y = x
        for _ in range(100):
            y = y * 1.5
        return y.sum()

    for go in (
        lambda: chain().backward(), lambda: chain().backward(inputs=[x]), lambda: numgrad.autograd.grad(chain(), x),
    ):
        made.clear()
        go()
        assert len(made) < 5


def test_a_hook_that_was_removed_leaves_nothing_behind(monkeypatch):
    made = []
    count = operations.tensor
    monkeypatch.setattr(operations, "tensor", lambda *arguments: made.append(1) or count(*arguments))
    x = leaf(3)
    y = x
    for _ in range(100):
        y = y * 1.5
        y.register_hook(lambda g: g).remove()
        y.grad_fn.register_prehook(lambda gradients: None).remove()
        y.grad_fn.metadata["kept"] = True
    y.sum().backward()
    assert len(made) < 5
