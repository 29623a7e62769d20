"""Checks of a thread's accesses: alignment, bounds, and races between threads that nothing orders.

A race is found by epochs.  Each barrier of a block, and each synchronisation of a warp, begins a new epoch.  For each
byte of memory, three records remember who wrote it last, read it last, and last updated it atomically, and when.  Two
accesses are in order if they are the same thread's, or a barrier that both pass lies between.  Two threads may write
one value: a write that leaves the memory as it is, after another thread's, is not a race.
"""

from __future__ import annotations

from numba import carray, cfunc, njit, types

from .addresses import address_of, int64_at, uint8_at

#: Accesses, as in the argument ``code`` of the check; SHARED is added for accesses of shared memory.
READ, WRITE, ATOMIC, SHARED = 0, 1, 2, 4

#: Numbers of the context, an array of int64: the table of buffers (start, end, offset of its records or -1), the number
#: of them; shared memory, its size and records; the records of buffers; and True to detect races.
TABLE, BUFFERS, SHARED_START, SHARED_SIZE, SHARED_RECORDS, RECORDS, RACES = range(7)
#: The records of threads and their size; the module's data and its size; the epochs of the block and of its warps.
THREADS_START, THREAD_SIZE, DATA, DATA_SIZE, BLOCK_EPOCH, WARP_EPOCHS = range(7, 13)
#: Extents of a block and of the grid.
THREADS, BLOCKS = 13, 16
#: What was found: a fault, its address, instruction, thread and block, and the other thread of a race (-1: several).
FAULT, FAULT_ADDRESS, FAULT_PLACE, FAULT_THREAD, FAULT_BLOCK, FAULT_OTHER = range(19, 25)
#: Bytes of buffers that threads have read and written.
BYTES_READ, BYTES_WRITTEN = 25, 26
#: The trace (see ``profile.py``), the number of its rows, and how many fit; the number of threads that ended before
#: others waited at a barrier, and the number of that barrier.
TRACE, ROWS, MOST_ROWS, ENDED, ENDED_AT = range(27, 32)
CONTEXT_SIZE = 32

#: Columns of the trace: an instruction, its thread, the address that it accesses (-1: it begins a basic block), and the
#: race that was found there, with the record of the earlier access.
PLACE, THREAD, ADDRESS, RACE, EARLIER, COLUMNS = range(6)

#: Faults of accesses.
MISALIGNED, BEYOND_SHARED, BEYOND_BUFFERS, READ_OF_WRITTEN, TWO_WRITES, WRITE_OF_READ, ATOMIC_OF_WRITTEN = range(1, 8)

#: Who a record names, in its low 16 bits: a thread (1 + its number), threads of a warp (_WARP + its number), or several
#: of the block.  The epoch of the warp, that of the block, and 1 + the number of the block follow.
_WARP, _SEVERAL = 0x8000, 0xFFFF


@njit
def _record(thread, block, block_epoch, warp_epoch):
    return ((block + 1) & 0x7FFF) << 48 | (block_epoch & 0xFFFF) << 32 | (warp_epoch & 0xFFFF) << 16 | (thread + 1)


