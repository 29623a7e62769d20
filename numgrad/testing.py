"""Comparison of results: :func:`assert_close`."""

from __future__ import annotations

import cmath
import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .autograd.grad_mode import no_grad
from .core.types import bfloat16, complex64, complex128, dtype, float16, float32, float64, int64
from .ops.creation.from_data import as_tensor
from .ops.pointwise.comparison import isclose, where
from .ops.table.promotion import promote_types
from .tensors.tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

__path__: list[str] = []  # modules below it are importable: see ``interop.in_place_of_torch``

#: Relative and absolute tolerance by dtype; exact dtypes have none.
_TOLERANCES = {
    float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), complex64: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7), complex128: (1e-7, 1e-7),
}


#: The same of :func:`assert_allclose`.
_OLDER_TOLERANCES = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless ``abs(actual - expected) <= atol + rtol * abs(expected)`` holds for all elements.

    Tensors, numbers, bools, None, arrays and any other data accepted by :func:`as_tensor` are compared.  Sequences and
    mappings of them are compared item by item.

    Args:
        actual, expected: the values to compare.
        allow_subclasses: True to accept values of different classes if one is a subclass of the other.
        rtol, atol: both or neither.  The defaults are those of the dtype, or the larger ones of two dtypes: 1.3e-6 and
            1e-5 for float32 and complex64, 1e-7 and 1e-7 for float64, complex128 and Python's floats, 0 for integers.
        equal_nan: treat NaN as close to NaN.
        check_device, check_dtype, check_stride: require these to be equal, too.  For numbers, ``check_dtype`` requires
            equal types.
        check_layout: accepted for compatibility with PyTorch; all tensors are strided.
        msg: the error message to use instead, or a function that makes it from the default one.

    Raises:
        AssertionError: values are not close, or differ in shape, dtype, device, type or number; the message has the
            greatest differences and their indices.
        TypeError: the values cannot be compared.
        ValueError: only one of the tolerances is given.

    Example:
        >>> import numgrad
        >>> numgrad.testing.assert_close(numgrad.tensor([1.0]), numgrad.tensor([1.0 + 1e-7]))
    """
    __tracebackhide__ = True
    options = _Options(rtol, atol, equal_nan, check_device, check_dtype, check_stride, allow_subclasses)
    try:
        pairs = list(_pairs(actual, expected, (), options))
    except _DifferenceError as difference:
        raise difference.shown(None) from None
    for left, right, compare, path in pairs:
        text = compare(left, right, options)
        if text is not None:
            raise _DifferenceError(AssertionError, text, path).shown(msg)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Raise unless values are close, whatever their dtypes and devices; an older form of :func:`assert_close`.

    Raises:
        AssertionError, ValueError: see :func:`assert_close`.
    """
    __tracebackhide__ = True
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead.", FutureWarning, stacklevel=2,
    )  # fmt: skip
    tensors = [value if isinstance(value, Tensor) else as_tensor(value) for value in (actual, expected)]
    if rtol is None and atol is None:
        each = [_OLDER_TOLERANCES.get(tensor.dtype, (0.0, 0.0)) for tensor in tensors]
        rtol, atol = max(relative for relative, _ in each), max(absolute for _, absolute in each)
    assert_close(
        *tensors, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, msg=msg or None
    )


@dataclass(frozen=True)
class _Options:
    """Arguments of :func:`assert_close`."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_stride: bool
    allow_subclasses: bool

    def tolerances(self, *dtypes: dtype) -> tuple[float, float]:
        """Return the given tolerances, or those of the dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        rtols, atols = zip(*[_TOLERANCES.get(each, (0.0, 0.0)) for each in dtypes], strict=True)
        return max(rtols), max(atols)


class _DifferenceError(Exception):
    """Failure of an item, with the keys and indices that lead to it."""

    def __init__(self, kind: type[Exception], text: str, path: tuple[Any, ...]):
        super().__init__(text)
        self.kind, self.text, self.path = kind, text, path

    def shown(self, msg: str | Callable[[str], str] | None) -> Exception:
        """Return the error for the user."""
        if isinstance(msg, str):
            return self.kind(msg)
        text = self.text
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join(str([key]) for key in self.path)}"
        return self.kind(text if msg is None else msg(text))


#: Return the difference of two values that are not containers as a text, or None if they are close.
_Compare = Callable[[Any, Any, _Options], str | None]


