"""Programs through a checkpoint, with all features of autograd, have PyTorch's results."""

import threading
import warnings

import pytest
from autograd_programs import Programs, assert_same, leaf
from checkpoint_programs import Counted, fails, kept, nested, warned

pytestmark = pytest.mark.torch

program = Programs()


# --- arguments and results --------------------------------------------------------------


@program
def arguments_of_all_kinds(m, show):
    x, y, calls, seen = leaf(m), leaf(m, 3.0, 4.0) * 2, [], []

    def function(x, number, y, items, *, k, name=None):
        seen.append((x, y, items, k))
        return x.sin() * number * y.sin() * items[0].cos() * k.exp(), name

    items, k = [x * 2], x / 3
    result, name = kept(m, Counted(function, calls), x, 2, y, items, k=k, name="n")
    result.sum().backward()
    show(name, x.grad, calls)
    for before, after in zip(*seen, strict=True):
        show(before is after)


@program
def no_arguments(m, show):
    x = leaf(m)
    kept(m, lambda: x.sin().exp()).sum().backward()
    show(x.grad)


@program
def keywords_only(m, show):
    x = leaf(m)
    kept(m, lambda t, k: t.sin().exp() * k, t=x, k=3).sum().backward()
    show(x.grad)


@program
def a_parameter_alone(m, show):
    w, calls = leaf(m), []
    y = kept(m, Counted(lambda x: (x * w).exp(), calls), m.ones(2))
    y.sum().backward()
    show(y.requires_grad, w.grad, calls)
    show(warned(lambda: nested(m, lambda x: (x * w).exp(), m.ones(2))))
    nested(m, lambda x: (x * w).exp(), m.ones(2)).sum().backward()


@program
def nothing_needs_a_gradient(m, show):
    calls = []
    show(kept(m, Counted(lambda x: x.exp(), calls), m.ones(2)), calls)
    show(warned(lambda: show(nested(m, Counted(lambda x: x.exp(), calls), m.ones(2)), calls)))


@program
def without_recording(m, show):
    for mode in (m.no_grad, m.inference_mode):
        x, calls = leaf(m), []
        with mode():
            y = kept(m, Counted(lambda x: x.exp(), calls), x)
            z = nested(m, Counted(lambda x: x.exp(), calls), x)
        show(y.requires_grad, z.requires_grad, calls)


@program
def results_of_any_structure(m, show):
    x = leaf(m)
    out = kept(m, lambda x: {"a": [x.sin(), (x.exp(), 3)], "b": None}, x)
    out["a"][1][0].sum().backward()
    show(sorted(out), out["a"][1][1], x.grad)


@program
def results_of_the_reentrant(m, show):
    x = leaf(m)
    out = nested(m, lambda x, number: (x * number, number, x.detach(), None, "n", x.long()), x, 3)
    show([r.requires_grad if hasattr(r, "requires_grad") else r for r in out])
    out[0].sum().backward()
    show(x.grad)
    show(nested(m, lambda x: [x.sin()], x)[0].requires_grad)
    nested(m, lambda x: x.detach(), x).sum().backward()


@program
def returning_the_argument(m, show):
    x = leaf(m)
    show(kept(m, lambda x: x, x) is x, nested(m, lambda x: x, x) is x)
    y = nested(m, lambda x: x, x * 2)
    y.sum().backward()
    show(x.grad, y.grad_fn.name())


@program
def without_recording_inside(m, show):
    def function(x):
        with m.no_grad():
            factor = x.exp()
        return x.sin() * factor + x.detach()

    for way in (kept, nested):
        x = leaf(m)
        way(m, function, x).sum().backward()
        show(x.grad)


@program
def unused_results(m, show):
    x, calls = leaf(m), []
    results = kept(m, Counted(lambda x: (x.sin().exp(), x.cos().exp()), calls), x)
    results[1].sum().backward()
    show(x.grad, calls)
    x, calls = leaf(m), []
    results = nested(m, Counted(lambda x: (x.sin().exp(), x.cos().exp()), calls), x)
    results[1].sum().backward()
    show(x.grad, calls)


@program
def other_tensors_than_leaves(m, show):
    for way in (kept, nested):
        x = leaf(m)
        t = x * x
        y = way(m, lambda t, u: (t * u).exp(), t, t.detach())
        (y + t).sum().backward()
        show(x.grad)


@program
def views(m, show):
    for way in (kept, nested):
        x = leaf(m, 1.0, 2.0, 3.0, 4.0)
        way(m, lambda x: x.view(2, 2)[0] * x[::2].exp(), x).sum().backward()
        show(x.grad)


@program
def changes_in_place_inside(m, show):
    def function(x):
        y = x * 2
        y[0] = y[1] * 3
        y.mul_(x.exp())
        return y.sin()

    for way in (kept, nested):
        x = leaf(m)
        way(m, function, x).sum().backward()
        show(x.grad)


# --- contexts ---------------------------------------------------------------------------


class Context:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __enter__(self):
        self.log.append(f"enter {self.name}")

    def __exit__(self, error_type, error, trace):
        self.log.append(f"leave {self.name} {error_type is None}")


