"""The update of all parameters of a dtype: the addresses of its operands, and the plan that runs the kernel."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from ..autograd.checks import check_updatable
from ..autograd.grad_mode import is_inference_mode_enabled, no_grad
from ..core.formats import kept_layout
from ..core.layout import contiguous_strides
from ..devices.plan import Plan
from ..devices.updates import UpdateTable
from ..ops.memory.copying import write
from ..tensors.tensor import Tensor, check_in_place, strided
from .checks import mismatch

#: The operands of one parameter in a step: parameter, gradient, group and state tensors (None for unused ones).
Entry = tuple[Tensor, Tensor, dict[str, Any], tuple[Tensor | None, ...]]

#: The order in which the kernel visits the elements of a parameter; None for row-major.
Strides = tuple[int, ...] | None


class Update:
    """An update of some parameters, valid as long as these and their state do not move.

    Attributes:
        table: the addresses and numbers that the kernel reads.
        overlapping: True if parameters share memory.
        reusable: True if the update can be used again whenever ``fits`` returns True.  It cannot if the kernel updates
            a copy of a tensor, as it does of one that is not contiguous, or of float16 or bfloat16, or if the update
            was created in inference mode.
    """

    def __init__(self, kernel: str, entries: Sequence[Entry]):
        params = [param for param, _, _, _ in entries]
        type = params[0]._layout.type
        dtype = type.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(
                f"only Tensors of floating point or complex dtype can be optimized, not {dtype} "
                f"(shape {list(params[0].shape)})"
            )
        self.overlapping = len(params) > 1 and _overlap(params)
        self._strides = [_dense_strides(param) for param in params]
        self._backend = type.backend
        self._buffers: list[Any] = []  # the tensors' own buffers, compared to detect moves
        self._staged: list[tuple[Tensor, Tensor]] = []  # tensors of another layout, and their substitutes
        self._operands = [  # the buffers that the kernel updates, which are kept alive
            [self._buffer(tensor, param, strides) for tensor in (param, *state)]
            for (param, _, _, state), strides in zip(entries, self._strides, strict=True)
        ]
        self.reusable = not is_inference_mode_enabled() and all(
            tensor is None or _buffer_of(tensor, None) is not None
            for param, _, _, state in entries for tensor in (param, *state)
        )
        self.table = UpdateTable(kernel, type.with_dtype(dtype.compute), [param._layout.size for param in params])
        for number, buffers in enumerate(zip(*self._operands, strict=True)):
            self._set_operand(number + (number > 0), buffers)  # the gradients are operand 1
        p = Plan(type.backend, type.device.index)
        type.backend.update_parameters(p, self.table)
        self._launch = p.returns()

    def _buffer(self, tensor: Tensor | None, param: Tensor, strides: Strides) -> Any:
        if tensor is None:
            self._buffers.append(None)
            return None
        layout, expected = tensor._layout, param._layout
        if layout.shape != expected.shape or layout.type is not expected.type:
            advice = "; load_state_dict(state_dict()) converts it" if layout.shape == expected.shape else ""
            raise mismatch("state", tensor, param, advice)
        check_updatable(tensor)
        self._buffers.append(tensor._flat)
        buffer = _buffer_of(tensor, strides)
        if buffer is None:
            with no_grad():
                check_in_place(tensor)
            copy = _laid_out(tensor, strides)
            self._staged.append((tensor, copy))
            buffer = copy._storage
        return buffer

    def _set_operand(self, number: int, buffers: Sequence[Any]) -> None:
        self.table.addresses[:, number] = self._backend.addresses_of(buffers)

    def fits(self, entries: Sequence[Entry]) -> bool:
        """Return True if the operands in these entries are the update's and have not moved."""
        buffers = [
            None if tensor is None else tensor._flat for param, _, _, state in entries for tensor in (param, *state)
        ]
        return len(buffers) == len(self._buffers) and all(map(operator.is_, buffers, self._buffers))

    def run(self, grads: Sequence[Tensor]) -> None:
        """Update the parameters by their gradients, with the numbers in the table."""
        buffers = []
        for grad, strides in zip(grads, self._strides, strict=True):
            buffer = _buffer_of(grad, strides)
            buffers.append(_laid_out(grad, strides)._storage if buffer is None else buffer)
        self._set_operand(1, buffers)
        self._launch()
        for tensor, copy in self._staged:
            write(tensor, copy)


def _dense_strides(param: Tensor) -> Strides:
    """Return the order of a parameter's elements in memory, disregarding gaps."""
    strides = None if param._flat is not None else kept_layout(param._layout).strides
    return None if strides == contiguous_strides(param._layout.shape) else strides


def _buffer_of(tensor: Tensor, strides: Strides) -> Any:
    """Return the tensor's own memory as one buffer if its elements are in this order without gaps, else None.

    Kernels update float16 and bfloat16 in float32.
    """
    if tensor._layout.type.dtype.is_half:
        return None
    if strides is None:
        return tensor._flat
    if tensor._layout.strides != strides:
        return None
    return tensor._storage[tensor._offset : tensor._offset + tensor._layout.size]


def _laid_out(tensor: Tensor, strides: Strides) -> Tensor:
    """Return a copy with its elements in this order, in the dtype that kernels compute in."""
    layout = tensor._layout
    type = layout.type.with_dtype(layout.type.dtype.compute)
    strides = contiguous_strides(layout.shape) if strides is None else strides
    copy = strided(type.backend.empty(layout.shape, type), layout.shape, strides, 0, type)
    write(copy, tensor)
    return copy


def _overlap(params: Sequence[Tensor]) -> bool:
    """Return True if the memory ranges of two of the tensors overlap."""
    bounds = sorted([_bounds(param) for param in params if param._layout.size])
    return any(stop > start for (_, stop), (start, _) in itertools.pairwise(bounds))


def _bounds(param: Tensor) -> tuple[int, int]:
    """Return the start and end addresses of the memory range of the tensor's elements."""
    steps = [(extent - 1) * stride for extent, stride in zip(param._layout.shape, param._layout.strides, strict=True)]
    first = param._offset + sum(step for step in steps if step < 0)
    last = param._offset + sum(step for step in steps if step > 0)
    type = param._layout.type
    start, size = type.backend.address_of(param._storage), type.dtype.itemsize
    return start + first * size, start + (last + 1) * size
