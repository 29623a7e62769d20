"""Whether operations are recorded: one word of bits per thread that every op call tests, and the modes that set it."""

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

#: Bits of ``state.mode``.  An op call looks at the whole word once: beyond ORDINARY it goes the general way.
GRAD = 1
INFERENCE = 2
#: In inference mode GRAD is never set, whatever is asked for; this is what ``is_grad_enabled()`` then says.
GRAD_WANTED = 4
ORDINARY = 7
ANOMALY = 8
SAVED_HOOKS = 16  # functions pack what is saved for backward
LEVELS = 32  # there are levels (see levels.py): tensors may have tangents, or stand for batches
DUAL = 64  # saved outputs are to share the tangents that the outputs are going to have
WATCHED = 128  # there are watchers of operations (see watching.py)
STREAMS = 256  # nodes note the streams of GPUs that are current, for one of them is no default one
#: Operations go through levels or watchers.
TRANSFORMED = LEVELS | WATCHED
#: The computation of gradients is recorded, or levels take part: rules must call operations, not kernels.
TRACED = GRAD | LEVELS

_RECORDING = GRAD | GRAD_WANTED
_MODES = _RECORDING | INFERENCE
_OTHERS = ~_RECORDING

#: An element for each inference mode entered in any thread: only if there are some, new tensors look at their thread's.
inference_blocks: list[None] = []


#: The watchers of threads that have done nothing yet, and their mode.
watchers_of_new_threads: list[Any] = []


class _State(threading.local):
    """The modes of a thread.  Defaults are not in its dictionary, so that a copy of that costs little."""

    mode = GRAD
    check_nan = True  # whether anomaly detection looks for NaN
    check_inf = False  # and whether for infinities
    current_pass: Any = None  # the innermost of the backward passes that this thread is inside of
    multithreading = True
    inference_entered = 0  # how many of the inference modes in ``inference_blocks`` are this thread's
    inference_paused = False  # whether a block of ``recording`` within inference mode is running
    warn_of_layouts = True  # of gradients that lie in memory in other ways than their leaves
    #: The pairs of hooks that pack and unpack what is saved, the innermost last, and the error for entering one.
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_refused: str | None = None
    level: Any = None  # the innermost one that operations have to do with
    watchers: tuple[Any, ...] = ()  # of operations
    before_write: Callable[[Any], None] | None = None  # called with a tensor that is about to be changed in place

    def __init__(self) -> None:  # called in each thread, when that first asks for something
        if watchers_of_new_threads:
            self.watchers = tuple(watchers_of_new_threads)
            self.mode = self.mode | WATCHED


state = _State()


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require gradients are recorded in this thread."""
    return state.mode & _RECORDING != 0


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return state.mode & INFERENCE != 0


def is_multithreading_enabled() -> bool:
    """The flag that ``set_multithreading_enabled`` set in this thread; True at first."""
    return state.multithreading


def with_recording(mode: int, on: bool) -> int:
    """The word ``mode`` with recording switched on or off.

    The context managers below have this written out where a call would be a good part of what they cost.
    """
    if not on:
        return mode & _OTHERS
    return mode | (GRAD_WANTED if mode & INFERENCE else GRAD)


def may_use_inference_tensors() -> bool:
    """Return True in inference mode, and where ``recording`` pauses it."""
    return state.mode & INFERENCE != 0 or state.inference_paused


class recording:  # noqa: N801 - a context manager
    """``with recording():`` operations are recorded, for derivatives that are taken of them.

    Inference mode pauses.  Inference tensors may be saved and changed all the same: the caller is in that mode.
    """

    def __enter__(self) -> None:
        mode = state.mode
        self._before = mode, state.inference_paused
        state.inference_paused = may_use_inference_tensors()
        state.mode = mode & ~(INFERENCE | GRAD_WANTED) | GRAD

    def __exit__(self, *exception: Any) -> None:
        mode, state.inference_paused = self._before
        state.mode = state.mode & ~_MODES | mode & _MODES


@contextmanager
def recording_apart() -> Iterator[bool]:
    """Record within the block, for derivatives that are taken there; yields whether recording was on before.

    Where it was off, only the caller sees the graph: anomaly mode and hooks for saved tensors are off.
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
    """What a function returns that is called with this as the word of modes."""
    before = state.mode
    try:
        state.mode = mode
        return function(*args)
    finally:
        state.mode = before


# -- context managers ----------------------------------------------------------------------------------------