def _pairs(
    actual: Any, expected: Any, path: tuple[Any, ...], options: _Options
) -> Iterator[tuple[Any, Any, _Compare, tuple[Any, ...]]]:
    """Yield pairs of values to compare, each with its comparison function and path.

    Raises:
        _DifferenceError: containers have different items, or two values cannot be compared.
    """
    if all(isinstance(value, Sequence) and not isinstance(value, str) for value in (actual, expected)):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise _DifferenceError(AssertionError, text, path)
        keys: Any = range(len(actual))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        keys = set(actual)
        if keys != set(expected):
            raise _DifferenceError(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(set(expected) - keys)}\n"
                f"Additional keys in the actual mapping: {sorted(keys - set(expected))}",
                path,
            )
        with contextlib.suppress(TypeError):  # keys without an order
            keys = sorted(keys)
    else:
        yield *_leaves(actual, expected, path, options), path
        return
    for key in keys:
        yield from _pairs(actual[key], expected[key], (*path, key), options)


def _leaves(actual: Any, expected: Any, path: tuple[Any, ...], options: _Options) -> tuple[Any, Any, _Compare]:
    """Return two values that are not containers in the form for comparison, and the comparison function."""
    both = actual, expected
    if actual is None or expected is None:
        return actual, expected, _compare_with_none
    if all(isinstance(value, bool | np.bool_) for value in both):
        return bool(actual), bool(expected), _compare_bools
    numbers = all(isinstance(v, int | float | complex | np.number) and not isinstance(v, bool) for v in both)
    if not numbers:
        both = _as_tensors(actual, expected, path, options)
    if (options.rtol is None) != (options.atol is None):
        missing = "rtol" if options.rtol is None else "atol"
        text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        raise _DifferenceError(ValueError, text, path)
    if numbers:
        first, second = (value.item() if isinstance(value, np.number) else value for value in both)
        return first, second, _compare_numbers
    return *both, _compare_tensors


def _as_tensors(actual: Any, expected: Any, path: tuple[Any, ...], options: _Options) -> tuple[Tensor, Tensor]:
    """Return two values of the same kind as tensors."""
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        with contextlib.suppress(Exception):  # any error that as_tensor raises for other values
            first, second = (value if isinstance(value, Tensor) else as_tensor(value) for value in (actual, expected))
            return first, second
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise _DifferenceError(TypeError, text, path)


# -- comparison of two values -----------------------------------------------------------------------------------------


def _compare_with_none(actual: Any, expected: Any, options: _Options) -> str | None:
    return None if actual is expected else f"None mismatch: {actual} is not {expected}"


def _compare_bools(actual: bool, expected: bool, options: _Options) -> str | None:
    return None if actual is expected else f"Booleans mismatch: {actual} is not {expected}"


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> str | None:
    if options.check_dtype and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return None
    dtypes = [int64 if isinstance(v, int) else float64 for v in (actual, expected)]  # complex128 counts as float64
    rtol, atol = options.tolerances(*dtypes)
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    return _numbers_differ(actual, expected, rtol, atol)


@no_grad()
def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options) -> str | None:
    attributes = {
        "shape": (actual.shape, expected.shape, True),
        "stride()": (actual.stride(), expected.stride(), options.check_stride),
        "device": (actual.device, expected.device, options.check_device),
        "dtype": (actual.dtype, expected.dtype, options.check_dtype),
    }
    for name, (actual_value, expected_value, compared) in attributes.items():
        if compared and actual_value != expected_value:
            return f"The values for attribute '{name}' do not match: {actual_value} != {expected_value}."
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    common = promote_types(actual.dtype, expected.dtype)
    actual, expected = actual.to(common), expected.to(common)
    matches = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if matches.all():
        return None
    if not actual.shape:
        return _numbers_differ(actual.item(), expected.item(), rtol, atol)
    return _tensors_differ(actual, expected, matches, rtol, atol)


# -- messages ---------------------------------------------------------------------------------------------------------


def _numbers_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    return "\n".join([
        f"Scalars are not {_closeness(rtol, atol)}!",
        "",
        f"Expected {expected} but got {actual}.",
        f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}",
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}",
    ])


def _tensors_differ(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    total = matches.numel()
    wrong = total - int(matches.sum())
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(int64), expected.to(int64)
    difference = where(matches, 0, (actual - expected).abs())
    relative = where(matches, 0, difference / expected.abs())
    lines = [
        f"Tensor-likes are not {_closeness(rtol, atol)}!",
        "",
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})",
    ]
    for name, values, tolerance in (("absolute", difference, atol), ("relative", relative, rtol)):
        value, flat = values.flatten().max(0)
        index = tuple(int(position) for position in np.unravel_index(int(flat), tuple(values.shape)))
        allowed = _allowed(tolerance, rtol, atol)
        lines.append(f"Greatest {name} difference: {value.item()} at index {index}{allowed}")
    return "\n".join(lines)


def _closeness(rtol: float, atol: float) -> str:
    return "equal" if rtol == 0 and atol == 0 else "close"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == 0 and atol == 0 else f" (up to {tolerance} allowed)"
