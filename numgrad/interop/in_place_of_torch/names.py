"""Names that ``torch`` has in addition to numgrad's: checks by which libraries state what must hold, and their like."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...core.types import PARTS, float16
from ...futures import Future as Future
from ...jit import ScriptModule as ScriptModule
from ...ops.creation.from_data import tensor
from ...tensors.storage import TypedStorage as TypedStorage
from ...tensors.storage import UntypedStorage as UntypedStorage
from ...tensors.tensor import Tensor
from .refusals import AbsentDtype, refusing

__all__ = ["classes", "return_types"]

#: Namespaces of classes in C++, of which there are none, and of the named tuples that operations return.
classes, return_types = ModuleType("torch.classes"), ModuleType("torch.return_types")

#: Dtypes that libraries have in their tables.
float8_e4m3fn = AbsentDtype("float8_e4m3fn", 1, max=448.0, eps=2**-3, smallest_normal=2**-6)
float8_e4m3fnuz = AbsentDtype("float8_e4m3fnuz", 1, max=240.0, eps=2**-3, smallest_normal=2**-7)
float8_e5m2 = AbsentDtype("float8_e5m2", 1, max=57344.0, eps=2**-2, smallest_normal=2**-14)
float8_e5m2fnuz = AbsentDtype("float8_e5m2fnuz", 1, max=57344.0, eps=2**-3, smallest_normal=2**-15)
float8_e8m0fnu = AbsentDtype("float8_e8m0fnu", 1, min=2**-127, max=2.0**127, eps=1.0, smallest_normal=2**-127)
float4_e2m1fn_x2, complex32 = AbsentDtype("float4_e2m1fn_x2", 1), AbsentDtype("complex32", 4)
chalf = complex32
PARTS[complex32] = float16  # for finfo

PyTorchFileReader = refusing("torch", "PyTorchFileReader", "reader of parts of files: see load")

#: Functions of sizes, which are unknown numbers while PyTorch traces a program and ints in numgrad.
sym_int, sym_float, sym_not = int, float, operator.not_


def _of_one_type(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def chosen(a: Any, b: Any) -> Any:
        return choose(a, b) if type(a) is type(b) else choose(float(a), float(b))

    chosen.__doc__ = f"Return the {choose.__name__} of two numbers, as a float unless both are ints."
    return chosen


sym_max, sym_min = _of_one_type(max), _of_one_type(min)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds."""
    assert condition, message


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError with the message if the only element of a tensor is zero."""
    _check(bool(input), lambda: assert_msg)


def _raiser(error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        if not cond:
            raise error("Expected cond to be True" if message is None else str(message()))

    check.__doc__ = f"Raise {error.__name__}, with the result of ``message``, unless a condition holds."
    return check


_check, _check_index, _check_value = _raiser(RuntimeError), _raiser(IndexError), _raiser(ValueError)
_check_type, _check_not_implemented = _raiser(TypeError), _raiser(NotImplementedError)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless ``i`` can be the size of a dimension."""
    _check(0 <= i <= (i if max is None else max), message)


def _shape_as_tensor(self: Tensor) -> Tensor:
    """Return the shape of a tensor as an int64 tensor."""
    return tensor(self.shape)
