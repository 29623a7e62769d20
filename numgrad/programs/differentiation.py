"""Programs whose results require gradients: forward and backward are recorded as two programs.

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
from ..devices import recording
from ..tensors.tensor import Tensor
from .attached import runs_python
from .backward_operands import is_dense, overlapped_bases, places_in, separated, with_layout
from .capture import check_memory, keep_constants, outside_of, recorded
from .captured import Capture
from .conditions import alignment
from .guards import Guard
from .node import CompiledBackward, GraphInput, backward_through, graph_inputs, nodes_of, without_missing
from .program import REPORTED, Program, alone
from .recomputation import recomputed
from .recorded_steps import CONSTANT, FRESH, OUTSIDE, Block, root_of
from .recorder import Recorder
from .recording_lock import recording_lock
from .side_effects import BackwardEffects, written_outside
from .trees import Placeholder, filled, mapped, tensors_in, with_placeholders

#: The number of calls without backward after which a program is linked that saves nothing for backward.
PATIENCE = 3

#: The largest number of programs recorded for a signature while its backward differs from call to call.
ATTEMPTS = 16

_MOVES = "arguments are moved to other memory before backward runs"

#: The limit on calls without backward for programs that always wait for backward.
_ENDLESS = 1 << 62


class Differentiated:
    """A program whose results require gradients.

    It is linked at the first backward, because only then is the memory known that it has to save.

    Args:
        function: the function.
        captured: the record of the call.
        live: the results that require gradients.
        guard: the guard of the program.
        programs: other programs for the same signature, with their guards.
        refuse: makes the function run uncompiled from now on, and warns with the reason and the location.

    Attributes:
        forward, backward: the two programs, once they are linked.
        stale: True if the next call is to be recorded, because backward reached a program that had saved nothing,
            differed from the recorded backward, or did not reach the recorded call.
        attempts: the number of programs recorded so far, with this one.
    """

    def __init__(
        self, function: Callable[..., Any], captured: Capture, live: Sequence[Tensor], guard: Guard,
        programs: Sequence[Any], refuse: Callable[[str, Location | None], None],
    ):
        self.function, self._captured, self._guard, self._refuse = function, captured, guard, refuse
        self._live = live = [*live, *overlapped_bases(live, captured)]
        earlier = [each.program.attempts for each in programs if each.program.stale]
        self.attempts: int = 1 + max(earlier, default=0)
        self._leaves = _leaves_of(live, captured)  # each with its edge in the recorded graph
        #: The arguments, and the tensors that get gradients from backward, with placeholders for arguments.
        self._arguments = with_placeholders(captured.arguments, captured.inputs)
        self._sources = with_placeholders([leaf for leaf, _ in self._leaves], captured.inputs)
        inputs = {*map(id, captured.inputs)}
        #: For each output of the node, the index of a result, and whether the output is the base of that result.
        self._places = places_in(captured.results(), live)
        recorder = captured.recorder
        self._changes = bool(
            captured.versions or captured.grads or captured.required or recorder.effects or written_outside(recorder)
        )
        self._walks = recorder.walks
        # backward after a program that has saved nothing calls the function again
        self._patience = _ENDLESS if earlier or self._changes else PATIENCE
        self._node: Callable[[], Any] = lambda: None  # of the recorded call's results
        used = {block.number for block in recorder.blocks if block.origin == OUTSIDE and block.last >= 0}
        roots = {id(root_of(captured.outside[number][0])) for number in used}
        #: The tensors in the environment that the program uses.
        self._around = [
            before.tensor for key, before in captured.states.items()
            if key not in inputs and id(root_of(before.storage)) in roots
        ]
        self.forward: Program | None = None
        self.backward: Program | None = None
        self.stale = self._is_improved = False
        self._unlike = 0  # the number of backward passes that the program could not replay

    def run(self, inputs: Sequence[Tensor]) -> Any:
        """Return the result of a call, or REPORTED if the function itself is to be called."""
        if self.forward is None:
            if self.waits and self._node() is None:  # neither the recorded call nor earlier ones got a backward
                self._give_up("few of its calls are followed by backward: call it under no_grad() where none follows")
                return REPORTED
            if self._patience > 1:
                self._patience -= 1
                return REPORTED
            with recording_lock as is_ours:
                if not is_ours:  # another thread records
                    return REPORTED
                if self.forward is None and self._captured.has_moved():
                    self._give_up(_MOVES)
                    return REPORTED
                if self.forward is None:
                    self.forward = Program(self._captured, (), self._attach_without_backward, self._live)
                    self.forget()
        return self.forward.run(inputs)

    def first_result(self) -> Any:
        """Return the result of the recorded call, with a node that records backward."""
        captured, live = self._captured, self._live
        outer = {id(tensor): alone(tensor) for tensor in live}
        edges = tuple([edge_of(leaf) for leaf, _ in self._leaves])
        inner_edges = [edge for _, edge in self._leaves]
        node = CompiledBackward(
            [outer[id(tensor)] for tensor in live], edges, self._first_backward, lambda _: (live, inner_edges), captured
        )
        self._node = ref(node, partial(_without_backward, ref(self)))
        for tensor in live:
            if tensor._view is not None:
                tensor._view.connect_like(outer[id(tensor)], outer.get(id(tensor._root), tensor._root))
        return mapped(captured.result, lambda leaf: outer.get(id(leaf), leaf))

    def preview(self) -> Program | None:
        """Return the forward program, linked for inspection before the first backward; None if it no longer exists."""
        if self.forward is None and "_captured" in self.__dict__:
            return Program(self._captured, (), self._attach_without_backward, self._live)
        return self.forward

    @property
    def waits(self) -> bool:
        """True if it is linked only at the first backward, however many calls precede it."""
        return self._patience > PATIENCE

    def forget(self) -> None:
        """Drop the recorded graph."""
        for name in ("_captured", "_live", "_leaves"):
            self.__dict__.pop(name, None)

    def _give_up(self, reason: str, at_once: bool = False, location: Location | None = None) -> None:
        """Record the next call; after too many attempts, or with ``at_once``, let the function run uncompiled."""
        self.stale = True
        if at_once or self.attempts >= ATTEMPTS:
            self._refuse(reason, location)

    # -- the first backward ----------------------------------------------------------------------------------------

    def _first_backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Run and record backward through the recorded graph, and link both programs."""
        live, leaves = node.again(node)
        if state.mode & ANOMALY or recording.recorder is not None:  # this is part of a program
            self.stale = self.forward is None
        else:
            with recording_lock as is_ours:
                if not is_ours:  # another thread records
                    self.stale = self.forward is None
                elif self.forward is None and node.kept.has_moved():
                    self._give_up(_MOVES)
                elif self.forward is None and not self.stale:
                    self._python = any(map(runs_python, nodes_of(live)))
                    if not self._python or self._environment_holds():
                        return without_missing(node, self._record_backward(node.kept, live, leaves, gradients))
                    self.stale = True
        return without_missing(node, backward_through(live, leaves, gradients))

    def _environment_holds(self) -> bool:
        """Return True if the Python code of backward would find the same objects as the recorded call."""
        return self._guard.environment_holds() or self._guard.holds_for_rerun(self._walks)

    def _record_backward(
        self, captured: Capture, live: Sequence[Tensor], leaves: Sequence[Edge], gradients: Sequence[Any]
    ) -> tuple[Any, ...]:
        alive = [block.array() for block in captured.recorder.blocks if _is_temporary(block)]
        alive = [array for array in alive if array is not None]
        effects = BackwardEffects(captured)
        gradients = separated(gradients, [*[state.storage for state in effects.states], *alive], self._changes)
        # results are treated like arguments: they are new in each call
        inputs = [*[each for each in gradients if each is not None], *captured.inputs, *captured.results()]
        outside = outside_of(effects.states, inputs, [*alive, *effects.memories])
        recorder = Recorder(outside)
        recorder.recorded = captured.recorder.recorded
        grads = recorded(recorder, lambda: backward_through(live, leaves, gradients))
        check_memory(recorder, [grad for grad in grads if grad is not None])
        reason = effects.reason(recorder, outside, live, grads)
        if reason is None:
            self._link(captured, recorder, outside, gradients, grads)
        else:
            self.forget()
            self._give_up(reason[0], True, reason[1])
        return grads

    def _link(
        self, captured: Capture, recorder: Recorder, outside: list[Any], gradients: Sequence[Tensor], grads: Any
    ) -> None:
        forward = captured.recorder
        results = {forward.block_of(tensor._storage) for tensor in captured.results()}
        returned = {recorder.block_of(grad._storage) for grad in grads if grad is not None}
        used = [
            block for block in recorder.blocks
            if block.origin == OUTSIDE and (block.last >= 0 or block in returned)
        ]
        same = {forward.block_of(outside[block.number][0]): block for block in used}
        shared = {first: block for first, block in same.items() if first is not None}
        saved = {first: block for first, block in shared.items() if _is_temporary(first) and first not in results}
        #: By block of forward, the block of the same memory in backward; empty if gradients lie in saved memory, since
        #: all saved blocks then keep their places.
        self._shared = shared if returned.isdisjoint(saved.values()) else {}
        roots = {id(root_of(outside[block.number][0])) for block in used}
        self._layouts = [None if each is None else (each._layout, alignment(each)) for each in gradients]
        self._deterministic = are_deterministic_algorithms_enabled()
        backwards: list[Program] = []
        program = Program(
            captured, list(saved), partial(self._attach, backwards), self._live, improve=self._improve
        )
        offsets = {saved[block]: offset for block, offset in program.plan.offsets.items()}
        kept = [*captured.inputs, *program.tensors]
        #: The indices of the tensors that backward needs, among those that a call keeps.
        self._needed = [
            number for number, tensor in enumerate((*kept, *self._around)) if id(root_of(tensor._storage)) in roots
        ]
        present = [(position, each) for position, each in zip(self._places, gradients, strict=True) if each is not None]
        inputs = [*[gradient for _, gradient in present], *kept]
        names = [f"gradient[{number}]{'.base' * is_base}" for (number, is_base), _ in present]
        names += [*captured.input_names, *[f"made[{number}]" for number in range(len(program.tensors))]]
        back = Capture(
            recorder, (), grads, inputs, {}, outside, captured.environment, captured.look, names, arena=captured.arena
        )
        keep_constants(back)
        self._partial = any(grad is None for grad in grads)
        self.backward = Program(back, offsets, improve=self._improve)
        backwards.append(self.backward)
        program.tensors = []  # the tensors would keep the memory of the recorded call
        self._guard.add_memory(roots)
        self.forward = program  # set last, because other threads may wait for it
        self.forget()

    def _improve(self) -> None:
        """Improve both programs, once."""
        forward, backward = self.forward, self.backward
        if self._is_improved or forward is None or backward is None:
            return
        self._is_improved = True
        better = recomputed(forward, backward, self._shared)
        if better is None:
            forward.improve()
            backward.improve()
        else:
            self.backward, steps, saved = better
            forward.run_steps(steps, saved, attach=partial(self._attach, [self.backward]))

    # -- replays ---------------------------------------------------------------------------------------------------

    def outer_leaves(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors that get gradients from backward in a call with these arguments."""
        return [inputs[leaf.number] if leaf.__class__ is Placeholder else leaf for leaf in self._sources]

    def _attach(
        self, backwards: Sequence[Program], results: Sequence[Tensor], inputs: Sequence[Tensor], saved: Any,
        new: Sequence[Tensor],
    ) -> None:
        """Attach the node to the results of a replay, whose saved memory a certain backward program reads."""
        kept = [*inputs, *map(alone, new)]
        versions = [tensor._counter[0] for tensor in (*kept, *self._around)]
        self._new_node(results, inputs, self._backward, (kept, saved, versions, *backwards))

    def _attach_without_backward(
        self, results: Sequence[Tensor], inputs: Sequence[Tensor], saved: Any, new: Sequence[Tensor]
    ) -> None:
        """Attach the node to the results of a replay that has saved nothing."""
        self._new_node(results, inputs, self._unexpected_backward, None)

    def _new_node(
        self, results: Sequence[Tensor], inputs: Sequence[Tensor], backward: Callable[..., Any], kept: Any
    ) -> None:
        versions = [tensor._counter[0] for tensor in (*inputs, *self._around)]
        edges = tuple(map(edge_of, self.outer_leaves(inputs)))
        CompiledBackward(results, edges, backward, partial(self._again, inputs, versions), kept)

    def _backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        kept, saved, versions, backward = node.kept
        all_kept = (*kept, *self._around)
        for number in self._needed:
            tensor = all_kept[number]
            if tensor._counter[0] != versions[number]:
                raise modified_error(node, tensor, versions[number], False)
        if self._python and not self._environment_holds():
            return self._by_graph(node, gradients)  # which raises
        if are_deterministic_algorithms_enabled() is not self._deterministic:
            return self._by_unlike_graph(node, gradients)
        present = []
        for gradient, like in zip(gradients, self._layouts, strict=True):
            if gradient is None or like is None or (gradient._layout is not like[0] and not is_dense(like[0])):
                if gradient is not None or like is not None:
                    return self._by_unlike_graph(node, gradients)
            else:
                present.append(with_layout(gradient, *like))
        grads = backward.run([*present, *kept], saved)
        if grads is REPORTED:
            return self._by_graph(node, gradients)
        return without_missing(node, grads) if self._partial else grads

    def _by_graph(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """Return the gradients computed by the graph of another call of the function, or raise its error."""
        live, leaves = node.again(node)
        return without_missing(node, backward_through(live, leaves, gradients))

    def _by_unlike_graph(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """Return the gradients computed by the graph of another call, for backward from other results than recorded.

        Raises:
            RuntimeError: the function would repeat a change that it has made.
        """
        self._unlike += 1
        reason = "backward uses other results than in the recorded call"
        if self._changes:
            self._give_up(f"{reason}, and it draws random numbers or changes tensors in place", True)
            raise RuntimeError(
                "a compiled function that draws random numbers or changes tensors in place was given gradients of "
                "other results than in the call whose backward was recorded: from now on it runs uncompiled"
            )
        if self._unlike >= PATIENCE:
            self._give_up(reason)
        return self._by_graph(node, gradients)

    def _unexpected_backward(self, node: CompiledBackward, gradients: Sequence[Any]) -> Any:
        """Return the gradients of a call whose program has saved nothing."""
        self.stale = True
        return self._by_graph(node, gradients)

    def _again(
        self, inputs: Sequence[Tensor], versions: Sequence[int], node: CompiledBackward
    ) -> tuple[list[Tensor], list[Edge]]:
        """Call the function itself, and return its results, with a graph, and the edges at which that graph ends.

        Raises:
            RuntimeError: it would repeat a change that it has made, or an object that it uses has changed since.
        """
        reason = None
        if not self._guard.holds_for_rerun(self._walks):
            reason = f"what it finds has changed since it was called ({', '.join(self._guard.failed()[:3]) or 'hooks'})"
        elif self._changes:
            reason = "it draws random numbers or changes tensors in place"
        what = "of a call for which nothing was kept, as no backward had come to those before"
        advice = "run backward for one of the first three calls, or compile the function again"
        if node.kept is not None:
            what = "of gradients, or by other results than in the call that was recorded,"
            advice = "call the function itself for these"
        text = f"gradients {what} need a compiled function to be called again"
        if reason is not None:
            raise RuntimeError(f"{text}, but {reason}: {advice}")
        for tensor, version in zip((*inputs, *self._around), versions, strict=True):
            if tensor._counter[0] != version:
                error = modified_error(node, tensor, version, False)
                error.add_note(f"{text.capitalize()} with what it was given: {advice}.")
                raise error
        args, keywords = filled(self._arguments, inputs)
        with enable_grad(), graph_inputs(inputs):
            results = tensors_in(self.function(*args, **keywords))
            return self.live_in(results), [*map(edge_of, self.outer_leaves(inputs))]

    def live_in(self, results: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors with a graph among the function's own results, in the order of the node's outputs."""
        return [results[number]._root if is_base else results[number] for number, is_base in self._places]


def _without_backward(program: Callable[[], Differentiated | None], _: Any) -> None:
    """Record the next call if the results of the recorded call no longer exist and had no backward."""
    differentiated = program()
    if differentiated is not None and differentiated.forward is None and differentiated.waits:
        differentiated.stale = differentiated.attempts < ATTEMPTS
        differentiated.forget()


def _leaves_of(live: Sequence[Tensor], captured: Capture) -> list[tuple[Tensor, Edge]]:
    """Return the tensors that existed before the call and get gradients from backward through these results.

    Each has the edge at which the recorded graph ends.
    """
    leaves: list[tuple[Tensor, Edge]] = []
    for node in nodes_of(live):
        if node.__class__ is AccumulateGrad and id(node.variable) in captured.states:
            leaves.append((node.variable, (node, 0)))
        elif node.__class__ is GraphInput:
            leaves.append((node.argument, (node, node.outer[1])))
    return leaves


def _is_temporary(block: Block) -> bool:
    """Return True if a replay allocates its own memory for a block."""
    return block.origin == FRESH or (block.origin == CONSTANT and block.initial is not None)
