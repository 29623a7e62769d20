"""Context managers that decorate, too: functions, generator functions and, for old programs, classes."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound="ModeDecorator")


class ModeDecorator:
    """A context manager that may decorate.

    Each call of what was decorated enters a ``clone()`` of its own, so that it may call itself.  A generator is in
    the mode while its own code runs, not while it is suspended.  Of a coroutine function or an asynchronous generator
    function only the call, which runs none of its code, would be in the mode: put a ``with`` inside instead.
    """

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __enter__")

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define __exit__")

    def clone(self: M) -> M:
        """A new context manager of the same mode."""
        return self.__class__()

    def __call__(self, orig_func: F) -> F:
        """Decorate a function: it runs in the mode."""
        if isinstance(orig_func, type):
            _warn_of_class()
            return self._wrap(orig_func, updated=())
        if inspect.isgeneratorfunction(orig_func):
            return self._wrap_generator(orig_func)
        return self._wrap(orig_func)

    def _wrap(self, function: Any, updated: tuple[str, ...] = functools.WRAPPER_UPDATES) -> Any:
        clone = self.clone

        @functools.wraps(function, updated=updated)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Any) -> Any:
        clone = self.clone

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Iterator[Any]:
            generator = function(*args, **kwargs)
            sent: Any = None
            error: BaseException | None = None
            while True:
                try:
                    with clone():
                        value = generator.send(sent) if error is None else generator.throw(error)
                except StopIteration as stop:
                    return stop.value
                sent = error = None
                try:
                    sent = yield value
                except GeneratorExit:
                    with clone():
                        generator.close()
                    raise
                except BaseException as thrown:
                    error = thrown

        return wrapped


def _warn_of_class() -> None:
    warnings.warn(
        "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
        "or methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` "
        "method and nothing else.",
        FutureWarning,
        stacklevel=3,
    )
