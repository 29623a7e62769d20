"""Modes of a thread that change between calls of compiled functions, or within one: whether gradients are recorded,
and the default dtype.
"""

# ruff: noqa: B007 - functions defined earlier see the changed variables

from programs.comparison import compared_with_eager, ramp

import numgrad


@compared_with_eager
def test_default_dtype(compiled, see):
    f = compiled(lambda x: x.long() * numgrad.ones(3) + numgrad.tensor(1.5))
    for d in (numgrad.float32, numgrad.float64, numgrad.float64, numgrad.float32):
        numgrad.set_default_dtype(d)
        try:
            see(f(ramp(3)), f(ramp(3)), f(ramp(3)))
        finally:
            numgrad.set_default_dtype(numgrad.float32)


@compared_with_eager
def test_modes(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: x * w)
    for i in range(3):
        see(f(ramp(3)))
        with numgrad.no_grad():
            see(f(ramp(3)))
        with numgrad.inference_mode():
            y = f(ramp(3))
            see(y, y.is_inference())
        with numgrad.no_grad(), numgrad.enable_grad():
            see(f(ramp(3)))
        y = f(ramp(3))
        y.sum().backward()
        see(w.grad)


@compared_with_eager
def test_modes_inside(compiled, see):
    w = numgrad.ones(3, requires_grad=True)

    def g(x):
        with numgrad.no_grad():
            a = x * w
        with numgrad.enable_grad():
            b = x * w
        return (a, b, (x * w).detach())

    f = compiled(g)
    for i in range(4):
        see(f(ramp(3) + i))
        with numgrad.no_grad():
            see(f(ramp(3) + i))
        _a, b, _ = f(ramp(3) + i)
        b.sum().backward()
        see(w.grad)


@compared_with_eager(falls_back=True)
def test_set_grad_left(compiled, see):

    def g(x):
        numgrad.set_grad_enabled(False)
        return x * 2

    f = compiled(g)
    for i in range(4):
        see(f(ramp(3)), numgrad.is_grad_enabled())
        numgrad.set_grad_enabled(True)


@compared_with_eager
def test_inference_inputs(compiled, see):
    f = compiled(lambda x: x * 2)
    with numgrad.inference_mode():
        q = ramp(3)
    for x in (ramp(3), ramp(3), q, ramp(3), q, q):
        y = f(x)
        see(y, y.is_inference())
