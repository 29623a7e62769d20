"""The thread's state is restored at the end of a call, even if a user's hook, Function or context changed it."""

import warnings
from contextlib import suppress

import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function, Variable, detect_anomaly, forward_ad, grad
from numgrad.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    register_multi_grad_hook,
    saved_tensors_hooks,
)
from numgrad.utils.checkpoint import CheckpointError, checkpoint

CONTEXTS = {
    "no_grad": numgrad.no_grad,
    "enable_grad": numgrad.enable_grad,
    "inference_mode": numgrad.inference_mode,
    "anomaly": detect_anomaly,
    "forward check": lambda: detect_anomaly(check_forward=True),
    "hooks": lambda: saved_tensors_hooks(lambda t: t * 0 + 7, lambda t: t),
    "no hooks": lambda: disable_saved_tensors_hooks("none here"),
    "mutation": allow_mutation_on_saved_tensors,
    "dual level": forward_ad.dual_level,
}


def in_unpack_hook(x, switch):
    with saved_tensors_hooks(lambda t: t, lambda t: (switch(), t)[1]):
        y = x * x
    y.sum().backward()


def in_pack_hook(x, switch):
    with saved_tensors_hooks(lambda t: (switch(), t)[1], lambda t: t):
        (x * x).sum().backward()


def in_tensor_hook(x, switch):
    y = x * x
    y.register_hook(lambda gradient: switch())
    y.sum().backward()


def in_node_hooks(x, switch):
    y = x * x
    y.grad_fn.register_hook(lambda inputs, outputs: switch())
    y.grad_fn.register_prehook(lambda outputs: switch())
    y.sum().backward()


def in_hooks_of_a_leaf(x, switch):
    x.register_hook(lambda gradient: switch())
    x.register_post_accumulate_grad_hook(lambda leaf: switch())
    (x * x).sum().backward()


def in_hook_of_several(x, switch):
    a, b = x * 2, x * 3
    register_multi_grad_hook((a, b), lambda gradients: switch())
    (a + b).sum().backward()


def in_callback(x, switch):
    y = x * x
    y.register_hook(lambda gradient: Variable._execution_engine.queue_callback(switch))
    grad(y.sum(), x)


def in_hook_that_fails(x, switch):
    y = x * x
    y.register_hook(lambda gradient: (switch(), [].pop()))
    with pytest.raises(IndexError):
        y.sum().backward()


class Switching(Function):
    @staticmethod
    def forward(ctx, x, forward, backward):
        forward()
        ctx.backward = backward
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        ctx.backward()
        return gradient * 2, None, None


def in_forward(x, switch):
    Switching.apply(x, switch, None)


def in_backward(x, switch):
    Switching.apply(x, lambda: None, switch).sum().backward()


def in_jvp(x, switch):
    class Double(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, tangent):
            switch()
            return tangent * 2

    with forward_ad.dual_level():
        Double.apply(forward_ad.make_dual(x, ones(2)))


def in_what_is_computed_again(x, switch):
    calls = []

    def function(x):
        calls.append(0)
        y = x * x
        if len(calls) == 2:
            switch()
        return y * y

    result = checkpoint(function, x, use_reentrant=False).sum()
    with suppress(CheckpointError):  # in some modes other tensors are saved
        result.backward()


CALLS = [
    in_unpack_hook, in_pack_hook, in_tensor_hook, in_node_hooks, in_hooks_of_a_leaf, in_hook_of_several, in_callback,
    in_hook_that_fails, in_forward, in_backward, in_jvp, in_what_is_computed_again,
]


def assert_whole(was_recording):
    """The thread is in no mode but the given one, and entering and leaving modes works."""
    assert numgrad.is_grad_enabled() is was_recording
    assert not numgrad.is_inference_mode_enabled()
    assert not numgrad.is_anomaly_enabled()
    assert tensor(-1.0).log().isnan()  # which detect_anomaly(check_forward=True) refuses
    with numgrad.enable_grad():
        x = ones(2, requires_grad=True)
        assert (x * x).grad_fn._saved_self is x
        with saved_tensors_hooks(lambda t: t * 3, lambda t: t):
            assert (x * x).grad_fn._saved_self.tolist() == [3.0, 3.0]
        assert (x * x).grad_fn._saved_self is x
        with allow_mutation_on_saved_tensors():
            pass
        with forward_ad.dual_level():
            assert forward_ad.unpack_dual(x).tangent is None


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_context_that_is_entered_and_not_left(call, context):
    late = context in ("hooks", "no hooks", "mutation", "dual level")  # the others return to the mode of the hook
    context = CONTEXTS[context]
    entered = []

    def switch():
        entered.append(context())
        try:
            entered[-1].__enter__()
        except RuntimeError:  # a second one, inside the first
            entered.pop()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the overhead of anomaly detection
        call(tensor([1.0, 2.0], requires_grad=True), switch)
        assert_whole(True)
        if late:
            for left in reversed(entered):
                left.__exit__(None, None, None)
            assert_whole(True)


@pytest.mark.parametrize("context", ["no_grad", "enable_grad", "hooks"])
@pytest.mark.parametrize("call", [in_unpack_hook, in_tensor_hook, in_hooks_of_a_leaf, in_backward, in_callback])
def test_a_context_that_was_entered_outside_is_left(call, context):
    outside = CONTEXTS[context]()
    x = tensor([1.0, 2.0], requires_grad=True)
    with outside:
        recording = numgrad.is_grad_enabled()
        with numgrad.enable_grad():
            call(x, lambda: outside.__exit__(None, None, None))
        assert numgrad.is_grad_enabled() is recording
        if context == "hooks":
            assert (x * x).grad_fn._saved_self.tolist() == [7.0, 7.0]
    assert_whole(True)


@pytest.mark.parametrize("context", ["no_grad", "enable_grad", "inference_mode", "anomaly", "hooks"])
def test_leaving_twice(context):
    block = CONTEXTS[context]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        block = block()
    for _ in range(2):
        with block:
            pass
        block.__exit__(None, None, None)
        assert_whole(True)


def test_a_mode_set_by_a_hook_lasts_until_its_node_has_run():
    # As in PyTorch: the node's own computation is in the mode, and the next one's is not.
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = y * y
    seen = []
    z.register_hook(lambda gradient: numgrad.inference_mode().__enter__())
    z.register_hook(lambda gradient: seen.append(numgrad.is_inference_mode_enabled()))
    y.register_hook(lambda gradient: seen.append(numgrad.is_inference_mode_enabled()))
    z.sum().backward()
    assert seen == [True, False]
    assert x.grad.tolist() == [4.0, 32.0]


@pytest.mark.parametrize("mode", [numgrad.no_grad, numgrad.enable_grad])
def test_an_interrupt_at_the_end_of_a_decorated_function(mode):
    # Ctrl-C comes when Python calls a function: here __exit__, before it has done anything.
    class Interrupted(mode):
        def __exit__(self, *exception):
            raise KeyboardInterrupt

    decorated = Interrupted()(lambda: None)
    for recording in (True, False):
        with numgrad.set_grad_enabled(recording):
            with pytest.raises(KeyboardInterrupt):
                decorated()
            assert numgrad.is_grad_enabled() is recording
