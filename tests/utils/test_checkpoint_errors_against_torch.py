"""Programs with checkpoints that fail or warn: with PyTorch and with numgrad alike."""

import warnings

import pytest
from autograd_programs import Programs, assert_same, leaf
from checkpoint_programs import fails, kept, message, nested, warned
from checkpoints import changing

pytestmark = pytest.mark.torch

program = Programs()


# --- errors -----------------------------------------------------------------------------


@program
def wrong_arguments(m, show):
    x, c = leaf(m), m.utils.checkpoint
    show(fails(lambda: nested(m, lambda x: x, x, foo=3, bar=4)))
    show(fails(lambda: nested(m, lambda x: x, x, context_fn=lambda: None)))
    show(fails(lambda: nested(m, lambda x: x, x, debug=True)))
    show(fails(lambda: nested(m, lambda x: x, x, determinism_check="x", early_stop=False)))
    show(fails(lambda: kept(m, lambda x: x, x, determinism_check="x")))
    show(fails(lambda: kept(m, lambda x: x, x, debug=True, context_fn=lambda: None)))
    show(fails(lambda: c.checkpoint_sequential([lambda x: x], 1, x, use_reentrant=False, foo=3)))
    show(fails(lambda: c.checkpoint_sequential([lambda x: x], 1, x, use_reentrant=False, determinism_check="none")))
    show(fails(lambda: kept(m, 3, x)))
    with c.set_checkpoint_debug_enabled(False):
        show(kept(m, lambda x: x * 1, x, debug=True, context_fn=c.noop_context_fn).detach())
    with c.set_checkpoint_debug_enabled(True):
        show(nested(m, lambda x: x * 1, x).detach())
    c.checkpoint()


@program
def warnings_of_the_default(m, show):
    x, c = leaf(m), m.utils.checkpoint
    show(warned(lambda: c.checkpoint(lambda x: x.sin(), x)))
    show(warned(lambda: c.checkpoint_sequential([lambda x: x.sin()], 1, x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show(c.checkpoint(lambda x: x.sin(), x).grad_fn.name())


@program
def more_tensors_than_before(m, show):
    x = leaf(m)
    more = changing(lambda x: x.sin(), lambda x: x.sin().sin())
    show(message(m, kept(m, more, x, early_stop=False).sum().backward))
    kept(m, changing(lambda x: x.sin(), lambda x: x.sin().sin()), x).sum().backward()
    show(x.grad)


@program
def fewer_tensors_than_before(m, show):
    for check in ("default", "none"):
        fewer = changing(lambda x: x.sin().sin().sin(), lambda x: x.sin())
        show(message(m, kept(m, fewer, leaf(m), determinism_check=check).sum().backward))


@program
def other_shapes(m, show):
    x = leaf(m)
    show(message(m, kept(m, changing(lambda x: x.sin().cos(), lambda x: x[:1].sin().cos()), x).sum().backward))


@program
def other_shapes_without_the_check(m, show):
    x = leaf(m)
    other = changing(lambda x: x.sin(), lambda x: x[:1].sin())
    kept(m, other, x, determinism_check="none").sum().backward()
    show(x.grad)


@program
def other_dtypes(m, show):
    x = leaf(m)
    show(message(m, kept(m, changing(lambda x: x.sin(), lambda x: x.double().sin()), x).sum().backward))
    other = changing(lambda x: x.sin(), lambda x: x.double().sin())
    kept(m, other, x, determinism_check="none").sum().backward()
    show(x.grad, x.grad.dtype)


@program
def argument_changed_later(m, show):
    x = leaf(m)
    t = x * 1
    y = kept(m, lambda t: t.sin(), t)
    t.add_(1)
    show(fails(y.sum().backward))
    y = nested(m, lambda t: t.sin(), t)
    t.add_(1)
    y.sum().backward()


@program
def keyword_argument_changed_later(m, show):
    x, k = leaf(m), m.ones(2)
    y = kept(m, lambda x, k: x.sin() * k, x, k=k)
    k.add_(1)
    y.sum().backward()
    show(x.grad)


@program
def argument_changed_inside(m, show):
    x = leaf(m)
    kept(m, lambda t: t.mul_(2).sin(), x * 1).sum().backward()


@program
def argument_changed_inside_the_reentrant(m, show):
    x = leaf(m)
    nested(m, lambda t: t.mul_(2).sin(), x * 1).sum().backward()


@program
def leaf_changed_between_passes(m, show):
    x = leaf(m)
    y = kept(m, lambda x: x.sin().exp(), x)
    y.sum().backward(retain_graph=True)
    with m.no_grad():
        x.add_(1)
    y.sum().backward()


@program
def saved_tensors_asked_for_twice(m, show):
    class Twice(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.saved_tensors  # noqa: B018 - reads the saved tensor for the first time
            return grad * ctx.saved_tensors[0]

    x = leaf(m)
    Twice.apply(x).sum().backward()
    show(message(m, kept(m, lambda x: Twice.apply(x.sin()), x).sum().backward))


@program
def errors_of_the_function(m, show):
    def broken(x):
        raise ValueError("broken")

    x = leaf(m)
    for way in (kept, nested):
        show(fails(lambda way=way: way(m, broken, x)))
        y = way(m, changing(lambda x: x.sin(), broken), x)
        show(fails(lambda y=y: y.sum().backward(retain_graph=True)))
        show(fails(lambda y=y: y.sum().backward(retain_graph=True)))
    show(m.is_grad_enabled())


@program
def another_try_after_an_error(m, show):
    x, calls = leaf(m), []

    def function(x):
        calls.append(1)
        y = x.sin()
        if len(calls) == 2:
            raise ValueError("once")
        return y.exp()

    y = kept(m, function, x)
    show(fails(lambda: y.sum().backward(retain_graph=True)), x.grad)
    y.sum().backward()
    show(x.grad, calls)


@program
def refused_hooks(m, show):
    x = leaf(m)
    disabled = m.autograd.graph.disable_saved_tensors_hooks
    with disabled("not here"):
        show(fails(lambda: kept(m, lambda x: x.sin(), x)))
        with m.no_grad():
            show(kept(m, lambda x: x.sin(), x))
        show(nested(m, lambda x: x.sin(), x).detach())
    y = kept(m, lambda x: x.sin(), x)
    with disabled("nor here"):
        y.sum().backward()


# --- the smaller functions --------------------------------------------------------------


@program
def small_functions(m, show):
    c, x = m.utils.checkpoint, leaf(m)
    show(c.detach_variable((x, 3, x * 2, m.ones(2))))
    show(fails(lambda: c.detach_variable([x])))
    show(warned(lambda: c.check_backward_validity([x, 3])), warned(lambda: c.check_backward_validity([3])))
    show(c.get_device_states(x, [x], 3), c.set_device_states([], []), c.set_device_states([], [], device_type="cpu"))
    before = c.DefaultDeviceType.get_device_type()
    c.DefaultDeviceType.set_device_type("other")
    show(c.DefaultDeviceType.get_device_type())
    c.DefaultDeviceType.set_device_type(before)
    show([type(context).__name__ for context in c.noop_context_fn()])
    show(c.CheckpointError.__mro__[1:], c.CheckpointFunction.__name__)


@program
def the_function_itself(m, show):
    x, y = leaf(m), m.ones(2)
    out = m.utils.checkpoint.CheckpointFunction.apply(lambda x, y: x * y.exp(), True, x, y)
    out.sum().backward()
    show(out, x.grad)


@pytest.mark.parametrize("function", program)
def test_a_program(function):
    assert_same(function)
