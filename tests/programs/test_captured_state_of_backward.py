"""Backward that does more than compute gradients, runs late or seldom, or starts from other results."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

import warnings

import pytest
from programs.comparison import compared_with_eager, ramp, replays

import numgrad
import numgrad.nn.functional as F  # noqa: N812
from numgrad import nn


def doubled(backward):
    """A Function that doubles its argument, with this backward."""

    class Doubled(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    Doubled.backward = staticmethod(backward)
    return Doubled.apply


@compared_with_eager(falls_back=True)
def test_random_numbers(compiled, see):
    own = doubled(lambda ctx, g: g * numgrad.rand(3))
    f = compiled(lambda x: own(x).sum())
    for number in range(5):
        x = ramp(3).requires_grad_()
        f(x).backward()
        see(x.grad, numgrad.rand(1))


@compared_with_eager(falls_back=True)
def test_changes_in_place(compiled, see):
    buffer = numgrad.zeros(3)

    def backward(ctx, g):
        buffer.add_(g)
        return g * 2

    own = doubled(backward)
    f = compiled(lambda x: own(x * x).sum())
    for number in range(5):
        x = ramp(3).requires_grad_()
        f(x).backward()
        see(x.grad, buffer, buffer._version)


@compared_with_eager(falls_back=True)
def test_kept_tensors(compiled, see):
    kept = {}

    def backward(ctx, g):
        kept["g"] = g * 3
        return g * 2

    own = doubled(backward)
    f = compiled(lambda x: own(x * x).sum())
    for number in range(5):
        x = ramp(3).requires_grad_()
        (f(x) * number).backward()
        see(x.grad, kept["g"])


@compared_with_eager(falls_back=True)
def test_gradients_that_are_set(compiled, see):
    w = numgrad.ones(3, requires_grad=True)

    def backward(ctx, g):
        w.grad = g * 3
        return g * 2

    own = doubled(backward)
    f = compiled(lambda x: own(x * x).sum())
    for number in range(5):
        x = ramp(3).requires_grad_()
        (f(x) * number).backward()
        see(x.grad, w.grad)


@compared_with_eager(falls_back=True)
def test_counting(compiled, see):
    count = {"all": 0}

    def backward(ctx, g):
        count["all"] += 1
        return g * count["all"]

    own = doubled(backward)
    f = compiled(lambda x: own(x * x).sum())
    for number in range(5):
        x = ramp(3).requires_grad_()
        f(x).backward()
        see(x.grad, count)


@compared_with_eager(falls_back=True)
def test_hooks_that_keep_gradients(compiled, see):
    seen = []

    def f(x):
        y = x * x
        y.register_hook(lambda g: seen.append(g * 2))
        return y.sum()

    f = compiled(f)
    for number in range(4):
        x = ramp(3).requires_grad_()
        (f(x) * number).backward()
        see(x.grad, seen)


@pytest.mark.parametrize("linked", [False, True])
def test_state_that_backward_reads_must_not_change_after_the_call(linked):
    scale = {"by": 2.0}
    own = doubled(lambda ctx, g: g * scale["by"])
    f = numgrad.compile(lambda x: own(x * x).sum())
    for number in range(1 + 2 * linked):
        y = f(ramp(3).requires_grad_())
        if number < 2:
            y.backward()
    scale["by"] = 3.0
    x = ramp(3).requires_grad_()
    y = f(x)
    scale["by"] = 4.0
    y.backward()
    assert x.grad.tolist() == (ramp(3) * 8).tolist()
    y = f(x)
    y.backward()
    y = f(x)
    scale["by"] = 2.0
    with pytest.raises(RuntimeError, match=r"what it finds has changed since it was called \(scale\.by"):
        y.backward()


@compared_with_eager
def test_state_that_backward_reads_changes_after_the_first_call(compiled, see):
    scale = {"by": 2.0}
    own = doubled(lambda ctx, g: g * scale["by"])
    f = compiled(lambda x: own(x * x).sum())
    for number in range(6):
        x = ramp(3).requires_grad_()
        scale["by"] = 2.0
        y = f(x)
        scale["by"] = 2.0 if number else 3.0
        y.backward()
        see(x.grad)


class Scaled(numgrad.autograd.Function):
    """A product with a number in a dictionary, in backward, too."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x * scale["by"]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale["by"], None


@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("late", [[0], [1], [2], [3], [1, 3], [0, 1, 2, 3]])
def test_an_object_that_a_function_keeps_changes_before_backward(late, is_argument):
    @compared_with_eager(falls_back=True)
    def scenario(compiled, see):
        scale = {"by": 3.0}
        f = compiled(Scaled.apply) if is_argument else compiled(lambda x, _: Scaled.apply(x, scale))
        for number in range(6):
            x = ramp(3).requires_grad_()
            y = f(x, scale if is_argument else None)
            if number in late:
                scale["by"] = number + 4.0
            y.sum().backward()
            see(y, x.grad)

    scenario()


