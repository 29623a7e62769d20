"""Checkpoints keep no intermediate tensors, and free all memory."""

import gc
import tracemalloc
import weakref

import pytest
from checkpoints import changing, kept, leaf, reentrant, twice

import numgrad
from numgrad import Tensor
from numgrad.autograd import grad
from numgrad.autograd.graph import Node
from numgrad.utils.checkpoint import CheckpointError, checkpoint_sequential
from numgrad.utils.checkpoint.recomputation import Frame


def watched(refs):
    """A function of several steps that notes its intermediate results in ``refs``."""

    def function(x):
        for _ in range(4):
            x = x.sin().exp()
            refs.append(weakref.ref(x))
        return x * 1

    return function


@pytest.mark.parametrize("way", [kept, reentrant, twice])
def test_what_is_inside_goes_at_once(way):
    refs = []
    y = way(watched(refs), leaf())
    assert [ref() for ref in refs] == [None] * 4
    y.sum().backward()
    assert [ref() for ref in refs] == [None] * len(refs)


def test_what_is_computed_again_goes_as_backward_proceeds():
    def step(x):
        y = x.sin()
        y.register_hook(lambda g: inside.append(saved()))
        return y.exp().sin()

    def frames():
        return [thing for thing in gc.get_objects() if type(thing) is Frame]

    def saved():
        own = [frame for frame in frames() if not any(frame is other for other in others)]
        return sum(len(tensors) for frame in own for tensors in frame._recomputed.values())

    others = frames()  # that a failed test may have left
    alive, inside = [], []
    x = leaf()
    y = x
    for _ in range(5):
        y = kept(step, y)
        y.register_hook(lambda g: alive.append(saved()))

    y.sum().backward()
    assert inside == [1] * 5  # the first operation of a step has not run yet
    assert alive == [0] * 5  # a step is computed when its gradient is there, and has gone before the next


def everything_goes(run):
    """Check that all tensors and nodes that ``run()`` makes are freed without the garbage collector."""
    run()  # compiles the kernels
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        run()
        left = [type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, Tensor | Node)]
    finally:
        gc.enable()
        gc.unfreeze()
    assert left == []


def test_the_check_sees_what_is_left():
    left = []
    with pytest.raises(AssertionError):
        everything_goes(lambda: left.append(kept(lambda x: x.sin(), leaf())))


def differentiated_twice(way):
    x = leaf()
    (first,) = grad(way(lambda x: x.sin().exp(), x).sum(), x, create_graph=True)
    grad(first.sum(), x)


def failing(way):
    x = leaf()
    y = way(changing(lambda x: x.sin().sin(), lambda x: x.sin()), x)
    try:
        y.sum().backward()
    except CheckpointError as error:
        error.__traceback__ = None


def broken(way):
    def function(x):
        y = x.sin()
        raise ValueError(y.shape)

    for first in (function, lambda x: x.sin()):
        try:
            way(changing(first, function), leaf()).sum().backward()
        except ValueError as error:
            error.__traceback__ = None


PROGRAMS = {
    "forward": lambda way: way(lambda x: x.sin().exp(), leaf()),
    "backward": lambda way: way(lambda x: x.sin().exp(), leaf()).sum().backward(),
    "retained": lambda way: way(lambda x: x.sin().exp(), leaf()).sum().backward(retain_graph=True),
    "part": lambda way: way(lambda x: (x.sin(), x.exp()), leaf())[1].sum().backward(retain_graph=True),
    "broken": broken,
}
RECORDED = {
    "read": lambda way: way(lambda x: x.sin().exp(), leaf()).grad_fn._saved_result,
    "twice": differentiated_twice,
    "failing": failing,
}


@pytest.mark.parametrize(
    ("run", "way"),
    [(run, way) for run in PROGRAMS.values() for way in (kept, reentrant, twice)]
    + [(run, way) for run in RECORDED.values() for way in (kept, twice)],
)
def test_nothing_is_left(run, way):
    everything_goes(lambda: run(way))


def test_the_peak_of_memory_is_that_of_a_segment():
    size, depth = 16_000, 36  # rows of 128 kB
    row = size * 8

    def peak(run):
        x = numgrad.full((size,), 0.5, dtype=numgrad.float64).requires_grad_()
        run(x).sum().backward()  # so that no kernel has to be compiled later
        x.grad = None
        gc.collect()
        tracemalloc.start()
        try:
            run(x).sum().backward()
            return tracemalloc.get_traced_memory()[1] / row
        finally:
            tracemalloc.stop()

    functions = [numgrad.tanh] * depth
    plain = peak(lambda x: checkpoint_sequential(functions, 1, x, use_reentrant=False))
    assert plain > depth
    for way in (False, True):
        segments = peak(lambda x, way=way: checkpoint_sequential(functions, 6, x, use_reentrant=way))
        assert segments < 2 * 6 + 7  # the results of the segments, and the tensors inside one

    def tree(x, depth):
        if depth == 1:
            return x.tanh()
        half = depth // 2
        return kept(tree, kept(tree, x, half), half)

    assert peak(lambda x: tree(x, 32)) < 2 * 5 + 7  # one result on each level
