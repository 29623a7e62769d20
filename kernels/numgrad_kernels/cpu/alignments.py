"""Connectionist temporal classification: sums over all ways to lay a sequence of labels along a longer one of steps.

The recursions are those of Graves et al., "Connectionist temporal classification" (2006), on logarithms.  An example
``n`` has ``steps[n]`` steps and ``2 * lengths[n] + 1`` states: a label after every other one, and blanks around them.
``labels[n, s]`` is what state ``s`` emits, with the logarithm of a probability in ``x``, seen as (time, batch,
classes).  Rows over states are ``width`` long for all examples; all labels are classes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out
from ..scalar import exp, log

#: Placeholder: the dtype that the kernel computes in.
T = np.float32


def log_sum(a, b, c):
    """``log(exp(a) + exp(b) + exp(c))``."""
    top = max(a, max(b, c))
    if top == T(-np.inf):
        return top
    return top + log(exp(a - top) + exp(b - top) + exp(c - top))


def skips(labels, base, state):
    """Whether the state before may be left out: it is a blank between two different labels."""
    return labels[base + state] != labels[base + state - 2]


def log_likelihood(alpha, last, count):
    """Of an example, from its last step's row of ``alpha``: it ends in the last label, or in the blank after it."""
    before = alpha[last + count - 2] if count > 1 else T(-np.inf)
    return log_sum(alpha[last + count - 1], before, T(-np.inf))


def ctc_losses(x, time, batch, classes, labels, width, steps, lengths, losses: Out, alpha: Out):
    """Minus the logarithm of the probability of each example's labels.

    ``alpha[n, t, s]`` becomes that of the labels up to state ``s`` in the steps up to ``t``: -inf where there are none.
    """
    for n in prange(batch):
        own, count, base = steps[n], 2 * lengths[n] + 1, n * width
        for t in range(time):
            row, emitted = (n * time + t) * width, (t * batch + n) * classes
            present = count if t < own else 0
            for s in range(present, width):
                alpha[row + s] = T(-np.inf)
            for s in range(present):
                if t == 0:
                    whole = T(0) if s < 2 else T(-np.inf)
                else:
                    previous = row - width + s
                    one = alpha[previous - 1] if s > 0 else T(-np.inf)
                    two = alpha[previous - 2] if s > 1 and skips(labels, base, s) else T(-np.inf)
                    whole = log_sum(alpha[previous], one, two)
                alpha[row + s] = whole + x[emitted + labels[base + s]]
        if own > 0:
            losses[n] = -log_likelihood(alpha, (n * time + own - 1) * width, count)
        else:
            losses[n] = T(0) if count == 1 else T(np.inf)


def ctc_gradients(
    grad, x, time, batch, classes, labels, width, steps, lengths, losses, alpha, zero_infinity, beta: Out, out: Out
):  # fmt: skip
    """``grad[n] * (exp(x[t, n, c]) - p)`` where p is the probability that example n is at a label c in step t.

    It is 0 in steps that an example does not have, and with ``zero_infinity`` where its loss is infinite; else that is
    NaN there.  ``beta`` is a row over states for each example, for what comes after a step.
    """
    for n in prange(batch):
        own, count, base, loss = steps[n], 2 * lengths[n] + 1, n * width, losses[n]
        lost = loss == T(np.inf)
        for t in range(time - 1, -1, -1):
            row, emitted = (n * time + t) * width, (t * batch + n) * classes
            if t >= own or lost:
                value = T(0) if t >= own or zero_infinity else T(np.nan)
                for c in range(classes):
                    out[emitted + c] = value
                continue
            for c in range(classes):
                out[emitted + c] = grad[n] * exp(x[emitted + c])
            for s in range(count):  # the states after s still have the later step's values
                if t == own - 1:
                    whole = T(0) if s >= count - 2 else T(-np.inf)
                else:
                    one = beta[base + s + 1] if s + 1 < count else T(-np.inf)
                    two = beta[base + s + 2] if s + 2 < count and skips(labels, base, s + 2) else T(-np.inf)
                    whole = log_sum(beta[base + s], one, two)
                label = labels[base + s]
                beta[base + s] = whole + x[emitted + label]
                both = whole + alpha[row + s]
                if both > T(-np.inf):
                    out[emitted + label] -= grad[n] * exp(both + loss)
