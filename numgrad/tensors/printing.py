"""Text of a tensor, identical to PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..autograd.grad_mode import LEVELS, state
from ..autograd.levels import outside, outwards, tangents_of
from ..core.types import bool_, complex_of, get_default_dtype, int64

_PROFILES: dict[str | None, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}

_options = SimpleNamespace(**_PROFILES["default"], sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set the options for printing tensors, as ``torch.set_printoptions`` does.

    Args:
        precision: digits after the point of floating-point numbers (default 4).
        threshold: number of elements above which a tensor is summarized (default 1000).
        edgeitems: entries kept at both ends of every summarized dimension (default 3).
        linewidth: characters per line (default 80).
        profile: "default", "short" or "full", applied before the other arguments; any other name is ignored.
        sci_mode: True or False to force scientific notation on or off.  Unlike the other options, it does not keep its
            value when omitted: None lets each tensor's values decide.
    """
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes = {name: value for name, value in options.items() if value is not None}
    vars(_options).update(**{**_PROFILES.get(profile, {}), **changes}, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """Return the current print options, as a new dictionary."""
    return vars(_options).copy()


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set print options (the arguments of ``set_printoptions``) within a ``with`` block."""
    saved = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**saved)


def tensor_text(
    array: np.ndarray,
    *,
    device_text: str | None = None,
    dtype_text: str | None = None,
    suffixes: Sequence[str] = (),
    title: str = "tensor",
) -> str:
    """Format ``array`` as PyTorch prints a tensor, for example ``tensor([1., 2.], dtype=torch.float64)``.

    array: the values, of any shape and of a boolean, integer, floating-point or complex dtype.
    device_text: the quoted device to show after ``device=``, or None to omit it, as PyTorch does for the CPU.
    dtype_text: the name to show after ``dtype=``, or None to omit it.  PyTorch omits it for the default floating-point
        dtype, its complex counterpart, int64 and bool; for a tensor without elements, only for the default
        floating-point dtype.
    suffixes: the text that follows the dtype, in order, such as ``["requires_grad=True"]``.
    title: the text before the parenthesis.

    As in PyTorch, the size is shown if the data does not imply it: ``tensor([], size=(0, 3))``.
    """
    parts = []
    if device_text is not None:
        parts.append(f"device={device_text}")
    if array.ndim != 1 if array.size == 0 else _options.edgeitems == 0:
        parts.append(f"size={array.shape}")
    if dtype_text is not None:
        parts.append(f"dtype={dtype_text}")
    parts.extend(suffixes)
    prefix = f"{title}("
    indent = len(prefix)
    return _append_parts(prefix + _data_text(array, indent), parts, indent)


def _append_parts(text: str, parts: Sequence[str], indent: int) -> str:
    # PyTorch reserves two columns on the line where the data ends, but none on the following lines.
    column = len(text) - (text.rfind("\n") + 1) + 2
    for part in parts:
        if column + 2 + len(part) > _options.linewidth:
            text += ",\n" + " " * indent + part
            column = indent + len(part)
        else:
            text += ", " + part
            column += 2 + len(part)
    return text + ")"


def _data_text(array: np.ndarray, indent: int) -> str:
    if array.size == 0:
        return "[]"
    positions = shown_positions(array)
    shown = selected(array, positions)
    if shown.size == 0:
        return "[...]"
    gaps = [before != after for before, after in zip(array.shape, shown.shape, strict=True)]
    texts, width = element_texts(shown.reshape(-1))
    return _layout(texts, width, shown.shape, gaps, indent)


def shown_positions(array: np.ndarray) -> list[np.ndarray]:
    """Return the indices shown along each dimension: the outermost of a large array, otherwise all."""
    edge = _options.edgeitems if array.size > _options.threshold else math.inf
    return [
        np.arange(length) if length <= 2 * edge else np.r_[0:edge, length - edge : length] for length in array.shape
    ]


def selected(array: np.ndarray, positions: Sequence[np.ndarray]) -> np.ndarray:
    """Return only these entries of the array, so that a large array costs no more than a small one."""
    return array[np.ix_(*positions)] if array.shape != tuple(map(len, positions)) else array


def _layout(texts: list[str], width: int, shape: Sequence[int], gaps: Sequence[bool], indent: int) -> str:
    """Bracket ``texts``, the elements in row-major order; ``indent`` is the column of the opening bracket."""
    if not shape:
        return texts[0]
    if len(shape) == 1:
        items = _with_gap(texts, " ...") if gaps[0] else texts
        per_line = max(1, (_options.linewidth - indent) // (width + 2))
        lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
        separator = ",\n" + " " * (indent + 1)
        return "[" + separator.join(lines) + "]"
    step = len(texts) // shape[0]
    blocks = [
        _layout(texts[start : start + step], width, shape[1:], gaps[1:], indent + 1)
        for start in range(0, len(texts), step)
    ]
    if gaps[0]:
        blocks = _with_gap(blocks, "...")
    separator = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + separator.join(blocks) + "]"


def _with_gap(items: list[str], gap: str) -> list[str]:
    edge = _options.edgeitems
    return [*items[:edge], gap, *items[edge:]]


def element_texts(values: np.ndarray) -> tuple[list[str], int]:
    """Return the text of every element, padded to a common width, and the width used for line breaks."""
    if values.dtype.kind != "c":
        texts, width = _real_texts(values)
        return [text.rjust(width) for text in texts], width
    real_texts, real_width = _real_texts(values.real)
    imag_texts, imag_width = _real_texts(values.imag)
    texts = [
        real.rjust(real_width) + ("" if imag.startswith("-") else "+") + imag + "j"
        for real, imag in zip(real_texts, imag_texts, strict=True)
    ]
    return texts, real_width + imag_width + 1


def _real_texts(values: np.ndarray) -> tuple[list[str], int]:
    if values.dtype.kind != "f":
        texts = [str(value) for value in values.tolist()]
        return texts, max(map(len, texts))
    # Zeros and non-finite values affect neither the notation nor the column width.
    finite = np.isfinite(values)
    counted = finite & (values != 0)
    spec, ending = _float_notation(np.abs(values[counted]))
    texts = [
        format(value, spec) + (ending if is_finite else "")
        for value, is_finite in zip(values.tolist(), finite.tolist(), strict=True)
    ]
    width = max((len(texts[i]) for i in np.flatnonzero(counted).tolist()), default=1)
    return texts, width


def _float_notation(magnitudes: np.ndarray) -> tuple[str, str]:
    """Return the format specification for these numbers, and the text that follows each formatted number."""
    if magnitudes.size == 0:
        return ".0f", "."
    largest, smallest = float(magnitudes.max()), float(magnitudes.min())
    whole = bool((magnitudes == np.trunc(magnitudes)).all())
    scientific = _options.sci_mode
    if scientific is None:
        # Python floats: the quotient is taken in double precision, and overflows to infinity in silence.
        scientific = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
    if scientific:
        return f".{_options.precision}e", ""
    return (".0f", ".") if whole else (f".{_options.precision}f", "")


def text_of(tensor: Any, title: str = "tensor") -> str:
    """Return the ``repr`` of a tensor: its elements and attributes, after a title."""
    if hasattr(tensor, "_mapped"):
        return _mapped_text(tensor)
    dtype = tensor._layout.type.dtype
    default = get_default_dtype()
    hidden = (default,) if tensor._layout.size == 0 else (default, complex_of(default), int64, bool_)
    origin = origin_text(tensor)
    suffixes = [] if origin is None else [origin]
    if state.mode & LEVELS:  # tangents of forward mode
        for level, tangent in tangents_of(tensor):
            with outside(level):
                suffixes.append(f"tangent={tangent if tangent._layout.shape else tangent.item()}")
    return tensor_text(
        tensor._numbers(),
        device_text=repr(str(tensor.device)) if tensor.is_cuda else None,
        dtype_text=None if dtype in hidden else repr(dtype),
        suffixes=suffixes,
        title=title,
    )


def origin_text(tensor: Any) -> str | None:
    """Return the text that names the tensor's ``grad_fn`` or says that it requires a gradient; otherwise None."""
    try:
        name = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
    except RuntimeError:  # a view that cannot follow a change of its base
        name = "Invalid"
    if name is not None:
        return f"grad_fn=<{name}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _mapped_text(tensor: Any) -> str:
    """Return the text of a tensor under ``vmap``: that of the physical tensor, and the level at which it is mapped."""
    level, physical, batched = tensor._mapped
    number = len([*outwards(level)])
    with outside(level):
        text = text_of(physical).replace("\n", "\n    ")
    dim = "bdim=0, " if batched else ""
    return f"BatchedTensor(lvl={number}, {dim}value=\n    {text}\n)"
