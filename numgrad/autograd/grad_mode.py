"""Grad mode: one word of mode bits per thread, tested by every op call, and the context managers that set it."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = [
    "enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled",
    "set_multithreading_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound="ModeDecorator")
R = TypeVar("R")

#: Bits of ``state.mode``.  An op call tests the whole word once; a value above ORDINARY takes the general path.
GRAD = 1
INFERENCE = 2
#: Result of ``is_grad_enabled()`` in inference mode, where GRAD is never set.
GRAD_WANTED = 4
ORDINARY = 7
ANOMALY = 8
SAVED_HOOKS = 16  # functions pack the values saved for backward
LEVELS = 32  # levels are active (see levels.py): tensors may have tangents or represent batches
DUAL = 64  # saved outputs share the tangents that the outputs will have
WATCHED = 128  # watchers of operations are active (see watching.py)
STREAMS = 256  # nodes record the current GPU streams, because one of them is not a default stream
AUTOCAST = 512  # operations compute in the dtypes of ``autocast``
#: Operations pass through levels or watchers.
TRANSFORMED = LEVELS | WATCHED
#: The computation of gradients is recorded, or levels are active: rules must call operations, not kernels.
TRACED = GRAD | LEVELS

_RECORDING = GRAD | GRAD_WANTED
_MODES = _RECORDING | INFERENCE
_OTHERS = ~_RECORDING

#: One element per inference mode entered in any thread.  New tensors check their thread's mode only if it is not empty.
inference_blocks: list[None] = []

#: Watchers of threads that have done nothing yet.
watchers_of_new_threads: list[Any] = []


class _GradModeState(threading.local):
    """Modes of a thread.  The defaults are class attributes, which keeps copies of the instance dictionary cheap."""

    mode = GRAD
    check_nan = True  # True if anomaly detection checks for NaN
    check_inf = False  # True if it also checks for infinities
    current_pass: Any = None  # the innermost backward pass running in this thread
    multithreading = True
    inference_entered = 0  # number of entries of ``inference_blocks`` that belong to this thread
    inference_paused = False  # True while a ``recording`` block runs within inference mode
    warn_of_layouts = True  # about gradients whose strides differ from their leaves'
    #: Pairs of pack and unpack hooks for saved tensors, innermost last, and the error raised on entering one.
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_refused: str | None = None
    level: Any = None  # the innermost level that operations must handle
    watchers: tuple[Any, ...] = ()  # of operations
    autocast: Any = {}  # noqa: RUF012 - never changed; the lower dtype of each kind of device that has one
    autocast_casts: Any = None  # a dictionary of converted leaves
    before_write: Callable[[Any], None] | None = None  # called with a tensor about to be modified in place

    def __init__(self) -> None:  # called in each thread on its first access
        if watchers_of_new_threads:
            self.watchers = tuple(watchers_of_new_threads)
            self.mode = self.mode | WATCHED


state = _GradModeState()


def is_grad_enabled() -> bool:
    """Return True if operations on tensors that require gradients are recorded in this thread."""
    return state.mode & _RECORDING != 0


def is_inference_mode_enabled() -> bool:
    """Return True if this thread is in inference mode."""
    return state.mode & INFERENCE != 0


def is_multithreading_enabled() -> bool:
    """Return the flag set by ``set_multithreading_enabled`` in this thread; True by default."""
    return state.multithreading


def with_recording(mode: int, on: bool) -> int:
    """Return the word ``mode`` with recording switched on or off.

    The context managers below inline this code, as a call would be a large part of their cost.
    """
    if not on:
        return mode & _OTHERS
    return mode | (GRAD_WANTED if mode & INFERENCE else GRAD)


def may_use_inference_tensors() -> bool:
    """Return True in inference mode, and while ``recording`` pauses it."""
    return state.mode & INFERENCE != 0 or state.inference_paused


class recording:  # noqa: N801 - a context manager
    """Context manager that records operations, for derivatives of them.

    It pauses inference mode.  Inference tensors may still be saved and modified if the caller is in that mode, or if
    ``inference`` is True.
    """

    def __init__(self, inference: bool = False):
        self._inference = inference

    def __enter__(self) -> None:
        mode = state.mode
        self._before = mode, state.inference_paused
        state.inference_paused = self._inference or may_use_inference_tensors()
        state.mode = mode & ~(INFERENCE | GRAD_WANTED) | GRAD

    def __exit__(self, *exception: Any) -> None:
        mode, state.inference_paused = self._before
        state.mode = state.mode & ~_MODES | mode & _MODES

    @property
    def was_on(self) -> bool:
        """True if operations were recorded before this block."""
        return self._before[0] & GRAD != 0

    def before(self, function: Callable[..., R], *args: Any) -> R:
        """Call a function in the mode before this block, and return its result."""
        self.__exit__()
        try:
            return function(*args)
        finally:
            self.__enter__()


@contextmanager
def recording_apart() -> Iterator[bool]:
    """Record operations within the block, so that derivatives can be taken; yield True if recording was on before.

    If it was off, only the caller sees the graph, so anomaly mode and hooks for saved tensors are off.
    """
    mode = state.mode
    if not mode & GRAD:
        state.mode = mode & ~(ANOMALY | SAVED_HOOKS)
    try:
        with recording():
            yield bool(mode & GRAD)
    finally:
        state.mode = mode


def in_mode(mode: int, function: Callable[..., R], *args: Any) -> R:
    """Call a function with ``mode`` as the word of modes, and return its result."""
    before = state.mode
    try:
        state.mode = mode
        return function(*args)
    finally:
        state.mode = before


class ModeDecorator:
    """Context manager that can also be used as a decorator.

    Each call of the decorated function enters its own ``clone()``, so that recursion works.  A generator is in the
    mode while its code runs, not while it is suspended.  For a coroutine function or an asynchronous generator
    function, only the call would be in the mode, and it runs none of the body: use ``with`` inside it instead.
    """

    #: Bits of ``state.mode`` that a call of the decorated function restores, even if Ctrl-C interrupts ``__exit__``.
    _bits = 0

    def __enter__(self) -> Any:
        """Do nothing: the mode is on since the object was made."""

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define __exit__")

    def clone(self: M) -> M:
        """Return a new context manager of the same mode."""
        return self.__class__()

    def __call__(self, orig_func: F) -> F:
        """Decorate a function to run in the mode."""
        if isinstance(orig_func, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            return self._wrap(orig_func, updated=())
        if inspect.isgeneratorfunction(orig_func):
            return self._wrap_generator(orig_func)
        return self._wrap(orig_func)

    def _wrap(self, function: Any, updated: tuple[str, ...] = functools.WRAPPER_UPDATES) -> Any:
        clone, bits = self.clone, self._bits

        @functools.wraps(function, updated=updated)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before, entered = state.mode, state.inference_entered
            try:
                with clone():
                    return function(*args, **kwargs)
            finally:
                state.mode = state.mode & ~bits | before & bits
                surplus = state.inference_entered - entered
                if surplus > 0:  # Ctrl-C interrupted the start of ``__exit__``
                    del inference_blocks[-surplus:]
                    state.inference_entered = entered

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


class _GradModeDecorator(ModeDecorator):
    """Recording mode that can be used as a decorator."""

    _bits = _MODES


class _BareDecorator(_GradModeDecorator):
    """Recording mode that also decorates without parentheses, as in ``@no_grad``."""

    _before: Any = None  # (previous word, the same pair of the enclosing block that entered this object)

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return object.__new__(cls) if orig_func is None else cls()(orig_func)

    def __exit__(self, *exception: Any) -> None:
        before, outer = self._before or (0, None)
        if outer is not None:  # keep the last pair, so that leaving twice restores the same word
            self._before = outer
        mode = state.mode
        if before & _RECORDING:
            state.mode = mode | (GRAD_WANTED if mode & INFERENCE else GRAD)
        else:
            state.mode = mode & _OTHERS


class no_grad(_BareDecorator):  # noqa: N801 - PyTorch's name
    """Context manager and decorator that disables recording in this thread.

    Use it as ``with no_grad():``, ``@no_grad()`` or ``@no_grad``.  Results have ``requires_grad=False`` even if inputs
    require gradients.  Tensors made with ``requires_grad=True``, and parameters, still require gradients.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> with numgrad.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __enter__(self) -> None:
        mode = state.mode
        self._before = mode, self._before
        state.mode = mode & _OTHERS


