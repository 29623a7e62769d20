"""Parts of a recorded program: blocks of memory, and steps that work on them.

A ``Block`` is the memory of one owner: an array, or on a GPU a block of the allocator.  Operands of kernels are spans
of blocks.  There are three kinds of blocks:

- *outside*: the memory was there before (arguments, parameters, the state of optimizers and generators);
- *fresh*: the memory was allocated by a step while the program was recorded, and a replay may put it anywhere;
- *constant*: any other memory, whose elements matter, such as the sizes of a loop or the result of ``torch.arange``.
  If it is written later, a replay begins with a copy.

Fresh blocks are held weakly, so that recording needs no more memory than running.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd.locations import Location
from ..core.layout import Layout
from ..devices.recording import Watched
from ..devices.rows import DeviceRow, Memory

#: How a block is met first.
OUTSIDE, FRESH, CONSTANT = "outside", "fresh", "constant"


@dataclass(eq=False)
class Block:
    """The memory of one array, or a piece of a GPU's memory.

    Attributes:
        origin: OUTSIDE, FRESH or CONSTANT.
        address, size: where it lies while the program is recorded, and its bytes.
        array: a weak reference to what owns it.
        held: the array itself, or all of the piece as a row, unless the block is fresh.
        initial: of a constant that is written: what it held before.
        first, last: the numbers of the first and the last step that have to do with it.
        written: whether a step writes it.
        changed: the number of the first step that does, or may do, so.
        number: of blocks outside, which of those known before it is.
        layout: of a tensor that lies in it.
    """

    origin: str
    address: int
    size: int
    array: Callable[[], Any]
    held: Any = None
    initial: Any = None
    first: int = -1
    last: int = -1
    written: bool = False
    changed: int = -1
    number: int = -1
    layout: Any = None


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a block as an array: where it begins, in bytes, and how it lies."""

    block: Block
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def count(self) -> int:
        """Elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Load:
    """A number that stands in memory."""

    span: Span


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor for a host function: its memory from its first element on, and its layout."""

    span: Span
    layout: Layout


@dataclass(slots=True)
class Step:
    """What happens next in a program.

    Attributes:
        operands: of a kernel one for each parameter: a Span, a Load or a number; of a host function its arguments.
        operation: the name of the operation that asked for it, or of the node of the graph.
        location: where in the user's program; of a node, where its operation was called.
    """

    operands: tuple[Any, ...]
    operation: str
    location: Location | None


@dataclass(slots=True)
class Launch(Step):
    """A run of a kernel.

    Attributes:
        addresses: for rows of addresses: (parameter, element, the Span that begins there).
        watched: by the numbers of parameters: operands that are numbers which the program was given.
    """

    kernel: Any = None
    addresses: list[tuple[int, int, Span]] = field(default_factory=list)
    watched: dict[int, Watched] = field(default_factory=dict)


@dataclass(slots=True)
class HostCall(Step):
    """A call of a function of the host's, whose results are new arrays."""

    function: Any = None
    results: tuple[Span, ...] = ()


@dataclass(slots=True)
class DeviceCall(Step):
    """Work that is put on the stream of a GPU.

    Attributes:
        function: is called with the operands; a kernel is run with them.
        name: what messages call it.
        grid: of a kernel its blocks and threads.
        written: what it writes.
    """

    function: Any = None
    name: str = ""
    grid: tuple[int, ...] = ()
    written: tuple[Span, ...] = ()


def root_of(memory: Any) -> Any:
    """What owns the memory of an array or a row: an array, or a block of a GPU's allocator."""
    if isinstance(memory, np.ndarray):
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        return memory
    return memory.block if memory.__class__ is DeviceRow else memory


def place_of(memory: Any) -> int:
    """The address of the first element."""
    return memory.__array_interface__["data"][0] if isinstance(memory, np.ndarray) else memory.address


def is_known(memory: Any) -> bool:
    """Whether it is known what owns the memory: not if another library has lent it, or there is none."""
    return isinstance(root_of(memory), np.ndarray | Memory)


def whole(root: Any) -> Any:
    """All that such an owner has, as one array or row."""
    if isinstance(root, np.ndarray):
        return root.ravel("K")
    return DeviceRow(root.address, root.nbytes, np.dtype(np.uint8), root.device, root)
