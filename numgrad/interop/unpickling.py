"""PyTorch's pickles without ``pickle``: an interpreter that builds only tensors, containers, numbers and strings.

A pickle is a program, whose instructions may name and call any installed function.  This interpreter executes the
instructions one by one and resolves names in a small table; all other names are refused.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core.types import dtype
from ..tensors.tensor import Tensor
from .limits import Budget
from .rebuilding import FUNCTIONS, TYPES, RebuiltStorage, StorageType, absent_dtype, give_attributes, of_type
from .safe_globals import get_safe_globals, safe_global

__all__ = ["unpickled"]

#: A storage that a pickle names: its name, dtype, device and number of elements.
Wanted = tuple[str, dtype, str, int]

#: The errors that a malformed pickle causes.
_NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


def unpickled(data: bytes, storage_of: Callable[[str, dtype, str, int], Tensor]) -> Any:
    """Return the value that a pickle of PyTorch's describes.

    ``storage_of`` returns a storage, by its name, dtype, device and number of elements, as a tensor of one dimension.

    Raises:
        ValueError: the pickle is malformed.
        pickle.UnpicklingError: it names something that is not supported.
        RuntimeError: it has tensors of a dtype that numgrad lacks.
    """
    machine = _Machine(Budget(len(data)))
    for name, argument in _instructions(data):
        try:
            description = machine.step(name, argument)
        except _NONSENSE as error:
            raise ValueError(f"its pickle is malformed ({error!r})") from error
        if description is not None:
            machine.provide(description, storage_of(*description))
    return machine.result


def _instructions(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the name and argument of each instruction."""
    try:
        for code, argument, _ in pickletools.genops(data):
            yield code.name, argument
    except _NONSENSE as error:
        raise ValueError(f"its pickle is incomplete, or not a pickle ({error})") from error


def _refused(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"Weights only load failed. {what}. (numgrad builds tensors, containers, numbers and strings.)"
    )


class _PickledFunction(NamedTuple):
    """A function that pickles name, and its substitute."""

    name: str
    call: Callable[..., Any]


class _Unfinished:
    """A dtype or an array of NumPy's, which pickles create first and fill later."""

    def __init__(self, value: np.dtype | None):
        self.value: Any = value

    def build(self, state: Any) -> None:
        """Set the value: the byte order of a dtype, or the complete content of an array."""
        if self.value is not None:
            self.value = self.value.newbyteorder(state[1])
            return
        _, shape, kind, is_fortran, data = state
        if not isinstance(kind, np.dtype):
            raise TypeError(f"a {type(kind).__name__} is not a dtype of NumPy's")
        array = np.frombuffer(data, kind).reshape(shape, order="F" if is_fortran else "C")
        self.value = array.astype(kind.newbyteorder("="))  # as NumPy does


def _numpy_dtype(name: str, align: bool, copy: bool) -> _Unfinished:
    if type(name) is not str:
        raise TypeError(f"the name of a dtype must be a str, not a {type(name).__name__}")
    dtype = np.dtype(name)
    if dtype.kind not in "biufc":
        raise _refused(f"NumPy's dtype {dtype}")
    return _Unfinished(dtype)


def _numpy_scalar(kind: np.dtype, data: bytes) -> Any:
    if not isinstance(kind, np.dtype):
        raise TypeError(f"a {type(kind).__name__} is not a dtype of NumPy's")
    return np.frombuffer(data, kind, 1)[0]


def _numpy_array(cls: Any, shape: Any, kind: Any) -> _Unfinished:
    return _Unfinished(None)


_FUNCTIONS: dict[str, Callable[..., Any]] = {**FUNCTIONS, "numpy.dtype": _numpy_dtype}
for _core in ("numpy.core", "numpy._core"):  # before NumPy 2, and since
    _FUNCTIONS |= {f"{_core}.multiarray.scalar": _numpy_scalar, f"{_core}.multiarray._reconstruct": _numpy_array}


def _global(name: str) -> Any:
    """Return the substitute for a name in a pickle."""
    if name in _FUNCTIONS:
        return _PickledFunction(name, _FUNCTIONS[name])
    if name == "numpy.ndarray":
        return np.ndarray
    result = TYPES.get(name) or safe_global(name)
    if result is not None:
        return result
    missing = absent_dtype(name)
    if missing is not None:
        raise RuntimeError(
            f"numgrad has no dtype {missing}: in PyTorch, convert such tensors, as with float(), and save them again"
        )
    raise _refused(
        f"Unsupported global: GLOBAL {name} was not an allowed global by default. If you trust it, name it with "
        f"`torch.serialization.add_safe_globals([{name}])`"
    )


