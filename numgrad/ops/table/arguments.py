"""Argument types that a function's annotations declare, and the error for an argument of another type.

A successful call is not checked.  Only after a call has failed are its arguments compared with the declaration.  If one
does not fit, the error names it in PyTorch's words and replaces the error that it caused.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Number, Real
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...core.layout import Layout, normal_dim, normal_dims
from ...core.types import dtype, to_dtype
from ...devices import TensorRef
from ...tensors.tensor import Tensor
from .autocasting import called_in_autocast, listed_names
from .checks import check_type


class Argument(NamedTuple):
    """Declaration of an argument: the type that users may pass, and its conversion to the form that an operation takes.

    Attributes:
        accepted: the type that users may pass, besides None if that is the default.
        normal: converts a user's value, with the number of dimensions of the first tensor, to the operation's form.
        dimension: True if the argument is one dimension or several, which a batch dimension in front shifts.
    """

    accepted: Any
    normal: Callable[[Any, int], Any]
    dimension: bool = False


def _some_dims(dims: Any, rank: int) -> tuple[int, ...]:
    return () if isinstance(dims, Sequence) and not dims else normal_dims(dims, rank)


#: Default that stands for all dimensions.
ALL: Any = None

#: One dimension.
Dim = Annotated[int, Argument(int, normal_dim, dimension=True)]

#: One dimension, or None.
OptionalDim = Annotated[
    int | None, Argument(int, lambda dim, rank: None if dim is None else normal_dim(dim, rank), dimension=True)
]

#: Any number of dimensions, in ascending order; no argument or an empty sequence stands for all.
Dims = Annotated[tuple[int, ...], Argument(int | Sequence[int], normal_dims, dimension=True)]

#: Any number of dimensions, in ascending order; no argument stands for all, an empty sequence for none.
SomeDims = Annotated[tuple[int, ...], Argument(int | Sequence[int], _some_dims, dimension=True)]

#: A dtype, or None for the one that follows from the input.
DType = Annotated[dtype | None, Argument(Any, lambda value, rank: None if value is None else to_dtype(value))]

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Classes of the numbers that annotations name; "complex" stands for any number.
_NUMBERS: dict[Any, Any] = {bool: bool | np.bool_, int: Integral, float: Real, complex: Number}

#: PyTorch's names of types that have another name in Python.
_TITLES: dict[Any, str] = {complex: "Number", dtype: "torch.dtype", Layout: "Tensor", TensorRef: "Tensor"}


def tensors_checked(function: _Function) -> _Function:
    """Apply ``checked`` to tensors and ints only: PyTorch's Python functions check other arguments themselves."""
    return checked(function, tensors=True)


def checked(function: _Function, name: str | None = None, *, method: bool = False, tensors: bool = False) -> _Function:
    """Decorate a function to raise TypeError if it fails and an argument is of an undeclared type.

    Args:
        name: the name that the error shows, if not the function's own.
        method: True if the first argument is the object of a method, which is not counted.
        tensors: True to check tensors and ints only.
    """
    name = name or function.__name__
    listed = listed_names(function) if tensors else ()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if listed and (out := called_in_autocast(listed, function, args, kwargs)) is not NotImplemented:
                return out
            return function(*args, **kwargs) if kwargs else function(*args)
        except Exception:
            renamed = without_numpy_names(function, name, kwargs)
            if renamed is not kwargs:
                return call(*args, **renamed)
            check_arguments(function, name, args, kwargs, method=method, tensors=tensors)
            raise

    return call  # type: ignore[return-value]


#: NumPy's names of parameters, and the names that they stand for: a call may use either.  The functions of ``linalg``,
#: whose first parameter is ``A`` or ``x``, take it as ``input``, too.
_OF_NUMPY = {
    "axis": ("dim",), "keepdims": ("keepdim",), "a": ("input", "A"), "x": ("input", "A"), "input": ("A", "x"),
    "x1": ("input",), "x2": ("other",),
}  # fmt: skip


