"""Indices, sizes and lengths that no tensor has: they are refused at once, also by compiled programs and backward."""

import math

import pytest

import numgrad
from numgrad import arange, nn, ones, tensor
from numgrad.nn.functional import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    conv1d,
    conv2d,
    conv_transpose1d,
    cross_entropy,
    ctc_loss,
    embedding,
    embedding_bag,
    interpolate,
    max_pool1d,
    max_unpool1d,
    multi_margin_loss,
    multilabel_margin_loss,
    nll_loss,
    one_hot,
    pad,
    unfold,
)
from numgrad.nn.utils.rnn import PackedSequence, pad_packed_sequence

ONE, TWO = tensor([0, 1]), tensor([1, 0])

#: Functions of six classes.
ADAPTIVE = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])


def assigned(x, index, value):
    x = x.clone()
    x[index] = value
    return x


#: Functions of a tensor and an index of two elements, the shape of the tensor, and how many elements may be indexed.
INDEXED = {
    "index": (lambda x, i: x[i], (5,), 5),
    "index columns": (lambda x, i: x[:, i], (3, 4), 4),
    "index two dimensions": (lambda x, i: x[ONE, i], (3, 4), 4),
    "index two apart": (lambda x, i: x[i, :, ONE], (2, 3, 4), 2),
    "assign a number": (lambda x, i: assigned(x, i, 9.0), (5,), 5),
    "assign a tensor": (lambda x, i: assigned(x, (i, TWO), x[0, :2]), (3, 4), 3),
    "index_put": (lambda x, i: x.index_put((i,), x[:2], accumulate=True), (5,), 5),
    "index_select": (lambda x, i: x.index_select(0, i), (5,), 5),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]), (5,), 5),
    "index_copy": (lambda x, i: x.index_copy(0, i, x[:2]), (5,), 5),
    "index_fill": (lambda x, i: x.index_fill(0, i, x[0]), (5,), 5),
    "index_reduce": (lambda x, i: x.index_reduce(0, i, x[:2], "amax"), (5,), 5),
    "gather": (lambda x, i: x.gather(1, i.expand(3, 2)), (3, 4), 4),
    "take": (lambda x, i: x.take(i), (3, 4), 12),
    "put": (lambda x, i: x.put(i, x[0, :2]), (3, 4), 12),
    "take_along_dim": (lambda x, i: x.take_along_dim(i, 0), (5,), 5),
    "scatter": (lambda x, i: x.scatter(0, i, x[:2]), (5,), 5),
    "scatter a number": (lambda x, i: x.scatter(0, i, 3.0), (5,), 5),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x[:2]), (5,), 5),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(0, i, x[:2], "prod"), (5,), 5),
    "embedding": (lambda x, i: embedding(i, x), (3, 4), 3),
    "embedding by frequency": (lambda x, i: embedding(i, x, padding_idx=0, scale_grad_by_freq=True), (3, 4), 3),
    "embedding_bag": (lambda x, i: embedding_bag(i[None], x), (3, 4), 3),
    "embedding_bag sum": (lambda x, i: embedding_bag(i[None], x, mode="sum", padding_idx=0), (3, 4), 3),
    "embedding_bag max": (lambda x, i: embedding_bag(i[None], x, mode="max"), (3, 4), 3),
    "nll_loss": (nll_loss, (2, 4), 4),
    "nll_loss with weights": (lambda x, i: nll_loss(x, i, ones(4), reduction="none"), (2, 4), 4),
    "cross_entropy": (lambda x, i: cross_entropy(x, i, label_smoothing=0.1), (2, 4), 4),
    "multi_margin_loss": (multi_margin_loss, (2, 4), 4),
    "one_hot": (lambda x, i: one_hot(i, 3) * x[0], (5,), 3),
    "max_unpool1d": (lambda x, i: max_unpool1d(x, i[None], 2), (1, 2), 4),
    "embedding_bag offsets": (lambda x, i: embedding_bag(tensor([0, 1, 2]), x, i), (3, 4), 4),
    "embedding_bag max offsets": (lambda x, i: embedding_bag(tensor([0, 1, 2]), x, i, mode="max"), (3, 4), 4),
    "embedding_bag weighted": (
        lambda x, i: embedding_bag(i, x, ONE, mode="sum", per_sample_weights=ones(2)), (3, 4), 3
    ),
    "nll_loss that ignores": (lambda x, i: nll_loss(x, i, ones(4), ignore_index=2), (2, 4), 4),
    "multilabel_margin_loss": (multilabel_margin_loss, (2,), 2), "select": (lambda x, i: x[i[1]], (5,), 5),
    "narrow": (lambda x, i: x.narrow(0, i[1], 1), (5,), 5),
    "adaptive log_softmax": (lambda x, i: ADAPTIVE(x, i).loss, (2, 4), 6),
    "pack_padded_sequence": (
        lambda x, i: nn.utils.rnn.pack_padded_sequence(x, i + 1, enforce_sorted=False).data, (3, 2, 1), 3
    ),
    "PackedSequence": (lambda x, i: pad_packed_sequence(PackedSequence(x, TWO + 1, i, i))[0], (3, 2), 2),
    "ctc_loss of steps": (lambda x, i: ctc_loss(x, ONE[:, None], i, ONE), (4, 2, 3), 5),
    "ctc_loss of lengths": (lambda x, i: ctc_loss(x, TWO.expand(2, 2), [4, 4], i), (4, 2, 3), 3),
    "ctc_loss of a row": (lambda x, i: ctc_loss(x, i, [4, 4], [1, 1]), (4, 2, 3), 3),
    "searchsorted": (lambda x, i: numgrad.searchsorted(x[:2].detach(), x[:2].detach(), sorter=i) * x[0], (5,), 2),
    "ctc_loss": (lambda x, i: ctc_loss(x, i[None], [5], [2]), (5, 1, 4), 4),
}  # fmt: skip


