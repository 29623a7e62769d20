"""Arguments of all kinds: shared memory, changes, and errors."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

import collections
import functools

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
from numgrad import nn


@compared_with_eager(falls_back=True)
def test_hooks_on_arg(compiled, see):

    def g(x):
        (x * x).sum().backward()

    f = compiled(g)
    for i in range(4):
        x = (ramp(3) + i).requires_grad_()
        if i == 3 or i == 1:
            x.register_hook(lambda q: q * 10)
        f(x)
        see(x.grad)


@compared_with_eager
def test_error_in_later_call(compiled, see):

    def g(x, i):
        x.add_(1)
        return x[i]

    f = compiled(g)
    x = ramp(3)
    for i in (0, 1, 2, 7, 1):
        try:
            see(f(x, numgrad.tensor([i])))
        except IndexError:
            see("error")
        see(x)


@compared_with_eager
def test_error_in_later_call_random(compiled, see):

    def g(x, i):
        y = numgrad.rand(3)
        return (x + y)[i]

    f = compiled(g)
    x = ramp(3)
    for i in (0, 1, 2, 7, 1):
        try:
            see(f(x, numgrad.tensor([i])))
        except IndexError:
            see("error")
        see(numgrad.rand(1))


@compared_with_eager
def test_error_python(compiled, see):
    k = 0

    def g(x):
        x.add_(1)
        if k:
            raise ValueError("k")
        return x * 2

    f = compiled(g)
    x = ramp(3)
    for k in (1, 0, 0, 1, 0):
        try:
            see(f(x))
        except ValueError:
            see("error")
        see(x)


@compared_with_eager(falls_back=True)
def test_appended_argument(compiled, see):

    def g(x, o):
        o.append(x * 2)
        return x

    f = compiled(g)
    o = []
    for i in range(7):
        f(ramp(3) + i, o)
        see(len(o))


@compared_with_eager(falls_back=True)
def test_appended_argument_new(compiled, see):

    def g(x, o):
        o.append(x * 2)
        return x

    f = compiled(g)
    for i in range(7):
        o = []
        f(ramp(3) + i, o)
        see(o)


@compared_with_eager(falls_back=True)
def test_dict_argument_written(compiled, see):

    def g(d):
        d["y"] = d["x"] * 2

    f = compiled(g)
    for i in range(6):
        d = {"x": ramp(3) + i}
        f(d)
        see(d)


@compared_with_eager(falls_back=True)
def test_ordered(compiled, see):

    def g(d):
        return (type(d).__name__, collections.OrderedDict(a=d["x"] * 2), collections.Counter({"a": d["x"]}))

    f = compiled(g)
    for i in range(4):
        see(f(collections.OrderedDict(x=ramp(3) + i)))


@compared_with_eager(falls_back=True)
def test_defaultdict_arg(compiled, see):
    f = compiled(lambda d: d["x"] * 2 + (d["q"] or 0))
    for i in range(3):
        d = collections.defaultdict(lambda: 0)
        d["x"] = ramp(3) + i
        see(f(d))


@compared_with_eager
def test_alias_inputs(compiled, see):

    def g(x, y):
        x.add_(1)
        return x * y

    f = compiled(g)
    a = ramp(6)
    see(
        f(a[:3], a[3:]),
        a,
        f(a[:3], a[3:]),
        a,
        f(a[:3], a[:3]),
        a,
        f(a[1:4], a[:3]),
        a,
        f(a[:3], a[1:4]),
        a,
        f(a, a),
        f(a, a),
        a,
        f(ramp(3), ramp(3)),
    )
    see(
        f(a[::2], a[1::2]),
        a,
        f(a[1::2], a[::2]),
        a,
        f(numgrad.from_numpy(a.numpy()[:3]), a[1:4]),
        a,
        f(numgrad.from_numpy(a.numpy()[:3]), numgrad.from_numpy(a.numpy()[1:4])),
        a,
    )


@compared_with_eager(falls_back=True)
def test_alias_param(compiled, see):
    w = ramp(3) + 2

    def g(x):
        x.add_(1)
        return x * w

    f = compiled(g)
    see(
        f(ramp(3)),
        f(ramp(3)),
        f(w),
        f(w),
        f(ramp(3)),
        w,
        f(w.view(3)),
        w,
        f(w.data),
        w,
        f(numgrad.from_numpy(w.numpy())),
        w,
        f(numgrad.from_numpy(w.numpy()[:])),
        w,
        f(numgrad.from_numpy(w.numpy()[:])),
        w,
    )


@compared_with_eager(falls_back=True)
def test_alias_param_big(compiled, see):
    big = ramp(6) + 2
    w = big[2:5]

    def g(x):
        x.add_(1)
        return x * w

    f = compiled(g)
    see(
        f(ramp(3)),
        f(ramp(3)),
        f(big[:3]),
        f(big[1:4]),
        big,
        f(big[3:]),
        big,
        f(numgrad.from_numpy(big.numpy()[1:4])),
        big,
        f(numgrad.from_numpy(big.numpy()[1:4])),
        big,
    )


@compared_with_eager(falls_back=True)
def test_param_written(compiled, see):
    w = ramp(3) + 2

    def g(x):
        y = x * 1
        w.add_(1)
        return y + x * w

    f = compiled(g)
    see(f(ramp(3)), f(ramp(3)), w, f(w), f(w), w, f(ramp(3)), f(numgrad.from_numpy(w.numpy()[:])), w, w._version)


@compared_with_eager
def test_strides_dtypes(compiled, see):
    f = compiled(lambda x: (x * 2).sum(0))
    for i in range(2):
        for x in (
            ramp(3, 4),
            ramp(4, 3).t(),
            ramp(3, 4).double(),
            ramp(3, 8)[:, ::2],
            ramp(3, 1).expand(3, 4),
            ramp(3, 4).long(),
            ramp(3, 4) > 0,
            ramp(3, 4)[1:],
            ramp(2, 4),
            ramp(3, 4).to(numgrad.complex64),
            ramp(0, 4),
        ):
            see(f(x))


@compared_with_eager
def test_requires_then_not(compiled, see):
    f = compiled(lambda x: x * x)
    for i, r in enumerate((1, 0, 1, 0, 1, 1, 0)):
        x = (ramp(3) + i).requires_grad_(bool(r))
        y = f(x)
        see(y)
        if r:
            y.sum().backward()
            see(x.grad)


@compared_with_eager
def test_graph_inputs(compiled, see):
    f = compiled(lambda x, y: (x * y).sum())
    for i in range(6):
        a = (ramp(3) + i).requires_grad_()
        b = a * 2
        d = f(b, b if i in (3,) else a)
        d.backward()
        see(d, a.grad)


@compared_with_eager
def test_graph_inputs_views(compiled, see):
    f = compiled(lambda x, y: (x * y).sum())
    for i in range(6):
        a = (ramp(6) + i).requires_grad_()
        b = a * 2
        d = f(b[:3], b[3:] if i % 2 else b[1:4])
        d.backward()
        see(d, a.grad)


@compared_with_eager
def test_in_place_views(compiled, see):

    def g(x):
        x[0].mul_(2)
        x[:, 1] = 5
        return x[0]

    f = compiled(g)
    for i in range(4):
        x = ramp(3, 3) + i
        y = f(x)
        see(x, y, x._version)
        y.add_(1)
        see(x, x._version)


@compared_with_eager
def test_out_argument(compiled, see):

    def g(x, o):
        numgrad.add(x, 1, out=o)
        return o

    f = compiled(g)
    for k in range(4):
        o = numgrad.empty(3)
        x = ramp(3) + k
        r = f(x, o)
        see(r is o, o, o._version)
    x = ramp(3)
    see(f(x, x), f(x, x), x)


@compared_with_eager
def test_module_argument(compiled, see):
    f = compiled(lambda m, x: m(x))
    a, b = (nn.Linear(3, 3), nn.Linear(3, 3))
    for m in (a, a, b, a, b, b):
        y = f(m, ramp(2, 3))
        m.zero_grad()
        y.sum().backward()
        see(y, m.weight.grad)


@compared_with_eager
def test_callable_argument(compiled, see):
    f = compiled(lambda h, x: h(x))
    for h in (numgrad.sin, numgrad.cos, numgrad.sin, lambda x: x * 2, lambda x: x * 3):
        see(f(h, ramp(3)), f(h, ramp(3)))


def nested(depth):
    return functools.reduce(lambda pair, _: (pair, 0.5), range(depth), ())


@pytest.mark.parametrize("depth", [101, 900, 2000])
def test_trees_that_are_nested_too_deeply_run_as_they_are(depth):
    compiled = numgrad.compile(lambda x, pair: x * pair[1])
    with pytest.warns(UserWarning, match=r"an argument nested more than 100 deep \(argument 'pair'\)"):
        assert [compiled(ramp(2), nested(depth)).tolist() for _ in range(3)] == [[-0.5, -0.25]] * 3
    compiled = numgrad.compile(nested)
    with pytest.warns(UserWarning, match="its result is nested more than 100 deep"):
        assert [len(compiled(depth)) for _ in range(3)] == [2] * 3


def test_trees_that_are_nested_less_deeply_are_compiled():
    compiled = numgrad.compile(lambda x, pair: (x * pair[1], nested(98)))
    assert [compiled(ramp(2), nested(99))[0].tolist() for _ in range(3)] == [[-0.5, -0.25]] * 3
    assert replays(compiled) == [1]
