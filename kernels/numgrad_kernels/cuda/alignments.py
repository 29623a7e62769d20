"""Connectionist temporal classification on GPUs: a block for each example, its threads for the states; see
``cpu/alignments.py``.
"""

from __future__ import annotations

import numpy as np

from ..cpu.alignments import log_likelihood, log_sum, skips
from ..facts import InOut, Out
from ..scalar import exp
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def ctc_losses(x, time, batch, classes, labels, width, steps, lengths, losses: Out, alpha: Out):
    """Minus the logarithm of the probability of each example's labels, and ``alpha`` as on the CPU."""
    n = np.int64(cuda.blockIdx.x)
    own, count, base = steps[n], 2 * lengths[n] + 1, n * width
    for t in range(time):
        row, emitted = (n * time + t) * width, (t * batch + n) * classes
        for s in range(cuda.threadIdx.x, width, THREADS):
            if t >= own or s >= count:
                alpha[row + s] = T(-np.inf)
                continue
            whole = T(-np.inf)
            if t == 0:
                if s < 2:
                    whole = T(0)
            else:
                previous = row - width + s
                one, two = T(-np.inf), T(-np.inf)
                if s > 0:
                    one = alpha[previous - 1]
                if s > 1 and skips(labels, base, s):
                    two = alpha[previous - 2]
                whole = log_sum(alpha[previous], one, two)
            alpha[row + s] = whole + x[emitted + labels[base + s]]
        cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        if own > 0:
            losses[n] = -log_likelihood(alpha, (n * time + own - 1) * width, count)
        elif count == 1:
            losses[n] = T(0)
        else:
            losses[n] = T(np.inf)


def ctc_occupancy(
    x, time, batch, classes, labels, width, steps, lengths, losses, alpha, beta: InOut, shares: Out
):  # fmt: skip
    """``shares[n, t, s]`` is the probability that example n is in state s in step t.

    ``beta`` has two rows over states for each example, for what comes after a step and after the one before it.
    """
    n = np.int64(cuda.blockIdx.x)
    own, count, base, loss = steps[n], 2 * lengths[n] + 1, n * width, losses[n]
    for back in range(own):
        t = own - 1 - back
        row, emitted = (n * time + t) * width, (t * batch + n) * classes
        after, here = (2 * n + t % 2) * width, (2 * n + (t + 1) % 2) * width
        for s in range(cuda.threadIdx.x, count, THREADS):
            whole = T(-np.inf)
            if back == 0:
                if s >= count - 2:
                    whole = T(0)
            else:
                one, two = T(-np.inf), T(-np.inf)
                if s + 1 < count:
                    one = beta[after + s + 1]
                if s + 2 < count and skips(labels, base, s + 2):
                    two = beta[after + s + 2]
                whole = log_sum(beta[after + s], one, two)
            beta[here + s] = whole + x[emitted + labels[base + s]]
            both = whole + alpha[row + s]
            shares[row + s] = exp(both + loss) if both > T(-np.inf) else T(0)
        cuda.syncthreads()


def ctc_gradients(
    grad, x, time, batch, classes, labels, width, steps, lengths, losses, shares, zero_infinity, size, out: Out
):  # fmt: skip
    """``grad[n] * (exp(x[t, n, c]) - p)`` as on the CPU: a thread for each of ``size`` pairs of a step and an example.
    """
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        t, n = i // batch, i % batch
        emitted, row, base = i * classes, (n * time + t) * width, n * width
        lost = losses[n] == T(np.inf)
        if t >= steps[n] or lost:
            value = T(0)
            if t < steps[n] and not zero_infinity:
                value = T(np.nan)
            for c in range(classes):
                out[emitted + c] = value
        else:
            for c in range(classes):
                out[emitted + c] = grad[n] * exp(x[emitted + c])
            for s in range(2 * lengths[n] + 1):
                out[emitted + labels[base + s]] -= grad[n] * shares[row + s]
