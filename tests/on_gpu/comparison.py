"""How tensors on a GPU are held against the CPU's."""

import numpy as np

import numgrad
from numgrad.devices import DeviceRow, cpu
from numgrad.devices.plan import on_memory

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


def run_steps(device, name, *given):
    """Run the steps that a device's function of this name adds for memory, or None, and after these other arguments."""
    rows = [one for one in given if isinstance(one, DeviceRow | np.ndarray)]
    number = rows[0].device if isinstance(rows[0], DeviceRow) else None
    sizes = tuple([(row.size, row.dtype) for row in rows])
    places = [n for n, one in enumerate(given) if isinstance(one, DeviceRow | np.ndarray)]

    def steps(p, *buffers):
        arguments = list(given)
        for place, buffer in zip(places, buffers, strict=True):
            arguments[place] = buffer
        return getattr(device, name)(p, *arguments)

    return on_memory.__wrapped__(device, number, steps, sizes)(*rows)


def on_cpu(name, row, sizes, *arguments):
    """Run the CPU's steps of this name along the middle axis of a buffer."""
    return run_steps(cpu, name, row, *sizes, *arguments)


def check(found, expected, rtol, atol):
    """Raise unless a tensor on the GPU is as the one on the CPU."""
    assert found.is_cuda
    assert (found.shape, found.dtype, found.stride()) == (expected.shape, expected.dtype, expected.stride())
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().numpy(), rtol, atol)
