"""Notifications of a recorder are complete: from them alone a run can be repeated, bit for bit."""

import copy
import io
import pickle
import re

import numpy as np
import pytest
from devices.replays import ValuesReadError, assert_repeated, recorded, with_gradients
from ops.samples import SAMPLES

import numgrad
from numgrad import nn
from numgrad.nn import functional as F  # noqa: N812


def cases():
    """Return the contiguous case of each sample, and a non-contiguous case of each operation."""
    strided = set()
    for sample in SAMPLES:
        for case in sample.cases():
            if case.layout in ("transposed", "stepped") and case.is_in_turn and sample.name not in strided:
                strided.add(sample.name)
                yield case
            elif case.layout == "contiguous":
                yield case


#: Operations that read elements on the host, forwards or backwards, and the reasons that they report.
LOOKING = {
    "bincount_op": "bincount()",
    "flat_nonzero_op": "indexing with a mask",
    "index_fill_tensor": "the gradient of index_fill() for a tensor",
    "masked_scatter_backward": "indexing with a mask",
    "masked_scatter_op": "indexing with a mask",
    "masked_select_op": "indexing with a mask",
    "nonzero_op": "nonzero()",
    "prod_all": "asking whether it is true",  # whether one is 0
    "prod_dim": "asking whether it is true",
    "repeated_op": "repeat_interleave() with a tensor of repeats",
    "unique_op": "unique",
}

#: The same, but only in some samples: bags with offsets, and second derivatives of packed sequences.
LOOKING_AT_TIMES = dict.fromkeys(
    ["embedding_bag_max_op", "embedding_bag_op", "recurrent_layer_backward"], "reading its elements"
)


@pytest.mark.parametrize("case", [
    pytest.param(case, id=str(case), marks=[pytest.mark.long] * (case.layout != "contiguous")) for case in cases()
])
def test_samples(case):
    name, leaves = case.sample.name, case.leaves(case.dtype, True)
    function = with_gradients(case, leaves)
    if name in LOOKING:
        with recorded(), pytest.raises(ValuesReadError, match=re.escape(LOOKING[name])):
            function()
        return
    try:
        assert_repeated(function, [leaf for leaf in leaves if leaf is not None])
    except ValuesReadError as error:
        assert str(error) == LOOKING_AT_TIMES.get(name), name  # noqa: PT017 - most samples raise nothing


def floats(*shape):
    values = np.random.default_rng(len(shape)).uniform(-1, 1, shape).astype("f")
    return numgrad.from_numpy(values).requires_grad_()


def integers(below, *shape):
    return numgrad.from_numpy(np.random.default_rng(0).integers(0, below, shape))


def assigned(x, index, value):
    copy = x.clone()
    copy[index] = value
    return copy


