"""Compiled functions: a call with a new signature is recorded, and other calls are replayed."""

from __future__ import annotations

import functools
import os
import time
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

from ..autograd.grad_mode import ORDINARY, WATCHED, state
from ..autograd.hooks import note_module_change
from ..autograd.locations import Location, warn_user
from ..autograd.watching import BLOCK, span
from ..core.references import found, is_importable, named_copy, owner_of
from ..core.types import default_dtype_changed
from ..devices import recording
from ..tensors.tensor import Tensor
from .block_names import arguments_by_name, described
from .capture import capture
from .captured import Capture
from .checking import checked_run, is_linked
from .differentiation import Differentiated
from .guards import Guard
from .linked import Arena
from .node import freed_by
from .numbers import Family, numbers_in, without_numbers
from .program import REPORTED, Program
from .recorder import CaptureError
from .recording_lock import recording_lock
from .signatures import Guarded, Signature, UnknownArgumentError, key_of, unknown_argument
from .standalone import Standalone, standalone

#: The largest number of programs kept for one signature, and of calls recorded because of new numbers.
LIMIT = 8

#: The number of signatures kept for one function: each has machine code and memory.
SIGNATURES = 64

#: Beyond these limits, seconds between recordings that replace the oldest program; recording takes a hundredth of that.
PAUSE = 1.0

#: The number of calls of one signature that may create objects for later calls, such as an optimizer's state.
POSTPONED = 4

_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
_eager = False


def reset() -> None:
    """Forget all programs."""
    for compiled in [*_all]:
        compiled.reset()


def _unpickled(function: FunctionType, *options: Any) -> Compiled:
    """Return the compiled function whose ``_named_copy`` this is in this process, or a new one."""
    return owner_of(function) or Compiled(function, *options)


default_dtype_changed.append(reset)  # programs create tensors of the default dtype
recording.outdated.append(reset)

if hasattr(os, "register_at_fork"):  # kernels of a child have one thread; others are recorded again
    os.register_at_fork(after_in_child=reset)


def is_eager() -> bool:
    """Return True if compiled functions run uncompiled."""
    return _eager


def set_eager(eager: bool) -> None:
    """Make all compiled functions run uncompiled, or make them use programs again."""
    global _eager
    _eager = eager


