"""Programs of custom functions: with PyTorch and with numgrad they show the same and fail alike."""

import pytest
from autograd_programs import Programs, assert_same, leaf

pytestmark = pytest.mark.torch

program = Programs()


def scaling(m, **methods):
    """A Function ``x * factor`` with some methods replaced."""

    def forward(ctx, x, factor):
        ctx.sizes, ctx.factor = x.shape, factor
        ctx.save_for_backward(x)
        return x * factor

    def backward(ctx, g):
        return g * ctx.factor, None

    methods = {"forward": forward, "backward": backward, **methods}
    return type("Scale", (m.autograd.Function,), {name: staticmethod(method) for name, method in methods.items()})


@program
def function(m, show):
    x = leaf(m)
    y = scaling(m).apply(x, 5.0)
    show(y, y.grad_fn.name(), y.grad_fn.next_functions, y.grad_fn.saved_tensors, y.grad_fn.factor, y.grad_fn.sizes)
    show(y.grad_fn.needs_input_grad)
    y.sum().backward()
    show(x.grad)
    y.sum().backward()  # nothing asks for what was saved
    show(y.grad_fn.saved_tensors)


@program
def function_of_several(m, show):
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        index = a.argmax()
        ctx.mark_non_differentiable(index)
        return a * b, index, a + b, "text"

    def backward(ctx, product, index, total, text):
        a, b = ctx.saved_tensors
        show(ctx.needs_input_grad, product, index, total, text)
        return product * b + total, product * a + total

    a, b = leaf(m), leaf(m, 3.0, 5.0)
    product, index, total, text = scaling(m, forward=forward, backward=backward).apply(a, b)
    show(product, index, total, text, product.output_nr, total.output_nr)
    (total * 2).sum().backward()
    show(a.grad, b.grad)


@program
def function_in_place(m, show):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    x = leaf(m)
    y = x * 1
    z = scaling(m, forward=forward, backward=lambda ctx, g: g * 2).apply(y)
    show(z is y, y, y._version)
    (y * y).sum().backward()
    show(x.grad)
    try:
        scaling(m, forward=forward).apply(x)
    except RuntimeError as error:
        show(str(error)[:34])


@program
def function_on_its_input(m, show):
    x = leaf(m)
    y = scaling(m, forward=lambda ctx, x: x, backward=lambda ctx, g: g * 7).apply(x)
    show(y, y is x, y._is_view(), y.data_ptr() == x.data_ptr())
    y.sum().backward()
    show(x.grad)
    y.mul_(2)


@program
def function_forgets_what_is_dirty(m, show):
    scaling(m, forward=lambda ctx, x: (ctx.mark_dirty(x.mul_(2)), x + 1)[1]).apply(leaf(m) * 1)


@program
def too_few_gradients(m, show):
    scaling(m, backward=lambda ctx, g: g).apply(leaf(m), 2).sum().backward()


@program
def gradient_of_wrong_shape(m, show):
    scaling(m, backward=lambda ctx, g: (m.ones(3), None)).apply(leaf(m), 2).sum().backward()


@program
def gradient_that_is_no_tensor(m, show):
    scaling(m, backward=lambda ctx, g: (3.0, None)).apply(leaf(m), 2).sum().backward()


@program
def gradient_of_a_number(m, show):
    scaling(m, backward=lambda ctx, g: (g, g)).apply(leaf(m), 2).sum().backward()


@program
def no_backward(m, show):
    y = scaling(m, backward=m.autograd.Function.backward).apply(leaf(m), 2)
    show(y)
    try:
        y.sum().backward()
    except NotImplementedError as error:
        show(str(error)[:18])


@program
def once(m, show):
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 2, None

    backward = m.autograd.function.once_differentiable(backward)
    x = leaf(m)
    (first,) = m.autograd.grad((scaling(m, backward=backward).apply(x, 1) * x).sum(), x, create_graph=True)
    show(first.detach(), first.requires_grad)
    first.sum().backward()


# --- anomaly and nesting ----------------------------------------------------------------


@program
def anomaly(m, show):
    x = leaf(m, 0.0, 1.0)
    with m.autograd.set_detect_anomaly(True, check_nan=False):
        ((x * 0).sqrt() * 0).sum().backward()
    show(x.grad)
    with m.autograd.detect_anomaly():
        ((x * 0).sqrt() * 0).sum().backward()


@program
def nested(m, show):
    x, w = leaf(m), leaf(m, 3.0, 5.0)
    inner = (x * w).sum()
    y = x * 2
    y.register_hook(lambda g: inner.backward())
    y.sum().backward()
    show(x.grad, w.grad)


@pytest.mark.parametrize("function", program)
def test_same_text_and_same_error(function):
    assert_same(function)
