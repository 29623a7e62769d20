"""The base class of optimizers: parameter groups, state, saving and loading, hooks."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.accumulation import forget_gradients
from ..autograd.grad_mode import enable_grad
from ..autograd.hooks import RemovableHandle, add_hook
from ..core.display import shown_by
from ..core.missing import found_later
from ..tensors.tensor import Tensor, type_name

__all__ = [
    "Optimizer", "evaluated", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required",
]


class _Required:
    """The default of an option that every parameter group must provide."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_Hooks = OrderedDict[int, Callable[..., Any]]

#: Hooks of the steps of all optimizers.
_pre_hooks: _Hooks = OrderedDict()
_post_hooks: _Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook as :meth:`Optimizer.register_step_pre_hook` does, for all optimizers."""
    return add_hook(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook as :meth:`Optimizer.register_step_post_hook` does, for all optimizers."""
    return add_hook(_post_hooks, hook)


def has_step_hooks(optimizer: Optimizer) -> bool:
    """Return True if a step of the optimizer calls any hooks."""
    return any((optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks, _pre_hooks, _post_hooks))


class Optimizer:
    """The base class of all optimizers.

    A subclass provides the ``defaults`` of its options and defines ``step``.

    Args:
        params: the tensors to optimize, pairs of names and tensors, or dictionaries, each of which is a parameter group
            with its tensors under ``"params"`` and its own options.
        defaults: the values of the options for groups that do not set them.

    Raises:
        TypeError: an item of ``params`` is not a tensor, or ``params`` is a single tensor.
        ValueError: there are no parameters, a parameter is in two groups or not a leaf, or only some are named.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0], requires_grad=True)
        >>> optimizer = numgrad.optim.SGD([{"params": [x], "lr": 0.5}], momentum=0.9)
        >>> (3 * x).sum().backward()
        >>> optimizer.step()
        >>> optimizer.zero_grad()
        >>> x, x.grad, optimizer.param_groups[0]["momentum"]
        (tensor([-0.5000], requires_grad=True), None, 0.9)
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]
    _stepping = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]):
        self.defaults = defaults
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + type_name(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _patch_step_function(self) -> None:
        """Make the dictionaries of hooks; optimizers that do not call this class's constructor call this method.

        The name, and those of the dictionaries, are PyTorch's.
        """
        for name in Optimizer.__annotations__:
            if name.endswith("_hooks"):
                self.__dict__.setdefault(name, OrderedDict())  # pickles do not include them

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._patch_step_function()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    _repr_html_ = shown_by("optimizer_html")

    # -- for subclasses to define -------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure`` recomputes the loss and returns it."""
        raise NotImplementedError

    # -- parameters ---------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of tensors: ``{"params": tensors, ...}`` with options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        params = [param[1] if isinstance(param, tuple) else param for param in params]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing"
                )
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type_name(param)}"
                )
            if not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                "error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in group) != ("param_names" in param_group):
                naming = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {naming} to the optimizer"
                )
        if not set(params).isdisjoint(param for group in self.param_groups for param in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or overwrite them with zeros."""
        for group in self.param_groups:
            forget_gradients(group["params"], set_to_none)

    # -- saving and loading -------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options, with numbers instead of the parameters.

        ``"state"`` maps the number of each parameter to its state; ``"param_groups"`` has the groups, with their
        parameters' numbers under ``"params"``.  The tensors are the optimizer's own, not copies.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        first = 0
        for group in self.param_groups:
            for number, param in enumerate(group["params"], first):
                numbers.setdefault(id(param), number)
            first += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append({**packed, "params": [numbers[id(param)] for param in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: values for key, values in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            replaced = hook(self, result)
            result = result if replaced is None else replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state and the options from :meth:`state_dict`.

        Tensors are copied to the device and dtype of their parameter, except ``step``.  Parameters are matched by their
        order alone.

        Raises:
            ValueError: the number of groups, or of parameters in a group, differs.
        """
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, saved, strict=True))
        if any(len(group["params"]) != len(saved_group["params"]) for group, saved_group in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = {
            number: param
            for group, saved_group in pairs
            for number, param in zip(saved_group["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, values in state_dict["state"].items():
            if key in params:
                state[params[key]] = _fitted(values, params[key])
            else:
                state[key] = values
        for group, saved_group in pairs:
            saved_group["params"] = group["params"]
            if "param_names" in group:
                saved_group.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    # -- hooks --------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step; it may return a replacement ``(args, kwargs)``."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict`; with ``prepend``, before the existing hooks."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after :meth:`state_dict`; its result replaces the dictionary."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; its result is loaded instead."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    _optimizer_step_pre_hooks: _Hooks
    _optimizer_step_post_hooks: _Hooks
    _optimizer_state_dict_pre_hooks: _Hooks
    _optimizer_state_dict_post_hooks: _Hooks
    _optimizer_load_state_dict_pre_hooks: _Hooks
    _optimizer_load_state_dict_post_hooks: _Hooks


def _with_hooks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``step`` that calls the hooks before and after."""

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer = args[0]
        if optimizer._stepping or "_optimizer_step_pre_hooks" not in vars(optimizer):
            # a subclass's step calls this one, or its constructor did not call that of Optimizer
            return function(*args, **kwargs)
        # The list is a copy: a hook may remove itself.
        for hook in [*_pre_hooks.values(), *optimizer._optimizer_step_pre_hooks.values()]:
            replaced = hook(optimizer, args, kwargs)
            if replaced is not None:
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"{function} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        optimizer._stepping = True
        try:
            result = function(*args, **kwargs)
        finally:
            optimizer._stepping = False
        for hook in [*optimizer._optimizer_step_post_hooks.values(), *_post_hooks.values()]:
            hook(optimizer, args, kwargs)
        return result

    return step


def evaluated(closure: Callable[[], Any] | None) -> Any:
    """Return the loss that a closure computes with gradients recorded, or None without a closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def _fitted(value: Any, param: Tensor, key: Any = None) -> Any:
    """Return a copy of loaded state, with tensors in the dtype and on the device of their parameter."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.detach().clone()
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.detach().to(param.device, dtype, copy=True)
    if isinstance(value, dict):
        return {name: _fitted(item, param, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_fitted(item, param) for item in value)  # type: ignore[call-arg]
    return value


#: Names that optimizers written for PyTorch import from here.
_PRIVATE = [
    "ParamsT", "_capturable_doc", "_default_to_fused_or_foreach", "_differentiable_doc",
    "_disable_dynamo_if_unsupported", "_dispatch_sqrt", "_foreach_doc", "_fused_doc",
    "_get_capturable_supported_devices", "_get_scalar_dtype", "_get_value", "_maximize_doc", "_params_doc",
    "_stack_if_compiling", "_use_grad_for_differentiable", "_view_as_real",
]
__getattr__, _ = found_later(globals(), "optim.optimizer", dict.fromkeys(_PRIVATE, ".private_names"))
