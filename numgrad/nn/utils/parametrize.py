"""Parametrizations: parameters and buffers of modules that are computed from others whenever they are read.

``register_parametrization`` replaces a tensor of a module by a ``ParametrizationList`` in the module's
``parametrizations``.  The list holds the original tensor, or several, and the modules that compute the parametrized
tensor from it.  The module's class is replaced by a subclass with a property named after the tensor.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]

# -- caching ------------------------------------------------------------------------------------------------------

#: The tensors computed inside ``cached``, by module and name, and the nesting depth of ``cached``.
_computed: dict[tuple[int, str], Tensor] = {}
_caching = 0


@contextmanager
def cached() -> Iterator[None]:
    """Context manager in which each parametrized tensor is computed at its first read and then cached.

    Example:
        >>> import numgrad
        >>> from numgrad import nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> with nn.utils.parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _computed.clear()


# -- the modules that compute a tensor ----------------------------------------------------------------------------


class ParametrizationList(ModuleList):
    """The modules that compute a tensor in sequence, and the inputs of the first one.

    The input is ``original`` or, if the ``right_inverse`` of the first module returns several tensors, ``original0``,
    ``original1`` and so on.  They are parameters if the tensor was one, otherwise buffers.  The list is usually created
    by ``register_parametrization``.

    Args:
        modules: at least one module.  A module's ``right_inverse`` maps a result to the inputs that yield it; for a
            module without one, the input is assumed to equal the result.
        original: the tensor to be parametrized.
        unsafe: True to allow the computed tensor to differ in shape and dtype.

    Raises:
        ValueError: there are no modules; a ``right_inverse`` returns anything other than tensors; or, unless
            ``unsafe``, the computed tensor differs in shape or dtype.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach()
        originals = _inverted(self, original)
        _check_originals(originals)
        self.is_tensor = isinstance(originals, Tensor)
        self.ntensors = 1 if self.is_tensor else len(originals)
        if self.is_tensor:
            if originals.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {originals.dtype}"
                )
            with no_grad():
                original.set_(originals)
            put(self, "original", original)
        else:
            for name, tensor in zip(self._names(), originals, strict=True):
                is_parameter = isinstance(original, Parameter)
                put(self, name, Parameter(tensor, original.requires_grad) if is_parameter else tensor)
        if not unsafe:
            _check_unchanged(
                self(), before, "`unsafe` flag", "unparametrized {what}: {before}\nparametrized {what}: {after}"
            )

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]

    def forward(self) -> Tensor:
        """Return the computed tensor."""
        first, *others = self
        result = first(*[getattr(self, name) for name in self._names()])
        for module in others:
            result = module(result)
        return result

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Set the originals to the values from which ``value`` is computed.

        Raises:
            RuntimeError: a module has no ``right_inverse``.
            ValueError: a ``right_inverse`` returns anything other than tensors, or tensors that differ from the
                originals in number or dtype.
        """
        for module in reversed(self):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        for name, tensor in zip(self._names(), self._new_originals(value), strict=True):
            original = getattr(self, name)
            if tensor.dtype != original.dtype:
                subject = "The tensor returned by" if self.is_tensor else f"Tensor {name[8:]} returned by"
                raise ValueError(
                    f"{subject} `right_inverse` has dtype {tensor.dtype} while `{name}` has dtype {original.dtype}"
                )
            original.set_(tensor)

    def _new_originals(self, value: Any) -> Sequence[Tensor]:
        """Return the inputs of the first module, after checking them."""
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            return [value]
        if isinstance(value, Tensor) or not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(value)}."
            )
        for number, tensor in enumerate(value):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors. Got element {number} of type "
                    f"{type(tensor).__name__}."
                )
        return value


@no_grad()
def _inverted(modules: Iterable[Any], value: Any) -> Any:
    """Return the inputs of the first module for which the last yields ``value``, as far as they are invertible."""
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            with suppress(NotImplementedError):  # subclasses may be left to define it
                value = module.right_inverse(value)
    return value


def _check_originals(originals: Any) -> None:
    requirement = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)"
    if isinstance(originals, Tensor):
        return
    if not isinstance(originals, Sequence):
        raise ValueError(f"{requirement}. Got {type(originals).__name__}")
    for number, tensor in enumerate(originals):
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{requirement}. Got element {number} of the sequence with type {type(tensor).__name__}.")


