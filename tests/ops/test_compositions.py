"""Functions that are made of others: parts written into a copy, differences, distances, products of vectors."""

import math

import pytest

import numgrad
from numgrad import arange, ones, tensor, zeros


def powers(*shape):
    """1, 2, 3 ... to the power 1.5, requiring a gradient."""
    count = 1
    for extent in shape:
        count *= extent
    return (arange(1.0, 1.0 + count) ** 1.5).reshape(shape).clone().requires_grad_()


def test_a_part_is_written_into_a_copy():
    square, row = zeros(2, 2), tensor([1.0, 2.0], requires_grad=True)
    assert square.select_scatter(row, 0, 1).tolist() == [[0, 0], [1, 2]]
    assert square.slice_scatter(row.unsqueeze(1), 1, 1).tolist() == [[0, 1], [0, 2]]
    assert square.diagonal_scatter(row).tolist() == [[1, 0], [0, 2]]
    assert square.tolist() == [[0, 0], [0, 0]]
    for out, node in ((square.select_scatter(row, 0, 1), "Select"), (square.diagonal_scatter(row), "Diagonal")):
        assert (out._version, out.grad_fn.name()) == (0, f"{node}ScatterBackward0")


def test_gradients_go_to_what_is_left_and_to_what_is_written():
    square, row = ones(2, 2, requires_grad=True), ones(2, requires_grad=True)
    (square.select_scatter(row, 1, 0) * tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert square.grad.tolist() == [[0, 2], [0, 4]]
    assert row.grad.tolist() == [1, 3]


@pytest.mark.parametrize("call", [
    lambda: zeros(2, 2).select_scatter(ones(3), 0, 0),
    lambda: zeros(2, 2).slice_scatter(ones(2), 0, 0, 1),
    lambda: zeros(2, 2).diagonal_scatter(ones(1)),
])
def test_the_source_must_have_the_shape_of_the_part(call):
    with pytest.raises(RuntimeError, match=r"expected src to have a size equal to the slice of self\. src size = \["):
        call()


def test_differences():
    x = tensor([1.0, 4.0, 9.0])
    assert x.diff().tolist() == [3, 5]
    assert x.diff(2).tolist() == [2]
    assert x.diff(7).tolist() == []
    copy = x.diff(0, prepend=zeros(1))
    copy[0] = 2
    assert copy.tolist() == [2, 4, 9]
    assert x.tolist() == [1, 4, 9]
    assert x.diff(prepend=zeros(1), append=zeros(1)).tolist() == [1, 3, 5, -9]
    assert tensor([True, False, False]).diff().tolist() == [True, False]
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        x.diff(-1)
    with pytest.raises(RuntimeError, match="diff expects input to be at least one-dimensional"):
        tensor(1.0).diff()


def test_the_trapezoidal_rule():
    y = tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    assert numgrad.trapezoid(y).tolist() == [2, 2]
    assert numgrad.trapezoid(y, tensor([0.0, 1.0, 3.0])).tolist() == [3.5, 3]
    assert numgrad.trapz(y, dx=2, dim=0).tolist() == [1, 2, 3]
    assert numgrad.cumulative_trapezoid(y).tolist() == [[0.5, 2], [1, 2]]
    assert numgrad.cumulative_trapezoid(y[0], tensor([0.0, 1.0, 3.0])).tolist() == [0.5, 3.5]


def test_powers_of_two_and_numbers_as_tensors():
    assert tensor([1.0, 3.0]).ldexp(tensor([2, -1])).tolist() == [4, 1.5]
    assert numgrad.ldexp(tensor([1]), tensor([2])).dtype is numgrad.float32
    for input, other in [(tensor(1.5).double(), tensor([2])), (tensor([1.5]).double(), tensor([1000]))]:
        scaled = input.ldexp(other)
        assert (scaled.dtype, scaled.tolist()) == (numgrad.float64, [1.5 * 2.0 ** other.item()])
    x = tensor([1.0, 3.0])
    assert x.ldexp_(tensor([2, -1])) is x
    assert x.tolist() == [4, 1.5]
    number = numgrad.scalar_tensor(2)
    assert (number.shape, number.dtype, number.item()) == ((), numgrad.float32, 2)
    assert numgrad.scalar_tensor(2, dtype=numgrad.int64).dtype is numgrad.int64


def test_the_normal_distribution_is_precise_far_out():
    x = tensor([-10.0, -1.0, 0.0, 1.0, float("inf"), float("nan")], dtype=numgrad.float64, requires_grad=True)
    chances = [7.61985302416052e-24, 0.158655253931457, 0.5, 0.841344746068543, 1.0, float("nan")]
    assert numgrad.special.ndtr(x).tolist() == pytest.approx(chances, rel=1e-12, nan_ok=True)
    numgrad.special.ndtr(x)[:4].sum().backward()
    assert x.grad[:4].tolist() == pytest.approx(((-x * x / 2).exp() / (2 * numgrad.pi) ** 0.5)[:4].tolist(), rel=1e-12)


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64])
def test_normal_quantiles_are_precise_far_out(dtype):
    exact = {
        1e-30: -11.464024688443617, 1e-8: -5.612001244174789, 1e-6: -4.753424308822899, 1e-5: -4.264890793922825,
        0.1: -1.2815515655446006, 0.5: 0, 0.9: 1.2815515655446006,
    }
    if dtype is numgrad.float64:
        exact |= {1e-300: -37.0470962993612, 1e-100: -21.273453560965326}
    x = tensor([*exact], dtype=dtype, requires_grad=True)
    precise = 4 * numgrad.finfo(dtype).eps
    out = numgrad.special.ndtri(x)
    assert out.tolist() == pytest.approx([*exact.values()], rel=precise, abs=precise)
    (slope,) = numgrad.autograd.grad(out.sum(), x)
    slopes = [math.sqrt(2 * math.pi) * math.exp(y * y / 2) for y in exact.values()]
    assert slope.tolist() == pytest.approx(slopes, rel=100 * precise)
    edges = numgrad.special.ndtri(tensor([0.0, 1.0, -1.0]))
    assert edges.tolist() == pytest.approx([-math.inf, math.inf, math.nan], nan_ok=True)


