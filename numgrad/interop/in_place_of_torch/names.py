"""Names that ``torch`` has in addition to numgrad's: checks by which libraries state what must hold, and their like."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...jit import ScriptModule as ScriptModule
from ...ops.creation.from_data import tensor
from ...tensors.tensor import Tensor

__all__ = ["classes", "return_types"]

#: Namespaces of classes in C++, of which there are none, and of the named tuples that operations return.
classes, return_types = ModuleType("torch.classes"), ModuleType("torch.return_types")


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
