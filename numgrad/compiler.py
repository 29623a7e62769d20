"""``torch.compile`` and ``torch.compiler``: programs recorded once, and replayed without Python in between.

This module is the user interface; the package ``programs`` is the implementation.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .autograd.locations import warn_user
from .core.missing import found_later as _found_later
from .devices import recording
from .devices.generators import Generator
from .nn.modules.hooks import every_module
from .nn.modules.module import Module
from .optim.lr_scheduler import LRScheduler
from .optim.optimizer import Optimizer
from .programs import compiled as programs
from .programs.attached import module_has_hooks
from .programs.compiled import Compiled
from .programs.recorder import CaptureError
from .tensors.tensor import Tensor

if TYPE_CHECKING:
    from .programs.saving import LoadedProgram
    from .viz.programs.explanation import ProgramExplanation

__all__ = [
    "CaptureError", "OptimizedModule", "allow_in_graph", "assume_constant_result", "compile",
    "cudagraph_mark_step_begin", "disable", "explain", "is_compiling", "is_dynamo_compiling", "is_exporting",
    "list_backends", "load", "reset", "set_stance",
]

#: Classes of the objects whose changes a user may list.
_STATE = (Module, Optimizer, LRScheduler, Tensor, Generator)

_issued: set[str] = set()

_STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile",
)


def warn_once(text: str) -> None:
    """Issue a warning unless it was issued before."""
    if text not in _issued:
        _issued.add(text)
        warn_user(text)


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: Any = "inductor", mode: str | None = None, options: Any = None, disable: bool = False, check: int = 0,
    reuse: bool = False, state: Iterable[Any] | None = None,
) -> Any:
    """Return a function, module or training step that is recorded when first called, and replayed afterwards.

    The record consists of the kernels that run and the memory that they use.  A replay runs them without Python in
    between, and gives the same bits.  A function is recorded again for arguments with other layouts or other numbers,
    and after changes of its environment: parameters, the training mode of a module, options of an optimizer.  Anything
    else that Python reads or does during recording, such as reading the time or printing, is not repeated.

    Code that needs the values of tensors, such as ``if tensor:`` or ``item()``, cannot be recorded.  Such a call runs
    uncompiled from then on, and a warning shows the place.

    Args:
        model: the function or module to compile; without it, a decorator is returned.
        fullgraph: raise an error instead of a warning.
        dynamic, backend, mode, options: accepted for compatibility with PyTorch.
        disable: return the model unchanged.
        check: compare this many of the first calls of each kind with the function itself, bit for bit.  The function is
            called twice for this, so its side effects occur twice.
        reuse: keep results, and the gradients left by a step, in the same memory in each replay, so that the next
            replay overwrites them.  Results that backward may reach are always new.
        state: modules, optimizers, schedulers, tensors and generators, or lists, tuples and dictionaries of these.
            With it, a call looks only at the arguments and at these objects; all else that the function finds is
            constant.

    Returns:
        A function with the attribute ``function``, or for a module, a module.

    Raises:
        RuntimeError: both ``mode`` and ``options`` are given.
        TypeError: ``state`` has an object of another class.
        CaptureError: in a call with ``fullgraph``, if it cannot be recorded.
        AssertionError: in a call with ``check``, if a replay gives another result.

    Example:
        >>> import numgrad as torch
        >>> @torch.compile
        ... def f(x):
        ...     return (x * x + 1).sum()
        >>> f(torch.ones(3)), f(torch.zeros(3))
        (tensor(6.), tensor(3.))
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
            disable=disable, check=check, reuse=reuse, state=state,
        )
    listed = None if state is None else _listed(state)
    if disable:
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph, check, reuse, listed)
    if isinstance(model, Compiled):
        return model
    if not callable(model):
        raise RuntimeError(f"torch.compile takes a function or a module, not {type(model).__name__}")
    return Compiled(model, fullgraph, check, reuse, listed)


def _listed(state: Any) -> list[Any]:
    """Return the objects in ``state``."""
    if isinstance(state, _STATE):
        return [state]
    if isinstance(state, dict):
        state = state.values()
    elif not isinstance(state, list | tuple):
        raise TypeError(
            f"compile(): argument 'state' cannot have an object of the class {type(state).__name__}: list the modules, "
            "optimizers, schedulers, tensors and generators whose changes count"
        )
    return [item for part in state for item in _listed(part)]


