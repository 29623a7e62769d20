"""Kernels that run tile by tile: a loop of a linked program over parts of the memory that several kernels work on.

Note [Tiles]
If kernels visit the elements of large arrays in the same order, each can run on one tile of all arrays before any runs
on the next tile.  Memory that only these kernels use is then scratch memory of one tile, which stays in the cache.  The
elements of a tile do not depend on those of another, so that threads share the tiles.

The loop counts *units*: elements, or rows of elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba.np.numpy_support import as_dtype

from numgrad_kernels.store import Kernel

from .step_text import Place, StepWriter

__all__ = ["Alternating", "Scratch", "Shifted", "Slice", "Tiles", "TilesRun", "write_tiles"]


@dataclass(slots=True)
class Slice:
    """The elements of a buffer that belong to a tile.

    Attributes:
        place: the buffer; in scratch memory, an offset in bytes.
        elements: the number of elements of a unit.
    """

    place: Place | Scratch
    elements: int


@dataclass(slots=True)
class Scratch:
    """Memory of one tile, ``offset`` bytes from the beginning of a thread's scratch memory."""

    offset: int


@dataclass(slots=True)
class Shifted:
    """The number of an element: 0 in the first tile, and ``step`` more for each unit."""

    step: int


@dataclass(slots=True)
class Alternating:
    """A buffer at ``place``, but at ``last`` in the last, shorter tile."""

    place: Place
    last: Place


@dataclass(slots=True)
class TilesRun:
    """A run of a serial kernel on each tile.

    Attributes:
        kernel: the kernel.
        operands: for each parameter a Slice, a Scratch, Shifted, Alternating, or an operand of ``Run``.
    """

    kernel: Kernel
    operands: tuple[Any, ...]


