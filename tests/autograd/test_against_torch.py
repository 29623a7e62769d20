"""Programs of gradients, hooks and changes: they have the same results and errors with PyTorch and with numgrad."""

import threading

import pytest
from autograd_programs import Programs, assert_same, leaf

pytestmark = pytest.mark.torch

program = Programs()


# --- backward and grad ------------------------------------------------------------------


@program
def accumulation(m, show):
    x = leaf(m)
    y = (x * x + x * 3).sum()
    show(x, y, y.grad_fn, x.grad)
    y.backward(retain_graph=True)
    show(x.grad)
    y.backward()
    show(x.grad, x.grad.requires_grad)
    y.backward()


@program
def grad_of_everything(m, show):
    x, unused = leaf(m), leaf(m)
    y = x * 3
    z = y * y
    show(m.autograd.grad(z, [x, y, z], m.tensor([1.0, 2.0]), retain_graph=True))
    show(m.autograd.grad(z.sum(), [x, unused], allow_unused=True, retain_graph=True))
    show(m.autograd.grad(z.sum(), [x, unused], materialize_grads=True))
    show(x.grad, unused.grad)


@program
def higher_derivatives(m, show):
    x = leaf(m, 0.5, -1.5)
    value = (x.exp() * x**3 / (x + 3)).sum()
    for _ in range(3):
        (first,) = m.autograd.grad(value, x, create_graph=True)
        show(first.detach(), first.requires_grad)
        value = first.sum()


@program
def hessian_vector_product(m, show):
    x = leaf(m, 1.0, 2.0, 3.0)
    (first,) = m.autograd.grad((x * x * x[0]).sum(), x, create_graph=True)
    show(m.autograd.grad(first, x, m.tensor([1.0, 0.0, 2.0])))


@program
def into_inputs(m, show):
    x, w = leaf(m), leaf(m)
    y = x * w
    (y * y).sum().backward(inputs=[x, y])
    show(x.grad, w.grad, y.grad)
    (x * 2).sum().backward(inputs=[w])
    show(w.grad)
    m.autograd.grad(x.sum(), m.ones(2))


@program
def gradients_of_another_dtype(m, show):
    x = leaf(m)
    (x * 2).backward(m.tensor([1.0, 3.0], dtype=m.float64))
    show(x.grad, x.grad.dtype)
    w = m.ones(2, dtype=m.float64, requires_grad=True)
    (x * w).sum().backward()
    show(x.grad, w.grad)


@program
def not_a_scalar(m, show):
    (leaf(m) * 2).backward()


@program
def no_graph(m, show):
    m.ones(2).sum().backward()


@program
def wrong_shape(m, show):
    m.autograd.grad(leaf(m) * 2, leaf(m), m.ones(3))


@program
def wrong_count(m, show):
    m.autograd.grad([leaf(m) * 2, leaf(m) * 3], leaf(m), [m.ones(2)])


@program
def integers(m, show):
    m.tensor([1, 2]).requires_grad_()


@program
def changing_a_result(m, show):
    (leaf(m) * 2).requires_grad = False


@program
def own_gradient(m, show):
    x = leaf(m)
    x.grad = x


# --- the graph --------------------------------------------------------------------------


@program
def names(m, show):
    x = m.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for y in (
        x + 1, x * 2, x / x, x**2, x @ x, x[0] @ x, x[0], x[:, 1:], x.t(), x.sum(), x.sum(1), x.mean(), x.max(), -x,
        (x * 0).exp(), x.view(4), x.expand(3, 2, 2), x.softmax(0), m.cat([x, x]), x.clone(),
        x.double(),
    ):
        show(y, y.grad_fn, type(y.grad_fn).__name__, y.grad_fn.name())
        show([(type(node).__name__, number) for node, number in y.grad_fn.next_functions][:1])


@program
def nodes(m, show):
    x = leaf(m)
    y = x * 3
    node = y.grad_fn
    show(node.next_functions, node.next_functions[0][0].variable is x, node.metadata, node.requires_grad)
    show(node(m.ones(2)), x.grad)
    show(x.exp().grad_fn._saved_result, (x**2).grad_fn._saved_exponent, (x**2).grad_fn._saved_self is x)
    y.sum().backward()
    node(m.ones(2))


