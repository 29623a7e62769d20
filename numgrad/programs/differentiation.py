"""Programs whose results have gradients: forward and backward recorded one after the other, replayed by two programs.

See Note [Backward of a program] in ``node``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import ref

from ..autograd.errors import modified_error
from ..autograd.grad_mode import ANOMALY, enable_grad, state
from ..autograd.locations import Location
from ..autograd.node import AccumulateGrad, Edge, edge_of
from ..core.deterministic import are_deterministic_algorithms_enabled
from ..core.tensor import Tensor
from ..devices import recording
from .aftermath import Aftermath
from .attached import runs_python
from .bases import overlapped_bases, places_in
from .capture import Capture, check_made, keep_constants, outside_of, recorded, written_outside
from .gradients import apart, is_dense, laid_out
from .guards import Guard
from .node import CompiledBackward, Entrance, entered, nodes_of, spared, through
from .overlaps import alignment
from .program import REPORTED, Program, alone
from .recorder import Recorder
from .steps import CONSTANT, FRESH, OUTSIDE, Block, root_of
from .surroundings import Surroundings
from .trees import leaves as leaves_in
from .trees import mapped, tensors_in
from .turns import recording_turn

#: Calls without a backward pass after which a program is linked that saves nothing for one.
PATIENCE = 3

#: Programs that are recorded of a signature, one after another, in the hope that backward comes to one as it did
#: before.
ATTEMPTS = 16


class Differentiated:
    """A program with results that have gradients.

    It is linked when backward has come to it for the first time: only then it is known what it has to save.

    Args:
        function: what was recorded.
        arguments: of the call: positional ones, and those by name.
        made: what was recorded of it.
        live: the results that have gradients.
        guard: says whether what the function finds around it is what it was.
        programs: of the same calls, with their guards.
        refuse: has the function run as it is from now on, and says why, and where that shows.

    Attributes:
        forward, backward: the two programs, once they are linked.
        stale: whether the next call is to be recorded: backward came to a program that had saved nothing, or it was not
            what was recorded, or it did not come to the call that was.
        attempts: how many programs have been recorded, this one included.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: Any, made: Capture, live: Sequence[Tensor], guard: Guard,
        programs: Sequence[Any], refuse: Callable[[str, Location | None], None],
    ):
        self.function, self._made, self._guard = function, made, guard
        self._live = live = [*live, *overlapped_bases(live, made)]
        earlier = [one.program.attempts for one in programs if one.program.stale]
        self.attempts: int = 1 + max(earlier, default=0)
        self._refuse = refuse
        self._leaves = leaves_of(live, made)
        numbers = {id(one): number for number, one in [*enumerate(made.inputs)][::-1]}
        #: For each leaf the tensor, or which of the arguments it is.
        self._sources: list[Any] = [
            _Argument(numbers[id(leaf)]) if id(leaf) in numbers else leaf for leaf in self._leaves
        ]
        self._arguments = mapped(
            arguments, lambda value: _Argument(numbers[id(value)]) if id(value) in numbers else value
        )
        results = made.results()
        #: For each of these which of the results it is, or the base of which.
        self._which = places_in(results, live)
        self._changes = bool(
            made.versions or made.grads or made.required or made.recorder.effects or written_outside(made.recorder)
        )
        self._walks = made.recorder.walks
        # backward after a program that has saved nothing calls the function once more
        self._patience = 1 << 62 if earlier or self._changes else PATIENCE
        self._node: Callable[[], Any] = lambda: None  # of the recorded call's results
        used = {block.number for block in made.recorder.blocks if block.origin == OUTSIDE and block.last >= 0}
        roots = {id(root_of(made.outside[number][0])) for number in used}
        #: The tensors that the program finds, besides its arguments.
        self._around = [
            one.tensor for one in made.known.values()
            if id(one.tensor) not in numbers and id(root_of(one.storage)) in roots
        ]
        self.forward: Program | None = None
        self.backward: Program | None = None
        self.stale = False
        self._strange = 0  # calls of backward that the program could not do

    def run(self, inputs: Sequence[Tensor]) -> Any:
        """The result of a call, or REPORTED: the function itself is to be called."""
        if self.forward is None:
            if self.waits and self._node() is None:  # and there were others before
                self._give_up("backward comes to few of its calls: call it under no_grad() where none follows")
                return REPORTED
            if self._patience > 1:
                self._patience -= 1
                return REPORTED
            with recording_turn as is_ours:
                if not is_ours:  # another thread records
                    return REPORTED
                if self.forward is None:
                    self.forward = Program(self._made, (), self._attach_without_backward, self._live)
                    self.forget()
        return self.forward.run(inputs)

    def first_result(self) -> Any:
        """The result of the recorded call, behind a node that records what backward does."""
        made, live, leaves = self._made, self._live, self._leaves
        shown = {id(one): alone(one) for one in live}
        edges = tuple([edge_of(leaf) if leaf._edge is None else leaf._edge[0].outer for leaf in leaves])
        within = [edge_of(one) for one in leaves]
        node = CompiledBackward(
            [shown[id(one)] for one in live], edges, self._first_backward, lambda _: (live, within), made
        )
        self._node = ref(node, partial(_came_to_nothing, ref(self)))
        inner = {id(one): one._edge[0].argument for one in leaves if one._edge is not None}
        for one in live:
            if one._view is not None:
                root = shown.get(id(one._root), inner.get(id(one._root), one._root))
                one._view.connect_like(shown[id(one)], root)
        return mapped(made.result, lambda value: shown.get(id(value), value))

    def preview(self) -> Program | None:
        """Return the program of forward: linked for a look at it, before a backward shows what it must save."""
        if self.forward is None and "_made" in self.__dict__:
            return Program(self._made, (), self._attach_without_backward, self._live)
        return self.forward

    @property
    def waits(self) -> bool:
        """Whether it is to be linked only when backward comes, however long that takes."""
        return self._patience > PATIENCE

    def forget(self) -> None:
        """Drop the graph that was recorded."""
        for name in ("_made", "_live", "_leaves"):
            self.__dict__.pop(name, None)

    def _give_up(self, reason: str, at_once: bool = False, location: Location | None = None) -> None:
        """Let the next call be recorded, or if that has been done often, the function run as it is."""
        self.stale = True
        if at_once or self.attempts >= ATTEMPTS:
            self._refuse(reason, location)

    # -- the first backward -------------------------------------------------------------------------------

    def _first_backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Walk the graph, and record that; then both programs can be linked."""
        return spared(node, self._walked(node, gradients))

    def _walked(self, node: CompiledBackward, gradients: Sequence[Any]) -> tuple[Any, ...]:
        live, leaves = node.again(node)
        if state.mode & ANOMALY or recording.recorder is not None:
            self.stale = self.forward is None  # this is part of a program
            return through(live, leaves, gradients)
        with recording_turn as is_ours:
            if not is_ours:  # another thread records
                self.stale = self.forward is None
                return through(live, leaves, gradients)
            if self.forward is not None or self.stale:
                return through(live, leaves, gradients)
            self._python = any(map(runs_python, nodes_of(live)))
            if self._python and not self._stands():
                self.stale = True
                return through(live, leaves, gradients)
            return self._recorded_backward(node.kept, live, leaves, gradients)

    def _stands(self) -> bool:
        """Whether Python that backward runs finds what was there in the call."""
        return self._guard.stands() or self._guard.stands_for_more(self._walks)

    def _recorded_backward(
        self, made: Capture, live: Sequence[Tensor], leaves: Sequence[Edge], gradients: Sequence[Any]
    ) -> tuple[Any, ...]:
        forward = made.recorder
        alive = [one for block in forward.blocks if is_temporary(block) and (one := block.array()) is not None]
        others = [one for one in leaves_in(self._arguments) if one.__class__ is not _Argument]
        aftermath = Aftermath(made, lambda: Surroundings(self.function, others))
        before = aftermath.known
        gradients = apart(gradients, [*[one._storage for one in before], *alive], self._changes)
        given = [one for one in gradients if one is not None]
        # results are seen as arguments are: in each call they lie elsewhere
        outside = outside_of(before, (*given, *made.inputs, *made.results()), [*alive, *aftermath.memories])
        recorder = Recorder(outside)
        recorder.recorded = forward.recorded
        grads = recorded(recorder, lambda: through(live, leaves, gradients))
        check_made(recorder, [one for one in grads if one is not None])
        reason = aftermath.reason(recorder, outside, live, grads)
        if reason is None:
            self._link(made, recorder, outside, gradients, grads)
        else:
            self.forget()
            self._give_up(reason[0], True, reason[1])
        return grads

    def _link(
        self, made: Capture, recorder: Recorder, outside: list[Any], gradients: Sequence[Tensor], grads: Any
    ) -> None:
        forward = made.recorder
        results = {forward.block_of(one._storage) for one in made.results()}
        returned = {recorder.block_of(one._storage) for one in grads if one is not None}
        before = [block for block in recorder.blocks if block.origin == OUTSIDE]
        used = [block for block in before if block.last >= 0 or block in returned]
        saved: dict[Block, Block] = {}
        for block in used:
            first = forward.block_of(outside[block.number][0])
            if first is not None and is_temporary(first) and first not in results:
                saved[first] = block
        roots = {id(root_of(outside[block.number][0])) for block in used}
        self._layouts = [None if one is None else (one._layout, alignment(one)) for one in gradients]
        self._deterministic = are_deterministic_algorithms_enabled()
        program = Program(made, list(saved), self._attach, self._live)
        offsets = {saved[block]: offset for block, offset in program.plan.offsets.items()}
        kept = [*made.inputs, *program.tensors]
        #: Of what a call works on, and gives, what backward needs.
        self._needed = [
            number for number, one in enumerate((*kept, *self._around)) if id(root_of(one._storage)) in roots
        ]
        given = [(place, one) for place, one in zip(self._which, gradients, strict=True) if one is not None]
        inputs = [*[one for _, one in given], *kept]
        names = [f"gradient[{number}]{'.base' * is_base}" for (number, is_base), _ in given] + made.given
        names += [f"made[{number}]" for number in range(len(program.tensors))]
        back = Capture(recorder, grads, inputs, {}, outside, made.surroundings, names, arena=made.arena)
        keep_constants(back)
        self._partial = any(one is None for one in grads)
        self.backward = Program(back, offsets)
        program.tensors = []  # they keep the memory of the recorded call
        self._guard.add(roots)
        self.forward = program  # last: other threads may be waiting for it
        self.forget()

    # -- replays ------------------------------------------------------------------------------------------

    def outer_leaves(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The tensors that backward gives gradients, where these are the arguments."""
        return [inputs[source.number] if source.__class__ is _Argument else source for source in self._sources]

    def _edges(self, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
        return tuple(map(edge_of, self.outer_leaves(inputs)))

    def _attach(self, results: Sequence[Tensor], inputs: Sequence[Tensor], saved: Any, made: Sequence[Tensor]) -> None:
        """Give the results of a replay their node."""
        kept = [*inputs, *map(alone, made)]
        versions = [one._counter[0] for one in (*kept, *self._around)]
        again = partial(self._again, inputs, self._versions(inputs))
        CompiledBackward(results, self._edges(inputs), self._backward, again, (kept, saved, versions))

    def _attach_without_backward(
        self, results: Sequence[Tensor], inputs: Sequence[Tensor], saved: Any, made: Sequence[Tensor]
    ) -> None:
        again = partial(self._again, inputs, self._versions(inputs))
        CompiledBackward(results, self._edges(inputs), self._unexpected_backward, again, None)

    def _versions(self, inputs: Sequence[Tensor]) -> list[int]:
        return [one._counter[0] for one in (*inputs, *self._around)]

    def _backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        assert self.backward is not None
        kept, saved, versions = node.kept
        all_kept = (*kept, *self._around)
        for number in self._needed:
            one = all_kept[number]
            if one._counter[0] != versions[number]:
                raise modified_error(node, one, versions[number], False)
        if self._python and not self._stands():
            return self._by_graph(node, gradients)  # which says that this cannot be
        if are_deterministic_algorithms_enabled() is not self._deterministic:
            return self._by_itself(node, gradients)
        given = []
        for one, own in zip(gradients, self._layouts, strict=True):
            if one is None or own is None or (one._layout is not own[0] and not is_dense(own[0])):
                if one is not None or own is not None:
                    return self._by_itself(node, gradients)
            else:
                given.append(laid_out(one, *own))
        made = self.backward.run([*given, *kept], saved)
        if made is REPORTED:
            return self._by_graph(node, gradients)
        return spared(node, made) if self._partial else made

    def _by_graph(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """The gradients by the graph of another call of the function, which also raises what backward does."""
        live, leaves = node.again(node)
        return spared(node, through(live, leaves, gradients))

    def _by_itself(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """The gradients by the graph of another call of the function: they come to others of its results than they did
        when backward was recorded.

        Raises:
            RuntimeError: it would change what it has changed once more.
        """
        self._strange += 1
        reason = "backward comes to other results than in the call that was recorded"
        if self._changes:
            self._give_up(f"{reason}, and it draws random numbers or changes tensors in place", True)
            raise RuntimeError(
                "a compiled function that draws random numbers or changes tensors in place was given gradients of "
                "other results than in the call whose backward was recorded: from now on it runs as it is"
            )
        if self._strange >= PATIENCE:
            self._give_up(reason)
        return self._by_graph(node, gradients)

    def _unexpected_backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """Backward after a program that has saved nothing."""
        self.stale = True
        return self._by_graph(node, gradients)

    def _again(
        self, inputs: Sequence[Tensor], versions: Sequence[int], node: CompiledBackward
    ) -> tuple[list[Tensor], list[Edge]]:
        """The results of the function itself, with its graph, and the edges where that ends.

        Raises:
            RuntimeError: it would change what it has changed once more, or what it works on was changed since.
        """
        reason = None
        if not self._guard.stands_for_more(self._walks):
            reason = f"what it finds has changed since it was called ({', '.join(self._guard.failed()[:3]) or 'hooks'})"
        elif self._changes:
            reason = "it draws random numbers or changes tensors in place"
        what = "of a call for which nothing was kept, as no backward had come to those before"
        advice = "have backward come to one of the first three calls, or compile the function anew"
        if node.kept is not None:
            what = "of gradients, or by other results than in the call that was recorded,"
            advice = "call the function itself for these"
        text = f"gradients {what} need a compiled function to be called again"
        if reason is not None:
            raise RuntimeError(f"{text}, but {reason}: {advice}")
        for one, version in zip((*inputs, *self._around), versions, strict=True):
            if one._counter[0] != version:
                error = modified_error(node, one, version, False)
                error.add_note(f"{text.capitalize()} with what it was given: {advice}.")
                raise error
        given = [entered(one) for one in inputs]
        args, keywords = mapped(
            self._arguments, lambda value: given[value.number] if value.__class__ is _Argument else value
        )
        with enable_grad():
            results = tensors_in(self.function(*args, **keywords))
        leaves = [given[source.number] if source.__class__ is _Argument else source for source in self._sources]
        return self.live_in(results), [*map(edge_of, leaves)]

    def live_in(self, results: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors with a graph, in the order of the node's outputs, of the function's own results."""
        return [results[number]._root if is_base else results[number] for number, is_base in self._which]


def _came_to_nothing(program: Callable[[], Differentiated | None], _: Any) -> None:
    """The results of the recorded call are gone.  If no backward came to them, the next call is to be recorded."""
    own = program()
    if own is not None and own.forward is None and own.waits:
        own.stale = own.attempts < ATTEMPTS
        own.forget()


class _Argument:
    """Stands for an argument in what a call was given."""

    def __init__(self, number: int):
        self.number = number


def leaves_of(live: Sequence[Tensor], made: Capture) -> list[Tensor]:
    """The tensors that backward from these gives gradients, of those that are there before and after the call."""
    leaves = []
    entrances = {id(one._edge[0]): one for one in reversed(made.inputs) if one._edge is not None}
    for node in nodes_of(live):
        if node.__class__ is AccumulateGrad and id(node.variable) in made.known:
            leaves.append(node.variable)
        elif node.__class__ is Entrance:
            leaves.append(entrances[id(node)])
    return leaves


def is_temporary(block: Block) -> bool:
    """Whether a replay has a block of its own for it."""
    return block.origin == FRESH or (block.origin == CONSTANT and block.initial is not None)