@dataclass(slots=True)
class Tiles:
    """Kernels that run tile by tile.

    Attributes:
        runs: the kernels, in order.
        total: the number of units.
        tile: the number of units of a tile.
        scratch: the bytes of scratch memory.
        parallel: True if threads share the tiles.
        together: the number of tiles that one thread must run one after the other.
    """

    runs: tuple[TilesRun, ...]
    total: int
    tile: int
    scratch: int
    parallel: bool
    together: int = 1

    @property
    def count(self) -> int:
        """The number of tiles."""
        return -(-self.total // self.tile)


def write_tiles(writer: StepWriter, tiles: Tiles, name: str) -> list[str]:
    """Write the instructions that run the tiles, and return the functions, of this name, that they call."""
    parameters = "".join([f", ptr %{parameter}" for parameter in writer.parameters])
    loop = _TileWriter(writer, tiles).function(name, f"i64 %first, i64 %stop{parameters}")
    if not tiles.parallel:
        writer.add(f"call i64 @{name}(i64 0, i64 {tiles.count}{parameters})")
        return [loop]
    # The threading layer passes a single address to the threads, so the values that they need are stored there.  It
    # divides an array of bytes at address 0, whose addresses are the numbers of the pieces; see
    # ``numgrad_kernels.parallel``.
    kind = f"{{ i64{', ptr' * len(writer.parameters)} }}"
    data, pointers, sizes, steps = [writer.add(f"alloca {type}") for type in (kind, "ptr", "i64", "i64")]
    threads = writer.add("call i32 @get_num_threads()")
    pieces = writer.add(f"sext i32 {threads} to i64")
    fields = [("i64", "%pieces"), *[("ptr", f"%{parameter}") for parameter in writer.parameters]]
    for number, (type, name_of) in enumerate(fields):
        field = writer.add(f"getelementptr {kind}, ptr {data}, i32 0, i32 {number}")
        writer.body.append(f"  store {type} {name_of if number else pieces}, ptr {field}")
    writer.body += [
        f"  store ptr null, ptr {pointers}", f"  store i64 {pieces}, ptr {sizes}", f"  store i64 1, ptr {steps}",
        f"  call void @numba_parallel_for(ptr @{name}.rounds, ptr {pointers}, ptr {sizes}, ptr {steps}, ptr {data}, "
        f"i64 0, i64 1, i32 {threads})",
    ]
    loads = []
    for number, (type, value) in enumerate(fields):
        loads += [
            f"  {value}.p = getelementptr {kind}, ptr %data, i32 0, i32 {number}",
            f"  {value} = load {type}, ptr {value}.p",
        ]
    rounds = [
        f"define internal void @{name}.rounds(ptr %elements, ptr %sizes, ptr %steps, ptr %data) {{", *loads,
        "  %element = load ptr, ptr %elements", "  %first = ptrtoint ptr %element to i64",
        "  %size = load i64, ptr %sizes", "  %stop = add i64 %first, %size",
        *[line for end in ("first", "stop") for line in (
            f"  %{end}.a = mul i64 %{end}, {-(-tiles.count // tiles.together)}",
            f"  %{end}.b = sdiv i64 %{end}.a, %pieces", f"  %{end}.c = mul i64 %{end}.b, {tiles.together}",
        )],
        f"  %some = icmp slt i64 %stop.c, {tiles.count}",
        f"  %stop.d = select i1 %some, i64 %stop.c, i64 {tiles.count}",
        f"  %done = call i64 @{name}(i64 %first.c, i64 %stop.d{parameters})",
        "  ret void", "}", "",
    ]
    return [loop, "\n".join(rounds)]


class _TileWriter(StepWriter):
    """Writer of the function that runs kernels on the tiles from ``%first`` up to ``%stop``."""

    def __init__(self, outer: StepWriter, tiles: Tiles):
        super().__init__(tuple(outer.passed))
        self.scaled_values: dict[tuple[str, int], str] = {}  # the results of ``scaled``
        self.start.append("  %counter = alloca i64")
        if tiles.scratch:
            self.start.append(f"  %scratch = alloca [{tiles.scratch} x i8], align 64")
        self.body += [
            "  store i64 %first, ptr %counter", "  br label %test", "test:", "  %number = load i64, ptr %counter",
            "  %more = icmp slt i64 %number, %stop", "  br i1 %more, label %tile, label %end", "tile:",
            f"  %begin = mul i64 %number, {tiles.tile}", f"  %rest = sub i64 {tiles.total}, %begin",
            f"  %shorter = icmp slt i64 %rest, {tiles.tile}",
            f"  %count = select i1 %shorter, i64 %rest, i64 {tiles.tile}",
        ]
        for run in tiles.runs:
            self.call(run.kernel, run.operands)
        self.body += [
            "  %next = add i64 %number, 1", "  store i64 %next, ptr %counter", "  br label %test", "end:",
        ]

    def scaled(self, value: str, elements: int) -> str:
        """Return a number of units as one of elements."""
        if elements == 1:
            return value
        key = value, elements
        if key not in self.scaled_values:
            self.scaled_values[key] = self.add(f"mul i64 {value}, {elements}")
        return self.scaled_values[key]

    def buffer(self, kind: Any, operand: Any) -> list[str]:
        size = as_dtype(kind.dtype).itemsize
        if isinstance(operand, Slice):
            count = self.scaled("%count", operand.elements)
            if isinstance(operand.place, Scratch):
                return self.array(self.within("%scratch", operand.place.offset), count, size)
            moved = self.scaled("%begin", operand.elements * size)
            return self.array(self.within(self.pointer(operand.place), moved), count, size)
        if isinstance(operand, Scratch):  # of as many elements as the kernel reaches
            return self.array(self.within("%scratch", operand.offset), "0", size)
        if isinstance(operand, Alternating):
            last, place = self.pointer(operand.last), self.pointer(operand.place)
            pointer = self.add(f"select i1 %shorter, ptr {last}, ptr {place}")
            return self.array(pointer, str(operand.place.count), size)
        return super().buffer(kind, operand)

    def within(self, pointer: str, offset: Any) -> str:
        """Return the address ``offset`` bytes after another."""
        return self.add(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def number(self, kind: Any, operand: Any) -> list[str]:
        if isinstance(operand, Shifted):
            return [f"i64 {self.scaled('%begin', operand.step) if operand.step else '0'}"]
        return super().number(kind, operand)
