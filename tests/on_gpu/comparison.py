"""Comparison of tensors on a GPU with the CPU's."""

import numpy as np

import numgrad
from numgrad.devices import DeviceRow, Plan, cpu
from numgrad.devices.plan import Buffer, Input

__all__ = ["ON_THE_CPU", "check", "on_cpu", "on_device", "run_steps"]

#: Operations whose samples have an argument that says that the result is on the CPU; they are tried as methods.
ON_THE_CPU = {"to_type", "to_format"}


def on_device(value):
    """A tensor on the GPU, in memory with the same gaps; what is no tensor as it is."""
    if not isinstance(value, numgrad.Tensor):
        return value
    memory = numgrad.from_numpy(value._storage.copy()).to("cuda")
    moved = memory.as_strided(value.shape, value.stride(), value.storage_offset()).detach()
    moved.requires_grad = value.requires_grad
    return moved


class OnRow:
    """Memory as an operand of a plan."""

    def __init__(self, row):
        self._storage, self._offset = row, 0


def run_steps(device, name, *given):
    """Run the steps that a device's function of this name adds for memory, or None, and after these other arguments."""
    rows = [one for one in given if isinstance(one, DeviceRow | np.ndarray)]
    p = Plan(device, rows[0].device if isinstance(rows[0], DeviceRow) else None)
    p.count = len(rows)
    buffers = iter([Buffer(Input(number), row.size, row.dtype) for number, row in enumerate(rows)])
    arguments = [next(buffers) if isinstance(one, DeviceRow | np.ndarray) else one for one in given]
    made = getattr(device, name)(p, *arguments)
    p.results = (made,) if isinstance(made, Buffer) else made or ()
    return p.launcher()(*map(OnRow, rows))


def on_cpu(name, row, sizes, *arguments):
    """Run the CPU's steps of this name along the middle axis of a buffer."""
    return run_steps(cpu, name, row, *sizes, *arguments)


def check(found, expected, rtol, atol):
    """Raise unless a tensor on the GPU is as the one on the CPU."""
    assert found.is_cuda
    assert (found.shape, found.dtype, found.stride()) == (expected.shape, expected.dtype, expected.stride())
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().numpy(), rtol, atol)
