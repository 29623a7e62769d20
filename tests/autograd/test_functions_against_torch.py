"""Programs of custom functions: with PyTorch and with numgrad they have the same results and errors."""

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
    y.sum().backward()  # no rule reads the saved values
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
def gradient_that_is_not_a_tensor(m, show):
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


# --- results of forward -----------------------------------------------------------------


RETURNED = {
    "input": lambda x: x,
    "part": lambda x: x[:1],
    "view": lambda x: x.view(2, 1),
    "input and other": lambda x: (x, x * 2),
    "two parts": lambda x: (x[:1], x[1:]),
    "twice": lambda x: (x, x),
    "made twice": lambda x: (lambda y: (y, y))(x * 2),
    "view of another": lambda x: (x * 2).view(2, 1),
    "result and view": lambda x: (lambda y: (y, y.view(2, 1)))(x * 2),
    "others": lambda x: (x * 2, "text", None, [1], x.argmax(), x > 1, x.double()),
    "one": lambda x: (x * 2,),
    "nothing": lambda x: (),
    "list": lambda x: [x * 2],
    "integers": lambda x: x.long(),
}


@pytest.mark.parametrize("start", ["leaf", "result", "plain", "no_grad"])
@pytest.mark.parametrize("name", RETURNED)
def test_results_of_forward(name, start):
    def function(m, show):
        x = leaf(m)
        base = {"leaf": x, "result": x * 1, "plain": x.detach(), "no_grad": x}[start]
        made = scaling(m, forward=lambda ctx, x: RETURNED[name](x), backward=lambda ctx, *gradients: show(*gradients))
        with m.set_grad_enabled(start != "no_grad"):
            result = made.apply(base)
        outputs = [y for y in result if isinstance(y, m.Tensor)] if isinstance(result, tuple) else [result]
        show(result)
        for y in outputs if name != "list" else ():
            show(y is base, y._is_view(), y._base is base, y.requires_grad, y.is_leaf, y.output_nr)
            if y.requires_grad and y.grad_fn is not None:
                y.sum().backward(retain_graph=True)
            try:
                y.mul_(2)
                show(y, base)
            except RuntimeError as error:
                show(str(error)[:250])
        with m.no_grad():
            base.mul_(3)
        for y in outputs if name != "list" else ():
            show(y)

    assert_same(function)


# --- results of backward ----------------------------------------------------------------


GRADIENTS = {
    "one": lambda m, g: g,
    "list": lambda m, g: [g, g],
    "nothing": lambda m, g: None,
    "nones": lambda m, g: (None, None),
    "further nones": lambda m, g: (g, g, None, None),
    "empty": lambda m, g: (),
    "number": lambda m, g: (3, g),
    "text": lambda m, g: (g, "text"),
    "0-d": lambda m, g: (m.ones(()), g),
    "column": lambda m, g: (m.ones(2, 1), g),
    "larger": lambda m, g: (m.ones(4, 2), g),
    "double": lambda m, g: (g, g.double()),
    "integers": lambda m, g: (g.long(), g > 0),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_results_of_backward(name):
    def function(m, show):
        a, b = leaf(m), leaf(m, 3.0, 5.0)
        made = scaling(m, forward=lambda ctx, a, b: a * b, backward=lambda ctx, g: GRADIENTS[name](m, g))
        try:
            (made.apply(a, b) * 2).sum().backward()
        finally:
            show(a.grad, b.grad)

    assert_same(function)


# --- arguments --------------------------------------------------------------------------


CALLS = [
    lambda f, x: f(x), lambda f, x: f(x, 4), lambda f, x: f(x, factor=4), lambda f, x: f(x=x), lambda f, x: f(),
    lambda f, x: f(factor=x, x=x), lambda f, x: f(x, offset=1), lambda f, x: f(x, 2, offset=1),
    lambda f, x: f(x, other=1), lambda f, x: f(x, x=x), lambda f, x: f(x, 1, 2, 3), lambda f, x: f(factor=1),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("separate", [False, True])
def test_arguments(call, separate):
    def function(m, show):
        def forward(x, factor=3, offset=0):
            return x * factor + offset

        def setup_context(ctx, inputs, output):
            show(inputs, output)

        def backward(ctx, g):
            show(ctx.needs_input_grad)
            return (g,) * sum(ctx.needs_input_grad) + (None,) * ctx.needs_input_grad.count(False)

        if separate:
            made = scaling(m, forward=forward, setup_context=setup_context, backward=backward)
        else:
            made = scaling(m, forward=lambda ctx, x, factor=3, offset=0: forward(x, factor, offset), backward=backward)
        x = leaf(m)
        try:
            call(made.apply, x).sum().backward()
        except TypeError as error:
            show("missing" in str(error), "unexpected" in str(error), "multiple" in str(error))
        show(x.grad)

    assert_same(function)


# --- in place ---------------------------------------------------------------------------


@program
def function_in_place_on_views(m, show):
    def forward(ctx, x, other=False):
        ctx.mark_dirty(x)
        return (x.mul_(2), 3) if other else x.mul_(2)

    made = scaling(m, forward=forward, backward=lambda ctx, g: g * 2)
    x = leaf(m)
    base = x * 1
    view = base.view(2, 1)
    part = base[1:]
    result = made.apply(part)
    show(result is part, base, part, base._version, result._base is base, view)
    (base * base).sum().backward()
    show(x.grad)
    with m.no_grad():
        show(made.apply(x) is x, made.apply(base) is base)
    made.apply(base[:1], other=True)


@program
def function_in_place_not_differentiable(m, show):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x.mul_(2)

    y = leaf(m) * 1
    show(scaling(m, forward=forward).apply(y), y, y.grad_fn.name())


@program
def saved_and_changed(m, show):
    x = leaf(m)
    y = x * 1
    z = scaling(m, backward=lambda ctx, g: (ctx.saved_tensors[0], None)).apply(y, 2)
    y.add_(1)
    z.sum().backward()


@program
def several_ways_not_to_define_backward(m, show):
    for methods in ({"vjp": staticmethod(lambda ctx, g: g * 5)}, {}):
        base = type("Base", (m.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2), **methods})
        x = leaf(m)
        try:
            base.apply(x).sum().backward()
        except NotImplementedError as error:
            show(str(error))
        show(x.grad)
    scaling(m, vjp=lambda ctx, g: g).apply(leaf(m), 2).sum().backward()


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
