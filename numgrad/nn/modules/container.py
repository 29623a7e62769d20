"""Containers of modules: sequences, lists and dictionaries."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self

from ...autograd.hooks import note_module_change
from ...core.missing import found_later
from .module import Module, enclosed, indented

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


def normal_index(length: int, index: Any) -> int:
    """Return an index into ``length`` items as a non-negative number.

    Raises:
        IndexError: the index is out of range.
    """
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of range")
    return position % length


class _Numbered(Module):
    """An ordered container whose modules are named "0", "1" and so on by default."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name(self, index: Any) -> str:
        return list(self._modules)[normal_index(len(self), index)]

    def _renumber(self, modules: Iterable[Any]) -> None:
        """Replace the contents by these modules, named by their numbers."""
        named = {str(index): module for index, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(named)
        note_module_change()

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        if not isinstance(index, slice):
            index = normal_index(len(modules), index)
        del modules[index]
        self._renumber(modules)

    def pop(self, key: int | slice) -> Any:
        """Remove and return the module at ``key``, or the modules of a slice."""
        removed = self[key]
        del self[key]
        return removed

    def append(self, module: Module) -> Self:
        """Add a module at the end and return the container."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self._modules[self._name(index)]
        return self._part(list(self._modules.items())[index])

    def _part(self, modules: list[tuple[str, Any]]) -> Any:
        """Return another container of some of the modules."""
        raise NotImplementedError(f"{type(self).__name__} does not define _part")


class Sequential(_Numbered):
    """Modules applied in sequence, given as arguments or, with their names, as one ordered dictionary.

    Example:
        >>> from numgrad import nn
        >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        Sequential(
          (0): Linear(in_features=2, out_features=3, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _part(self, modules: list[tuple[str, Any]]) -> Any:
        return type(self)(OrderedDict(modules))

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before the one at ``index`` and return the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end and return the container."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *_added(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(_added(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(list(self) * _factor(self, other)))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (_factor(self, other) - 1))


def _added(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


def _factor(modules: Sequential, count: Any) -> int:
    if not isinstance(count, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(modules)} and {type(count)}")
    if count <= 0:
        raise ValueError(f"Non-positive multiplication factor {count} for {type(modules)}")
    return count


class ModuleList(_Numbered):
    """A list of modules, which registers them.

    Example:
        >>> import numgrad
        >>> layers = numgrad.nn.ModuleList([numgrad.nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, modules: list[tuple[str, Any]]) -> Any:
        return type(self)([module for _, module in modules])

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end and return the list."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        blocks: list[tuple[int, int, str]] = []  # first, last, text: modules that print alike are shown once
        for index, module in enumerate(self):
            text = repr(module)
            if blocks and blocks[-1][2] == text:
                blocks[-1] = blocks[-1][0], index, text
            else:
                blocks.append((index, index, text))
        lines = [
            indented(f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}")
            for first, last, text in blocks
        ]
        return f"{self._get_name()}({enclosed([], lines)})"


class ModuleDict(Module):
    """A dictionary of modules, which registers them.

    Example:
        >>> import numgrad
        >>> parts = numgrad.nn.ModuleDict({"encoder": numgrad.nn.Linear(4, 2), "decoder": numgrad.nn.Linear(2, 4)})
        >>> parts["encoder"](numgrad.ones(4)).shape
        torch.Size([2])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]
        note_module_change()

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: Any) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()
        note_module_change()

    def pop(self, key: str) -> Any:
        """Remove and return the module with this name."""
        note_module_change()
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """Return the names and modules."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs of name and module."""
        for name, module in named_pairs("ModuleDict", modules):
            self[name] = module


def named_pairs(name: str, values: Any) -> list[tuple[str, Any]]:
    """Return the argument of a container's ``update`` as pairs.

    Raises:
        TypeError: the argument is neither a mapping nor an iterable of iterables.
        ValueError: an item does not have two elements.
    """
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if isinstance(values, Mapping | ModuleDict):
        return list(values.items())
    pairs = []
    for index, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{index} should be Iterable; is {type(pair).__name__}")
        items = list(pair)
        if len(items) != 2:
            raise ValueError(f"{name} update sequence element #{index} has length {len(items)}; 2 is required")
        pairs.append((items[0], items[1]))
    return pairs


#: Classes that PyTorch has in this module.
_ELSEWHERE = ["ParameterDict", "ParameterList"]
__getattr__, _ = found_later(globals(), "nn.modules.container", dict.fromkeys(_ELSEWHERE, ".parameter_container"))
