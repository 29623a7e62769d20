"""Hooks that wait for the gradients of several tensors.

Note [Who waits]
How many gradients a backward pass will bring is known from the nodes that it runs.  A hook must not hold these
nodes, which hold the hook; so it knows a node by its sequence number, and a leaf, whose AccumulateGrad comes and
goes with the graphs, by a weak reference.  What has arrived so far is kept by the pass and goes with it: passes may
run in several threads, and one inside another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from .grad_mode import state
from .hooks import RemovableHandle


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` in every backward pass when the gradients of several tensors have been computed.

    With mode "all" it is called once all gradients are there that the pass computes, with a list of them in the
    order of ``tensors``; None stands for a tensor that gets no gradient in this pass, be it that it is not in the
    graph or that none of the ``inputs`` asked for needs it.  With mode "any" it is called with the first gradient
    that there is; tensors that require no gradient are passed over.  ``fn`` must not change its argument, and what it
    returns is ignored.

    Raises:
        ValueError: another mode.
        AssertionError: with mode "all", a tensor requires no gradient.

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
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]):
        super().__init__(OrderedDict())
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks out; doing so twice is no error."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(state)  # type: ignore[misc]


class _First:
    """Calls ``fn`` with the first gradient of a pass."""

    def __init__(self, fn: Callable[[Any], None]):
        self.fn = fn

    def __call__(self, gradient: Any) -> None:
        waiting = state.current_pass.waiting
        if self not in waiting:
            waiting[self] = True
            self.fn(gradient)


class _All:
    """Calls ``fn`` with all gradients of a pass, when the last has come."""

    def __init__(self, fn: Callable[[Any], None], tensors: list[Any]):
        self.fn = fn
        #: For each tensor the number of its node, or a leaf itself.
        self.sources = [ref(tensor) if tensor.grad_fn is None else tensor.grad_fn.sequence for tensor in tensors]

    def hook(self, number: int) -> Callable[[Any], None]:
        """The hook of one of the tensors."""

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
        """Whether the gradient of a tensor is computed in the current pass."""
        if isinstance(source, ref):
            leaf = source()
            accumulator = None if leaf is None or leaf._accumulator is None else leaf._accumulator()
            if accumulator is None:
                return False
            source = accumulator.sequence
        return source in state.current_pass.numbers
