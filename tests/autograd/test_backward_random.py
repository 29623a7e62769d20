"""Random graphs of linear operations: every gradient is a sum over paths, which integers count exactly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import backward, grad
from numgrad.autograd.graph import get_gradient_edge

LEAVES = 3

#: A step: which two earlier values it combines, and the factors it gives them.
STEPS = st.lists(st.tuples(*[st.integers(0, 99)] * 2, *[st.integers(-2, 2)] * 2), min_size=1, max_size=12)
PICKS = st.lists(st.integers(0, 99), min_size=1, max_size=5)


class Graph:
    """``values`` are the leaves and results; ``slopes[j][i]`` the derivative of value j by value i, if j uses i."""

    def __init__(self, steps):
        self.values = [ones(2, requires_grad=True) for _ in range(LEAVES)]
        self.slopes = [{i: 1} for i in range(LEAVES)]
        for first, second, factor, other in steps:
            first, second = first % len(self.values), second % len(self.values)
            self.values.append(self.values[first] * factor + self.values[second] * other)
            slopes = {len(self.slopes): 1}
            for parent, slope in ((first, factor), (second, other)):
                for i, inner in self.slopes[parent].items():
                    slopes[i] = slopes.get(i, 0) + slope * inner
            self.slopes.append(slopes)

    def pick(self, numbers):
        return [number % len(self.values) for number in numbers]

    def expected(self, outputs, weights, index):
        """The gradient at an index, None where no path leads from an output."""
        found = [w * self.slopes[o][index] for o, w in zip(outputs, weights, strict=True) if index in self.slopes[o]]
        return [float(sum(found))] * 2 if found else None


def plain(gradients):
    return [None if g is None else g.tolist() for g in gradients]


@settings(max_examples=150, derandomize=True, deadline=None)
@given(steps=STEPS, outputs=PICKS, inputs=PICKS, how=st.sampled_from(["tensors", "edges", "dictionary", "recorded"]))
def test_grad(steps, outputs, inputs, how):
    graph = Graph(steps)
    outputs, inputs = graph.pick(outputs), graph.pick(inputs)
    weights = range(1, len(outputs) + 1)
    expected = [graph.expected(outputs, weights, index) for index in inputs]
    starts, ends = [graph.values[o] for o in outputs], [graph.values[i] for i in inputs]
    given_gradients = [ones(2) * weight for weight in weights]
    if how == "edges":
        starts, ends = [[get_gradient_edge(value) for value in values] for values in (starts, ends)]
    if how == "dictionary":
        found = grad(starts, dict(enumerate(ends)), given_gradients, allow_unused=True)
        assert plain(found.values()) == expected
    else:
        found = grad(starts, ends, given_gradients, allow_unused=True, create_graph=how == "recorded")
        assert plain(found) == expected
    assert [leaf.grad for leaf in graph.values[:LEAVES]] == [None] * LEAVES


@settings(max_examples=60, derandomize=True, deadline=None)
@given(steps=STEPS, outputs=PICKS, inputs=PICKS)
def test_batches_and_missing_gradients(steps, outputs, inputs):
    graph = Graph(steps)
    outputs, inputs = graph.pick(outputs), graph.pick(inputs)
    weights = [1] * len(outputs)
    expected = [graph.expected(outputs, weights, index) for index in inputs]
    starts, ends = [graph.values[o] for o in outputs], [graph.values[i] for i in inputs]
    factors = tensor([[1.0, 1.0], [10.0, 10.0], [0.0, 0.0]])
    batch = grad(starts, ends, [factors] * len(starts), True, allow_unused=True, is_grads_batched=True)
    for found, wanted in zip(plain(batch), expected, strict=True):
        assert found == (None if wanted is None else [[factor * w for w in wanted] for factor in (1, 10, 0)])
    zeros = grad(starts, ends, [ones(2)] * len(starts), True, materialize_grads=True)
    assert plain(zeros) == [[0.0, 0.0] if wanted is None else wanted for wanted in expected]
    if None in expected:
        with pytest.raises(RuntimeError, match=f"The differentiated Tensor at index {expected.index(None)} appears"):
            grad(starts, ends, [ones(2)] * len(starts))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(steps=STEPS, outputs=PICKS, inputs=st.none() | PICKS, twice=st.booleans())
def test_backward(steps, outputs, inputs, twice):
    graph = Graph(steps)
    outputs = graph.pick(outputs)
    indices = set(range(LEAVES) if inputs is None else graph.pick(inputs))
    weights = range(1, len(outputs) + 1)
    passes = 1 + twice
    for _ in range(passes):
        backward(
            [graph.values[o] for o in outputs],
            [ones(2) * weight for weight in weights],
            retain_graph=True,
            inputs=None if inputs is None else [graph.values[i] for i in indices],
        )
    for index, value in enumerate(graph.values):
        wanted = graph.expected(outputs, weights, index) if index in indices else None
        found = value.grad if value.is_leaf or value.retains_grad else None
        assert plain([found]) == [None if wanted is None else [passes * w for w in wanted]]
    assert numgrad.is_grad_enabled()