class OptimizedModule(Module):
    """Module whose calls are compiled; its attributes are those of the original module, ``_orig_mod``."""

    _orig_mod: Module

    def __init__(
        self, module: Module, fullgraph: bool = False, check: int = 0, reuse: bool = False,
        state: list[Any] | None = None,
    ):
        super().__init__()
        del self.__dict__["training"]  # defer to the original module's flag
        self._orig_mod = module
        part = module if module._compiled_part is None else getattr(module, module._compiled_part)
        self.__dict__["compiled"] = compiled = Compiled(part, fullgraph, check, reuse, state)
        self.__dict__["_called"] = compiled if part is module else module
        if part is not module:
            module.__dict__["_program"] = compiled

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if every_module.has_hooks and not module_has_hooks(self):  # the original module calls them
            return self._called(*args, **keywords)
        return super().__call__(*args, **keywords)

    def forward(self, *args: Any, **keywords: Any) -> Any:
        """Return the result of the module."""
        return self._called(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def njit(self, *args: Any, **keywords: Any) -> Any:
        """Return the program of a call with these arguments, for functions compiled by Numba: see ``Compiled.njit``."""
        return self.compiled.njit(*args, **keywords)

    def save(self, path: str | os.PathLike[str], *args: Any, **keywords: Any) -> None:
        """Write the program of a call with these arguments to a file: see ``Compiled.save``."""
        self.compiled.save(path, *args, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        compiled = self.compiled
        return OptimizedModule, (self._orig_mod, compiled.full, compiled.check, compiled.reuse, compiled.state)


def load(path: str | os.PathLike[str], *, trusted: bool = False) -> LoadedProgram:
    """Load a program from a file written by ``save`` of a compiled function.

    It takes tensors of the layouts that it was saved for and returns the same bits, without the program's Python and
    without backward.  The file contains neither a pickle nor machine code.  Its kernels, however, are source texts that
    are compiled and run, on memory addressed by numbers in the file: the file is a program, not data.  Set ``trusted``
    only for a source that you trust.

    Raises:
        RuntimeError: ``trusted`` is not set, or the file is damaged or was written by another version.

    Example:
        >>> import os, tempfile
        >>> import numgrad
        >>> model = numgrad.nn.Linear(3, 2)
        >>> path = os.path.join(tempfile.mkdtemp(), "model.zip")
        >>> numgrad.compile(lambda x: model(x)).save(path, numgrad.ones(4, 3))
        >>> program = numgrad.compiler.load(path, trusted=True)
        >>> bool((program(numgrad.ones(4, 3)) == model(numgrad.ones(4, 3))).all())
        True
    """
    if not trusted:
        raise RuntimeError(
            f"{os.fspath(path)!r} holds a program, which can run arbitrary code, as a pickle can: pass trusted=True if "
            "you trust its source"
        )
    from .programs.saving import load_program  # few programs need this module and its imports

    return load_program(path)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function, or a decorator, marked as never compiled; its callers then cannot be compiled as a whole.

    ``recursive`` is accepted for compatibility with PyTorch.

    Example:
        >>> import numgrad
        >>> @numgrad.compiler.disable
        ... def plain(x):
        ...     return x + 1
        >>> plain(numgrad.tensor(1))
        tensor(2)
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Module):
        return fn

    @functools.wraps(fn)
    def call(*args: Any, **keywords: Any) -> Any:
        if recording.recorder is not None:
            name = getattr(fn, "__name__", "a function")
            recording.values_read(f"{name}(), which is not to be compiled{f' ({reason})' if reason else ''},")
        return fn(*args, **keywords)

    return call


def allow_in_graph(fn: Any) -> Any:
    """Return the function unchanged."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Return the function unchanged."""
    return fn


def is_compiling() -> bool:
    """Return True while a program is being recorded.

    Example:
        >>> import numgrad
        >>> numgrad.compiler.is_compiling()
        False
    """
    return recording.recorder is not None


def is_dynamo_compiling() -> bool:
    """Return ``is_compiling()``, under another name."""
    return is_compiling()


def is_exporting() -> bool:
    """Return False: numgrad has no export."""
    return False


def explain(compiled: Any) -> ProgramExplanation:
    """Return a report of the recordings of a compiled function or module, and of the reasons for calls not replayed.

    For each signature, it lists the programs with their launches and replay conditions, the changes that caused each
    new recording, and the reason if calls run uncompiled.

    Returns:
        An object that prints as text, with a list ``signatures``.

    Raises:
        TypeError: ``compiled`` was not returned by ``compile``.

    Example:
        >>> import numgrad as torch
        >>> f = torch.compile(lambda x: (x * 2).sum())
        >>> f(torch.ones(3))
        tensor(6.)
        >>> torch.compiler.explain(f)
        compiled <lambda>: 1 signature, 1 program
        <lambda>([3] float32)
          program: 2 launches
    """
    from .viz.programs.explanation import explain as explained  # most programs do not need it

    return explained(compiled)


def reset() -> None:
    """Drop all recorded programs."""
    programs.reset()


def cudagraph_mark_step_begin() -> None:
    """Do nothing: no CUDA graphs are kept."""


@contextlib.contextmanager
def _stance_ends(before: bool) -> Iterator[None]:
    try:
        yield
    finally:
        programs.set_eager(before)


def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Any:
    """Run compiled functions uncompiled with "force_eager", and as programs with any other stance.

    Returns:
        A context manager that restores the previous setting on exit; without it, the stance remains in force.

    Raises:
        RuntimeError: ``stance`` is unknown.
    """
    if stance not in _STANCES:
        raise RuntimeError(f"invalid stance {stance!r}: it must be one of {', '.join(_STANCES)}")
    before = programs.is_eager()
    programs.set_eager(stance == "force_eager")
    return _stance_ends(before)


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return an empty list: there are no backends to choose from."""
    return []


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "compiler")
