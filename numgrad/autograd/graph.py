"""Public interface to the graph: gradient edges, hooks on several gradients, and hooks for saved tensors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet, ref

from .checks import is_tensor
from .grad_mode import SAVED_HOOKS, ModeDecorator, state
from .hooks import RemovableHandle
from .locations import count_change
from .node import DeadEnd, Node, edge_of
from .saved import check_hooks

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Edge of the graph along which a gradient arrives: a node and the index of its output.

    It represents a tensor in the outputs and inputs of :func:`numgrad.autograd.grad` and ``backward``.  It keeps alive
    the graph behind it, but no tensors other than the leaves.
    """

    node: Node
    output_nr: int
    #: In PyTorch, keeps alive data that the node does not own; None here, because nodes own all that they need.
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the edge along which the gradient of ``tensor`` arrives: its ``grad_fn``, or a leaf's AccumulateGrad.

    Raises:
        RuntimeError: the tensor does not require a gradient.

    Example:
        >>> import numgrad
        >>> x = numgrad.ones(2, requires_grad=True)
        >>> numgrad.autograd.graph.get_gradient_edge(x * 2).output_nr
        0
    """
    edge = edge_of(tensor) if tensor.requires_grad else None
    if edge is None or edge[0].__class__ is DeadEnd:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients (its shape is "
            f"{list(tensor.shape)})"
        )
    return GradientEdge(*edge)


def increment_version(tensor: Any) -> None:
    """Record that a tensor, or each of several, was written by other means than its operations.

    Backward then refuses to use values saved from them.  Inference tensors have no version to increment.

    Raises:
        RuntimeError: the argument is neither a tensor nor an iterable of tensors.

    Example:
        >>> import numgrad
        >>> x = numgrad.ones(2)
        >>> numgrad.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    if is_tensor(tensor):
        tensor = (tensor,)
    elif not isinstance(tensor, Iterable):
        raise RuntimeError(
            f"increment_version expect a Iterable[Tensor] as input, but got {type(tensor).__name__}"
        )
    for each in tensor:
        if not is_tensor(each):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor, but got "
                f"{type(each).__name__}"
            )
        count_change(each)


class _unsafe_preserve_version_counter(ModeDecorator):  # noqa: N801 - PyTorch's name
    """Context manager in which changes to ``tensors``, a tensor or a tuple of them, do not count.

    Backward then uses the present contents of their memory as if they had not been modified.  Programs that use this
    must restore the old values in time.

    Raises:
        TypeError: the argument is neither a tensor nor a tuple of tensors.
    """

    def __init__(self, tensors: Any):
        self.tensors = tensors if isinstance(tensors, tuple) else (tensors,)
        for tensor in self.tensors:
            if not is_tensor(tensor):
                raise TypeError(f"expected a tensor or a tuple of tensors, but got {type(tensor).__name__}")
        self._versions = [tensor._version for tensor in self.tensors]

    def __exit__(self, *exception: Any) -> None:
        for tensor, version in zip(self.tensors, self._versions, strict=True):
            tensor._counter[0] = version

    def clone(self) -> _unsafe_preserve_version_counter:
        return self.__class__(self.tensors)


