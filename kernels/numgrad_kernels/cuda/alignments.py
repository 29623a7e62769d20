"""Connectionist temporal classification on GPUs: a block for each example, its threads for the states; see
``cpu/alignments.py``.
"""

from __future__ import annotations

import numpy as np

from ..cpu.alignments import added, arriving, leaving, likelihood, share
from ..facts import InOut, Out
from ..scalar import exp
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256


def ctc_losses(x, time, batch, classes, labels, width, steps, lengths, losses: Out, alpha: Out, errors: Out):
    """Minus the logarithm of the probability of each example's labels, and ``alpha`` as on the CPU."""
    n = np.int64(cuda.blockIdx.x)
    own_steps, count, base, start = steps[n], 2 * lengths[n] + 1, n * width, n * time * width
    for t in range(time):
        row, emitted = start + t * width, (t * batch + n) * classes
        for s in range(cuda.threadIdx.x, width, THREADS):
            if t >= own_steps or s >= count:
                alpha[row + s], errors[row + s] = T(-np.inf), T(0)
                continue
            whole, error = T(0) if s < 2 else T(-np.inf), T(0)
            if t > 0:
                whole, error = arriving(alpha, errors, row - width, labels, base, s)
            alpha[row + s], errors[row + s] = added(whole, error, x[emitted + labels[base + s]])
        cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        losses[n] = T(0) - likelihood(alpha, errors, start, width, own_steps, count)[0]


def ctc_occupancy(
    x, time, batch, classes, labels, width, steps, lengths, alpha, errors, beta: InOut, beta_errors: InOut,
    shares: Out
):  # fmt: skip
    """``shares[n, t, s]`` is the probability that example n is in state s in step t.

    ``beta`` has two rows over states for each example, for a step and the one after it.
    """
    n = np.int64(cuda.blockIdx.x)
    own_steps, count, base, start = steps[n], 2 * lengths[n] + 1, n * width, n * time * width
    total, total_error = likelihood(alpha, errors, start, width, own_steps, count)
    for back in range(own_steps):
        t = own_steps - 1 - back
        row, emitted = start + t * width, (t * batch + n) * classes
        after, current = (2 * n + t % 2) * width, (2 * n + (t + 1) % 2) * width
        for s in range(cuda.threadIdx.x, count, THREADS):
            whole, error = T(0) if s >= count - 2 else T(-np.inf), T(0)
            if back > 0:
                whole, error = leaving(beta, beta_errors, after, labels, base, s, count)
            shares[row + s] = share(alpha[row + s], errors[row + s], whole, error, total, total_error)
            beta[current + s], beta_errors[current + s] = added(whole, error, x[emitted + labels[base + s]])
        cuda.syncthreads()


def ctc_gradients(
    grad, x, time, batch, classes, labels, width, steps, lengths, alpha, errors, shares, zero_infinity, size, out: Out
):  # fmt: skip
    """``grad[n] * (exp(x[t, n, c]) - p)`` as on the CPU: a thread for each of ``size`` pairs of step and example."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        t, n = i // batch, i % batch
        emitted, row, base, count = i * classes, (n * time + t) * width, n * width, 2 * lengths[n] + 1
        lost = likelihood(alpha, errors, n * time * width, width, steps[n], count)[0] == T(-np.inf)
        if t >= steps[n] or lost:
            value = T(0)
            if t < steps[n] and not zero_infinity:
                value = T(np.nan)
            for c in range(classes):
                out[emitted + c] = value
        else:
            for c in range(classes):
                out[emitted + c] = grad[n] * exp(x[emitted + c])
            for s in range(count):
                out[emitted + labels[base + s]] -= grad[n] * shares[row + s]
