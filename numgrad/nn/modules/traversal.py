"""Finding the parameters, buffers and submodules of a tree of modules, by name or one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from ...core.tensor import Tensor
from ..parameter import Parameter
from .attributes import Attributes

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Traversal"]


class Traversal(Attributes):
    """The part of a module that walks the tree below it."""

    # -- by name --------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The submodule of this dotted name, such as ``"encoder.0"``; the module itself for ``""``.

        Raises:
            AttributeError: there is none.
        """
        names = target.split(".") if target else ()
        return functools.reduce(_submodule, names, cast("Module", self))

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule of this dotted name, or add one, which ``strict`` forbids.

        Raises:
            AttributeError: the module that it is to be part of is missing, or, with ``strict``, it itself is.
            ValueError: the name is empty, or ``module`` no Module.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Traversal):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            _submodule(parent, name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of this dotted name.

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        found = _attribute(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of this dotted name.

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # -- one after the other --------------------------------------------------------------------------------

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of the module and, with ``recurse``, of all below it, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names, each once if ``remove_duplicate``."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of the module and, with ``recurse``, of all below it, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names, each once if ``remove_duplicate``."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def _named_members(
        self,
        members: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str,
        recurse: bool,
        remove_duplicate: bool,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, member in members(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def children(self) -> Iterator[Module]:
        """The modules directly below this one, each once."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below this one with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all below it, each once if ``remove_duplicate``."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The module itself and all below it with their dotted names, each once if ``remove_duplicate``.

        ``memo`` is the set of modules to leave out, which those returned are added to.
        """
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def _submodule(module: Module, name: str) -> Module:
    found = _attribute(module, name)
    if not isinstance(found, Traversal):
        raise AttributeError(f"`{name}` is not an nn.Module")
    return cast("Module", found)


def _attribute(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)
