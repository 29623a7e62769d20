"""Whether operations are recorded: one word per thread that every op call tests."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["ANOMALY", "GRAD", "enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled", "state"]

#: Bits of ``state.mode``.  An op call looks at the whole word once; only GRAD set is the common case.
GRAD = 1
ANOMALY = 2


class _State(threading.local):
    mode = GRAD
    depth = 0  # how many backward passes this thread is inside of


state = _State()


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require gradients are recorded in this thread."""
    return state.mode & GRAD != 0


class _Mode:
    """A context manager, and a decorator of functions and generators, that sets bits of the thread's word."""

    def __init__(self, bits: int, on: bool):
        self._bits = bits
        self._on = on
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(state.mode)
        state.mode = state.mode | self._bits if self._on else state.mode & ~self._bits

    def __exit__(self, *exception: Any) -> None:
        state.mode = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with _Mode(self._bits, self._on):
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator's own code runs, not while it is suspended."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Iterator[Any]:
            generator = function(*args, **kwargs)
            sent: Any = None
            error: BaseException | None = None
            while True:
                try:
                    with _Mode(self._bits, self._on):
                        value = generator.send(sent) if error is None else generator.throw(error)
                except StopIteration as stop:
                    return stop.value
                sent = error = None
                try:
                    sent = yield value
                except GeneratorExit:
                    with _Mode(self._bits, self._on):
                        generator.close()
                    raise
                except BaseException as thrown:
                    error = thrown

        return wrapped


class _BareDecorator(_Mode):
    """A mode that may also decorate without parentheses: ``@no_grad``."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if function is None else cls()(function)


class no_grad(_BareDecorator):  # noqa: N801 - PyTorch's name
    """``with no_grad():`` or ``@no_grad()``: operations are not recorded."""

    def __init__(self) -> None:
        super().__init__(GRAD, False)


class enable_grad(_BareDecorator):  # noqa: N801 - PyTorch's name
    """``with enable_grad():`` or ``@enable_grad()``: operations are recorded, also inside ``no_grad``."""

    def __init__(self) -> None:
        super().__init__(GRAD, True)


class set_grad_enabled(_Mode):  # noqa: N801 - PyTorch's name
    """Switch recording on or off, at once and until the end of the ``with`` block if there is one."""

    def __init__(self, mode: bool):
        super().__init__(GRAD, bool(mode))
        self._outside = state.mode
        state.mode = state.mode | GRAD if mode else state.mode & ~GRAD

    def __enter__(self) -> None:
        self._before.append(self._outside)
        state.mode = state.mode | GRAD if self._on else state.mode & ~GRAD

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.mode = self._outside
        return super().__call__(function)
