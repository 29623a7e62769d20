"""Replays compared with the function itself, bit for bit: what ``check`` of ``numgrad.compile`` asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.node import edge_of
from ..core.tensor import Tensor
from ..devices.rows import DeviceRow
from .differentiation import Differentiated
from .node import CompiledBackward, through
from .program import REPORTED, Program
from .steps import OUTSIDE, is_known, root_of, whole
from .trees import leaves, tensors_in


def is_linked(replay: Any) -> bool:
    """Whether a program is there to be run: others wait for backward."""
    return isinstance(replay, Program) or replay.forward is not None


def checked_run(name: str, replay: Any, inputs: Sequence[Tensor], function: Callable[[], Any]) -> Any:
    """The result of a replay, once it and all that it changes are what the function itself gives and changes.

    Where the result has gradients, backward compares these, too.

    Args:
        name: what messages call the function.
        replay: the program.
        inputs: the tensors of the call.
        function: calls the function itself with the same arguments.

    Raises:
        AssertionError: they are not, now or in backward.
    """
    program: Program = replay if isinstance(replay, Program) else replay.forward
    touched = [*inputs, *[one._grad for one in (*inputs, *program.holders) if one._grad is not None]]
    before = _State(program, touched)
    result = replay.run(inputs)
    after, shown = _State(program, touched), [*map(_bits, leaves(result))]
    before.restore()
    if result is not REPORTED:
        for effect in program.recorder.effects:
            effect.undo()
    expected = function()
    if result is REPORTED:
        return expected
    for number, (bits, one) in enumerate(zip(shown, leaves(expected), strict=True)):
        if bits != _bits(one):
            raise AssertionError(f"{name}: result {number} of the replay is not what the function gives")
    if not after.agrees(_State(program, touched)):
        raise AssertionError(f"{name}: a replay does not change what it was given, or finds, as the function does")
    if isinstance(replay, Differentiated):
        _check_backward(name, replay, tensors_in(result), tensors_in(expected), inputs)
    return result


class _State:
    """What a program may change: memory that is there before, gradients and version counters."""

    def __init__(self, program: Program, inputs: Sequence[Tensor]):
        own = [root_of(one._storage) for one in inputs if is_known(one._storage)]
        blocks = [block.array() for block in program.recorder.blocks if block.origin == OUTSIDE and block.last >= 0]
        roots = {id(root): root for root in (*own, *blocks) if root is not None}
        self._arrays = [whole(root) for root in roots.values()]
        self._contents = [array.copy() for array in self._arrays]
        self._grads = [(one, one._grad) for one in (*inputs, *program.owners)]
        self._grad_bits = [_bits(grad) for _, grad in self._grads]
        counters = [one._counter for one in inputs if one._counter.__class__ is list] + program.counters
        self._versions = [(counter, counter[0]) for counter in counters]

    def restore(self) -> None:
        for array, content in zip(self._arrays, self._contents, strict=True):
            if array.__class__ is DeviceRow:
                array.put(content)
            elif array.flags.writeable:
                array[...] = content
        for one, grad in self._grads:
            one._grad = grad
        for counter, version in self._versions:
            counter[0] = version

    def agrees(self, other: _State) -> bool:
        """Whether all is the same in another state."""
        return (
            [*map(_bytes, self._contents)] == [*map(_bytes, other._contents)]
            and self._grad_bits == other._grad_bits
            and [version for _, version in self._versions] == [version for _, version in other._versions]
        )


def _check_backward(
    name: str, replay: Differentiated, results: Sequence[Tensor], expected: Sequence[Tensor], inputs: Sequence[Tensor]
) -> None:
    """Have backward from these results compare its gradients with those of the graph of the expected ones."""
    nodes = {id(one._edge[0]): one._edge[0] for one in results if one._edge is not None}
    wanted = replay.live_in(expected)
    for node in nodes.values():
        if isinstance(node, CompiledBackward):
            own = node.backward

            def compared(node: CompiledBackward, gradients: Sequence[Any], own: Any = own) -> Any:
                found = own(node, gradients)
                for number, (one, other) in enumerate(
                    zip(found, through(wanted, [*map(edge_of, replay.outer_leaves(inputs))], gradients), strict=True)
                ):
                    if _bits(one) != _bits(other):
                        raise AssertionError(f"{name}: gradient {number} of the replay is not what the function gives")
                return found

            node.backward = compared


def _bits(value: Any) -> Any:
    """What tells a value of a result, or a gradient, from others."""
    if not isinstance(value, Tensor):
        return repr(value)
    return value._layout.shape, value._layout.type, np.ascontiguousarray(value.detach()._host_array()).tobytes()


def _bytes(memory: Any) -> bytes:
    return (memory.host() if memory.__class__ is DeviceRow else memory).tobytes()
