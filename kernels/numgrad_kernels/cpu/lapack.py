"""Calls of LAPACK's routines for each matrix of a batch."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Blas, InOut
from ..foreign import POINTERS, address_in, call_fortran, constant_in
from ..local import local_array

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def lapack(
    address: Blas, plan, x: InOut, y: InOut, z: InOut, work: InOut, reals: InOut, more_reals: InOut, numbers: InOut,
    more_numbers: InOut,
):  # fmt: skip
    """Call the routine at ``address`` for each matrix.

    ``plan`` contains the number of matrices, the number of workers, which share the matrices, and the number of the
    routine's parameters.  Then follow four numbers for each parameter: the array that it lies in, counted from ``x``,
    or 8 for ``plan`` itself; the position of its first element there; and the steps of this position from one matrix
    to the next, and from one worker to the next.
    """
    count, workers, parameters = plan[0], plan[1], plan[2]
    for worker in prange(workers):
        pointers = local_array(POINTERS, np.int64)
        pointers[:] = 0
        for matrix in range(worker, count, workers):
            for parameter in range(parameters):
                at = 3 + 4 * parameter
                array, start = plan[at], plan[at + 1] + matrix * plan[at + 2] + worker * plan[at + 3]
                if array == 0:
                    pointers[parameter] = address_in(x, start)
                elif array == 1:
                    pointers[parameter] = address_in(y, start)
                elif array == 2:
                    pointers[parameter] = address_in(z, start)
                elif array == 3:
                    pointers[parameter] = address_in(work, start)
                elif array == 4:
                    pointers[parameter] = address_in(reals, start)
                elif array == 5:
                    pointers[parameter] = address_in(more_reals, start)
                elif array == 6:
                    pointers[parameter] = address_in(numbers, start)
                elif array == 7:
                    pointers[parameter] = address_in(more_numbers, start)
                else:
                    pointers[parameter] = constant_in(plan, start)
            call_fortran(address, pointers)
