"""Kernels that run on the processor: machine code made of their PTX, launches, and descriptions of faults."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from . import accesses as accesses  # registers the translations of its instructions
from . import arithmetic as arithmetic
from . import checks, scheduler
from .profile import Line, Profile
from .ptx import Instruction, Label, UntranslatedError, parse
from .translation import RESUME, Translator

#: Orders in which the lanes of a warp, the warps of a block, and the blocks run.
ORDERS = "up", "down", "random"

_ACCESS_FAULTS = {
    checks.MISALIGNED: "a misaligned access",
    checks.BEYOND_SHARED: "an access outside of shared memory",
    checks.BEYOND_BUFFERS: "an access outside of all buffers",
    checks.READ_OF_WRITTEN: "a race: it reads what {other} writes",
    checks.TWO_WRITES: "a race: it writes what {other} writes",
    checks.WRITE_OF_READ: "a race: it writes what {other} reads",
    checks.ATOMIC_OF_WRITTEN: "a race: it updates atomically what {other} writes",
}
_WAITING_FAULTS = {
    scheduler.BROKEN_BARRIER: "a barrier that not all threads reach together",
    scheduler.BROKEN_WARP: "a synchronisation of a warp that not all lanes of its mask reach",
    scheduler.ABSENT_LANE: "a shuffle from a lane that does not take part",
}

_lock = threading.RLock()


class FaultError(RuntimeError):
    """A fault of a kernel, which a GPU need not report."""

    def __init__(self, message: str, what: str, who: str, position: int, address: int | None):
        super().__init__(message)
        self.what, self.who, self.position, self.address = what, who, position, address


class EmulatedKernel:
    """A kernel, by the ``name`` for its faults and its PTX; ``run`` launches it.

    ``text`` is the kernel's module if it was generated; Python's cache of lines may have none of it, or another's.
    If ``traced``, launches may have a profile, and take longer.
    """

    def __init__(self, name: str, ptx: str, text: str = "", traced: bool = False):
        self.name = name
        self.ptx = ptx
        self.text = text
        try:
            self.program = parse(ptx)
            self.translator = Translator(self.program, traced)
            text = self.translator.translate()
        except UntranslatedError as error:
            raise UntranslatedError(f"the emulator of GPUs cannot run the kernel {name}, which has {error}") from error
        with _lock:
            self._engine, self._step = _machine_code(text)
        self._data = _aligned(np.frombuffer(bytes(self.program.data), np.uint8), self.program.sizes["data"])

    def run(
        self,
        blocks: Sequence[int],
        threads: Sequence[int],
        parameters: bytes,
        buffers: Iterable[tuple[int, int, bool]],
        order: str = "up",
        races: bool = True,
        seed: int = 0,
        dynamic_shared: int = 0,
        profile: Profile | None = None,
    ) -> tuple[int, int]:
        """Launch the kernel, and wait for its end.

        Args:
            blocks, threads: the extents of the grid and of a block.
            parameters: the memory of the parameters, as the PTX lays them out.
            buffers: the start and the end of each buffer that the kernel may access, and whether other threads of the
                host may access it, too; races are not detected in such buffers.
            order: how lanes, warps and blocks follow each other, one of ``ORDERS``.
            races: True to detect races.
            seed: of the random order.
            dynamic_shared: bytes of shared memory besides those that the kernel declares.
            profile: counter of the accesses and branches of a traced kernel, and collects races.

        Returns:
            tuple: the bytes that all threads read from buffers and wrote to them; an atomic update counts as both.

        Raises:
            FaultError: an access is misaligned, out of bounds, or racing, or threads wait forever.
        """
        grid, block = (tuple(extents) + (1,) * (3 - len(extents)) for extents in (blocks, threads))
        count, block_count = int(np.prod(block)), int(np.prod(grid))
        program, size = self.program, self.translator.record_size
        table, traced = _table(buffers)
        shared_size = program.sizes["shared"] + dynamic_shared
        shared = _aligned(np.empty(0, np.uint8), shared_size)
        records = _aligned(np.empty(0, np.uint8), count * size).reshape(count, size)
        arguments = _aligned(np.frombuffer(parameters, np.uint8), program.parameter_bytes)
        seen = np.zeros(3 * traced if races else 0, np.int64)
        shared_seen = np.zeros(3 * shared_size if races else 0, np.int64)
        epochs = np.zeros(32, np.int64)
        c = np.zeros(checks.CONTEXT_SIZE, np.int64)
        c[checks.TABLE], c[checks.BUFFERS] = table.ctypes.data, len(table)
        c[checks.SHARED_START], c[checks.SHARED_SIZE] = shared.ctypes.data, shared_size
        c[checks.SHARED_RECORDS], c[checks.RECORDS], c[checks.RACES] = shared_seen.ctypes.data, seen.ctypes.data, races
        c[checks.THREADS_START], c[checks.THREAD_SIZE] = records.ctypes.data, size
        c[checks.DATA], c[checks.DATA_SIZE] = self._data.ctypes.data, self._data.size
        c[checks.WARP_EPOCHS] = epochs.ctypes.data
        c[checks.THREADS : checks.THREADS + 3], c[checks.BLOCKS : checks.BLOCKS + 3] = block, grid
        if profile is not None:
            c[checks.TRACE], c[checks.MOST_ROWS] = profile.trace.ctypes.data, len(profile.trace)
        generator = np.random.default_rng(seed)
        warps = -(-count // 32)
        for number in _ordered(block_count, order, generator):
            shared.fill(0xFF)  # NaN: a kernel must not rely on these values
            records.fill(0xFF)
            shared_seen.fill(0)
            lanes, some_warps = _ordered(32, order, generator), _ordered(warps, order, generator)
            c[checks.ROWS] = 0
            failure = scheduler.run_block(
                self._step, records, arguments.ctypes.data, shared.ctypes.data, int(number), c, lanes, some_warps
            )
            if profile is not None:
                profile.add(c, int(number), count)
            if failure:
                raise self._error(failure, c, records, int(number))
        return int(c[checks.BYTES_READ]), int(c[checks.BYTES_WRITTEN])

    def _error(self, failure: int, c: np.ndarray, records: np.ndarray, block: int) -> FaultError:
        """Return a description of the error, with its location."""
        address = None
        if failure == scheduler.ACCESS:
            other, thread = int(c[checks.FAULT_OTHER]), int(c[checks.FAULT_THREAD])
            another = "another thread" if other < 0 else f"thread {other}"
            what = _ACCESS_FAULTS[int(c[checks.FAULT])].format(other=another)
            address = int(c[checks.FAULT_ADDRESS])
            who = f"thread {thread} of block {block}"
            position = int(c[checks.FAULT_PLACE])
        else:
            what, who = _WAITING_FAULTS[failure], f"block {block}"
            resumed = records.view(np.int32)[:, RESUME // 4]
            position = self.translator.resumes[max(int(resumed.max()), 1) - 1]
        part = self.program.code[position]
        assert not isinstance(part, Label)
        file, line, text = self.line(position)
        at = f", {file}, line {line}" + (f" ({text})" if text else "") if line else ""
        whom = who if address is None else f"{who}, address {address:#x}"
        return FaultError(f"kernel {self.name}: {what}: {whom}{at}: {part.text}", what, who, position, address)

    def line(self, position: int) -> Line:
        """Return the line of Python that an instruction comes from; its number is 0 if that is unknown."""
        part = self.program.code[position]
        number, line = part.location if isinstance(part, Instruction) else (0, 0)
        path = self.program.files.get(number)
        if path is None or not line:
            return Line("", 0, "")
        name = Path(path).name
        if self.text and name.startswith("<kernel "):
            return Line(name, line, self.text.splitlines()[line - 1].strip())
        return Line(name, line, (linecache.getline(path, line) or linecache.getline(name, line)).strip())


def _ordered(count: int, order: str, generator: np.random.Generator) -> np.ndarray:
    """Return the numbers up to ``count`` in an order."""
    if order == "random":
        return generator.permutation(count)
    return np.arange(count) if order == "up" else np.arange(count)[::-1].copy()


def _table(buffers: Iterable[tuple[int, int, bool]]) -> tuple[np.ndarray, int]:
    """Return the table of buffers, with overlapping ones merged, and the number of bytes that have records."""
    merged: list[list[Any]] = []
    for start, end, is_shared in sorted(buffers):
        if end <= start:
            continue
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
            merged[-1][2] |= is_shared
        else:
            merged.append([start, end, is_shared])
    offset = 0
    for buffer in merged:
        if buffer[2]:
            buffer[2] = -1
        else:
            buffer[2], offset = offset, offset + buffer[1] - buffer[0]
    return np.array(merged, np.int64).reshape(-1, 3), offset


def _aligned(content: np.ndarray, size: int) -> np.ndarray:
    """Return memory of ``size`` bytes, aligned to 64, that begins with this content."""
    memory = np.zeros(size + 64, np.uint8)
    skipped = -memory.ctypes.data % 64
    part = memory[skipped : skipped + size]
    part[: content.size] = content[:size]
    return part


def _machine_code(text: str) -> tuple[Any, int]:
    """Return LLVM's engine that owns the function ``step`` of a module, and the function's address."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.add_symbol("numgrad_check", checks.check.address)
    llvm.add_symbol("numgrad_note", checks.note.address)
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=1))
    engine.finalize_object()
    return engine, engine.get_function_address("step")
