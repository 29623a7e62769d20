"""Calls of operations: find the entry of the call, launch, make the tensor, record.

Note [A call is a lookup]
The steps of a call depend on the layouts of its operands and on its other arguments, hardly ever on elements.  So an
operation decides once for each combination of these: the kernel, its sizes and strides, the layout of the result, and
the values that a node saves for each choice of gradients.  The decision is an ``Entry`` (in ``entries``).  A call reads
the layouts, finds the entry, launches, and makes the tensor.  ``perform`` does so for any operation.  The calls in
``forms`` are specialized for operations on a few tensors and numbers, in place and not.  Recording is in ``recording``.

In a special mode (any bit outside ``ORDINARY``) the operation's own ``run`` takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import devices
from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.locations import UNRECORDED
from ...autograd.node import MAYBE, edge_of
from ...autograd.views import View
from ...core.layout import Layout
from ...tensors.tensor import Tensor, tensor_of, view_on
from .entries import Entry
from .recording import begin, finish, record, record_one


def perform(entry: Entry, operands: Sequence[Any], whatever_mode: bool = False) -> Any:
    """Run a call and record it.

    In a special mode the operation's ``performed`` takes over, unless ``whatever_mode`` is True.
    """
    mode = state.mode
    if mode > ORDINARY and not whatever_mode:
        return entry.op.performed(entry, operands)
    if entry.step is not None:
        return viewed(entry, operands, mode)
    layout: Any = entry.layout
    launch = entry.launch
    out: Any
    try:
        memory = launch(*operands)
        if layout is None:
            layout, memory = memory
        if layout.__class__ is Layout:
            out = tensor_of(layout, memory)
        else:
            out = tuple([tensor_of(part, buffer) for part, buffer in zip(layout, memory)])  # noqa: B905 - of one length
    except MemoryError as error:
        raise devices.from_numpy(error) from None
    if not mode & GRAD:
        for tensor in (out,) if layout.__class__ is not tuple else out:
            tensor._origin = UNRECORDED
    elif entry.recorded:
        pending = begin(entry, operands)
        if pending is not None:
            finish(pending, out)
    return out


def caller(entry: Entry, again: bool = True) -> Callable[..., Any]:
    """Return ``perform`` with this entry as a function of the operands; bind its plan if it will run ``again``."""
    if not again:
        return lambda *operands: perform(entry, operands)
    layout, delta, recorded = entry.layout, entry.delta or 0, entry.recorded
    launch = entry.launch if entry.plan is None else entry.plan.launcher()
    views = entry.views
    performed = entry.op.performed

    def in_general(*operands: Any) -> Any:
        return perform(entry, operands)

    def view(input: Tensor) -> Tensor:
        mode = state.mode
        if mode > ORDINARY:
            return performed(entry, (input,))
        step = views.get(mode) if input._view is None else None
        out = view_on(input, layout, delta, step or entry.view(input, mode))
        if mode & GRAD and input._requires_grad and recorded:
            record_one(entry, out, (input,))
        return out

    def retyped(input: Tensor) -> Tensor:
        if state.mode > ORDINARY:
            return performed(entry, (input,))
        memory = launch(input)
        out = view(input)
        out._storage, out._offset = memory
        return out

    def unary(input: Tensor) -> Tensor:
        mode = state.mode
        if mode > ORDINARY:
            return performed(entry, (input,))
        try:
            out = tensor_of(layout, launch(input))
        except MemoryError as error:
            raise devices.from_numpy(error) from None
        if not mode & GRAD:
            out._origin = UNRECORDED
        elif input._requires_grad and recorded:
            record_one(entry, out, (input,))
        return out

    def binary(input: Tensor, other: Tensor) -> Tensor:
        mode = state.mode
        if mode & GRAD or mode > ORDINARY:
            return perform(entry, (input, other))
        try:
            out = tensor_of(layout, launch(input, other))
        except MemoryError as error:
            raise devices.from_numpy(error) from None
        out._origin = UNRECORDED
        return out

    def computed(*operands: Tensor) -> Tensor:
        mode = state.mode
        if mode & GRAD or mode > ORDINARY:
            return perform(entry, operands)
        try:
            out = tensor_of(layout, launch(*operands))
        except MemoryError as error:
            raise devices.from_numpy(error) from None
        out._origin = UNRECORDED
        return out

    if layout.__class__ is not Layout:
        return in_general
    if entry.step is not None:
        return retyped if entry.delta is None else view
    if entry.op.sequence:
        return binary if len(entry.details[0]) == 2 else computed
    calls: dict[int, Callable[..., Any]] = {1: unary, 2: binary}
    return calls.get(len(entry.op.operand_positions), computed)


def viewed(entry: Entry, operands: Sequence[Any], mode: int) -> Any:
    """Return the recorded view, or views, of the first operand."""
    input, layout, delta = operands[0], entry.layout, entry.delta
    out: Any
    if len(operands) > 1:
        step = entry.op.again, (entry, operands[1:])
        out = view_on(input, layout, delta * operands[1], View(input, step, mode))
    elif layout.__class__ is tuple:
        storage, offset = input._storage, input._offset
        out = tuple([tensor_of(part, storage, offset + each) for part, each in zip(layout, delta)])  # noqa: B905
        if entry.step:
            connect(input, out, entry.view(input, mode))
        elif not mode & GRAD:  # they count as copies
            for tensor in out:
                tensor._origin = UNRECORDED
    elif delta is None:
        out = view_on(input, layout, 0, entry.view(input, mode))
        out._storage, out._offset = entry.launch(input)
    else:
        out = view_on(input, layout, delta, entry.view(input, mode))
    if mode & GRAD and input._requires_grad and entry.recorded:
        edge = edge_of(input)
        if edge is not None:
            plan = entry.backward_plans.get(1) or entry.backward_plan(1)
            if layout.__class__ is tuple or mode > ORDINARY:
                finish((plan, (edge,), operands, None), out)
            else:
                record(plan, out, (edge,), operands)
    return out


def connect(input: Tensor, out: Any, steps: Any) -> None:
    """Register the view ``out``, or each of several views, of a tensor with autograd, with the step that makes it."""
    if out.__class__ is not tuple:
        out, steps = (out,), (steps,)
    counter = input._counter
    for tensor, view in zip(out, steps):  # noqa: B905 - there are none where views pass for copies
        tensor._counter, tensor._requires_grad = counter, MAYBE
        view.connect(tensor, input)


def result_of(entry: Entry, operands: Sequence[Any]) -> Any:
    """Return the result of a call in new tensors, unrecorded and unknown to autograd."""
    layout, launch, delta = entry.layout, entry.launch, entry.delta
    if entry.step is not None:
        storage, offset = operands[0]._storage, operands[0]._offset
        if layout.__class__ is tuple:
            return tuple([tensor_of(part, storage, offset + each) for part, each in zip(layout, delta, strict=True)])
        if delta is None:
            return tensor_of(layout, *launch(operands[0]))
        return tensor_of(layout, storage, offset + (delta if len(operands) == 1 else delta * operands[1]))
    memory = launch(*operands)
    if layout is None:
        layout, memory = memory
    if layout.__class__ is not tuple:
        return tensor_of(layout, memory)
    return tuple([tensor_of(part, buffer) for part, buffer in zip(layout, memory)])  # noqa: B905 - of one length


def change(entry: Entry, operands: Sequence[Any], target: Tensor) -> Tensor:
    """Overwrite ``target``, the first operand, and record the change."""
    pending = begin(entry, operands, target) if state.mode & GRAD else None
    entry.launch(*operands, target)
    target._counter[0] += 1
    if pending is not None:
        finish(pending, target, target)
    return target