def outside(size):
    """Indices outside of a dimension: one too far, and those whose sum with a size could be anything."""
    return [size, -size - 1, 2**31, 2**32, -(2**32), 2**63 - 1, -(2**63), 1 - 2**63]


@pytest.mark.filterwarnings("ignore:.*cannot be compiled as a whole")
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("requires_grad", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize(("function", "shape", "size"), INDEXED.values(), ids=INDEXED)
def test_indices(function, shape, size, requires_grad, compiled):
    call = numgrad.compile(function) if compiled else function

    def computed(index):
        x = arange(float(math.prod(shape))).reshape(shape).clone().requires_grad_(requires_grad)
        result = call(x, tensor(index))
        if result.requires_grad:
            result.sum().backward()
        return result.tolist(), x.grad is None or x.grad.tolist()

    expected = [computed([0, 1]) for _ in range(3)]  # after which there is a program
    for wrong in outside(size):
        with pytest.raises((IndexError, RuntimeError)):
            computed([0, wrong])
        assert computed([0, 1]) == expected[0]


LINE, IMAGE, VECTOR = ones(1, 2, 6), ones(1, 2, 6, 6), arange(5.0)

#: Functions of a size or length that is far too large.
SIZED = {
    "tensor_split": VECTOR.tensor_split, "tensor_split by a tensor": lambda n: VECTOR.tensor_split(tensor(n)),
    "chunk of nothing": ones(0).chunk, "narrow": lambda n: VECTOR.narrow(0, 0, n), "select": lambda n: VECTOR[n],
    "unfold": lambda n: VECTOR.unfold(0, n, 1), "as_strided": lambda n: VECTOR.as_strided((n,), (1,)),
    "a stride": lambda n: VECTOR.as_strided((2,), (n,)), "an offset": lambda n: VECTOR.as_strided((1,), (1,), n),
    "expand": lambda n: ones(1, 1, 1).expand(n, n, n), "repeat": lambda n: VECTOR.repeat(n, n), "view": VECTOR.view,
    "repeat_interleave": lambda n: VECTOR.repeat_interleave(tensor([n * 2**29, n, 1, 1, 1])),
    "counts that wrap": lambda n: VECTOR.repeat_interleave(tensor([2**62] * 4 + [5])),
    "zeros": lambda n: numgrad.zeros(n, n), "eye": lambda n: numgrad.eye(n, n), "arange": lambda n: arange(n * 2**30),
    "the largest arange": lambda n: arange(2**63 - 1), "linspace": lambda n: numgrad.linspace(0, 1, 2**63 - 1),
    "tril_indices": lambda n: numgrad.tril_indices(2**63 - 1, 2), "diag": lambda n: numgrad.diag(VECTOR, n),
    "diag_embed": lambda n: numgrad.diag_embed(VECTOR, -n), "topk": VECTOR.topk, "kthvalue": VECTOR.kthvalue,
    "pad": lambda n: pad(IMAGE, (n, n, n, n)), "replicate": lambda n: pad(LINE, (2**63 - 1, 0), "replicate"),
    "reflect": lambda n: pad(LINE, (n, 0), "reflect"), "one_hot": lambda n: one_hot(tensor([0, n * 2**30])),
    "conv2d": lambda n: conv2d(IMAGE, ones(1, 2, 1, 1), padding=n),
    "conv1d": lambda n: conv1d(LINE, ones(1, 2, 1), padding=2**45),
    "conv_transpose1d": lambda n: conv_transpose1d(LINE, ones(2, 1, 2), dilation=2**45),
    "a transposed stride": lambda n: conv_transpose1d(LINE, ones(2, 1, 2), stride=2**62),
    "max_pool1d": lambda n: max_pool1d(LINE, n), "adaptive_max_pool1d": lambda n: adaptive_max_pool1d(LINE, 2**62),
    "adaptive_avg_pool1d": lambda n: adaptive_avg_pool1d(LINE, 2**63 - 1),
    "interpolate": lambda n: interpolate(LINE, size=2**63 - 1), "unfold images": lambda n: unfold(IMAGE, 2, padding=n),
    "interpolated lines": lambda n: interpolate(LINE, size=n * 2**15, mode="linear"),
    "repeated edges": lambda n: pad(LINE, (n * 2**15, 0), "replicate"),
    "adaptive averages": lambda n: adaptive_avg_pool1d(LINE, n * 2**15),
    "stft": lambda n: numgrad.stft(VECTOR, n, return_complex=True), "fft": lambda n: numgrad.fft.fft(VECTOR, 2**60),
    "lengths of steps": lambda n: ctc_loss(ones(5, 2, 4), ones(2, 2).long(), [n, 5], [1, 1]),
    "lengths of targets": lambda n: ctc_loss(ones(5, 2, 4), ones(2, 2).long(), [5, 5], [n, 1]),
    "lengths of sequences": lambda n: nn.utils.rnn.pack_padded_sequence(ones(4, 2, 3), [n, 1]),
    "offsets of bags": lambda n: embedding_bag(ONE, ones(3, 4), tensor([0, n])),
    "multinomial": lambda n: numgrad.multinomial(ones(3), n), "set_": lambda n: ones(2).set_(ones(3), n, (2,)),
}  # fmt: skip


@pytest.mark.parametrize("size", [2**31, 2**32 + 1, 2**62])
@pytest.mark.parametrize("function", SIZED.values(), ids=SIZED)
def test_sizes(function, size):
    with pytest.raises((IndexError, RuntimeError, ValueError, TypeError)) as caught:
        function(size)
    assert not isinstance(caught.value, OverflowError)


def test_many_empty_pieces_are_allowed():
    assert [piece.tolist() for piece in tensor([1, 2]).tensor_split(4)] == [[1], [2], [], []]
    assert len(ones(0).chunk(1000)) == 1000


@pytest.mark.parametrize("diagonal", [2**31, 2**32, 2**62, 2**63 - 1, -(2**31), -(2**62), -(2**63)])
def test_diagonals_far_outside(diagonal):
    x, above = ones(3, 4), diagonal > 0
    assert x.tril(diagonal).equal(x if above else x * 0)
    assert x.triu(diagonal).equal(x * 0 if above else x)
    assert x.clone().tril_(diagonal).equal(x.tril(diagonal))
    assert numgrad.tril_indices(3, 4, diagonal).shape == (2, 12 if above else 0)
    assert numgrad.triu_indices(3, 4, diagonal).shape == (2, 0 if above else 12)


def test_an_empty_view_far_outside_has_a_gradient_of_zeros():
    x = ones(5).requires_grad_()
    x.as_strided((0,), (1,), 2**50).sum().backward()
    assert x.grad.tolist() == [0] * 5


def test_more_differences_than_elements_leave_nothing():
    assert arange(5).diff(2**62).shape == (0,)