class enable_grad(_BareDecorator):  # noqa: N801 - PyTorch's name
    """Context manager and decorator that enables recording in this thread, also inside ``no_grad``.

    Use it as ``with enable_grad():``, ``@enable_grad()`` or ``@enable_grad``.  It has no effect in
    inference mode, where nothing is ever recorded.
    """

    def __enter__(self) -> None:
        mode = state.mode
        self._before = mode, self._before
        state.mode = mode | (GRAD_WANTED if mode & INFERENCE else GRAD)


class set_grad_enabled(_GradModeDecorator):  # noqa: N801 - PyTorch's name
    """Switch recording on or off in this thread: immediately, and until the end of the block if used with ``with``.

    As a decorator, it affects only the calls of the decorated function.

    Raises:
        TypeError: ``mode`` is not a bool.
    """

    def __init__(self, mode: bool):
        if mode.__class__ is not bool:
            raise no_bool("set_grad_enabled", mode)
        before = state.mode
        self._outside = before & _RECORDING != 0
        self.mode = mode
        state.mode = (before | (GRAD_WANTED if before & INFERENCE else GRAD)) if mode else before & _OTHERS

    def __call__(self, orig_func: Any) -> Any:
        state.mode = with_recording(state.mode, self._outside)
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        mode = state.mode
        if (mode & _RECORDING != 0) is not self.mode:  # the object was made earlier than it is entered
            state.mode = with_recording(mode, self.mode)

    def __exit__(self, *exception: Any) -> None:
        mode = state.mode
        if self._outside:  # no function call: see Note [Ctrl-C]
            state.mode = mode | (GRAD_WANTED if mode & INFERENCE else GRAD)
        else:
            state.mode = mode & _OTHERS

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)

    def __repr__(self) -> str:
        return f"numgrad.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_GradModeDecorator):  # noqa: N801 - PyTorch's name
    """Context manager and decorator like ``no_grad``, whose results can never be recorded.

    Use it as ``with inference_mode():``, ``@inference_mode()`` or ``@inference_mode``.  Nothing is recorded.  Tensors
    computed or made inside, the inference tensors, cannot be recorded later either.  Outside, they may be read and
    used in computations, but neither modified in place nor saved for backward.  The ``clone()`` of an inference tensor
    is a normal tensor.  A view of a normal tensor is a normal tensor.

    Args:
        mode: False returns to normal mode inside inference mode, with recording on.

    Example:
        >>> import numgrad
        >>> x = numgrad.ones(2, requires_grad=True)
        >>> with numgrad.inference_mode():
        ...     y = x * 2
        >>> y.requires_grad, y.is_inference()
        (False, True)
    """

    _before: Any = None

    def __new__(cls, mode: Any = True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True):
        self.mode = mode

    def __enter__(self) -> None:
        mode = state.mode
        self._before = mode, self._before
        if self.mode:
            inference_blocks[:0] = [None]  # no function call: see Note [Ctrl-C]
            state.inference_entered += 1
            state.mode = mode & _OTHERS | INFERENCE
        else:
            state.mode = mode & ~(INFERENCE | GRAD_WANTED) | GRAD

    def __exit__(self, *exception: Any) -> None:
        if self._before is None:
            return  # already left
        before, self._before = self._before
        state.mode = state.mode & ~self._bits | before & self._bits
        if self.mode and state.inference_entered:
            del inference_blocks[-1:]
            state.inference_entered -= 1

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)