@program
def saved_and_freed(m, show):
    y = leaf(m).exp()
    show(y.grad_fn._saved_result)
    y.sum().backward()
    show(y.grad_fn._saved_result)


# --- hooks ------------------------------------------------------------------------------


@program
def hooks(m, show):
    x = leaf(m)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: show("y", g))
    x.register_hook(lambda g: show("x", g))
    y.grad_fn.register_hook(lambda inputs, outputs: show("after", inputs, outputs))
    y.grad_fn.register_prehook(lambda outputs: show("before", outputs))
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    show(x.grad, y.grad)
    handle.remove()
    y.sum().backward()
    show(x.grad, y.grad)


@program
def hooks_and_changes(m, show):
    y = leaf(m) * 2
    y.retain_grad()
    y.register_hook(lambda g: show("old", g))
    y.mul_(3)
    y.register_hook(lambda g: show("new", g))
    show(y.retains_grad)
    (y * y).sum().backward()
    show(y.grad)


@program
def hook_of_wrong_shape(m, show):
    def wide(g):
        return m.ones(3)

    y = leaf(m) * 2
    y.register_hook(wide)
    y.sum().backward()


@program
def hook_without_graph(m, show):
    m.ones(2).register_hook(print)


# --- modes ------------------------------------------------------------------------------


@program
def modes(m, show):
    x = leaf(m)

    @m.no_grad()
    def plain():
        return x * 2

    @m.enable_grad()
    def recorded():
        return x * 2

    @m.no_grad()
    def generator():
        while (yield m.is_grad_enabled()):
            pass

    with m.no_grad():
        show(plain(), recorded(), x * 2, m.is_grad_enabled())
        with m.set_grad_enabled(True):
            show(x * 2)
    iterator = generator()
    show(plain(), next(iterator), iterator.send(1), m.is_grad_enabled())
    m.set_grad_enabled(False)
    show(x * 2)
    thread = threading.Thread(target=lambda: show(m.is_grad_enabled()))
    thread.start()
    thread.join()


# --- in place ---------------------------------------------------------------------------


@program
def in_place(m, show):
    x, w = leaf(m), leaf(m, 3.0, 5.0)
    y = x * 1
    for change in (
        lambda: y.mul_(w), lambda: y.add_(w, alpha=3), lambda: y.pow_(2), lambda: y.sub_(1), lambda: y.div_(w),
        lambda: y.neg_(), lambda: y.__setitem__(0, w[1]), lambda: y.copy_(y.detach() * w),
    ):
        change()
        show(y, y._version)
        show(m.autograd.grad((y * m.tensor([1.0, 2.0])).sum(), [x, w], retain_graph=True, allow_unused=True))


@program
def in_place_on_views(m, show):
    x = m.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    base = x * 2
    row, column = base[0], base[:, 1]
    row.mul_(3)
    column.add_(row.sum())
    show(base, row, column, base._version, row.grad_fn, column.is_leaf)
    (base.sum() + (row * column[0]).sum()).backward()
    show(x.grad)


@program
def into_a_buffer(m, show):
    x, buffer = leaf(m), m.zeros(2, 2)
    part = buffer[1]
    buffer[0] = x
    buffer[1] = x * x
    show(buffer, part, buffer.requires_grad, part.requires_grad)
    (buffer * buffer).sum().backward()
    show(x.grad)


@program
def modified(m, show):
    y = leaf(m) * 1
    z = y * y
    y.detach().add_(1)
    show(y._version)
    z.sum().backward()


@program
def leaf_in_place(m, show):
    leaf(m).add_(1)


@program
def view_of_leaf_in_place(m, show):
    leaf(m)[0] = 3.0


@program
def view_without_recording(m, show):
    y = leaf(m) * 1
    with m.no_grad():
        view = y[0]
    view.add_(1)


@program
def expanded(m, show):
    m.zeros(1).expand(3).add_(1)


@program
def overlapping(m, show):
    x = m.arange(5.0)
    x[1:].add_(x[:-1])


@program
def too_small(m, show):
    m.zeros(3).add_(m.zeros(2, 3))


@program
def floats_into_integers(m, show):
    m.zeros(3, dtype=m.int64).add_(0.5)


@program
def detached_view(m, show):
    (leaf(m) * 1)[0].detach_()


@pytest.mark.parametrize("function", program)
def test_same_text_and_same_error(function):
    assert_same(function)
