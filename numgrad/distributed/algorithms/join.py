"""``Join``: training with different numbers of batches on the ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

from ...ops.creation.factories import ones, zeros
from ..collectives import all_reduce
from ..groups import get_rank

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """Functions that ``Join`` calls on a rank that has no more batches."""

    def main_hook(self) -> None:
        """Take part in the collectives of one call of the ranks that still have batches."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """End the work when no rank has batches; ``is_last_joiner`` is True on the ranks that had the last ones."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable(ABC):
    """Base class of objects that communicate once per batch, and therefore call ``Join.notify_join_context``."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hooks of this object, for the keyword arguments of ``Join``."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors that ``Join`` sends."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the processes that join."""


class Join:
    """Context manager for loops over batches, of which some ranks have fewer than others.

    A rank that leaves the block calls the hooks of the objects until all ranks have left it.

    Args:
        joinables: the objects that communicate in the block, of one process group.
        enable: False to do nothing.
        throw_on_early_termination: raise an error on all ranks as soon as one has no more batches.
        kwargs: passed to ``join_hook`` of each object.

    Raises:
        ValueError: there are no objects, or they have different groups.

    Example:
        >>> from numgrad.distributed.algorithms.join import Join
        >>> def train(model, optimizer, batches, loss_of):
        ...     with Join([model]):  # a DistributedDataParallel
        ...         for batch in batches:
        ...             optimizer.zero_grad()
        ...             loss_of(model(batch)).backward()
        ...             optimizer.step()
    """

    def __init__(
        self, joinables: Sequence[Joinable], enable: bool = True, throw_on_early_termination: bool = False,
        **kwargs: Any,
    ):  # fmt: skip
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(each.join_process_group) for each in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables = [*joinables]
        self._hooks = [each.join_hook(**kwargs) for each in joinables] if enable else []
        self._enable = enable
        self._throw = throw_on_early_termination

    def __enter__(self) -> None:
        for number, each in enumerate(self._joinables):
            each._join_config = _JoinConfig(self._enable, self._throw, number == 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for each in self._joinables:
            each._join_config = _JoinConfig(False, False, False)
        if not self._enable or kind is not None:
            return
        first, is_last = self._joinables[0], True
        while _sum(first, False):
            if self._throw:
                _sum(first, True)
                rank = get_rank(first.join_process_group)
                raise RuntimeError(f"Rank {rank} exhausted all inputs.")
            is_last = False
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Tell the ranks that have left the block that this one has a batch; called before all other communication.

        Raises:
            RuntimeError: a rank has no more batches, and ``throw_on_early_termination`` is set.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return
        _sum(joinable, True)
        if config.throw_on_early_termination and _sum(joinable, False):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")


def _sum(joinable: Joinable, flag: bool) -> int:
    """Return the number of ranks for which ``flag`` is True."""
    count = (ones if flag else zeros)(1, device=joinable.join_device)
    all_reduce(count, group=joinable.join_process_group)
    return int(count.item())
