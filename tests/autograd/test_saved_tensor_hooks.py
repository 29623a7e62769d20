"""Hooks that decide in which form tensors are saved for backward, for a block and for one saved tensor."""

import gc
import threading
from weakref import ref

import pytest

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks


@pytest.fixture
def x():
    return tensor([0.5, 1.5, 2.5], requires_grad=True)


class Log:
    """Packs a tensor as its index in a list, and counts."""

    def __init__(self):
        self.packed, self.unpacked = [], 0

    def pack(self, t):
        self.packed.append(t.detach().clone())
        return len(self.packed) - 1

    def unpack(self, index):
        self.unpacked += 1
        return self.packed[index]

    def __enter__(self):
        self.block = saved_tensors_hooks(self.pack, self.unpack)
        self.block.__enter__()
        return self

    def __exit__(self, *exception):
        self.block.__exit__(*exception)


def gradient(x, function):
    return numgrad.autograd.grad(function(x).sum(), x)[0]


#: Functions that save their input, another operand, their result, both; through every class of node.
FUNCTIONS = {
    "exp": lambda t: t.exp(), "mul": lambda t: t * t.detach(), "square": lambda t: t * t, "pow": lambda t: t**3,
    "number": lambda t: 3 / t, "broadcast": lambda t: t[:, None] * t, "softmax": lambda t: t.softmax(0) * t.detach(),
    "matmul": lambda t: t @ t, "index": lambda t: t[tensor([0, 0, 2])] * 2, "where": lambda t: t.where(t > 1, t * t),
    "max": lambda t: t.max(), "cumprod": lambda t: t.cumprod(0), "in place": lambda t: (t * 1).mul_(t).sin_(),
    "view": lambda t: t.clone()[1:].mul_(t[1:]), "long": lambda t: ((t * 2).tanh() / (t + 1)).logsumexp(0),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients_are_the_same(x, function):
    expected = gradient(x, function)
    with Log() as log:
        result = function(x)
    gradient_with_hooks, = numgrad.autograd.grad(result.sum(), x)
    assert gradient_with_hooks.tolist() == expected.tolist()
    assert len(log.packed) == log.unpacked > 0


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_second_derivatives_are_the_same(x, function):
    def twice(x):
        first, = numgrad.autograd.grad((function(x) ** 2).sum(), x, create_graph=True)
        return numgrad.autograd.grad((first**2).sum(), x)[0]

    expected = twice(x)
    with Log():
        assert twice(x).tolist() == expected.tolist()


def test_backward_uses_the_unpacked_tensor(x):
    with saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = x * x.detach()
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 15.0, 25.0]


def test_the_innermost_pair_is_used_and_only_inside_its_block(x):
    with Log() as outer:
        x.exp()
        with Log() as inner:
            x.exp()
            x * x
        x.exp()
    x.exp()
    assert (len(outer.packed), len(inner.packed)) == (2, 3)


def test_nothing_is_packed_where_nothing_is_saved(x):
    with Log() as log:
        x + 1
        x.sum()
        x.detach().exp()
        with numgrad.no_grad():
            x * x
    assert log.packed == []


def test_pack_hooks_run_without_recording(x):
    modes, kept = [], []

    def pack(t):
        modes.append(numgrad.is_grad_enabled())
        kept.append(t * 2)
        return t

    def unpack(t):
        modes.append(numgrad.is_grad_enabled())
        return t

    with saved_tensors_hooks(pack, unpack):
        (x * x).sum().backward(create_graph=False)
    assert modes == [False] * 4
    assert not any(t.requires_grad for t in kept)


def test_hooks_of_one_thread_are_not_anothers(x):
    with Log() as log:
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert log.packed == []


def test_an_exception_leaves_the_block(x):
    log = Log()
    with pytest.raises(ZeroDivisionError), log:
        raise ZeroDivisionError
    x.exp()
    assert log.packed == []


