"""Programs whose results have gradients: forward and backward recorded one after the other, replayed by two programs.

See Note [Backward of a program] in ``node``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..autograd.errors import modified_error
from ..autograd.grad_mode import enable_grad
from ..autograd.locations import Location
from ..autograd.node import AccumulateGrad, edge_of
from ..core.layout import Layout, span
from ..core.tensor import Tensor, tensor_of
from ..ops.memory.copying import write
from .capture import Capture, nodes_of, outside_of, recorded, written_outside
from .node import CompiledBackward, Entrance, entered, through
from .recorder import CONSTANT, FRESH, OUTSIDE, Block, Recorder, root_of
from .trees import mapped, tensors_in
from .variant import REPORTED, Variant

#: Calls without a backward pass after which a program is linked that saves nothing for one.
PATIENCE = 3


class Differentiated:
    """A program with results that have gradients.

    It is linked when backward has come to it for the first time: only then it is known what it has to save.

    Args:
        function: what was recorded.
        arguments: of the call: positional ones, and those by name.
        made: what was recorded of it.
        live: the results that have gradients.
        patient: whether to wait for backward however long it takes.

    Attributes:
        variant, backward: the two programs, once they are linked.
        stale: whether backward came to a program that had saved nothing, or that cannot be replayed.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Any, made: Capture, live: Sequence[Tensor], patient: bool
    ):
        self.function, self._made, self._live = function, made, live
        self._leaves = leaves_of(live, made)
        #: For each leaf the tensor, or which of the arguments it is.
        self._sources = [_source(leaf, made.inputs) for leaf in self._leaves]
        numbers = {id(one): number for number, one in enumerate(made.inputs)}
        self._arguments = mapped(
            arguments, lambda value: _Argument(numbers[id(value)]) if id(value) in numbers else value
        )
        self._which = [number for number, one in enumerate(made.results()) if any(one is own for own in live)]
        self._patience = 1 << 62 if patient else PATIENCE
        self._changes = bool(made.versions or made.grads or made.recorder.effects or written_outside(made.recorder))
        self.variant: Variant | None = None
        self.backward: Variant | None = None
        self.stale = False

    def run(self, inputs: Sequence[Tensor]) -> Any:
        """The result of a call, or REPORTED: the function itself is to be called."""
        if self.variant is None:
            self._patience -= 1
            if self._patience:
                return REPORTED
            self.variant = Variant(self._made, (), self._attach_without_backward, self._live)
            self._forget()
        return self.variant.run(inputs)

    def first_result(self) -> Any:
        """The result of the recorded call, behind a node that records what backward does."""
        made, live, leaves = self._made, self._live, self._leaves
        shown = {id(one): _plain_alias(one) for one in live}
        edges = tuple([edge_of(leaf) if leaf._edge is None else leaf._edge[0].edges[0] for leaf in leaves])
        CompiledBackward([shown[id(one)] for one in live], edges, self._first_backward, lambda: (live, leaves), made)
        return mapped(made.result, lambda value: shown.get(id(value), value))

    def _forget(self) -> None:
        """Drop the graph that was recorded."""
        del self._made, self._live, self._leaves

    # -- the first backward -------------------------------------------------------------------------------

    def _first_backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Walk the graph, and record that; then both programs can be linked."""
        live, leaves = node.again()
        if self.variant is not None or any(one is None for one in gradients):
            return through(live, leaves, gradients)
        made: Capture = node.kept
        forward = made.recorder
        alive = [block.array() for block in forward.blocks if is_temporary(block)]
        before = [one.tensor for one in made.known.values()]
        outside = outside_of(before, (*gradients, *made.inputs), [one for one in alive if one is not None])
        recorder = Recorder(outside)
        recorder.recorded = forward.recorded
        grads = recorded(recorder, lambda: through(live, leaves, gradients))
        if recorder.broken is None and not recorder.effects:
            self._link(made, recorder, outside, gradients, grads)
        else:
            self.stale = True
        return grads

    def _link(
        self, made: Capture, recorder: Recorder, outside: list[Any], gradients: Sequence[Tensor], grads: Any
    ) -> None:
        forward = made.recorder
        results = {forward.block_of(one._storage) for one in made.results()}
        used = [block for block in recorder.blocks if block.origin == OUTSIDE and block.last >= 0]
        saved: dict[Block, Block] = {}
        for block in used:
            first = forward.block_of(outside[block.number][0])
            if first is not None and is_temporary(first) and first not in results:
                saved[first] = block
        roots = {id(root_of(outside[block.number][0])) for block in used}
        known = [one.tensor for one in made.known.values() if id(root_of(one.storage)) in roots]
        self._needed = [one for one in known if not any(one is own for own in made.inputs)]
        self._layouts = [one._layout for one in gradients]
        self.variant = Variant(made, list(saved), self._attach, self._live)
        offsets = {saved[block]: offset for block, offset in self.variant.plan.offsets.items()}
        inputs = [*gradients, *made.inputs, *map(_plain_alias, self.variant.tensors)]
        names = [f"gradient[{number}]" for number in self._which] + made.given
        names += [f"made[{number}]" for number in range(len(self.variant.tensors))]
        self.backward = Variant(Capture(recorder, grads, inputs, {}, outside, made.surroundings, names), offsets)
        self._forget()

    # -- replays ------------------------------------------------------------------------------------------

    def outer_leaves(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The tensors that backward gives gradients, where these are the arguments."""
        return [inputs[source.number] if source.__class__ is _Argument else source for source in self._sources]

    def _edges(self, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
        return tuple(map(edge_of, self.outer_leaves(inputs)))

    def _attach(self, results: Sequence[Tensor], inputs: Sequence[Tensor], saved: Any, made: Sequence[Tensor]) -> None:
        """Give the results of a replay their node."""
        kept = [*inputs, *map(_plain_alias, made)]
        versions = [one._counter[0] for one in (*kept, *self._needed)]
        again = partial(self._again, inputs)
        CompiledBackward(results, self._edges(inputs), self._backward, again, (kept, saved, versions))

    def _attach_without_backward(
        self, results: Sequence[Tensor], inputs: Sequence[Tensor], saved: Any, made: Sequence[Tensor]
    ) -> None:
        again = partial(self._again, inputs)
        CompiledBackward(results, self._edges(inputs), self._unexpected_backward, again, None)

    def _backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        assert self.backward is not None
        kept, saved, versions = node.kept
        for one, version in zip((*kept, *self._needed), versions, strict=True):
            if one._counter[0] != version:
                raise modified_error(node, one, version, False)
        given = [_laid_out(one, own) for one, own in zip(gradients, self._layouts, strict=True)]
        return self.backward.run([*given, *kept], saved)

    def _unexpected_backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """Backward after a program that has saved nothing."""
        self.stale = True
        live, leaves = node.again()
        return through(live, leaves, gradients)

    def _again(self, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The results of the function itself, with its graph, and the leaves of that.

        Raises:
            RuntimeError: it would change what it has changed once more.
        """
        if self._changes:
            raise RuntimeError(
                "a compiled function that draws random numbers or changes tensors in place has no second derivatives: "
                "call the function itself for these"
            )
        given = [entered(one) for one in inputs]
        args, keywords = mapped(
            self._arguments, lambda value: given[value.number] if value.__class__ is _Argument else value
        )
        with enable_grad():
            results = tensors_in(self.function(*args, **keywords))
        leaves = [given[source.number] if source.__class__ is _Argument else source for source in self._sources]
        return [results[number] for number in self._which], leaves


class Consumed:
    """A program whose results had gradients that it has used up itself: backward came to them within it."""

    stale = False

    def __init__(self, made: Capture, live: Sequence[Tensor], freed_by: Location):
        self._freed_by = freed_by
        self.variant = Variant(made, (), self._attach, live)
        self.run = self.variant.run

    def _attach(self, results: Sequence[Tensor], *others: Any) -> None:
        node = CompiledBackward(results, (), lambda *_: (), lambda: ((), ()), None)
        node.release(self._freed_by)


class _Argument:
    """Stands for an argument in what a call was given."""

    def __init__(self, number: int):
        self.number = number


def leaves_of(live: Sequence[Tensor], made: Capture) -> list[Tensor]:
    """The tensors that backward from these gives gradients, of those that are there before and after the call."""
    leaves = []
    for node in nodes_of(live):
        if node.__class__ is AccumulateGrad and id(node.variable) in made.known:
            leaves.append(node.variable)
        elif node.__class__ is Entrance:
            leaves += [one for one in made.inputs if one._edge is not None and one._edge[0] is node]
    return leaves


def is_temporary(block: Block) -> bool:
    """Whether a replay has a block of its own for it."""
    return block.origin == FRESH or (block.origin == CONSTANT and block.written)


def _source(leaf: Tensor, inputs: Sequence[Tensor]) -> Any:
    return next((_Argument(number) for number, one in enumerate(inputs) if one is leaf), leaf)


def _plain_alias(tensor: Tensor) -> Tensor:
    """The same elements, and versions, in no graph."""
    alias = tensor_of(tensor._layout, tensor._storage, tensor._offset)
    alias._counter = tensor._counter
    return alias


def _laid_out(gradient: Any, layout: Layout) -> Tensor:
    """A gradient as it lay when backward was recorded."""
    if gradient is not None and gradient._layout is layout:
        return gradient
    row = layout.type.backend.zeros((span(layout.shape, layout.strides),), layout.type)
    made = tensor_of(layout, row)
    if gradient is not None:
        write(made, gradient)
    return made
