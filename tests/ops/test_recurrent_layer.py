"""Layers of recurrent networks in one kernel: the numbers are those of the steps; errors."""

import mpmath
import numpy as np
import pytest

import numgrad
from numgrad.ops.network.recurrence import GATES
from numgrad.ops.network.recurrent_layer import recurrent_layer, steps_of_layer


def tensors(kind, input, examples, size, dtype="float64"):
    """Input, state, weights and biases, which require gradients."""
    random, gates = np.random.default_rng(2), GATES[kind] * size
    shapes = input, (1 + (kind == "lstm"), examples, size), (gates, input[-1]), (gates, size), (gates,), (gates,)
    values = [random.uniform(-0.5, 0.5, shape).astype(dtype) for shape in shapes]
    return [numgrad.from_numpy(each).requires_grad_() for each in values]


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("sizes", "examples", "size"), [(None, 35, 37), ([20, 20, 17, 3, 3, 1], 20, 16)])
def test_the_numbers_are_those_of_the_steps(kind, backwards, sizes, examples, size):
    """Several slices of examples on several threads, with blocks of elements and remainders."""
    shape, sizes = ((4, examples, 9), None) if sizes is None else ((sum(sizes), 9), numgrad.tensor(sizes))
    given = tensors(kind, shape, examples, size)
    expected = steps_of_layer(*given, sizes, kind, backwards)
    found = recurrent_layer(*given, sizes, kind, backwards)[:2]
    weights = [numgrad.cos(each.detach() * 7) for each in expected]
    pairs = [*zip(found, expected, strict=True), *zip(
        *[numgrad.autograd.grad(outputs, given, weights) for outputs in (found, expected)], strict=True
    )]  # fmt: skip
    for one, other in pairs:
        np.testing.assert_allclose(one.detach(), other.detach(), 1e-11, 1e-12)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_an_element_is_the_same_in_a_block_and_alone(kind):
    """Among 19 units, 16 are computed in a block; with 13 idle units more, all are.

    BLAS may round products of another width differently, so they are exact: of few bits, and with weights 0.
    """

    def widened(values, *shape):
        room = [(0, 13 * (extent == 19)) for extent in shape]
        wide = np.pad(values.detach().numpy().reshape(shape), room)
        return numgrad.from_numpy(wide.reshape(-1, *wide.shape[2:]) if shape[0] == GATES[kind] else wide)

    input, state, *weights = tensors(kind, (3, 40, 7), 40, 19, "float32")
    with numgrad.no_grad():
        input.mul_(64).round_()
        weights[0].mul_(64).round_().div_(1024)
        weights[1].zero_()
    given = input, state, *weights
    shapes = [(GATES[kind], 19, *each.shape[1:]) for each in weights]
    wide = [input, widened(state, *state.shape), *map(lambda each, shape: widened(each, *shape), weights, shapes)]
    few, many = [recurrent_layer(*each, None, kind, False)[0].detach() for each in (given, wide)]
    np.testing.assert_array_equal(few, many[..., :19])


def _step(x):
    return 1 / (1 + mpmath.exp(-x))


#: A hidden state after a step of one unit whose weights are 0, and all states before a half.
ONE_UNIT = {
    "lstm": lambda i, f, g, o: _step(o) * mpmath.tanh(_step(f) / 2 + _step(i) * mpmath.tanh(g)),
    "gru": lambda r, z, n: (1 - _step(z)) * mpmath.tanh(n) + _step(z) / 2,
    "rnn_tanh": mpmath.tanh,
}


@pytest.mark.parametrize("sizes", [1, 17])  # one by one, and in blocks
@pytest.mark.parametrize("kind", ONE_UNIT)
def test_gradients_where_gates_are_saturated(kind, sizes):
    right, bias = ONE_UNIT[kind], [30.0, 25.0, 19.5, 35.0][-GATES[kind]:]
    given = [numgrad.zeros_like(each) for each in tensors(kind, (1, 1, 1), 1, sizes)]
    given[1] += 0.5
    given[4] = numgrad.tensor(bias, dtype=numgrad.float64).repeat_interleave(sizes).requires_grad_()
    (slopes,) = numgrad.autograd.grad(recurrent_layer(*given, None, kind, False)[0].sum(), given[4])
    with mpmath.workdps(60):
        orders = numgrad.eye(len(bias), dtype=numgrad.int64).tolist()
        expected = [float(mpmath.diff(right, tuple(bias), tuple(order))) for order in orders]
    np.testing.assert_allclose(slopes.reshape(-1, sizes), np.repeat(expected, sizes).reshape(-1, sizes), 1e-13)


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_gradient_for_one_of_the_results_alone(chosen):
    given = tensors("lstm", (3, 2, 4), 2, 3)
    results = [layer(*given, None, "lstm", False)[chosen] for layer in (recurrent_layer, steps_of_layer)]
    found, expected = [numgrad.autograd.grad(result.sin().sum(), given) for result in results]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-12, 1e-14)


def test_numbers_do_not_depend_on_the_number_of_threads():
    import numba

    given, found = tensors("lstm", (6, 40, 64), 40, 64, "float32"), []
    for threads in (1, numba.get_num_threads()):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        out, end = recurrent_layer(*given, None, "lstm", False)[:2]
        found.append([out, end, *numgrad.autograd.grad(out.sum(), given)])
        numba.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.detach(), other.detach())


def test_examples_of_a_batch_of_calls():
    given = tensors("gru", (3, 2, 4), 2, 3)
    inputs = numgrad.stack([given[0], given[0] * 2]).detach()

    def layer(x):
        return recurrent_layer(x, *given[1:], None, "gru", True)[0]

    expected = numgrad.stack([layer(x) for x in inputs])
    np.testing.assert_allclose(numgrad.vmap(layer)(inputs).detach(), expected.detach(), 1e-12)


@pytest.mark.parametrize(("place", "shape", "message"), [
    (0, (3, 2, 5), "mat1 and mat2 shapes cannot be multiplied"), (1, (2, 4, 3), "an example for each"),
    (3, (12, 4), "weight of the hidden state"), (4, (11,), "a bias must have the shape"),
    (5, (13,), "a bias must have the shape"),
])  # fmt: skip
def test_shapes_that_do_not_fit(place, shape, message):
    given = tensors("lstm", (3, 2, 4), 2, 3)
    given[place] = numgrad.zeros(shape, dtype=numgrad.float64)
    with pytest.raises(RuntimeError, match=message):
        recurrent_layer(*given, None, "lstm", False)


def test_dtypes_that_differ():
    given = tensors("gru", (3, 2, 4), 2, 3)
    for place in range(1, 6):
        others = [each.float() if number == place else each for number, each in enumerate(given)]
        with pytest.raises(RuntimeError, match="must have the same dtype, but got Double and Float"):
            recurrent_layer(*others, None, "gru", False)
