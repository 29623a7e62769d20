"""Backward after other calls, through checkpoints, Functions and transforms."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
import numgrad.nn.functional as F  # noqa: N812


@compared_with_eager
def test_sum_then_full(compiled, see):
    f = compiled(lambda x: x * x)
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        y = f(x)
        if i < 2:
            y.sum().backward()
        else:
            (y * ramp(3)).sum().backward()
        see(x.grad)


@compared_with_eager
def test_patience_random(compiled, see):
    w = numgrad.ones(30, requires_grad=True)
    f = compiled(lambda x: F.dropout(x * w))
    for i in range(6):
        y = f(ramp(30))
    y = f(ramp(30))
    y.sum().backward()
    see(w.grad)


@compared_with_eager
def test_tuple_random(compiled, see):
    w = numgrad.ones(30, requires_grad=True)
    f = compiled(lambda x: (F.dropout(x * w), x * w))
    for i in range(6):
        w.grad = None
        y, _z = f(ramp(30))
        y.sum().backward()
        see(w.grad)


@compared_with_eager(falls_back=True)
def test_leaf_inside(compiled, see):

    def g(x):
        k = numgrad.ones(3, requires_grad=True)
        return (x * k, k)

    f = compiled(g)
    for i in range(5):
        y, k = f(ramp(3) + i)
        y.sum().backward()
        see(k.grad)


@compared_with_eager
def test_inner_grad(compiled, see):

    def g(b):
        y = (b * b * b).sum()
        (d,) = numgrad.autograd.grad(y, b, create_graph=True)
        return (d * d).sum()

    f = compiled(g)
    a = numgrad.ones(3, requires_grad=True)
    for i in range(6):
        a.grad = None
        b = a * (i + 1)
        f(b).backward()
        see(a.grad)


@compared_with_eager
def test_const_result_needed(compiled, see):
    w = numgrad.ones(3, requires_grad=True)

    def g(x):
        numgrad.arange(3.0) + 0
        m2 = numgrad.linspace(0, 1, 3)
        return (x * w * m2, m2)

    f = compiled(g)
    for i in range(5):
        w.grad = None
        y, m = f(ramp(3) + i)
        y.sum().backward()
        see(w.grad, m)
        m.add_(5)


@compared_with_eager
def test_mean_vs_full(compiled, see):
    numgrad.manual_seed(1)
    w = numgrad.randn(50, 30, requires_grad=True)
    b = numgrad.randn(30, requires_grad=True)
    f = compiled(lambda x: x @ w + b)
    x = numgrad.randn(333, 50)
    z = numgrad.randn(333, 30)
    for i in range(6):
        w.grad = b.grad = None
        y = f(x)
        ((y * z).sum() if i in (0, 3) else y.mean() if i in (1, 4) else (y * z).mean()).backward()
        see(w.grad, b.grad)


@compared_with_eager
def test_mean_vs_full_changes(compiled, see):
    numgrad.manual_seed(1)
    w = numgrad.randn(50, 30, requires_grad=True)
    b = numgrad.randn(30, requires_grad=True)
    f = compiled(lambda x: F.dropout(x, 0.01) @ w + b)
    x = numgrad.randn(333, 50)
    z = numgrad.randn(333, 30)
    for i in range(6):
        w.grad = b.grad = None
        y = f(x)
        ((y * z).sum() if i in (2, 3) else y.mean() if i in (0, 1, 4) else (y * z).mean()).backward()
        see(w.grad, b.grad)


@compared_with_eager
def test_named_tuple_backward(compiled, see):
    f = compiled(lambda x: x.max(0))
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        r = f(x)
        see(type(r).__name__)
        r.values.backward()
        see(x.grad)


@compared_with_eager
def test_stacked_calls(compiled, see):
    f = compiled(lambda x, w: numgrad.tanh(x @ w))
    for i in range(5):
        w = numgrad.eye(3).requires_grad_()
        x = ramp(2, 3)
        for k in range(4):
            x = f(x, w)
        x.sum().backward()
        see(w.grad)


@compared_with_eager
def test_empty_view(compiled, see):
    f = compiled(lambda v: v[1:1])
    for i in range(5):
        a = (ramp(6) + i - 1).requires_grad_()
        y = f(a)
        y.sum().backward()
        see(y, a.grad)


@compared_with_eager
def test_custom_function(compiled, see):

    class S(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    f = compiled(lambda x: S.apply(x).sum())
    for i in range(5):
        x = (ramp(3) + i).requires_grad_()
        f(x).backward()
        see(x.grad)


@compared_with_eager
def test_custom_function_alone_uses(compiled, see):
    w = numgrad.ones(3)

    class S(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * w

    f = compiled(lambda x: S.apply(x).sum())
    for i in range(6):
        if i > 3:
            w = ramp(3) + i
        x = (ramp(3) + i).requires_grad_()
        f(x).backward()
        see(x.grad)


@pytest.mark.parametrize("caught", [False, True])
def test_custom_function_fails_in_backward(caught):
    class S(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, index):
            ctx.save_for_backward(x, index)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            x, index = ctx.saved_tensors
            if not caught:
                return g * x[index], None
            try:
                return g * x[index], None
            except IndexError:
                return g * 7, None

    f = numgrad.compile(lambda x, index: S.apply(x, index))
    for last in (0, 0, 5, 1):
        x = numgrad.arange(2.0, requires_grad=True)
        y = f(x, numgrad.tensor([1, last])).sum()
        if last == 5 and not caught:
            with pytest.raises(IndexError, match="index 5 is out of bounds"):
                y.backward()
            continue
        y.backward()
        assert x.grad.tolist() == ([7, 7] if last == 5 else [1, last])


@pytest.mark.parametrize("preserve", [False, True])
def test_checkpoint_inside(preserve):
    from numgrad.utils.checkpoint import checkpoint

    w = numgrad.ones(3, requires_grad=True)

    def function(x):
        y = checkpoint(lambda v: (v * w).exp().tanh(), x, use_reentrant=False, preserve_rng_state=preserve)
        return checkpoint(lambda v: (v * w).sin(), y, use_reentrant=False, preserve_rng_state=preserve).sum()

    def gradients(function):
        x.grad = w.grad = None
        function(x).backward()
        return x.grad.tolist(), w.grad.tolist()

    def step(x):
        x.grad = w.grad = None
        function(x).backward()

    def gradients_of_step(x):
        whole(x)
        return x.grad.tolist(), w.grad.tolist()

    compiled, whole = numgrad.compile(function, fullgraph=True), numgrad.compile(step, fullgraph=True)
    for number in range(5):
        x = (ramp(3) + number).requires_grad_()
        expected = gradients(function)
        x.grad = w.grad = None
        assert gradients(compiled) == expected
        x.grad = w.grad = None
        assert gradients_of_step(x) == expected
    assert replays(compiled) == [1]
    assert "backward" in repr(numgrad.compiler.explain(compiled))


@compared_with_eager
def test_checkpoint_and_modes(compiled, see):
    from numgrad.utils.checkpoint import checkpoint

    model = numgrad.nn.Sequential(numgrad.nn.Linear(3, 3), numgrad.nn.Tanh(), numgrad.nn.Linear(3, 3))
    f = compiled(lambda x: checkpoint(model, x, use_reentrant=False))
    for i in range(6):
        model.zero_grad()
        y = f(ramp(2, 3) + i)
        y.sum().backward(retain_graph=i % 2)
        see(y, [parameter.grad for parameter in model.parameters()])
        if i % 2:
            y.sum().backward()
            see(y, [one.grad for one in model.parameters()])


def test_reentrant_checkpoints_end_a_program():
    from numgrad.utils.checkpoint import checkpoint

    layer = numgrad.nn.Linear(3, 3)
    f = numgrad.compile(lambda x: checkpoint(layer, x, use_reentrant=True, preserve_rng_state=False))
    with pytest.warns(UserWarning, match="pass use_reentrant=False"):
        f(ramp(3).requires_grad_()).sum().backward()
    first = layer.weight.grad.tolist()
    layer.zero_grad()
    f(ramp(3).requires_grad_()).sum().backward()
    assert layer.weight.grad.tolist() == first


@compared_with_eager(falls_back=True)
def test_checkpoint_random(compiled, see):
    from numgrad.utils.checkpoint import checkpoint

    w = numgrad.ones(30, requires_grad=True)
    f = compiled(lambda x: checkpoint(lambda v: F.dropout(v * w), x, use_reentrant=False).sum())
    for i in range(5):
        x = (ramp(30) + i).requires_grad_()
        w.grad = None
        f(x).backward()
        see(x.grad, w.grad, numgrad.rand(1))


@compared_with_eager
def test_checkpoint_outside(compiled, see):
    from numgrad.utils.checkpoint import checkpoint

    w = numgrad.ones(30, requires_grad=True)
    f = compiled(lambda v: F.dropout(v * w))
    for i in range(6):
        x = (ramp(30) + i).requires_grad_()
        w.grad = None
        y = checkpoint(f, x, use_reentrant=False)
        y.sum().backward()
        see(y, x.grad, w.grad, numgrad.rand(1))


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled", "ignore:Error detected")
@compared_with_eager
def test_anomaly(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w).sqrt())
    for i in range(3):
        f(ramp(3)).sum().backward()
        see(w.grad)
    with numgrad.autograd.detect_anomaly():
        for i in range(2):
            try:
                f(ramp(3)).sum().backward()
                see(w.grad)
            except RuntimeError as e:
                see(str(e)[:40])
    y = f(ramp(3))
    with numgrad.autograd.detect_anomaly():
        try:
            y.sum().backward()
            see(w.grad)
        except RuntimeError:
            see("err")


@compared_with_eager
def test_profiler(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: (x * w).exp())
    for i in range(4):
        with numgrad.profiler.profile():
            w.grad = None
            f(ramp(3) + i).sum().backward()
            see(w.grad)


@compared_with_eager
def test_vmap_etc(compiled, see):
    w = ramp(3)
    f = compiled(lambda x: (x * w).sin().sum())
    for i in range(3):
        see(
            f(ramp(3)),
            numgrad.func.vmap(f)(ramp(2, 3)),
            numgrad.func.grad(f)(ramp(3)),
            numgrad.func.jvp(f, (ramp(3),), (ramp(3),)),
            numgrad.func.jacrev(f)(ramp(3)),
            numgrad.func.hessian(f)(ramp(3)),
        )


@compared_with_eager
def test_vmap_inside(compiled, see):
    w = ramp(3)

    def h(x):
        return (x * w).sin().sum()

    f = compiled(
        lambda x: (
            numgrad.func.vmap(h)(x),
            numgrad.func.vmap(numgrad.func.grad(h))(x),
            numgrad.func.jvp(h, (x[0],), (x[0],)),
            numgrad.func.hessian(h)(x[1]),
        )
    )
    for i in range(4):
        see(f(ramp(2, 3) + i))
