"""Whether operations must give the same result every time that they are run."""

from __future__ import annotations

from collections.abc import Callable

_enabled = _warn_only = False

#: Functions called when operations are to give the same result every time, or no longer: they forget decisions.
deterministic_changed: list[Callable[[], None]] = []


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Have operations give the same result, to the last bit, whenever they are run on the same GPU.

    On the CPU they always do.  On a GPU ``index_add``, ``index_put(accumulate=True)``, ``put``, ``scatter_add``,
    ``bincount`` with weights and the gradients of indexing, ``gather``, ``take`` and ``embedding`` add what has the
    same index in whichever order comes about, and of several values for one element any may be the one that is
    written.  In this mode both are done in the order of the indices, as on the CPU, which takes longer, because the
    indices are sorted.  It holds for all threads.

    Args:
        mode: whether results must be reproducible.
        warn_only: whether an operation that cannot be reproducible is to warn, instead of raising an error.  There is
            none, so it is only remembered.

    Raises:
        TypeError: an argument is no bool.

    Example:
        >>> import numgrad as torch
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    global _enabled, _warn_only
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"use_deterministic_algorithms(): argument '{name}' must be bool, not {type(value).__name__}"
            )
    changed = mode is not _enabled
    _enabled, _warn_only = mode, warn_only
    if changed:
        for forget in deterministic_changed:
            forget()


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` has been called with True."""
    return _enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether that was with ``warn_only``: PyTorch warns then where it would raise an error."""
    return _warn_only
