"""Checkpoints: backward computes the same values again, and as many of them as is needed."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest
from checkpoints import changing, kept, leaf, reentrant, twice
from ops.gradients import check_gradients
from ops.samples import SAMPLES

import numgrad
from numgrad import tensor
from numgrad.autograd import grad
from numgrad.autograd.graph import saved_tensors_hooks
from numgrad.utils.checkpoint import GraphExecGroup, set_checkpoint_early_stop

FIRST_SAMPLES = {
    case.sample.name: case for sample in reversed(SAMPLES) for case in sample.cases(shape=(2, 3))
    if case.layout == "contiguous" and "float64" in sample.dtypes and any(case.differentiable())
}


def derivatives(run, case):
    """The first derivatives of a case, and the gradient of the sum of their squares."""
    numgrad.manual_seed(0)
    leaves = case.leaves("float64", requires_grad=True)
    wanted = [x for x in leaves if x is not None and x.requires_grad]
    outputs = [output for output in run(case, *leaves) if output.requires_grad]
    first = grad(outputs, wanted, [output.detach() for output in outputs], create_graph=True, allow_unused=True)
    found = [g for g in first if g is not None]
    recorded = [(g * g).sum() for g in found if g.requires_grad]
    if recorded:
        found += [g for g in grad(recorded, wanted, allow_unused=True) if g is not None]
    return [g.detach().numpy() for g in found]


@pytest.mark.parametrize("case", FIRST_SAMPLES.values(), ids=FIRST_SAMPLES)
def test_every_operation_can_be_computed_again(case):
    expected = derivatives(lambda function, *args: function(*args), case)
    for run in (kept, twice):
        for derivative, other in zip(derivatives(run, case), expected, strict=True):
            np.testing.assert_array_equal(derivative, other)


def test_derivatives_of_checkpoints_in_checkpoints():
    x = tensor([0.3, 0.8], dtype=numgrad.float64, requires_grad=True)
    check_gradients(lambda x: kept(lambda x: kept(lambda x: x.sin().exp(), x * x).sin() * x, x), x)


def test_a_tower_of_checkpoints():
    def tower(x, height):
        return kept(tower, x.sin(), height - 1) if height else x.exp()

    x = leaf()
    tower(x, 150).sum().backward()  # more than fit on one stack
    y = leaf()
    value = y
    for _ in range(150):
        value = value.sin()
    value.exp().sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_a_long_row_of_checkpoints():
    x, calls = leaf(), []

    def step(y):
        calls.append(None)
        return (y * 1.01).sin()

    for way in (kept, reentrant):
        y = x
        for _ in range(300):
            y = way(step, y)
        y.sum().backward()
    assert len(calls) == 4 * 300


def test_random_numbers_are_the_same_and_go_on():
    x, drawn = leaf(), []

    def noisy(x):
        drawn.append(numgrad.rand(2))
        return (x * drawn[-1] * numgrad.randn(2)).exp()

    for way in (kept, reentrant):
        drawn.clear()
        numgrad.manual_seed(1)
        y = way(noisy, x)
        between = numgrad.rand(1)
        y.sum().backward()
        after = numgrad.rand(1)
        assert drawn[0].tolist() == drawn[1].tolist()
        numgrad.manual_seed(1)
        noisy(x)
        assert [numgrad.rand(1).item() for _ in range(2)] == [between.item(), after.item()]


def test_a_function_that_catches_its_errors_does_not_catch_the_stop():
    caught, calls = [], []

    def function(x):
        calls.append("start")
        try:
            y = x.sin()
            calls.append("end")
        except Exception as error:
            caught.append(error)
        return y

    x = leaf()
    kept(function, x).sum().backward()
    assert caught == []
    assert calls == ["start", "end", "start"]


def count(**options):
    """Return how often a function starts and ends with these options of its checkpoint."""
    calls = []

    def function(x):
        calls.append("start")
        y = x.sin().exp()
        calls.append("end")
        return y

    return calls, lambda: kept(function, leaf(), **options)


def test_early_stop():
    whole, short = ["start", "end"] * 2, ["start", "end", "start"]
    for own in (True, False):
        for switch, expected in ((None, short if own else whole), (True, short), (False, whole)):
            calls, run = count(early_stop=own)
            with set_checkpoint_early_stop(switch):
                y = run()
            with set_checkpoint_early_stop(switch is False):  # backward uses the setting of forward
                y.sum().backward()
            assert calls == expected, (own, switch)


def test_passes_that_share_what_is_computed_again():
    calls = []

    def function(x):
        calls.append(None)
        return x.sin(), x.exp().sin()

    def run(group):
        calls.clear()
        first, second = kept(function, leaf())
        with group:
            first.sum().backward()
            second.sum().backward()
        return len(calls)

    assert run(nullcontext()) == 3
    assert run(GraphExecGroup()) == 2
    group = GraphExecGroup()
    elsewhere = []

    def enter():
        with GraphExecGroup():
            elsewhere.append(True)

    with group:
        with pytest.raises(RuntimeError, match="cannot be nested"), GraphExecGroup():
            pass
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert elsewhere == [True]


def test_hooks_see_the_arguments():
    seen = []

    def pack(value):
        seen.append(list(value.shape))
        return value

    with saved_tensors_hooks(pack, lambda value: value):
        kept(lambda x, y, *rest, k: x.sin(), leaf(), numgrad.ones(3), 2, [numgrad.ones(4)], k=numgrad.ones(5))
    assert seen == [[2], [3]]


def test_an_error_leaves_everything_as_it_was():
    def broken(x):
        x.sin()
        raise ValueError("broken")

    x = leaf()
    y = kept(changing(lambda x: x.sin().exp(), broken), x)
    state = numgrad.get_rng_state()
    with pytest.raises(ValueError, match="broken"):
        y.sum().backward(retain_graph=True)
    assert numgrad.get_rng_state().equal(state)
    assert numgrad.is_grad_enabled()
    kept(lambda x: x.sin(), x)
    z = x.exp()
    assert z.grad_fn._saved_result.tolist() == z.tolist()  # no hooks are in force


def test_threads_go_through_one_graph_at_once():
    x = leaf()
    y = kept(lambda x: kept(lambda x: x.sin().exp(), x.cos()).sin(), x)
    expected = grad(y.sum(), x, retain_graph=True)[0]
    results, start = [], threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(20):
            results.append(grad(y.sum(), x, retain_graph=True)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.tolist() for result in results] == [expected.tolist()] * 80


def test_a_leaf_without_gradient_comes_back_itself():
    x, constant = leaf(), numgrad.ones(2)
    y = kept(lambda x: x * constant, x)
    assert y.grad_fn._saved_other is constant
    assert kept(lambda x: x * x, x).grad_fn._saved_self.is_leaf
