"""A compiled function: recorded when it is called with something new, replayed when it is not."""

from __future__ import annotations

import functools
import os
import time
import weakref
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from ..autograd.grad_mode import ORDINARY, WATCHED, state
from ..autograd.locations import Location, warn_user
from ..autograd.watching import BLOCK, span
from ..core.tensor import Tensor
from ..core.types import default_dtype_changed
from ..devices import recording
from .capture import Capture, capture
from .checking import checked_run, is_linked
from .differentiation import Differentiated
from .guards import Guard
from .linked import Arena
from .names import described
from .node import entered, freed_by, left
from .numbers import Family, given, is_number, numbers_in, without_numbers
from .program import REPORTED, Program
from .recorder import CaptureError
from .signatures import Guarded, Signature, UnknownArgumentError, key_of
from .standalone import Standalone, standalone
from .trees import Copies, mapped
from .turns import recording_turn

#: Programs that are kept for one signature, and calls with numbers of their own that are recorded.
LIMIT = 8

#: Signatures of one function that are kept: each has machine code and memory.
SIGNATURES = 64

#: Seconds after which, beyond these limits, a call is recorded in place of the oldest: that takes a hundredth of them.
PAUSE = 1.0

#: Calls of one signature that may make what the next ones find, such as an optimizer's state.
POSTPONED = 4

_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
_eager = False


def reset() -> None:
    """Forget all programs."""
    for one in [*_all]:
        one.reset()


default_dtype_changed.append(reset)  # tensors are made in it

if hasattr(os, "register_at_fork"):  # the child's kernels have one thread: what ran on several is recorded anew
    os.register_at_fork(after_in_child=reset)


def is_eager() -> bool:
    """Whether compiled functions run as they are."""
    return _eager


def set_eager(eager: bool) -> None:
    """Have compiled functions run as they are, or not."""
    global _eager
    _eager = eager