@compared_with_eager
def test_state_of_a_function_that_does_not_change(compiled, see):
    class Kept(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.shape, ctx.factor, ctx.dtype, ctx.parts = x.shape, factor, x.dtype, (x, 2.0, slice(1))
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return (g * ctx.factor * ctx.parts[0]).reshape(ctx.shape), None

    f = compiled(lambda x: Kept.apply(x, 2.5))
    for _ in range(4):
        x = ramp(3).requires_grad_()
        f(x).sum().backward()
        see(x.grad)


# -- times and targets of backward ---------------------------------------------------------------------------


@pytest.mark.parametrize("change", [lambda y: y.relu(), lambda y: F.dropout(y, 0.5)])
@pytest.mark.parametrize("rollouts", [1, 2, 5, 7])
def test_calls_without_backward_between(rollouts, change, monkeypatch):
    recorded = []

    def capture(*arguments):
        recorded.append(None)
        return original(*arguments)

    original = numgrad.programs.compiled.capture
    monkeypatch.setattr("numgrad.programs.compiled.capture", capture)
    model = nn.Linear(2, 2)
    first = {name: value.clone() for name, value in model.state_dict().items()}

    def run(f):
        numgrad.manual_seed(0)
        model.load_state_dict(first)
        seen = []
        for number in range(6):
            model.zero_grad()
            for _ in range(rollouts):
                f(ramp(3, 2) + number)
            y = f(ramp(3, 2) + number)
            y.sum().backward()
            seen += [*y.tolist(), *model.weight.grad.tolist()]
            with numgrad.no_grad():
                model.weight.sub_(model.weight.grad)
        return seen

    compiled = numgrad.compile(lambda x: change(model(x)))
    assert run(compiled) == run(lambda x: change(model(x)))
    assert len(recorded) <= rollouts + 2
    assert replays(compiled) == [1]
    assert "launches, backward" in repr(numgrad.compiler.explain(compiled))


def test_backward_after_calls_without():
    model = nn.Linear(2, 2)
    compiled = numgrad.compile(lambda x: model(x).relu())
    for _ in range(4):
        compiled(ramp(3, 2))
    for number in range(4):
        y = compiled(ramp(3, 2))
        model.zero_grad()
        y.sum().backward()
        expected = model.weight.grad.tolist()
        model.zero_grad()
        model(ramp(3, 2)).relu().sum().backward()
        assert model.weight.grad.tolist() == expected
    assert replays(compiled) == [1]
    assert "backward 3 launches" in repr(numgrad.compiler.explain(compiled))


def test_calls_to_which_backward_hardly_comes():
    w = numgrad.ones(3, requires_grad=True)
    compiled = numgrad.compile(lambda x: F.dropout(x * w))
    for _ in range(16):
        compiled(ramp(3))
    with pytest.warns(UserWarning, match="few of its calls are followed by backward"):
        compiled(ramp(3))
    compiled(ramp(3)).sum().backward()
    assert w.grad is not None


@pytest.mark.parametrize("change", ["eval", "bias", "flag"])
def test_late_backward_says_what_it_needs(change):
    model = nn.Linear(2, 2)
    compiled = numgrad.compile(model)
    for _ in range(4):
        compiled(ramp(3, 2))
    y = compiled(ramp(3, 2))
    if change == "eval":
        model.eval()
    elif change == "bias":
        model.bias.detach().add_(1)
    else:
        model.bias.requires_grad_(False)
    with pytest.raises(RuntimeError, match="modified" if change == "bias" else "what it finds has changed") as error:
        y.sum().backward()
    text = "\n".join([str(error.value), *error.value.__notes__])
    assert "no backward had come to those before" in text
    assert "one of the first three calls" in text
    compiled(ramp(3, 2)).sum().backward()


@pytest.mark.filterwarnings("ignore:.*backward uses other results")
def test_other_results_of_calls_that_cannot_be_repeated():
    w = numgrad.ones(3, requires_grad=True)

    def function(x):
        return F.dropout(x * w), x * w * w

    compiled, failed = numgrad.compile(function), []
    seen = []
    for which in (compiled, function):
        numgrad.manual_seed(0)
        for number in range(6):
            w.grad = None
            results = which(ramp(3))
            try:
                results[number % 2].sum().backward()
            except RuntimeError as error:
                failed.append(str(error))
            else:
                seen.append((number, w.grad.tolist()))
    assert len(failed) == 1
    assert "from now on it runs uncompiled" in failed[0]
    assert seen[:5] == [one for one in seen[5:] if one[0] != 1]


@pytest.mark.parametrize("create_graph", [False, True])
def test_arguments_that_backward_does_not_come_to(create_graph):
    own = doubled(lambda ctx, g: g * 2)
    function = lambda a, b: (a * a, b * 3)  # noqa: E731

    def run(f):
        seen = []
        for number in range(6):
            v, w = ramp(3).requires_grad_(), ramp(3).requires_grad_()
            a, b, c = own(v), own(w), own(w)
            b.register_hook(lambda g: seen.append(None if g is None else g.tolist()))
            numgrad.autograd.graph.register_multi_grad_hook((a, b), lambda gs: seen.append([g is None for g in gs]))
            y, z = f(a, b)
            w.register_post_accumulate_grad_hook(lambda w: seen.append(w.grad.tolist()))
            which = (y, y + z, y + c, y + b, z)[number % 5]
            which.sum().backward(create_graph=create_graph)
            seen.extend([None if tensor.grad is None else tensor.grad.tolist() for tensor in (v, w)])
        return seen

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using backward.* with create_graph")
        assert run(numgrad.compile(function)) == run(function)
