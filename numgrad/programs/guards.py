"""Guards: whether a program that was recorded for one call is right for another with the same signature.

That depends on what the function finds around it, and on which memory the arguments share with that.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from types import CellType, FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType
from typing import Any

import numpy as np

from ..autograd.hooks import rare_changes
from ..core import types
from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..optim.fused import FusedOptimizer
from .attached import has_hooks
from .capture import Capture
from .mentions import attributes_of, is_installed, is_own
from .overlaps import Arguments, ArgumentsOnGPU, all_of, seen_by
from .places import ABSENT, Found, all_texts, items_of, same, same_items
from .steps import root_of
from .surroundings import Surroundings

#: Where the optimizers are that look at their options in each replay.
_OPTIMIZERS = FusedOptimizer.__module__.rpartition(".")[0] + "."

#: What messages call conditions of gradients: which a tensor has, and whether it has one.
_GRADIENT, _HAS_GRADIENT = "a gradient", "a gradient that comes or goes"

#: What asking for something raises that is not there any more.
_MISSING = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class Guard:
    """Whether all is as it was when a program was recorded, as far as the program depends on it.

    Attributes:
        conditions: what it compares, as messages name it, except functions' code, parts of libraries, and names that
            nothing has.
    """

    def __init__(self, made: Capture):
        self._names: dict[str, Any] = {"same": same, "same_items": same_items, "is_empty": _is_empty}
        self._names |= {"get": dict.get, "ABSENT": ABSENT, "array_state": _array_state, "items_of": items_of}
        self._conditions: dict[str, str] = {}
        self._of_libraries: set[str] = set()
        self._given, self._changing = {id(one) for one in made.inputs}, list[str]()
        self._dictionaries: dict[type, Any] = {}
        self._rare: dict[str, str] = {}  # conditions that a rare change may have broken, and nothing else
        self._changes = rare_changes()
        self._surroundings = made.surroundings
        changed = {id(tensor) for tensor, _ in made.grads}
        seen = seen_by(made)
        used = self._on(seen, changed)
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
        self._add_grads(made, seen)
        self._asks = all_of(self._conditions, self._names)
        cls = Arguments if made.recorder.device < 0 else ArgumentsOnGPU
        self._arguments = cls(made, seen, self._changing, self._names)
        self._fit = self._arguments.fit

    def add(self, roots: set[int]) -> None:
        """Ask for the tensors on this memory, too: backward works on it, whether the function itself does or not."""
        before = len(self._conditions)
        used = self._on(roots, ())
        self._add_places(used)
        for found in used:
            self._add_tensor(found)
        if len(self._conditions) > before:
            self._asks = all_of(self._conditions, self._names)

    @property
    def conditions(self) -> list[str]:
        hidden = ("__code__", "__defaults__")
        listed = {
            what: None for condition, what in [*self._conditions.items(), *self._rare.items()]
            if not what.endswith(hidden) and " not in v" not in condition and what not in self._of_libraries
        }
        return [*listed]

    def holds(self, inputs: Sequence[Tensor]) -> bool:
        """Whether the program may be replayed with these tensors as arguments."""
        return self.stands() and self._fit(inputs)

    def stands(self) -> bool:
        """Whether what the function finds around it is what it was."""
        if rare_changes() != self._changes and not self._is_unchanged():
            return False
        try:
            return self._asks()
        except _MISSING:  # something is not there any more
            return False

    def _is_unchanged(self) -> bool:
        """Return whether none of the rare changes since was one of what the function finds."""
        changes = rare_changes()
        if has_hooks(self._surroundings) or not all(map(self._holds, self._rare)):
            return False
        self._changes = changes
        return True

    def _holds(self, condition: str) -> bool:
        try:
            return bool(eval(condition, self._names))
        except _MISSING:
            return False

    def held_by_the_call(self, gradients: bool = False) -> bool:
        """Return whether the recorded call itself has left all as it was, gradients apart.

        With ``gradients``, tensors have gradients that had some before, and no others do.
        """
        return not {*self.failed()} - ({_GRADIENT} if gradients else {_GRADIENT, _HAS_GRADIENT})

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
        conditions = [*self._conditions.items(), *self._rare.items()]
        return list(dict.fromkeys([what for condition, what in conditions if not self._holds(condition)]))

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
                self._conditions[f"{self._held(found)} is {self._name(found.value)}"] = found.name()

    def _add_contents(self, around: Surroundings, known: set[int]) -> None:
        """Numbers, functions and other objects are where they were, and no others have come."""
        for found in around.read:
            if id(found.value) not in known and not isinstance(found.holder, list) and not around.is_unused(found):
                self._add_content(found)
        for found in around.reached.values():
            value, what = found.value, found.name()
            if isinstance(value, np.ndarray):
                self._conditions[f"array_state({self._name(value)}) == {self._name(_array_state(value))}"] = what
            elif isinstance(value, Tensor) and not isinstance(found.holder, dict) and id(value) not in known:
                self._add_layout(self._name(value), value, what)
            elif isinstance(value, Module) or (not isinstance(value, type) and is_own(value.__class__)):
                rare = isinstance(value, Module) and type(value).__setattr__ is Module.__setattr__
                conditions = self._rare if rare else self._conditions
                conditions[f"{self._name(value)}.__class__ is {self._name(value.__class__)}"] = what
                items = attributes_of(value)
                if getattr(value, "__dict__", None) is items:  # a program may give it another dictionary
                    conditions[f"{self._name(value)}.__dict__ is {self._name(items)}"] = what
            elif isinstance(value, type) and is_own(value) and value.__bases__ != (object,):
                self._conditions[f"{self._name(value)}.__mro__ is {self._name(value.__mro__)}"] = what
            for items in around.growing(found):
                self._add_size(found, items)
        for state in around.states:
            self._conditions[f"{self._name(state)}() == {self._name(state())}"] = state.__name__.strip("_")
        places = [*self._changing, *[self._name(one.value) for one in around.tensors.values()]]
        if self._changing and len(places) > 1 and around.mentioned.compares:
            compared = f"({', '.join(places)})"
            self._names["identities"] = _identities
            self._conditions[f"identities({compared}) == {eval(f'identities({compared})', self._names)}"] = "tensors"

    def _add_size(self, found: Found, items: Any) -> None:
        """A container has the items that it had, and an object no more attributes."""
        name, what, held = self._name(items), found.name(), items_of(items)
        if is_own(items.__class__):
            name = f"items_of({name})"
        if items is not found.value:
            condition = f"len({name}) == {len(held)}"
            if self._surroundings.mentioned.may_miss() and not isinstance(found.value, Module | type):
                condition = f"[*{name}] == {self._name(held)}"
        elif not held:
            condition = f"not {name}"
        elif not isinstance(items, dict) or not all_texts(held):
            condition = f"same_items({name}, {self._name(held)})"
        elif found.key not in ("_buffers", "_parameters") or self._surroundings.mentioned.goes_through(in_order=True):
            condition = f"[*{name}] == {self._name(held)}"
        else:
            condition = f"len({name}) == {len(held)}"
        self._conditions[condition] = what

    def _add_content(self, found: Found) -> None:
        value, what, held = found.value, found.name(), self._held(found)
        if found.way is not None and isinstance(value, FunctionType) and is_installed(value.__code__.co_filename):
            self._of_libraries.add(what)
        if value is ABSENT:
            self._conditions[self._is_absent(found)] = what
        elif value is None or isinstance(value, bool):
            self._conditions[f"{held} is {value}"] = what
        elif isinstance(value, Tensor) and id(value) not in self._given:
            # the program has nothing to do with its elements; it may be compared with arguments
            self._add_layout(held, value, what)
            self._changing.append(held)
        elif isinstance(value, int | float | complex | str | bytes | tuple | types.dtype | types.device):
            own = self._name(value)
            self._conditions[f"({held} is {own} or same({held}, {own}))"] = what
        else:
            self._conditions[f"{held} is {self._name(value)}"] = what

    def _add_layout(self, held: str, tensor: Tensor, what: str) -> None:
        self._conditions[f"{held}._layout is {self._name(tensor._layout)}"] = what
        self._add_requires_grad(held, tensor, what)

    def _add_requires_grad(self, held: str, tensor: Tensor, what: str) -> None:
        """A view requires a gradient as soon as its base does."""
        condition = f"{held}._requires_grad == {int(tensor._requires_grad)}"
        if tensor._view is not None:
            condition = f"{held}.requires_grad is {tensor.requires_grad}"
        self._conditions[condition] = f"{what}.requires_grad"

    def _held(self, found: Found) -> str:
        """What is in the place that an object was found in."""
        holder, key = found.holder, found.key
        if isinstance(holder, CellType):
            return f"{self._name(holder)}.cell_contents"
        if isinstance(key, MemberDescriptorType | GetSetDescriptorType):
            return f"{self._name(key)}.__get__({self._name(holder)})"
        if isinstance(holder, type):  # each access to the dictionary of a class makes another view of it
            holder = self._dictionaries.setdefault(holder, vars(holder))
        if isinstance(holder, dict) and type(holder) is not dict:  # it may add what is missing
            return f"get({self._name(holder)}, {self._key(key)}, ABSENT)"
        if not isinstance(holder, dict | list | MappingProxyType):
            return f"{self._name(holder)}.{key}"
        return f"{self._name(holder)}[{self._key(key)}]"

    def _is_absent(self, found: Found) -> str:
        """Whether there is nothing yet where nothing was found."""
        holder, key = found.holder, found.key
        if isinstance(holder, CellType):
            return f"is_empty({self._name(holder)})"
        if isinstance(key, MemberDescriptorType):
            return f"is_empty({self._name(holder)}, {self._name(key)})"
        if isinstance(holder, type):
            holder = self._dictionaries.setdefault(holder, vars(holder))
        return f"{self._key(key)} not in {self._name(holder)}"

    def _key(self, key: Any) -> str:
        return repr(key) if isinstance(key, str | int) else self._name(key)

    def _add_tensor(self, found: Found) -> None:
        tensor = found.value
        name = self._name(tensor)
        for attribute in ("_storage", "_layout"):
            self._conditions[f"{name}.{attribute} is {self._name(getattr(tensor, attribute))}"] = found.name()
        if tensor._storage.size > tensor._layout.size:  # it may lie elsewhere there
            self._conditions[f"{name}._offset == {tensor._offset}"] = found.name()
        self._add_requires_grad(name, tensor, found.name())

    def _add_optimizer(self, found: Found) -> None:
        cls = type(found.value)
        anew = issubclass(cls, FusedOptimizer) and cls.__module__.startswith(_OPTIMIZERS)
        anew &= "param_groups" not in self._surroundings.mentioned  # a program that may read options itself
        for group in found.value.param_groups:
            name, parameters = self._name(group), self._name(group["params"])
            self._conditions[f"{name}['params'] is {parameters} and len({parameters}) == {len(group['params'])}"] = (
                f"{found.name()}.param_groups"
            )
            for number, one in enumerate(group["params"]):
                self._conditions[f"{parameters}[{number}] is {self._name(one)}"] = f"{found.name()}.param_groups"
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

    def _add_grads(self, made: Capture, seen: set[int]) -> None:
        """The gradients that tensors have: which, where the program has to do with them, and else whether any.

        Only where the program replaces one that it has nothing to do with does it not matter.
        """
        changed = {id(tensor) for tensor, _ in made.grads}
        arguments = {id(one) for one in made.inputs}
        for before in made.known.values():
            tensor, grad = before.tensor, before.grad
            if id(tensor) in arguments:  # of which the signature tells
                continue
            reads = "grad" in self._surroundings.mentioned
            if grad is None:
                if before.requires_grad or reads:
                    self._conditions[f"{self._name(tensor)}._grad is None"] = _HAS_GRADIENT
            elif any(tensor is one for one in made.holders):
                self._conditions[f"{self._name(tensor)}._grad is not None"] = _HAS_GRADIENT
            elif id(root_of(grad._storage)) in seen:
                name = self._name(tensor)
                self._conditions[f"{name}._grad is {self._name(grad)}"] = _GRADIENT
                self._conditions[f"{name}._grad._storage is {self._name(grad._storage)}"] = _GRADIENT
                self._conditions[f"{name}._grad._offset == {grad._offset}"] = _GRADIENT
                self._conditions[f"{name}._grad._layout is {self._name(grad._layout)}"] = _GRADIENT
            elif id(tensor) not in changed:
                self._conditions[f"{self._name(tensor)}._grad is not None"] = _HAS_GRADIENT
                if reads:
                    self._conditions[f"{self._name(tensor)}._grad._layout is {self._name(grad._layout)}"] = _GRADIENT


def _array_state(array: np.ndarray) -> tuple[Any, ...]:
    """All that functions read of an array."""
    return array.dtype, array.shape, array.strides, array.flags.num, array.tobytes()


def _identities(tensors: Sequence[Tensor]) -> list[int]:
    """The first place of each tensor among these."""
    found = [*map(id, tensors)]
    return [*map(found.index, found)]


def _is_empty(holder: Any, slot: Any = None) -> bool:
    """Whether a cell, or a slot of an object, has nothing in it yet."""
    try:
        _ = holder.cell_contents if slot is None else slot.__get__(holder)
    except (AttributeError, ValueError):
        return True
    return False
