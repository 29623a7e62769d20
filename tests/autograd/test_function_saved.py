"""Tensors that a Function saves for backward: inputs, outputs, others; their access and their release."""

import gc
import weakref

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function

FREED = "Trying to backward through the graph a second time"


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def saving(choose, backward=lambda ctx, g, *others: (ctx.saved_tensors, g)[1]):
    """A Function that returns ``x * 2`` and ``x + 1``; of (x, outputs, another tensor) it saves ``choose(...)``."""

    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x * 2, x + 1
            ctx.save_for_backward(*choose(x, first, second, x * 5))
            ctx.mark_non_differentiable(second)
            return first, second

    Saves.backward = staticmethod(backward)
    return Saves


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# --- saved values -----------------------------------------------------------------------


def test_each_comes_back_as_it_was(x):
    y, second = saving(lambda x, y, second, other: (x, y, second, other, None, x)).apply(x)
    saved = y.grad_fn.saved_tensors
    assert saved[0] is x
    assert saved[5] is x
    assert (saved[1].tolist(), saved[1].grad_fn, saved[1].output_nr) == ([2.0, 4.0], y.grad_fn, 0)
    assert saved[2] is second
    assert (saved[3].tolist(), saved[3].requires_grad) == ([5.0, 10.0], False)
    assert saved[4] is None


def test_outputs_keep_their_graph_in_backward(x):
    def backward(ctx, g, of_second):
        (y,) = ctx.saved_tensors
        seen.append((numgrad.is_grad_enabled(), y.requires_grad, y.grad_fn is node))
        return g

    seen = []
    y, _ = saving(lambda x, y, *others: (y,), backward).apply(x)
    node = y.grad_fn
    y.sum().backward()
    assert seen == [(False, True, True)]


def test_an_output_given_twice_is_saved_as_the_later(x):
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            return y, y

    assert Twice.apply(x)[0].grad_fn.saved_tensors[0].output_nr == 1


def test_saving_again_replaces(x):
    class Again(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_backward(x * 3)
            return x * 2

    (saved,) = Again.apply(x).grad_fn.saved_tensors
    assert saved.tolist() == [3.0, 6.0]


def test_in_forward_nothing_is_saved_yet(x):
    class Early(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            assert ctx.saved_tensors == ()
            assert ctx.to_save == (x,)
            return x * 2

    node = Early.apply(x).grad_fn
    assert node.to_save is None
    assert node.saved_tensors == (x,)


def test_only_tensors_can_be_saved(x):
    for wrong in (3, "text", [x]):
        with pytest.raises(TypeError, match=f"save variables, but argument 1 is of type {type(wrong).__name__}"):
            saving(lambda x, *others, wrong=wrong: (x, wrong)).apply(x)
    saving(lambda *tensors: (3,)).apply(ones(2))  # not recorded, so not saved


@pytest.mark.parametrize("name", ["to_save", "dirty_tensors", "non_differentiable"])
def test_lists_in_place_of_what_the_methods_set(x, name):
    class Sets(Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, [x])
            return x * 2

    with pytest.raises(RuntimeError, match=f"{name} attribute is expected to be a tuple but is list"):
        Sets.apply(x)


def test_save_for_forward(x):
    class Forward(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x, None)
            assert ctx.saved_for_forward == (x, None)
            with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tensors"):
                ctx.save_for_forward(3)
            return x * 2

    assert Forward.apply(x).grad_fn.saved_tensors == ()


def test_older_names(x):
    y, _ = saving(lambda x, *others: (x,)).apply(x)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        assert y.grad_fn.saved_variables == (x,)

    class Marks(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_shared_storage((x, x))
            return x * 2

    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        Marks.apply(x)


def test_saved_tensors_cannot_be_set(x):
    class Sets(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.saved_tensors = (x,)

    with pytest.raises(AttributeError, match="saved_tensors"):
        Sets.apply(x)


# --- changes, and the end ---------------------------------------------------------------


@pytest.mark.parametrize("position", range(4), ids=["input", "output", "not differentiable", "other"])
def test_none_may_be_changed(x, position):
    made = []
    function = saving(lambda *tensors: (made.extend(tensors), (tensors[position],))[1])
    y, _ = outputs = function.apply(x * 1)
    loss = y.sum()
    changed = outputs[position - 1] if position in (1, 2) else made[position]
    with numgrad.no_grad():
        changed.add_(1)
    for use in (lambda: loss.grad_fn.next_functions[0][0].saved_tensors, loss.backward):
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation: .*version 1; expected version 0"):
            use()


def test_backward_frees(x):
    y, _ = saving(lambda x, y, *others: (x, y)).apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        _ = y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match=FREED):
        y.sum().backward()


def test_a_backward_that_asks_for_nothing_can_run_again(x):
    y, _ = saving(lambda x, *others: (x,), lambda ctx, g, of_second: g).apply(x)
    y.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_node_alone_keeps_what_was_saved(x):
    y, _ = saving(lambda x, y, *others: (x, y)).apply(x)
    node = y.grad_fn
    del y
    assert [saved.tolist() for saved in node.saved_tensors] == [[1.0, 2.0], [2.0, 4.0]]


# --- memory -----------------------------------------------------------------------------


@pytest.mark.parametrize("position", range(4), ids=["input", "output", "not differentiable", "other"])
@pytest.mark.parametrize("backward", [False, True])
def test_saved_tensors_are_freed_with_the_outputs(x, position, backward, no_collector):
    made = []
    function = saving(lambda *tensors: (made.extend(map(weakref.ref, tensors)), (tensors[position],))[1])
    outputs = function.apply(x * 1)
    made.append(weakref.ref(outputs[0].grad_fn))
    if backward:
        outputs[0].sum().backward()
    del outputs
    assert [tensor() for tensor in made] == [None] * 5


def test_attributes_go_with_the_outputs(x, no_collector):
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.other = x * 5
            made.append(weakref.ref(ctx.other))
            made.append(weakref.ref(ctx))
            return x * 2

    made = []
    y = Keeps.apply(x)
    assert made[0]() is y.grad_fn.other
    del y
    assert [thing() for thing in made] == [None, None]


def test_a_view_written_to_and_saved_goes_with_its_base(x, no_collector):
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors[0].tolist() == [4.0]
            return g * 2

    base = x * 1
    view = Double.apply(base[1:])
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]
    made = [weakref.ref(base), weakref.ref(view)]
    del base, view
    assert [thing() for thing in made] == [None, None]


# --- hooks ------------------------------------------------------------------------------


def test_saved_tensors_go_through_hooks(x):
    packed = []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.clone()

    with numgrad.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor * 10):
        y, _ = saving(lambda x, y, second, other: (x, y, None)).apply(x)
    assert packed == [[1.0, 2.0], [2.0, 4.0]]
    first, second, nothing = y.grad_fn.saved_tensors
    assert (first.tolist(), second.tolist(), nothing) == ([10.0, 20.0], [20.0, 40.0], None)
    assert first.requires_grad
    assert second.grad_fn is y.grad_fn


def test_hooks_of_one_saved_tensor(x):
    y, _ = saving(lambda x, y, *others: (x, None)).apply(x)
    kept, nothing = y.grad_fn._raw_saved_tensors
    kept.register_hooks(lambda tensor: 7.0, lambda number: numgrad.full((2,), number))
    assert y.grad_fn.saved_tensors[0].tolist() == [7.0, 7.0]
    with pytest.raises(RuntimeError, match="None is forbidden"):
        nothing.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        _ = y.grad_fn._raw_saved_tensors