@pytest.mark.parametrize(("pack", "unpack", "error", "words"), [
    (lambda t: t.add_(1), lambda t: t, RuntimeError, "A saved tensor pack hook is modifying its input in place"),
    (lambda t: t, lambda t: 3, TypeError, "unpack_hook expected to be a Tensor but got result of type int"),
    (lambda t: t, lambda t: zeros(7), RuntimeError, r"shape \[3\] was packed, but unpack_hook returned"),
    (lambda t: t, lambda t: t.double(), RuntimeError, "FloatTensor was packed, but unpack_hook returned a torch.Doub"),
    (lambda t: t, lambda t: zeros(()).fill_(1 / 0), ZeroDivisionError, "division by zero"),
    (3, lambda t: t, TypeError, "pack_hook must be callable, not int"),
    (lambda t: t, None, TypeError, "unpack_hook must be callable, not NoneType"),
])
def test_hooks_that_will_not_do(x, pack, unpack, error, words):
    with pytest.raises(error, match=words), saved_tensors_hooks(pack, unpack):
        (x * x).sum().backward()
    assert x.grad is None
    gradient(x, numgrad.exp)


def test_blocks_may_end_in_any_order(x):
    first, second = Log(), Log()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    x.exp()
    second.__exit__()
    x.exp()
    assert (len(first.packed), len(second.packed)) == (0, 1)


@pytest.mark.parametrize("change", [
    lambda y: y.exp_(), lambda y: y.t().tanh_(), lambda y: y[0].sigmoid_(),
], ids=["row", "view", "part"])
def test_a_change_whose_result_cannot_be_packed_is_in_the_graph_but_has_no_backward(x, change):
    def fail(t):
        raise ZeroDivisionError

    y = x[None] * ones(2, 1)
    with pytest.raises(ZeroDivisionError), saved_tensors_hooks(fail, fail):
        change(y)
    with pytest.raises((RuntimeError, ZeroDivisionError)):
        y.sum().backward()
    assert x.grad is None or x.grad.tolist() == [2.0] * 3


def test_disabling_hooks(x):
    log = Log()
    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match=r"^not here$"), log:
            pass
        with disable_saved_tensors_hooks("nor here"), pytest.raises(RuntimeError, match=r"^nor here$"), log:
            pass
        with pytest.raises(RuntimeError, match=r"^not here$"), log:
            pass
    with log:
        x.exp()
        with pytest.raises(RuntimeError, match=r"^too late$"), disable_saved_tensors_hooks("too late"):
            pass
    assert len(log.packed) == 1


def test_saving_on_the_cpu_keeps_copies(x):
    y = x * 1
    with save_on_cpu(), save_on_cpu(pin_memory=True):
        z = y * y
    y.zero_()  # the saved tensor is a copy
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 3.0, 5.0]


# --- one saved tensor -------------------------------------------------------------------


@pytest.mark.parametrize("function", [
    lambda x: x * x.detach(), lambda x: x**2, lambda x: x[None] * x.detach()[:, None], lambda x: x.logsumexp(0),
], ids=["short way", "number", "general way", "reduction"])
def test_hooks_of_one_saved_tensor(x, function):
    log = Log()
    expected = gradient(x, function)
    y = function(x)
    names = [name for name in dir(y.grad_fn) if name.startswith("_raw_saved_")]
    for name in names:
        raw = getattr(y.grad_fn, name)
        if isinstance(getattr(y.grad_fn, name.removeprefix("_raw")), numgrad.Tensor):
            raw.register_hooks(log.pack, log.unpack)
            assert getattr(y.grad_fn, name.removeprefix("_raw")).tolist() == log.packed[-1].tolist()
    assert log.packed
    before = log.unpacked
    y.sum().backward()
    assert x.grad.tolist() == expected.tolist()
    assert log.unpacked == before + len(log.packed)


