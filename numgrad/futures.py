"""``torch.futures``: results that are computed meanwhile, such as those of communication."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that will be known later, or an error.

    Args:
        devices: accepted for compatibility with PyTorch.

    Example:
        >>> import numgrad
        >>> future = numgrad.futures.Future()
        >>> length = future.then(lambda future: len(future.value()))
        >>> future.set_result("numbers")
        >>> length.wait()
        7
    """

    def __init__(self, *, devices: Sequence[Any] | None = None):
        self._is_set = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._origin: Future[Any] | None = None

    def done(self) -> bool:
        """Return True if the value, or an error, is known."""
        if not self._is_set and self._origin is not None:
            self._origin.done()
        return self._is_set

    def wait(self) -> T:
        """Wait for the value and return it.

        Raises:
            RuntimeError: nothing is underway that could set it.
        """
        self._finish()
        return self.value()

    def _finish(self) -> None:
        """Wait until the value, or an error, is known."""
        if not self._is_set and self._origin is not None:
            self._origin._finish()

    def value(self) -> T:
        """Return the value, which must be known, or raise the error."""
        if not self._is_set:
            raise RuntimeError("the future has no value yet, and nothing is underway that sets it")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return the future of ``callback(self)``, which is called when this future is done."""
        result: Future[S] = Future()
        result._origin = self
        self.add_done_callback(lambda future: result._set_result_of(callback, future))
        return result

    def _set_result_of(self, callback: Callable[[Any], T], future: Any) -> None:
        try:
            self.set_result(callback(future))
        except Exception as error:
            self.set_exception(error)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call ``callback(self)`` when this future is done; at once if it is."""
        if self._is_set:
            callback(self)
        else:
            self._callbacks.append(callback)

    def set_result(self, result: T) -> None:
        """Set the value.

        Raises:
            RuntimeError: there is a value or an error already.
        """
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set the error that ``wait`` and ``value`` raise."""
        self._set(None, result)

    def _set(self, value: Any, error: BaseException | None) -> None:
        if self._is_set:
            raise RuntimeError("Future can only be marked completed once")
        self._is_set, self._value, self._error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return the future of the list of futures, which is done when all of them are."""
    return _All(futures)


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their values."""
    return [future.wait() for future in futures]


class _All(Future[list[Future[Any]]]):
    def __init__(self, futures: Sequence[Future[Any]]):
        super().__init__()
        self._futures = [*futures]

    def done(self) -> bool:
        if not self._is_set and all(future.done() for future in self._futures):
            self.set_result(self._futures)
        return self._is_set

    def _finish(self) -> None:
        for future in self._futures:
            future._finish()
        self.done()