def test_logit_is_precise_near_a_half():
    x = tensor([0.5 + 1e-7, 0.5 - 3e-5])
    exact = [math.log(p / (1 - p)) for p in x.double().tolist()]
    assert x.logit().tolist() == pytest.approx(exact, rel=3e-7)
    assert x.logit(1e-3).tolist() == pytest.approx(exact, rel=3e-7)


def test_products_of_vectors_and_matrices():
    assert tensor([1.0, 0.0, 0.0]).cross(tensor([0.0, 1.0, 0.0])).tolist() == [0, 0, 1]
    matrix = tensor([[1.0, 1.0], [0.0, 1.0]])
    assert matrix.matrix_power(5).tolist() == [[1, 5], [0, 1]]
    assert matrix.matrix_power(0).tolist() == [[1, 0], [0, 1]]
    assert matrix.matrix_power(-1).tolist() == [[1, -1], [0, 1]]
    for call, text in [
        (lambda: matrix.cross(matrix), "no dimension of size 3"),
        (lambda: matrix.cross(matrix, 0), "must have length 3"),
        (lambda: ones(3).cross(ones(1, 3)), "same number of dimensions"),
        (lambda: ones(2, 3).matrix_power(2), "square matrices"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()


def test_distances():
    a, b = tensor([[0.0, 0.0], [3.0, 4.0]]), tensor([[0.0, 0.0]])
    assert numgrad.cdist(a, b).tolist() == [[0], [5]]
    many = a.repeat(13, 1).requires_grad_()  # so that a product of matrices gives the distances
    distances = numgrad.cdist(many, b)
    assert distances.tolist() == [[0], [5]] * 13
    assert numgrad.autograd.grad(distances.sum(), many)[0][:2].flatten().tolist() == pytest.approx([0, 0, 0.6, 0.8])
    assert numgrad.cdist(many * math.nan, b).isnan().all()
    with pytest.raises(ValueError, match="mm is not a valid value for compute_mode"):
        numgrad.cdist(a, b, compute_mode="mm")
    assert a[1].dist(b[0]) == 5
    for call, text in [
        (lambda: numgrad.cdist(a, ones(1, 3)), r"same number of columns. X1: 2 X2: 3"),
        (lambda: numgrad.cdist(ones(2), a), "X1 got: 1D"),
        (lambda: numgrad.cdist(a, b.long()), "only supports floating-point dtypes, X2 got: Long"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()


@pytest.mark.torch
@pytest.mark.parametrize("call", [
    lambda torch, a, b: torch.slice_scatter(a, b[:, :2], 1, 0, 3, 2),
    lambda torch, a, b: torch.diagonal_scatter(a, b[0, :2], 1),
    lambda torch, a, b: torch.diff(a, 2, 0, b[:1]),
    lambda torch, a, b: torch.trapezoid(a, b),
    lambda torch, a, b: torch.cumulative_trapezoid(a, b, dim=0),
    lambda torch, a, b: torch.ldexp(a, b / 5),
    lambda torch, a, b: torch.cross(a, b, dim=1),
    lambda torch, a, b: torch.matrix_power(a / 10 - b, 3),
    lambda torch, a, b: torch.cdist(a, b[:2]),
    lambda torch, a, b: torch.dist(a, b, 1),
])
def test_values_and_gradients_are_pytorchs(call):
    import torch

    found = []
    for library in (numgrad, torch):
        a = library.tensor(powers(3, 3).tolist(), requires_grad=True)
        b = library.tensor((powers(3, 3) + 0.5).flip(0).tolist(), requires_grad=True)
        out = call(library, a, b)
        (out * out).sum().backward()
        found.append([out.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    for own, theirs in zip(*found, strict=True):
        assert own == pytest.approx(theirs, rel=1e-4, abs=1e-3)


def test_the_generator_goes_on_as_if_a_block_had_not_run():
    numgrad.manual_seed(0)
    with numgrad.random.fork_rng():
        inside = numgrad.rand(2)
    assert numgrad.rand(2).tolist() == inside.tolist()
    with numgrad.random.fork_rng(enabled=False):
        inside = numgrad.rand(2)
    assert numgrad.rand(2).tolist() != inside.tolist()
