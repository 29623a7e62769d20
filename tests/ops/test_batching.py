"""``vmap`` of every operation of the table, held against a loop over the examples."""

import numpy as np
import pytest
from ops.samples import SAMPLES
from ops.sampling import REPRESENTATIVES

import numgrad
from numgrad.func import jvp, vjp, vmap
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.lookup import operation

#: Whose results differ in shape from example to example, or that take memory which examples do not have.
WITHOUT_BATCHES = {
    "bincount_op", "flat_nonzero_op", "masked_select_op", "masked_scatter_backward", "nonzero_op", "repeated_op",
    "unique_op",
}

CASES = [
    case for sample in SAMPLES for case in sample.cases(shape=(2, 3))
    if case.layout in ("contiguous", "0-d") and sample.name not in WITHOUT_BATCHES
]

COUNT = 3


def batches(case):
    """For each input a batch: its elements, turned around from example to example."""
    result = []
    for leaf in case.leaves(case.dtype):
        if leaf is None:
            result.append(None)
            continue
        row = leaf.numpy().reshape(-1)
        examples = [np.roll(row, number).reshape(leaf.shape) for number in range(COUNT)]
        result.append(numgrad.from_numpy(np.stack(examples)))
    return result



def choices(case, given):
    """Return the choices of batched inputs: all, or each by itself; most pointwise operations broadcast alike."""
    places = [place for place, batch in enumerate(given) if batch is not None]
    if len(places) < 2 or (isinstance(case.op, Pointwise) and case.op.name not in REPRESENTATIVES):
        return [places]
    return [places, *[[place] for place in places]]


def examples_of(given, chosen, number):
    return [
        batch if batch is None else batch[number if place in chosen else 0] for place, batch in enumerate(given)
    ]


def mapped(function, given, chosen):
    """``vmap`` of a function of all inputs, of which those chosen are batched."""
    dims = tuple(0 if place in chosen else None for place in range(len(given)))
    return vmap(function, in_dims=dims)(
        *[batch if batch is None or place in chosen else batch[0] for place, batch in enumerate(given)]
    )