# -- hooks that wait for several gradients -------------------------------------------------------------------
#
# The nodes of a backward pass determine the number of gradients to wait for.  A hook must not hold these nodes,
# because they hold the hook.  It therefore identifies a node by its sequence number, and a leaf, whose AccumulateGrad
# is freed with its graphs, by a weak reference.  The pass keeps the gradients received so far, because passes may run
# in several threads and inside one another.


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` in every backward pass when the gradients of several tensors have been computed.

    With mode "all", ``fn`` is called once, with a list of the gradients in the order of ``tensors``, after the last of
    those computed by the pass.  The entry is None for a tensor without a gradient in this pass: the tensor is not in
    the graph, or none of the requested ``inputs`` needs it.  With mode "any", ``fn`` is called with the first gradient
    computed, and tensors that require no gradient are skipped.  ``fn`` must not modify its argument, and its return
    value is ignored.

    Raises:
        ValueError: ``mode`` is neither "all" nor "any".
        AssertionError: with mode "all", a tensor does not require a gradient.

    Example:
        >>> import numgrad
        >>> a, b = numgrad.ones(2, requires_grad=True), numgrad.ones(2, requires_grad=True)
        >>> c, d = a * b, a * b
        >>> handle = numgrad.autograd.graph.register_multi_grad_hook(
        ...     (a, b, c, d), lambda grads: print([g is not None for g in grads])
        ... )
        >>> c.sum().backward(retain_graph=True)
        [True, True, True, False]
        >>> c.sum().backward(inputs=(a,))
        [True, False, True, False]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        first = _First(fn)
        return _MultiHandle([tensor.register_hook(first) for tensor in tensors if tensor.requires_grad])
    tensors = list(tensors)
    for number, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            raise AssertionError(
                f"Expected gradient function to be set: tensor {number} (shape {list(tensor.shape)}) does not require "
                "grad"
            )
    every = _All(fn, tensors)
    return _MultiHandle([tensor.register_hook(every.hook(number)) for number, tensor in enumerate(tensors)])


class _MultiHandle(RemovableHandle):
    """Handle that removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]):
        super().__init__(OrderedDict())
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Remove the hooks; removing them twice is not an error."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(state)  # type: ignore[misc]


class _First:
    """Hook that calls ``fn`` with the first gradient of a pass."""

    def __init__(self, fn: Callable[[Any], None]):
        self.fn = fn

    def __call__(self, gradient: Any) -> None:
        waiting = state.current_pass.waiting
        if self not in waiting:
            waiting[self] = True
            self.fn(gradient)


class _All:
    """Set of hooks that calls ``fn`` with all gradients of a pass after the last has arrived."""

    def __init__(self, fn: Callable[[Any], None], tensors: list[Any]):
        self.fn = fn
        #: The sequence number of each tensor's node, or a weak reference to a leaf.
        self.sources = [ref(tensor) if tensor.grad_fn is None else tensor.grad_fn.sequence for tensor in tensors]

    def hook(self, number: int) -> Callable[[Any], None]:
        """Return the hook for one of the tensors."""

        def hook(gradient: Any) -> None:
            waiting = state.current_pass.waiting
            if self not in waiting:
                waiting[self] = [None] * len(self.sources), sum(map(self._runs, self.sources))
            gradients, missing = waiting[self]
            gradients[number] = gradient
            waiting[self] = gradients, missing - 1
            if missing == 1:
                self.fn(gradients)

        return hook

    @staticmethod
    def _runs(source: Any) -> bool:
        """Return True if the current pass computes the gradient of a tensor."""
        if isinstance(source, ref):
            leaf = source()
            accumulator = None if leaf is None or leaf._accumulator is None else leaf._accumulator()
            if accumulator is None:
                return False
            source = accumulator.sequence
        return source in state.current_pass.numbers


# -- hooks for saved tensors ---------------------------------------------------------------------------------


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Context manager that saves the results of ``pack_hook(tensor)`` instead of tensors saved for backward.

    When backward needs a tensor, ``unpack_hook`` receives that result and must return a tensor with the same content.
    Hooks of nested blocks are not combined: the innermost pair is used.  The hooks are active in this thread only.  A
    pack hook must not modify its argument.

    Raises:
        TypeError: a hook is not callable.
        RuntimeError: hooks are disabled here (see :func:`disable_saved_tensors_hooks`).

    Example:
        >>> import numgrad
        >>> saved = []
        >>> def pack(tensor):
        ...     saved.append(tensor)
        ...     return len(saved) - 1
        >>> a = numgrad.ones(3, requires_grad=True)
        >>> with numgrad.autograd.graph.saved_tensors_hooks(pack, saved.__getitem__):
        ...     b = a * a
        >>> len(saved)
        2
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        check_hooks(self.pack_hook, self.unpack_hook)
        if state.saved_hooks_refused is not None:
            raise RuntimeError(state.saved_hooks_refused)
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        state.mode |= SAVED_HOOKS

    def __exit__(self, *exception: Any) -> None:
        pair = self.pack_hook, self.unpack_hook
        if state.saved_hooks and state.saved_hooks[-1] == pair:  # no function call: see Note [Ctrl-C]
            state.saved_hooks = state.saved_hooks[:-1]
            if not state.saved_hooks:
                state.mode &= ~SAVED_HOOKS
            return
        pairs = list(reversed(state.saved_hooks))
        if pair in pairs:  # otherwise the block was already left, as when a hook that entered it ended
            pairs.remove(pair)  # the matching pair, not the last: blocks may end in any order
        state.saved_hooks = tuple(reversed(pairs))
        if not state.saved_hooks:
            state.mode &= ~SAVED_HOOKS


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Context manager that saves tensors as copies in CPU memory and moves them back on demand.

    Args:
        pin_memory: copy GPU tensors into pinned memory, and back asynchronously.
        device_type: the device type that ``pin_memory`` applies to.

    Example:
        >>> import numgrad
        >>> x = numgrad.ones(2, requires_grad=True)
        >>> with numgrad.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(tensor: Any) -> tuple[Any, Any]:
            if not tensor.is_cuda:
                return tensor.device, tensor.clone()
            kept = tensor.to("cpu", non_blocking=pin_memory)  # non-blocking copies go to pinned memory
            return tensor.device, kept

        super().__init__(pack, lambda kept: kept[1].to(kept[0], non_blocking=pin_memory))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager in which entering saved-tensor hooks raises a RuntimeError with this message.

    Raises:
        RuntimeError: with the message, if hooks are already active.
    """
    if state.saved_hooks:
        raise RuntimeError(error_message)
    before = state.saved_hooks_refused
    state.saved_hooks_refused = error_message
    try:
        yield
    finally:
        state.saved_hooks_refused = before


class _SavedHandle:
    """Placeholder in a node for a tensor that it saved."""

    __slots__ = ("__weakref__",)


def _memory(tensor: Any) -> int:
    """Return the address of a tensor's memory, which several storages may share (two tensors of one NumPy array)."""
    return tensor.data_ptr() - tensor._offset * tensor.element_size()


class AllowMutationContext:
    """Tensors saved in the block: ``original`` ones and, for modified ones, ``cloned`` copies."""

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[_SavedHandle, Any] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_SavedHandle, Any] = WeakKeyDictionary()
        self._on_memory: dict[int, WeakSet[_SavedHandle]] = {}

    def clear(self) -> None:
        """Drop all saved tensors; backward through graphs recorded in the block is then no longer possible."""
        self.original.clear()
        self.cloned.clear()
        self._on_memory.clear()

    def _pack(self, tensor: Any) -> _SavedHandle:
        handle = _SavedHandle()
        self.original[handle] = tensor
        self._on_memory.setdefault(_memory(tensor), WeakSet()).add(handle)
        return handle

    def _unpack(self, handle: _SavedHandle) -> Any:
        kept = self.cloned if handle in self.cloned else self.original
        if handle not in kept:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return kept[handle]

    def _before_write(self, target: Any) -> None:
        """Copy the saved tensors that share memory with ``target``, which is about to be modified."""
        copies: dict[int, Any] = {}  # a tensor saved several times is copied once
        for handle in self._on_memory.pop(_memory(target), ()):
            tensor = self.original.pop(handle)
            if id(tensor) not in copies:
                copies[id(tensor)] = tensor.detach().clone()
            self.cloned[handle] = copies[id(tensor)]


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[AllowMutationContext]:
    """Context manager that copies a tensor saved for backward before it is modified in place.

    Backward then uses the original values instead of raising an error.  Forward and backward must both run in the
    block, which drops the saved tensors when it ends.

    Raises:
        RuntimeError: such a block is already active in this thread.
    """
    if state.before_write is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = AllowMutationContext()
    with saved_tensors_hooks(context._pack, context._unpack):
        state.before_write = context._before_write
        try:
            yield context
        finally:
            state.before_write = None
            context.clear()
