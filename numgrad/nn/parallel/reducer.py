"""Reduction of gradients over ranks while the backward pass continues.

Note [Buckets become ready]
Each parameter has a hook, which runs when its gradient is complete.  It copies the gradient to its place in a bucket;
the reduction of a bucket with all its gradients is started and not waited for.  MPI makes progress between the nodes of
the pass (``between_nodes``).  At the end of the pass all reductions are awaited, and the averages become the gradients.
A pass that runs within a node of another one, such as that of a checkpoint, is a part of it.
All ranks start the reductions in the order of the buckets, whatever order their own gradients come in.  The order is at
first that of the parameters from last to first, and from the second pass on the order in which the gradients of rank 0
became ready in the first.
"""

from __future__ import annotations

import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ... import distributed
from ...autograd.grad_mode import no_grad, state
from ...autograd.node import AccumulateGrad, edge_of
from ...autograd.order import between_nodes, nodes_behind
from ...core.types import int32
from ...futures import Future
from ...ops.creation.from_data import tensor as new_tensor
from ...tensors.tensor import Tensor
from .buckets import GradBucket, bucket_assignment

__all__ = ["Reducer"]

#: A function ``hook(state, bucket)`` that starts the reduction of a bucket and returns the future of its buffer.
Hook = Callable[[Any, GradBucket], Future[Tensor]]


