"""Mode in which operations must give the same result every time they run."""

from __future__ import annotations

from collections.abc import Callable

_enabled = _warn_only = False

#: Functions called when the mode is switched, to drop decisions that depend on it.
deterministic_changed: list[Callable[[], None]] = []


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Make operations give bitwise the same result whenever they run on the same GPU.

    On the CPU, results are always reproducible.  On a GPU, ``index_add``, ``index_put(accumulate=True)``, ``put``,
    ``scatter_add``, ``bincount`` with weights and the gradients of indexing, ``gather``, ``take`` and ``embedding`` add
    values with the same index in arbitrary order, and when several values are written to one element, any of them may
    remain.  In this mode, both happen in the order of the indices, as on the CPU.  This takes longer, because the
    indices must be sorted.  The mode applies to all threads.

    Args:
        mode: True if results must be reproducible.
        warn_only: True to warn about operations that cannot be reproducible instead of raising an error.  There are no
            such operations, so the value is only stored.

    Raises:
        TypeError: an argument is not a bool.

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
    """Return True if deterministic algorithms are enabled by :func:`use_deterministic_algorithms`."""
    return _enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the ``warn_only`` flag, with which PyTorch warns instead of raising an error."""
    return _warn_only
