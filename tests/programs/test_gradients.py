"""Backward through compiled functions: of some results, in any order, again, of gradients and of arguments."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

import pytest
from programs.comparison import compared_with_eager, ramp

import numgrad


@compared_with_eager
def test_partial_gradients(compiled, see):
    a = numgrad.ones(3, requires_grad=True)
    b = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * a, x * b))
    for i in range(6):
        a.grad = b.grad = None
        y, z = f(ramp(3) + i)
        (y.sum() if i in (1, 3) else z.sum() if i == 4 else (y + z).sum()).backward()
        see(a.grad, b.grad)


@compared_with_eager
def test_partial_gradients_inf(compiled, see):
    a = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * a, numgrad.log(a - 1)))
    for i in range(4):
        a.grad = None
        y, z = f(ramp(3) + i)
        (y.sum() if i else y.sum() + z.sum()).backward()
        see(a.grad)


@compared_with_eager
def test_gradient_is_input(compiled, see):
    f = compiled(lambda x: x * x)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y = f(x)
        y.backward(x.detach() if i < 2 else numgrad.ones(3) * i)
        see(x.grad)


@compared_with_eager
def test_gradient_is_result(compiled, see):
    f = compiled(lambda x: numgrad.exp(x))
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y = f(x)
        y.backward(y.detach() if i < 2 else numgrad.ones(3) * i)
        see(x.grad)


@compared_with_eager
def test_gradients_alias(compiled, see):
    f = compiled(lambda x: (x * x, x * 3))
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y, z = f(x)
        g = numgrad.ones(3) * 2
        numgrad.autograd.backward([y, z], [g, g] if i < 2 else [g, g * i])
        see(x.grad)


@compared_with_eager
def test_gradients_cat(compiled, see):
    f = compiled(lambda x: (x * x, x * 3))
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y, z = f(x)
        if i < 2:
            (numgrad.cat([y, z]) * ramp(6)).sum().backward()
        else:
            ((y * ramp(3)).sum() + (z * ramp(3) * i).sum()).backward()
        see(x.grad)


@compared_with_eager
def test_gradients_cat_reversed(compiled, see):
    f = compiled(lambda x: (x * x, x * 3))
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y, z = f(x)
        if i != 2:
            (numgrad.cat([z, y]) * ramp(6)).sum().backward()
        else:
            ((y * ramp(3)).sum() + (z * ramp(3) * i).sum()).backward()
        see(x.grad)


@compared_with_eager
def test_gradient_is_weight(compiled, see):
    w = numgrad.ones(3) * 2
    f = compiled(lambda x: x * w)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y = f(x)
        y.backward(w if i < 2 else numgrad.ones(3) * i)
        see(x.grad)


@compared_with_eager(falls_back=True)
def test_hook_on_temp(compiled, see):
    seen = []

    def g(x):
        y = x * x
        y.register_hook(lambda q: seen.append(float(q.sum())))
        return y.sum()

    f = compiled(g)
    for i in range(4):
        x = (ramp(3) + i).requires_grad_()
        f(x).backward()
        see(x.grad, list(seen))


@compared_with_eager
def test_hook_on_temp_pure(compiled, see):

    def g(x):
        y = x * x
        y.register_hook(lambda q: q * 3)
        return y.sum()

    f = compiled(g)
    for i in range(4):
        x = (ramp(3) + i).requires_grad_()
        f(x).backward()
        see(x.grad)


@compared_with_eager
def test_backward_orders(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w * w).exp())
    for r in range(3):
        ys = [f(ramp(3) + i) for i in range(4)]
        for i in (2, 0, 3, 1):
            w.grad = None
            ys[i].sum().backward()
            see(w.grad)


@compared_with_eager
def test_backward_twice(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w * w).exp())
    for r in range(4):
        y = f(ramp(3))
        y.sum().backward(retain_graph=True)
        see(w.grad)
        y.sum().backward()
        see(w.grad)
        try:
            y.sum().backward()
            see("no")
        except RuntimeError as e:
            see(str(e)[:60])


@compared_with_eager
def test_create_graph(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w * w).exp())
    for r in range(4):
        x = (ramp(3) + r).requires_grad_()
        y = f(x)
        (g,) = numgrad.autograd.grad(y.sum(), w, create_graph=True)
        h, k = numgrad.autograd.grad(g.pow(2).sum(), (w, x))
        see(y, g, h, k)
        y = f(x)
        y.sum().backward()
        see(w.grad)


@compared_with_eager
def test_create_graph_global_changed(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w * w).exp())
    for r in range(4):
        y = f(ramp(3))
        with numgrad.no_grad():
            w.add_(0.1)
        try:
            (g,) = numgrad.autograd.grad(y.sum(), w, create_graph=True)
            see(g)
        except RuntimeError as e:
            see("error", str(e)[:30])


@compared_with_eager
def test_saved_modified(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w).exp())
    for r in range(4):
        x = ramp(3)
        y = f(x)
        if r != 2:
            (x if r % 2 else y).add_(1)
        try:
            y.sum().backward()
            see(w.grad)
        except RuntimeError as e:
            see("error", str(e)[:30])


@compared_with_eager
def test_unused_modified(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    b = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: x * w + b)
    for r in range(4):
        x = ramp(3)
        y = f(x)
        with numgrad.no_grad():
            b.add_(1)
        y.add_(1)
        y.sum().backward()
        see(w.grad, b.grad)


@compared_with_eager
def test_create_graph_after_another_backward(compiled, see):
    w = numgrad.ones(2, requires_grad=True)
    f = compiled(lambda x: (x * x * w).sum())
    for _ in range(5):
        x = (ramp(2) + 3).requires_grad_()
        y, z = f(x), f(x * 2)
        z.backward()  # w has a gradient now
        (g,) = numgrad.autograd.grad(y, x, create_graph=True)
        see(g, *numgrad.autograd.grad((g * g).sum(), x))
        w.grad = None


@compared_with_eager
def test_arg_grad_read(compiled, see):

    def g(p):
        with numgrad.no_grad():
            p.sub_(0.1 * p.grad)

    f = compiled(g)
    p = numgrad.ones(3, requires_grad=True)
    for i in range(5):
        p.grad = None
        (p * p * i).sum().backward()
        f(p)
        see(p, p.grad)


@compared_with_eager
def test_arg_grad_read_norequire(compiled, see):

    def g(p):
        return p - p.grad

    f = compiled(g)
    for i in range(4):
        p = ramp(3)
        p.grad = numgrad.ones(3) * i
        see(f(p))


@compared_with_eager
def test_arg_grad_returned(compiled, see):
    functions = [compiled(f) for f in (lambda p: p.grad, lambda p: (p.grad[1:], p * 2), lambda p: p.grad.detach())]
    for number in range(12):
        p = ramp(3)
        p.grad = numgrad.full((3,), float(number))
        results = [f(p) for f in functions]
        see(*results, results[0] is p.grad)


@compared_with_eager
def test_arg_list_grad(compiled, see):

    def g(ps):
        with numgrad.no_grad():
            for p in ps:
                p.sub_(0.1 * p.grad)

    f = compiled(g)
    p = [numgrad.ones(3, requires_grad=True), numgrad.ones(2, requires_grad=True)]
    for i in range(5):
        for q in p:
            q.grad = None
        (p[0].sum() * p[1].sum() * i).backward()
        f(p)
        see(p, [q.grad for q in p])


@compared_with_eager
def test_arg_grad_accumulated(compiled, see):

    def g(x):
        (x * x).sum().backward()

    f = compiled(g)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        x.grad = numgrad.ones(3) * i
        h = x.grad
        f(x)
        see(x.grad, h, h is x.grad)


@compared_with_eager
def test_arg_grad_none(compiled, see):

    def g(x):
        (x * x).sum().backward()

    f = compiled(g)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        f(x)
        see(x.grad)


@pytest.mark.filterwarnings("ignore:grad and param do not obey")
@compared_with_eager
def test_arg_grad_layout(compiled, see):

    def g(x):
        (x * x).sum().backward()

    f = compiled(g)
    for i in range(3):
        x = (ramp(3, 3) + i).requires_grad_()
        x.grad = numgrad.ones(3, 3).t() if i else numgrad.ones(3, 3)
        f(x)
        see(x.grad)


@compared_with_eager
def test_a_result_without_elements_on_memory_that_backward_needs(compiled, see):
    def parts(x):
        copied = x.contiguous()
        return copied[2:2], copied.max()

    call = compiled(parts)
    for _ in range(5):
        x = numgrad.randn(2, 2, 4)[..., ::2].requires_grad_()
        empty, largest = call(x)
        (empty.sum() + largest * 2).backward()
        see(empty, largest, x.grad, empty.storage_offset())


@compared_with_eager
def test_arguments_without_elements(compiled, see):
    call = compiled(lambda x: (x[:0], x.sum(), x.t()))
    base = numgrad.arange(6.0)
    for start in range(5):
        see(*call(base[start:start].reshape(0, 1)))


@compared_with_eager
def test_saved_memory_is_empty(compiled, see):
    x = numgrad.zeros(0, 3, requires_grad=True)
    f = compiled(lambda y: numgrad.mv(y.clamp_min(0.5), x[:, 0]))
    for i in range(4):
        x.grad = None
        z = f(numgrad.zeros(2, 0, 3).diagonal())
        z.sum().backward()
        see(z, x.grad)


@compared_with_eager
def test_parts_of_a_gradient_are_added_in_order(compiled, see):
    weights = numgrad.tensor([1.13, -1.1, 0.72])
    indices = numgrad.tensor([0, 0, 0])
    f = compiled(lambda x: (x[indices], x[1:], numgrad.reciprocal(x)))
    for i in range(20):
        x = (ramp(3) / 7 - i / 3 - 0.1).requires_grad_()
        indexed, part, other = f(x)
        ((indexed * weights).sum() + (part * weights[1:]).sum() - (other * weights).sum() / 3).backward()
        see(x.grad)
