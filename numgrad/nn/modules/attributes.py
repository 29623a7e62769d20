"""Attribute assignment of modules, which registers parameters, buffers and submodules by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...autograd.hooks import RemovableHandle, add_hook, note_module_change, note_rare_change
from ...tensors.tensor import Tensor, type_name
from ..parameter import Buffer, Parameter

if TYPE_CHECKING:
    from .module import Module

__all__ = [
    "Attributes", "register_module_buffer_registration_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

#: Hooks called as ``hook(module, name, value)`` before anything of that category is registered.
_registration_hooks: dict[str, OrderedDict[int, Callable[..., Any]]] = {
    "buffer": OrderedDict(), "module": OrderedDict(), "parameter": OrderedDict(),
}


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a parameter is registered; its result replaces the parameter."""
    return add_hook(_registration_hooks["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever a buffer is registered; its result replaces the buffer."""
    return add_hook(_registration_hooks["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a module is registered; its result replaces the module."""
    return add_hook(_registration_hooks["module"], hook)


def has_registration_hooks() -> bool:
    """Return True if any registration hooks exist."""
    return any(_registration_hooks.values())


def _after_hooks(category: str, module: Any, name: str, value: Any) -> Any:
    for hook in list(_registration_hooks[category].values()):
        new = hook(module, name, value)
        value = value if new is None else new
    return value


class Attributes:
    """The part of a module that stores parameters, buffers and submodules apart from other attributes."""

    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]  # of modules, or None; typing.get_type_hints finds no such name here
    _non_persistent_buffers_set: set[str]
    _parameters: dict[str, Parameter | None]

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or with None only its name, as the attribute ``name``.

        Raises:
            AttributeError: ``Module.__init__`` has not been called.
            KeyError: the name is empty, contains a dot or is taken.
            TypeError: the name is not a string, or ``param`` is not a Parameter.
            ValueError: ``param`` is not a leaf of the graph.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = None if param is None else _after_hooks("parameter", self, name, param)
        note_module_change()

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor that is moved and saved with the module but is not learnt.

        It becomes the attribute ``name``; unless ``persistent``, it is left out of the ``state_dict``.

        Raises:
            AttributeError: ``Module.__init__`` has not been called.
            KeyError: the name is empty, contains a dot or is taken.
            TypeError: the name is not a string, or ``tensor`` is not a tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _after_hooks("buffer", self, name, tensor)
        note_module_change()
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule as the attribute ``name``.

        Raises:
            KeyError: the name is empty, contains a dot or is taken.
            TypeError: the name is not a string, or ``module`` is not a Module.
        """
        if module is not None and not isinstance(module, Attributes):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = _after_hooks("module", self, name, module)
        note_module_change()

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; an alias of ``add_module``."""
        self.add_module(name, module)

    def _check_name(self, category: str, name: Any, present: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{category} name should be a string. Got {type_name(name)}")
        if hasattr(self, name) and name not in present:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            separator = f', got: {name}' if category == "module" else ""
            raise KeyError(f'{category} name can\'t contain "."{separator}')
        if name == "":
            raise KeyError(f'{category} name can\'t be empty string ""')

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            members_of_kind = members.get(registry)
            if members_of_kind is not None and name in members_of_kind:
                return members_of_kind[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        parameters = members.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, parameters)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        else:
            self._set_other(name, value, members.get("_modules"), members.get("_buffers"))

    def _set_other(self, name: str, value: Any, modules: Any, buffers: Any) -> None:
        """Set an attribute that is not a parameter."""
        note_module_change()
        if isinstance(value, Attributes):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, modules)
            modules[name] = _after_hooks("module", self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = _after_hooks("module", self, name, value)
        elif isinstance(value, Buffer) or (buffers is not None and name in buffers):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                    "expected)"
                )
            if buffers is not None and name not in buffers:
                self._forget(name, buffers)
            persistent = name not in self._non_persistent()
            if isinstance(value, Buffer):
                persistent = getattr(value, "persistent", persistent)
            self.register_buffer(name, value, persistent)
        else:
            object.__setattr__(self, name, value)
            if name in ("__class__", "__dict__"):
                note_rare_change()

    def _non_persistent(self) -> set[str]:
        return self.__dict__.get("_non_persistent_buffers_set", set())

    def _forget(self, name: str, but: dict[str, Any]) -> None:
        """Remove a name from every registry except ``but``, where it will be overwritten."""
        members = self.__dict__
        for registry in (members, members["_parameters"], members["_buffers"], members["_modules"]):
            if registry is not but:
                registry.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        note_module_change()
        members = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in members.get(registry, ()):
                del members[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())
