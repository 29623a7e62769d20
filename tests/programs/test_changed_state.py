"""Arrays, hooks, counters and objects that change between calls, or that a call changes."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

import functools

import numpy as np
from programs.comparison import compared_with_eager, ramp

import numgrad
from numgrad import nn, optim


class Thing:
    pass


@compared_with_eager
def test_numpy_global(compiled, see):
    a = np.ones(3, np.float32)
    f = compiled(lambda x: x * numgrad.from_numpy(a))
    see(f(ramp(3)), f(ramp(3)))
    a[:] = 2
    see(f(ramp(3)))
    a = np.full(3, 5, np.float32)
    see(f(ramp(3)))


@compared_with_eager
def test_numpy_global_tensor(compiled, see):
    a = np.ones(3, np.float32)
    f = compiled(lambda x: x * numgrad.tensor(a))
    see(f(ramp(3)), f(ramp(3)))
    a[:] = 2
    see(f(ramp(3)))
    a = np.full(3, 5, np.float32)
    see(f(ramp(3)))


@compared_with_eager(falls_back=True)
def test_numpy_written(compiled, see):
    a = np.ones(3, np.float32)
    f = compiled(lambda x: numgrad.from_numpy(a).add_(x) * 1)
    for i in range(4):
        see(f(ramp(3)), a.copy())


@compared_with_eager
def test_list_to_tensor(compiled, see):
    a = [1.0, 2.0, 3.0]
    f = compiled(lambda x: x * numgrad.tensor(a))
    see(f(ramp(3)), f(ramp(3)))
    a[0] = 7.0
    see(f(ramp(3)))


@compared_with_eager(falls_back=True)
def test_hooks_between(compiled, see):

    def triple(p):
        p.grad.mul_(3)

    m = nn.Linear(3, 3)
    f = compiled(m)

    def go():
        m.zero_grad()
        y = f(ramp(2, 3))
        y.sum().backward()
        see(y, m.weight.grad)

    go()
    go()
    go()
    h = m.register_forward_hook(lambda m, i, o: o * 2)
    go()
    go()
    h.remove()
    go()
    h = m.weight.register_hook(lambda g: g * 2)
    go()
    go()
    h.remove()
    go()
    h = m.weight.register_post_accumulate_grad_hook(triple)
    go()
    go()
    h.remove()
    go()
    h = m.register_forward_pre_hook(lambda m, i: (i[0] * 2,))
    go()
    h.remove()
    go()


@compared_with_eager(falls_back=True)
def test_counter_attr(compiled, see):

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    m = M()
    f = compiled(m)
    for i in range(6):
        see(f(ramp(3)), m.n)


@compared_with_eager(falls_back=True)
def test_counter_global(compiled, see):
    n = 0

    def g(x):
        nonlocal n
        n += 1
        return x * n

    f = compiled(g)
    for i in range(6):
        see(f(ramp(3)), n)


@compared_with_eager
def test_data_assigned(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: x * w)
    for i in range(6):
        if i % 2:
            w.data = ramp(3) * i
        w.grad = None
        y = f(ramp(3) + 1)
        y.sum().backward()
        see(y, w.grad)


@compared_with_eager
def test_expanded_data_that_begins_elsewhere(compiled, see):
    """A tensor with as many elements as its memory may still cover only a part of it."""
    memory = ramp(3)
    w = memory[0].expand(3)
    f = compiled(lambda x: x * w)
    for start in (0, 0, 1, 1, 2):
        w.data = memory[start].expand(3)
        see(f(ramp(3) + 2))


@compared_with_eager
def test_deleted_parameter(compiled, see):
    o = Thing()
    o.w = ramp(3)
    f = compiled(lambda x: x * o.w if hasattr(o, "w") else x * 7)
    see(f(ramp(3)), f(ramp(3)))
    del o.w
    see(f(ramp(3)))
    o.w = ramp(3)
    see(f(ramp(3)))


@compared_with_eager
def test_optional_arrives(compiled, see):
    o = Thing()
    o.w = None
    f = compiled(lambda x: x * o.w if o.w is not None else x * 7)
    see(f(ramp(3)), f(ramp(3)))
    o.w = ramp(3)
    see(f(ramp(3)))
    o.w = None
    see(f(ramp(3)))


@compared_with_eager
def test_dict_key_arrives(compiled, see):
    o = {}
    f = compiled(lambda x: x * o.get("k", 1))
    see(f(ramp(3)), f(ramp(3)))
    o["k"] = 5
    see(f(ramp(3)))


@compared_with_eager
def test_set_values(compiled, see):
    o = {2, 3}
    f = compiled(lambda x: x * sum(o))
    see(f(ramp(3)), f(ramp(3)))
    o.add(7)
    see(f(ramp(3)))
    o.discard(7)
    o.discard(2)
    o.add(9)
    see(f(ramp(3)))


@compared_with_eager
def test_tuple_rebound(compiled, see):
    o = Thing()
    o.k = (1, 2)
    f = compiled(lambda x: x * o.k[0])
    see(f(ramp(3)), f(ramp(3)))
    o.k = (5, 2)
    see(f(ramp(3)))


@compared_with_eager
def test_property_value(compiled, see):

    class M:
        def __init__(self):
            self._k = 1

        @property
        def k(self):
            return self._k

    o = M()
    f = compiled(lambda x: x * o.k)
    see(f(ramp(3)), f(ramp(3)))
    o._k = 5
    see(f(ramp(3)))


@compared_with_eager
def test_partial_changed(compiled, see):
    o = [1.0]
    f = compiled(functools.partial(lambda o, x: x * o[0], o))
    see(f(ramp(3)), f(ramp(3)))
    o[0] = 5.0
    see(f(ramp(3)))


@compared_with_eager
def test_default_argument_list(compiled, see):

    def g(x, o=[1.0]):  # noqa: B006
        return x * o[0]

    f = compiled(g)
    see(f(ramp(3)), f(ramp(3)))
    g.__defaults__[0][0] = 5.0
    see(f(ramp(3)))


@compared_with_eager(falls_back=True)
def test_iterator_inside(compiled, see):
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    f = compiled(lambda x: x * next(it))
    for i in range(5):
        see(f(ramp(3)))


@compared_with_eager
def test_ema_inside(compiled, see):
    m = nn.Linear(3, 3)
    a = optim.swa_utils.AveragedModel(m)
    o = optim.SGD(m.parameters(), lr=0.1)

    def g(x):
        o.zero_grad()
        m(x).pow(2).sum().backward()
        o.step()
        a.update_parameters(m)

    f = compiled(g)
    for i in range(6):
        f(ramp(2, 3))
        see(list(a.parameters()), a.n_averaged)


@compared_with_eager
def test_scheduler_inside(compiled, see):
    w = nn.Parameter(numgrad.ones(3))
    o = optim.SGD([w], lr=0.1)
    s = optim.lr_scheduler.StepLR(o, 3)

    def g(x):
        o.zero_grad()
        ((w * x) ** 2).sum().backward()
        o.step()
        s.step()

    f = compiled(g)
    for i in range(10):
        f(ramp(3))
        see(w, o.param_groups[0]["lr"], s.last_epoch)


@compared_with_eager(falls_back=True)
def test_buffers_float(compiled, see):

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("h", numgrad.zeros(3))

        def forward(self, x):
            self.h = self.h * 0.5 + x
            return self.h * 1

    m = M()
    f = compiled(m)
    for i in range(6):
        see(f(ramp(3)), m.h)


@compared_with_eager
def test_object_argument(compiled, see):
    f = compiled(lambda h, x: h(x))

    class H:
        k = 1

        def __call__(self, x):
            return x * self.k

    h = H()
    for k in range(4):
        h.k = k
        see(f(h, ramp(3)))


@compared_with_eager
def test_custom_function_factor(compiled, see):
    k = 1.0

    class S(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * k

    f = compiled(lambda x: S.apply(x).sum())
    for k in (1.0, 1.0, 1.0, 2.0, 2.0):
        x = ramp(3).requires_grad_()
        f(x).backward()
        see(x.grad)


@compared_with_eager(falls_back=True)
def test_closure_with_graph(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: x * w2)
    for i in range(5):
        w2 = w * i
        w.grad = None
        f(ramp(3) + i).sum().backward()
        see(w.grad)


@compared_with_eager(falls_back=True)
def test_closure_with_graph_const(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    w2 = w * 2
    f = compiled(lambda x: x * w2)
    for i in range(5):
        w.grad = None
        f(ramp(3) + i).sum().backward(retain_graph=True)
        see(w.grad)


@compared_with_eager
def test_threads_between(compiled, see):
    f = compiled(lambda x: (x.sum(), x.exp().mean(0), x @ x.t(), numgrad.softmax(x, 1)))
    x = numgrad.randn(600, 600)
    n = numgrad.get_num_threads()
    try:
        for k in (1, 1, 1, 2, 2, 1):
            numgrad.set_num_threads(k)
            see(f(x))
    finally:
        numgrad.set_num_threads(n)


@compared_with_eager
def test_fortran(compiled, see):

    def g(x):
        a = numgrad.from_numpy(np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)))
        a.add_(1)
        return (a * x, a)

    f = compiled(g)
    for i in range(4):
        see(f(ramp(2, 3) + i))


@compared_with_eager
def test_zero_d(compiled, see):

    def g(x):
        a = numgrad.from_numpy(np.array(3.0, np.float32))
        a.add_(1)
        return (a * x, a)

    f = compiled(g)
    for i in range(4):
        see(f(ramp(2, 3) + i))
