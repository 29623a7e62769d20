"""A module's state as a dictionary of tensors: reading and loading."""

from __future__ import annotations

import itertools
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from ...autograd.grad_mode import no_grad
from ...autograd.hooks import RemovableHandle, add_hook
from ...tensors.tensor import Tensor
from ..parameter import Parameter, is_lazy
from .traversal import Traversal

__all__ = ["ModuleState"]

#: The key, below a module's prefix, of the result of ``get_extra_state``.
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The keys that ``load_state_dict`` found missing, and those it did not expect."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _PrivateHook:
    """Hook of a module that was registered by a private method: it may replace the module's state."""

    def __init__(self, hook: Callable[..., Any]):
        self.hook = hook

    def __call__(self, *arguments: Any) -> Any:
        return self.hook(*arguments)


class _WithoutModule(_PrivateHook):
    """Hook of a module that is called without the module."""

    def __call__(self, module: Any, *arguments: Any) -> Any:
        return self.hook(*arguments)


class ModuleState(Traversal):
    """The part of a module that reads and loads its state."""

    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]

    #: Saved with the state, so that ``_load_from_state_dict`` can detect old states.
    _version = 1

    # -- hooks ----------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` collects the module's state."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` once the state is collected.

        It may change the dictionary in place.
        """
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before the module loads its part of a state.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`` and may change the dictionary and the lists in place.
        """
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Register a hook as :meth:`register_load_state_dict_pre_hook`, called without the module by default."""
        return add_hook(self._load_state_dict_pre_hooks, hook if with_module else _WithoutModule(hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a hook as :meth:`register_state_dict_post_hook`, which may return another dictionary."""
        return add_hook(self._state_dict_hooks, _PrivateHook(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module and all submodules have loaded their state."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- saving ---------------------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return further state, of any type, for the ``state_dict``; subclasses may define it."""
        raise RuntimeError("get_extra_state is not defined: a module that is to have extra state defines it")

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of ``get_extra_state``; subclasses may define it."""
        raise RuntimeError("set_extra_state is not defined: a module that has extra state defines it")

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Return all parameters and persistent buffers, by their dotted names.

        The tensors share the module's memory and are detached from the graph unless ``keep_vars``.  With
        ``destination``, they are added to that dictionary; ``prefix`` precedes every name.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            result = hook(self, destination, prefix, local_metadata)
            if isinstance(hook, _PrivateHook):
                destination = destination if result is None else result
            elif result is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Add the state of this module, without its submodules; subclasses may extend it."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        """Return the parameters and persistent buffers of this module alone."""
        members = itertools.chain(self._parameters.items(), self._buffers.items())
        left_out = self._non_persistent_buffers_set
        return {name: member for name, member in members if member is not None and name not in left_out}

    # -- loading --------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state, as returned by ``state_dict``, into the parameters and buffers.

        ``strict`` requires that the names match exactly.  With ``assign``, the tensors themselves become the module's,
        with their dtypes, rather than being copied.

        Returns:
            The missing names and the unexpected names.

        Raises:
            TypeError: ``state_dict`` is not a mapping.
            RuntimeError: a tensor or, with ``strict``, a name does not fit; the message lists all problems.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        remaining: Any = OrderedDict(state_dict)
        if metadata is not None:
            remaining._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        _load(self, remaining, "", metadata or {}, assign, keys, errors)
        if strict:
            titles = {"Missing": keys.missing_keys, "Unexpected": keys.unexpected_keys}
            errors = [
                f"{title} key(s) in state_dict: {_listed(names)}. "
                for title, names in titles.items()
                if names
            ] + errors
        if errors:
            text = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}")
        return keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the state of this module, without its submodules; subclasses may extend it.

        Problems are added to the lists, and everything else is loaded.
        """
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        members = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, present in members.items():
            key = prefix + name
            if key in state_dict:
                error = self._take(name, key, present, state_dict[key], assign)
                error_msgs += [error] if error else []
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra:
                    continue
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else members):
                    unexpected_keys.append(key)

    def _take(self, name: str, key: str, present: Tensor, loaded: Any, assign: bool) -> str | None:
        """Set a parameter or buffer; return a description of the problem, if any."""
        if not isinstance(loaded, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(loaded)}"
            )
        if is_lazy(present) and is_lazy(loaded):
            return None
        if not present.shape and loaded.shape == (1,):
            loaded = loaded[0]  # a number, in the form of older programs
        if loaded.shape != present.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, the shape in "
                f"current model is {present.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    present.copy_(loaded)
                    return None
            if isinstance(present, Parameter):
                if isinstance(loaded, Parameter):
                    loaded.requires_grad_(present.requires_grad)
                else:
                    loaded = Parameter(loaded, requires_grad=present.requires_grad)
            setattr(self, name, loaded)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {present.size()} and '
                f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )
        return None


def _listed(names: list[str]) -> str:
    return ", ".join([f'"{name}"' for name in names])


def _load(
    module: ModuleState,
    state_dict: dict[str, Any],
    prefix: str,
    metadata: Mapping[str, Any],
    assign: bool,
    keys: _IncompatibleKeys,
    errors: list[str],
) -> None:
    """Load the parts of a state for a module and all its submodules."""
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    # All names are compared, even if load_state_dict is not strict.
    module._load_from_state_dict(state_dict, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {key: value for key, value in state_dict.items() if key.startswith(below)}
            _load(child, part, below, metadata, assign, keys, errors)
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )
