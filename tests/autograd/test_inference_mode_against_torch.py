"""Programs with inference mode: they have the same results and errors with PyTorch and with numgrad."""

import pytest
from autograd_programs import Programs, assert_same, leaf

pytestmark = pytest.mark.torch

program = Programs()


def frozen(m, *shape):
    with m.inference_mode():
        return m.ones(shape or (2,))


@program
def what_is_made_in_inference_mode(m, show):
    n = m.ones(2, 2)
    with m.inference_mode():
        for make in (
            lambda: m.zeros(2), lambda: m.tensor([1.0]), lambda: m.arange(3), lambda: m.rand(2), lambda: n + 1,
            lambda: n.sum(), lambda: n @ n, lambda: n[0], lambda: n[[0]], lambda: n.t(), lambda: n.view(4),
            lambda: n.reshape(4), lambda: n.t().reshape(4), lambda: n.detach(), lambda: n.data, lambda: n.clone(),
            lambda: n.contiguous(), lambda: n.float(), lambda: n.double(), lambda: n.add_(1), lambda: n.split(1)[0],
            lambda: n.max(0)[1], lambda: n.diagonal(), lambda: n[n > 0], lambda: n.expand(2, 2, 2), lambda: +n,
            lambda: m.nn.Parameter(m.ones(1)), lambda: m.nn.Parameter(n), lambda: m.cat([n, n]), lambda: n.new_ones(1),
            lambda: m.add(n, 1, out=m.empty(2, 2)), lambda: m.add(n, 1, out=n), lambda: n.flatten(), lambda: abs(n),
        ):
            show(make().is_inference())
    show(n, n._version)


@program
def inference_tensors_outside(m, show):
    t = frozen(m, 2, 2)
    for make in (
        lambda: t, lambda: t + 1, lambda: t[0], lambda: t.t(), lambda: t.view(4), lambda: t.reshape(4),
        lambda: t.t().reshape(4), lambda: t.detach(), lambda: t.data, lambda: t.clone(), lambda: t.contiguous(),
        lambda: t.double(), lambda: t.float(), lambda: t.split(1)[0], lambda: t[[0]], lambda: t.sum(), lambda: t @ t,
        lambda: t.new_ones(1), lambda: m.zeros_like(t), lambda: m.as_tensor(t), lambda: t.requires_grad_(False),
    ):
        show(make(), make().is_inference(), m.is_inference(make()))
    show(t.requires_grad, t.is_leaf, t.grad_fn, t.grad, t.output_nr, t.tolist(), t.numpy())


@program
def versions(m, show):
    frozen(m)._version  # noqa: B018


@program
def versions_inside(m, show):
    with m.inference_mode():
        m.ones(2)._version  # noqa: B018


@program
def requiring_a_gradient(m, show):
    t = frozen(m)
    with m.inference_mode():
        t.requires_grad_()
        show(t, t * 2, (t * 2).is_leaf)
    (t * 2).sum().backward()
    show(t.grad, t.grad.is_inference())
    t.requires_grad = False
    t.requires_grad = True


@program
def parameters_of_inference_tensors(m, show):
    show(m.nn.Parameter(frozen(m), requires_grad=False))
    m.nn.Parameter(frozen(m))


@program
def changing_inference_tensors(m, show):
    t = frozen(m, 2, 2)
    changes = (
        lambda: t.add_(1), lambda: t.mul_(t), lambda: t.zero_(), lambda: t.fill_(2), lambda: t.copy_(m.ones(2, 2)),
        lambda: t.__setitem__(0, 5.0), lambda: t.__setitem__(t > 0, 5.0), lambda: t.masked_fill_(t > 0, 1.0),
        lambda: t.cumsum_(0), lambda: t.clamp_(0, 1), lambda: t[0].add_(1), lambda: m.add(t, 1, out=t),
        lambda: m.nn.init.ones_(t), lambda: t.uniform_(), lambda: t.normal_(), lambda: t.bernoulli_(),
        lambda: t.index_add_(0, m.tensor([0]), m.ones(1, 2)), lambda: t.scatter_(0, m.tensor([[0]]), 1.0),
    )
    for change in changes:
        for block in (m.enable_grad, m.no_grad, lambda: m.inference_mode(False)):
            with block():
                try:
                    change()
                    show("changed")
                except RuntimeError as error:
                    show(error)
        with m.inference_mode():
            change()
    show(t.shape)


