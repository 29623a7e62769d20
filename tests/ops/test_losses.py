"""Softmax and the losses: huge scores, rows of -inf, ignored targets, probabilities, reductions, wrong arguments."""

import math

import numba
import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad.devices import launches
from numgrad.ops.network.losses import nll_loss_backward

F = numgrad.nn.functional
INF, NAN = math.inf, math.nan


def scores(*shape, requires_grad=False):
    values = np.random.default_rng(2).normal(size=shape)
    return numgrad.tensor(values, requires_grad=requires_grad)


# -- softmax ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64], ids=str)
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([-1000.0, -1000.0], [0.5, 0.5]),
        ([0.0, -INF], [1.0, 0.0]),
        ([-INF, 5.0, -INF], [0.0, 1.0, 0.0]),
        ([-INF, -INF], [NAN, NAN]),
        ([INF, 0.0], [NAN, NAN]),
        ([NAN, 0.0], [NAN, NAN]),
        ([3.0], [1.0]),
    ],
)
def test_softmax_of_extreme_scores(row, expected, dtype):
    x = numgrad.tensor([row], dtype=dtype)
    np.testing.assert_array_equal(numgrad.softmax(x, 1).numpy(), [expected])
    np.testing.assert_array_equal(numgrad.softmax(x.t(), 0).numpy(), np.transpose([expected]))
    with np.errstate(divide="ignore"):
        logarithms = np.log([expected])
    np.testing.assert_allclose(numgrad.log_softmax(x, 1).numpy(), logarithms, 1e-6)
    np.testing.assert_allclose(numgrad.log_softmax(x.t(), 0).numpy(), logarithms.T, 1e-6)


def test_log_softmax_keeps_what_softmax_rounds_away():
    x = numgrad.tensor([[0.0, 1000.0, -1000.0]], dtype=numgrad.float64)
    assert numgrad.log_softmax(x, 1).tolist() == [[-1000.0, 0.0, -2000.0]]
    assert numgrad.softmax(x, 1).tolist() == [[0.0, 1.0, 0.0]]


def test_a_masked_score_gets_no_gradient():
    x = numgrad.tensor([[1.0, -INF, 2.0]], dtype=numgrad.float64, requires_grad=True)
    numgrad.softmax(x, 1)[0, 0].backward()
    assert x.grad[0, 1].item() == 0.0
    assert np.isfinite(x.grad.numpy()).all()


def test_rows_of_softmax_sum_to_one():
    x = numgrad.randn(7, 1000, generator=numgrad.Generator().manual_seed(1)) * 20
    np.testing.assert_allclose(numgrad.softmax(x, 1).sum(1).numpy(), np.ones(7), 1e-6)


# -- cross_entropy ------------------------------------------------------------------------------------------------


def log_softmax(x, axis):
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def expected_cross_entropy(x, target, ignored, reduction):
    """For scores (classes), (batch, classes) or (batch, classes, ...), computed from all targets."""
    logarithms = np.moveaxis(log_softmax(x, min(1, x.ndim - 1)), min(1, x.ndim - 1), -1)
    losses = np.zeros(target.shape)
    for place in np.ndindex(target.shape):
        if target[place] != ignored:
            losses[place] = -logarithms[place][target[place]]
    counted = (target != ignored).sum()
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counted if counted else NAN}[reduction]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 3, 4), (2, 3, 2, 2)])
def test_cross_entropy_with_class_indices(shape, ignored, reduction):
    x = scores(*shape, requires_grad=True)
    target = np.asarray(np.random.default_rng(0).integers(0, 3, shape[:1] * (len(shape) > 1) + shape[2:]))
    if ignored == -100 and target.size > 1:
        target.flat[0] = -100
    loss = F.cross_entropy(x, numgrad.tensor(target), ignore_index=ignored, reduction=reduction)
    expected = expected_cross_entropy(x.detach().numpy(), target, ignored, reduction)
    assert loss.shape == np.shape(expected)
    np.testing.assert_allclose(loss.detach().numpy(), expected, 1e-13)
    if not np.isnan(expected).any():
        check_gradients(
            lambda x: F.cross_entropy(x, numgrad.tensor(target), ignore_index=ignored, reduction=reduction), x
        )


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 3, 4)])
def test_cross_entropy_with_probabilities(shape, reduction):
    x, p = scores(*shape, requires_grad=True), numgrad.softmax(scores(*shape), -1).requires_grad_()
    axis = min(1, len(shape) - 1)
    losses = -(log_softmax(x.detach().numpy(), axis) * p.detach().numpy()).sum(axis)
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / losses.size}[reduction]
    np.testing.assert_allclose(F.cross_entropy(x, p, reduction=reduction).detach().numpy(), expected, 1e-13)
    check_gradients(lambda x, p: F.cross_entropy(x, p, reduction=reduction), x, p)