def _check_unchanged(result: Any, before: Tensor, flag: str, detail: str) -> None:
    """Raise unless the result of a parametrization is a tensor with the dtype and shape of the original."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    _check_same(
        result, before,
        f"Registering a parametrization may not change the {{what}} of the tensor, unless {flag} is enabled.\n{detail}",
    )


def _check_same(result: Tensor, before: Tensor, message: str) -> None:
    """Raise ValueError with a message, formatted with the difference, unless two tensors agree in dtype and shape."""
    for attribute in ("dtype", "shape"):
        expected, actual = getattr(before, attribute), getattr(result, attribute)
        if expected != actual:
            raise ValueError(message.format(what=attribute, before=expected, after=actual))


# -- modules with parametrizations --------------------------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module by ``parametrization``; return the module.

    Reading ``module.<tensor_name>`` then calls ``parametrization`` with the original tensor, or with the result of
    ``right_inverse``, if defined, for that tensor.  Assigning to the attribute calls ``right_inverse``.  A second
    parametrization takes the result of the first.

    Args:
        module: the module with the tensor.
        tensor_name: the tensor's name.
        parametrization: a module that maps the original to the new tensor.
        unsafe: True to allow changes of shape and dtype, without a check.

    Raises:
        ValueError: there is no such tensor, or the parametrization returns something of the wrong type, shape or dtype.

    Example:
        >>> import numgrad
        >>> from numgrad import nn
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).t()
        >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.t()).all())
        True
        >>> list(layer.state_dict())
        ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    holder: Any = module
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        present = holder.parametrizations[tensor_name]
        present.append(parametrization)
        present.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        names = [*holder.parametrizations, tensor_name] if is_parametrized(module) else [tensor_name]
        module.__class__ = _class_with(type_before_parametrizations(module), names)
        if len(names) == 1:
            holder.parametrizations = ModuleDict()
        holder.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_further(module: Module, name: str, parametrization: Any) -> None:
    """Raise unless a further parametrization, and its inverse, preserve shape and dtype."""
    before = getattr(module, name)
    result = parametrization(before)
    shown = f"module.{name}.{{what}}: {{before}}\nparametrization(module.{name}).{{what}}: {{after}}"
    _check_unchanged(result, before, "the `unsafe` flag", shown)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        original = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(original, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(original).__name__}")
    _check_same(
        original, before,
        f"The tensor returned by parametrization.right_inverse must have the same {{what}} as module.{name}, unless "
        f"the `unsafe` flag is enabled.\nmodule.{name}.{{what}}: {{before}}\nreturned {{what}}: {{after}}",
    )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return True if this tensor of a module, or any if no name is given, is parametrized."""
    present = getattr(module, "parametrizations", None)
    if not isinstance(present, ModuleDict):
        return False
    return len(present) > 0 if tensor_name is None else tensor_name in present


def type_before_parametrizations(module: Module) -> type:
    """Return the class of a module before parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def _class_with(base: type, names: Iterable[str]) -> Any:
    """Return a subclass of ``base`` with computed tensors of these names."""
    members: dict[str, Any] = {"__module__": __name__, "__getstate__": _refuse_pickling}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _deep_copy
    members.update({name: _computed_tensor(name) for name in names})
    return type(f"Parametrized{base.__name__}", (base,), members)


def _computed_tensor(name: str) -> property:
    def read(self: Any) -> Tensor:
        if not _caching:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _computed:
            _computed[key] = self.parametrizations[name]()
        return _computed[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)
        _computed.pop((id(self), name), None)

    return property(read, write)


def _deep_copy(self: Any, memo: dict[int, Any]) -> Any:
    clone = memo[id(self)] = object.__new__(type(self))
    clone.__dict__ = copy.deepcopy(self.__dict__, memo)
    return clone


def _refuse_pickling(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Turn a parametrized tensor into a parameter or buffer again; return the module.

    Its value is the computed one or, unless ``leave_parametrized``, that of the original.  A single original becomes
    the module's tensor again, as the same object.

    Raises:
        ValueError: the tensor is not parametrized, or it has several originals and ``leave_parametrized`` is False.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    holder: Any = module
    present = holder.parametrizations[tensor_name]
    if present.is_tensor:
        tensor = present.original
        if leave_parametrized:
            with no_grad():
                tensor.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        tensor = Parameter(tensor) if tensor.requires_grad else tensor
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    base = type_before_parametrizations(module)
    del holder.parametrizations[tensor_name]
    names = list(holder.parametrizations)
    module.__class__ = _class_with(base, names) if names else base
    if not names:
        del holder.parametrizations
    put(module, tensor_name, tensor)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Share the parametrizations and originals of one tensor, or of all, with ``to_module``; return it.

    A tensor that ``to_module`` lacks is added.  If ``from_module`` has no
    parametrizations, nothing is changed.
    """
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module.parametrizations
    for name in list(source) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source[name]:
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations
        for original in source[name]._names():
            setattr(target[name], original, getattr(source[name], original))
    return to_module


def put(module: Module, name: str, tensor: Tensor) -> None:
    """Register a parameter as such, and any other tensor as a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)