class Reducer:
    """Reduction of the gradients of some parameters.

    Args:
        parameters: the parameters.
        names: their names, for messages.
        group: the process group.
        first, most: sizes of buckets in bytes, see ``bucket_assignment``.
        keeps_views: True if the gradients stay in the buckets instead of being copied out of them.
        finds_unused: True if parameters may get no gradient, different ones in each pass.
        static: True if the same parameters get no gradient in each pass.

    Attributes:
        static: that argument.
        buckets: the buckets in the order of reductions.
        divisor: the number by which gradients are divided before they are summed.
        is_armed: True if the next backward pass reduces gradients.
        accumulates: True if gradients of the last call stay in this process.
    """

    def __init__(
        self, parameters: Sequence[Tensor], names: Sequence[str], group: Any, first: int, most: int,
        keeps_views: bool, finds_unused: bool, static: bool,
    ):  # fmt: skip
        self.parameters, self.names, self.group = [*parameters], [*names], group
        self.divisor = distributed.get_world_size(group)
        self._sizes = first, most
        self._keeps_views, self._finds_unused, self.static = keeps_views, finds_unused, static
        self._hook: Hook | None = None
        self._state: Any = None
        self._arrivals: list[int] | None = []  # the order of gradients in the first pass; None afterwards
        self._used_alone: set[int] = set()  # by passes without reductions since the last one with them
        self._unused: set[int] = set()  # of this rank, in this pass
        self._uses: Counter[int] | None = None  # with ``static``, after the first pass: the gradients of each parameter
        self._left: Counter[int] = Counter()  # with ``static``: those that have not come in this pass
        self._used_by: Any = None  # for each parameter, the number of ranks that use it, and the handle of this sum
        self._ready: set[int] = set()
        self._started = 0  # the number of buckets whose reduction was started
        self._has_begun = False  # the present pass has reached a parameter
        self.is_armed = self.accumulates = False
        self._lay_out(range(len(parameters) - 1, -1, -1))
        reducer = weakref.ref(self)
        for number, parameter in enumerate(parameters):
            parameter.register_post_accumulate_grad_hook(_Hook(reducer, number))

    def _lay_out(self, order: Iterable[int]) -> None:
        assigned = bucket_assignment([*order], self.parameters, *self._sizes)
        self.buckets = [GradBucket(each, [self.parameters[number] for number in each]) for each in assigned]
        self._places: dict[int, tuple[GradBucket, Tensor]] = {}
        for position, bucket in enumerate(self.buckets):
            bucket.place(position, position == len(self.buckets) - 1)
            self._places.update(
                {number: (bucket, view) for number, view in zip(bucket.indices, bucket.views, strict=True)}
            )

    def follow(self) -> None:
        """Lay the buckets out again if a parameter has another dtype or device."""
        if any(
            (each.dtype, each.device) != (bucket.memory.dtype, bucket.memory.device)
            for bucket in self.buckets for each in bucket.parameters()
        ):  # fmt: skip
            self._lay_out([number for bucket in self.buckets for number in bucket.indices])

    def set_hook(self, state: Any, hook: Hook) -> None:
        """Use a function instead of the average.

        Raises:
            RuntimeError: there is one already.
            TypeError: it is not callable.
        """
        if self._hook is not None:
            raise RuntimeError("register_comm_hook can only be called once: there is a communication hook already")
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._state, self._hook = state, hook

    # -- a pass ----------------------------------------------------------------------------------------------------

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Expect a backward pass from tensors among these.

        Raises:
            RuntimeError: some parameters had no gradient in the previous pass, so that it was not finished.
        """
        if self._has_begun:
            missing = [name for number, name in enumerate(self.names) if number not in self._ready]
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one: no gradient has "
                f"reached {', '.join(missing)}. If parameters take no part in the loss, construct "
                "DistributedDataParallel with find_unused_parameters=True; and all outputs of forward that depend on "
                "parameters must take part in it"
            )
        self._ready.clear()
        self._started = 0
        for bucket in self.buckets:
            bucket.missing, bucket.future = len(bucket.indices), None
        self._unused = set()
        if self.static:
            self._left = Counter(self._uses or ())
            self._unused = set() if self._uses is None else {*range(len(self.parameters))} - {*self._uses}
        elif self._finds_unused:
            self._unused = self._unreachable(outputs)
        self.is_armed, self.accumulates = True, False
        between_nodes.add(weakref.WeakMethod(self.progress, between_nodes.discard))

    def _unreachable(self, outputs: Sequence[Tensor]) -> set[int]:
        """Return the parameters that no output depends on."""
        edges = [edge_of(output) for output in outputs if output.requires_grad]
        nodes = nodes_behind([edge[0] for edge in edges if edge is not None])
        used = {id(node.variable) for node in nodes if isinstance(node, AccumulateGrad)}
        return {number for number, parameter in enumerate(self.parameters) if id(parameter) not in used}

    def receive(self, number: int) -> None:
        """Take the gradient of a parameter, which is complete.

        Raises:
            RuntimeError: this gradient was reduced already, or it has a graph.
        """
        if not self.is_armed:
            self._used_alone.add(number)
            if not self.accumulates:
                warnings.warn(
                    f"the gradient of {self.names[number]} is not averaged over the processes: "
                    "DistributedDataParallel averages those of the first backward pass after a call of forward",
                    stacklevel=2,
                )
            return
        gradient = self.parameters[number].grad
        if gradient is not None and gradient.requires_grad:
            raise RuntimeError(
                f"DistributedDataParallel does not average the gradient of {self.names[number]}, which has a graph "
                "(create_graph=True): call the module that is wrapped, and numgrad.distributed.nn.functional.all_reduce"
            )
        if not self._has_begun:
            self._has_begun = True
            if self._waits_for_the_end:
                _at_the_end(self._start_at_the_end)
            else:
                self._begin()
        if self._arrivals is not None:
            self._arrivals.append(number)
        if self._waits_for_the_end:
            return
        if number in self._ready:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: another gradient of {self.names[number]} has come after "
                "its reduction. This happens if a checkpoint runs a parameter's operation again within the pass, for "
                "which static_graph=True is meant; if a static graph changes; or if find_unused_parameters=True did "
                "not see that the parameter is used, by the loss itself, in an output of an unknown type or in an "
                "earlier call"
            )
        self._left[number] -= 1
        if self._left[number] <= 0:
            self._add(number)

    @property
    def _waits_for_the_end(self) -> bool:
        """True in the first pass of a static graph, in which unused parameters are found."""
        return self.static and self._uses is None

    def _begin(self) -> None:
        """Begin the reductions of a pass: unused parameters are ready."""
        if self._finds_unused or self.static:
            unused = self._unused - self._used_alone
            self._sum_used([number not in unused for number in range(len(self.parameters))])
        for number in sorted(self._unused):
            self._add(number)

    def _sum_used(self, used: Sequence[bool]) -> None:
        counts = new_tensor([int(each) for each in used], dtype=int32)
        self._used_by = counts, distributed.all_reduce(counts, group=self.group, async_op=True)

    def _start_at_the_end(self) -> None:
        assert self._arrivals is not None
        self._uses = Counter(self._arrivals)
        self._unused = {*range(len(self.parameters))} - {*self._uses}
        self._begin()
        for number in sorted(self._uses):
            self._add(number)

    def _add(self, number: int) -> None:
        """Put a gradient, or zeros, into its bucket, and start the reductions of complete buckets."""
        self._ready.add(number)
        bucket, view = self._places[number]
        gradient = self.parameters[number].grad
        with no_grad():
            if gradient is None:
                view.zero_()
            elif gradient is not view:
                view.copy_(gradient)
        bucket.missing -= 1
        while self._started < len(self.buckets) and not self.buckets[self._started].missing:
            bucket = self.buckets[self._started]
            self._started += 1
            bucket.future = self._reduced(bucket)
            if bucket.is_last():
                _at_the_end(self._finish)

    def _reduced(self, bucket: GradBucket) -> Future[Tensor]:
        """Start the reduction of a bucket."""
        if self._hook is not None:
            return self._hook(self._state, bucket)
        with no_grad():
            bucket.buffer().mul_(1 / self.divisor)  # before the sum, which 16-bit numbers may not hold
        work: Any = distributed.all_reduce(bucket.buffer(), group=self.group, async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    def progress(self) -> None:
        """Let the reductions that are underway make progress; NCCL needs none, once they have begun."""
        if self.group.nccl and not self.group.compares_first:
            return
        for bucket in self.buckets[: self._started]:
            if bucket.future is not None and not bucket.future.done():
                return

    def _finish(self) -> None:
        """Wait for the reductions, and put the results into the gradients."""
        unused = self._await()
        with no_grad():
            for bucket in self.buckets:
                for number, view in zip(bucket.indices, bucket.views, strict=True):
                    parameter = self.parameters[number]
                    if number in unused:
                        continue
                    if self._keeps_views:
                        parameter.grad = view
                    elif parameter.grad is None:
                        parameter.grad = view.clone()
                    else:
                        parameter.grad.copy_(view)
        self._rebuild()

    def _await(self) -> set[int]:
        """Wait for the reductions and end the pass; return the parameters that no rank has used."""
        for bucket in self.buckets:
            assert bucket.future is not None
            reduced = bucket.future.wait()
            if isinstance(reduced, (list, tuple)):
                reduced = reduced[0]
            bucket.complete(reduced)
        unused: set[int] = set()
        if self._used_by is not None:
            counts, work = self._used_by
            work.wait()
            unused = {number for number, count in enumerate(counts.tolist()) if not count}
            self._used_by = None
        self.is_armed = self._has_begun = False
        self._used_alone.clear()
        between_nodes.discard(weakref.WeakMethod(self.progress))
        return unused

    def _rebuild(self) -> None:
        """Lay the buckets out in the order of the gradients of rank 0, after the first pass."""
        if self._arrivals is None:
            return
        arrived = [*dict.fromkeys(reversed(self._arrivals))][::-1]  # where the last gradient of each has come
        rest = [number for number in range(len(self.parameters) - 1, -1, -1) if number not in arrived]
        order = [[*arrived, *rest]]
        self._arrivals = None
        if self._finds_unused:  # there is no order
            return
        distributed.broadcast_object_list(order, group=self.group, group_src=0)
        self._lay_out(order[0])

    def shadow(self) -> None:
        """Take part in the reductions of a pass of other ranks with zeros, when this rank has no more inputs."""
        self.prepare([])
        with no_grad():
            if self._finds_unused or self.static:
                self._sum_used([False] * len(self.parameters))
            for bucket in self.buckets:
                bucket.buffer().zero_()
                bucket.future = self._reduced(bucket)
        self._started = len(self.buckets)
        self._await()
        self._rebuild()


def _at_the_end(callback: Callable[[], Any]) -> None:
    """Call ``callback()`` at the end of the present backward pass, or of the outermost one that it runs within."""
    present = state.current_pass
    while present.outer is not None:
        present = present.outer
    present.callbacks.append(callback)


class _Hook:
    """Hook of a parameter; copies of the parameter, which another reducer may have, keep none."""

    def __init__(self, reducer: weakref.ref[Reducer], number: int):
        self._reducer, self._number = reducer, number

    def __call__(self, parameter: Tensor) -> None:
        reducer = self._reducer()
        if reducer is not None:
            reducer.receive(self._number)