def _finished(value: Any) -> Any:
    """Return the value, unwrapped if it was ``_Unfinished``; raise if it still has no elements."""
    if not isinstance(value, _Unfinished):
        return value
    if value.value is None:
        raise TypeError("an array without elements is used")
    return value.value


def _plain(value: Any) -> Any:
    """Return a value that may be part of the result; raise for values that only calls may use."""
    if isinstance(value, RebuiltStorage):
        raise _refused("A storage without a tensor")
    if isinstance(value, _PickledFunction | StorageType):
        raise TypeError(f"a {type(value).__name__} cannot be a part of the result")
    return _finished(value)


class _Machine:
    """A stack machine that executes instructions as pickle's own does."""

    def __init__(self, budget: Budget) -> None:
        self.result: Any = None
        self._budget = budget
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []  # the outer stacks, one for each mark
        self._memo: dict[int, Any] = {}
        self._storages: dict[str, tuple[Wanted, RebuiltStorage]] = {}

    def step(self, name: str, argument: Any) -> Wanted | None:
        """Execute one instruction; return the storage that it needs, if any."""
        action = _ACTIONS.get(name)
        if action is not None:
            return action(self, argument)
        if name in _LITERALS:
            self._stack.append(argument)
        elif name in _MADE:
            self._stack.append(_MADE[name]())
        else:
            raise _refused(f"Unsupported instruction {name}")
        return None

    # -- storages and calls ---------------------------------------------------------------------------------

    def storage(self, _: Any) -> Wanted | None:
        """Push the storage identified by the value on the stack, or return its description if it is still missing."""
        identity = self._stack.pop()
        kind, element, key, location, count = identity
        if (*map(type, identity),) != (str, StorageType, str, str, int) or kind != "storage" or count < 0:
            raise TypeError("the description of a storage has the wrong type")
        description = key, element.dtype, location, count
        if key not in self._storages:
            return description
        before, storage = self._storages[key]
        if before != description:
            raise ValueError(f"storage {key!r} is {before} and {description}")
        self._stack.append(storage)
        return None

    def provide(self, description: Wanted, buffer: Tensor) -> None:
        """Resume with the missing storage."""
        storage = RebuiltStorage(buffer)
        self._storages[description[0]] = description, storage
        self._stack.append(storage)

    def named(self, argument: str) -> None:
        """Push the substitute for a name, given as module, space, name."""
        module, _, name = argument.partition(" ")
        self._stack.append(_global(f"{'builtins' if module == '__builtin__' else module}.{name}"))

    def named_on_stack(self, _: Any) -> None:
        """Push the substitute for a name, given as the two strings on the stack."""
        name, module = self._stack.pop(), self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise TypeError("a name must consist of two strings")
        self.named(f"{module} {name}")

    def call(self, _: Any) -> None:
        """Call a function with a tuple of arguments."""
        arguments, function = self._stack.pop(), self._stack.pop()
        self._stack.append(self._budget.whole(self._called(function, arguments)))

    def _called(self, function: Any, arguments: Any) -> Any:
        if isinstance(function, _PickledFunction):
            if function.call is of_type:
                inner, cls, inner_arguments, attributes = arguments
                return of_type(self._called(inner, inner_arguments), cls, attributes)
            self._account_for(arguments)
            if function.name in _HASHING:
                arguments = [self._budget.keys(argument, argument) for argument in arguments]
            return function.call(*arguments)
        if not _is_safe(function):
            raise TypeError(f"a {type(function).__name__} cannot be called")
        self._account_for(arguments)
        return function(*map(_plain, arguments))

    def _account_for(self, values: Any) -> None:
        """Account for values that are copied, as any call and any state may do."""
        self._budget.spend(len(values) + sum(len(value) for value in values if type(value) in _SIZED))

    def new_object(self, _: Any) -> None:
        """Create an object of a class without calling ``__init__``."""
        arguments, cls = self._stack.pop(), self._stack.pop()
        if not _is_safe(cls):
            raise TypeError(f"a {type(cls).__name__} is not a safe class to create objects of")
        self._account_for(arguments)
        self._stack.append(cls.__new__(cls, *map(_plain, arguments)))

    def build(self, _: Any) -> None:
        """Set the state of the value on the stack."""
        state, value = self._stack.pop(), self._stack[-1]
        self._account_for((state, *state) if type(state) is tuple else (state,))
        if isinstance(value, _Unfinished):
            value.build(state)
        elif type(value) is OrderedDict:
            give_attributes(value, state)
        elif not _is_safe(type(value)):
            raise TypeError(f"a {type(value).__name__} cannot have a state")
        elif hasattr(value, "__setstate__"):
            value.__setstate__(state)
        else:
            fields, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if fields:
                give_attributes(value, fields)
            for name, entry in (slots or {}).items():
                setattr(value, name, entry)

    # -- the stack ------------------------------------------------------------------------------------------

    def mark(self, _: Any) -> None:
        """Begin a new stack."""
        self._marks.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        values, self._stack = self._stack, self._marks.pop()
        return values

    def tuple(self, _: Any) -> None:
        """Make a tuple of the values since the mark."""
        values = self._since_mark()
        self._stack.append(self._budget.whole(tuple(map(_finished, values))))

    def short_tuple(self, count: int) -> None:
        """Make a tuple of the last values."""
        stack = self._stack
        if len(stack) < count:
            raise IndexError(f"a tuple needs {count} values, but there are {len(stack)}")
        values = tuple(map(_finished, stack[-count:]))
        del stack[-count:]
        stack.append(self._budget.whole(values))

    def append(self, values: list[Any]) -> None:
        """Append values to the list, or add them to the set, on the stack."""
        target = self._stack[-1]
        if type(target) is list:
            target.extend(map(_plain, values))
        elif type(target) is set:
            target.update(self._budget.keys(target, map(_plain, values)))
        else:
            raise TypeError(f"values cannot be appended to a {type(target).__name__}")

    def set(self, values: list[Any]) -> None:
        """Set entries of the dict on the stack, from alternating keys and values."""
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise TypeError(f"entries of a {type(target).__name__} cannot be set")
        keys = self._budget.keys(target, map(_plain, values[::2]))
        for key, value in zip(keys, values[1::2], strict=True):
            target[key] = _plain(value)

    def pop(self, count: int) -> list[Any]:
        """Remove the last values from the stack and return them."""
        values = [self._stack.pop() for _ in range(count)]
        return values[::-1]

    def frozenset(self, _: Any) -> None:
        """Make a frozenset of the values since the mark."""
        values = self._since_mark()
        self._stack.append(self._budget.whole(frozenset(self._budget.keys(values, map(_plain, values)))))

    def drop(self, _: Any) -> None:
        """Drop the value on the stack."""
        self._stack.pop()

    def put(self, number: int) -> None:
        """Memoize the value on the stack."""
        self._memo[number] = self._stack[-1]

    def get(self, number: int) -> None:
        """Push a memoized value."""
        self._stack.append(self._memo[number])

    def stop(self, _: Any) -> None:
        """Make the value on the stack the result."""
        self.result = _plain(self._stack.pop())