class Compiled:
    """A function whose calls are recorded and replayed.

    Args:
        function: the function.
        full: True if a function that cannot be recorded as a whole is an error.
        check: the number of first replays of each signature that are compared with the function itself.
        reuse: True if results that no backward needs lie in the same memory in each replay.
        state: the objects whose changes are detected; None for all objects that the function reaches.

    Attributes:
        name: its name in messages and profiles.
        signatures: the signatures by key.
        families: the families of calls that differ only in numbers, by key.
    """

    def __init__(
        self, function: Callable[..., Any], full: bool = False, check: int = 0, reuse: bool = False,
        state: Sequence[Any] | None = None,
    ):
        functools.update_wrapper(self, function)  # first: it also copies a module's attributes
        self.function = function
        self.full = full
        self.check = check
        self.reuse = reuse
        self.state = state
        self.name: str = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
        self.signatures: dict[Any, Signature] = {}
        self.families: dict[Any, Family] = {}
        self._warned: set[str] = set()
        self._arena = Arena()
        self._recorded = 0.0  # the time when a new signature was last recorded
        _all.add(self)
        self._slot = f"_compiled_{id(self)}"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        mode = state.mode
        if mode > ORDINARY or recording.recorder is not None or _eager:
            return self._call_in_special_mode(args, keywords)
        try:
            key, inputs = key_of(mode, args, keywords)
            signature = self.signatures.get(key)
        except (UnknownArgumentError, TypeError, RecursionError) as error:  # no hash, or nested too deeply
            names = arguments_by_name(self.function, args, keywords)
            return self._refuse(f"{error}{unknown_argument(names)}", args, keywords)
        if signature is None:
            return self._call_new_signature(mode, key, args, keywords, inputs)
        for guarded in signature.programs:
            if guarded.guard.holds(inputs) and not guarded.program.stale:
                if signature.unchecked and is_linked(guarded.program):
                    return self._run_checked(signature, guarded.program, args, keywords, inputs)
                result = guarded.program.run(inputs)
                return self._run_eagerly(args, keywords) if result is REPORTED else result
        if signature.eager is not None:
            return self._run_eagerly(args, keywords)
        return self._record(signature, args, keywords, inputs)

    def _call_in_special_mode(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Call the function within a transform, another recording or a profiler, which shows a replay as one event."""
        is_profiled = state.mode & ~ORDINARY == WATCHED and not any(each.needs_operations for each in state.watchers)
        if not is_profiled or recording.recorder is not None or _eager:
            return self.function(*args, **keywords)
        state.mode &= ~WATCHED
        try:
            with span(BLOCK, f"compiled {self.name}"):
                return self(*args, **keywords)
        finally:
            if state.watchers:
                state.mode |= WATCHED

    def _run_eagerly(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Call the function itself, with the watchers."""
        if self.state is not None:
            note_module_change()  # the call may change values that guards compare only after counted changes
        if state.watchers:
            state.mode |= WATCHED
        return self.function(*args, **keywords)

    def _run_checked(
        self, counted: Signature | Family, program: Any, args: Sequence[Any], keywords: dict[str, Any],
        inputs: list[Tensor],
    ) -> Any:
        """Replay a program and compare the replay with the function itself."""
        counted.unchecked -= 1
        return checked_run(self.name, program, inputs, lambda: self._run_eagerly(args, keywords))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method of an object, which is compiled for each object separately."""
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if not isinstance(attributes, dict):  # of a class, or of an object with slots
            return MethodType(self, instance)
        compiled = attributes.get(self._slot)
        method = getattr(compiled, "function", None)
        if getattr(method, "__self__", None) is not instance or getattr(method, "__func__", None) is not self.function:
            # the object has no method yet, or that of the object from which it was copied
            method = MethodType(self.function, instance)
            compiled = attributes[self._slot] = Compiled(method, self.full, self.check, self.reuse, self.state)
        return compiled

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        # a copy records its own programs
        options = self.full, self.check, self.reuse, self.state
        if protocol < 4 or found(self.__module__, getattr(self, "__qualname__", "")) is not self:
            return Compiled, (self.function, *options)
        return self.__qualname__ if is_importable(self) else (_unpickled, (self._named_copy, *options))

    @functools.cached_property
    def _named_copy(self) -> FunctionType:
        return named_copy(self.function)  # type: ignore[arg-type]

    def reset(self) -> None:
        """Forget all programs."""
        self.signatures.clear()
        self.families.clear()
        self._arena = Arena()

    # -- standalone programs ---------------------------------------------------------------------------------------

    def _standalone(self, use: Callable[[Standalone], Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Make the standalone program of a call and return the result of ``use``."""
        try:
            return use(standalone(self.function, args, keywords))
        except CaptureError as error:
            raise CaptureError(f"{self.name} cannot be a program by itself: {error}") from None

    def njit(self, *args: Any, **keywords: Any) -> Any:
        """Return the program of a call with these arguments, for functions that Numba compiles.

        The function takes NumPy arrays instead of the tensors among the arguments, in their order and of their
        dtypes, shapes and strides; other arguments are constants.  It returns new arrays: one, or a tuple of all that
        the call returns.  The arrays belong to no graph.  Parameters, gradients and the state of optimizers belong to
        the program and change as usual; gradients stay in the memory that they have when the function is made.

        To record the program, the function itself is called: usually once, or up to four times if its calls change
        state for later calls, such as gradients or an optimizer's state.

        Raises:
            CaptureError: the program cannot be recorded, or parts of it run only in Python.
            TypeError: an argument of an unknown class; in a call, arrays of other dtypes.
            ValueError: in a call, arrays of other shapes or strides, or one that is changed and overlaps another.
            RuntimeError: in a call, a module or a parameter of the program has changed, or another thread runs the
                same function: make one for each.
            IndexError, and others: in a call, the error that the function itself raises for these values.

        Example:
            >>> import numba, numgrad, numpy
            >>> @numgrad.compile
            ... def f(x):
            ...     return (x * x).sum()
            >>> energy = f.njit(numgrad.ones(3))
            >>> @numba.njit
            ... def largest(rows):
            ...     return max([energy(row)[()] for row in rows])
            >>> float(largest(numpy.eye(3, dtype=numpy.float32) * 2))
            4.0
        """
        from .numba_function import numba_function  # it imports a large part of Numba

        return self._standalone(lambda program: numba_function(program, self.function, args, keywords), args, keywords)

    def save(self, path: str | os.PathLike[str], *args: Any, **keywords: Any) -> None:
        """Write the program of a call with these arguments to a file, which ``numgrad.compiler.load`` reads.

        The call is recorded as in :meth:`njit`.  The file contains the steps, the texts of kernels, and the values of
        parameters and other tensors.  The loaded program takes tensors of these layouts, and returns such results.

        Raises:
            CaptureError: the program cannot be recorded, or it calls Python, counts an optimizer's steps, sets
                gradients, draws random numbers or changes arguments.
        """
        from .saving import save_program  # few programs need its imports

        self._standalone(lambda program: save_program(program, path), args, keywords)

    # -- recording -------------------------------------------------------------------------------------------------

    def _refuse(self, reason: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Run a call that cannot be recorded, and warn once."""
        self._warn(reason, None)
        return self._run_eagerly(args, keywords)

    def _call_new_signature(
        self, mode: int, key: Any, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor]
    ) -> Any:
        """Replay or record a call of a new signature; see Note [Numbers as arguments]."""
        is_soon = time.monotonic() - self._recorded < PAUSE
        if len(self.signatures) >= SIGNATURES and is_soon:
            return self._refuse(f"it is called in more than {SIGNATURES} ways (shapes, objects)", args, keywords)
        numbers, family = numbers_in((args, keywords)), None
        if numbers:
            family_key, _ = key_of(mode, *without_numbers((args, keywords)))
            family = self.families.setdefault(family_key, Family(self.check))
            match = family.find(inputs, numbers)
            if match is not None:
                guarded, memory = match
                with family.lock:
                    memory.set(numbers)
                    if family.unchecked:
                        return self._run_checked(family, guarded.program, args, keywords, inputs)
                    result = guarded.program.run(inputs)
                return self._run_eagerly(args, keywords) if result is REPORTED else result
            family.count += 1
            if family.count > LIMIT and is_soon:
                return self._refuse("its numbers differ in every call: pass them as tensors", args, keywords)
        while len(self.signatures) >= SIGNATURES:
            self.signatures.pop(next(iter(self.signatures)), None)  # another thread may do the same
        self._recorded = time.monotonic()
        signature = self.signatures[key] = Signature(described(args, keywords), unchecked=self.check)
        return self._record(signature, args, keywords, inputs, family)

    def _record(
        self, signature: Signature, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor],
        family: Family | None = None,
    ) -> Any:
        """Record a call, store its program if it can be replayed, and return the result."""
        if len(signature.programs) >= LIMIT and time.monotonic() - signature.recorded < PAUSE:
            changed = ", ".join(signature.failed[-1])
            return self._refuse(f"its environment changes from call to call ({changed})", args, keywords)
        latest = signature.programs[:1]
        with recording_lock as is_ours:
            if not is_ours:  # another thread records
                return self._run_eagerly(args, keywords)
            moving = any(
                not isinstance(each.program, Differentiated) and each.guard.fails_for_gradients() for each in latest
            )
            captured = None
            if family is not None and family.first is not None:
                captured = self._capture_trial(args, keywords, inputs, family, moving)
            if captured is None:
                is_first = not (signature.programs or signature.postponed)
                captured = capture(
                    self.function, args, keywords, inputs, self.full, moving, False, is_first, self.state
                )
        if captured.recorder.broken is not None:
            self._stop_recording(signature, *captured.recorder.broken)
        elif captured.postponed:
            self._postpone(signature, captured)
        else:
            unnamed = ["the memory or the gradients of arguments, or the results that backward used"]
            failed = [each.guard.failed() or unnamed for each in latest]
            signature.failed, signature.recorded = [*signature.failed, *failed][-LIMIT:], time.monotonic()
            return self._store(signature, captured, family)
        return captured.result

    def _capture_trial(
        self, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor], family: Family, moving: bool
    ) -> Capture | None:
        """Record a call that watches numbers.  Return None if it was undone because it differs in more than numbers."""
        try:
            captured = capture(self.function, args, keywords, inputs, self.full, moving, True, False, self.state)
        except Exception:  # some C code takes only floats
            family.refuse()
            return None
        captured.numbers = family.generalized(captured, numbers_in(captured.arguments))
        if captured.numbers is None:
            family.refuse()
            captured.undo()
            return None
        captured.before = None
        return captured

    def _store(self, signature: Signature, captured: Capture, family: Family | None) -> Any:
        """Store the program of a recorded call, and return the result."""
        captured.arena = self._arena
        guard, live, memory = Guard(captured), captured.live(), captured.numbers
        consumed = freed_by(live)
        # the first step of an optimizer creates the gradients that later steps use
        is_first = bool(captured.environment.optimizers) and not (signature.programs or signature.postponed)
        if not guard.held_after_call(is_first) or (live and consumed is None and captured.gradient_owners):
            self._postpone(signature, captured)
            return captured.result
        if family is not None and memory is None:
            family.add(captured, numbers_in(captured.arguments))
        result = captured.result
        if not live or consumed is not None:
            program: Any = Program(captured, attached=live, reuse=self.reuse, freed=consumed)
        else:
            stop = functools.partial(self._stop_recording, signature)
            program = Differentiated(self.function, captured, live, guard, signature.programs, stop)
            result = program.first_result()
        if family is not None and memory is not None:
            family.programs.append((Guarded(guard, program), memory))
        else:
            others = [each for each in signature.programs if not each.program.stale]
            signature.programs = [Guarded(guard, program), *others][:LIMIT]
        return result

    def _postpone(self, signature: Signature, captured: Capture) -> None:
        """Postpone recording, because this call has changed state that the next one reads; give up after several."""
        if signature.programs and time.monotonic() - signature.recorded >= PAUSE:  # other programs were replayed since
            signature.postponed = 0
        signature.postponed, signature.recorded = signature.postponed + 1, time.monotonic()
        if signature.postponed >= POSTPONED:
            what = f" ({', '.join(captured.changed[:3])})" if captured.changed else ""
            self._stop_recording(
                signature, f"each call changes state that the next one reads{what}, which a replay would not do: pass "
                "such values as arguments, and return them", None
            )

    def _stop_recording(self, signature: Signature, reason: str, location: Location | None) -> None:
        """Run this signature uncompiled from now on, and warn.

        Raises:
            CaptureError: the whole function must be compiled.
        """
        if not self.full:
            signature.eager = reason, location
        self._warn(reason, location)

    def _warn(self, reason: str, location: Location | None) -> None:
        where = f"\n{location}" if location is not None else ""
        text = f"{self.name} cannot be compiled as a whole: {reason}{where}"
        if self.full:
            raise CaptureError(text)
        if text not in self._warned:
            self._warned.add(text)
            instead = "" if location is None else " Compile the parts around this line instead."
            warn_user(f"{text}\nIt runs uncompiled, operation by operation.{instead}")