@program
def contexts(m, show):
    x, log = leaf(m), []

    def function(x):
        log.append(m.is_grad_enabled())
        return x.sin().exp()

    y = kept(m, function, x, context_fn=lambda: (Context("forward", log), Context("backward", log)))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    show(log)
    log.clear()
    with m.no_grad():
        kept(m, function, x, context_fn=lambda: (Context("forward", log), Context("backward", log)))
    show(log)


@program
def contexts_that_are_none(m, show):
    show(fails(lambda: kept(m, lambda x: x.sin(), leaf(m), context_fn=lambda: 3)))
    kept(m, lambda x: x.sin(), leaf(m), context_fn=lambda: (3, 4))


# --- with the rest of autograd ----------------------------------------------------------


@program
def backward_inside(m, show):
    x, w, calls = leaf(m), leaf(m, 3.0, 4.0), []

    def function(x):
        y = x.sin().exp() * w
        y.sum().backward(retain_graph=True)
        return y

    y = kept(m, Counted(function, calls), x)
    show(calls, x.grad, w.grad)
    y.sum().backward()
    show(calls, x.grad, w.grad)


@program
def backward_inside_to_the_end(m, show):
    x, w, calls = leaf(m), leaf(m, 3.0, 4.0), []

    def function(x):
        (x.detach().exp() * w).sum().backward()
        return x.sin().exp()

    y = kept(m, Counted(function, calls), x, early_stop=False)
    y.sum().backward()
    show(calls, x.grad, w.grad)


@program
def gradient_inside(m, show):
    x, calls = leaf(m), []

    def function(x):
        y = x.sin().exp()
        (slope,) = m.autograd.grad(y.sum(), x, create_graph=True)
        return y * slope

    kept(m, Counted(function, calls), x).sum().backward()
    show(calls, x.grad)


@program
def reentrant_with_backward_inside(m, show):
    x, w, calls = leaf(m), leaf(m, 3.0, 4.0), []

    def function(x):
        with m.enable_grad():
            (x.detach().exp() * w).sum().backward()
        return x.sin().exp()

    nested(m, Counted(function, calls), x).sum().backward()
    show(calls, x.grad, w.grad)


@program
def hooks(m, show):
    log = []

    def function(t):
        y = t.sin()
        y.register_hook(lambda grad: log.append(("y", str(grad))))
        t.register_hook(lambda grad: log.append(("t", str(grad))))
        return y.exp()

    x = leaf(m)
    z = kept(m, function, x * 1)
    z.register_hook(lambda grad: log.append("z"))
    z.grad_fn.register_hook(lambda inputs, outputs: log.append("node"))
    z.grad_fn.register_prehook(lambda outputs: log.append("before"))
    z.retain_grad()
    z.sum().backward()
    show(log, z.grad)


@program
def hooks_outside(m, show):
    seen = []

    def pack(tensor):
        seen.append(("pack", tuple(tensor.shape)))
        return tensor

    def unpack(tensor):
        seen.append("unpack")
        return tensor

    x = leaf(m)
    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = kept(m, lambda x, t, ts, k: x.sin() * 1, x, m.ones(3), [m.ones(4)], k=m.ones(5))
        z = nested(m, lambda x, t: x.sin(), x, m.ones(3))
    (y + z).sum().backward()
    show(seen)


@program
def hooks_inside(m, show):
    seen = []

    def pack(tensor):
        seen.append("pack")
        return tensor.detach()

    def function(x):
        with m.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            y = x.sin()
        return y.exp()

    x = leaf(m)
    kept(m, function, x).sum().backward()
    show(seen, x.grad)


@program
def saving_on_the_cpu(m, show):
    x, calls = leaf(m), []
    with m.autograd.graph.save_on_cpu():
        y = kept(m, Counted(lambda x: x.sin().exp(), calls), x * 2)
    y.sum().backward()
    show(x.grad, calls)


@program
def functions(m, show):
    log = []

    class Scaled(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            log.append("forward")
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            log.append("backward")
            (x,) = ctx.saved_tensors
            return grad * ctx.factor * x, None

    for way in (kept, nested):
        x = leaf(m)
        way(m, lambda x: Scaled.apply(x.exp(), 3).sin(), x).sum().backward()
        show(log, x.grad)


@program
def anomaly_detection(m, show):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for way in (kept, nested):
            x = leaf(m, 0.0, 1.0)
            with m.autograd.set_detect_anomaly(True):
                way(m, lambda x: x.sin().exp(), x).sum().backward()
                show(x.grad)
                show(fails(way(m, lambda x: (x * x).sqrt() * x, x).sum().backward))


@program
def modules(m, show):
    for way in (kept, nested):
        m.manual_seed(0)
        model = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Dropout(0.4), m.nn.Tanh(), m.nn.Linear(4, 2)).double()
        x = m.rand(5, 3, dtype=m.float64, requires_grad=True)
        loss = way(m, model, x).pow(2).mean()
        loss.backward()
        show(loss.detach(), x.grad, *[p.grad for p in model.parameters()], m.rand(2))


@program
def threads(m, show):
    x = leaf(m)
    y = kept(m, lambda x: kept(m, lambda x: x.sin().exp(), x.cos()).sin(), x)
    workers = [threading.Thread(target=lambda: y.sum().backward(retain_graph=True)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    show(x.grad)


@pytest.mark.parametrize("function", program)
def test_a_program(function):
    assert_same(function)
