import numpy as np
import pytest
from on_gpu.comparison import run_steps

import numgrad
from numgrad.devices import cpu
from numgrad.nn.functional import binary_cross_entropy

#: (outer, classes, inner), small and real.
SHAPES = [((5, 3, 1), (5000, 10, 1)), ((4, 3, 5), (16, 21, 900)), ((131, 2, 1), (70001, 2, 1)), ((1, 1, 1), (1, 1, 1))]


def problem(shape, dtype):
    """Elements, targets of which some are 1, which is to be ignored, and weights of the classes."""
    outer, classes, inner = shape
    random = np.random.default_rng(0)
    x = random.normal(size=shape).astype(dtype).reshape(-1)
    return x, random.integers(0, classes, outer * inner), random.uniform(0.5, 2, classes).astype(dtype)


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize(("dtype", "reduction", "ignored"), [
    (np.float32, "mean", -100), (np.float64, "mean", 1), (np.float64, "sum", -100), (np.float32, "none", 1),
])  # fmt: skip
def test_losses_and_gradients_are_those_of_the_cpu(cuda, size, small, real, dtype, reduction, ignored):
    outer, classes, inner = size(small, real)
    x, target, weight = problem((outer, classes, inner), dtype)
    buffer, targets, weights = (cuda.buffer_from(each) for each in (x, target, weight))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for on_cpu, on_gpu in ((None, None), (weight, weights)):
        shape = outer, classes, inner
        expected, total = run_steps(cpu, "likelihood", x, target, on_cpu, shape, ignored, reduction)
        loss, totals = run_steps(cuda, "likelihood", buffer, targets, on_gpu, shape, ignored, reduction)
        np.testing.assert_allclose(loss.host(), expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(totals.host(), total, rtol=tolerance)

        grad = np.full(1, 0.5, dtype) if reduction != "none" else np.linspace(1, 2, target.size).astype(dtype)
        divisors = (total, totals) if reduction == "mean" else (None, None)
        expected = run_steps(cpu, "likelihood_gradient", grad, target, on_cpu, divisors[0], shape, ignored)
        given = cuda.buffer_from(grad), targets, on_gpu, divisors[1]
        gradient = run_steps(cuda, "likelihood_gradient", *given, shape, ignored)
        np.testing.assert_allclose(gradient.host(), expected, rtol=tolerance)
        logs, log_buffer = -np.abs(x), cuda.buffer_from(-np.abs(x))
        given = grad, target, on_cpu, divisors[0], logs
        expected = run_steps(cpu, "cross_entropy_gradient", *given, shape, ignored)
        given = cuda.buffer_from(grad), targets, on_gpu, divisors[1], log_buffer
        gradient = run_steps(cuda, "cross_entropy_gradient", *given, shape, ignored)
        np.testing.assert_allclose(gradient.host(), expected, rtol=tolerance, atol=tolerance)


def loss_of(cuda, x, classes, target, ignored=-100, reduction="mean"):
    """The loss of rows, and the weight of its targets."""
    return run_steps(cuda, "likelihood", x, target, None, (target.size, classes), ignored, reduction)


def gradient_of(cuda, grad, classes, target):
    return run_steps(cuda, "likelihood_gradient", grad, target, None, None, (target.size, classes), -100)


def test_all_targets_ignored(cuda):
    x, target = cuda.buffer_from(np.ones(6)), cuda.buffer_from(np.full(3, 5))
    assert np.isnan(loss_of(cuda, x, 2, target, 5)[0].item(0))
    assert [buffer.item(0) for buffer in loss_of(cuda, x, 2, target, 5, "sum")] == [0, 0]


def test_no_targets(cuda):
    none, target = cuda.buffer_from(np.empty(0)), cuda.buffer_from(np.empty(0, int))
    assert np.isnan(loss_of(cuda, none, 2, target)[0].item(0))
    assert gradient_of(cuda, cuda.buffer_from(np.ones(1)), 2, target).size == 0


@pytest.mark.parametrize("wrong", [3, -1])
def test_an_invalid_target_is_reported_when_a_value_is_read(cuda, wrong):
    x, target = cuda.buffer_from(np.ones(6)), cuda.buffer_from(np.array([0, wrong]))
    message = f"index {wrong} is out of bounds for dimension with size 3"
    loss, _ = loss_of(cuda, x, 3, target)
    with pytest.raises(IndexError, match=message):
        loss.host()
    gradient = gradient_of(cuda, cuda.buffer_from(np.ones(1)), 3, target)
    with pytest.raises(IndexError, match=message):
        gradient.host()
    np.testing.assert_array_equal(gradient.host(), [-1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(("wrong", "dtype"), [(1.5, "f4"), (-0.5, "f8"), (np.nan, "f4")])
def test_an_invalid_probability_is_reported_when_a_value_is_read(cuda, wrong, dtype):
    values = np.linspace(0, 1, 30).astype(dtype)
    assert cuda.improbable(cuda.buffer_from(values), "not this") is False
    assert not cpu.improbable(values, "not this")
    cuda.memory.zero_buffer(1, values.dtype).host()
    values[17] = wrong
    assert cuda.improbable(cuda.buffer_from(values), "no probability") is False
    assert cpu.improbable(values, "no probability")
    with pytest.raises(RuntimeError, match=r"no probability \(reported by the GPU"):
        cuda.memory.zero_buffer(1, values.dtype).host()
    cuda.memory.zero_buffer(1, values.dtype).host()


def test_binary_cross_entropy_needs_no_waiting(cuda, monkeypatch):
    probability = numgrad.tensor([0.25, 0.5], device="cuda", requires_grad=True)
    target = numgrad.tensor([1.0, 0.0], device="cuda")
    with monkeypatch.context() as patch:
        patch.setattr("numgrad.devices.buffers.DeviceBuffer.host", lambda buffer: pytest.fail("the GPU was waited for"))
        binary_cross_entropy(probability, target).backward()
    assert probability.grad.tolist() == [-2, 1]
    loss = binary_cross_entropy(probability, target + 1)
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        loss.item()


def test_binary_cross_entropy_of_halves_in_any_order_reports_what_is_no_probability(cuda):
    values = np.array([[0.25, 0.5], [0.75, 0.125]], np.float16)
    probability, target, wrong = (
        numgrad.from_numpy(each).to("cuda") for each in (values, np.eye(2, dtype=np.float16), 2 * values)
    )
    losses = binary_cross_entropy(probability.t(), target, reduction="none")
    expected = -np.log(np.where(np.eye(2), values.T, 1 - values.T).astype(np.float64))
    np.testing.assert_allclose(losses.cpu().numpy(), expected, 1e-3)
    losses = binary_cross_entropy(wrong.t(), target, reduction="none")
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        losses.cpu()
