"""``DistributedDataParallel``: training of one module by several processes, each with its own part of the batch."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from ... import distributed
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...autograd.hooks import module_changes
from ...core.device import to_device
from ...devices import recording
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.groups import ProcessGroup, default_group
from ...ops.creation.factories import empty_like
from ...ops.creation.from_data import tensor as new_tensor
from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor
from ...utils._pytree import tree_leaves, tree_map
from ..modules.module import Module
from ..parameter import is_lazy
from .reducer import Hook, Reducer

__all__ = ["DistributedDataParallel"]

#: Sizes of buckets in MiB: the first, which is ready first, and the others by default.
_FIRST, _OTHERS = 1, 25


class DistributedDataParallel(Module, Joinable):
    """A wrapper that averages the gradients of ``module`` over the processes of a group.

    Every process calls it with its own part of the batch.  Parameters and buffers begin as those of rank 0.  In the
    backward pass, gradients are averaged in buckets, while the pass computes others; so all processes have the same
    gradients, and after an optimizer's step the same parameters.  With equal parts, and a loss that is a mean, these
    are those of one process with the whole batch, up to rounding.  A run with the same number of processes gives the
    same bits.

    ``state_dict`` has the module's names after ``module.``; that of the attribute ``module`` has the module's own.

    ``numgrad.compile`` of this class compiles the module: reductions begin when the program of its backward pass ends.
    A compiled function that calls it runs uncompiled, with a warning, but for the module, which is compiled.

    Args:
        module: the module, which has the same parameters on all ranks.
        device_ids: the one GPU of this process, where the module already is.  Arguments of calls are moved there.
        output_device: accepted for compatibility with PyTorch.
        dim: accepted for compatibility with PyTorch.
        broadcast_buffers: the former name of ``forward_sync_buffers``; False also keeps each rank's own buffers now.
        init_sync: overwrite parameters and buffers with those of rank 0 now.
        process_group: the group, by default all processes.
        bucket_cap_mb: the size of a bucket in MiB.
        find_unused_parameters: find the parameters that the outputs of a call do not depend on, which keep their
            gradients if no rank uses them.  Without it, every parameter must get a gradient in each pass.
        check_reduction: accepted for compatibility with PyTorch.
        gradient_as_bucket_view: let the gradients stay in the buckets, which saves memory and a copy.
        static_graph: the same parameters are used in each pass, maybe several times.  The first pass finds them.
        delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision, device_mesh, bucket_cap_mb_list: not
            implemented.
        skip_all_reduce_unused_params, batched_grad_copy: accepted for compatibility with PyTorch.
        forward_sync_buffers: overwrite buffers with those of rank 0 before each call, by default True.

    Raises:
        RuntimeError: no parameter requires a gradient, or the ranks' parameters differ.
        ValueError: there is no process group; several GPUs are given.
        NotImplementedError: an argument is given that is not implemented.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
        bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: Sequence[int] | None = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ):  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        for name, value, instead in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params, "use a larger bucket_cap_mb"),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce, "use a larger bucket_cap_mb"),
            ("mixed_precision", mixed_precision, "use torch.autocast, and bf16_compress_hook for the gradients"),
            ("device_mesh", device_mesh, "give the group as process_group"),
            ("bucket_cap_mb_list", bucket_cap_mb_list, "use bucket_cap_mb"),
        ):
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel does not implement {name}: {instead}")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(f"device_ids can only be None or contain a single element, not {list(device_ids)}")
        if device_ids and next(module.parameters()).device.type == "cpu":
            raise ValueError(f"device_ids is for modules on a GPU, and {[*device_ids]} was given for one on the CPU")
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        sends_buffers = broadcast_buffers is not False
        self.forward_sync_buffers = sends_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.bucket_bytes_cap = int((_OTHERS if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self._connect(process_group)
        if init_sync:
            self._overwrite([*self._sent(module.named_parameters()), *(self._buffers_sent if sends_buffers else ())], 0)

    def _connect(self, group: Any, check: bool = True) -> None:
        """Prepare the reductions in a group; with ``check``, communicate with its other ranks."""
        self.process_group = default_group() if group is None else group
        if not isinstance(self.process_group, ProcessGroup):
            raise ValueError("process_group must be a group that this process belongs to")
        named = self._trained()
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        lazy = [name for name, parameter in named if is_lazy(parameter)]
        if lazy:
            raise RuntimeError(f"call the module once before it is distributed: {lazy[0]} has no shape yet")
        if check:
            self._check_parameters(named)
        names, parameters = zip(*named, strict=True)
        first = min(self.bucket_bytes_cap, _FIRST * 1024 * 1024)
        self.reducer = Reducer(
            parameters, names, self.process_group, first, self.bucket_bytes_cap, self.gradient_as_bucket_view,
            self.find_unused_parameters, self.static_graph,
        )
        self.__dict__["_changes"] = -1  # the number of changes of modules when parameters were last compared

    def _trained(self) -> list[tuple[str, Tensor]]:
        """Return the names and values of parameters that require a gradient."""
        named = [each for each in self.module.named_parameters() if each[0] not in self._ignored]
        return [(name, each) for name, each in named if each.requires_grad or is_lazy(each)]

    @property
    def _ignored(self) -> Collection[str]:
        return getattr(self.module, "_ddp_params_and_buffers_to_ignore", ())

    def _sent(self, named: Iterable[tuple[str, Tensor]]) -> list[Tensor]:
        """Return the tensors without those to be ignored."""
        return [each for name, each in named if name not in self._ignored]

    @property
    def _buffers_sent(self) -> list[Tensor]:
        return self._sent(self.module.named_buffers())

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Iterable[str]
    ) -> None:
        """Leave the parameters and buffers of these names out: each rank has its own.  Called before wrapping."""
        module.__dict__["_ddp_params_and_buffers_to_ignore"] = [*params_and_buffers_to_ignore]

    def _set_static_graph(self) -> None:
        """Set ``static_graph``, before the first call."""
        self.static_graph = self.reducer.static = True

    def _check_trained(self) -> None:
        """Raise if a parameter requires a gradient that did not when this object was made, or was not there.

        Raise, too, if some no longer require one; those of a module that is frozen as a whole need not be averaged.
        Follow parameters to another dtype or device.
        """
        changes = module_changes()
        if changes != self._changes:
            known = {id(each) for each in self.reducer.parameters}
            new = [name for name, each in self._trained() if id(each) not in known]
            if new:
                raise RuntimeError(
                    f"{new[0]} requires a gradient, which would not be averaged: it was added, replaced or unfrozen "
                    "after the module was wrapped in DistributedDataParallel. Wrap the module again"
                )
            frozen = [
                name for name, each in zip(self.reducer.names, self.reducer.parameters, strict=True)
                if not each.requires_grad
            ]  # fmt: skip
            if 0 < len(frozen) < len(known) and not self.find_unused_parameters:
                raise RuntimeError(
                    f"{frozen[0]} no longer requires a gradient, without which those reduced with it would not be "
                    "averaged. Wrap the module again, or with find_unused_parameters=True"
                )
            self.reducer.follow()
            self.__dict__["_changes"] = changes

    def _check_parameters(self, named: Sequence[tuple[str, Tensor]]) -> None:
        own = [(name, tuple(each.shape), str(each.dtype), *_order(each)) for name, each in named]
        every: list[Any] = [None] * distributed.get_world_size(self.process_group)
        distributed.all_gather_object(every, own, group=self.process_group)
        for rank, theirs in enumerate(every):
            if theirs != every[0]:
                differing = (pair for pair in zip(every[0], theirs, strict=False) if pair[0] != pair[1])
                wanted, there = next(differing, (f"{len(every[0])} parameters", f"{len(theirs)} parameters"))
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but rank {rank} has {there}, and rank 0 has {wanted}"
                )

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, "
                "when you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        return {name: value for name, value in self.__dict__.items() if name not in ("reducer", "process_group")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._connect(None, check=False)  # other ranks may not be copying

    # -- calls -----------------------------------------------------------------------------------------------------

    _compiled_part = "module"

    #: The compiled module.
    _program: Any = None

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module, whose passes are programs between those parts of a step that communicate."""
        compiler = importlib.import_module("numgrad.compiler")  # a higher layer, which few need
        self.__dict__["_program"] = compiler.compile(self.module, *args, **kwargs)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output, whose backward pass averages the gradients."""
        if recording.recorder is not None:
            recording.recorder.break_off(
                "DistributedDataParallel communicates between programs; its module is compiled by itself"
            )
            if self._program is None:
                self.compile()
        averages = is_grad_enabled() and self.require_backward_grad_sync
        source = 0
        if averages:
            self._check_trained()
        if self._join_config.enable:
            source = self._begin_joined(averages)
        if self.will_sync_module_buffers():
            self._overwrite(self._buffers_sent, source)
        if self.device_ids:
            device = to_device(self.device_ids[0])
            inputs, kwargs = tree_map(lambda leaf: _moved(leaf, device), (inputs, kwargs))
        outputs = (self._program or self.module)(*inputs, **kwargs)
        if averages:
            self.reducer.prepare([*_tensors_in(outputs)])
        elif is_grad_enabled():
            self.reducer.accumulates = True
        return outputs

    def will_sync_module_buffers(self) -> bool:
        """Return True if the next call begins with the buffers of rank 0."""
        return self.forward_sync_buffers and self.require_backward_grad_sync and bool(self._buffers_sent)

    def _overwrite(self, tensors: Sequence[Tensor], source: int) -> None:
        """Overwrite tensors with those of a rank of the group, all of one dtype in one call."""
        kinds: dict[Any, list[Tensor]] = {}
        for each in tensors:
            kinds.setdefault((each.dtype, each.device), []).append(each.detach())
        with no_grad():
            for group in kinds.values():
                whole = cat([each.reshape(-1) for each in group])
                distributed.broadcast(whole, group=self.process_group, group_src=source)
                for each, part in zip(group, whole.split([each.numel() for each in group]), strict=True):
                    each.copy_(part.view(each.shape))

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context manager for calls whose gradients are accumulated in each process, and averaged after a later call.

        Example:
            >>> from numgrad.nn.parallel import DistributedDataParallel
            >>> def accumulate(model: DistributedDataParallel, parts, loss_of):
            ...     with model.no_sync():
            ...         for part in parts[:-1]:
            ...             loss_of(model(part)).backward()
            ...     loss_of(model(parts[-1])).backward()
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Reduce buckets by ``hook(state, bucket)``, which starts a reduction and returns the future of the average.

        ``numgrad.distributed.algorithms.ddp_comm_hooks.default_hooks`` has such functions, for example
        ``bf16_compress_hook``, which halves what is sent.
        """
        self.reducer.set_hook(state, hook)

    # -- uneven inputs ---------------------------------------------------------------------------------------------

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Return a context manager for training with different numbers of batches: see ``algorithms.join.Join``.

        A rank without further batches takes part in the communication of the others with zeros.  At the end, all have
        the parameters of the ranks that were last.

        Args:
            divide_by_initial_world_size: divide sums by the number of all ranks; otherwise, by that of ranks with a
                batch.
            enable: False if all have the same number of batches.
            throw_on_early_termination: raise an error on all ranks as soon as one has no more batches.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    @property
    def broadcast_buffers(self) -> bool:
        """The former name of ``forward_sync_buffers``."""
        return self.forward_sync_buffers

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hooks that ``Join`` calls on a rank without further batches."""
        return _JoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the tensors that ``Join`` sends."""
        return next(self.module.parameters()).device

    @property
    def join_process_group(self) -> Any:
        """The group of the processes that join."""
        return self.process_group

    def _begin_joined(self, averages: bool) -> int:
        """Tell the ranks that have joined what this call does; return the rank whose buffers are sent."""
        Join.notify_join_context(self)
        active, *_ = self._counts(True, averages, self.will_sync_module_buffers())
        if not self._divides_by_all:
            self.reducer.divisor = active
        return self._last_rank(True) if self.will_sync_module_buffers() else 0

    #: True if sums are divided by the number of all ranks, also of those that have joined.
    _divides_by_all = True

    def _counts(self, *values: bool) -> list[int]:
        """Return for each value the number of ranks for which it is True."""
        counts = new_tensor([int(value) for value in values])
        distributed.all_reduce(counts, group=self.process_group)
        return counts.tolist()

    def _last_rank(self, value: bool) -> int:
        """Return the last rank of the group for which ``value`` is True."""
        rank = new_tensor([distributed.get_rank(self.process_group) if value else -1])
        distributed.all_reduce(rank, distributed.ReduceOp.MAX, group=self.process_group)
        return int(rank.item())


def _order(parameter: Tensor) -> list[str]:
    """Return the strides of a gradient in its bucket as text, in a list, unless it is contiguous there."""
    gradient = empty_like(parameter)
    return [] if gradient.is_contiguous() else [f"strides {gradient.stride()}"]


def _moved(value: Any, device: Any) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value


def _tensors_in(outputs: Any) -> Iterator[Tensor]:
    """Iterate over the tensors in containers and dataclasses."""
    for leaf in tree_leaves(outputs):
        if isinstance(leaf, Tensor):
            yield leaf
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            for field in dataclasses.fields(leaf):
                yield from _tensors_in(getattr(leaf, field.name))


class _JoinHook(JoinHook):
    """The part of a rank without further batches in the communication of the others."""

    def __init__(self, model: DistributedDataParallel, divides_by_all: bool):
        self._model = model
        model._divides_by_all = divides_by_all

    def main_hook(self) -> None:
        model = self._model
        active, averages, send_buffers = model._counts(False, False, False)
        if not model._divides_by_all:
            model.reducer.divisor = active
        if send_buffers:
            model._overwrite(model._buffers_sent, model._last_rank(False))
        if averages:
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        model = self._model
        model.reducer.divisor = distributed.get_world_size(model.process_group)
        source = model._last_rank(is_last_joiner)
        model._overwrite([*model._sent(model.module.named_parameters()), *model._buffers_sent], source)
