"""Results of compiled functions, and compiled functions as methods, in copies and in threads."""

# ruff: noqa: B007, E741 - functions defined earlier see the changed variables

import collections
import io

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad


@compared_with_eager(falls_back=True)
def test_generator_function(compiled, see):

    def g(x):
        yield (x * 1)
        yield (x * 2)

    f = compiled(g)
    for i in range(3):
        see(list(f(ramp(3) + i)))


@compared_with_eager(falls_back=True)
def test_dict_result_defaultdict(compiled, see):

    def g(x):
        d = collections.defaultdict(list)
        d["a"].append(x * 2)
        return d

    f = compiled(g)
    for i in range(4):
        see(f(ramp(3) + i))


@compared_with_eager(falls_back=True)
def test_results_mutable(compiled, see):

    def g(x):
        return (x * 2, [1, 2, 3], {"n": x.shape[0]}, {1, 2})

    f = compiled(g)
    for i in range(4):
        _y, l, d, s = f(ramp(3))
        l.append(4)
        d["m"] = 3
        s.add(5)
        see(l, d, sorted(s))


@compared_with_eager(falls_back=True)
def test_result_object(compiled, see):

    class R:
        pass

    def g(x):
        r = R()
        r.n = []
        return (x * 2, r)

    f = compiled(g)
    for i in range(4):
        _y, r = f(ramp(3))
        r.n.append(1)
        see(len(r.n))


@compared_with_eager(falls_back=True)
def test_result_numpy(compiled, see):
    f = compiled(lambda x: (x * 2).numpy())
    for i in range(4):
        see(f(ramp(3) + i))


@compared_with_eager(falls_back=True)
def test_result_tolist(compiled, see):
    f = compiled(lambda x: (x * 2).tolist())
    for i in range(4):
        see(f(ramp(3) + i))


@compared_with_eager
def test_inference_inside(compiled, see):

    def g(x):
        with numgrad.inference_mode():
            return x * 2

    f = compiled(g)
    for i in range(4):
        y = f(ramp(3) + i)
        see(y, y.is_inference())


@compared_with_eager
def test_returns_inputs(compiled, see):
    f = compiled(lambda x: (x, x, x.view(-1), x * 2))
    for i in range(4):
        x = ramp(2, 3) + i
        a, b, v, d = f(x)
        see(a is x, b is x, v, d)
        x.add_(1)
        see(v, v._version == x._version)


@compared_with_eager
def test_same_twice(compiled, see):

    def g(x):
        y = x * 2
        return [y, {"a": y, "b": (y,)}]

    f = compiled(g)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        a = f(x)
        see(a[0] is a[1]["a"], a[1]["b"][0] is a[0])
        (a[0] * a[1]["a"]).sum().backward()
        see(x.grad)


@compared_with_eager
def test_kept_results(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w, numgrad.arange(3), numgrad.zeros(3)))
    kept = [f(ramp(3) + i) for i in range(6)]
    for k in kept:
        k[2].add_(1)
        k[1].add_(1)
    for k in kept:
        see(k)
    see(f(ramp(3)))


@compared_with_eager
def test_made_inside(compiled, see):

    def g(x):
        a = numgrad.tensor([1.0, 2.0, 3.0])
        b = numgrad.arange(3.0)
        d = numgrad.full((3,), 2.0)
        e = numgrad.eye(3)
        z = numgrad.zeros(3)
        o = numgrad.ones(3)
        l = numgrad.linspace(0, 1, 3)
        z.add_(x)
        a.mul_(x)
        b[1] = 7
        e[0] = x
        em = numgrad.empty(3).fill_(2.0)
        k = numgrad.zeros(3, requires_grad=True)
        return (a, b, d, e, z, o, l, em, k, numgrad.tensor(3), numgrad.zeros_like(x), numgrad.tensor(2.0) * x)

    f = compiled(g)
    kept = []
    for i in range(4):
        r = f(ramp(3) + i)
        see(r)
        with numgrad.no_grad():
            for q in r:
                q.add_(1)
        kept.append(r)
    see(kept)


@compared_with_eager
def test_nonfloat_out(compiled, see):
    f = compiled(
        lambda x: (
            x.argmax(),
            x > 0,
            x.long(),
            x.topk(2),
            x.max(0),
            numgrad.unbind(x),
            x.split(1),
            x.shape,
            x.dtype,
            x.size(0),
            x.numel(),
            None,
            "s",
        )
    )
    for i in range(4):
        see(f(ramp(3) * (-1) ** i))


@compared_with_eager
def test_complex_views(compiled, see):

    def of_argument(x):
        return numgrad.view_as_complex(x[1:5].view(2, 2))

    def of_new(x):  # seven elements are three and a half complex ones
        y = x + 1
        return numgrad.view_as_complex(y[:4].view(2, 2)), y

    functions = compiled(of_argument), compiled(of_new)
    for number in range(5):
        memory = ramp(14) + number
        begin = 1 + 2 * number % 6
        z, (w, y) = [f(memory[begin : begin + 7]) for f in functions]
        see(z, w, y, y.untyped_storage().nbytes())