class Compiled:
    """A function that is recorded and replayed.

    Args:
        function: the function.
        full: whether one that cannot be recorded as a whole is an error.
        check: how many of the first calls of each signature are compared with the function itself.
        reuse: whether results that no backward may come to lie in the same memory in each replay.

    Attributes:
        name: what messages and profiles call it.
        signatures: by what they are looked up by.
        families: of calls that differ in nothing but numbers.
    """

    def __init__(self, function: Callable[..., Any], full: bool = False, check: int = 0, reuse: bool = False):
        functools.update_wrapper(self, function)  # first: a module's own attributes are copied, too
        self.function = function
        self.full = full
        self.check = check
        self.reuse = reuse
        self.name: str = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
        self.signatures: dict[Any, Signature] = {}
        self._told: set[str] = set()
        self.families: dict[Any, Family] = {}
        self._arena = Arena()
        self._recorded = 0.0  # when a signature was last recorded for the first time
        _all.add(self)
        self._slot = f"_compiled_{id(self)}"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        mode = state.mode
        if mode > ORDINARY or recording.recorder is not None or _eager:
            return self._aside(args, keywords)
        try:
            key, inputs = key_of(mode, args, keywords)
            signature = self.signatures.get(key)
        except (UnknownArgumentError, TypeError, RecursionError) as error:  # what has no hash, or is nested deeply
            return self._unserved(str(error), args, keywords)
        if signature is None:
            return self._with_other_numbers(mode, key, args, keywords, inputs)
        for guarded in signature.programs:
            if guarded.guard.holds(inputs) and not guarded.program.stale:
                if signature.unchecked and is_linked(guarded.program):
                    signature.unchecked -= 1
                    return checked_run(self.name, guarded.program, inputs, lambda: self._as_it_is(args, keywords))
                result = guarded.program.run(inputs)
                return self._as_it_is(args, keywords) if result is REPORTED else result
        if signature.eager is not None:
            return self._as_it_is(args, keywords)
        return self._record(signature, args, keywords, inputs)

    def _aside(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """A call in which all is not ordinary: of a replay, profilers hear as a whole."""
        profiled = state.mode & ~ORDINARY == WATCHED and not any(one.hears_operations for one in state.watchers)
        if not profiled or recording.recorder is not None or _eager:
            return self.function(*args, **keywords)
        state.mode &= ~WATCHED
        try:
            with span(BLOCK, f"compiled {self.name}"):
                return self(*args, **keywords)
        finally:
            if state.watchers:
                state.mode |= WATCHED

    def _as_it_is(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """A call of the function itself, of which watchers hear."""
        if state.watchers:
            state.mode |= WATCHED
        return self.function(*args, **keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: compiled for each object by itself."""
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if not isinstance(attributes, dict):  # of a class, or of an object with slots
            return MethodType(self, instance)
        own = attributes.get(self._slot)
        method = getattr(own, "function", None)
        if getattr(method, "__self__", None) is not instance or getattr(method, "__func__", None) is not self.function:
            # there is none yet, or that of an object of which this one is a copy
            own = attributes[self._slot] = Compiled(
                MethodType(self.function, instance), self.full, self.check, self.reuse
            )
        return own

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, (self.function, self.full, self.check, self.reuse)  # copies record programs of their own

    def reset(self) -> None:
        """Forget all programs."""
        self.signatures.clear()
        self.families.clear()
        self._arena = Arena()

    def _standalone(self, args: Sequence[Any], keywords: dict[str, Any]) -> Standalone:
        """The program of a call by itself."""
        if recording.recorder is not None:
            raise CaptureError("programs are made outside of transforms, profilers and other programs")
        _, inputs = key_of(state.mode, args, keywords)
        while True:
            with recording_turn as is_ours:
                if is_ours:
                    return standalone(self.function, args, keywords, inputs)
            time.sleep(0.001)  # another thread records

    def njit(self, *args: Any, **keywords: Any) -> Any:
        """The program of a call with these arguments, for functions that Numba compiles.

        The function takes NumPy arrays in place of the tensors among the arguments, in their order and of their
        dtypes, shapes and strides; other arguments are what they are here.  It returns new arrays: one, or a tuple
        of all that the call returns.  They are in no graph.  Parameters, gradients and the state of optimizers are
        the program's, and change as ever; gradients stay in the memory that they have when the function is made.

        To record the program the function itself is called: once, or, if that changes what the next call finds,
        such as gradients or an optimizer's state, up to four times.

        Raises:
            CaptureError: the program cannot be recorded, or parts of it run only in Python.
            TypeError: an argument of an unknown class; in a call, arrays of other dtypes.
            ValueError: in a call, arrays of other shapes or strides, or one that is changed and overlaps another.
            RuntimeError: in a call, a module or a parameter that the program finds is not what it was, or another
                thread runs the same function: make one for each.
            IndexError, and others: in a call, what the function itself raises for these values.

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
        from .numba_function import numba_function  # for which Numba loads the most of itself

        try:
            return numba_function(self._standalone(args, keywords), self.function, args, keywords)
        except CaptureError as error:
            raise CaptureError(f"{self.name} cannot be a program by itself: {error}") from None

    def save(self, path: str | os.PathLike[str], *args: Any, **keywords: Any) -> None:
        """Write the program of a call with these arguments to a file, which ``numgrad.compiler.load`` reads.

        It is recorded as by :meth:`njit`.  The file has the steps, the texts of kernels and the values of parameters
        and other tensors that the program finds; it takes tensors of these layouts, and returns what the call does.

        Raises:
            CaptureError: the program cannot be recorded, or it needs more than its arguments and tensors of its own:
                it calls Python, counts an optimizer's steps, sets gradients, draws random numbers or changes
                arguments.
        """
        from .saving import save_program  # few programs need it, and what it needs

        try:
            save_program(self._standalone(args, keywords), path)
        except CaptureError as error:
            raise CaptureError(f"{self.name} cannot be a program by itself: {error}") from None

    # -- recording ----------------------------------------------------------------------------------------

    def _unserved(self, reason: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """A call that no program is recorded for: that is said once."""
        self._tell(reason, None)
        return self._as_it_is(args, keywords)

    def _with_other_numbers(
        self, mode: int, key: Any, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor]
    ) -> Any:
        """A call of a new signature; see Note [Numbers as arguments]."""
        late = time.monotonic() - self._recorded < PAUSE
        if len(self.signatures) >= SIGNATURES and late:
            return self._unserved(f"it is called in more than {SIGNATURES} ways (shapes, objects)", args, keywords)
        numbers, family = numbers_in((args, keywords)), None
        if numbers:
            others, _ = key_of(mode, *without_numbers((args, keywords)))
            family = self.families.setdefault(others, Family(self.check))
            found = family.find(inputs, numbers)
            if found is not None:
                guarded, own = found
                with family.lock:
                    own.set(numbers)
                    if family.unchecked:
                        family.unchecked -= 1
                        return checked_run(self.name, guarded.program, inputs, lambda: self._as_it_is(args, keywords))
                    result = guarded.program.run(inputs)
                return self._as_it_is(args, keywords) if result is REPORTED else result
            family.count += 1
            if family.count > LIMIT and late:
                return self._unserved("it is called with ever other numbers: give them as tensors", args, keywords)
        while len(self.signatures) >= SIGNATURES:
            self.signatures.pop(next(iter(self.signatures)), None)  # another thread may do the same
        self._recorded = time.monotonic()
        signature = self.signatures[key] = Signature(described(args, keywords), unchecked=self.check)
        return self._record(signature, args, keywords, inputs, family)

    def _record(
        self, signature: Signature, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor],
        family: Family | None = None,
    ) -> Any:
        if len(signature.programs) >= LIMIT and time.monotonic() - signature.recorded < PAUSE:
            changed = ", ".join(signature.failed[-1])
            return self._unserved(f"what it finds around it changes from call to call ({changed})", args, keywords)
        latest = signature.programs[:1]
        with recording_turn as is_ours:
            if not is_ours:  # another thread records
                return self._as_it_is(args, keywords)
            moving = any(not isinstance(one.program, Differentiated) and one.guard.is_for_gradients() for one in latest)
            found = None
            if family is not None and family.is_likely and not family.refused:
                found = self._tried(args, keywords, inputs, family, moving)
            made, originals, arguments = found or self._capture(args, keywords, inputs, moving)
        if made.recorder.broken is not None:
            self._note(signature, *made.recorder.broken)
        elif made.postponed:
            self._postpone(signature, made)
        else:
            unnamed = ["the memory or the gradients of arguments, or what backward came to"]
            failed = [one.guard.failed() or unnamed for one in latest]
            signature.failed, signature.recorded = [*signature.failed, *failed][-LIMIT:], time.monotonic()
            return self._kept(signature, made, originals, arguments, family)
        return _original(made.result, originals)

    def _tried(
        self, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor], family: Family, moving: bool
    ) -> tuple[Capture, dict[int, Tensor], Any] | None:
        """Record a call in which numbers are watched; None if it was undone, because it was not as those before."""
        try:
            found = self._capture(args, keywords, inputs, moving, True)
        except Exception:  # some C code takes only floats
            family.refused = True
            return None
        made, _, arguments = found
        undo, made.undo = made.undo, None
        if family.confirms(made, numbers_in(arguments)):
            return found
        family.refused = True
        if undo is None:  # the call ran as it is: it is not to run again
            return found
        undo()
        return None

    def _capture(
        self, args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor], moving: bool, watched: bool = False
    ) -> tuple[Capture, dict[int, Tensor], Any]:
        """Record a call; also the arguments that tensors stood for, by identity of these, and what the call was given.

        Where numbers are ``watched``, they are given so; where gradients are ``moving``, they are inputs.
        """
        originals: dict[int, Tensor] = {}

        def inner(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return given(value) if watched and is_number(value) else value
            if id(value) not in own:  # it may be given twice
                made = own[id(value)] = entered(value)
                if made is not value:
                    originals[id(made)] = value
            return own[id(value)]

        own: dict[int, Tensor] = {}
        as_it_is = functools.partial(self.function, *args, **keywords)
        copies = Copies()
        args = copies.of(tuple(args), inner)
        keywords = {name: copies.of(value, inner) for name, value in keywords.items()}
        inner_inputs = [own.get(id(tensor), tensor) for tensor in inputs]
        try:
            made = capture(
                self.function, args, keywords, inner_inputs, self.full, moving, watched, [*originals.values()], as_it_is
            )
            made.arena = self._arena
        finally:
            for one in own.values():
                if id(one) in originals:
                    left(one, originals[id(one)], [*originals.values()])
            changed = copies.give_back(lambda value: originals.get(id(value), value))
        if changed:
            made.postponed = True
            made.changed.append("a list or dictionary among the arguments")
        return made, originals, (args, keywords)

    def _kept(
        self, signature: Signature, made: Capture, originals: dict[int, Tensor], arguments: Any, family: Family | None
    ) -> Any:
        """Keep what was recorded, and return the result of the call."""
        guard, live = Guard(made), made.live()
        consumed = freed_by(live)
        # the first step of an optimizer makes the gradients that all others find
        is_first = bool(made.surroundings.optimizers) and not (signature.programs or signature.postponed)
        if not guard.held_by_the_call(gradients=is_first) or (live and consumed is None and made.holders):
            self._postpone(signature, made)
            return _original(made.result, originals)
        numbers = family.note(made, numbers_in(arguments)) if family else None
        result = made.result
        if not live or consumed is not None:
            program: Any = Program(made, attached=live, reuse=self.reuse, freed=consumed)
        else:
            refuse = functools.partial(self._note, signature)
            program = Differentiated(self.function, arguments, made, live, guard, signature.programs, refuse)
            result = program.first_result()
        if family is not None and numbers is not None:
            family.programs.append((Guarded(guard, program), numbers))
        else:
            others = [one for one in signature.programs if not one.program.stale]
            signature.programs = [Guarded(guard, program), *others][:LIMIT]
        return _original(result, originals)

    def _postpone(self, signature: Signature, made: Capture) -> None:
        """The call has changed what the next one finds: that is to be recorded instead, if it does so once."""
        if signature.programs and time.monotonic() - signature.recorded >= PAUSE:  # others are replayed meanwhile
            signature.postponed = 0
        signature.postponed, signature.recorded = signature.postponed + 1, time.monotonic()
        if signature.postponed >= POSTPONED:
            what = f" ({', '.join(made.changed[:3])})" if made.changed else ""
            self._note(
                signature, f"each call changes what the next one finds{what}, which a replay would not do: give such "
                "things as arguments, and return them", None
            )

    def _note(self, signature: Signature, reason: str, location: Location | None) -> None:
        """Run this signature as it is from now on, and say so.

        Raises:
            CaptureError: that was not wanted.
        """
        if not self.full:
            signature.eager = reason, location
        self._tell(reason, location)

    def _tell(self, reason: str, location: Location | None) -> None:
        where = f"\n{location}" if location is not None else ""
        text = f"{self.name} cannot be compiled as a whole: {reason}{where}"
        if self.full:
            raise CaptureError(text)
        if text not in self._told:
            self._told.add(text)
            instead = "" if location is None else " Compile the parts around this line instead."
            warn_user(f"{text}\nIt runs as it is, each operation compiled by itself.{instead}")


def _original(result: Any, originals: dict[int, Tensor]) -> Any:
    """The result with arguments in place of what the function was given for them."""
    if not originals:
        return result
    return mapped(result, lambda value: originals.get(id(value), value))
