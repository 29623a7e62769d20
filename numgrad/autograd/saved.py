"""Tensors saved for backward: what was saved, at which version, in which form, and the errors when they are gone.

A node keeps, for each thing it saves, the value and the version it had.  An input is kept as the tensor itself;
the node's own output as an alias without a graph (the tensor would hold the node that holds it), whose edge is put
back when it is unpacked.  Where hooks are in force, what the pack hook made of the tensor is kept instead, with the
version PACKED.  Things that are no tensors have the version None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import ref

from .checks import is_tensor
from .errors import freed_error, modified_error
from .grad_mode import DUAL, LEVELS, SAVED_HOOKS, in_mode, state, with_recording
from .levels import share_tangents
from .locations import Location
from .node import AccumulateGrad, Edge, Node, edge_of
from .thread_state import undisturbed

#: In place of a version: the tensor is kept as a pack hook returned it.
PACKED = -1

#: A pack hook and an unpack hook.
HookPair = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def keep(tensor: Any, number: int | None = None) -> tuple[Any, int]:
    """The value that a node keeps for a tensor, its output ``number`` or (None) one of its inputs, with its version."""
    value = tensor if number is None else tensor._alias()
    if number is not None and state.mode & DUAL:
        share_tangents(tensor, value)
    if state.mode & SAVED_HOOKS:
        if number is None:
            return PackedTensor(value, None, state.saved_hooks[-1]), PACKED
        value._edge, value._requires_grad = tensor._edge, tensor._requires_grad  # while the pack hook looks at it
        packed = PackedTensor(value, number, state.saved_hooks[-1])
        value._edge, value._requires_grad = None, False
        return packed, PACKED
    return value, value._counter[0]


def restore(node: Any, value: Any, version: int, number: int | None, in_graph: int = True) -> Any:
    """The tensor again of which ``keep`` gave ``value`` and ``version``.

    The node's own output gets its edge in the graph again only with ``in_graph``.

    Raises:
        RuntimeError: it was modified in place since.
        TypeError: an unpack hook did not return a tensor.
    """
    if version == PACKED:
        return value.tensor(node)
    if value._counter[0] != version:
        raise modified_error(node, value, version, number is not None)
    if number is not None and in_graph and value._layout.type.dtype.differentiable:
        return restored_output(node, value, number)
    return value


def restored_output(node: Any, alias: Any, number: int = 0) -> Any:
    """The node's own output, as it was when it was saved: the alias with its edge put back."""
    tensor = alias._alias()
    tensor._edge = (node, number)
    tensor._requires_grad = True
    if state.mode & LEVELS:
        share_tangents(alias, tensor)
    return tensor


def has_changed(value: Any, version: int | None) -> bool:
    """Whether a saved tensor, or the one that a pack hook returned for it, was modified in place since."""
    if version == PACKED:
        value, version = value.packed, value.version
    return version is not None and value._counter[0] != version


def put_in_graph(tensor: Any, edge: tuple[Node, int]) -> None:
    """Have the gradient of a tensor go along this edge.  The tensor does not hold the node of a leaf."""
    tensor._requires_grad = True
    if isinstance(edge[0], AccumulateGrad):
        tensor._accumulator = ref(edge[0])
    else:
        tensor._edge = edge


class PhysicalHistory(NamedTuple):
    """What derivatives outside of one level of ``vmap`` need of a physical tensor."""

    edge: Edge
    tangents: dict[Any, Any] | None


def histories_of(tensor: Any) -> tuple[PhysicalHistory, ...]:
    """Those of a tensor under ``vmap``, of the innermost level first; empty if no physical tensor has one."""
    found = []
    while hasattr(tensor, "_mapped"):
        tensor = tensor._mapped.tensor
        found.append(PhysicalHistory(edge_of(tensor), getattr(tensor, "_duals", None)))
    return tuple(found) if any(one.edge is not None or one.tangents for one in found) else ()


def _restore_histories(tensor: Any, histories: Sequence[PhysicalHistory]) -> None:
    """Give the physical tensors of one that a hook returned the histories that the saved one's had.

    Raises:
        RuntimeError: the tensor does not stand for examples as the saved one did.
    """
    if not histories:
        return
    own = getattr(tensor, "_mapped", None)
    if own is None:
        raise RuntimeError(
            "A tensor that was saved under vmap depends on what is outside of it, but the unpack hook returned one "
            "that was not computed from it under vmap, so that derivatives outside of vmap would be lost."
        )
    physical = own.tensor._alias()
    history, *others = histories
    if history.edge is not None:
        put_in_graph(physical, history.edge)
    if history.tangents is not None:
        physical._duals = history.tangents
    _restore_histories(physical, others)
    own._replace(tensor=physical).assign_to(tensor)