#: Cases that no sample of the table covers: functions, random numbers, and large inputs.
PROGRAMS = {
    "attention": (
        lambda q: F.scaled_dot_product_attention(*[q.transpose(1, 2)] * 3, is_causal=True), floats(2, 4, 2, 8)
    ),
    "attention, repeated rows": (
        lambda q: F.scaled_dot_product_attention(q[:, :, :1].expand(2, 2, 4, 8), q, q), floats(2, 2, 4, 8)
    ),
    "bernoulli": (lambda p: numgrad.bernoulli(p.detach().abs()), floats(6, 5)),
    "binary cross-entropy": (
        lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.detach().abs()), floats(6, 5), floats(6, 5)
    ),
    "class weights": (
        lambda x, i, w: F.cross_entropy(x, i, w.detach().abs(), ignore_index=2, label_smoothing=0.1),
        floats(6, 5), integers(5, 6), floats(5),
    ),
    "copies, large": (lambda x: (x.clone() + x.t().contiguous()), floats(100, 100)),
    "cumprod": (lambda x: x.cumprod(1), floats(6, 5)),
    "dropout": (lambda x: F.dropout(x, 0.4), floats(6, 5)),
    "dropout, large": (lambda x: F.dropout(x, 0.4), floats(200, 300)),
    "embedding, by frequency": (
        lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), integers(7, 4, 3), floats(7, 5)
    ),
    "embedding bags": (lambda i, w: F.embedding_bag(i, w), integers(7, 4, 3), floats(7, 5)),
    "exponential": (lambda x: x + numgrad.empty(5).exponential_(), floats(5)),
    "Fourier": (lambda x: numgrad.fft.irfft(numgrad.fft.rfft(x, n=7), n=9), floats(6, 5)),
    "indices apart": (lambda x, i: x[:, i, :, i], floats(3, 4, 2, 5), integers(4, 3)),
    "joined": (lambda x: numgrad.cat([x, x * 2, x + 1], 1), floats(6, 5)),
    "masks": (lambda x, y: assigned(x, y.detach() > 0, 0.0), floats(6, 5), floats(6, 5)),
    "median": (lambda x: x.median(1)[0], floats(5, 200)),
    "nll": (lambda x, i: F.nll_loss(x, i), floats(6, 5), integers(5, 6)),
    "normal": (lambda x: x * numgrad.randn(21) + numgrad.randn(21), floats(21)),
    "normal, few": (lambda x: x * numgrad.randn(3) + numgrad.randn(3), floats(3)),
    "normal, transposed": (lambda x: x + numgrad.empty(5, 3).t().normal_(), floats(3, 5)),
    "numbers that were computed": (lambda x: x * x[0, 0] + x[1, 1], floats(6, 5)),
    "one_hot": (lambda i: F.one_hot(i, 7), integers(7, 4)),
    "permutation": (lambda x: x[numgrad.randperm(6)], floats(6, 5)),
    "products, complex": (lambda x: (numgrad.complex(x, x) @ numgrad.complex(x, -x)).abs(), floats(5, 5)),
    "products, integers": (lambda i: i @ i, integers(9, 4, 4)),
    "products, permuted": (lambda x: x.permute(1, 2, 0) @ x.permute(1, 0, 2), floats(3, 4, 5)),
    "products, vectors": (lambda x, y: x @ y, floats(200, 300), floats(300)),
    "random integers": (lambda x: x + numgrad.randint(5, (5,)) + numgrad.randint(-5, 2**40, (5,)), floats(5)),
    "sorting": (lambda x: x.sort(1)[0], floats(5, 200)),
    "uniform": (lambda x: x + numgrad.rand(5) + numgrad.empty(5).uniform_(-1, 2), floats(5)),
    "vmap": (lambda x, i: numgrad.func.vmap(lambda row, one: row[one])(x, i), floats(6, 5), integers(5, 6)),
    "windows": (lambda x: F.fold(F.unfold(x, 3), (6, 6), 3), floats(2, 3, 6, 6)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, *leaves = PROGRAMS[name]
    assert_repeated(with_gradients(lambda *given: (function(*given),), leaves), leaves)


LAYERS = {
    "batch normalization": lambda: (nn.BatchNorm2d(3), floats(2, 3, 6, 6)),
    "depthwise convolution": lambda: (nn.Conv2d(3, 3, 3, padding=1, groups=3), floats(2, 3, 9, 9)),
    "GRU": lambda: (nn.GRU(5, 7, 2, dropout=0.2), floats(3, 4, 5)),
    "LSTM": lambda: (nn.LSTM(5, 7, 2, bidirectional=True, batch_first=True), floats(3, 4, 5)),
    "LSTM, large": lambda: (nn.LSTM(32, 64), floats(10, 20, 32)),
    "perceptron": lambda: (nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)), floats(6, 5)),
    "spectral norm": lambda: (nn.utils.parametrizations.spectral_norm(nn.Linear(5, 4)), floats(6, 5)),
    "transformer": lambda: (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), floats(2, 4, 8)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    layer, x = LAYERS[name]()

    def call(x, *parameters):
        result = layer(x)
        return result[:1] if isinstance(result, tuple) else (result,)

    leaves = [x, *layer.parameters()]
    assert_repeated(with_gradients(call, leaves), leaves, [*layer.buffers()])


LOOKS = {
    "a mask as an index": (lambda x: x[x > 0], "indexing with a mask"),
    "bincount": (lambda x: (x > 0).long().bincount(), "bincount()"),
    "copy.deepcopy": (lambda x: copy.deepcopy(x), "copy.deepcopy()"),
    "counts": (lambda x: x.repeat_interleave((x > 0).long()), "repeat_interleave() with a tensor of repeats"),
    "histc": (lambda x: x.histc(3), "a range that is that of the elements"),
    "item": (lambda x: x[0].item(), "item()"),
    "nonzero": (lambda x: x.nonzero(), "nonzero()"),
    "numpy": (lambda x: x.numpy(), "reading its elements"),
    "pickle": (lambda x: pickle.dumps(x), "pickling a tensor"),
    "save": (lambda x: numgrad.save(x, io.BytesIO()), "saving tensors"),
    "seed": (lambda x: numgrad.manual_seed(0), "seeding a generator"),
    "truth": (lambda x: bool(x[0]), "asking whether it is true"),
    "unique": (lambda x: x.unique(), "unique()"),
    "unique_consecutive": (lambda x: x.unique_consecutive(), "unique_consecutive()"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looking_at_elements_is_reported(name):
    function, what = LOOKS[name]
    x = numgrad.tensor([1.0, -1.0, 2.0])
    with recorded(), pytest.raises(ValuesReadError, match=re.escape(what)):
        function(x)
