"""Calls of modules with substituted parameters and buffers, and stacked parameters of several modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..nn import Module
from ..ops.shapes.joining import stack
from ..tensors.tensor import Tensor

_ABSENT: Any = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with these tensors instead of its parameters and buffers.

    The module has its own tensors again afterwards.  A tensor that the call assigned in the module instead of a given
    one, such as the buffer of a counter, replaces it in the dictionary.

    Args:
        module: the module to call.
        parameter_and_buffer_dicts: tensors keyed by their dotted names, as in ``module.named_parameters()``, or several
            such dictionaries without common names.
        args: the arguments for the module: a tuple, or any other value as the only argument.
        kwargs: its keyword arguments.
        tie_weights: replace a tensor that the module has under several names under all of them.
        strict: require all parameters and buffers, and no other names.

    Returns:
        The result of the module.

    Raises:
        ValueError: no dictionaries are given, a name is given twice, or tied names are given different tensors.
        RuntimeError: in strict mode, names are missing or unknown.
        TypeError: a given value, or the value that it replaces, is not a tensor.
        AttributeError: there is no submodule of that name.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.Linear(2, 1)
        >>> numgrad.func.functional_call(
        ...     layer, {"weight": numgrad.tensor([[1.0, 2.0]]), "bias": numgrad.zeros(1)}, numgrad.ones(2)
        ... )
        tensor([3.])
    """
    tensors = _one_dictionary(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the buffers of several modules of one class, stacked by name along dimension 0.

    The parameters are new leaves with their own gradients.

    Args:
        models: the modules, all of one class and in one mode, training or evaluation, with parameters of the same
            shapes.

    Returns:
        The parameters and the buffers, as two dictionaries keyed by name.

    Raises:
        RuntimeError: there are no modules, or they differ in class, mode or shapes; some but not all parameters of a
            name require gradients.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    first = models[0]
    if any(model.training != first.training for model in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(first) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(model.named_parameters()) for model in models]), _stacked(
        [dict(model.named_buffers()) for model in models]
    )


def _stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    result = {}
    for name, tensor in states[0].items():
        tensors = [state[name] for state in states]
        if any(other.requires_grad != tensor.requires_grad for other in tensors):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = stack(tensors).detach()
        result[name] = stacked.requires_grad_() if tensor.requires_grad else stacked
    return result


# -- replacing -----------------------------------------------------------------------------------------------


def _one_dictionary(dictionaries: Any) -> dict[str, Tensor]:
    if isinstance(dictionaries, dict):
        return dictionaries
    if not isinstance(dictionaries, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dictionaries)}"
        )
    if not all(isinstance(tensors, dict) for tensors in dictionaries):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for tensors in dictionaries for name in tensors]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: tensor for tensors in dictionaries for name, tensor in tensors.items()}


@contextmanager
def replaced(module: Module, tensors: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Substitute these tensors in the module; on exit, the dictionary receives the tensors then in the module."""
    names = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    everywhere = _tied(names, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, names, everywhere)
    before: dict[str, Any] = {}
    try:
        for name, tensor in everywhere.items():
            before[name] = _exchange(module, name, tensor)
        yield
    finally:
        after = {name: _exchange(module, name, replacement) for name, replacement in reversed(before.items())}
        tensors.update({name: after[name] for name in tensors if name in after})


def _tied(names: dict[str, Tensor], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the given tensors under all names of the tensors that they replace."""
    groups: dict[int, list[str]] = {}
    for name, tensor in names.items():
        groups.setdefault(id(tensor), []).append(name)
    result = dict(tensors)
    for group in groups.values():
        specified = [name for name in group if name in tensors]
        if len({id(tensors[name]) for name in specified}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(specified)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if specified:
            result.update(dict.fromkeys(group, tensors[specified[0]]))
    return result


def _check_names(module: Module, names: dict[str, Tensor], tensors: dict[str, Tensor]) -> None:
    lines = [
        f"\n\t{problem} key(s): {', '.join([repr(name) for name in sorted(keys)])}."
        for problem, keys in (("Unexpected", tensors.keys() - names.keys()), ("Missing", names.keys() - tensors.keys()))
        if keys
    ]
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(lines)}")


def _exchange(module: Module, path: str, tensor: Any) -> Any:
    """Replace the tensor of this name with another one, or remove it; return the previous one."""
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    if tensor is not _ABSENT and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for registered in (owner._parameters, owner._buffers):
        if name in registered:
            before = registered[name]
            registered[name] = tensor
            return before
    before = getattr(owner, name, _ABSENT)
    if before is not _ABSENT and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, tensor)
    return before