class _Flag(ModeDecorator):
    """Set a flag of this thread, immediately and until the end of the block if used with ``with``."""

    _flag: str

    def __init__(self, mode: bool):
        if mode.__class__ is not bool:
            raise no_bool(type(self).__name__, mode)
        self._outside = getattr(state, self._flag)
        self.mode = mode
        setattr(state, self._flag, mode)

    def __exit__(self, *exception: Any) -> None:
        setattr(state, self._flag, self._outside)

    def clone(self) -> _Flag:
        return self.__class__(self.mode)


class set_multithreading_enabled(_Flag):  # noqa: N801 - PyTorch's name
    """Set the multithreading flag, immediately and until the end of the block if used with ``with``.

    The flag exists for compatibility with PyTorch and has no other effect: backward always runs in the calling thread.

    Raises:
        TypeError: ``mode`` is not a bool.
    """

    _flag = "multithreading"


class enforce_grad_layout_policy(_Flag):  # noqa: N801 - PyTorch's name
    """Enable or disable, in this thread, the warning about a ``grad`` whose strides differ from its leaf's.

    The setting applies immediately, and until the end of the block if used with ``with``.  It does not affect a
    ``grad`` made by backward, which has the strides of its leaf if the leaf is dense and is row-major otherwise.

    Raises:
        TypeError: ``enable`` is not a bool.
    """

    _flag = "warn_of_layouts"

    def __init__(self, enable: bool = True):
        super().__init__(enable)


def no_bool(name: str, mode: Any) -> TypeError:
    """Return the error for a call of the function ``name`` with a value that is not a bool."""
    return TypeError(f"{name}(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
