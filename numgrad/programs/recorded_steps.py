"""Parts of a recorded program: blocks of memory, and the steps that use them.

A ``Block`` is the memory of one owner: an array, or on a GPU a block of the allocator.  Operands of kernels are spans
of blocks.  There are three kinds of blocks:

- *outside*: the memory existed before the call (arguments, parameters, the state of optimizers and generators);
- *fresh*: a step allocated the memory during recording, and a replay may place it anywhere;
- *constant*: any other memory, whose contents a replay needs, such as the sizes of a loop or the result of
  ``torch.arange``.  If a step writes it, each replay begins with a copy.

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
from ..devices.buffers import DeviceBuffer, Memory
from ..devices.cpu import address_of
from ..devices.recording import WatchedNumber

#: The alignment of blocks in an arena or in scratch memory: a cache line.
ALIGNMENT = 64

#: Origins of blocks.
OUTSIDE, FRESH, CONSTANT = "outside", "fresh", "constant"


@dataclass(eq=False)
class Block:
    """The memory of one array, or a piece of a GPU's memory.

    Attributes:
        origin: OUTSIDE, FRESH or CONSTANT.
        address, size: its address during recording, and its number of bytes.
        array: a weak reference to the owner.
        held: the whole array or piece of memory as a flat buffer, unless the block is fresh.
        initial: for a constant that is written, a copy of its first contents.
        first, last: the indices of the first and the last step that use it.
        written: True if a step writes it.
        changed: the index of the first step that writes it, or may write it; -1 if there is none.
        number: for blocks outside, the index in the list of memory that existed before.
        layout: the layout of a tensor in it.
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


@dataclass(slots=True)
class Span:
    """A part of a block as an array; ``offset`` and ``strides`` are in bytes."""

    block: Block
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@dataclass(slots=True)
class Load:
    """A number that is read from memory."""

    span: Span


@dataclass(slots=True)
class Placed:
    """A tensor operand of a host function: its memory, starting at the first element, and its layout."""

    span: Span
    layout: Layout


@dataclass(slots=True)
class RecordedStep:
    """A step of a program.

    Attributes:
        operands: for a kernel, a Span, a Load or a number per parameter; for a host function, its arguments.
        operation: the name of the operation or graph node that the step belongs to.
        location: the place in the user's program where the operation was called.
    """

    operands: tuple[Any, ...]
    operation: str
    location: Location | None


@dataclass(slots=True)
class KernelCall(RecordedStep):
    """A launch of a kernel.

    Attributes:
        addresses: for buffers of addresses (parameter, element, the Span at that address).
        watched: by parameter, the operands that are numbers among the program's arguments.
    """

    kernel: Any = None
    addresses: list[tuple[int, int, Span]] = field(default_factory=list)
    watched: dict[int, WatchedNumber] = field(default_factory=dict)


@dataclass(slots=True)
class HostCall(RecordedStep):
    """A call of a host function, whose results are new arrays."""

    function: Any = None
    results: tuple[Span, ...] = ()


@dataclass(slots=True)
class DeviceCall(RecordedStep):
    """Work added to the stream of a GPU.

    Attributes:
        function: the function or kernel that takes the operands.
        name: its name in messages.
        grid: for a kernel the numbers of blocks and threads.
        written: the memory that it writes.
    """

    function: Any = None
    name: str = ""
    grid: tuple[int, ...] = ()
    written: tuple[Span, ...] = ()


def aligned(size: int) -> int:
    """Return a number of bytes, rounded up to whole cache lines."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def root_of(memory: Any) -> Any:
    """Return the owner of an array's or buffer's memory: an array, or a block of a GPU's allocator."""
    if isinstance(memory, np.ndarray):
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        return memory
    return memory.block if memory.__class__ is DeviceBuffer else memory


def start_address(memory: Any) -> int:
    """Return the address of the first element."""
    return address_of(memory) if isinstance(memory, np.ndarray) else memory.address


def has_known_owner(memory: Any) -> bool:
    """Return True if NumPy or this package owns the memory, and False if another library owns it or there is none."""
    return isinstance(root_of(memory), np.ndarray | Memory)


def whole(root: Any) -> Any:
    """Return the whole memory of an owner as a flat buffer."""
    if isinstance(root, np.ndarray):
        return root.ravel("K")
    return DeviceBuffer(root.address, root.nbytes, np.dtype(np.uint8), root.device, root)
