"""Which argument of a Function's ``apply`` goes to which parameter of its ``forward``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """The parameters of one ``forward``; looking at a signature takes long, so this is kept with the Function."""

    __slots__ = ("count", "forward", "names", "signature")

    def __init__(self, forward: Callable[..., Any]):
        self.forward = forward
        self.signature = inspect.signature(forward)
        parameters = self.signature.parameters.values()
        self.names = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
        #: How many arguments there are, None if that varies.
        self.count = len(self.names) if len(self.names) == len(parameters) else None

    def after_context(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in the order of ``forward(ctx, ...)``; none before the last one given may be left out.

        Raises:
            TypeError: a name is unknown or given twice, or an argument before it is missing.
        """
        names = self.names[1:]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
            if name in names[: len(args)]:
                raise TypeError(f"forward() got multiple values for argument '{name}'")
        values = list(args)
        end = max([names.index(name) for name in kwargs])
        for position in range(len(args), end + 1):
            if names[position] not in kwargs:
                raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
            values.append(kwargs[names[position]])
        return tuple(values)

    def with_defaults(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in the order of a ``forward`` without context; those left out have their defaults.

        Raises:
            TypeError: the arguments do not fit, or ``forward`` has parameters that are keyword-only.
        """
        if len(args) == self.count and not kwargs:
            return args
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'")
        return bound.args
