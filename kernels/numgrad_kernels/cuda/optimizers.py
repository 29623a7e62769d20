"""The updates of the optimizers, over all parameters of a dtype in one launch.

``update`` gets the rows that the CPU's kernels get, with a line of OPERANDS addresses and a line of NUMBERS numbers for
each parameter, whichever the optimizer.  A block of threads does a block of elements, four at a time where all operands
lie at multiples of 16 bytes.  What becomes of one element, and of what is kept for it (``a``, ``b`` and ``c``, as far
as there is such an operand), says the function in the place of ``rule``; the names of its numbers are explained beside
the CPU's kernels.
"""

import numpy as np

from ..scalar import maximum, sqrt
from .adapter import cuda
from .language import load4, row_at, store4

T = np.float32  # a placeholder: the dtype computed in
THREADS = 256

#: The most elements of a block.
BLOCK = 2048

#: Addresses and numbers of a parameter.
OPERANDS, NUMBERS = 5, 9


def _descent(param, grad, sign, decay):
    """The gradient of the loss with the penalty of weight decay."""
    slope = sign * grad
    if decay != T(0):
        slope += decay * param
    return slope


def _approach(average, weight, target):
    """``(1 - weight) * average + weight * target``."""
    moved = average + weight * (target - average)
    if weight >= T(0.5):
        moved = target - (target - average) * (T(1) - weight)
    return moved


def sgd(param, grad, a, b, c, has_a, has_b, has_c, sign, decay, rate, momentum, share, nesterov, n6, n7, n8):
    """Stochastic gradient descent."""
    slope = _descent(param, grad, sign, decay)
    step = slope
    if has_a:
        a = momentum * a + share * slope
        step = slope + momentum * a if nesterov != T(0) else a
    return param - rate * step, a, b, c


def adam(param, grad, a, b, c, has_a, has_b, has_c, sign, decay, keep, weight, kept, taken, rate, correction, epsilon):
    """Adam and AdamW."""
    slope = _descent(param, grad, sign, decay)
    a = _approach(a, weight, slope)
    b = kept * b + taken * slope * slope
    scale = b
    if has_c:
        c = maximum(c, b)
        scale = c
    return keep * param - rate * a / (sqrt(scale) * correction + epsilon), a, b, c


def rmsprop(param, grad, a, b, c, has_a, has_b, has_c, sign, decay, kept, taken, epsilon, rate, momentum, n7, n8):
    """RMSprop."""
    slope = _descent(param, grad, sign, decay)
    a = kept * a + taken * slope * slope
    variance = a
    if has_b:
        b = _approach(b, taken, slope)
        variance = a - b * b
    step = slope / (sqrt(variance) + epsilon)
    if has_c:
        c = momentum * c + step
        step = c
    return param - rate * step, a, b, c


def adagrad(param, grad, a, b, c, has_a, has_b, has_c, sign, decay, rate, epsilon, n4, n5, n6, n7, n8):
    """Adagrad."""
    slope = _descent(param, grad, sign, decay)
    a = a + slope * slope
    return param - rate * slope / (sqrt(a) + epsilon), a, b, c


rule = sgd


def update(addresses, blocks, numbers):
    """Update the elements of a block by their gradients."""
    block = 3 * cuda.blockIdx.x
    thread = cuda.threadIdx.x
    which, start, count = blocks[block], blocks[block + 1], blocks[block + 2]

    line = NUMBERS * which
    n0, n1, n2 = T(numbers[line]), T(numbers[line + 1]), T(numbers[line + 2])
    n3, n4, n5 = T(numbers[line + 3]), T(numbers[line + 4]), T(numbers[line + 5])
    n6, n7, n8 = T(numbers[line + 6]), T(numbers[line + 7]), T(numbers[line + 8])

    place = OPERANDS * which
    at_param, at_grad = addresses[place], addresses[place + 1]
    at_a, at_b, at_c = addresses[place + 2], addresses[place + 3], addresses[place + 4]
    param, grad = row_at(at_param, T), row_at(at_grad, T)
    row_a, row_b, row_c = row_at(at_a, T), row_at(at_b, T), row_at(at_c, T)
    has_a, has_b, has_c = at_a != 0, at_b != 0, at_c != 0

    quads = 0 if (at_param | at_grad | at_a | at_b | at_c) & 15 else count // 4
    for number in range(thread, quads, THREADS):
        quad = np.uint64(start // 4 + number)
        p0, p1, p2, p3 = load4(param, quad)
        g0, g1, g2, g3 = load4(grad, quad)
        a0, a1, a2, a3 = T(0), T(0), T(0), T(0)
        b0, b1, b2, b3 = T(0), T(0), T(0), T(0)
        c0, c1, c2, c3 = T(0), T(0), T(0), T(0)
        if has_a:
            a0, a1, a2, a3 = load4(row_a, quad)
        if has_b:
            b0, b1, b2, b3 = load4(row_b, quad)
        if has_c:
            c0, c1, c2, c3 = load4(row_c, quad)
        p0, a0, b0, c0 = rule(p0, g0, a0, b0, c0, has_a, has_b, has_c, n0, n1, n2, n3, n4, n5, n6, n7, n8)
        p1, a1, b1, c1 = rule(p1, g1, a1, b1, c1, has_a, has_b, has_c, n0, n1, n2, n3, n4, n5, n6, n7, n8)
        p2, a2, b2, c2 = rule(p2, g2, a2, b2, c2, has_a, has_b, has_c, n0, n1, n2, n3, n4, n5, n6, n7, n8)
        p3, a3, b3, c3 = rule(p3, g3, a3, b3, c3, has_a, has_b, has_c, n0, n1, n2, n3, n4, n5, n6, n7, n8)
        store4(param, quad, p0, p1, p2, p3)
        if has_a:
            store4(row_a, quad, a0, a1, a2, a3)
        if has_b:
            store4(row_b, quad, b0, b1, b2, b3)
        if has_c:
            store4(row_c, quad, c0, c1, c2, c3)

    for i in range(start + 4 * quads + thread, start + count, THREADS):
        value_a, value_b, value_c = T(0), T(0), T(0)
        if has_a:
            value_a = row_a[i]
        if has_b:
            value_b = row_b[i]
        if has_c:
            value_c = row_c[i]
        param[i], value_a, value_b, value_c = rule(
            param[i], grad[i], value_a, value_b, value_c, has_a, has_b, has_c, n0, n1, n2, n3, n4, n5, n6, n7, n8
        )
        if has_a:
            row_a[i] = value_a
        if has_b:
            row_b[i] = value_b
        if has_c:
            row_c[i] = value_c
