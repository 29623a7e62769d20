"""numgrad in PyTorch's place: whatever imports ``torch``, or a module of it, gets numgrad's of that name.

Note [What stands for torch]
A finder, put before Python's own, answers for ``torch`` and all names below.  A module ``torch.nn.functional`` is
``numgrad.nn.functional`` itself, so that classes are the same by either name.  Only ``torch`` is a module of its own,
with numgrad's names: it has the version of PyTorch's, which programs compare.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numgrad

from ..core import missing

__all__ = ["install_as_torch", "missing_names"]

#: The release of PyTorch whose names and numbers numgrad follows.
TORCH_VERSION = "2.13.0"


class _Finder(MetaPathFinder, Loader):
    """Finds ``torch`` and what is below it in numgrad."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """How to load the module; None of one that numgrad has not."""
        if fullname.partition(".")[0] != "torch":
            return None
        if importlib.util.find_spec(_own(fullname)) is None:
            missing.modules_asked.add(fullname)
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Put numgrad's module in the place of the empty one that Python has made; fill that if it is ``torch``."""
        if module.__name__ == "torch":
            names = vars(module)

            def found(name: str) -> Any:
                value = names[name] = getattr(numgrad, name)  # kept: asking takes half as long as an operation
                return value

            names.update(
                __getattr__=found, __dir__=lambda: dir(numgrad), __doc__=numgrad.__doc__, __version__=TORCH_VERSION
            )
        else:
            sys.modules[module.__name__] = importlib.import_module(_own(module.__name__))


def _own(fullname: str) -> str:
    return "numgrad" + fullname.removeprefix("torch")


class _Installed:
    """What :func:`install_as_torch` returns: a context at whose end what was there before is there again."""

    def __init__(self, finder: _Finder | None):
        self._finder = finder

    def __enter__(self) -> ModuleType:
        return importlib.import_module("torch")

    def __exit__(self, *error: object) -> None:
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
            for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
                del sys.modules[name]


def install_as_torch() -> _Installed:
    """Have ``import torch`` give numgrad from now on, in all modules imported later; PyTorch need not be installed.

    Used as a context, what was there before is there again at its end; code that has imported ``torch`` inside keeps
    numgrad.

    Raises:
        RuntimeError: PyTorch itself has been imported already.

    It is used so::

        with numgrad.install_as_torch():
            import program_written_for_pytorch
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return _Installed(None)
    if "torch" in sys.modules:
        raise RuntimeError("PyTorch has been imported already: numgrad can only take its place before that")
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    return _Installed(finder)


def missing_names() -> list[str]:
    """The names of PyTorch that numgrad has not and that this process has asked for, such as "torch.linalg.svd"."""
    return sorted(missing.modules_asked | missing.names_asked())
