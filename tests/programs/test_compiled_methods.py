"""Compiled functions as methods, in copies, within one another and in threads."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

import copy
import pickle
import threading

from programs.comparison import compared_with_eager, ramp

import numgrad
from numgrad import nn


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        return self.l(x)


@compared_with_eager
def test_method_two_lambdas(compiled, see):

    class A:
        f = compiled(lambda self, x: x + 1)
        g = compiled(lambda self, x: x * 2)

    a = A()
    for i in range(3):
        see(a.f(ramp(3)), a.g(ramp(3)))


@compared_with_eager
def test_method_super(compiled, see):

    class A(nn.Module):
        @compiled
        def forward(self, x):
            return x + 1

    class B(A):
        @compiled
        def forward(self, x):
            return super().forward(x) * 2

    b = B()
    for i in range(3):
        see(b.forward(ramp(3)))


@compared_with_eager
def test_method_deepcopy(compiled, see):

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        @compiled
        def forward(self, x):
            return self.l(x)

    a = A()
    with numgrad.no_grad():
        see(a(ramp(2, 3)), a(ramp(2, 3)), a(ramp(2, 3)))
        b = copy.deepcopy(a)
        b.l.weight.mul_(2)
        see(b(ramp(2, 3)), b(ramp(2, 3)), b(ramp(2, 3)), a(ramp(2, 3)))
        b = copy.copy(a)
        b._modules = dict(a._modules)
        b.l = nn.Linear(3, 3)
        see(b(ramp(2, 3)), b(ramp(2, 3)), b(ramp(2, 3)), a(ramp(2, 3)))
        see(sorted(a.state_dict()))


@compared_with_eager
def test_pickled(compiled, see):
    m = Affine()
    f = compiled(m)
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    b = pickle.loads(pickle.dumps(f))
    with numgrad.no_grad():
        b.l.weight.mul_(2)
    see(b(ramp(2, 3)), b(ramp(2, 3)), f(ramp(2, 3)))
    b = copy.deepcopy(f)
    with numgrad.no_grad():
        b.l.weight.mul_(2)
    see(b(ramp(2, 3)), b(ramp(2, 3)), f(ramp(2, 3)))


@compared_with_eager
def test_compiled_in_place(compiled, see):
    m = Affine()
    m.l.forward = compiled(m.l.forward)
    see(m(ramp(2, 3)), m(ramp(2, 3)), m(ramp(2, 3)))
    b = copy.deepcopy(m)
    with numgrad.no_grad():
        b.l.weight.mul_(2)
    see(b(ramp(2, 3)), b(ramp(2, 3)), m(ramp(2, 3)))


@compared_with_eager(falls_back=True)
def test_compiled_slots_instance(compiled, see):

    class A:
        __slots__ = ("k",)

        @compiled
        def g(self, x):
            return x * 2

    a = A()
    see(a.g(ramp(3)), a.g(ramp(3)))


@compared_with_eager
def test_compiled_class_and_static(compiled, see):

    class A:
        @staticmethod
        @compiled
        def s(x):
            return x * 2

        @classmethod
        @compiled
        def k(cls, x):
            return x * 3

    see(A.s(ramp(3)), A.s(ramp(3)), A().s(ramp(3)))
    see(A.k(ramp(3)), A.k(ramp(3)), A().k(ramp(3)))


@compared_with_eager
def test_nested_compiled(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    g = compiled(lambda x: x * w)
    f = compiled(lambda x: g(x) + g(x * 2))
    for i in range(5):
        w.grad = None
        y = f(ramp(3) + i)
        y.sum().backward()
        see(y, w.grad)
    for i in range(3):
        w.grad = None
        y = g(ramp(3) + i)
        y.sum().backward()
        see(y, w.grad)


@compared_with_eager
def test_two_threads(compiled, see):
    w = numgrad.ones(300, requires_grad=True)
    f = compiled(lambda x: (x * w * w).exp().cumsum(0).sin())
    for i in range(4):
        f(ramp(300)).sum().backward()
    out = {}

    def work(k):
        r = []
        for i in range(200):
            x = (ramp(300) * 0.01 + k + i).requires_grad_()
            y = f(x)
            (g,) = numgrad.autograd.grad(y.sum(), x)
            r.append((y.detach(), g))
        out[k] = r

    ts = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    [q.start() for q in ts]
    [q.join() for q in ts]
    see([out[k] for k in range(3)])
