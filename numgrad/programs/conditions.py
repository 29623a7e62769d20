"""Conditions of guards: Python expressions that are evaluated as one function.

The memory of arguments must overlap other memory as in the recorded call.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.deterministic import are_deterministic_algorithms_enabled
from ..devices.cpu import address_of
from ..tensors.tensor import Tensor
from .attached import has_attributes
from .capture import is_plain
from .captured import Capture
from .recorded_steps import OUTSIDE, root_of, start_address
from .side_effects import written_outside
from .signatures import begin_of

#: Errors of conditions on objects that no longer exist.
MISSING = (AttributeError, IndexError, KeyError, TypeError, ValueError)


#: Names of objects in expressions.
_NAME = re.compile(r"\bv\d+\b")


class Conditions:
    """Python expressions that must hold.

    Attributes:
        names: the objects in the expressions, by name.
        described: the expressions, each with a description of the compared value for messages.
        rare: those whose values can change only when one of the counters of changes is incremented.
        into: the dictionary to which conditions are added, ``described`` or ``rare``.
    """

    def __init__(self, **names: Any):
        self.names = names
        self.described: dict[str, str] = {}
        self.rare: dict[str, str] = {}
        self.into = self.described

    def name(self, value: Any) -> str:
        """Return the name of an object in expressions."""
        name = f"v{id(value)}"
        self.names[name] = value
        return name

    def require(self, condition: str, what: str) -> None:
        """Add a condition."""
        self.into[condition] = what

    def require_same(self, expression: str, value: Any, what: str) -> None:
        """Add the condition that an expression gives this object."""
        self.require(f"{expression} is {self.name(value)}", what)

    def require_equivalent(self, expression: str, value: Any, what: str) -> None:
        """Add the condition that an expression is equivalent to this value; see ``equivalent``."""
        name = self.name(value)
        self.require(f"({expression} is {name} or equivalent({expression}, {name}))", what)

    def same_memory(self, expression: str, tensor: Tensor) -> list[str]:
        """Return the conditions that a tensor has the same memory as this one."""
        layout, storage = tensor._layout, tensor._storage
        conditions = [f"{expression}._storage is {self.name(storage)}", f"{expression}._layout is {self.name(layout)}"]
        if not layout.contiguous or storage.size > layout.size:  # tensors of this layout may begin at another offset
            conditions.append(f"{expression}._offset == {tensor._offset}")
        return conditions

    def holds(self, condition: str) -> bool:
        """Return True if a condition holds."""
        try:
            return bool(eval(condition, self.names))
        except MISSING:
            return False

    def function(self, conditions: Iterable[str], parameters: Sequence[str] = ()) -> Callable[..., bool]:
        """Return a function that is True if all conditions hold, and may raise errors in MISSING."""
        condition = " and ".join(conditions) or "True"
        used = [name for name in dict.fromkeys(_NAME.findall(condition)) if name in self.names]
        variables = [f"{name}={name}" for name in used]  # faster than globals
        return eval(f"lambda {', '.join([*parameters, *variables])}: {condition}", self.names)


def memory_used_by(captured: Capture) -> set[int]:
    """Return the identities of the memory that the program uses and that existed before it.

    It is used by steps, or contains results or new gradients.
    """
    numbers = {block.number for block in captured.recorder.blocks if block.origin == OUTSIDE and block.last >= 0}
    new = [*captured.results(), *[grad for _, grad in captured.grads if grad is not None]]
    return {id(root_of(captured.outside[number][0])) for number in numbers} | {
        id(root_of(tensor._storage)) for tensor in new
    }


def argument_conditions(
    captured: Capture, used: set[int], conditions: Conditions, compared: Sequence[str]
) -> Iterator[str]:
    """Yield the conditions on the arguments ``inputs``, and on gradients that are also inputs of the program.

    If a program writes to memory that existed before, no other input may overlap that memory.  On a GPU kernels also
    depend on the alignment of arguments, and on deterministic mode.

    Args:
        used: the identities of the memory that the program uses and that existed before it.
        conditions: names of objects in conditions.
        compared: expressions for tensors that may differ from call to call, but must not be arguments.
    """
    inputs, owners, environment = captured.inputs, captured.gradient_owners, captured.environment.tensors
    count, on_gpu, name = len(inputs) - len(owners), captured.recorder.device >= 0, conditions.name
    conditions.names |= {
        "has_attributes": has_attributes, "is_plain": is_plain, "roots_of": _roots_of, "alignment": alignment,
        "deterministic": are_deterministic_algorithms_enabled,
    }
    arguments = {id(tensor): f"inputs[{number}]" for number, tensor in [*enumerate(inputs[:count])][::-1]}

    def grad_of(owner: Tensor) -> str:
        return f"{arguments.get(id(owner)) or name(owner)}._grad"

    expressions = [*[f"inputs[{number}]" for number in range(count)], *map(grad_of, owners)]
    # the storages are kept, since a new object may get the identity of a deleted one
    storages = [source.value._storage for source in environment.values()]
    storages += [before.storage for key, before in captured.states.items() if key not in {*map(id, inputs)}]
    around = {id(storage): storage for storage in storages if id(root_of(storage)) in used}
    if on_gpu:
        yield f"deterministic() is {are_deterministic_algorithms_enabled()}"
    for number, (expression, tensor) in enumerate(zip(expressions, inputs, strict=True)):
        if on_gpu:
            yield f"alignment({expression}) >= {alignment(tensor)}"
        if number < count:
            if id(tensor) in environment:
                yield f"{expression} is {name(tensor)}"
            elif environment:
                yield f"id({expression}) not in {name(environment)}"
            if "grad" in captured.environment.referenced:
                for before in captured.states.values():
                    if before.grad is not None:
                        compared_by = "is" if before.grad is tensor else "is not"
                        yield f"{expression} {compared_by} {grad_of(before.tensor)}"
        if id(tensor._storage) in around:
            yield f"{expression}._storage is {name(tensor._storage)} and {expression}._offset == {tensor._offset}"
        elif around:
            yield f"id({expression}._storage) not in {name(around)}"
        yield f"not ({expression}.__dict__ and has_attributes({expression}))"
        if captured.versions and tensor._counter.__class__ is list:  # an inference tensor must not be changed
            yield f"{expression}._counter.__class__ is list"
        if number >= count:  # the signature does not contain gradients
            yield f"{expression}._layout is {name(tensor._layout)} and is_plain({expression})"
        grad = None if any(tensor is owner for owner in owners) else captured.states[id(tensor)].grad
        if grad is not None and id(root_of(grad._storage)) in used:
            yield f"{expression}._grad is {name(grad)}"
            yield from conditions.same_memory(f"{expression}._grad", grad)
    every = f"({', '.join([*expressions, ''])})"
    if owners:
        yield f"roots_of({every}) == {_roots_of(inputs)}"
    separate = _separation(captured, around, start_address if on_gpu else address_of)
    if separate is not None:
        yield f"{name(separate)}.holds({every})"
    yield from (f"{left} is not {right}" for left, right in itertools.product(compared, expressions[:count]))


def _separation(captured: Capture, around: dict[int, Any], address: Callable[[Any], int]) -> _Separation | None:
    """Return the condition on the addresses of arguments; None if there is no memory that they could overlap."""
    arrays = [captured.outside[number][0] for number in {block.number for block in written_outside(captured.recorder)}]
    inputs = captured.inputs
    writes_argument = any(tensor._storage is array for tensor in inputs for array in arrays)
    roots = {id(root_of(storage)): root_of(storage) for storage in around.values()}
    arrays = [*roots.values()] if writes_argument else [array for array in arrays if id(root_of(array)) in roots]
    numbers = [number for number, tensor in enumerate(inputs) if id(tensor._storage) not in around]
    if not numbers or (not arrays and not writes_argument):
        return None
    bounds = sorted([(start_address(array), start_address(array) + array.nbytes) for array in arrays])
    return _Separation(bounds, numbers, writes_argument, address)


@dataclass(frozen=True, slots=True)
class _Separation:
    """The condition that arguments overlap no memory that is written elsewhere.

    Attributes:
        bounds: the begin and end of each piece of memory that no argument may overlap, sorted.
        numbers: the indices of the arguments that are compared.
        from_one_another: True if they must not overlap each other.
        address: returns the address of memory.
    """

    bounds: list[tuple[int, int]]
    numbers: list[int]
    from_one_another: bool
    address: Callable[[Any], int]

    def holds(self, inputs: Sequence[Tensor]) -> bool:
        """Return True if the condition holds for these tensors."""
        ranges = []
        for storage in [inputs[number]._storage for number in self.numbers]:
            if not storage.size:
                continue
            start = self.address(storage)
            end = start + storage.nbytes
            after = bisect(self.bounds, (start, start))
            if after and self.bounds[after - 1][1] > start:
                return False
            if after < len(self.bounds) and self.bounds[after][0] < end:
                return False
            ranges.append((start, end))
        if not self.from_one_another:
            return True
        distinct = sorted(set(ranges))  # the signature states which tensors share memory
        return all(first[1] <= second[0] for first, second in itertools.pairwise(distinct))


def _roots_of(tensors: Sequence[Tensor]) -> int:
    """Return the number of separate pieces of memory that tensors use."""
    return len({id(root_of(tensor._storage)) for tensor in tensors})


def alignment(tensor: Tensor) -> int:
    """Return the largest power of two, up to 16, that divides the address of a tensor on a GPU."""
    address = begin_of(tensor)
    return min(16, address & -address) or 16
