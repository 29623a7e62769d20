"""Programs that switch modes: they have the same results and errors with PyTorch and with numgrad."""

import pytest
from autograd_programs import Programs, assert_same, leaf

pytestmark = pytest.mark.torch

program = Programs()


# --- the modes --------------------------------------------------------------------------


@program
def nesting(m, show):
    def modes():
        show(m.is_grad_enabled(), m.is_inference_mode_enabled(), (leaf(m) * 2).requires_grad, m.ones(1).is_inference())

    blocks = {
        "off": m.no_grad, "on": m.enable_grad, "set off": lambda: m.set_grad_enabled(False),
        "set on": lambda: m.set_grad_enabled(True), "inference": m.inference_mode,
        "normal": lambda: m.inference_mode(False),
    }
    for first in blocks:
        for second in blocks:
            for third in blocks:
                show(first, second, third)
                with blocks[first](), blocks[second]():
                    modes()
                    with blocks[third]():
                        modes()
                    modes()
                modes()


@program
def switching_in_a_block(m, show):
    for block in (m.no_grad, m.enable_grad, m.inference_mode):
        for mode in (True, False):
            with block():
                m.set_grad_enabled(mode)
                show(m.is_grad_enabled(), m.is_inference_mode_enabled())
                with m.inference_mode():
                    show(m.is_grad_enabled())
                show(m.is_grad_enabled())
            show(m.is_grad_enabled(), m.is_inference_mode_enabled())


@program
def set_grad_enabled_objects(m, show):
    mode = m.set_grad_enabled(False)
    show(m.is_grad_enabled(), mode.mode)
    m.set_grad_enabled(True)
    for _ in range(2):
        with mode:
            show(m.is_grad_enabled())
        show(m.is_grad_enabled())
    function = mode(m.is_grad_enabled)
    show(function(), m.is_grad_enabled())
    show(mode.clone().mode, m.is_grad_enabled())


@program
def multithreading(m, show):
    enabled = m.autograd.is_multithreading_enabled
    show(enabled())
    with m.autograd.set_multithreading_enabled(False) as mode:
        show(enabled(), mode)
    show(enabled())
    mode = m.autograd.set_multithreading_enabled(False)
    show(enabled(), mode.mode)
    m.autograd.set_multithreading_enabled(True)
    with mode:
        show(enabled())
    show(enabled())
    mode(enabled)
    show(enabled())


@program
def multithreading_of_none(m, show):
    m.autograd.set_multithreading_enabled(None)


@program
def set_grad_enabled_of_none(m, show):
    m.set_grad_enabled(None)


@program
def set_grad_enabled_of_one(m, show):
    m.set_grad_enabled(1)


@program
def a_decorated_class_method(m, show):
    class Model:
        @m.no_grad()
        @classmethod
        def make(cls):
            return cls()

    Model().make()


@program
def decorated_classes(m, show):
    for decorate in (m.no_grad, m.no_grad(), m.inference_mode(), m.inference_mode):

        class Model:
            def __init__(self, value):
                show(value, m.is_grad_enabled(), m.is_inference_mode_enabled())

            def modes(self):
                show(m.is_grad_enabled(), m.is_inference_mode_enabled())

        decorate(Model)(3).modes()


@program
def generators(m, show):
    @m.no_grad()
    def generate():
        try:
            show("got", (yield m.is_grad_enabled()), m.is_grad_enabled())
            m.set_grad_enabled(True)
            yield m.is_grad_enabled()
            yield m.is_grad_enabled()
        except KeyError as error:
            show("caught", error, m.is_grad_enabled())
            yield "after"
        finally:
            show("finally", m.is_grad_enabled())
        return "result"

    def collect():
        show("returned", (yield from generate()), m.is_grad_enabled())

    generator = collect()
    show(next(generator), generator.send("sent"), m.is_grad_enabled(), list(generator))
    generator = generate()
    show(next(generator), generator.throw(KeyError("thrown")), m.is_grad_enabled())
    generator.close()
    show(list(generator), m.is_grad_enabled())
    generator = generate()
    next(generator)
    generator.throw(ValueError("out"))


@program
def subclasses(m, show):
    class Logged(m.no_grad):
        def __enter__(self):
            show("in")
            super().__enter__()

        def __exit__(self, *exception):
            super().__exit__(*exception)
            show("out")

    with Logged():
        show(m.is_grad_enabled())
    show(Logged()(m.is_grad_enabled)(), m.is_grad_enabled())


# --- no_grad ----------------------------------------------------------------------------


@program
def without_recording(m, show):
    x = leaf(m)
    y = x * 2
    with m.no_grad():
        show(x * 2, y, y.clone(), y.contiguous(), y.detach(), y.double(), y.float(), (x + 1).is_leaf)
        show(m.ones(1, requires_grad=True), m.nn.Parameter(m.ones(1)), m.ones(1).requires_grad_())
        show(m.nn.Linear(2, 1).weight.requires_grad)
        x.mul_(2)
        x[0] = 7
        x.data.add_(1)
        show(x, x._version, y.sum().grad_fn)
    y.sum().backward()
    show(x.grad)


@program
def views_without_recording(m, show):
    x, y = leaf(m), leaf(m) * 1
    with m.no_grad():
        of_leaf, of_result = x[:1], y[:1]
        of_leaf.add_(1)
        show(x, of_leaf.is_leaf)
    of_result.add_(1)


@program
def views_without_recording_of_a_leaf(m, show):
    x = leaf(m)
    with m.no_grad():
        view = x[:1]
    view.add_(1)


@program
def views_without_recording_that_get_a_gradient(m, show):
    n = m.zeros(2)
    with m.no_grad():
        view = n[:1]
    view.add_(1)
    show(n)
    view.add_(leaf(m, 1.0))


@program
def backward_without_recording(m, show):
    x = leaf(m)
    y, z = (x * x).sum(), (x * x * x).sum()
    with m.no_grad():
        y.backward(retain_graph=True)
        show(x.grad)
        first, = m.autograd.grad(z, x, create_graph=True)
        show(first.requires_grad, m.is_grad_enabled())
    first.sum().backward()
    show(x.grad)


@pytest.mark.parametrize("function", program)
def test_same_text_and_same_error(function):
    assert_same(function)