def without_numpy_names(function: Callable[..., Any], name: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments by the names of the function's parameters; ``keywords`` itself if they have these.

    Raises:
        TypeError: an argument is given by both names.
    """
    if keywords.keys().isdisjoint(_OF_NUMPY):
        return keywords
    parameters = inspect.signature(function).parameters
    result: dict[str, Any] = {}
    for keyword, value in keywords.items():
        names = () if keyword in parameters else _OF_NUMPY.get(keyword, ())
        chosen = next((name for name in names if name in parameters), keyword)
        check_type(chosen not in result, "{}() got multiple values for argument '{}'", name, chosen)
        result[chosen] = value
    return keywords if result.keys() == keywords.keys() else result


def check_arguments(
    function: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, method: bool = False,
    tensors: bool = False,
) -> None:
    """Raise if an argument is of a type that the function does not declare; see :func:`checked`.

    Raises:
        TypeError: if so; the message has the argument's name, its position, the declared type and the actual type.
    """
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return  # too many or too few arguments: the call's own error says so
    annotations = argument_types(function)
    position = 1 - method
    for parameter, value in bound.items():
        kind = signature.parameters[parameter].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            continue
        for item in value if kind is inspect.Parameter.VAR_POSITIONAL else (value,):
            annotation = annotations.get(parameter, Any)
            if not _fits(item, annotation) and not (tensors and {Tensor, int}.isdisjoint(_alternatives(annotation))):
                raise wrong_kind(name, parameter, None if parameter in kwargs else position, annotation, item) from None
            position += 1


def bind(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """Return the arguments by the names of the parameters, with defaults.

    Raises:
        TypeError: if there are too few or too many.
    """
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}() {error}") from None
    bound.apply_defaults()
    return bound


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of the parameters that have one."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}


@functools.cache
def declared_arguments(function: Callable[..., Any]) -> dict[str, Argument]:
    """Return the arguments, by name, for which users may pass more than an operation takes."""
    hints = get_type_hints(function, include_extras=True)
    declared = {name: get_args(hint)[1] for name, hint in hints.items() if get_origin(hint) is Annotated}
    return {name: argument for name, argument in declared.items() if isinstance(argument, Argument)}


def argument_types(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types that users may pass, by the names of the parameters."""
    types = get_type_hints(function)
    for name, argument in declared_arguments(function).items():
        optional = defaults(function).get(name, name) is None
        types[name] = argument.accepted | None if optional else argument.accepted
    return types


def wrong_kind(name: str, parameter: str, position: int | None, annotation: Any, value: Any) -> TypeError:
    """Return the error for an argument of the function ``name`` that is not of its type, or of one of a union."""
    where = f"argument '{parameter}'" + (f" (position {position})" if position else "")
    for part in _alternatives(annotation):
        if get_origin(part) is Sequence and isinstance(value, tuple | list):
            number = [_fits(item, get_args(part)[0]) for item in value].index(False)
            actual = _title(type(value[number]))
            if get_args(part) == (Tensor,) and position:
                return TypeError(f"expected Tensor as element {number} in argument {position - 1}, but got {actual}")
            return TypeError(
                f"{name}(): {where} must be {_title(part)}, but found element of type {actual} at pos {number}"
            )
    expected = " or ".join([_title(part) for part in _alternatives(annotation) if part is not types.NoneType])
    return TypeError(f"{name}(): {where} must be {expected}, not {_title(type(value))}")


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _fits(value: Any, annotation: Any) -> bool:
    """Return True if a value fits an annotation as in PyTorch: NumPy's numbers and 0-d tensors count as numbers."""
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_fits(value, part) for part in get_args(annotation))
    if annotation is Any:
        return True
    if annotation in _NUMBERS:
        if isinstance(value, Tensor):
            return not value._layout.shape and (annotation is not int or value.dtype.kind == "i")
        return isinstance(value, _NUMBERS[annotation]) and not (annotation is int and isinstance(value, bool))
    if get_origin(annotation) is Sequence:
        return (
            isinstance(value, Sequence) and not isinstance(value, str)
            and all(_fits(item, get_args(annotation)[0]) for item in value)
        )
    annotation = Tensor if annotation in (Layout, TensorRef) else get_origin(annotation) or annotation
    return isinstance(value, annotation) if isinstance(annotation, type) else True


def _title(annotation: Any) -> str:
    if get_origin(annotation) is Sequence:
        return f"tuple of {_title(get_args(annotation)[0])}s"
    return _TITLES.get(annotation, getattr(annotation, "__name__", str(annotation)))
