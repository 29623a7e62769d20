"""Comparison of tensors on a GPU with the CPU's."""

import numpy as np

import numgrad
from numgrad.devices import DeviceBuffer, Plan, cpu
from numgrad.devices.plan import Buffer, Input

__all__ = ["ON_THE_CPU", "check", "on_cpu", "on_device", "run_steps"]

#: Operations whose samples have an argument that places the result on the CPU; they are tested as methods.
ON_THE_CPU = {"to_type", "to_format"}


def on_device(value):
    """Return a tensor on the GPU, in memory with the same gaps; return any other value unchanged."""
    if not isinstance(value, numgrad.Tensor):
        return value
    memory = numgrad.from_numpy(value._storage.copy()).to("cuda")
    moved = memory.as_strided(value.shape, value.stride(), value.storage_offset()).detach()
    moved.requires_grad = value.requires_grad
    return moved


class OnBuffer:
    """Memory as an operand of a plan."""

    def __init__(self, buffer):
        self._storage, self._offset = buffer, 0


def run_steps(device, name, *arguments):
    """Run the steps that a device's function of this name adds for these buffers and other arguments."""
    buffers = [argument for argument in arguments if isinstance(argument, DeviceBuffer | np.ndarray)]
    p = Plan(device, buffers[0].device if isinstance(buffers[0], DeviceBuffer) else None)
    p.count = len(buffers)
    operands = iter([Buffer(Input(number), buffer.size, buffer.dtype) for number, buffer in enumerate(buffers)])
    results = getattr(device, name)(
        p, *[next(operands) if isinstance(argument, DeviceBuffer | np.ndarray) else argument for argument in arguments]
    )
    p.results = (results,) if isinstance(results, Buffer) else results or ()
    return p.launcher()(*map(OnBuffer, buffers))


def on_cpu(name, buffer, sizes, *arguments):
    """Run the CPU's steps of this name along the middle axis of a buffer."""
    return run_steps(cpu, name, buffer, *sizes, *arguments)


def check(found, expected, rtol, atol):
    """Raise unless a tensor on the GPU equals the one on the CPU."""
    assert found.is_cuda
    assert (found.shape, found.dtype, found.stride()) == (expected.shape, expected.dtype, expected.stride())
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().numpy(), rtol, atol)