@pytest.mark.parametrize(("reduction", "expected"), [("none", [0.0, 0.0]), ("sum", 0.0), ("mean", NAN)])
def test_if_all_targets_are_ignored_the_mean_is_of_nothing(reduction, expected):
    x = scores(2, 3, requires_grad=True)
    loss = F.cross_entropy(x, numgrad.tensor([1, 1]), ignore_index=1, reduction=reduction)
    np.testing.assert_array_equal(loss.detach().numpy(), expected)
    loss.sum().backward()
    assert reduction == "mean" or x.grad.tolist() == [[0.0] * 3] * 2


def test_cross_entropy_of_an_empty_batch():
    x, target = numgrad.zeros(0, 3), numgrad.zeros(0, dtype=numgrad.int64)
    assert math.isnan(F.cross_entropy(x, target).item())
    assert F.cross_entropy(x, target, reduction="sum").item() == 0.0
    assert F.cross_entropy(x, target, reduction="none").shape == (0,)


def test_cross_entropy_of_sure_scores_does_not_overflow():
    x = numgrad.tensor([[1000.0, 0.0], [-1000.0, 0.0]], requires_grad=True)
    losses = F.cross_entropy(x, numgrad.tensor([0, 0]), reduction="none")
    assert losses.tolist() == [0.0, 1000.0]
    losses.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [-1.0, 1.0]]


def test_cross_entropy_does_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(4)
    x = numgrad.from_numpy(rng.normal(size=(5000, 20)).astype(np.float32)).requires_grad_()
    target = numgrad.from_numpy(rng.integers(0, 20, 5000))
    found = set()
    threads = numba.get_num_threads()
    for count in (1, threads):
        numba.set_num_threads(count)
        try:
            loss = F.cross_entropy(x, target)
            (slopes,) = numgrad.autograd.grad(loss, x)
            found.add(loss.detach().numpy().tobytes() + slopes.numpy().tobytes())
        finally:
            numba.set_num_threads(threads)
    assert len(found) == 1


def _with_a_hook(logs, target):
    logs.register_hook(lambda grad: None)
    return F.nll_loss(logs, target)


@pytest.mark.parametrize("shape", [(5, 3), (3,), (2, 3, 20, 10), (0, 3)], ids=str)
@pytest.mark.parametrize(("loss", "fused"), [
    (F.nll_loss, True), (lambda logs, target: 2 * F.nll_loss(logs, target, reduction="sum"), True),
    (_with_a_hook, False), (lambda logs, target: F.nll_loss(logs, target) + logs.sum(), False),
    (lambda logs, target: F.nll_loss(logs, target) + F.nll_loss(logs, target, reduction="sum"), False),
], ids=["mean", "sum", "hook", "other use", "two losses"])  # fmt: skip
def test_the_gradient_of_cross_entropy_takes_one_kernel_unless_others_use_that_of_the_logarithms(shape, loss, fused):
    x = scores(*shape, requires_grad=True)
    target = numgrad.arange(math.prod(shape) // 3).reshape(shape[:1] + shape[2:] if len(shape) > 1 else ()) % 3
    value = loss(F.log_softmax(x, min(1, len(shape) - 1)), target)
    kernels = []
    with launches.listening(lambda launch: kernels.append(launch.name)):
        (gradient,) = numgrad.autograd.grad(value, x, retain_graph=True)
    if x.numel():
        assert ("cross_entropy_gradient" in kernels, "put_negative" in kernels) == (fused, not fused)
    (recorded,) = numgrad.autograd.grad(value, x, create_graph=True)
    numgrad.testing.assert_close(gradient, recorded.detach(), equal_nan=True)


def test_the_logarithm_of_softmax_along_another_dimension_has_its_own_gradient():
    x = scores(3, 3, requires_grad=True)
    value = F.nll_loss(F.log_softmax(x, 0), numgrad.tensor([0, 2, 2]))
    gradients = [numgrad.autograd.grad(value, x, create_graph=recorded)[0].detach() for recorded in (True, False)]
    numgrad.testing.assert_close(*gradients)


@pytest.mark.parametrize("wrong", [3, -1])
def test_an_invalid_target_is_an_error_that_changes_nothing(wrong):
    x = scores(2, 3, requires_grad=True)
    with pytest.raises(IndexError, match=rf"Target {wrong} is out of bounds.*\[2, 3\]"):
        F.cross_entropy(x, numgrad.tensor([0, wrong]))
    assert x.grad is None


def test_the_gradient_names_an_invalid_target_but_not_an_ignored_one():
    target = numgrad.tensor([-100, 0, 7])
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension with size 3"):
        nll_loss_backward(numgrad.ones(()), target, None, numgrad.ones(()), (3, 3), -100, "sum")


@pytest.mark.parametrize(
    ("target", "options", "error", "message"),
    [
        (numgrad.tensor([0, 1, 2]), {}, ValueError, r"batch_size \(2\).*batch_size \(3\).*\[2, 3\].*\[3\]"),
        (numgrad.tensor([[0], [1]]), {}, RuntimeError, r"target size \[2\], got \[2, 1\].*\[2, 3\]"),
        (numgrad.tensor([0.0, 1.0]), {}, RuntimeError, "Long or Byte, but got Float"),
        (numgrad.tensor([True, False]), {}, RuntimeError, "Long or Byte, but got Bool"),
        (numgrad.tensor([0, 1]), {"weight": numgrad.ones(2)}, RuntimeError, r"all 3 classes .* shape: \[2\]"),
        (numgrad.tensor([0, 1]), {"weight": numgrad.ones(3)}, RuntimeError, "Double but found Float"),
        (numgrad.tensor([0, 1]), {"label_smoothing": 1.5}, RuntimeError, "between 0.0 and 1.0. Got: 1.5"),
        (numgrad.ones(2, 3), {"ignore_index": 0}, RuntimeError, "ignore_index is not supported"),
        (numgrad.ones(2, 3, dtype=numgrad.int64), {}, RuntimeError, "class probabilities, got Long"),
        (numgrad.tensor([0, 1]), {"reduction": "average"}, ValueError, "average is not a valid value for reduction"),
    ],
)
def test_wrong_targets(target, options, error, message):
    with pytest.raises(error, match=message):
        F.cross_entropy(scores(2, 3), target, **options)


def test_scores_must_be_floating_point():
    with pytest.raises((RuntimeError, NotImplementedError), match="Long"):
        F.cross_entropy(numgrad.tensor([[1, 2]]), numgrad.tensor([0]))


# -- the logistic loss --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64], ids=str)
def test_the_logistic_loss_of_huge_scores(dtype):
    x = numgrad.tensor([1000.0, -1000.0, 1000.0, -1000.0, 0.0, INF], dtype=dtype, requires_grad=True)
    target = numgrad.tensor([1.0, 0.0, 0.0, 1.0, 0.5, 0.0], dtype=dtype)
    losses = F.binary_cross_entropy_with_logits(x, target, reduction="none")
    np.testing.assert_allclose(losses.detach().numpy(), [0, 0, 1000, 1000, math.log(2), INF], 1e-6)
    losses.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, -1.0, 0.0, 1.0]


