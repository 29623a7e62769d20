"""Bitwise comparison of replays with the function itself, for the argument ``check`` of ``numgrad.compile``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.node import edge_of
from ..tensors.tensor import Tensor
from .captured import Snapshot, TensorState
from .differentiation import Differentiated
from .node import CompiledBackward, backward_through
from .program import REPORTED, Program
from .recorded_steps import OUTSIDE, has_known_owner
from .side_effects import undo_all
from .trees import leaves, tensors_in


def is_linked(program: Any) -> bool:
    """Return True if a program can run, and False if it is linked only at the first backward."""
    return isinstance(program, Program) or program.forward is not None


def checked_run(name: str, program: Any, inputs: Sequence[Tensor], function: Callable[[], Any]) -> Any:
    """Return the result of a replay after comparing its result and its changes with those of the function itself.

    If the result requires gradients, backward also compares the gradients.

    Args:
        name: the name of the function in messages.
        program: the program.
        inputs: the tensors of the call.
        function: calls the function itself with the same arguments.

    Raises:
        AssertionError: they differ, now or in backward.
    """
    forward: Program = program if isinstance(program, Program) else program.forward
    owners = (*inputs, *forward.gradient_owners)
    touched = [*inputs, *[owner._grad for owner in owners if owner._grad is not None]]
    before = _snapshot(forward, touched)
    result = program.run(inputs)
    after, bits = _facts(forward, touched), [*map(_bits, leaves(result))]
    before.restore()
    if result is not REPORTED:
        undo_all(forward.recorder.effects)
    expected = function()
    if result is REPORTED:
        return expected
    for number, (bits_of_leaf, leaf) in enumerate(zip(bits, leaves(expected), strict=True)):
        if bits_of_leaf != _bits(leaf):
            raise AssertionError(f"{name}: result {number} of the replay differs from the function's")
    if after != _facts(forward, touched):
        raise AssertionError(f"{name}: the replay and the function change arguments or environment differently")
    if isinstance(program, Differentiated):
        _check_backward(name, program, tensors_in(result), tensors_in(expected), inputs)
    return result


def _snapshot(program: Program, tensors: Sequence[Tensor]) -> Snapshot:
    """Return the state that a program may change: memory that existed before, gradients and version counters."""
    memory = [tensor._storage for tensor in tensors if has_known_owner(tensor._storage)]
    memory += [block.array() for block in program.recorder.blocks if block.origin == OUTSIDE and block.last >= 0]
    states = map(TensorState.of, (*tensors, *program.owners))
    return Snapshot(states, [each for each in memory if each is not None], program.counters)


def _facts(program: Program, tensors: Sequence[Tensor]) -> Any:
    """Return that state in a form that can be compared."""
    snapshot = _snapshot(program, tensors)
    return snapshot.facts(), [_bits(state.grad) for state in snapshot.states]


def _check_backward(
    name: str, program: Differentiated, results: Sequence[Tensor], expected: Sequence[Tensor],
    inputs: Sequence[Tensor],
) -> None:
    """Make backward compare the gradients of these results with those of the expected results."""
    live = program.live_in(expected)
    for node in {id(result._edge[0]): result._edge[0] for result in results if result._edge is not None}.values():
        if isinstance(node, CompiledBackward):
            backward = node.backward

            def compared(node: CompiledBackward, gradients: Sequence[Any], backward: Any = backward) -> Any:
                grads = backward(node, gradients)
                edges = [*map(edge_of, program.outer_leaves(inputs))]
                for number, pair in enumerate(zip(grads, backward_through(live, edges, gradients), strict=True)):
                    if _bits(pair[0]) != _bits(pair[1]):
                        raise AssertionError(f"{name}: gradient {number} of the replay differs from the function's")
                return grads

            node.backward = compared


def _bits(value: Any) -> Any:
    """Return a comparable description of a value in a result, or of a gradient, including the bits of its elements."""
    if not isinstance(value, Tensor):
        return repr(value)
    return value._layout.shape, value._layout.type, np.ascontiguousarray(value.detach()._host_array()).tobytes()
