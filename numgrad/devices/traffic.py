"""What a run of a kernel must read and write: the bytes of the elements of its arrays, each counted once.

Which arrays a kernel reads and which it writes is found out from its text.  One that it writes first and reads
afterwards counts as written: it is still in the processor's cache.  Of an array that repeats one element along a
dimension that element counts once.  Some kernels are given more memory than they go to, such as the whole storage of
a view; how much of it they reach is known by their names.  Of kernels for GPUs it is known of the pointwise ones, by
the strides that they are given; of the others a row counts whole.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from numgrad_kernels.updates import UPDATES

from .rows import DeviceRow

__all__ = ["Traffic", "array_traffic", "kernel_traffic", "over_rows", "uses"]


#: The kernels that go through all their arrays at once: those that are longer they read in part.
over_rows: WeakSet[Any] = WeakSet()


class Traffic(NamedTuple):
    """Bytes read and written, and the elements of the largest array."""

    read: int
    written: int
    elements: int


def kernel_traffic(kernel: Any, arguments: Sequence[Any]) -> Traffic:
    """What a run of a kernel, for the CPU or a GPU, with these arguments moves."""
    if kernel.name in UPDATES:
        return _update_traffic(kernel, arguments)
    names, read, written = uses(kernel.text)
    given = dict(zip(names, arguments, strict=True))
    nest = given.pop("nest", None)
    sizes = {name: _distinct(array) for name, array in given.items() if isinstance(array, np.ndarray | DeviceRow)}
    if any(isinstance(value, DeviceRow) for value in given.values()):
        sizes.update({name: min(sizes[name], count) for name, count in _strided(given, sizes).items()})
    elif nest is not None:
        sizes = _in_nest(nest.tolist(), list(sizes))
    elif kernel in over_rows:
        sizes = dict.fromkeys(sizes, min(sizes.values()))
    elif kernel.name in _REACHED:
        reached = _REACHED[kernel.name](*[given[name] for name in _parameters(_REACHED[kernel.name])])
        sizes.update({name: min(count, sizes[name]) for name, count in reached.items()})
    return Traffic(
        _bytes([(given[name], sizes[name]) for name in read & sizes.keys()]),
        _bytes([(given[name], sizes[name]) for name in written & sizes.keys()]),
        max(sizes.values(), default=0),
    )


def _bytes(parts: Iterable[tuple[Any, int]]) -> int:
    """The bytes of so many elements of each array or row; the same memory, given twice, counts once."""
    return sum({_place(array): count * array.itemsize for array, count in parts}.values())


def _place(array: Any) -> tuple[Any, ...]:
    """Where an array or a row lies in memory."""
    if isinstance(array, DeviceRow):
        return array.address, array.size
    return array.ctypes.data, array.shape, array.strides


def array_traffic(arguments: Sequence[Any], result: Any) -> Traffic:
    """What a function moves that reads the arrays among its arguments and makes those that it returns."""
    read, made = list(_arrays(arguments)), list(_arrays((result,)))
    read = [array for array in read if not any(array is other for other in made)]
    return Traffic(
        _bytes([(array, _distinct(array)) for array in read]),
        _bytes([(array, array.size) for array in made]),
        max([_distinct(array) for array in (*read, *made)], default=0),
    )


def _arrays(values: Iterable[Any]) -> Iterable[np.ndarray]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, list | tuple):
            yield from _arrays(value)


def _distinct(array: Any) -> int:
    """The elements of an array or a row, a repeated one counted once."""
    if isinstance(array, DeviceRow) or array.flags.c_contiguous:
        return array.size
    count = 1
    for extent, step in zip(array.shape, array.strides, strict=True):
        count *= extent if step else min(extent, 1)
    return count


# -- what a kernel's text says --------------------------------------------------------------------------------------


class Uses(NamedTuple):
    """The parameters of a kernel, and which of them it reads and writes elements of."""

    names: tuple[str, ...]
    read: frozenset[str]
    written: frozenset[str]


@functools.lru_cache(maxsize=1024)
def uses(text: str) -> Uses:
    """What the kernel with this text does with its parameters."""
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    names = tuple([parameter.arg for parameter in functions["kernel"].args.args])
    reader = _Reader(functions, {name: name for name in names})
    for statement in functions["kernel"].body:
        reader.visit(statement)
    return Uses(names, frozenset(reader.read), frozenset(reader.written))


#: Of the functions that kernels call with arrays: the places of those that they read, and that they write.
_CALLED = {
    "gemm": ((4, 8), (13,)), "gemv": ((3, 7), (10,)), "dot": ((2, 5), ()), "load4": ((0,), ()),
    "store4": ((), (0,)), "atomic_add": ((0,), (0,)), "compare_and_swap": ((0,), (0,)),
}


class _Reader(ast.NodeVisitor):
    """Goes through a function in the order of its text; ``known`` says which parameter a variable is a part of."""

    def __init__(self, functions: dict[str, ast.FunctionDef], known: dict[str, str]):
        self.functions = functions
        self.known = known
        self.read: set[str] = set()
        self.written: set[str] = set()

    def _array(self, node: ast.expr) -> str | None:
        """The parameter of which an expression is a part, with more than one element."""
        match node:
            case ast.Name(name):
                return self.known.get(name)
            case ast.Subscript(value, ast.Slice()) | ast.Call(ast.Name("row" | "view"), [value, *_]):
                return self._array(value)
        return None

    def _note_read(self, name: str) -> None:
        if name not in self.written:
            self.read.add(name)

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        part = self._array(node.value)
        if part is not None and isinstance(target, ast.Name):
            self.known[target.id] = part
            return
        self.visit(node.value)
        self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Subscript) and (name := self._array(node.target.value)):
            self._note_read(name)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        name = self._array(node.iter)
        if name is not None:
            self._note_read(name)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        name = self._array(node.value)
        self.visit(node.slice)
        if name is None:
            self.visit(node.value)
        elif isinstance(node.ctx, ast.Store):
            self.written.add(name)
        else:
            self._note_read(name)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        parts = [self._array(argument) for argument in node.args]
        for argument, part in zip(node.args, parts, strict=True):
            if part is None:
                self.visit(argument)
        if called in self.functions:
            function = self.functions[called]
            inner = {p.arg: part for p, part in zip(function.args.args, parts, strict=True) if part is not None}
            reader = _Reader(self.functions, inner)
            reader.read, reader.written = self.read, self.written
            for statement in function.body:
                reader.visit(statement)
        elif called in _CALLED:
            read, written = _CALLED[called]
            for place in read:
                if part := parts[place]:
                    self._note_read(part)
            self.written.update([part for place in written if (part := parts[place])])


# -- what kernels reach of their arrays -----------------------------------------------------------------------------


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _rows_taken(places: Any, outer: int, inner: int) -> dict[str, int]:
    return {"x": outer * places.size * inner}


def _rows_put(places: Any, outer: int, inner: int) -> dict[str, int]:
    return dict.fromkeys(["values", "out"], outer * places.size * inner)


def _copied(
    x_outer: int, x_middle: int, x_row: int, x_step: int, outer: int, middle: int, rows: int, width: int
) -> dict[str, int]:
    extents = (outer, x_outer), (middle, x_middle), (rows, x_row), (width, x_step)
    distinct = 1
    for extent, step in extents:
        distinct *= extent if step else 1
    return {"x": distinct, "out": outer * middle * rows * width}


def _joined(outer: int, x_width: int, y_width: int) -> dict[str, int]:
    return {"x": outer * x_width, "y": outer * y_width, "out": outer * (x_width + y_width)}


def _multiplied(plan: Any) -> dict[str, int]:
    count, m, n, k, _, left, _, _, right, *_ = plan.tolist()
    return {"x": m * k * (count if left else 1), "y": k * n * (count if right else 1)}


def _attended(plan: Any) -> dict[str, int]:
    stacks, heads, queries, keys, width, *_ = plan.tolist()
    every = stacks * heads * width
    return {"q": every * queries, "k": every * keys, "v": every * keys, "out": every * queries}


def _attended_backward(plan: Any) -> dict[str, int]:
    reached = _attended(plan)
    gradients = {f"grad_{name}": reached[name] for name in ("q", "k", "v")}
    return {**reached, **gradients, "grad": reached["out"]}


#: For a kernel how many elements it reaches of some of its arrays, given those of its arguments that decide it.
_REACHED: dict[str, Callable[..., dict[str, int]]] = {
    "attention": _attended,
    "attention_backward": _attended_backward,
    "combine_extremes": lambda places: {"x": places.size},
    "copy_stretches": _copied,
    "join_rows": _joined,
    "keep_triangle": lambda matrices, rows, columns: dict.fromkeys(["x", "out"], matrices * rows * columns),
    "gather_axis": lambda indices: {"x": indices.size},
    "negative_likelihood": lambda target: {"x": target.size},
    "products": _multiplied,
    "put_rows": _rows_put,
    "scatter_axis": lambda indices: {"out": indices.size},
    "scatter_extremes": lambda indices: {"out": indices.size},
    "take_rows": _rows_taken,
}


def _in_nest(nest: list[int], names: Sequence[str]) -> dict[str, int]:
    """What a pointwise kernel for the CPU reaches of its arrays in a nest of loops: see ``kernel_text``."""
    rank = len(nest) // (1 + len(names))
    sizes, *steps = [nest[start : start + rank] for start in range(0, len(nest), rank)]
    return {
        name: math.prod([size for size, step in zip(sizes, own, strict=True) if step])
        for name, own in zip(names, steps, strict=True)
    }


def _strided(given: dict[str, Any], names: Iterable[str]) -> dict[str, int]:
    """What a pointwise kernel for GPUs reaches of arrays of any strides; nothing of other kernels."""
    counts: dict[str, int] = {}
    for name in names:
        steps = [given[f"{name}_s{axis}"] for axis in range(len(given)) if f"{name}_s{axis}" in given]
        if steps:
            inner = [given[f"n{axis}"] for axis in range(1, len(steps))]
            extents = given["n"] // max(math.prod(inner), 1), *inner
            counts[name] = math.prod([extent for extent, step in zip(extents, steps, strict=True) if step])
    return counts


#: Which operand of an update is the gradient, which it only reads.
_GRADIENT = 1


def _update_traffic(kernel: Any, arguments: Sequence[Any]) -> Traffic:
    addresses, blocks = [row.host() if isinstance(row, DeviceRow) else row for row in arguments[:2]]
    addresses = addresses.reshape(-1, len(UPDATES[kernel.name].operands))
    which, _, counts = blocks.reshape(-1, 3).T
    item = 8 if "float64 as T" in kernel.text else 4
    present = addresses != 0
    read = int((counts * present.sum(1)[which]).sum())
    gradients = int((counts * present[which, _GRADIENT]).sum())
    return Traffic(read * item, (read - gradients) * item, int(counts.sum()))