class ModeDecorator:
    """A context manager that may decorate.

    Each call of what was decorated enters a ``clone()`` of its own, so that it may call itself.  A generator is in
    the mode while its own code runs, not while it is suspended.  Of a coroutine function or an asynchronous generator
    function only the call, which runs none of its code, would be in the mode: put a ``with`` inside instead.
    """

    #: Those bits of ``state.mode`` that a call of what was decorated leaves as they were, even if Ctrl-C has come as
    #: ``__exit__`` was called.
    _bits = 0

    def __enter__(self) -> Any:
        """Nothing is left to do for a mode that is switched on as the object is made."""

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define __exit__")

    def clone(self: M) -> M:
        """A new context manager of the same mode."""
        return self.__class__()

    def __call__(self, orig_func: F) -> F:
        """Decorate a function: it runs in the mode."""
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
                if surplus > 0:  # Ctrl-C has come as ``__exit__`` began
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
    """A mode of recording that may decorate."""

    _bits = _MODES


class _BareDecorator(_GradModeDecorator):
    """A mode that may also decorate without parentheses: ``@no_grad``."""

    _before: Any = None  # (the word to go back to, the same of the block around it that entered this very object)

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return object.__new__(cls) if orig_func is None else cls()(orig_func)

    def __exit__(self, *exception: Any) -> None:
        before, outer = self._before or (0, None)
        if outer is not None:  # the last stays: leaving twice restores the same word again
            self._before = outer
        mode = state.mode
        if before & _RECORDING:
            state.mode = mode | (GRAD_WANTED if mode & INFERENCE else GRAD)
        else:
            state.mode = mode & _OTHERS


class no_grad(_BareDecorator):  # noqa: N801 - PyTorch's name
    """``with no_grad():``, ``@no_grad()`` or ``@no_grad``: operations are not recorded, in this thread.

    What is computed has ``requires_grad=False``, even from inputs that require gradients.  Tensors made with
    ``requires_grad=True``, and parameters, require gradients all the same.

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
    """``with enable_grad():``, ``@enable_grad()`` or ``@enable_grad``: operations are recorded, also in ``no_grad``.

    In inference mode nothing is recorded all the same.
    """

    def __enter__(self) -> None:
        mode = state.mode
        self._before = mode, self._before
        state.mode = mode | (GRAD_WANTED if mode & INFERENCE else GRAD)


class set_grad_enabled(_GradModeDecorator):  # noqa: N801 - PyTorch's name
    """Switch recording on or off in this thread: at once, and until the end of the ``with`` block if there is one.

    As a decorator it switches for the decorated function's calls only.

    Raises:
        TypeError: ``mode`` is no bool.
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
        if (mode & _RECORDING != 0) is not self.mode:  # this object was made, and entered later
            state.mode = with_recording(mode, self.mode)

    def __exit__(self, *exception: Any) -> None:
        mode = state.mode
        if self._outside:  # without a call: see Note [Ctrl-C]
            state.mode = mode | (GRAD_WANTED if mode & INFERENCE else GRAD)
        else:
            state.mode = mode & _OTHERS

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)

    def __repr__(self) -> str:
        return f"numgrad.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_GradModeDecorator):  # noqa: N801 - PyTorch's name
    """``with inference_mode():``, ``@inference_mode()`` or ``@inference_mode``: ``no_grad`` for good.

    Nothing is recorded, and what is computed or made here, the inference tensors, can not be recorded later either:
    outside they may be read and computed with, but neither be changed in place nor saved for backward; ``clone()``
    makes a normal tensor of one.  A view of a normal tensor is a normal tensor.

    Args:
        mode: False goes back to normal inside inference mode, with recording on.

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
            inference_blocks[:0] = [None]  # no call: see Note [Ctrl-C]
            state.inference_entered += 1
            state.mode = mode & _OTHERS | INFERENCE
        else:
            state.mode = mode & ~(INFERENCE | GRAD_WANTED) | GRAD

    def __exit__(self, *exception: Any) -> None:
        if self._before is None:
            return  # it was left already
        before, self._before = self._before
        state.mode = state.mode & ~self._bits | before & self._bits
        if self.mode and state.inference_entered:
            del inference_blocks[-1:]
            state.inference_entered -= 1

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)


class _Flag(ModeDecorator):
    """Sets a flag of this thread, at once and until the end of the ``with`` block if there is one."""

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
    """Set a flag, at once and until the end of the ``with`` block if there is one, that changes nothing else.

    It is there for programs written for PyTorch: backward always runs in the thread that calls it.

    Raises:
        TypeError: ``mode`` is no bool.
    """

    _flag = "multithreading"


class enforce_grad_layout_policy(_Flag):  # noqa: N801 - PyTorch's name
    """With False, switch off the warning of a ``grad`` that has other strides than its leaf, in this thread.

    It counts at once, and until the end of the ``with`` block if there is one.  A ``grad`` that backward makes itself
    has the strides of its leaf, if that is dense, else it is row-major: that stays so.

    Raises:
        TypeError: ``enable`` is no bool.
    """

    _flag = "warn_of_layouts"

    def __init__(self, enable: bool = True):
        super().__init__(enable)


def no_bool(name: str, mode: Any) -> TypeError:
    """The error of the function ``name`` that was given something else than a bool."""
    return TypeError(f"{name}(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
