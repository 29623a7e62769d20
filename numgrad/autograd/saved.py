"""Tensors saved for backward: their values, versions, stored forms, and the errors for freed or modified ones.

For each saved value, a node keeps the value and its version.  An input is kept as the tensor itself.  The node's own
output is kept as an alias without a graph, because the tensor itself would hold the node that holds it; unpacking
restores its edge.  Where hooks are active, the result of the pack hook is kept instead, with the version PACKED.
Values that are not tensors have the version None.
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

#: Used instead of a version: the stored value is the result of a pack hook.
PACKED = -1

#: A pack hook and an unpack hook.
HookPair = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def keep(tensor: Any, number: int | None = None) -> tuple[Any, int]:
    """Return the value and version to keep for a tensor: output ``number`` of the node, or an input if that is None."""
    value = tensor if number is None else tensor._alias()
    if number is not None and state.mode & DUAL:
        share_tangents(tensor, value)
    if state.mode & SAVED_HOOKS:
        if number is None:
            return PackedTensor(value, None, state.saved_hooks[-1]), PACKED
        value._edge, value._requires_grad = tensor._edge, tensor._requires_grad  # while the pack hook sees it
        packed = PackedTensor(value, number, state.saved_hooks[-1])
        value._edge, value._requires_grad = None, False
        return packed, PACKED
    return value, value._counter[0]


def restore(node: Any, value: Any, version: int, number: int | None, in_graph: int = True) -> Any:
    """Restore the tensor for which ``keep`` returned ``value`` and ``version``.

    The node's own output has its graph edge restored only with ``in_graph``.

    Raises:
        RuntimeError: the tensor has since been modified in place.
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
    """Return the node's own output as it was saved: the alias with its edge restored."""
    tensor = alias._alias()
    tensor._edge = (node, number)
    tensor._requires_grad = True
    if state.mode & LEVELS:
        share_tangents(alias, tensor)
    return tensor


def has_changed(value: Any, version: int | None) -> bool:
    """Return True if a saved tensor, or the tensor returned by its pack hook, has since been modified in place."""
    if version == PACKED:
        value, version = value.packed, value.version
    return version is not None and value._counter[0] != version


def put_in_graph(tensor: Any, edge: tuple[Node, int]) -> None:
    """Make the gradient of a tensor follow this edge.  An AccumulateGrad is held only weakly."""
    tensor._requires_grad = True
    if isinstance(edge[0], AccumulateGrad):
        tensor._accumulator = ref(edge[0])
    else:
        tensor._edge = edge


class PhysicalHistory(NamedTuple):
    """Data of a physical tensor that derivatives outside one level of ``vmap`` need."""

    edge: Edge
    tangents: dict[Any, Any] | None


def histories_of(tensor: Any) -> tuple[PhysicalHistory, ...]:
    """Return the histories of a tensor under ``vmap``, innermost level first; empty if no physical tensor has one."""
    histories = []
    while hasattr(tensor, "_mapped"):
        tensor = tensor._mapped.tensor
        histories.append(PhysicalHistory(edge_of(tensor), getattr(tensor, "_duals", None)))
    return tuple(histories) if any(history.edge is not None or history.tangents for history in histories) else ()


def _restore_histories(tensor: Any, histories: Sequence[PhysicalHistory]) -> None:
    """Assign the saved tensor's histories to the physical tensors of the tensor that a hook returned.

    Raises:
        RuntimeError: the tensor is not mapped over examples as the saved one was.
    """
    if not histories:
        return
    mapped = getattr(tensor, "_mapped", None)
    if mapped is None:
        raise RuntimeError(
            "A tensor that was saved under vmap depends on tensors outside of it, but the unpack hook returned one "
            "that was not computed from it under vmap, so derivatives outside of vmap would be lost."
        )
    physical = mapped.tensor._alias()
    history, *others = histories
    if history.edge is not None:
        put_in_graph(physical, history.edge)
    if history.tangents is not None:
        physical._duals = history.tangents
    _restore_histories(physical, others)
    mapped._replace(tensor=physical).assign_to(tensor)


