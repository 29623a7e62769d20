"""``torch.compile`` and ``torch.compiler``: whole programs recorded once, and replayed without Python between.

How that is done is the package ``programs``; here is what users call.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .autograd.locations import warn_user
from .core.missing import found_later as _found_later
from .devices import recording
from .nn.modules.hooks import every_module
from .nn.modules.module import Module
from .programs import compiled as programs
from .programs.attached import module_has_hooks
from .programs.compiled import Compiled
from .programs.recorder import CaptureError

if TYPE_CHECKING:
    from .programs.saving import LoadedProgram
    from .viz.programs.explanation import Explanation

__all__ = [
    "CaptureError", "OptimizedModule", "allow_in_graph", "assume_constant_result", "compile",
    "cudagraph_mark_step_begin", "disable", "explain", "is_compiling", "is_dynamo_compiling", "is_exporting",
    "list_backends", "load", "reset", "set_stance",
]

_told: set[str] = set()

_STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile",
)


def told_once(text: str) -> None:
    """Warn, unless that was said before."""
    if text not in _told:
        _told.add(text)
        warn_user(text)


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: Any = "inductor", mode: str | None = None, options: Any = None, disable: bool = False, check: int = 0,
    reuse: bool = False,
) -> Any:
    """A function, module or training step that is recorded when it is called, and replayed when it is called again.

    What is recorded is which kernels run on which memory.  A replay runs them with no Python between, and gives the
    same bits.  A function is recorded anew for arguments of other layouts or with other numbers, and where what it
    finds around it has changed: parameters, whether a module is in training, options of an optimizer.  All else that
    Python reads or does while it is recorded, such as the time or what it prints, is not done again.

    What needs the values of tensors, such as ``if tensor:`` or ``item()``, cannot be recorded: such a call runs as it
    is from then on, and a warning says where that shows.

    Args:
        model: what is compiled; without it a decorator is returned.
        fullgraph: raise an error where a warning would be given.
        dynamic, backend, mode, options: accepted for PyTorch's sake.
        disable: return the model as it is.
        check: compare so many of the first calls of each kind with the function itself, bit for bit.  It is called
            twice for that, so what it does besides its result is done twice.
        reuse: have results, and the gradients that a step leaves, lie in the same memory in each replay: the next one
            overwrites them.  Results that backward may come to are new each time.

    Returns:
        a function with the attribute ``function``, or of a module a module.

    Raises:
        RuntimeError: both ``mode`` and ``options`` are given.
        CaptureError: in a call, with ``fullgraph``, what cannot be recorded.
        AssertionError: in a call, with ``check``, a replay that gives something else.

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
            disable=disable, check=check, reuse=reuse,
        )
    if disable:
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph, check, reuse)
    if isinstance(model, Compiled):
        return model
    if not callable(model):
        raise RuntimeError(f"torch.compile takes a function or a module, not {type(model).__name__}")
    return Compiled(model, fullgraph, check, reuse)


class OptimizedModule(Module):
    """A module whose calls are compiled; attributes are those of the module, ``_orig_mod``."""

    _orig_mod: Module

    def __init__(self, module: Module, fullgraph: bool = False, check: int = 0, reuse: bool = False):
        super().__init__()
        del self.__dict__["training"]  # that of the module counts
        self._orig_mod = module
        self.__dict__["compiled"] = Compiled(module, fullgraph, check, reuse)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if every_module.has_hooks and not module_has_hooks(self):  # the module calls them
            return self.compiled(*args, **keywords)
        return super().__call__(*args, **keywords)

    def forward(self, *args: Any, **keywords: Any) -> Any:
        """What the module computes."""
        return self.compiled(*args, **keywords)

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
        """The program of a call with these arguments, for functions that Numba compiles: see ``Compiled.njit``."""
        return self.compiled.njit(*args, **keywords)

    def save(self, path: str | os.PathLike[str], *args: Any, **keywords: Any) -> None:
        """Write the program of a call with these arguments to a file: see ``Compiled.save``."""
        self.compiled.save(path, *args, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        compiled = self.compiled
        return OptimizedModule, (self._orig_mod, compiled.full, compiled.check, compiled.reuse)


def load(path: str | os.PathLike[str], *, trusted: bool = False) -> LoadedProgram:
    """The program in a file that ``save`` of a compiled function wrote, for tensors of the layouts that it was saved
    for: the same bits without the program's Python, and without backward.

    The file has no pickle and no machine code.  But its kernels are texts that are compiled and run, on memory that
    numbers in the file point to: what it holds is a program, not data.  So say that you trust whoever wrote it.

    Raises:
        RuntimeError: it is not ``trusted``, it is damaged, or it was written by another version.

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
            f"{os.fspath(path)!r} holds a program, which can do anything that you can, as a pickle can: if you trust "
            "whoever wrote it, load it with trusted=True"
        )
    from .programs.saving import load_program  # few programs need it, and what it needs

    return load_program(path)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function, or a decorator that returns it, as one that is never compiled: a program that calls it is not
    compiled as a whole.  ``recursive`` is accepted for PyTorch's sake.
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
    """The function as it is."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function as it is."""
    return fn


def is_compiling() -> bool:
    """Whether this runs while a program is recorded."""
    return recording.recorder is not None


def is_dynamo_compiling() -> bool:
    """The same by another name."""
    return is_compiling()


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def explain(compiled: Any) -> Explanation:
    """What a compiled function or module has recorded, and why it does not replay what it does not.

    Of each signature there are its programs, with their launches and the conditions of being replayed, what was not as
    it was when a program was recorded anew, and why it runs as it is.

    Returns:
        an object that prints as text, with a list ``signatures``.

    Raises:
        TypeError: it is not what ``compile`` returns.

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
    from .viz.programs.explanation import explain as explained  # most programs do without

    return explained(compiled)


def reset() -> None:
    """Forget all programs that were recorded."""
    programs.reset()


def cudagraph_mark_step_begin() -> None:
    """Nothing: no graphs are kept."""


@contextlib.contextmanager
def _stance_ends(before: bool) -> Iterator[None]:
    try:
        yield
    finally:
        programs.set_eager(before)


def set_stance(stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> Any:
    """With "force_eager" compiled functions run as they are, with any other stance again as programs.

    Returns:
        a context at whose end it is as it was before; whoever does not enter it keeps the stance.

    Raises:
        RuntimeError: it is no stance.
    """
    if stance not in _STANCES:
        raise RuntimeError(f"invalid stance {stance!r}: it must be one of {', '.join(_STANCES)}")
    before = programs.is_eager()
    programs.set_eager(stance == "force_eager")
    return _stance_ends(before)


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """None are there to be chosen from."""
    return []


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "compiler")
