"""The context that ``forward`` and ``backward`` of a Function share: attributes, saved tensors, needed gradients."""

import gc
from weakref import ref

import pytest
from autograd_functions import Cube, Exp

from numgrad import no_grad, ones, tensor
from numgrad.autograd import Function


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def test_attributes_of_the_context(x):
    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.note, ctx.list = "kept", [1, 2]
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append((ctx.note, ctx.list, ctx.name(), ctx.next_functions))
            return g

    seen = []
    y = Keep.apply(x)
    assert (y.grad_fn.note, y.grad_fn.list) == ("kept", [1, 2])
    y.sum().backward()
    y.sum().backward()  # attributes are not freed
    assert seen == [("kept", [1, 2], "KeepBackward", y.grad_fn.next_functions)] * 2
    with pytest.raises(AttributeError, match="'KeepBackward' object has no attribute 'other'"):
        _ = y.grad_fn.other


@pytest.mark.parametrize("name", [
    "shape", "type", "layout", "edges", "sequence", "attached", "more_outputs", "function", "output", "input", "inputs",
    "saved", "name", "apply", "release", "record", "metadata", "makes_fresh_gradients", "wants_undefined", "context",
    "requires_grad", "dtype", "device", "dim", "size", "variable", "next_functions", "unpack", "register_hook",
])
def test_attributes_may_have_any_name(x, name):
    # Even one that the node in the graph uses for itself.
    class Named(Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, "the user's")
            ctx.save_for_backward(x)
            return x * 2, x.double().sum()

        @staticmethod
        def backward(ctx, of_product, of_sum):
            assert getattr(ctx, name) == "the user's"
            (x,) = ctx.saved_tensors
            return of_product * 2 + of_sum * x

    product, total = Named.apply(x)
    assert product.grad_fn.name() == "NamedBackward"
    ((product * 3).sum() + total * 5).backward()
    assert x.grad.tolist() == [11.0, 16.0]
    Named.apply(x)[1].backward()
    Named.apply(x)[0].sum().backward(create_graph=True)
    assert x.grad.tolist() == [14.0, 20.0]


def test_needs_input_grad(x):
    class Needs(Function):
        @staticmethod
        def forward(ctx, a, number, b, c):
            seen.append(ctx.needs_input_grad)
            return a + b + c

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None, None, g

    seen = []
    Needs.apply(x, 1, ones(2), x * 2).sum().backward()
    assert seen == [(True, False, False, True)] * 2
    assert x.grad.tolist() == [3.0, 3.0]


def test_saved_tensors(x):
    class Save(Function):
        @staticmethod
        def forward(ctx, x, other):
            result, middle = x * 2, x + 1
            ctx.save_for_backward(x, None, result, other, middle)
            return result

        @staticmethod
        def backward(ctx, g):
            kept, nothing, result, other, middle = ctx.saved_tensors
            seen.extend([kept, nothing, result, other, middle])
            return g * 2, None

    seen, other = [], ones(2)
    y = Save.apply(x, other)
    assert y.grad_fn.saved_tensors[0] is x
    y.sum().backward()
    assert seen[0] is x
    assert seen[1] is None
    assert (seen[2].tolist(), seen[2].grad_fn) == (y.tolist(), y.grad_fn)
    assert seen[3] is other
    assert (seen[4].tolist(), seen[4].requires_grad) == ([2.0, 3.0], False)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_save_for_backward_is_for_tensors(x):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        Wrong.apply(x)


@pytest.mark.parametrize("function", [Exp, Cube])
def test_a_saved_tensor_must_not_be_modified(function):
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    result = function.apply(y)
    changed = result if function is Exp else y
    changed.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: .* is at version 1; expected version 0"):
        result.sum().backward()


def test_a_context_is_whole_when_its_graph_is_gone(x):
    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.note = "kept"
            contexts.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    contexts = []
    Keep.apply(x)
    with no_grad():
        Keep.apply(x)
    first, unrecorded = contexts
    assert first.saved_tensors[0] is x
    assert (first.note, first.name(), first.needs_input_grad) == ("kept", "KeepBackward", (True,))
    assert first.next_functions[0][0].variable is x
    first.metadata["seen"] = True
    assert first.metadata == {"seen": True}
    first.register_hook(lambda *gradients: None).remove()
    assert (unrecorded.saved_tensors, unrecorded.name()) == ((), "KeepBackward")
    y = Keep.apply(x)
    y.sum().backward()
    del y
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        _ = contexts[2].saved_tensors
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        _ = contexts[2]._raw_saved_tensors
    gone = ref(contexts.pop())
    gc.collect()
    assert gone() is None