def test_small_losses_are_not_rounded_to_zero():
    x = numgrad.tensor([40.0, 80.0, 600.0], dtype=numgrad.float64)
    losses = F.binary_cross_entropy_with_logits(x, numgrad.ones_like(x), reduction="none")
    np.testing.assert_allclose(losses.numpy(), np.exp([-40.0, -80.0, -600.0]), 1e-12)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize(("weighted", "positive"), [(False, False), (True, False), (False, True), (True, True)])
def test_the_logistic_loss_with_weights(weighted, positive, reduction):
    x, target = scores(4, 3, requires_grad=True), numgrad.sigmoid(scores(4, 3)).requires_grad_()
    weight = numgrad.tensor([0.5, 1.0, 2.0], dtype=numgrad.float64) if weighted else None
    pos_weight = numgrad.tensor([3.0, 1.0, 0.2], dtype=numgrad.float64) if positive else None

    def loss(x, target):
        return F.binary_cross_entropy_with_logits(
            x, target, weight=weight, pos_weight=pos_weight, reduction=reduction
        )

    y, t = 1 / (1 + np.exp(-x.detach().numpy())), target.detach().numpy()
    terms = -((pos_weight.numpy() if positive else 1) * t * np.log(y) + (1 - t) * np.log(1 - y))
    terms = terms * (weight.numpy() if weighted else 1)
    expected = terms if reduction == "none" else getattr(terms, reduction)()
    np.testing.assert_allclose(loss(x, target).detach().numpy(), expected, 1e-12)
    check_gradients(loss, x, target)


def test_the_logistic_loss_wants_targets_of_the_same_shape():
    with pytest.raises(ValueError, match=r"Target size \(torch.Size\(\[3\]\)\).*input size \(torch.Size\(\[2, 3\]\)\)"):
        F.binary_cross_entropy_with_logits(scores(2, 3), scores(3))
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        F.binary_cross_entropy_with_logits(scores(3), scores(3), reduction="no")
    for name in ("weight", "pos_weight"):
        with pytest.raises(RuntimeError, match=r"shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
            F.binary_cross_entropy_with_logits(scores(2), scores(2), **{name: scores(3, 1)})


def test_tensors_that_repeat_one_value():
    """Each is read as a number; a loss and a norm of complex numbers build on pointwise operations."""
    x, target, weight = numgrad.tensor(1.0).expand(4), numgrad.tensor(3.0).expand(4), numgrad.tensor(2.0)
    assert numgrad.nn.functional.mse_loss(x, target).item() == 4
    half = numgrad.full((4,), 0.5)
    assert numgrad.nn.functional.binary_cross_entropy(half, half, weight).item() == pytest.approx(2 * math.log(2))
    assert numgrad.linalg.vector_norm(numgrad.tensor(3 + 4j).expand(4)).item() == 10
