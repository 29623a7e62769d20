"""The scheduler: it runs the threads of one block in turn, in any order of lanes and warps that a GPU may choose.

Since the GPUs of compute capability 7.0, each lane of a warp may run ahead of the others.  A thread therefore runs here
until it has to wait: for all threads of its block, or for the lanes of its warp that a mask names.
"""

from __future__ import annotations

import numpy as np
from numba import carray, njit

from . import checks
from .addresses import call_step, int64_at
from .translation import BARRIER, EXCHANGE, EXIT, FAULT, KIND, MASK, RESULT, RESUME, SOURCE, VALUE, WARP
from .warps import ADD, AND, BALLOT, MATCH, MAX, MIN, OR, SHUFFLE, UMAX, UMIN, XOR

#: States of threads, besides those that ``step`` returns: BARRIER, WARP and EXCHANGE.
_READY, _ENDED = 0, 4

#: Reasons to stop a block: a fault of an access, or threads that wait for each other forever.
ACCESS, BROKEN_BARRIER, BROKEN_WARP, ABSENT_LANE = 1, 2, 3, 4


@njit
def _exchange(narrow, wide, first, lanes):
    """Compute the results of some lanes of the warp with this first thread; return False if a source is absent."""
    for lane in range(32):
        thread = first + lane
        if not lanes[lane]:
            continue
        kind = narrow[thread, KIND // 4]
        if kind == SHUFFLE:
            source = narrow[thread, SOURCE // 4]
            if not lanes[source]:
                return False
            wide[thread, RESULT // 8] = wide[first + source, VALUE // 8]
            continue
        value_of_lane = wide[thread, VALUE // 8]
        result = value_of_lane
        if kind in (BALLOT, MATCH):
            result = 0
        for other in range(32):
            if not lanes[other]:
                continue
            value = wide[first + other, VALUE // 8]
            if kind == BALLOT:
                result |= np.int64(value & 1) << other
            elif kind == MATCH:
                result |= np.int64(value == value_of_lane) << other
            elif other == lane:
                pass
            elif kind == ADD:
                result += value
            elif kind == AND:
                result &= value
            elif kind == OR:
                result |= value
            elif kind == XOR:
                result ^= value
            elif kind in (MIN, UMIN):  # of 32 bits, extended by zeros or by the sign
                result = min(result, value)
            elif kind in (MAX, UMAX):
                result = max(result, value)
        wide[thread, RESULT // 8] = result
    return True


@njit
def _release_warp(narrow, wide, states, first, count, lanes):
    """Resume the lanes of a warp that wait for each other; return their number, or minus the code of a fault."""
    released = 0
    for lane in range(32):
        thread = first + lane
        if thread >= count or (states[thread] != WARP and states[thread] != EXCHANGE):
            continue
        state, mask = states[thread], narrow[thread, MASK // 4]
        if not mask >> lane & 1:
            return -BROKEN_WARP  # a thread that its own mask omits
        complete = True
        for other in range(32):
            at = first + other
            lanes[other] = bool(mask >> other & 1) and at < count and states[at] != _ENDED
            if lanes[other] and (states[at] != state or narrow[at, MASK // 4] != mask):
                complete = False
        if not complete:
            continue
        if state == EXCHANGE and not _exchange(narrow, wide, first, lanes):
            return -ABSENT_LANE
        for other in range(32):
            if lanes[other]:
                states[first + other] = _READY
                released += 1
    return released


@njit
def _warps_agree(narrow, states, count):
    """Return True if the threads of each warp wait at the same barrier, as its instruction requires."""
    for first in range(0, count, 32):
        position = -1
        for thread in range(first, min(first + 32, count)):
            if states[thread] == BARRIER:
                if position >= 0 and narrow[thread, RESUME // 4] != position:
                    return False
                position = narrow[thread, RESUME // 4]
    return True


@njit
def _release_block(wide, states):
    """Resume the threads of a block, with the numbers of those whose values were 1 and 0, in 32 bits each."""
    result = 0
    for thread in range(len(states)):
        if states[thread] == BARRIER:
            result += 1 if wide[thread, VALUE // 8] == 1 else 1 << 32
    for thread in range(len(states)):
        if states[thread] == BARRIER:
            wide[thread, RESULT // 8] = result
            states[thread] = _READY


@njit(nogil=True, cache=True)
def run_block(step, records, parameters, shared, block, c, lane_order, warp_order):
    """Run one block; return 0, or the code of a fault.

    Args:
        step: the address of the machine code.
        records: the records of the threads, one a row.
        parameters, shared: the addresses of the kernel's parameters and of the block's shared memory.
        block: the number of the block.
        c: the context (see ``checks.py``).
        lane_order, warp_order: the orders in which lanes and warps run.
    """
    count, size = records.shape
    narrow, wide = records.view(np.int32), records.view(np.int64)
    start, context = records.ctypes.data, c.ctypes.data
    states = np.zeros(count, np.int8)
    lanes = np.zeros(32, np.bool_)
    epochs = carray(int64_at(c[checks.WARP_EPOCHS]), 32)
    c[checks.BLOCK_EPOCH] = 1
    epochs[:] = 1
    narrow[:, RESUME // 4] = 0
    while True:
        for warp in warp_order:
            first = 32 * warp
            released = 1
            while released:
                for lane in lane_order:
                    thread = first + lane
                    if thread < count and states[thread] == _READY:
                        code = call_step(
                            step, start + thread * size, parameters, shared, np.int32(thread), np.int32(block), context
                        )
                        if code == FAULT:
                            return ACCESS
                        states[thread] = _ENDED if code == EXIT else code
                released = _release_warp(narrow, wide, states, first, count, lanes)
                if released < 0:
                    return -released
                epochs[warp] += released > 0
        waiting, ended = 0, 0
        for thread in range(count):
            waiting += states[thread] == BARRIER
            ended += states[thread] == _ENDED
        if ended == count:
            return 0
        if waiting + ended < count:
            return BROKEN_WARP
        if not _warps_agree(narrow, states, count):
            return BROKEN_BARRIER
        if ended > c[checks.ENDED]:
            c[checks.ENDED], c[checks.ENDED_AT] = ended, narrow[np.argmax(states == BARRIER), RESUME // 4]
        _release_block(wide, states)
        c[checks.BLOCK_EPOCH] += 1
        epochs[:] += 1
