"""Checks of arguments, with PyTorch's messages.

Each takes a condition, a message for the case that it does not hold, and values that fill the placeholders of the
message.  For ``{}``, a tensor, layout or tuple is shown as a list of sizes; for ``{!s}``, any value as it is.  Values
without a placeholder follow the message: their shapes show which tensors do not fit.  The message is only made if
the check fails.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from string import Formatter
from typing import Any

from ...core.layout import Layout
from ...devices import TensorRef
from ...tensors.tensor import Tensor


def _shown(value: Any) -> Any:
    if isinstance(value, Tensor | Layout | TensorRef):
        value = value.shape
    return list(value) if isinstance(value, tuple) else value


def _check(error: type[Exception]) -> Callable[..., None]:
    def check(condition: object, message: str, *values: Any) -> None:
        if condition:
            return
        as_is = [conversion for _, field, _, conversion in Formatter().parse(message) if field is not None]
        shown = [value if literal else _shown(value) for value, literal in zip_longest(values, as_is)]
        shapes = ", ".join(map(str, shown[len(as_is) :]))
        text = message.format(*shown)
        raise error(f"{text} (shape{'s' * (len(shown) > len(as_is) + 1)} {shapes})" if shapes else text)

    return check


check = _check(RuntimeError)
check_index = _check(IndexError)
check_value = _check(ValueError)
check_type = _check(TypeError)
check_assertion = _check(AssertionError)
check_implemented = _check(NotImplementedError)


def not_implemented(kernel: str, *layouts: Layout | TensorRef, dtype: str | None = None) -> NotImplementedError:
    """Return the error for the dtype of the first layout that PyTorch's kernel of this name does not support."""
    shapes = list(layouts[0].shape) if len(layouts) == 1 else [list(layout.shape) for layout in layouts]
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{dtype or layouts[0].type.dtype.legacy}' (shape {shapes})"
    )


def check_supported(input: Layout | TensorRef, kinds: str, kernel: str) -> None:
    """Raise unless PyTorch's kernel of this name supports the input's dtype.

    ``kinds`` are the categories that it supports: "b" bool, "i" integers, "f" floating point, "c" complex.
    """
    if input.type.dtype.kind not in kinds:
        raise not_implemented(kernel, input)
