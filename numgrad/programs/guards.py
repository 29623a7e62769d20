"""Guards: whether a program that was recorded for one call is right for another with the same signature.

That depends on what the function finds around it, and on which memory the arguments share with that.
"""

from __future__ import annotations

import itertools
import operator
from bisect import bisect
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from ..autograd.hooks import hooks_added
from ..core import types
from ..core.deterministic import are_deterministic_algorithms_enabled
from ..core.tensor import Tensor
from ..devices.cpu import address_of
from ..optim.fused import FusedOptimizer
from .attached import has_attributes, has_hooks
from .capture import Capture, is_plain, written_outside
from .signatures import begin_of
from .steps import OUTSIDE, place_of, root_of
from .surroundings import CONTAINERS, Found, Surroundings

#: Where the optimizers are that look at their options in each replay.
_OPTIMIZERS = FusedOptimizer.__module__.rpartition(".")[0] + "."

#: What messages call conditions of gradients: which a tensor has, and whether it has one.
_GRADIENT, _HAS_GRADIENT = "a gradient", "a gradient that comes or goes"


class Guard:
    """Whether all is as it was when a program was recorded, as far as the program depends on it.

    Attributes:
        holds: ``holds()`` says so.
        conditions: what it asks, by what messages call it.
    """

    def __init__(self, made: Capture):
        self._names: dict[str, Any] = {"same": _same, "same_items": _same_items, "same_array": _same_array}
        self._conditions: dict[str, str] = {}
        self._hooks = hooks_added()
        self._surroundings = made.surroundings
        changed = {id(tensor) for tensor, _ in made.grads}
        used = self._on(_seen(made), changed)
        around = made.surroundings
        modules, optimizers = [*around.modules.values()], [*around.optimizers.values()]
        generators = [*around.generators.values()]
        self._add_places([*used, *modules, *optimizers, *generators])
        for found in used:
            self._add_tensor(found)
        self._add_contents(around, {id(one.value) for one in (*used, *modules, *optimizers)})
        for found in modules:
            attributes = self._name(found.value.__dict__)
            self._conditions[f"{attributes}['training'] is {found.value.training}"] = f"{found.name()}.training"
        for found in optimizers:
            self._add_optimizer(found)
        self._add_grads(made)
        self._asks = _all_of(self._conditions, self._names)
        self._arguments = Arguments(made) if made.recorder.device < 0 else ArgumentsOnGPU(made)
        self._fit = self._arguments.fit

    def add(self, roots: set[int]) -> None:
        """Ask for the tensors on this memory, too: backward works on it, whether the function itself does or not."""
        before = len(self._conditions)
        used = self._on(roots, ())
        self._add_places(used)
        for found in used:
            self._add_tensor(found)
        if len(self._conditions) > before:
            self._asks = _all_of(self._conditions, self._names)

    @property
    def conditions(self) -> list[str]:
        return list(dict.fromkeys(self._conditions.values()))

    def holds(self, inputs: Sequence[Tensor]) -> bool:
        """Whether the program may be replayed with these tensors as arguments."""
        return self.stands() and self._fit(inputs)

    def stands(self) -> bool:
        """Whether what the function finds around it is what it was."""
        if hooks_added() != self._hooks and not self._has_no_hooks():
            return False
        try:
            return self._asks()
        except (AttributeError, IndexError, KeyError, ValueError):  # something is not there any more
            return False

    def _has_no_hooks(self) -> bool:
        """Whether none of the hooks added since are those of what the function finds."""
        added = hooks_added()
        if has_hooks(self._surroundings):
            return False
        self._hooks = added
        return True

    def held_by_the_call(self) -> bool:
        """Whether the recorded call itself has left all as it was, gradients apart."""
        return not {*self.failed()} - {_GRADIENT, _HAS_GRADIENT}

    def is_for_gradients(self) -> bool:
        """Whether it would be right but that gradients, or what arguments have, are other tensors by now."""
        return not {*self.failed()} - {_GRADIENT}

    def stands_for_more(self, walks: bool = True) -> bool:
        """Whether the function would do the same again: other calls may have given tensors gradients since, and
        unless it ``walks`` a graph, hooks.
        """
        return not has_hooks(self._surroundings, of_tensors=walks) and not {*self.failed()} - {_HAS_GRADIENT}

    def failed(self) -> list[str]:
        """What is not as it was."""
        found = []
        for condition, what in self._conditions.items():
            try:
                if not eval(condition, self._names):
                    found.append(what)
            except (AttributeError, IndexError, KeyError, ValueError):
                found.append(what)
        return list(dict.fromkeys(found))

    def _name(self, value: Any) -> str:
        name = f"v{id(value)}"
        self._names[name] = value
        return name

    def _on(self, roots: set[int], others: Container[int]) -> list[Found]:
        """The tensors around the function that lie on this memory, and others."""
        return [
            found for key, found in self._surroundings.tensors.items()
            if id(root_of(found.value._storage)) in roots or key in others
        ]

    def _add_places(self, objects: Sequence[Found]) -> None:
        """Objects are where they were found."""
        for found in self._surroundings.ways([one.value for one in objects]):
            if found.holder is not None:
                held = f"{self._name(found.holder)}.cell_contents"
                if isinstance(found.holder, dict | list):
                    held = f"{self._name(found.holder)}[{self._key(found.key)}]"
                self._conditions[f"{held} is {self._name(found.value)}"] = found.name()

    def _add_contents(self, around: Surroundings, known: set[int]) -> None:
        """Numbers, functions and other objects are where they were, and no others have come."""
        places, growing = around.read()
        for found in places:
            if id(found.value) not in known and not isinstance(found.holder, list) and found.value is not found.holder:
                self._add_content(found)
        for found in growing:
            items = found.value if isinstance(found.value, CONTAINERS) else found.value.__dict__
            if isinstance(items, dict):
                self._conditions[f"len({self._name(items)}) == {len(items)}"] = found.name()
            else:
                self._conditions[f"same_items({self._name(items)}, {self._name([*items])})"] = found.name()

    def _add_content(self, found: Found) -> None:
        value, what = found.value, found.name()
        held = f"{self._name(found.holder)}.cell_contents"
        if not isinstance(found.holder, CellType):
            held = f"{self._name(found.holder)}[{self._key(found.key)}]"
        if value is None or isinstance(value, bool):
            self._conditions[f"{held} is {value}"] = what
        elif isinstance(value, Tensor):  # which the program has not to do with, its elements apart
            self._conditions[f"{held}._layout is {self._name(value._layout)}"] = what
            self._conditions[f"{held}._requires_grad == {int(value._requires_grad)}"] = f"{what}.requires_grad"
        elif isinstance(value, np.ndarray):
            self._conditions[f"same_array({held}, {self._name(value)}, {self._name(value.tobytes())})"] = what
        elif isinstance(value, int | float | complex | str | bytes | tuple | types.dtype | types.device):
            own = self._name(value)
            self._conditions[f"({held} is {own} or same({held}, {own}))"] = what
        else:
            self._conditions[f"{held} is {self._name(value)}"] = what

    def _key(self, key: Any) -> str:
        return repr(key) if isinstance(key, str | int) else self._name(key)

    def _add_tensor(self, found: Found) -> None:
        tensor = found.value
        name = self._name(tensor)
        for attribute in ("_storage", "_layout"):
            self._conditions[f"{name}.{attribute} is {self._name(getattr(tensor, attribute))}"] = found.name()
        if tensor._storage.size > tensor._layout.size:  # it may lie elsewhere there
            self._conditions[f"{name}._offset == {tensor._offset}"] = found.name()
        self._conditions[f"{name}._requires_grad == {int(tensor._requires_grad)}"] = f"{found.name()}.requires_grad"

    def _add_optimizer(self, found: Found) -> None:
        cls = type(found.value)
        anew = issubclass(cls, FusedOptimizer) and cls.__module__.startswith(_OPTIMIZERS)
        anew &= not self._surroundings.mentions("param_groups")  # a program that may read options itself
        for group in found.value.param_groups:
            name, parameters = self._name(group), self._name(group["params"])
            self._conditions[f"{name}['params'] is {parameters} and len({parameters}) == {len(group['params'])}"] = (
                f"{found.name()}.param_groups"
            )
            for option, value in group.items():
                if option == "params":
                    continue
                if not anew:  # they are numbers in the program
                    held = f"{name}[{option!r}]"
                    own = self._name(value)
                    self._conditions[f"({held} is {own} or same({held}, {own}))"] = f"{option} of {found.name()}"
                elif isinstance(value, int | float | bool | None):
                    self._conditions[f"bool({name}[{option!r}]) is {bool(value)}"] = f"{option} of {found.name()}"
        groups = self._name(found.value.param_groups)
        self._conditions[f"len({groups}) == {len(found.value.param_groups)}"] = f"{found.name()}.param_groups"

    def _add_grads(self, made: Capture) -> None:
        """The gradients that tensors have: which, where the program has to do with them, and else whether any.

        Only where the program replaces one that it has nothing to do with does it not matter.
        """
        changed = {id(tensor) for tensor, _ in made.grads}
        roots = _seen(made)
        arguments = {id(one) for one in made.inputs}
        for before in made.known.values():
            tensor, grad = before.tensor, before.grad
            if id(tensor) in arguments:  # of which the signature tells
                continue
            if grad is None:
                if before.requires_grad:
                    self._conditions[f"{self._name(tensor)}._grad is None"] = _HAS_GRADIENT
            elif any(tensor is one for one in made.holders):
                self._conditions[f"{self._name(tensor)}._grad is not None"] = _HAS_GRADIENT
            elif id(root_of(grad._storage)) in roots:
                name = self._name(tensor)
                self._conditions[f"{name}._grad is {self._name(grad)}"] = _GRADIENT
                self._conditions[f"{name}._grad._storage is {self._name(grad._storage)}"] = _GRADIENT
            elif id(tensor) not in changed:
                self._conditions[f"{self._name(tensor)}._grad is not None"] = _HAS_GRADIENT