def test_one_saved_tensor_is_unpacked_at_a_time(x):
    log = Log()
    other = tensor([2.0, 3.0, 4.0], requires_grad=True)
    with log:
        y = x * other
    assert y.grad_fn._saved_other.tolist() == [2.0, 3.0, 4.0]
    assert log.unpacked == 1
    z = (x * 1) * other
    z.grad_fn._saved_self.detach().zero_()
    assert z.grad_fn._saved_other is other


def test_numbers_have_no_hooks(x):
    for node, name in ((x * 2).grad_fn, "other"), ((x[None] * 2).grad_fn, "other"), (x.cumsum(0).grad_fn, "dim"):
        with pytest.raises(RuntimeError, match="with value None is forbidden"):
            getattr(node, f"_raw_saved_{name}").register_hooks(lambda t: t, lambda t: t)


def test_errors_of_register_hooks(x):
    node = (x * x.detach()).grad_fn
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="pack_hook must be callable"):
        node._raw_saved_other.register_hooks(1, lambda t: t)
    node._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        node._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


@pytest.mark.parametrize("function", [numgrad.exp, lambda x: x[None] * x.detach(), lambda x: x.logsumexp(0)])
def test_saved_tensors_that_were_freed(x, function):
    y = function(x)
    name = next(n for n in dir(y.grad_fn) if n.startswith("_saved_") and n not in ("_saved_dim", "_saved_keepdim"))
    raw = getattr(y.grad_fn, "_raw" + name)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        getattr(y.grad_fn, name)
    for again in (raw, getattr(y.grad_fn, "_raw" + name)):
        with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
            again.register_hooks(lambda t: t, lambda t: t)


# --- memory -----------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_packing_a_tensor_as_it_is_makes_no_cycle(x, function):
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = function(x)
        node = ref(y)
        y.sum().backward(retain_graph=True)
        del y
        assert node() is None
        gc.collect()
        assert [value for value in gc.garbage if type(value).__module__.startswith("numgrad.")] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_packed_values_are_freed_by_backward(x):
    class Packed:
        def __init__(self, t):
            self.t = t

    kept = []

    def pack(t):
        packed = Packed(t)
        kept.append(ref(packed))
        return packed

    with saved_tensors_hooks(pack, lambda packed: packed.t):
        y = (x.exp() * ones(3)).tanh()
    assert all(weak() is not None for weak in kept)
    y.sum().backward()
    assert not any(weak() for weak in kept)


def test_an_attribute_error_of_a_hook_in_a_function_is_shown(x):
    def unpack(packed):
        raise AttributeError("of the hook")

    class Double(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

    with saved_tensors_hooks(lambda t: t, unpack):
        result = Double.apply(x)
    for read in (lambda: result.grad_fn.saved_tensors, result.sum().backward):
        with pytest.raises(AttributeError, match="of the hook"):
            read()
    assert not hasattr(result.grad_fn, "saved_for_nobody")


def test_saved_tensors_are_made_by_nodes_only(x):
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        type((x * x).grad_fn._raw_saved_self)()


def test_a_pack_hook_sees_a_result_in_its_place_in_the_graph(x):
    seen = []

    def pack(t):
        seen.append((t.requires_grad, t.is_leaf, t.grad_fn and t.grad_fn.name()))
        return t

    with saved_tensors_hooks(pack, lambda t: t):
        x.exp(), x.softmax(0), (x * 1).tanh_(), x.sum().reshape(1).cumprod(0)
    assert seen[:3] == [(True, False, f"{name}Backward0") for name in ("Exp", "Softmax", "Tanh")]


def test_saved_tensors_without_gradients_are_the_unpacked_objects(x):
    constant = ones(3)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        assert (x * constant).grad_fn._saved_other is constant
    with saved_tensors_hooks(lambda t: None, lambda _: constant):
        assert (x * constant.clone()).grad_fn._saved_other is constant
        assert (x * x).grad_fn._saved_self is not constant
