"""Traversal of trees of modules, by name or in sequence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from ...tensors.tensor import Tensor
from ..parameter import Parameter
from .attributes import Attributes

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Traversal"]


class Traversal(Attributes):
    """The part of a module that traverses the tree of its submodules."""

    # -- by name --------------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the submodule with this dotted name, such as ``"encoder.0"``; the module itself for ``""``.

        Raises:
            AttributeError: there is no such submodule.
        """
        names = target.split(".") if target else ()
        return functools.reduce(_submodule, names, cast("Module", self))

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule with this dotted name, or add one unless ``strict``.

        Raises:
            AttributeError: the parent module or, with ``strict``, the submodule itself is missing.
            ValueError: the name is empty, or ``module`` is not a Module.
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
        """Return the parameter with this dotted name.

        Raises:
            AttributeError: there is no such parameter.
        """
        path, _, name = target.rpartition(".")
        parameter = _attribute(self.get_submodule(path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with this dotted name.

        Raises:
            AttributeError: there is no such buffer.
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    # -- in sequence ----------------------------------------------------------------------------------------

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Return an iterator over the parameters of the module and, with ``recurse``, of all submodules, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Return an iterator over the parameters with their dotted names, each once if ``remove_duplicate``."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Return an iterator over the buffers of the module and, with ``recurse``, of all submodules, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Return an iterator over the buffers with their dotted names, each once if ``remove_duplicate``."""
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
        """Return an iterator over the direct submodules, each once."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct submodules with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Return an iterator over the module and all submodules, each once if ``remove_duplicate``."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the module and all submodules with their dotted names, each once if ``remove_duplicate``.

        ``memo`` is the set of modules to omit; the modules yielded are added to it.
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
    submodule = _attribute(module, name)
    if not isinstance(submodule, Traversal):
        raise AttributeError(f"`{name}` is not an nn.Module")
    return cast("Module", submodule)


def _attribute(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    return getattr(module, name)