class PackedTensor:
    """A saved tensor in the form that a pack hook gave it, with its edge in the graph."""

    __slots__ = ("edge", "histories", "number", "packed", "shape", "tangents", "type", "unpack_hook", "version")

    #: Instead of a tensor's version counter: it never equals the version that was noted.
    _counter = (None,)

    def __init__(self, tensor: Any, number: int | None, hooks: HookPair, detached: bool = False):
        pack_hook, self.unpack_hook = hooks
        self.number = number
        self.shape, self.type = tensor._layout.shape, tensor._layout.type
        self.edge = None if number is not None else edge_of(tensor)
        self.tangents = getattr(tensor, "_duals", None)  # of which hooks know nothing
        self.histories = histories_of(tensor) if state.mode & LEVELS else ()
        version = tensor._counter[0]
        given = tensor.detach() if detached else tensor
        self.packed = undisturbed(in_mode, with_recording(state.mode, False), pack_hook, given)
        self.version = self.packed._counter[0] if is_tensor(self.packed) else None
        if tensor._counter[0] != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                f"(It was given a tensor of shape {list(tensor.shape)}.)"
            )

    def tensor(self, node: Any) -> Any:
        """The tensor that the unpack hook returns, with the saved tensor's edge and tangents."""
        value = undisturbed(self.unpack_hook, self.packed)
        if not is_tensor(value):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(value).__name__}"
            )
        layout = value._layout
        if layout.shape != self.shape:
            raise RuntimeError(
                f"a saved tensor of shape {list(self.shape)} was packed, but unpack_hook returned one of shape "
                f"{list(value.shape)}"
            )
        if layout.type is not self.type:
            raise RuntimeError(f"a saved {self.type.name} was packed, but unpack_hook returned a {layout.type.name}")
        if self.number is not None and layout.type.dtype.differentiable:
            tensor = restored_output(node, value, self.number)
        elif self.edge is None and self.tangents is None and not self.histories:
            return value
        else:
            tensor = value._alias()
        if self.tangents is not None:
            tensor._duals = self.tangents
        if self.edge is not None:
            put_in_graph(tensor, self.edge)
        _restore_histories(tensor, self.histories)
        return tensor


class SavingNode(Node):
    """A node that saves tensors: ``saved`` has the values, ``versions`` the version of each.

    Once the values are freed ``saved`` is the location of the call that freed them; it is None while there are none.
    """

    __slots__ = ("saved", "versions")

    saved: tuple[Any, ...] | Location | None
    versions: Sequence[int | None]

    def saved_output(self, index: int) -> int | None:
        """Which of the node's outputs was saved at this index; None for anything else."""
        raise NotImplementedError(f"{type(self).__name__} does not define saved_output")

    def kept(self) -> tuple[Any, ...]:
        """The saved values, as they are kept.

        Raises:
            RuntimeError: it was freed by an earlier backward.
        """
        saved = self.saved  # another thread may release it
        if saved.__class__ is not tuple:
            raise freed_error(self, saved)
        return saved

    def unpack_one(self, index: int) -> Any:
        """The saved value at one index, restored.

        Raises:
            RuntimeError: it was freed by an earlier backward, or was changed in place since.
        """
        value, version = self.kept()[index], self.versions[index]
        return value if version is None else restore(self, value, version, self.saved_output(index))

    def is_freed(self) -> bool:
        """Whether a backward pass has freed the saved values."""
        return self.saved.__class__ is not tuple

    @property
    def freed_by(self) -> Location | None:
        saved = self.saved
        return saved if isinstance(saved, Location) else None

    def modified(self) -> list[tuple[Any, int]]:
        """The saved tensors that were changed in place since, each with the version at which it was saved.

        Raises:
            RuntimeError: the saved values are freed.
        """
        return [
            (value, version)
            for value, version in zip(self.kept(), self.versions, strict=True)
            if version is not None and version != PACKED and has_changed(value, version)
        ]

    def saved_entries(self) -> list[tuple[str, Any, int | None]]:
        """The saved values as they are kept, unchecked, to look at: name, value and version; none if they are freed."""
        saved = self.saved  # another thread may release it
        if saved.__class__ is not tuple:
            return []
        return list(zip(self.saved_names(), saved, self.versions, strict=True))

    def saved_names(self) -> Sequence[str]:
        """The names of the saved values in messages, in their order."""
        raise NotImplementedError(f"{type(self).__name__} does not define saved_names")

    def saved_values(self) -> dict[str, Any]:
        """The saved values, by name, without those that hooks pack or that were changed in place since."""
        return {
            name: self.unpack_one(index)
            for index, (name, value, version) in enumerate(self.saved_entries())
            if version != PACKED and not has_changed(value, version)
        }

    def is_packed(self, index: int) -> bool:
        """Whether hooks are in force for one saved tensor."""
        return self.versions[index] == PACKED

    def raw(self, index: int) -> SavedTensor:
        """The saved value at one index as it is kept, to attach hooks to."""
        return SavedTensor.of(self, index if self.is_freed() or self.versions[index] is not None else None)


class SavedTensor:
    """A tensor saved by a node, to which hooks can be attached; ``grad_fn._raw_saved_<name>`` gives it."""

    __slots__ = ("_index", "_node")

    _node: SavingNode
    _index: int | None  # None where there is no tensor

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def of(cls, node: SavingNode, index: int | None) -> SavedTensor:
        """The saved value of a node at one index."""
        saved = cls.__new__(cls)
        saved._node, saved._index = node, index
        return saved

    def register_hooks(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        """Keep the result of ``pack_hook(tensor)``, called now; ``unpack_hook`` makes the tensor of it again.

        Raises:
            RuntimeError: nothing is saved here (any more), or hooks are attached already.
            TypeError: a hook cannot be called.
        """
        check_hooks(pack_hook, unpack_hook)
        node, index = self._node, self._index
        if index is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if node.is_freed():
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                "to backward through the graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if node.is_packed(index):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        saved, versions = list(node.kept()), list(node.versions)
        hooks = pack_hook, unpack_hook
        saved[index] = PackedTensor(saved[index], node.saved_output(index), hooks, detached=True)
        versions[index] = PACKED
        node.saved, node.versions = tuple(saved), tuple(versions)


def check_hooks(pack_hook: Any, unpack_hook: Any) -> None:
    """Raise unless both hooks can be called.

    Raises:
        TypeError: one cannot.
    """
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise TypeError(f"{name} must be callable, not {type(hook).__name__}")
