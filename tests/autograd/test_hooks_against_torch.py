"""Hooks: written and random programs have the same results and errors with PyTorch and with numgrad."""

import pytest
from autograd_programs import Programs, assert_same, leaf
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.torch

program = Programs()


def watch(show, name, value, m):
    """Show the calls of every type of hook around a tensor."""
    value.register_hook(lambda g: show(name, "tensor", g))
    node = value.grad_fn
    if node is None:
        value.register_post_accumulate_grad_hook(lambda leaf: show(name, "accumulated", leaf.grad))
        node = m.autograd.graph.get_gradient_edge(value).node
    node.register_prehook(lambda outputs: show(name, "before", outputs))
    node.register_hook(lambda inputs, outputs: show(name, "after", inputs, outputs))
    return node


@program
def order(m, show):
    x, w = leaf(m), leaf(m, 3.0, 5.0)
    y = x * w
    nodes = [watch(show, "y", y, m), watch(show, "x", x, m), watch(show, "w", w, m)]
    y.retain_grad()
    (y * y + y).sum().backward()
    show(x.grad, w.grad, y.grad, len(nodes))


@program
def which_hooks_run(m, show):
    x, w = leaf(m), leaf(m, 3.0, 5.0)
    y = x * w
    z = y * 2
    nodes = [watch(show, name, value, m) for name, value in (("x", x), ("w", w), ("y", y), ("z", z))]
    total = z.sum()
    for inputs in ([x], [y], [y, x], [z, w], [w, x]):
        show("grad", m.autograd.grad(total, inputs, retain_graph=True))
        total.backward(inputs=inputs, retain_graph=True)
        show("grads", x.grad, w.grad, y.grad, z.grad, len(nodes))


@program
def replaced_and_asked_for(m, show):
    x = leaf(m)
    y = x * 2
    x.register_hook(lambda g: g * 5)
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    for inputs in ([x], [y], [x, y], [y, y]):
        show(m.autograd.grad(y.sum(), inputs, retain_graph=True), y.grad)
    y.sum().backward(inputs=[y, x])
    show(x.grad, y.grad)


@program
def no_gradient(m, show):
    x = leaf(m, 1.0, 2.0, 3.0)
    first, second, third = (x * 1).unbind()
    third.register_hook(lambda g: show("third", g))
    first.register_hook(lambda g: show("first", g))
    first.grad_fn.register_prehook(lambda outputs: show("before", outputs))
    first.grad_fn.register_hook(lambda inputs, outputs: show("after", inputs, outputs))
    third.register_hook(lambda g: show("third again", g))
    (second * 3).backward(retain_graph=True)
    show(x.grad)
    first.register_hook(lambda g: m.ones(()))
    second.backward()