@compared_with_eager(falls_back=True)
def test_printing(compiled, see):
    b = io.StringIO()

    def g(x):
        print("a", x.shape, file=b)
        return x * 2

    f = compiled(g)
    for i in range(3):
        see(f(ramp(3)))

    def g2(x):
        print("a", x, file=b)
        return x * 2

    f = compiled(g2)
    for i in range(3):
        see(f(ramp(3) + i), b.getvalue()[-30:])


@compared_with_eager(falls_back=True)
def test_results_with_gradients(compiled, see):
    def leaf(x):
        y = (x * 2).detach().requires_grad_()
        (y * y).sum().backward()
        return y

    def both(x):
        y = leaf(x)
        return y.grad, y

    functions = [compiled(f) for f in (leaf, both)]
    for i in range(4):
        y, (g, z) = [f(ramp(3) + i) for f in functions]
        see(y, y.grad, g, z, g is z.grad)


@compared_with_eager(falls_back=True)
def test_results_that_are_parameters(compiled, see):
    f = compiled(lambda x: numgrad.nn.Parameter(x * 2))
    for i in range(4):
        y = f(ramp(3) + i)
        see(y, type(y).__name__)


@compared_with_eager(falls_back=True)
def test_results_with_attributes(compiled, see):
    def f(x):
        y = x * 2
        y.tag = 5
        return y

    f = compiled(f)
    for i in range(4):
        y = f(ramp(3) + i)
        see(y, y.tag)


@compared_with_eager(falls_back=True)
def test_results_with_hooks(compiled, see):
    def f(x):
        y = (x * 2).detach().requires_grad_()
        y.register_post_accumulate_grad_hook(lambda y: see(y.grad))
        return y

    f = compiled(f)
    for i in range(4):
        y = f(ramp(3) + i)
        (y * y).sum().backward()
        see(y, y.grad)


@compared_with_eager
def test_leaves_inside_of_steps(compiled, see):
    model = numgrad.nn.Linear(1, 1)

    def step(x):
        model.zero_grad()
        boundary = numgrad.zeros(1, 1, requires_grad=True)
        loss = (model(boundary) ** 2).sum() + (model(x) ** 2).mean()
        loss.backward()
        return loss

    f = compiled(step)
    for i in range(5):
        loss = f(ramp(3, 1) + i)
        see(loss, model.weight.grad, model.bias.grad)
        try:
            loss.backward()
        except RuntimeError as error:
            see(str(error)[:30])
    assert not hasattr(f, "signatures") or replays(f) == [2]


@pytest.mark.parametrize("function", [
    lambda x: (x[0], x), lambda x: (x.view(-1), x), lambda x: (x.t()[1:], x),
    lambda x: ((y := x * 2), y[0]), lambda x: ((y := x + 2).view(-1), y), lambda x: (x[0], x[:, 1:]),
    lambda x: ((y := x * 2)[:, :2], y[:, 1:]), lambda x: ((y := x * 2)[0], y[1]),
    lambda x: ((y := x * 2).view(3, 2), y.t()), lambda x: (x.unbind()[0], x),
    lambda x: ((y := x.detach())[0], y[1] * x),
])
def test_views_among_results_that_are_changed_in_place(function):
    @compared_with_eager
    def changed(compiled, see):
        f = compiled(function)
        for number in range(24):
            leaf = ramp(2, 3).requires_grad_()
            x = [leaf * 1, (leaf * 1)[:], leaf][number % 3]
            results = f(x)
            try:
                results[number // 3 % 2].mul_(3)
                if number >= 6:
                    results[number // 6 % 2].add_(results[1 - number // 6 % 2].detach().sum())
                sum((one * one).sum() for one in (*results, x)).backward()
            except RuntimeError as error:
                see(str(error)[-40:])
            see(*[tensor.detach() for tensor in (*results, x)], leaf.grad)

    changed()


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("view", [
    lambda x, p: x[1:], lambda x, p: x.view(2, 2), lambda x, p: p[1:], lambda x, p: x.detach(), lambda x, p: p.data[1:],
    lambda x, p: (x * 2)[1:].requires_grad_(), lambda x, p: x.detach()[1:].requires_grad_(),
])
def test_views_made_without_gradients_require_them_as_their_bases_do(view, requires_grad):
    parameter = numgrad.nn.Parameter(numgrad.ones(4))
    function = numgrad.no_grad()(lambda x: view(x, parameter))
    compiled = numgrad.compile(function, fullgraph=True)
    for _ in range(3):
        x = numgrad.ones(4, requires_grad=requires_grad)
        expected = function(numgrad.ones(4, requires_grad=requires_grad))
        assert compiled(x).requires_grad == expected.requires_grad
