"""Reentrant checkpoints: one node, whose backward records the function and immediately runs backward through it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ...amp.autocast_mode import autocast_again
from ...autograd.backward import backward as run_backward
from ...autograd.checks import is_tensor
from ...autograd.function import Function
from ...autograd.grad_mode import enable_grad, state
from ...autograd.levels import tensors_in
from ...devices import recording
from ...ops.creation.random_numbers import get_state, set_state
from ...random import States, gpu_generator
from .recomputation import random_numbers_again, states_of_draws


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``inputs`` with its tensors as leaves of a separate graph, with the same ``requires_grad``.

    Raises:
        RuntimeError: ``inputs`` is not a tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([
        value.detach().requires_grad_(value.requires_grad) if is_tensor(value) else value for value in inputs
    ])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among ``inputs`` requires a gradient."""
    if not any(is_tensor(value) and value.requires_grad for value in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """Operation of a reentrant checkpoint: ``CheckpointFunction.apply(function, preserve_rng_state, *args)``.

    Its backward runs ``function`` again, and the engine inside the engine.  Only tensors directly among ``args`` and
    the results take part.
    """

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function without recording it."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.autocast = state.autocast
        states = recording.unrecorded(States) if preserve_rng_state else None
        ctx.others = [None if is_tensor(value) else value for value in args]
        ctx.save_for_backward(*[value if is_tensor(value) else None for value in args])
        result = run_function(*args)
        ctx.random_states = states_of_draws(states)
        return result

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Run the function again and run backward through it.

        Raises:
            RuntimeError: this pass computes gradients of given tensors only, or nothing in the function requires one.
        """
        if state.current_pass.captures is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        pairs = zip(ctx.others, ctx.saved_tensors, strict=True)
        inputs = detach_variable(tuple([other if tensor is None else tensor for other, tensor in pairs]))
        with random_numbers_again(ctx.random_states), autocast_again(ctx.autocast), enable_grad():
            outputs = ctx.run_function(*inputs)
        if is_tensor(outputs):
            outputs = (outputs,)
        used = [index for index, value in enumerate(outputs) if is_tensor(value) and value.requires_grad]
        if not used:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([outputs[index] for index in used], [grad_outputs[index] for index in used])
        return None, None, *[value.grad if is_tensor(value) else None for value in inputs]


# -- random states of GPUs -----------------------------------------------------------------------------------


class DefaultDeviceType:
    """Default type of device, besides the CPU, whose random states are saved if no tensor specifies one: "cuda"."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the default."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the default."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the GPUs that have tensors among ``args``, and the states of their generators."""
    gpus = sorted({tensor.device.index for tensor in tensors_in(args) if tensor.device.type == "cuda"})
    return gpus, [get_state(gpu_generator(gpu)) for gpu in gpus]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Restore the states of GPUs returned by :func:`get_device_states`.

    Raises:
        RuntimeError: the device type is not "cuda".
    """
    if device_type is None:
        device_type = DefaultDeviceType.get_device_type()
    if devices and device_type != "cuda":
        raise RuntimeError(f"random states of the devices {devices} are those of GPUs, not of '{device_type}'")
    for device, random_state in zip(devices, states, strict=True):
        set_state(gpu_generator(device), random_state)