def assert_same(found, expected):
    assert len(found) == len(expected)
    for output, examples in zip(found, expected, strict=True):
        wanted = numgrad.stack(list(examples))
        assert (output.shape, output.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(output.detach().numpy(), wanted.detach().numpy(), 1e-9, 1e-11)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_those_of_a_loop(case):
    given = batches(case)
    for chosen in choices(case, given):
        rows = [case(*examples_of(given, chosen, number)) for number in range(COUNT)]
        assert_same(mapped(case, given, chosen), list(zip(*rows, strict=True)))


DIFFERENTIABLE = [case for case in CASES if any(case.differentiable()) and "float64" in case.sample.dtypes]

def first_cases(count):
    """The number of cases of each operation; pointwise ones of one input share their code and need fewer."""
    of_each = {}
    for case in DIFFERENTIABLE:
        if not isinstance(case.op, Pointwise) or len(case.op.inputs) > 1:
            of_each.setdefault(case.op.name, []).append(case)
    return [case for cases in of_each.values() for case in cases[:count]]


SOME = first_cases(2)


def products(case, places):
    """A function of all inputs: the vector-Jacobian products, by those in ``places``, for vectors of ones."""

    def compute(*inputs):
        def outputs(*chosen):
            values = list(inputs)
            for place, value in zip(places, chosen, strict=True):
                values[place] = value
            return tuple([output for output in case(*values) if output.dtype.differentiable])

        results, pull_back = vjp(outputs, *[inputs[place] for place in places])
        return pull_back(tuple([result * 0 + 1.25 for result in results]))

    return compute


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradients_taken_inside_and_outside(case):
    """Gradients of each example, taken under ``vmap``, and those of the whole batch, taken around it."""
    given = batches(case)
    places = [place for place, wanted in enumerate(case.differentiable()) if wanted]
    compute = products(case, places)
    chosen = choices(case, given)[0]
    rows = [compute(*examples_of(given, chosen, number)) for number in range(COUNT)]
    expected = list(zip(*rows, strict=True))
    assert_same(mapped(compute, given, chosen), expected)
    leaves = [None if batch is None else batch.clone() for batch in given]
    for place in places:
        leaves[place].requires_grad_()
    outputs = [output for output in mapped(case, leaves, chosen) if output.requires_grad]
    gradients = numgrad.autograd.grad(
        outputs, [leaves[place] for place in places], [numgrad.full_like(output, 1.25) for output in outputs],
        allow_unused=True, materialize_grads=True,
    )
    assert_same(gradients, expected)


@pytest.mark.parametrize("case", SOME, ids=str)
def test_tangents_of_gradients(case):
    """Forward mode over reverse mode, both under ``vmap``."""
    given = batches(case)
    places = [place for place, wanted in enumerate(case.differentiable()) if wanted]
    compute = products(case, places)

    def tangents(*inputs):
        def gradients(*chosen):
            values = list(inputs)
            for place, value in zip(places, chosen, strict=True):
                values[place] = value
            return compute(*values)

        points = tuple([inputs[place] for place in places])
        return jvp(gradients, points, tuple([point * 0 + 0.75 for point in points]))[1]

    chosen = choices(case, given)[0]
    rows = [tangents(*examples_of(given, chosen, number)) for number in range(COUNT)]
    assert_same(mapped(tangents, given, chosen), list(zip(*rows, strict=True)))


@pytest.mark.long
@pytest.mark.parametrize("case", SOME, ids=str)
def test_a_batch_of_gradients(case):
    """One backward pass for a batch gives the gradients of a pass for each, and records the same graph."""
    leaves = case.leaves("float64", requires_grad=True)
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    outputs = [output for output in case(*leaves) if output.requires_grad]
    vectors = [
        numgrad.stack([numgrad.full_like(output, factor) * output.detach() for factor in (1, -2, 0.5)])
        for output in outputs
    ]

    def gradients(given, **options):
        return numgrad.autograd.grad(
            outputs, wanted, given, retain_graph=True, create_graph=True, allow_unused=True, materialize_grads=True,
            **options,
        )

    found = gradients(vectors, is_grads_batched=True)
    rows = [gradients([vector[number] for vector in vectors]) for number in range(COUNT)]
    expected = list(zip(*rows, strict=True))
    assert_same(found, expected)
    stacked = [numgrad.stack(list(row)) for row in expected]
    second = [
        numgrad.autograd.grad(
            sum([(result.abs() ** 2).sum() for result in results if result.requires_grad], 0 * total(leaves)),
            wanted, retain_graph=True,
        )
        for results in (found, stacked)
    ]
    for one, other in zip(*second, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-8, 1e-10)


def total(leaves):
    """A sum on which all leaves have an influence."""
    return sum([leaf.abs().sum() for leaf in leaves if leaf is not None and leaf.requires_grad])


@pytest.mark.parametrize("call", [
    lambda x, i: x.index_select(0, i), lambda x, i: x[i], lambda x, i: x[i, i % 3], lambda x, i: x.take(3 * i),
    lambda x, i: x.gather(0, i.reshape(2, 1)), lambda x, i: x.index_add(0, i, numgrad.ones(2, 3)),
    lambda x, i: numgrad.embedding(x, i), lambda x, i: x.index_fill(0, i, 1.0),
], ids=range(8))
def test_an_index_does_not_lead_to_the_next_example(call):
    x, index = numgrad.ones(2, 4, 3), numgrad.tensor([[0, 4], [1, 2]])
    with pytest.raises((IndexError, RuntimeError), match=r"index 4 .* size 4|id=4 axis_dim=4|self: 4|index 12"):
        numgrad.vmap(call)(x, index)


def test_examples_join_the_batch_that_an_operation_has(monkeypatch):
    monkeypatch.setattr("numgrad.ops.table.op.ops", {})
    seen = []

    @operation("FoldBackward0", inputs=["input", "weight"], shapes=["shape"], batch=1, shared=["weight"])
    def fold(p, input, weight, shape):
        seen.append((input.shape, weight.shape, shape))
        return p.tensor(p.contiguous(input), input.type, shape)

    images, weights = numgrad.arange(24.0).reshape(4, 2, 3), numgrad.ones(4, 5)
    found = vmap(lambda image: fold(image, weights[0], (2, 3, 1)))(images)
    assert (found == images.unsqueeze(3)).all()
    assert seen == [((2, 3), (5,), (2, 3, 1)), ((8, 3), (5,), (8, 3, 1))]  # an example, and all
    found = vmap(lambda image, weight: fold(image, weight, (2, 3, 1)))(images, weights)  # one after the other
    assert (found == images.unsqueeze(3)).all()
    assert {shapes[0] for shapes in seen[2:]} <= {(2, 3)}
