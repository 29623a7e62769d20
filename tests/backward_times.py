"""Growth of the processor time of backward with the graph."""

import time

import numgrad

__all__ = ["slowdown"]


def slowdown(loss, leaf):
    """Return how many times as long the gradient of ``loss(100)`` takes as that of ``loss(2)``."""

    def seconds(uses):
        made = loss(uses)
        start = time.process_time()
        numgrad.autograd.grad(made, leaf)
        return time.process_time() - start

    seconds(3)
    few, many = (min(seconds(uses) for _ in range(3)) for uses in (2, 100))
    return many / few
