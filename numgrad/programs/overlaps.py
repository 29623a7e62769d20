"""Whether the arguments of a call share memory with one another, and with what is around a function, as they did."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.deterministic import are_deterministic_algorithms_enabled
from ..core.tensor import Tensor
from ..devices.cpu import address_of
from .attached import has_attributes
from .capture import Capture, is_plain, written_outside
from .signatures import begin_of
from .steps import OUTSIDE, place_of, root_of


def seen_by(made: Capture) -> set[int]:
    """The memory that was there before and that the program has to do with, by identity: steps work on it, or what the
    call returns, or gives to tensors as gradients, lies there.
    """
    numbers = {block.number for block in made.recorder.blocks if block.origin == OUTSIDE and block.last >= 0}
    given = [*made.results(), *[grad for _, grad in made.grads if grad is not None]]
    return {id(root_of(made.outside[number][0])) for number in numbers} | {id(root_of(one._storage)) for one in given}


def all_of(conditions: Iterable[str], names: dict[str, Any], given: str = "") -> Callable[..., bool]:
    """What asks for all these conditions, which have these names in them and those that are given."""
    return eval(f"lambda {given}: {' and '.join(conditions) or 'True'}", names)


class Arguments:
    """Whether arguments share memory with one another, and with what is around a function, as they did.

    Where a program writes to memory that was there before, no other memory that it is given may overlap with that.

    Attributes:
        fit: ``fit(inputs)`` says so.

    Args:
        places: expressions for tensors that may be others in each call, but no argument.
        names: of the objects in these.
    """

    _address: Callable[[Any], int] = staticmethod(address_of)

    def __init__(self, made: Capture, seen: set[int], places: Sequence[str] = (), names: dict[str, Any] | None = None):
        given = {id(one) for one in made.inputs}
        around = {id(found.value._storage): found.value._storage for found in made.surroundings.tensors.values()}
        around |= {id(one.storage): one.storage for one in made.known.values() if id(one.tensor) not in given}
        around = {key: storage for key, storage in around.items() if id(root_of(storage)) in seen}
        same = [number for number, one in enumerate(made.inputs) if id(one._storage) in around]
        changed = {block.number for block in written_outside(made.recorder)}
        known = {id(root_of(storage)) for storage in around.values()}
        arrays = [made.outside[number][0] for number in changed]
        own = {id(array) for array in arrays}
        written = [number for number, one in enumerate(made.inputs) if id(one._storage) in own]
        arrays = [array for array in arrays if id(root_of(array)) in known]
        if written:
            arrays = [*{id(root_of(one)): root_of(one) for one in around.values()}.values()]
        # ``around`` is kept: what has gone may have its identity taken by another
        self._names: dict[str, Any] = {
            "around": around, "has_attributes": has_attributes, "is_plain": is_plain, "roots_of": _roots_of
        }
        if arrays or written:
            bounds = sorted([(place_of(array), place_of(array) + array.nbytes) for array in arrays])
            self._names["apart"] = _Apart(bounds, [*{*range(len(made.inputs))} - {*same}], bool(written), self._address)
        self._names["found"] = {key: found.value for key, found in made.surroundings.tensors.items()}
        #: What the program is given, as it is written in conditions: arguments, and then gradients.
        self._given = [f"inputs[{number}]" for number in range(len(made.inputs) - len(made.holders))]
        self._given += [f"{self._owner(made, one)}._grad" for one in made.holders]
        conditions = [*self._conditions(made, same, seen)]
        arguments = self._given[:len(made.inputs) - len(made.holders)]
        conditions += [f"{place} is not {given}" for place, given in itertools.product(places, arguments)]
        self.fit = all_of(conditions, {**(names or {}), **self._names}, "inputs")

    def _owner(self, made: Capture, holder: Tensor) -> str:
        for number, one in enumerate(made.inputs):
            if one is holder:
                return self._given[number]
        name = f"holder{len(self._names)}"
        self._names[name] = holder
        return name

    def _conditions(self, made: Capture, same: Sequence[int], seen: set[int]) -> Iterator[str]:
        arguments, held = len(made.inputs) - len(made.holders), {id(one) for one in made.holders}
        for number, (given, one) in enumerate(zip(self._given, made.inputs, strict=True)):
            if number < arguments:
                yield from self._identities(made, number, given)
            if number in same:
                self._names[f"storage{number}"] = one._storage
                yield f"{given}._storage is storage{number} and {given}._offset == {one._offset}"
            elif self._names["around"]:
                yield f"id({given}._storage) not in around"
            yield f"not ({given}.__dict__ and has_attributes({given}))"
            if made.versions and one._counter.__class__ is list:  # inference tensors are not to be changed everywhere
                yield f"{given}._counter.__class__ is list"
            if number >= arguments:  # of which the signature tells
                self._names[f"layout{number}"] = one._layout
                yield f"{given}._layout is layout{number} and is_plain({given})"
            grad = None if id(one) in held else made.known[id(one)].grad
            if grad is not None and id(root_of(grad._storage)) in seen:  # the program has to do with it
                self._names |= {f"grad{number}": grad, f"grad_storage{number}": grad._storage}
                yield f"{given}._grad is grad{number} and grad{number}._storage is grad_storage{number}"
                self._names[f"grad_layout{number}"] = grad._layout
                yield f"grad{number}._offset == {grad._offset} and grad{number}._layout is grad_layout{number}"
        every = f"({', '.join([*self._given, ''])})"
        if made.holders:
            yield f"roots_of({every}) == {_roots_of(made.inputs)}"
        if "apart" in self._names:
            yield f"apart.holds({every})"

    def _identities(self, made: Capture, number: int, given: str) -> Iterator[str]:
        """Yield that an argument is the tensor, or the gradient, that the function finds, or none: it may compare."""
        one = made.inputs[number]
        if id(one) in self._names["found"]:
            self._names[f"tensor{number}"] = one
            yield f"{given} is tensor{number}"
        elif self._names["found"]:
            yield f"id({given}) not in found"
        if "grad" in made.surroundings.mentioned:
            for before in made.known.values():
                if before.grad is not None:
                    compared = "is" if before.grad is one else "is not"
                    yield f"{given} {compared} {self._owner(made, before.tensor)}._grad"


@dataclass(frozen=True, slots=True)
class _Apart:
    """Whether arguments lie where nothing else is written.

    Attributes:
        bounds: where memory begins and ends that no argument may overlap, in order.
        numbers: of the arguments that this is asked of.
        from_one_another: whether they may not overlap each other.
        address: where memory begins.
    """

    bounds: list[tuple[int, int]]
    numbers: list[int]
    from_one_another: bool
    address: Callable[[Any], int]

    def holds(self, inputs: Sequence[Tensor]) -> bool:
        """Whether these do."""
        taken = []
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
            taken.append((start, end))
        if not self.from_one_another:
            return True
        distinct = sorted(set(taken))  # the signature tells which are the same
        return all(first[1] <= second[0] for first, second in itertools.pairwise(distinct))


def _roots_of(tensors: Sequence[Tensor]) -> int:
    """On how many pieces of memory tensors lie."""
    return len({id(root_of(one._storage)) for one in tensors})


def alignment(tensor: Tensor) -> int:
    """The power of two, 16 at most, at a multiple of which a tensor on a GPU begins."""
    address = begin_of(tensor)
    return min(16, address & -address) or 16


class ArgumentsOnGPU(Arguments):
    """The same on a GPU, where kernels are chosen by where rows begin, and by what is said of sums' order."""

    _address = staticmethod(place_of)

    def _conditions(self, made: Capture, same: Sequence[int], seen: set[int]) -> Iterator[str]:
        self._names |= {"alignment": alignment, "deterministic": are_deterministic_algorithms_enabled}
        yield f"deterministic() is {are_deterministic_algorithms_enabled()}"
        for given, one in zip(self._given, made.inputs, strict=True):
            yield f"alignment({given}) >= {alignment(one)}"
        yield from super()._conditions(made, same, seen)
