"""Ownership of gradients: the memory of ``grad`` belongs to the leaf alone.

The engine passes gradients on without copying where it can.  In each test here, other code holds one of them.
"""

import numpy as np
import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import grad


def shared(*tensors):
    """Return True if any two of the tensors have memory in common."""
    arrays = [t.detach().numpy() for t in tensors]
    return any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


#: Functions whose rule hands on the gradient it is given, or a part or another view of it.
PASSING = {
    "itself": lambda x: x,
    "add": lambda x: x + 1.0,
    "add twice": lambda x: (x + 1.0) + 2.0,
    "clone": lambda x: x.clone(),
    "view": lambda x: x.view(4),
    "transposed": lambda x: x.t(),
    "view of a sum": lambda x: (x + 1.0).view(1, 4),
    "one part": lambda x: numgrad.cat([x]),
    "in place": lambda x: (x * 1.0).add_(1.0),
    "overwritten": lambda x: numgrad.zeros(2, 2).copy_(x),
    "converted": lambda x: x.double().float(),
}


@pytest.fixture
def x():
    return tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@pytest.mark.parametrize("function", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_is_not_the_gradient_passed_in(x, function, create_graph):
    y = function(x)
    given = ones(y.shape)
    y.backward(given, create_graph=create_graph)
    assert not shared(x.grad, given)
    (x * 2).sum().backward()  # adds in place
    assert given.tolist() == ones(y.shape).tolist()
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    x.grad = None


#: Ways to keep the gradients that pass by: of ``x``, of ``y = x * 1.0`` and of ``z``, which is made of ``y``.
KEEPING = {
    "leaf": lambda x, y, z, held: x.register_hook(held.append),
    "accumulation": lambda x, y, z, held: y.grad_fn.next_functions[0][0].register_prehook(held.extend),
    "result": lambda x, y, z, held: y.register_hook(held.append),
    "last result": lambda x, y, z, held: z.register_hook(held.append),
    "before a node": lambda x, y, z, held: z.grad_fn.register_prehook(held.extend),
    "after a node": lambda x, y, z, held: z.grad_fn.register_hook(lambda inputs, outputs: held.extend(inputs)),
    "after the first node": lambda x, y, z, held: y.grad_fn.register_hook(lambda ins, outs: held.extend(ins[:1])),
}


@pytest.mark.parametrize("function", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("keep", KEEPING.values(), ids=KEEPING)
def test_grad_is_not_what_a_hook_saw(x, function, keep):
    y = x * 1.0
    z = function(y)
    held = []
    keep(x, y, z, held)
    (z * 1.0).sum().backward()
    held = [g for g in held if g is not None]
    assert held
    assert not any(shared(x.grad, g) for g in held)
    before = [g.tolist() for g in held]
    (x * 2).sum().backward()
    assert [g.tolist() for g in held[: len(before)]] == before


def test_grad_is_not_what_a_hook_returned(x):
    given = ones(2, 2)
    for y in (x * 1.0, x):
        y.register_hook(lambda g: given)
    (x * 1.0).sum().backward()
    assert not shared(x.grad, given)


def test_a_retained_gradient_is_nobody_elses(x):
    y = x + 1.0
    y.retain_grad()
    x.retain_grad()
    given = ones(2, 2)
    y.backward(given)
    assert not shared(y.grad, given, x.grad)


@pytest.mark.parametrize("function", [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: (a + b) + (a + b), lambda a, b: a.add(b, alpha=1),
    lambda a, b: numgrad.cat([a, b]), lambda a, b: numgrad.stack([a, b]), lambda a, b: a + b.view(1, 3),
    lambda a, b: numgrad.where(tensor([True, False, True]), a, b), lambda a, b: (a * 1.0).add_(b),
], ids=["add", "sub", "twice", "alpha", "cat", "stack", "broadcast", "where", "in place"])
def test_two_leaves_do_not_share(function):
    a = tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = tensor([4.0, 5.0, 6.0], requires_grad=True)
    y = function(a, b)
    y.backward(ones(y.shape))
    assert not shared(a.grad, b.grad)
    before = b.grad.tolist()
    (a * 2).sum().backward()
    assert b.grad.tolist() == before


def test_two_leaves_of_a_user_function_do_not_share():
    class Sum(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

    a, b = ones(3, requires_grad=True), ones(3, requires_grad=True)
    given = ones(3)
    Sum.apply(a, b).backward(given)
    assert not shared(a.grad, b.grad, given)


def test_grad_is_not_a_tensor_that_a_user_function_keeps():
    kept = tensor([5.0, 6.0])

    class Weighted(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(kept)
            return (x * kept).sum()

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0]

    x = ones(2, requires_grad=True)
    for _ in range(3):
        Weighted.apply(x).backward()
    assert kept.tolist() == [5.0, 6.0]
    assert x.grad.tolist() == [15.0, 18.0]


def test_grad_is_not_what_a_function_kept_while_it_wrote_to_a_view():
    kept = tensor([5.0, 6.0])

    class Scale(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            x.mul_(w)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g, kept

    buffer, w = numgrad.zeros(3), ones(2, requires_grad=True)
    Scale.apply(buffer[1:], w)
    buffer.sum().backward()
    assert w.grad.tolist() == [5.0, 6.0]
    assert not shared(w.grad, kept)


def test_grad_is_not_an_operand(x):
    other = tensor([[5.0, 6.0], [7.0, 8.0]])
    (x * other).sum().backward()
    assert not shared(x.grad, other)
    (x * other).sum().backward()
    assert other.tolist() == [[5.0, 6.0], [7.0, 8.0]]


def test_sums_on_the_way_do_not_change_what_is_held(x):
    # The gradient of y is the sum of three; the first that arrives is also seen by a hook, and handed on elsewhere.
    other = ones(2, 2, requires_grad=True)
    y = x * 1.0
    branch = y + other
    held = []
    branch.register_hook(held.append)
    (y * 2 + branch + y * 3).sum().backward()
    assert held[0].tolist() == other.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert x.grad.tolist() == [[6.0, 6.0], [6.0, 6.0]]


def test_results_of_grad_stay_as_they_are(x):
    y = x * 1.0
    at_y, at_x = grad((y * y).sum(), [y, x], retain_graph=True)
    before = at_y.tolist(), at_x.tolist()
    (y * y).sum().backward()
    (x * 3).backward(at_y)
    assert (at_y.tolist(), at_x.tolist()) == before


def test_an_expanded_gradient_is_written_out():
    x = ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad.stride() == (1,)
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


@pytest.mark.parametrize("make", [lambda: ones(3, 2).t(), lambda: ones(4, 6)[::2, ::2], lambda: ones(3).expand(2, 3)])
@pytest.mark.parametrize("function", [lambda x: x, lambda x: x + 1.0, lambda x: x.t().t()])
@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_of_a_leaf_of_another_layout_is_not_the_gradient_passed_in(make, function, create_graph):
    x = make().detach().requires_grad_()
    for given in (ones(2, 3), ones(3, 2).t(), make(), ones(3).expand(2, 3)):
        function(x).backward(given, create_graph=create_graph)
        assert not shared(x.grad, given)
        x.grad = None


def test_a_batch_of_results_is_nobody_elses():
    x = ones(2, requires_grad=True)
    vectors = tensor([[1.0, 2.0], [3.0, 4.0]])
    first, second = grad([x, x + 1.0], [x, x], [vectors, vectors], is_grads_batched=True)
    assert not shared(first, vectors)
    first.zero_()
    assert second.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert vectors.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_grads_added_in_place_do_not_change_what_was_captured():
    x = ones(2, requires_grad=True)
    edge = numgrad.autograd.graph.get_gradient_edge(x)
    for target in (x, edge):
        (captured,) = grad(x * 3, target, ones(2))
        x.grad = captured.clone()
        (x * 3).backward(captured)
        assert captured.tolist() == [3.0, 3.0]


def test_nothing_is_added_to_elements_that_share_memory():
    for _ in range(3):  # the launcher that adds is kept from the second use on
        x = ones(3, requires_grad=True)
        x.grad = numgrad.zeros(1).expand(3).detach()
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.sum().backward()