@program
def saving_inference_tensors(m, show):
    x, t = leaf(m), frozen(m)
    with m.inference_mode():
        index, matrix = m.tensor([0, 1]), m.ones(2, 2)
    for compute in (
        lambda: x + t, lambda: t - x, lambda: x * t, lambda: t * x, lambda: x / t, lambda: t / x, lambda: x**t,
        lambda: (x + t).exp(), lambda: x.dot(t), lambda: matrix @ x, lambda: x @ matrix, lambda: x * t.clone(),
        lambda: x * (t + 0), lambda: x * t[0], lambda: x[index], lambda: x.gather(0, index), lambda: m.cat([x, t]),
        lambda: m.where(t > 0, x, 0.0), lambda: x.masked_fill(t > 0, 0.0), lambda: x.clone().add_(t),
        lambda: x.clone().mul_(t), lambda: x.clone().copy_(t) + x, lambda: m.nn.functional.mse_loss(x, t),
        lambda: m.nn.functional.linear(x, matrix), lambda: m.nn.functional.cross_entropy(x.view(1, 2), index[:1]),
    ):
        try:
            y = compute()
            show(y, y.is_inference())
        except RuntimeError as error:
            show(error)
        with m.no_grad():
            show(compute())


@program
def views_made_in_inference_mode(m, show):
    n = m.zeros(2)
    with m.inference_mode():
        view = n[:1]
        view.add_(1)
        show(view._is_view(), view._base is n, view._version, n._version)
    view.add_(1)
    show(n)
    view.add_(leaf(m, 1.0))


@program
def views_made_in_inference_mode_of_a_leaf(m, show):
    x = leaf(m)
    with m.inference_mode():
        view = x[:1]
        view.add_(1)
        x.add_(1)
        show(x)
    view.add_(1)


@program
def normal_tensors_changed_in_inference_mode(m, show):
    x = leaf(m)
    y = x * x
    with m.inference_mode():
        x.add_(1)
        show(x, x._version, y.grad_fn is not None, y.requires_grad)
    y.sum().backward()


@program
def data_assigned_in_inference_mode(m, show):
    n, p = m.ones(2), m.nn.Parameter(m.ones(2))
    with m.inference_mode():
        n.data = m.zeros(3)
        show(n, n.is_inference())
    p.data = frozen(m)
    show(p, p.is_inference())
    p.data = m.ones(1)
    show(p)


@program
def backward_in_inference_mode(m, show):
    x = leaf(m)
    x.register_hook(lambda g: show(m.is_grad_enabled(), m.is_inference_mode_enabled(), g.is_inference()))
    first, second = (x * x).sum(), (x * x).sum()
    with m.inference_mode():
        gradient, = m.autograd.grad(first, x, create_graph=True)
        show(gradient, gradient.is_inference())
        second.backward()
    show(x.grad, x.grad.is_inference())
    (x * x).sum().backward()


@program
def backward_with_inference_tensors(m, show):
    x = leaf(m)
    (x * x).backward(frozen(m))
    show(x.grad, x.grad.is_inference())
    show(m.autograd.grad(x + 1, x, frozen(m))[0].is_inference())
    x.grad = frozen(m)
    (x * x).sum().backward()


@program
def nothing_to_go_back_through(m, show):
    with m.inference_mode():
        x = leaf(m)
        (x * x).sum().backward()


@program
def functions(m, show):
    class Product(m.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            show(m.is_grad_enabled(), m.is_inference_mode_enabled())
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    x = leaf(m)
    with m.inference_mode():
        show(Product.apply(x, x))
    show(Product.apply(m.ones(2), frozen(m)))
    Product.apply(x, frozen(m))


@program
def optimizers(m, show):
    for make in (
        lambda p: m.optim.SGD(p, 0.1), lambda p: m.optim.SGD(p, 0.1, momentum=0.9), lambda p: m.optim.Adam(p),
        lambda p: m.optim.RMSprop(p), lambda p: m.optim.Adagrad(p),
    ):
        x = leaf(m)
        optimizer = make([x])
        (x * x).sum().backward()
        with m.inference_mode():
            optimizer.step()
        show(x, x.is_inference(), x._version)
        try:
            optimizer.step()
            show(x)
        except RuntimeError as error:
            show(error)


@program
def modules(m, show):
    with m.inference_mode():
        layer = m.nn.Linear(2, 1)
    show([p.is_inference() for p in layer.parameters()], layer(m.ones(1, 2)).is_inference())
    other = m.nn.Linear(2, 1)
    other.load_state_dict(layer.state_dict())
    show([p.is_inference() for p in other.parameters()])
    layer.load_state_dict(other.state_dict())


@pytest.mark.parametrize("function", program)
def test_same_text_and_same_error(function):
    assert_same(function)