class PackedTensor:
    """A saved tensor in the form returned by a pack hook, with its graph edge."""

    __slots__ = ("edge", "histories", "number", "packed", "shape", "tangents", "type", "unpack_hook", "version")

    #: Stands in for a tensor's version counter and never equals a recorded version.
    _counter = (None,)

    def __init__(self, tensor: Any, number: int | None, hooks: HookPair, detached: bool = False):
        pack_hook, self.unpack_hook = hooks
        self.number = number
        self.shape, self.type = tensor._layout.shape, tensor._layout.type
        self.edge = None if number is not None else edge_of(tensor)
        self.tangents = getattr(tensor, "_duals", None)  # hooks do not see these
        self.histories = histories_of(tensor) if state.mode & LEVELS else ()
        version = tensor._counter[0]
        packable = tensor.detach() if detached else tensor
        self.packed = undisturbed(in_mode, with_recording(state.mode, False), pack_hook, packable)
        self.version = self.packed._counter[0] if is_tensor(self.packed) else None
        if tensor._counter[0] != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                f"(It was given a tensor of shape {list(tensor.shape)}.)"
            )

    def tensor(self, node: Any) -> Any:
        """Return the tensor from the unpack hook with the saved tensor's edge and tangents."""
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
    """Node that saves tensors: ``saved`` has the values, ``versions`` the version of each.

    After the values are freed, ``saved`` is the location of the call that freed them.  It is None before any are saved.
    """

    __slots__ = ("saved", "versions")

    saved: tuple[Any, ...] | Location | None
    versions: Sequence[int | None]

    def saved_output(self, index: int) -> int | None:
        """Return the index of the output saved at ``index``, or None if it is not an output."""
        raise NotImplementedError(f"{type(self).__name__} does not define saved_output")

    def kept(self) -> tuple[Any, ...]:
        """Return the saved values in their stored form.

        Raises:
            RuntimeError: an earlier backward freed them.
        """
        saved = self.saved  # another thread may release it
        if saved.__class__ is not tuple:
            raise freed_error(self, saved)
        return saved

    def unpack_one(self, index: int) -> Any:
        """Return the saved value at one index, restored.

        Raises:
            RuntimeError: an earlier backward freed it, or it has since been modified in place.
        """
        value, version = self.kept()[index], self.versions[index]
        return value if version is None else restore(self, value, version, self.saved_output(index))

    def is_freed(self) -> bool:
        """Return True if a backward pass has freed the saved values."""
        return self.saved.__class__ is not tuple

    @property
    def freed_by(self) -> Location | None:
        saved = self.saved
        return saved if isinstance(saved, Location) else None

    def modified(self) -> list[tuple[Any, int]]:
        """Return the saved tensors that have since been modified in place, each with its version at saving.

        Raises:
            RuntimeError: the saved values have been freed.
        """
        return [
            (value, version)
            for value, version in zip(self.kept(), self.versions, strict=True)
            if version is not None and version != PACKED and has_changed(value, version)
        ]

    def saved_entries(self) -> list[tuple[str, Any, int | None]]:
        """Return name, value and version of each saved value, stored and unchecked; empty if they have been freed."""
        saved = self.saved  # another thread may release it
        if saved.__class__ is not tuple:
            return []
        return list(zip(self.saved_names(), saved, self.versions, strict=True))

    def saved_names(self) -> Sequence[str]:
        """Return the names of the saved values for messages, in order."""
        raise NotImplementedError(f"{type(self).__name__} does not define saved_names")

    def saved_values(self) -> dict[str, Any]:
        """Return the saved values by name, without those packed by hooks or since modified in place."""
        return {
            name: self.unpack_one(index)
            for index, (name, value, version) in enumerate(self.saved_entries())
            if version != PACKED and not has_changed(value, version)
        }

    def is_packed(self, index: int) -> bool:
        """Return True if hooks are active for one saved tensor."""
        return self.versions[index] == PACKED

    def raw(self, index: int) -> SavedTensor:
        """Return the saved value at one index in its stored form, for attaching hooks."""
        return SavedTensor.of(self, index if self.is_freed() or self.versions[index] is not None else None)


class SavedTensor:
    """A tensor saved by a node, for attaching hooks; available as ``grad_fn._raw_saved_<name>``."""

    __slots__ = ("_index", "_node")

    _node: SavingNode
    _index: int | None  # None if there is no tensor

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def of(cls, node: SavingNode, index: int | None) -> SavedTensor:
        """Return the saved value of a node at one index."""
        saved = cls.__new__(cls)
        saved._node, saved._index = node, index
        return saved

    def register_hooks(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        """Store the result of ``pack_hook(tensor)``, called now; ``unpack_hook`` restores the tensor from it.

        Raises:
            RuntimeError: no tensor is saved here, it has been freed, or hooks are already attached.
            TypeError: a hook is not callable.
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
    """Raise unless both hooks are callable.

    Raises:
        TypeError: a hook is not callable.
    """
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise TypeError(f"{name} must be callable, not {type(hook).__name__}")