@program
def no_gradient_at_all(m, show):
    class Stopped(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return None

    x = leaf(m)
    y = x.exp()
    nodes = [watch(show, "x", x, m), watch(show, "y", y, m)]
    Stopped.apply(y).sum().backward()
    show(x.grad, len(nodes))


@program
def changes_in_place(m, show):
    x = leaf(m)
    y = x * 2
    y.register_hook(lambda g: show("first", g))
    y.retain_grad()
    kept = y + 0
    show(len(y._backward_hooks))
    y.mul_(3)
    show(y._backward_hooks, y.retains_grad)
    y.register_hook(lambda g: show("second", g))
    y.add_(x)
    y.register_hook(lambda g: g * 10)
    (y + kept).sum().backward()
    show(y.grad, x.grad)


@program
def views(m, show):
    x = leaf(m, 1.0, 2.0, 3.0)
    base = x * 1
    view = base[:2]
    for value in (base, view):
        value.retain_grad()
    view.register_hook(lambda g: show("view", g))
    base.register_hook(lambda g: show("base", g))
    view.mul_(2)
    base.register_hook(lambda g: show("new base", g))
    (base.sum() * 3 + (view * 7).sum()).backward()
    show(x.grad, base.grad, view.grad, base.retains_grad, view.retains_grad)


@program
def after_accumulation(m, show):
    x = leaf(m)
    x.register_post_accumulate_grad_hook(lambda leaf: setattr(leaf, "grad", leaf.grad * 2))
    (x * x).sum().backward()
    (x * x).sum().backward()
    show(x.grad)
    x.requires_grad_(False)
    show(x._post_accumulate_grad_hooks is None)
    x.register_post_accumulate_grad_hook(print)


@program
def after_accumulation_on_a_result(m, show):
    (leaf(m) * 2).register_post_accumulate_grad_hook(print)


@program
def after_accumulation_with_result(m, show):
    x = leaf(m)
    x.register_post_accumulate_grad_hook(lambda leaf: 3)
    x.sum().backward()


@program
def several_gradients(m, show):
    a, b = leaf(m), leaf(m, 3.0, 5.0)
    c, d = a * b, a + b
    register = m.autograd.graph.register_multi_grad_hook
    handle = register((a, b, c, d), lambda g: show("all", g))
    register((a, b, c, d), lambda g: show("any", g), mode="any")
    register((c, d), lambda g: show("results", g))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c * d).sum().backward(retain_graph=True)
    handle.remove()
    m.autograd.grad((c * d).sum(), c, retain_graph=True)
    m.autograd.grad((c * d).sum(), a, create_graph=True)
    register((a, m.ones(2)), print, mode="any")
    register((a, m.ones(2)), print)


@program
def several_gradients_in_another_mode(m, show):
    m.autograd.graph.register_multi_grad_hook((leaf(m),), print, mode="some")


@program
def information_on_nodes(m, show):
    x = leaf(m, 1.0, 2.0, 3.0)
    first = (x * 1).unbind()[0]
    node = first.grad_fn
    show(isinstance(node, m.autograd.graph.Node), issubclass(type(node), m.autograd.graph.Node), node.name())
    for each in node._input_metadata:
        show(list(each.shape), str(each.dtype).split(".")[1], each.device, each.is_nested_tensor)
    node.metadata["key"] = 3
    show(first.grad_fn.metadata, node == first.grad_fn, node != x.exp().grad_fn, len({node, first.grad_fn}))
    show(first.exp().grad_fn._sequence_nr() > node._sequence_nr())
    node.other = 3


RETURNS = {
    "a tensor": lambda g: g, "a list": lambda g: [g], "nothing": lambda g: (), "two": lambda g: (g, g),
    "a number": lambda g: (3,), "double": lambda g: (g.double(),), "long": lambda g: (g.repeat(2),),
    "none": lambda g: (None,),
}


@pytest.mark.parametrize("category", ["tensor", "before", "after"])
@pytest.mark.parametrize("returned", RETURNS)
def test_hooks_may_return_the_same(returned, category):
    change = RETURNS[returned]

    def program(m, show):
        x = leaf(m)
        y = x.exp()
        if category == "tensor":
            y.register_hook(change)
        elif category == "before":
            y.grad_fn.register_prehook(lambda outputs: change(outputs[0]))
        else:
            y.grad_fn.register_hook(lambda inputs, outputs: change(inputs[0]))
        y.sum().backward()
        show(x.grad)

    assert_same(program)


@pytest.mark.parametrize("function", program)
def test_same_text_and_same_error(function):
    assert_same(function)


# --- programs drawn at random ---------------------------------------------------------------

PLACE = st.integers(0, 9)
STEP = st.one_of(
    st.tuples(st.sampled_from(["add", "mul", "sub", "pair"]), PLACE, PLACE),
    st.tuples(st.sampled_from(["double", "double_", "clone", "retain", "accumulated"]), PLACE),
    st.tuples(st.sampled_from(["tensor", "before", "after"]), PLACE, st.sampled_from([None, 2.0, 3.0])),
    st.tuples(st.sampled_from(["all", "any"]), st.lists(PLACE, min_size=1, max_size=3)),
    st.tuples(st.just("remove"), PLACE),
)
RUN = st.tuples(st.sampled_from(["backward", "grad"]), st.lists(PLACE, max_size=3))


