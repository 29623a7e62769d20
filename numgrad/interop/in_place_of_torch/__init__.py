"""Use of numgrad instead of PyTorch: imports of ``torch`` and its modules yield numgrad's modules of the same names.

Note [What stands for torch]
A finder, inserted before Python's own, handles ``torch`` and all names below it.  The module ``torch.nn.functional`` is
``numgrad.nn.functional`` itself, so that classes are identical under either name.  Only ``torch`` is a separate module
with numgrad's names.  Its version is PyTorch's, because programs compare it.  Its ``compile`` issues a warning where
``fullgraph=True`` would be an error, because the flag is a statement about PyTorch's compiler.

Modules whose names numgrad has elsewhere, or lacks, are made on import; see ``module_paths``.  The classes of tensors
name PyTorch's modules as theirs, because libraries choose their functions by these names.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numgrad

from ...core import missing
from . import names as names_of_torch
from .module_paths import has_module, make_module
from .torch_version import TORCH_VERSION

__all__ = ["PROCESSES", "install_as_torch", "missing_names"]

#: The directory of a module ``torch`` for other processes: see there.
PROCESSES = str(Path(__file__).with_name("processes"))


class _Finder(MetaPathFinder, Loader):
    """A finder of ``torch`` and its submodules in numgrad."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of the module, or None if numgrad has no such module."""
        if fullname.partition(".")[0] != "torch":
            return None
        if not has_module(fullname) and importlib.util.find_spec(_numgrad_name(fullname)) is None:
            missing.modules_asked.add(fullname)
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module that Python created with numgrad's, or fill it if it is ``torch``."""
        if module.__name__ == "torch":
            names = vars(module)

            def attribute(name: str) -> Any:
                if has_module(f"torch.{name}"):
                    return importlib.import_module(f"torch.{name}")
                source = names_of_torch if hasattr(names_of_torch, name) else numgrad
                value = names[name] = getattr(source, name)  # cached: a lookup takes half as long as an operation
                return value

            names.update(
                __getattr__=attribute, __dir__=lambda: dir(numgrad), __doc__=numgrad.__doc__,
                __version__=TORCH_VERSION, compile=_compile, torch=module,
            )
        else:
            sys.modules[module.__name__] = _module(module.__name__)


class _LastFinder(MetaPathFinder, Loader):
    """A finder of the modules that ``from torch.utils import model_zoo`` and the like name.

    Python looks for them below the name of the module itself, ``numgrad.utils``, where other finders find no such file.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module that is made on import; None for any other module."""
        above, _, below = fullname.partition(".")
        return ModuleSpec(fullname, self) if above == "numgrad" and has_module(f"torch.{below}") else None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module that Python created with that of ``torch``."""
        sys.modules[module.__name__] = importlib.import_module("torch" + module.__name__.removeprefix("numgrad"))


def _numgrad_name(fullname: str) -> str:
    return "numgrad" + fullname.removeprefix("torch")


def _module(fullname: str) -> ModuleType:
    return make_module(fullname) if has_module(fullname) else importlib.import_module(_numgrad_name(fullname))


def _compile(*args: Any, fullgraph: bool = False, **keywords: Any) -> Any:
    """Call ``numgrad.compile`` without ``fullgraph``: what PyTorch compiles as a whole may read values."""
    return numgrad.compile(*args, **keywords)


class _Installed:
    """The result of :func:`install_as_torch`: a context manager whose end restores the previous state."""

    def __init__(self, *finders: MetaPathFinder):
        self._finders = finders

    def __enter__(self) -> ModuleType:
        return importlib.import_module("torch")

    def __exit__(self, *error: object) -> None:
        if any(finder in sys.meta_path for finder in self._finders):
            for finder in self._finders:
                sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
                _forget(name)
            _name_modules("numgrad", "numgrad.nn.parameter")


def install_as_torch() -> _Installed:
    """Make ``import torch`` yield numgrad in all modules imported from now on; PyTorch need not be installed.

    As a context manager, it restores the previous state at its end; code that imported ``torch`` inside keeps numgrad.

    Raises:
        RuntimeError: PyTorch itself is already imported.

    Usage::

        with numgrad.install_as_torch():
            import program_written_for_pytorch
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return _Installed()
    if "torch" in sys.modules:
        raise RuntimeError("PyTorch has been imported already: numgrad can only take its place before that")
    first, last = _Finder(), _LastFinder()
    sys.meta_path.insert(0, first)
    sys.meta_path.append(last)
    _name_modules("torch", "torch.nn.parameter")
    return _Installed(first, last)


def _forget(name: str) -> None:
    """Remove a module that was imported as ``torch``, also as an attribute of numgrad's module above it."""
    module = sys.modules.pop(name)
    above, _, last = _numgrad_name(name).rpartition(".")
    if module.__name__ == name and vars(sys.modules.get(above, module)).get(last) is module:
        delattr(sys.modules[above], last)


def _name_modules(of_tensor: str, of_parameter: str) -> None:
    """Set the names of the modules that tensors, generators and parameters show as those of their classes."""
    for cls in (numgrad.Tensor, numgrad.Generator, *numgrad.Generator.__subclasses__()):
        cls.__module__ = of_tensor
    numgrad.nn.Parameter.__module__ = of_parameter


def missing_names() -> list[str]:
    """Return the names of PyTorch that this process looked up and numgrad lacks, such as "torch.linalg.svd"."""
    return sorted(missing.modules_asked | missing.names_asked())
