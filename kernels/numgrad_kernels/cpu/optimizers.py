"""The updates of the optimizers, over all parameters of a dtype in one launch.

A kernel gets three rows.  ``addresses`` holds for each parameter the addresses of its operands: itself, its gradient
and what the optimizer keeps for it (0 for what it does without).  ``blocks`` cuts the parameters into stretches
of at most BLOCK elements, three numbers each: which parameter, first element, how many.  ``numbers`` holds for each
parameter the numbers of the update as float64, whose sign and zeros carry the options: a kernel is compiled once for
all of them.

A block goes through several short loops, whose memory stays in the processor's first cache: so an option is
a branch per block and every loop vectorises.  Elements do not depend on each other, so results do not depend on the
number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..local import array_at, local_array
from ..scalar import maximum, sqrt

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: The most elements of a block.
BLOCK = 2048


def _descent(sign, decay, param, grad, out):
    """``sign * grad + decay * param``, the gradient of the loss with the penalty of weight decay."""
    if decay != T(0):
        for i in range(grad.size):
            out[i] = sign * grad[i] + decay * param[i]
    else:
        for i in range(grad.size):
            out[i] = sign * grad[i]


def _approach(average, weight, target):
    """Move ``average`` towards ``target``: ``(1 - weight) * average + weight * target``."""
    if weight < T(0.5):
        for i in range(average.size):
            average[i] += weight * (target[i] - average[i])
    else:
        for i in range(average.size):
            average[i] = target[i] - (target[i] - average[i]) * (T(1) - weight)


def _approach_square(average, keep, take, value):
    """``average = keep * average + take * value**2``."""
    for i in range(average.size):
        average[i] = keep * average[i] + take * value[i] * value[i]


def sgd(addresses, blocks, numbers):
    """Stochastic gradient descent.

    Operands: parameter, gradient, momentum buffer.  Numbers: sign of the gradient, weight decay, learning rate,
    momentum, share of the gradient in the buffer, 1 for Nesterov's form.
    """
    for block in prange(blocks.size // 3):
        which, start, count = blocks[3 * block], blocks[3 * block + 1], blocks[3 * block + 2]
        place, line = 3 * which, 6 * which
        param = array_at(addresses[place], start, count, T)
        grad = array_at(addresses[place + 1], start, count, T)
        sign = T(numbers[line])
        decay = T(numbers[line + 1])
        rate = T(numbers[line + 2])
        momentum = T(numbers[line + 3])
        share = T(numbers[line + 4])
        if addresses[place + 2]:
            velocity = array_at(addresses[place + 2], start, count, T)
            step = local_array(BLOCK, T)
            _descent(sign, decay, param, grad, step)
            if numbers[line + 5]:
                for i in range(count):
                    velocity[i] = momentum * velocity[i] + share * step[i]
                    param[i] -= rate * (step[i] + momentum * velocity[i])
            else:
                for i in range(count):
                    velocity[i] = momentum * velocity[i] + share * step[i]
                    param[i] -= rate * velocity[i]
        elif decay != T(0):
            for i in range(count):
                param[i] -= rate * (sign * grad[i] + decay * param[i])
        else:
            for i in range(count):
                param[i] -= rate * (sign * grad[i])


def adam(addresses, blocks, numbers):
    """Adam and, with decoupled weight decay, AdamW.

    Operands: parameter, gradient, first moment, second moment, largest second moment.  Numbers: sign of the gradient,
    weight decay, factor of the parameter (decoupled weight decay), 1 - beta1, beta2, 1 - beta2, step size,
    1 / sqrt(1 - beta2^t), epsilon.
    """
    for block in prange(blocks.size // 3):
        which, start, count = blocks[3 * block], blocks[3 * block + 1], blocks[3 * block + 2]
        place, line = 5 * which, 9 * which
        param = array_at(addresses[place], start, count, T)
        grad = array_at(addresses[place + 1], start, count, T)
        first = array_at(addresses[place + 2], start, count, T)
        second = array_at(addresses[place + 3], start, count, T)
        keep = T(numbers[line + 2])
        rate = T(numbers[line + 6])
        correction = T(numbers[line + 7])
        epsilon = T(numbers[line + 8])
        work = local_array(BLOCK, T)
        _descent(T(numbers[line]), T(numbers[line + 1]), param, grad, work)
        _approach(first, T(numbers[line + 3]), work)
        _approach_square(second, T(numbers[line + 4]), T(numbers[line + 5]), work)
        scale = second
        if addresses[place + 4]:
            scale = array_at(addresses[place + 4], start, count, T)
            for i in range(count):
                scale[i] = maximum(scale[i], second[i])
        for i in range(count):
            param[i] = keep * param[i] - rate * first[i] / (sqrt(scale[i]) * correction + epsilon)


def rmsprop(addresses, blocks, numbers):
    """RMSprop.

    Operands: parameter, gradient, mean square of the gradients, mean gradient (the centered form), momentum buffer.
    Numbers: sign of the gradient, weight decay, alpha, 1 - alpha, epsilon, learning rate, momentum.
    """
    for block in prange(blocks.size // 3):
        which, start, count = blocks[3 * block], blocks[3 * block + 1], blocks[3 * block + 2]
        place, line = 5 * which, 7 * which
        param = array_at(addresses[place], start, count, T)
        grad = array_at(addresses[place + 1], start, count, T)
        square = array_at(addresses[place + 2], start, count, T)
        share = T(numbers[line + 3])
        epsilon = T(numbers[line + 4])
        rate = T(numbers[line + 5])
        momentum = T(numbers[line + 6])
        work = local_array(BLOCK, T)
        _descent(T(numbers[line]), T(numbers[line + 1]), param, grad, work)
        _approach_square(square, T(numbers[line + 2]), share, work)
        if addresses[place + 3]:
            mean = array_at(addresses[place + 3], start, count, T)
            _approach(mean, share, work)
            for i in range(count):
                work[i] /= sqrt(square[i] - mean[i] * mean[i]) + epsilon
        else:
            for i in range(count):
                work[i] /= sqrt(square[i]) + epsilon
        if addresses[place + 4]:
            velocity = array_at(addresses[place + 4], start, count, T)
            for i in range(count):
                velocity[i] = momentum * velocity[i] + work[i]
                param[i] -= rate * velocity[i]
        else:
            for i in range(count):
                param[i] -= rate * work[i]


def adagrad(addresses, blocks, numbers):
    """Adagrad.

    Operands: parameter, gradient, sum of the squared gradients.  Numbers: sign of the gradient, weight decay, step
    size, epsilon.
    """
    for block in prange(blocks.size // 3):
        which, start, count = blocks[3 * block], blocks[3 * block + 1], blocks[3 * block + 2]
        place, line = 3 * which, 4 * which
        param = array_at(addresses[place], start, count, T)
        grad = array_at(addresses[place + 1], start, count, T)
        total = array_at(addresses[place + 2], start, count, T)
        rate = T(numbers[line + 2])
        epsilon = T(numbers[line + 3])
        work = local_array(BLOCK, T)
        _descent(T(numbers[line]), T(numbers[line + 1]), param, grad, work)
        _approach_square(total, T(1), T(1), work)
        for i in range(count):
            param[i] -= rate * work[i] / (sqrt(total[i]) + epsilon)