@njit
def _is_ordered(record, later):
    """Return True if the access of a record comes before that of the record ``later`` in every order of threads."""
    if record == 0:
        return True
    if record >> 48 != later >> 48:
        return False
    if record >> 32 != later >> 32:
        return True
    who, thread = record & 0xFFFF, (later & 0xFFFF) - 1
    if who == _SEVERAL:
        return False
    other_warp_epoch = (record >> 16 & 0xFFFF) != (later >> 16 & 0xFFFF)
    if who & _WARP:
        return (who & 0x7FFF) == thread // 32 and other_warp_epoch
    return who - 1 == thread or ((who - 1) // 32 == thread // 32 and other_warp_epoch)


@njit
def _joined(record, later):
    """Return the record of an access by the threads of a record and the thread of ``later``."""
    if _is_ordered(record, later):
        return later
    if record >> 48 != later >> 48:
        return (0x7FFF << 48) | _SEVERAL  # of no block: in order with none
    who, warp = record & 0xFFFF, ((later & 0xFFFF) - 1) // 32
    if who != _SEVERAL and warp == (who & 0x7FFF if who & _WARP else (who - 1) // 32):
        return (later & ~0xFFFF) | _WARP | warp
    return later | _SEVERAL


@njit
def _race(records, access, later, unchanged):
    """Return the race of an access of one byte, or 0, and the record of the earlier access; update the records."""
    written, read, updated = records[0], records[1], records[2]
    fault, other = 0, 0
    if access == READ:
        if not _is_ordered(written, later):
            fault, other = READ_OF_WRITTEN, written
        records[1] = _joined(read, later)
    elif access == WRITE:
        if not _is_ordered(read, later) and not unchanged:
            fault, other = WRITE_OF_READ, read
        elif not _is_ordered(updated, later):
            fault, other = WRITE_OF_READ, updated
        elif not _is_ordered(written, later) and not unchanged:
            fault, other = TWO_WRITES, written
        records[0] = later
    else:
        if not _is_ordered(written, later):
            fault, other = ATOMIC_OF_WRITTEN, written
        records[2] = _joined(updated, later)
    return fault, other


@njit
def _find(c, address, size):
    """Return the records of the buffer that contains an access, 0 if it has none, -1 if there is no such buffer."""
    table = carray(int64_at(c[TABLE]), 3 * c[BUFFERS])
    for number in range(c[BUFFERS]):
        start, end, records = table[3 * number], table[3 * number + 1], table[3 * number + 2]
        if start <= address and address + size <= end:
            return c[RECORDS] + 24 * (address - start + records) if records >= 0 else 0
    return -1


@njit
def _note(c, position, thread, address, race, earlier):
    """Append a row to the trace; return False if there is none, or it is full."""
    if c[ROWS] >= c[MOST_ROWS]:
        return False
    row = carray(int64_at(c[TRACE] + 8 * COLUMNS * c[ROWS]), COLUMNS)
    row[PLACE], row[THREAD], row[ADDRESS], row[RACE], row[EARLIER] = position, thread, address, race, earlier
    c[ROWS] += 1
    return True


@cfunc("void(int32,int32,voidptr)", cache=True)
def note(position, thread, context):
    """Note in the trace that a thread begins a basic block."""
    _note(carray(context, CONTEXT_SIZE, types.int64), position, thread, -1, 0, 0)


@cfunc("int32(int64,int32,int32,int32,int32,int32,voidptr,voidptr)", cache=True)
def check(address, size, code, thread, block, position, written, context):
    """Return the fault of an access, or 0, and note it in the context; with a trace, races are only noted there."""
    c = carray(context, CONTEXT_SIZE, types.int64)
    access = code & 3
    fault, other, records = 0, 0, 0
    part = size if size in (1, 2, 4, 8, 16) else 16  # a vector of up to 16 bytes is aligned as a whole
    if code & SHARED or c[SHARED_START] <= address < c[SHARED_START] + c[SHARED_SIZE]:
        begin = address - c[SHARED_START]
        if begin < 0 or begin + size > c[SHARED_SIZE]:
            fault = BEYOND_SHARED
        records = c[SHARED_RECORDS] + 24 * begin
    else:
        records = _find(c, address, size)
        own_record = c[THREADS_START] + thread * c[THREAD_SIZE]
        if records >= 0:
            c[BYTES_READ] += 0 if access == WRITE else size
            c[BYTES_WRITTEN] += 0 if access == READ else size
        else:
            if own_record <= address and address + size <= own_record + c[THREAD_SIZE]:
                records = 0  # a local variable
            elif access == READ and c[DATA] <= address and address + size <= c[DATA] + c[DATA_SIZE]:
                records = 0
            else:
                fault = BEYOND_BUFFERS
    if address % part:
        fault = MISALIGNED
    if not fault and c[RACES] and records:
        epochs = carray(int64_at(c[WARP_EPOCHS]), 32)
        current = _record(thread, block, c[BLOCK_EPOCH], epochs[thread // 32])
        unchanged = False
        if access == WRITE:
            new, old = carray(uint8_at(address_of(written)), size), carray(uint8_at(address), size)
            unchanged = True
            for number in range(size):
                unchanged = unchanged and new[number] == old[number]
        table = carray(int64_at(records), 3 * size)
        for number in range(size):
            fault_of_access, record = _race(table[3 * number : 3 * number + 3], access, current, unchanged)
            if fault_of_access:
                fault, other = fault_of_access, record
    race = fault if fault >= READ_OF_WRITTEN else 0
    if _note(c, position, thread, address, race, other) and race:
        return types.int32(0)
    if fault:
        who = other & 0xFFFF
        c[FAULT], c[FAULT_ADDRESS], c[FAULT_PLACE] = fault, address, position
        c[FAULT_THREAD], c[FAULT_BLOCK] = thread, block
        c[FAULT_OTHER] = -1 if who & _WARP else who - 1
    return types.int32(fault)
