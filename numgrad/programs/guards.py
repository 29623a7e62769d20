"""Guards: conditions under which the program of one call is valid for another call with the same signature.

They concern the function's environment, and the memory that arguments share with it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from types import CellType, FunctionType, GetSetDescriptorType, MappingProxyType, MemberDescriptorType
from typing import Any

import numpy as np

from ..autograd.hooks import module_changes, rare_changes
from ..core import types
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..optim.fused import FusedOptimizer
from ..optim.optimizer import Optimizer
from ..tensors.tensor import Tensor
from .attached import has_attributes, has_hooks
from .captured import Capture
from .conditions import MISSING, Conditions, argument_conditions, memory_used_by
from .object_kinds import attributes_of, is_installed, is_own
from .recorded_steps import root_of
from .sources import ABSENT, REGISTRIES, Source, equivalent, equivalent_items, items_of

#: The package of the optimizers whose options are read in each replay.
_OPTIMIZERS = FusedOptimizer.__module__.rpartition(".")[0] + "."

#: Descriptions of two conditions on a tensor: that its gradient is the same, and that it still has a gradient or none.
_GRADIENT, _HAS_GRADIENT = "a gradient", "a gradient that comes or goes"

#: Classes of values that are compared by value, not by identity.
_COMPARED = (int, float, complex, str, bytes, tuple, types.dtype, types.device)


class Guard:
    """The conditions under which a program may be replayed."""

    def __init__(self, captured: Capture):
        self._conditions = Conditions(
            equivalent=equivalent, equivalent_items=equivalent_items, is_empty=_is_empty, get=dict.get, ABSENT=ABSENT,
            array_state=_array_state, items_of=items_of, identities=_identities, facts=_facts,
        )
        self._name, self._require = self._conditions.name, self._conditions.require
        self._is_listed = captured.environment.is_listed
        self._count = module_changes if self._is_listed else rare_changes
        self._changes = self._count()
        self._walks = captured.recorder.walks
        self._of_libraries: set[str] = set()
        self._inputs = {id(tensor) for tensor in captured.inputs}
        self._compared: list[str] = []  # expressions for tensors that may be compared with arguments
        self._dictionaries: dict[type, Any] = {}
        self._environment = environment = captured.environment
        used = memory_used_by(captured)
        tensors = self._tensors_on(used, {id(tensor) for tensor, _ in captured.grads})
        modules, optimizers = [*environment.modules.values()], [*environment.optimizers.values()]
        self._add_sources([*tensors, *modules, *optimizers, *environment.generators.values()])
        for source in tensors:
            self._add_tensor(source)
        self._add_contents(captured, {id(source.value) for source in (*tensors, *modules, *optimizers)})
        for source in modules:
            self._set_source(Source(None, parent=source))
            attributes = self._name(source.value.__dict__)
            self._require(f"{attributes}['training'] is {source.value.training}", f"{source.name()}.training")
        self._set_source(None)
        for source in optimizers:
            self._add_optimizer(source)
        self._add_grads(captured, used)
        self._compile()
        of_arguments = [*argument_conditions(captured, used, self._conditions, self._compared)]
        self._arguments_hold = self._conditions.function(of_arguments, ["inputs"]) if of_arguments else None

    def add_memory(self, roots: set[int]) -> None:
        """Add the conditions on the tensors in this memory, which backward uses."""
        tensors = self._tensors_on(roots, ())
        self._add_sources(tensors)
        for source in tensors:
            self._add_tensor(source)
        self._compile()

    def _compile(self) -> None:
        self._environment_holds = self._conditions.function(self._conditions.described)
        self._rare_hold = self._conditions.function(self._conditions.rare)

    @property
    def conditions(self) -> list[str]:
        """Descriptions of the compared values, apart from functions' code, parts of libraries and undefined names."""
        return [*dict.fromkeys([
            what for condition, what in [*self._conditions.described.items(), *self._conditions.rare.items()]
            if not what.endswith(("__code__", "__defaults__")) and " not in v" not in condition
            and what not in self._of_libraries
        ])]

    def holds(self, inputs: Sequence[Tensor]) -> bool:
        """Return True if the program may be replayed with these tensors as arguments."""
        return self.environment_holds() and (self._arguments_hold is None or self._arguments_hold(inputs))

    def environment_holds(self) -> bool:
        """Return True if the environment has not changed."""
        try:
            return (self._count() == self._changes or self._is_unchanged()) and self._environment_holds()
        except MISSING:
            return False

    def _is_unchanged(self) -> bool:
        """Return True if none of the rare changes since the last check has changed the environment."""
        changes = self._count()
        if has_hooks(self._environment, walks=self._walks) or not self._rare_hold():
            return False
        self._changes = changes
        return True

    def held_after_call(self, gradients: bool = False) -> bool:
        """Return True if the recorded call itself has changed nothing in the environment but gradients.

        With ``gradients``, it must not have created the first gradient of a tensor, or removed a gradient.
        """
        return not {*self.failed()} - ({_GRADIENT} if gradients else {_GRADIENT, _HAS_GRADIENT})

    def fails_for_gradients(self) -> bool:
        """Return True if only the arguments or the identity of gradients have changed."""
        return not {*self.failed()} - {_GRADIENT}

    def holds_for_rerun(self, walks: bool = True) -> bool:
        """Return True if another call would repeat the recorded one; tensors may have got gradients since.

        Unless it ``walks`` a graph, tensors may also have got hooks.
        """
        return not has_hooks(self._environment, of_tensors=walks) and not {*self.failed()} - {_HAS_GRADIENT}

    def failed(self) -> list[str]:
        """Return descriptions of the changes."""
        try:
            if self._environment_holds() and self._rare_hold():
                return []
        except MISSING:
            pass
        described = [*self._conditions.described.items(), *self._conditions.rare.items()]
        return [*dict.fromkeys([what for condition, what in described if not self._conditions.holds(condition)])]

    # -- conditions on tensors -------------------------------------------------------------------------------------

    def _tensors_on(self, roots: set[int], others: Container[int]) -> list[Source]:
        """Return the sources of tensors in this memory, and of other tensors by identity."""
        return [
            source for key, source in self._environment.tensors.items()
            if id(root_of(source.value._storage)) in roots or key in others
        ]

    def _add_sources(self, objects: Sequence[Source]) -> None:
        """Require that each source still has the same object."""
        for source in self._environment.sources_of([each.value for each in objects]):
            if source.holder is not None:
                self._set_source(source)
                self._conditions.require_same(self._expression(source), source.value, source.name())
        self._set_source(None)

    def _set_source(self, source: Source | None) -> None:
        """Make the following conditions rare ones if the state is listed and changes of the source are counted."""
        around = [] if source is None or not self._is_listed else [*source.outwards()]
        registry = around[1:2] and around[1].key in REGISTRIES
        holders = [each.value for each in around[1 : 3 if registry else 2]]
        is_counted = any(isinstance(holder, Module) for holder in holders) or any(
            isinstance(each.value, Optimizer) for each in around[1:]
        )
        self._conditions.into = self._conditions.rare if is_counted else self._conditions.described

    def _add_tensor(self, source: Source) -> None:
        name = self._name(source.value)
        self._conditions.rare |= dict.fromkeys(self._conditions.same_memory(name, source.value), source.name())
        of_optimizer = any(isinstance(each.value, Optimizer) for each in source.outwards())
        if self._is_listed and (source.value._requires_grad or of_optimizer):  # no in-place operation changes its value
            self._conditions.into = self._conditions.rare
        self._add_requires_grad(name, source.value, source.name())
        self._set_source(None)

    def _add_layout(self, expression: str, tensor: Tensor, what: str) -> None:
        self._conditions.require_same(f"{expression}._layout", tensor._layout, what)
        self._add_requires_grad(expression, tensor, what)

    def _add_requires_grad(self, expression: str, tensor: Tensor, what: str) -> None:
        condition = f"{expression}._requires_grad == {int(tensor._requires_grad)}"
        if tensor._view is not None:  # a view requires a gradient as soon as its base does
            condition = f"{expression}.requires_grad is {tensor.requires_grad}"
        self._require(condition, f"{what}.requires_grad")

    def _add_grads(self, captured: Capture, used: set[int]) -> None:
        """Require that tensors have the same gradients, or, if the program does not use their memory, have one or none.

        There is no condition on gradients that the program replaces without reading them.
        """
        replaced = {id(tensor) for tensor, _ in captured.grads}
        reads = "grad" in self._environment.referenced
        uses_gradients = captured.recorder.walks or "zero_grad" in self._environment.referenced
        for before in captured.states.values():
            tensor, grad = before.tensor, before.grad
            if id(tensor) in self._inputs:  # the signature compares the gradients of arguments
                continue
            expression = f"{self._name(tensor)}._grad"
            if grad is None:
                may_have = before.requires_grad or isinstance(tensor, Parameter)  # zero_grad() may remove it
                if reads or (may_have and (uses_gradients or not self._is_listed)):
                    self._require(f"{expression} is None", _HAS_GRADIENT)
            elif any(tensor is owner for owner in captured.gradient_owners):
                self._require(f"{expression} is not None", _HAS_GRADIENT)
            elif id(root_of(grad._storage)) in used:
                self._conditions.require_same(expression, grad, _GRADIENT)
                self._conditions.rare |= dict.fromkeys(self._conditions.same_memory(self._name(grad), grad), _GRADIENT)
            elif id(tensor) not in replaced:
                self._require(f"{expression} is not None", _HAS_GRADIENT)
                if reads:
                    self._conditions.require_same(f"{expression}._layout", grad._layout, _GRADIENT)

    # -- conditions on other objects -------------------------------------------------------------------------------

    def _add_contents(self, captured: Capture, expected: set[int]) -> None:
        """Require that numbers, functions and other objects are unchanged, and that none have been added."""
        environment = self._environment
        for source in environment.read:
            is_item = isinstance(source.holder, list)  # the items of a list are compared together
            if id(source.value) not in expected and not is_item and not environment.is_unused(source):
                self._set_source(source)
                self._add_content(source)
        for source in environment.reached.values():
            value, what = source.value, source.name()
            if isinstance(value, np.ndarray):
                self._require(f"array_state({self._name(value)}) == {self._name(_array_state(value))}", what)
            elif isinstance(value, Tensor) and not isinstance(source.holder, dict) and id(value) not in expected:
                self._add_layout(self._name(value), value, what)
            elif isinstance(value, Module) or (not isinstance(value, type) and is_own(value.__class__)):
                self._add_class(value, what)
            elif isinstance(value, type) and is_own(value) and value.__bases__ != (object,):
                self._conditions.require_same(f"{self._name(value)}.__mro__", value.__mro__, what)
            for items in environment.growing(source):
                self._set_source(Source(items, parent=source) if isinstance(value, Module) else source)
                self._add_items(source, items)
        self._set_source(None)
        for source in environment.optimizers.values() if self._is_listed else ():
            name, groups, what = self._name(source.value), source.value.param_groups, f"{source.name()}.param_groups"
            # the program reads options from these dictionaries
            self._require(f"len({name}.param_groups) == {len(groups)}", what)
            for number, group in enumerate(groups):
                self._conditions.require_same(f"{name}.param_groups[{number}]", group, what)
        for holds, holding, what in captured.recorder.conditions:
            self._require(f"{self._name(holds)}() is {holding}", what)
        for state in environment.states:
            self._require(f"{self._name(state)}() == {self._name(state())}", state.__name__.strip("_"))
        tensors = [*self._compared, *[self._name(source.value) for source in environment.tensors.values()]]
        if self._compared and len(tensors) > 1 and environment.referenced.compares:
            identities = f"identities(({', '.join(tensors)}))"
            self._require(f"{identities} == {eval(identities, self._conditions.names)}", "tensors")

    def _add_class(self, value: Any, what: str) -> None:
        """Require that an object still has the same class and the same dictionary of attributes."""
        rare = isinstance(value, Module) and type(value).__setattr__ is Module.__setattr__
        described, name = self._conditions.rare if rare else self._conditions.described, self._name(value)
        described[f"{name}.__class__ is {self._name(value.__class__)}"] = what
        attributes = attributes_of(value)
        if getattr(value, "__dict__", None) is attributes:
            described[f"{name}.__dict__ is {self._name(attributes)}"] = what

    def _add_items(self, source: Source, items: Any) -> None:
        """Require that a container has the same items, and that an object has no new attributes."""
        name, held, referenced = self._name(items), items_of(items), self._environment.referenced
        if is_own(items.__class__):
            name = f"items_of({name})"
        keys, count = f"[*{name}] == {self._name(held)}", f"len({name}) == {len(held)}"
        if items is not source.value:
            condition = keys if referenced.may_miss() and not isinstance(source.value, Module | type) else count
        elif not held:
            condition = f"not {name}"
        elif not isinstance(items, dict) or not all(key.__class__ is str for key in held):
            condition = f"equivalent_items({name}, {self._name(held)})"
        else:
            is_registry = source.key in ("_buffers", "_parameters")
            condition = count if is_registry and not referenced.traverses_modules(in_order=True) else keys
        self._require(condition, source.name())

    def _add_content(self, source: Source) -> None:
        value, what, expression = source.value, source.name(), self._expression(source)
        if source.parent is not None and isinstance(value, FunctionType) and is_installed(value.__code__.co_filename):
            self._of_libraries.add(what)
        if value is ABSENT:
            self._require(self._absence(source), what)
        elif value is None or isinstance(value, bool):
            self._require(f"{expression} is {value}", what)
        elif isinstance(value, Tensor) and id(value) not in self._inputs:
            # the program does not use its elements, but may compare it with arguments
            facts = _facts(value)
            if facts is None:
                self._conditions.require_same(expression, value, what)
                self._add_layout(self._name(value), value, what)
            else:
                self._require(f"facts({expression}) == {self._name(facts)}", what)
            self._compared.append(expression)
        elif isinstance(value, _COMPARED):
            self._conditions.require_equivalent(expression, value, what)
        else:
            self._conditions.require_same(expression, value, what)

    def _add_optimizer(self, source: Source) -> None:
        optimizer, what = source.value, source.name()
        cls = type(optimizer)
        reads_options = (  # replays read the options again, unless the program may read them itself
            issubclass(cls, FusedOptimizer) and cls.__module__.startswith(_OPTIMIZERS)
            and "param_groups" not in self._environment.referenced
        )
        for group in optimizer.param_groups:
            name, parameters = self._name(group), self._name(group["params"])
            count = len(group["params"])
            self._require(f"{name}['params'] is {parameters} and len({parameters}) == {count}", f"{what}.param_groups")
            self._set_source(Source(group, parent=source))
            for number, parameter in enumerate(group["params"]):
                self._conditions.require_same(f"{parameters}[{number}]", parameter, f"{what}.param_groups")
            self._set_source(None)
            for option, value in group.items():
                expression = f"{name}[{option!r}]"
                if option != "params" and not reads_options:
                    self._conditions.require_equivalent(expression, value, f"{option} of {what}")
                elif option != "params" and isinstance(value, int | float | bool | None):
                    self._require(expression if value else f"not {expression}", f"{option} of {what}")
        groups = optimizer.param_groups
        if self._is_listed:  # its state of parameters is not compared in each call
            self._conditions.require_same(f"{self._name(optimizer)}.state", optimizer.state, f"{what}.state")
            self._require(f"len({self._name(optimizer.state)}) == {len(optimizer.state)}", f"{what}.state")
        self._require(f"len({self._name(groups)}) == {len(groups)}", f"{what}.param_groups")

    # -- expressions -----------------------------------------------------------------------------------------------

    def _expression(self, source: Source) -> str:
        """Return the expression for the current object of a source."""
        holder, key = source.holder, source.key
        if isinstance(holder, CellType):
            return f"{self._name(holder)}.cell_contents"
        if isinstance(key, MemberDescriptorType | GetSetDescriptorType):
            return f"{self._name(key)}.__get__({self._name(holder)})"
        holder = self._dictionary(holder)
        if isinstance(holder, dict) and type(holder) is not dict:  # reading a missing item may add it
            return f"get({self._name(holder)}, {self._key(key)}, ABSENT)"
        if not isinstance(holder, dict | list | MappingProxyType):
            return f"{self._name(holder)}.{key}"
        return f"{self._name(holder)}[{self._key(key)}]"

    def _absence(self, source: Source) -> str:
        """Return the condition that a source has no object."""
        holder, key = source.holder, source.key
        if isinstance(holder, CellType):
            return f"is_empty({self._name(holder)})"
        if isinstance(key, MemberDescriptorType):
            return f"is_empty({self._name(holder)}, {self._name(key)})"
        return f"{self._key(key)} not in {self._name(self._dictionary(holder))}"

    def _dictionary(self, holder: Any) -> Any:
        """Return the dictionary of a class, whose ``__dict__`` is a new view each time, or any other holder itself."""
        return self._dictionaries.setdefault(holder, vars(holder)) if isinstance(holder, type) else holder

    def _key(self, key: Any) -> str:
        return repr(key) if isinstance(key, str | int) else self._name(key)


def _array_state(array: np.ndarray) -> tuple[Any, ...]:
    """Return all properties of an array that functions may read."""
    return array.dtype, array.shape, array.strides, array.flags.num, array.tobytes()


def _facts(tensor: Any) -> tuple[Any, ...] | None:
    """Return the properties of a tensor, except elements, that functions may read; None if they include objects."""
    is_simple = isinstance(tensor, Tensor) and tensor._grad is tensor._edge is tensor._view is tensor._hooks is None
    if not is_simple or has_attributes(tensor):
        return None
    return tensor.__class__, tensor._layout, tensor._requires_grad


def _identities(tensors: Sequence[Tensor]) -> list[int]:
    """Return the first index of each tensor among these."""
    identities = [*map(id, tensors)]
    return [*map(identities.index, identities)]


def _is_empty(holder: Any, slot: Any = None) -> bool:
    """Return True if a cell, or a slot of an object, has no value yet."""
    try:
        _ = holder.cell_contents if slot is None else slot.__get__(holder)
    except (AttributeError, ValueError):
        return True
    return False