class Machine:
    """Carries out a program drawn at random."""

    def __init__(self, m, show):
        self.m, self.show = m, show
        self.values = [leaf(m), leaf(m, 3.0, 5.0)]
        self.handles = []
        self.keep = []  # the nodes of leaves that have hooks
        self.changed = self.paired = False

    def of(self, index):
        return self.values[index % len(self.values)]

    def step(self, number, category, *arguments):
        m, show = self.m, self.show
        if category in ("add", "mul", "sub"):
            self.values.append(getattr(m, category)(*map(self.of, arguments)))
        elif category == "pair":
            if self.changed:  # PyTorch looks for changes also where no gradient arrives
                return
            self.paired = True
            self.values.extend(self._two_outputs().apply(*map(self.of, arguments)))
        elif category in ("all", "any"):
            results = [value for value in map(self.of, arguments[0]) if value.grad_fn is not None]
            register = m.autograd.graph.register_multi_grad_hook  # PyTorch's "all" takes no leaves in grad
            self.handles.append(register(results, lambda g: show(number, category, g), mode=category))
        elif category == "remove":
            if self.handles:
                self.handles[arguments[0] % len(self.handles)].remove()
        else:
            getattr(self, "_" + category)(number, self.of(arguments[0]), *arguments[1:])

    def _two_outputs(self):
        class Two(self.m.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.set_materialize_grads(False)
                return a * 3, b * 5

            @staticmethod
            def backward(ctx, g, h):
                return None if g is None else g * 3, None if h is None else h * 5

        return Two

    def _double(self, number, value):
        self.values.append(value * 2)

    def _double_(self, number, value):
        if value.grad_fn is not None and not self.paired:
            value.mul_(2)
            self.changed = True

    def _clone(self, number, value):
        self.values.append(value.clone())

    def _retain(self, number, value):
        value.retain_grad()

    def _accumulated(self, number, value):
        if value.grad_fn is None:
            self.handles.append(
                value.register_post_accumulate_grad_hook(lambda leaf: self.show(number, "accumulated", leaf.grad))
            )

    def _tensor(self, number, value, factor):
        def hook(g):
            self.show(number, "tensor", g)
            return None if factor is None or g is None else g * factor

        self.handles.append(value.register_hook(hook))

    def _before(self, number, value, factor):
        def hook(outputs):
            self.show(number, "before", outputs)
            return None if factor is None else tuple(None if g is None else g * factor for g in outputs)

        self.handles.append(self._node(value).register_prehook(hook))

    def _after(self, number, value, factor):
        if "Two" in str(value.grad_fn):  # there PyTorch shows gradients that nothing needs, too
            return

        def hook(inputs, outputs):
            self.show(number, "after", inputs, outputs)
            return None if factor is None else tuple(None if g is None else g * factor for g in inputs)

        self.handles.append(self._node(value).register_hook(hook))

    def _node(self, value):
        node = self.m.autograd.graph.get_gradient_edge(value).node
        self.keep.append(node)
        return node

    def run(self, category, inputs):
        show, total = self.show, self.values[-1].sum()
        inputs = [self.of(index) for index in inputs]
        if category == "grad":
            inputs = inputs or self.values[:2]
            show(self.m.autograd.grad(total, inputs, retain_graph=True, allow_unused=True))
        else:
            total.backward(inputs=inputs or None, retain_graph=True)
        show([value.grad for value in self.values])
        show([value.retains_grad for value in self.values])


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(STEP, min_size=3, max_size=16), st.lists(RUN, min_size=1, max_size=3))
def test_random_programs(steps, runs):
    def program(m, show):
        machine = Machine(m, show)
        for number, step in enumerate(steps):
            machine.step(number, *step)
        for run in runs:
            machine.run(*run)

    assert_same(program)
