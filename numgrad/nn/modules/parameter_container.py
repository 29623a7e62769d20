"""Containers of parameters: lists and dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, Self

from ...tensors.tensor import Tensor
from ..parameter import Parameter
from .container import named_pairs, normal_index
from .module import Module

__all__ = ["ParameterDict", "ParameterList"]


def _learnt(value: Any) -> Any:
    """Return a plain tensor as a parameter, and any other value unchanged."""
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


def _line(key: Any, value: Any, type_name: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    label = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {label} containing: [{type_name} of size {'x'.join(map(str, value.shape))}]"


class ParameterList(Module):
    """A list that registers parameters; tensors become parameters, other values are kept unchanged.

    Example:
        >>> import numgrad
        >>> layers = numgrad.nn.ParameterList([numgrad.ones(2), numgrad.ones(3)])
        >>> [name for name, _ in layers.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(index)) for index in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, str(normal_index(len(self), index)))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(normal_index(len(self), index)), _learnt(value))

    def append(self, value: Any) -> Self:
        """Add a value at the end and return the list."""
        setattr(self, str(len(self)), _learnt(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end and return the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(
            _line(index, value, str(value.dtype) if isinstance(value, Tensor) else "")
            for index, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary that registers parameters; tensors become parameters, other values are kept unchanged.

    A plain dictionary is read in the order of its sorted keys, an ordered one in its own order.

    Example:
        >>> import numgrad
        >>> layers = numgrad.nn.ParameterDict({"left": numgrad.ones(2), "right": numgrad.ones(3)})
        >>> [name for name, _ in layers.named_parameters()]
        ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _checked(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self._keys and hasattr(self, self._checked(key)):
            raise KeyError(f"attribute '{key}' already exists")
        setattr(self, key, _learnt(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, after setting it to ``default`` if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value of ``key``."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last name and value."""
        key, _ = self._keys.popitem()
        value = self[key]
        delattr(self, key)
        return key, value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, or ``default`` if it is missing."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return another dictionary with ``default`` for each of the keys."""
        return ParameterDict(OrderedDict((key, default) for key in keys))

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names and values."""
        return ((key, self[key]) for key in self)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from pairs of name and value."""
        if isinstance(parameters, ParameterDict):
            pairs = list(parameters.items())
        else:
            pairs = named_pairs("ParameterDict", parameters)
        if isinstance(parameters, dict) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: Any) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        result = other.copy()
        result.update(self.items())
        return result

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            _line(key, value, value._layout.type.name if isinstance(value, Tensor) else "")
            for key, value in self.items()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")
