"""The nodes of the table's operations: what they saved for their rules, by name, and how they show it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import GRAD, state
from ...autograd.locations import Location
from ...autograd.saved import PACKED, SavedTensor, SavingNode, restore

if TYPE_CHECKING:
    from .op import Op


class OpNode(SavingNode):
    """A node of a table entry, with what its rules need; ``names`` are the names that they use."""

    __slots__ = ()

    op: Op
    names: Sequence[str]
    constants: Mapping[str, Any] = MappingProxyType({})  # numbers that the rules know without saving them

    def unpack(self) -> dict[str, Any]:
        """What was saved, by name.

        Raises:
            RuntimeError: it was freed by an earlier backward, or a tensor was changed in place since.
        """
        saved = self.kept()
        values = {}
        for name, value, version in zip(self.names, saved, self.versions):  # noqa: B905 - of one length; strict= costs time
            if version is not None:
                number = self.output_number(name)
                if number is not None or version == PACKED or value._counter[0] != version:  # else it is as it was
                    value = restore(self, value, version, number, state.mode & GRAD)
            values[name] = value
        return values

    def output_number(self, name: str) -> int | None:
        """Which output a saved name stands for, None if it is none."""
        return 0 if name == "out" else None

    def saved_names(self) -> list[str]:
        return [public_name(name) for name in self.names]

    def saved_output(self, index: int) -> int | None:
        return self.output_number(self.names[index])

    def release(self, freed_by: Location) -> None:
        for version in self.versions:
            if version is not None:
                self.saved = freed_by
                return

    def value_of(self, name: str) -> Any:
        """What was saved by this name; None if it was not needed."""
        return self.unpack_one(self.names.index(name)) if name in self.names else self.constants.get(name)

    def raw_value_of(self, name: str) -> SavedTensor:
        """The tensor saved by this name as it is kept, to attach hooks to."""
        return self.raw(self.names.index(name)) if name in self.names else SavedTensor.of(self, None)

    def __dir__(self) -> list[str]:
        shown = {public_name(name) for name in (*self.names, *self.constants)}
        return [name for name in super().__dir__() if "_saved_" not in name or name.split("_saved_")[1] in shown]


def show_saved(node_class: Any, names: Iterable[str]) -> None:
    """Give nodes the attributes ``_saved_<name>`` and ``_raw_saved_<name>``, for what they save.

    They stand in the class, and not in a ``__getattr__``: with one, Python looks up all attributes more slowly.
    """
    for name in names:
        for shown in {name, public_name(name)}:
            setattr(node_class, f"_saved_{shown}", property(functools.partial(OpNode.value_of, name=name)))
            setattr(node_class, f"_raw_saved_{shown}", property(functools.partial(OpNode.raw_value_of, name=name)))


#: What PyTorch calls, in the attributes of nodes, the parameters that rules name.
_PUBLIC = {
    "input": "self", "out": "result", "input_shape": "self_sym_sizes", "dims": "dim", "stop": "end", "order": "ord",
}


def public_name(name: str) -> str:
    """What the attributes of nodes call something that rules call ``name``: ``self`` for ``input``."""
    return _PUBLIC.get(name, name)
