"""Connectionist temporal classification against PyTorch's, and its second derivatives, which PyTorch has not."""

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = pytest.mark.torch

#: Targets of four examples, as rows and one after the other; the second has one twice in a row.
ROWS, LENGTHS = np.array([[1, 2, 3], [1, 1, 4], [2, 4, 0], [0, 0, 0]]), [3, 3, 2, 0]
FLAT = np.array([1, 2, 3, 1, 1, 4, 2, 4])

#: Steps of the examples.
STEPS = [6, 5, 6, 4]


def logs(dtype="float64", layout="contiguous", shape=(6, 4, 5)):
    x = randoms(shape, dtype=dtype, layout=layout)[0]
    x -= np.log(np.exp(x).sum(-1, keepdims=True))
    return x


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("dtype", "layout"), [("float64", "contiguous"), ("float32", "transposed")])
def test_values_and_gradients(reduction, dtype, layout):
    def program(m, x):
        f, options = m.nn.functional.ctc_loss, {"reduction": reduction}
        steps, lengths = m.tensor(STEPS), m.tensor(LENGTHS)
        module = m.nn.CTCLoss(4, reduction)
        return (
            f(x, m.tensor(ROWS), steps, lengths, **options), f(x, m.tensor(FLAT), tuple(STEPS), LENGTHS, **options),
            module(x, m.tensor(ROWS % 4).int(), steps.int(), lengths.int()),
            f(x, m.tensor(FLAT % 4), steps, lengths, 4, **options),
            f(x[:, 1], m.tensor(ROWS[1]), steps[1], lengths[1], **options),
            f(x[:, 1], m.tensor(ROWS[1]), (5,), (3,), **options),
            f(x, m.tensor(ROWS[:, :0]), steps, m.tensor([0, 0, 0, 0]), **options),
        )  # fmt: skip

    assert_same(program, logs(dtype, layout))


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_more_targets_than_steps(zero_infinity):
    def program(m, x):
        options = {"reduction": "none", "zero_infinity": zero_infinity}
        f, rows = m.nn.functional.ctc_loss, m.tensor(ROWS)
        return [f(x, rows, m.tensor(steps), m.tensor(LENGTHS), **options) for steps in ([2, 3, 2, 2], [0, 6, 0, 0])]

    assert_same(program, logs())


def test_classes_that_are_impossible():
    x = logs()
    x[2, :, 3] = -np.inf
    loss = numgrad.nn.functional.ctc_loss
    logits = numgrad.from_numpy(x).requires_grad_()
    loss(logits, numgrad.from_numpy(ROWS), STEPS, LENGTHS).backward()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize(("steps", "lengths", "options"), [
    ([4, 3], [2, 2], {"reduction": "none"}), ([1, 4], [2, 1], {"blank": 2, "zero_infinity": True}),
    ([4, 0], [0, 0], {}),
])  # fmt: skip
def test_second_derivatives(steps, lengths, options):
    """The gradient is that of the argument of ``log_softmax``."""
    def loss(x):
        targets = numgrad.tensor([[1, 1], [0, 1]]) if "blank" in options else numgrad.tensor([[1, 1], [2, 1]])
        return numgrad.nn.functional.ctc_loss(x.log_softmax(2), targets, steps, lengths, **options)

    x = numgrad.from_numpy(randoms((4, 2, 3))[0]).requires_grad_()
    assert numgrad.autograd.gradcheck(loss, x)
    assert numgrad.autograd.gradgradcheck(loss, x)


def test_batches_of_calls():
    x = numgrad.from_numpy(np.stack([logs(), logs()[::-1]]))
    targets = numgrad.from_numpy(np.stack([ROWS, ROWS[::-1]]))

    def loss(x, targets):
        return numgrad.nn.functional.ctc_loss(x, targets, STEPS, [3, 3, 2, 3], reduction="none")

    expected = numgrad.stack([loss(*each) for each in zip(x, targets, strict=True)])
    np.testing.assert_allclose(numgrad.vmap(loss)(x, targets), expected, 1e-12)


def test_long_targets():
    """There are as many states as threads that share them on a GPU, and more."""
    def program(m, x):
        return m.nn.functional.ctc_loss(x, m.tensor(np.arange(600).reshape(2, 300) % 7 + 1), (400, 390), (300, 290))

    assert_same(program, logs(shape=(400, 2, 8)))


def _of(x=None, targets=ROWS, steps=STEPS, lengths=LENGTHS, **options):
    def program(m):
        given = m.zeros(6, 4, 5) if x is None else x(m)
        steps_of, lengths_of = [m.tensor(each) if isinstance(each, list) else each for each in (steps, lengths)]
        return m.nn.functional.ctc_loss(given, m.tensor(targets), steps_of, lengths_of, **options)

    return program


@pytest.mark.parametrize("program", [
    _of(blank=5), _of(blank=-1), _of(steps=[6, 6]), _of(lengths=[3]), _of(steps=[6.0, 5.0, 6.0, 4.0]),
    _of(lengths=[1.0, 1.0, 1.0, 1.0]), _of(steps=[7, 6, 6, 6]), _of(steps=[-1, 6, 6, 6]), _of(lengths=[4, 0, 0, 0]),
    _of(lengths=[-1, 0, 0, 0]), _of(targets=FLAT[:5]), _of(targets=np.concatenate([FLAT, FLAT])),
    _of(targets=ROWS[:2]), _of(targets=ROWS[None]), _of(lambda m: m.zeros(6, 0, 5)), _of(lambda m: m.zeros(6, 4, 0)),
    _of(lambda m: m.zeros(6, 4, 5, dtype=m.int64)), _of(lambda m: m.zeros(6, 4, 5, dtype=m.complex64)),
    _of(lambda m: m.zeros(6, 5)), _of(reduction="xx"), _of(steps=6, lengths=3),
    _of(steps=(6, 5.0, 6, 4), lengths=(3, 3, 2, 0)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    if not isinstance(expected, TypeError):
        assert str(found).startswith(str(expected)[:50])


@pytest.mark.parametrize("target", [-1, 5])
def test_an_invalid_target(target):
    """PyTorch reads whatever is there."""
    with pytest.raises(IndexError, match=f"Target {target} is out of bounds: there are 5 classes"):
        _of(targets=np.full((4, 3), target))(numgrad)
