"""Samples of connectionist temporal classification, compared with sums over all alignments of labels and steps."""

import itertools

import numpy as np
from ops.sampling import FLOATS, sample, without

import numgrad
from numgrad.ops.network.alignment import ctc_loss_backward, ctc_loss_op

without("ctc_loss_op ctc_loss_backward", "empty", "0-d")

#: The labels of three examples, of four steps and less; 0 is the blank.
_TARGETS, _STEPS = [[1, 1], [2], []], [4, 3, 4]


def _log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _ways(number, classes):
    """All sequences of an example's steps that give its labels: repetitions are one label, and blanks none."""
    for way in itertools.product(range(classes), repeat=_STEPS[number]):
        if [label for label, _ in itertools.groupby(way) if label] == _TARGETS[number]:
            yield way


def _probabilities(x):
    """The probability of each example's labels, and jointly with each class in each step, (time, batch, classes)."""
    p = np.exp(_log_softmax(x))
    totals, along = np.zeros(p.shape[1]), np.zeros(p.shape)
    for number in range(p.shape[1]):
        for way in _ways(number, p.shape[2]):
            chance = np.prod([p[t, number, label] for t, label in enumerate(way)])
            totals[number] += chance
            for t, label in enumerate(way):
                along[t, number, label] += chance
    return totals, along


def _losses(x, *others):
    return -np.log(_probabilities(x)[0])


def _gradients(grad, x, *others):
    grad, (totals, along) = _log_softmax(grad), _probabilities(x)
    present = np.arange(x.shape[0])[:, None] < np.array(_STEPS)
    return grad[:, None] * (np.exp(_log_softmax(x)) - along / totals[:, None]) * present[..., None]


def _given(x):
    """The labels with blanks, the numbers of steps and those of labels."""
    labels = [[0, 1, 0, 1, 0], [0, 2, 0, 0, 0], [0] * 5]
    return [numgrad.tensor(each, device=x.device) for each in (labels, _STEPS, [len(each) for each in _TARGETS])]


def _call(x, *others):
    return ctc_loss_op(x.log_softmax(2), *_given(x), False)[0]


def _call_backward(grad, x, *others):
    grad = grad.log_softmax(0)  # which rejects invalid values of x
    logs, given = x.log_softmax(2), _given(x)
    return ctc_loss_backward(grad, logs, *given, *ctc_loss_op(logs.detach(), *given, False)[1:], False)


sample("ctc_loss_op", _losses, (4, 3, 3), None, None, None, dtypes=FLOATS, call=_call)
sample("ctc_loss_backward", _gradients, (3,), (4, 3, 3), *[None] * 5, dtypes=FLOATS, call=_call_backward)
