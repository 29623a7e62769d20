"""Layer normalization: any length and number of rows, constant rows, threads, higher derivatives, wrong arguments."""

import numba
import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad

F = numgrad.nn.functional


def randoms(*shape, seed=0, requires_grad=True):
    values = np.random.default_rng(seed).normal(size=shape)
    return numgrad.tensor(values, requires_grad=requires_grad)


def expected(x, weight, bias, eps=1e-5):
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    return normal * weight + bias


@pytest.mark.parametrize(
    ("rows", "length"), [(1, 1), (65, 1), (63, 2), (64, 32), (130, 32), (65, 100), (1, 1100), (3, 2100)]
)
def test_any_number_of_rows_of_any_length(rows, length):
    x, weight, bias = randoms(rows, length), randoms(length, seed=1), randoms(length, seed=2)
    out = F.layer_norm(x, (length,), weight, bias)
    arrays = [tensor.detach().numpy() for tensor in (x, weight, bias)]
    np.testing.assert_allclose(out.detach().numpy(), expected(*arrays), 1e-9, 1e-11)
    out.backward(numgrad.ones_like(out) * 0.5)
    normal = expected(arrays[0], 1, 0)
    np.testing.assert_allclose(weight.grad.numpy(), 0.5 * normal.sum(0), 1e-9, 1e-10)
    np.testing.assert_allclose(bias.grad.numpy(), np.full(length, 0.5 * rows), 1e-12)
    scaled = 0.5 * arrays[1]
    projected = scaled - scaled.mean() - normal * (normal * scaled).mean(-1, keepdims=True)
    slope = projected / np.sqrt(arrays[0].var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(x.grad.numpy(), slope, 1e-8, 1e-9)


def test_small_differences_from_a_large_mean():
    x = numgrad.tensor([[10000.0, 10001.0, 10002.0, 10003.0]], requires_grad=True)
    out = F.layer_norm(x, (4,))
    np.testing.assert_allclose(out.detach().numpy(), [[-1.341635, -0.447212, 0.447212, 1.341635]], 1e-5)


def test_rows_of_one_value_become_zero():
    assert F.layer_norm(numgrad.full((2, 3), 7.0), (3,)).tolist() == [[0.0] * 3] * 2
    bias = numgrad.tensor([1.0, 2.0, 3.0])
    assert F.layer_norm(numgrad.full((2, 3), 7.0), (3,), bias=bias).tolist() == [[1.0, 2.0, 3.0]] * 2


def test_the_third_derivative():
    x, weight = randoms(2, 3), randoms(3, seed=1)
    check_gradients(lambda x, w: F.layer_norm(x, (3,), w, eps=0.1), x, weight, order=3, relative=1e-5, absolute=1e-6)


def test_the_node_is_pytorchs():
    out = F.layer_norm(randoms(2, 3), (3,), randoms(3))
    assert out.grad_fn.name() == "NativeLayerNormBackward0"
    assert [node is not None for node, _ in out.grad_fn.next_functions] == [True, True, False]


def test_results_do_not_depend_on_the_number_of_threads():
    random = np.random.default_rng(1)
    x, weight = [
        numgrad.from_numpy(random.normal(size=size).astype(np.float32)).requires_grad_() for size in ((700, 100), 100)
    ]
    found = []
    threads = numba.get_num_threads()
    for count in {1, threads}:
        numba.set_num_threads(count)
        try:
            y = F.layer_norm(x, (100,), weight)
            gradients = numgrad.autograd.grad(y, (x, weight), x.detach())
            found.append(b"".join(tensor.detach().numpy().tobytes() for tensor in (y, *gradients)))
        finally:
            numba.set_num_threads(threads)
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("shape", "normalized", "options", "error", "message"),
    [
        ((2, 3), (4,), {}, RuntimeError, r"Given normalized_shape=\[4\], expected input with shape .*size\[2, 3\]"),
        ((2, 3), (3,), {"weight": (4,)}, RuntimeError, r"Expected weight to be of same shape .* shape \[4\]"),
        ((2, 3), (3,), {"bias": (3, 1)}, RuntimeError, r"Expected bias to be of same shape .* shape \[3, 1\]"),
        ((2, 3), (), {}, RuntimeError, "at least 1-dimensional"),
        ((2, 3), 3, {}, TypeError, "must be tuple of ints, not int"),
    ],
)
def test_shapes_that_do_not_fit(shape, normalized, options, error, message):
    with pytest.raises(error, match=message):
        F.layer_norm(randoms(*shape), normalized, **{name: randoms(*size) for name, size in options.items()})


def test_dtypes_that_do_not_fit():
    with pytest.raises(NotImplementedError, match="\"LayerNormKernelImpl\" not implemented for 'Long'"):
        F.layer_norm(numgrad.tensor([1, 2]), (2,))
    with pytest.raises(RuntimeError, match="expect parameter to have scalar type of Float, not Double"):
        F.layer_norm(numgrad.ones(2, 3), (3,), randoms(3))


def test_rms_norm():
    x, weight = randoms(2, 3), randoms(3, seed=1)
    array = x.detach().numpy()
    root = np.sqrt((array**2).mean(-1, keepdims=True) + 0.1)
    found = F.rms_norm(x, (3,), weight, eps=0.1)
    np.testing.assert_allclose(found.detach().numpy(), array / root * weight.detach().numpy(), 1e-12)
    check_gradients(lambda x, w: F.rms_norm(x, (3,), w), x, weight)
    assert F.rms_norm(numgrad.zeros(2, 3), (3,)).tolist() == [[0.0] * 3] * 2
    mixed = F.rms_norm(numgrad.ones(3), (3,), numgrad.full((3,), 2.0, dtype=numgrad.float64), eps=0)
    assert (mixed.dtype, mixed.tolist()) == (numgrad.float32, [2.0] * 3)
    with pytest.raises(NotImplementedError, match="\"rms_norm\" not implemented for 'Long'"):
        F.rms_norm(numgrad.tensor([1, 2]), (2,))