def _seen(made: Capture) -> set[int]:
    """The memory that was there before and that the program has to do with, by identity: steps work on it, or what the
    call returns, or gives to tensors as gradients, lies there.
    """
    numbers = {block.number for block in made.recorder.blocks if block.origin == OUTSIDE and block.last >= 0}
    given = [*made.results(), *[grad for _, grad in made.grads if grad is not None]]
    return {id(root_of(made.outside[number][0])) for number in numbers} | {id(root_of(one._storage)) for one in given}


def _all_of(conditions: Iterable[str], names: dict[str, Any], given: str = "") -> Callable[..., bool]:
    """What asks for all these conditions, which have these names in them and those that are given."""
    return eval(f"lambda {given}: {' and '.join(conditions) or 'True'}", names)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one to a program, or numbers of one class and of one value, also in tuples."""
    if one is other:
        return True
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, int | float | complex | str | bytes) and repr(one) == repr(other)


def _same_items(container: Any, held: list[Any]) -> bool:
    """Whether a list or a set has what it had."""
    if len(container) != len(held):
        return False
    return all(map(operator.is_, container, held)) or all(map(_same, container, held))


def _same_array(array: Any, own: np.ndarray, elements: bytes) -> bool:
    """Whether this is the same array, with the same elements."""
    return array is own and array.tobytes() == elements


class Arguments:
    """Whether arguments share memory with one another, and with what is around a function, as they did.

    Where a program writes to memory that was there before, no other memory that it is given may overlap with that.

    Attributes:
        fit: ``fit(inputs)`` says so.
    """

    _address: Callable[[Any], int] = staticmethod(address_of)

    def __init__(self, made: Capture):
        given = {id(one) for one in made.inputs}
        around = {id(found.value._storage): found.value._storage for found in made.surroundings.tensors.values()}
        around |= {id(one.storage): one.storage for one in made.known.values() if id(one.tensor) not in given}
        seen = _seen(made)
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
        #: What the program is given, as it is written in conditions: arguments, and then gradients.
        self._given = [f"inputs[{number}]" for number in range(len(made.inputs) - len(made.holders))]
        self._given += [f"{self._owner(made, one)}._grad" for one in made.holders]
        self.fit = _all_of(self._conditions(made, same, seen), self._names, "inputs")

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
        every = f"({', '.join([*self._given, ''])})"
        if made.holders:
            yield f"roots_of({every}) == {_roots_of(made.inputs)}"
        if "apart" in self._names:
            yield f"apart.holds({every})"


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
