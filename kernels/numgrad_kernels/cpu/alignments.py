"""Connectionist temporal classification: sums over all alignments of a sequence of labels with a sequence of steps.

The recursions are those of Graves et al., "Connectionist temporal classification" (2006), on logarithms.  An example
``n`` has ``steps[n]`` steps and ``2 * lengths[n] + 1`` states: its labels, separated and surrounded by blanks.  State
``s`` emits ``labels[n, s]``, with the logarithm of a probability in ``x``, seen as (time, batch, classes).  Rows over
states are ``width`` long for all examples; all labels are classes.

Sums of logarithms over many steps are large, and the gradients depend on small differences between them.  Each sum is
therefore a pair: the rounded sum in one array, its rounding error in another.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out
from ..scalar import exp, log

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def added(a, a_error, b):
    """``a + b`` and its rounding error (Knuth's two-sum)."""
    rough = a + b
    if abs(rough) == T(np.inf):
        return rough, T(0)
    part = rough - a
    error = (a - (rough - part)) + (b - part) + a_error
    whole = rough + error
    return whole, error - (whole - rough)


def larger(a, a_error, b, b_error):
    """The larger of two pairs."""
    if a > b or (a == b and a_error > b_error):
        return a, a_error
    return b, b_error


def log_sum(a, a_error, b, b_error, c, c_error):
    """``log(exp(a) + exp(b) + exp(c))`` of three pairs."""
    top, error = larger(b, b_error, c, c_error)
    top, error = larger(a, a_error, top, error)
    if top == T(-np.inf):
        return a + b + c, T(0)  # NaN if one of them is
    sum_ = exp((a - top) + (a_error - error)) + exp((b - top) + (b_error - error)) + exp((c - top) + (c_error - error))
    return added(top, error, log(sum_))


def skips(labels, base, state):
    """True if the state before may be skipped: it is a blank between two different labels."""
    return labels[base + state] != labels[base + state - 2]


def arriving(alpha, errors, before, labels, base, s):
    """The pair of all paths to state ``s``, from the row of the previous step."""
    previous, previous_error, two, two_error = T(-np.inf), T(0), T(-np.inf), T(0)
    if s > 0:
        previous, previous_error = alpha[before + s - 1], errors[before + s - 1]
    if s > 1 and skips(labels, base, s):
        two, two_error = alpha[before + s - 2], errors[before + s - 2]
    return log_sum(alpha[before + s], errors[before + s], previous, previous_error, two, two_error)


def leaving(beta, errors, after, labels, base, s, count):
    """The pair of all paths from state ``s`` to the end, from the row of the next step."""
    next_value, next_error, two, two_error = T(-np.inf), T(0), T(-np.inf), T(0)
    if s + 1 < count:
        next_value, next_error = beta[after + s + 1], errors[after + s + 1]
    if s + 2 < count and skips(labels, base, s + 2):
        two, two_error = beta[after + s + 2], errors[after + s + 2]
    return log_sum(beta[after + s], errors[after + s], next_value, next_error, two, two_error)


def likelihood(alpha, errors, start, width, own_steps, count):
    """The pair of all paths of an example that end in its last label or blank; ``alpha`` is read from ``start``."""
    if own_steps == 0:
        return T(0) if count == 1 else T(-np.inf), T(0)
    last = start + (own_steps - 1) * width + count - 1
    before, before_error = T(-np.inf), T(0)
    if count > 1:
        before, before_error = alpha[last - 1], errors[last - 1]
    return log_sum(alpha[last], errors[last], before, before_error, T(-np.inf), T(0))


def share(a, a_error, b, b_error, total, total_error):
    """``exp(a + b - total)``."""
    both, error = added(a, a_error + b_error, b)
    return exp((both - total) + (error - total_error))


def ctc_losses(x, time, batch, classes, labels, width, steps, lengths, losses: Out, alpha: Out, errors: Out):
    """Minus the logarithm of the probability of each example's labels.

    ``alpha[n, t, s]`` becomes the logarithm of the probability of the labels up to state ``s`` in the steps up to
    ``t``, which is -inf if this is impossible.
    """
    for n in prange(batch):
        own_steps, count, base, start = steps[n], 2 * lengths[n] + 1, n * width, n * time * width
        for t in range(time):
            row, emitted = start + t * width, (t * batch + n) * classes
            present = count if t < own_steps else 0
            for s in range(present, width):
                alpha[row + s], errors[row + s] = T(-np.inf), T(0)
            for s in range(present):
                whole, error = T(0) if s < 2 else T(-np.inf), T(0)
                if t > 0:
                    whole, error = arriving(alpha, errors, row - width, labels, base, s)
                alpha[row + s], errors[row + s] = added(whole, error, x[emitted + labels[base + s]])
        losses[n] = T(0) - likelihood(alpha, errors, start, width, own_steps, count)[0]


def ctc_gradients(
    grad, x, time, batch, classes, labels, width, steps, lengths, alpha, errors, zero_infinity, beta: Out,
    beta_errors: Out, out: Out
):  # fmt: skip
    """``grad[n] * (exp(x[t, n, c]) - p)`` where p is the probability that example n is at a label c in step t.

    The result is 0 in steps that an example does not have.  If the loss of an example is infinite, it is NaN, or 0 with
    ``zero_infinity``.  ``beta`` is a row over states for each example, of the later step.
    """
    for n in prange(batch):
        own_steps, count, base, start = steps[n], 2 * lengths[n] + 1, n * width, n * time * width
        total, total_error = likelihood(alpha, errors, start, width, own_steps, count)
        lost = total == T(-np.inf)
        for t in range(time - 1, -1, -1):
            row, emitted = start + t * width, (t * batch + n) * classes
            if t >= own_steps or lost:
                value = T(0) if t >= own_steps or zero_infinity else T(np.nan)
                for c in range(classes):
                    out[emitted + c] = value
                continue
            for c in range(classes):
                out[emitted + c] = grad[n] * exp(x[emitted + c])
            for s in range(count):  # the states after s still have the values of the later step
                whole, error = T(0) if s >= count - 2 else T(-np.inf), T(0)
                if t < own_steps - 1:
                    whole, error = leaving(beta, beta_errors, base, labels, base, s, count)
                label = labels[base + s]
                p = share(alpha[row + s], errors[row + s], whole, error, total, total_error)
                out[emitted + label] -= grad[n] * p
                beta[base + s], beta_errors[base + s] = added(whole, error, x[emitted + label])
