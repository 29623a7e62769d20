"""Errors of checkpoints whose recomputation differs, or that are called wrongly."""

import pytest
from checkpoints import changing, kept, leaf, reentrant

import numgrad
import numgrad.utils.checkpoint
from numgrad.autograd import Function, grad
from numgrad.utils.checkpoint import (
    CheckpointError,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_device_states,
)


def test_a_change_after_saving_is_noticed():
    def function(x):
        y = x * 2
        z = y.sin()
        y.add_(1)
        return z.exp().sin()

    with pytest.raises(CheckpointError, match=r"modified by an inplace operation: .*shape \[2\] and dtype torch.float"):
        kept(function, leaf()).sum().backward()  # PyTorch computes a wrong gradient
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        function(leaf()).sum().backward()


def test_an_argument_changed_later():
    x = leaf()
    t = x * 1
    y = kept(lambda t: t.sin(), t)
    t.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: .*\[2\].* version 1; expected version"):
        y.sum().backward()


def test_metadata_that_differs():
    y = kept(changing(lambda x: x.sin().sin(), lambda x: x[:1].sin().double().sin()), leaf())
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    lines = str(caught.value).splitlines()
    assert lines[1:7] == [
        "tensor at position 0:",
        "saved metadata: {'shape': torch.Size([2]), 'dtype': torch.float32, 'device': device(type='cpu')}",
        "recomputed metadata: {'shape': torch.Size([1]), 'dtype': torch.float32, 'device': device(type='cpu')}",
        "tensor at position 1:",
        "saved metadata: {'shape': torch.Size([2]), 'dtype': torch.float32, 'device': device(type='cpu')}",
        "recomputed metadata: {'shape': torch.Size([1]), 'dtype': torch.float64, 'device': device(type='cpu')}",
    ]


def test_without_the_check_what_cannot_fit_is_an_error():
    y = kept(changing(lambda x: x.sin(), lambda x: x.new_ones(3).mul(x[0]).sin()), leaf(), determinism_check="none")
    with pytest.raises(RuntimeError, match="expand"):
        y.sum().backward()


@pytest.mark.parametrize(("switch", "own"), [(None, True), (True, False)])
def test_debug_shows_where_the_operations_differ(switch, own):
    with set_checkpoint_debug_enabled(switch):
        y = kept(changing(lambda x: x.sin().exp().exp(), lambda x: x.sin().cos()), leaf(), debug=own)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved") as caught:
        y.sum().backward()
    message = str(caught.value)
    assert isinstance(caught.value.__cause__, CheckpointError)
    assert "  1. sin(float32[2]) -> float32[2]   (test_checkpoint_errors.py, line " in message
    assert "> 2. exp(float32[2]) -> float32[2]   (test_checkpoint_errors.py, line " in message
    assert "> 2. cos(float32[2]) -> float32[2]   (test_checkpoint_errors.py, line " in message
    assert message.endswith("The operations differ first at number 2, which is marked.")


def test_debug_of_operations_that_do_not_differ():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors  # noqa: B018 - reads the saved tensor for the first time
            return g * ctx.saved_tensors[0]

    y = kept(lambda x: Twice.apply(x.sin()), leaf(), debug=True)
    with pytest.raises(CheckpointError, match="already unpacked once") as caught:
        y.sum().backward()
    assert str(caught.value).endswith("The operations do not differ in what they are, nor in shapes and dtypes.")
    x = leaf()
    kept(lambda x: x.sin().exp(), x, debug=True).sum().backward()
    assert x.grad is not None


def test_warnings_show_the_line_of_the_user():
    x = numgrad.ones(2)
    for call in (
        lambda: checkpoint(lambda x: x, leaf()),
        lambda: checkpoint_sequential([lambda x: x], 1, x),
        lambda: check_backward_validity([x]),
    ):
        with pytest.warns(UserWarning, match="parameter should be passed|None of the inputs have") as caught:
            call()
        assert caught[0].filename == __file__


def test_segments_that_cannot_be():
    for segments in (0, 3):
        with pytest.raises(ValueError, match=f"2 functions cannot be divided into {segments} segments"):
            checkpoint_sequential([numgrad.sin] * 2, segments, leaf(), use_reentrant=False)


def test_options_that_cannot_be():
    with pytest.raises(ValueError, match=r"determinism_check should be one of .*, but got x"):
        kept(numgrad.sin, leaf(), determinism_check="x")
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        reentrant(numgrad.sin, leaf(), debug=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a,b"):
        reentrant(numgrad.sin, leaf(), a=1, b=2)
    x = leaf()
    y = reentrant(numgrad.sin, x)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs` parameter"):
        grad(y.sum(), x)
    with pytest.raises(RuntimeError, match=r"random states of the devices \[0\] are those of GPUs, not of 'cpu'"):
        set_device_states([0], [None], device_type="cpu")
    with pytest.raises(TypeError, match="must be a torch"):
        set_device_states([0], [None])


def test_names():
    assert numgrad.utils.checkpoint.checkpoint is checkpoint
    with pytest.raises(AttributeError, match=r"PyTorch has 'CheckpointPolicy', but .*checkpoint does not have it"):
        numgrad.utils.checkpoint.CheckpointPolicy  # noqa: B018
    assert reentrant(numgrad.sin, leaf()).grad_fn.name() == "CheckpointFunctionBackward"
