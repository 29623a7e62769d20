"""The nodes of the table's operations: what they saved for their rules, by name, and how they show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..autograd.grad_mode import GRAD, state
from ..autograd.places import Place
from ..autograd.saved import PACKED, SavedTensor, SavingNode, restore

if TYPE_CHECKING:
    from .table import Op

__all__ = ["OpNode", "public_name"]


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

    def saved_output(self, place: int) -> int | None:
        return self.output_number(self.names[place])

    def release(self, freed_by: Place) -> None:
        for version in self.versions:
            if version is not None:
                self.saved = freed_by
                return

    def __getattr__(self, name: str) -> Any:
        kind, found, public = name.partition("saved_")
        names = (public, _INTERNAL.get(public, public))
        for key in names if found and kind in ("_", "_raw_") else ():
            if key in self.names:
                place = self.names.index(key)
                return self.raw(place) if kind == "_raw_" else self.unpack_place(place)
            if key in self.constants and kind == "_":
                return self.constants[key]
            if key in self.op.saveable:
                return None if kind == "_" else SavedTensor.of(self, None)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        names = [public_name(name) for name in (*self.names, *self.constants)]
        return [*super().__dir__(), *[f"{kind}_saved_{name}" for name in names for kind in ("", "_raw")]]


#: What PyTorch calls, in the attributes of nodes, the parameters that rules name.
_PUBLIC = {
    "input": "self", "out": "result", "input_shape": "self_sym_sizes", "dims": "dim", "stop": "end", "order": "ord",
}
_INTERNAL = {public: name for name, public in _PUBLIC.items()}


def public_name(name: str) -> str:
    """What the attributes of nodes call something that rules call ``name``: ``self`` for ``input``."""
    return _PUBLIC.get(name, name)