def _is_safe(function: Any) -> bool:
    return any(function is safe for safe in get_safe_globals())


#: Classes of values that a call copies.
_SIZED = frozenset({str, bytes, bytearray, list, tuple, dict, OrderedDict, Counter, set, frozenset})

#: Functions that put the elements of their arguments into a set.
_HASHING = frozenset({"builtins.set", "builtins.frozenset"})

#: Instructions whose argument is the value.
_LITERALS = frozenset({
    "BINBYTES", "BINBYTES8", "BINFLOAT", "BININT", "BININT1", "BININT2", "BINSTRING", "BINUNICODE", "BINUNICODE8",
    "BYTEARRAY8", "LONG1", "LONG4", "SHORT_BINBYTES", "SHORT_BINSTRING", "SHORT_BINUNICODE",
})

#: Instructions that push a value without parts.
_MADE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set,
}  # fmt: skip

#: The methods for the other instructions.
_ACTIONS: dict[str, Callable[[_Machine, Any], Wanted | None]] = {
    "PROTO": lambda machine, _: None, "FRAME": lambda machine, _: None, "STOP": _Machine.stop,
    "GLOBAL": _Machine.named, "STACK_GLOBAL": _Machine.named_on_stack, "BINPERSID": _Machine.storage,
    "REDUCE": _Machine.call, "NEWOBJ": _Machine.new_object, "BUILD": _Machine.build,
    "MARK": _Machine.mark, "TUPLE": _Machine.tuple,
    "TUPLE1": lambda machine, _: machine.short_tuple(1),
    "TUPLE2": lambda machine, _: machine.short_tuple(2),
    "TUPLE3": lambda machine, _: machine.short_tuple(3),
    "APPEND": lambda machine, _: machine.append(machine.pop(1)),
    "APPENDS": lambda machine, _: machine.append(machine._since_mark()),
    "ADDITEMS": lambda machine, _: machine.append(machine._since_mark()),
    "FROZENSET": _Machine.frozenset,
    "SETITEM": lambda machine, _: machine.set(machine.pop(2)),
    "SETITEMS": lambda machine, _: machine.set(machine._since_mark()),
    "POP": _Machine.drop,
    "BINPUT": _Machine.put, "LONG_BINPUT": _Machine.put, "BINGET": _Machine.get, "LONG_BINGET": _Machine.get,
    "MEMOIZE": lambda machine, _: machine.put(len(machine._memo)),
}  # fmt: skip
