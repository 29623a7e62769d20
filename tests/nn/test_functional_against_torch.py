"""nn.functional against PyTorch: values, dtypes, shapes, strides, gradients, nodes, random numbers, errors."""

import inspect

import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

import numgrad

pytestmark = pytest.mark.torch

REDUCTIONS = ("none", "mean", "sum")
FLOATS = ("float32", "float64")


def functional(module):
    return module.nn.functional


def parts(dtype, *shapes, seed=0):
    """Random numbers between 0 and 1."""
    return randoms(*shapes, seed=seed, dtype=dtype, low=0.05, high=0.95)


def classes(*shape, count=3, seed=0):
    return np.asarray(np.random.default_rng(seed).integers(0, count, shape))


def test_signatures():
    import torch

    compared = 0
    for name in numgrad.nn.functional.__all__:
        try:
            theirs = inspect.signature(getattr(torch.nn.functional, name)).parameters.values()
        except ValueError:  # a built-in function, which has none
            continue
        if [p.kind.name for p in theirs] == ["VAR_POSITIONAL", "VAR_KEYWORD"]:  # its signature is unknown
            continue
        ours = inspect.signature(getattr(numgrad.nn.functional, name)).parameters.values()
        own = [(p.name, p.default, p.kind) for p in ours if p.name != "out"]  # which some take, as the operations do
        assert own == [(p.name, p.default, p.kind) for p in theirs if p.name != "out"], name
        compared += 1
    assert compared >= 50


# -- losses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 1)), ((), ())])
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_regression(name, shapes, reduction, dtype):
    assert_same(lambda m, x, y: getattr(functional(m), name)(x, y, reduction=reduction), *randoms(*shapes, dtype=dtype))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, y, **k: f.mse_loss(x, y, weight=y.detach().abs(), **k),
        lambda f, x, y, **k: f.l1_loss(x, y, weight=y.detach().abs(), **k),
        lambda f, x, y, **k: f.huber_loss(x, y, weight=y.detach().abs(), **k),
        lambda f, x, y, **k: f.smooth_l1_loss(x, y, beta=0.3, **k),
        lambda f, x, y, **k: f.smooth_l1_loss(x, y, beta=0, **k),
        lambda f, x, y, **k: f.huber_loss(x, y, delta=0.3, **k),
        lambda f, x, y, **k: f.soft_margin_loss(x, y.detach().sign(), **k),
        lambda f, x, y, **k: f.hinge_embedding_loss(x, y.detach().sign(), **k),
        lambda f, x, y, **k: f.margin_ranking_loss(x, y, (x + y).detach().sign(), 0.3, **k),
        lambda f, x, y, **k: f.cosine_embedding_loss(x, y, y[:, 0].detach().sign(), 0.2, **k),
        lambda f, x, y, **k: f.triplet_margin_loss(x, y, x.detach() * y.detach(), **k),
        lambda f, x, y, **k: f.triplet_margin_loss(x, y, x.detach() * y.detach(), p=3, swap=True, margin=2, **k),
        lambda f, x, y, **k: f.triplet_margin_with_distance_loss(x, y, y * x, **k),
        lambda f, x, y, **k: f.gaussian_nll_loss(x, y, x.detach().abs(), full=True, **k),
        lambda f, x, y, **k: f.gaussian_nll_loss(x, y, y.detach().abs()[:, 0], **k),
        lambda f, x, y, **k: f.gaussian_nll_loss(x, y, 0.3, **k),
        lambda f, x, y, **k: f.poisson_nll_loss(x, y.abs() * 3, full=True, **k),
        lambda f, x, y, **k: f.poisson_nll_loss(x.abs(), y.abs(), log_input=False, **k),
        lambda f, x, y, **k: f.kl_div(x, y, log_target=True, **k),
        lambda f, x, y, **k: f.kl_div(x, y.abs(), **k),
        lambda f, x, y, **k: f.binary_cross_entropy_with_logits(x, y, **k),
        lambda f, x, y, **k: f.binary_cross_entropy_with_logits(x, y, x[0].detach(), pos_weight=y.detach(), **k),
    ],
)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_other_losses(call, reduction):
    assert_same(
        lambda m, x, y: call(functional(m), x, y, reduction=reduction), *randoms((3, 4), (3, 4), seed=3), graph=False
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy(weighted, reduction, dtype):
    def loss(m, x, y, w):
        weight = w.detach() if weighted else None
        return functional(m).binary_cross_entropy(x, y, weight, reduction=reduction)

    assert_same(loss, *parts(dtype, (3, 4), (3, 4), (4,)))


CLASSES = [((4, 3), (4,)), ((3,), ()), ((2, 3, 4), (2, 4)), ((2, 3, 4, 2), (2, 4, 2)), ((2, 3, 1, 2, 2), (2, 1, 2, 2))]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize(("shape", "target"), CLASSES)
def test_nll_loss(shape, target, ignored, weighted, reduction, dtype):
    def loss(m, x, t, w):
        weight = w.detach() if weighted else None
        return functional(m).nll_loss(x, t, weight, ignore_index=ignored, reduction=reduction)

    x, w = randoms(shape, (3,), dtype=dtype)
    assert_same(loss, x, classes(*target), abs(w))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize(("shape", "target"), CLASSES)
def test_cross_entropy(shape, target, smoothing, weighted, reduction):
    def loss(m, x, t, w):
        weight = w.detach() if weighted else None
        return functional(m).cross_entropy(x, t, weight, reduction=reduction, label_smoothing=smoothing)

    x, w = randoms(shape, (3,))
    assert_same(loss, x, classes(*target), abs(w), graph=smoothing == 0)
    assert_same(loss, x, *parts("float64", shape), abs(w), graph=False)


@pytest.mark.parametrize(
    "program",
    [
        lambda f, x, t: f.nll_loss(x, t[:1]),
        lambda f, x, t: f.nll_loss(x[0], t),
        lambda f, x, t: f.nll_loss(x, t + 5),
        lambda f, x, t: f.nll_loss(x, t.int()),
        lambda f, x, t: f.nll_loss(x, t, weight=x[0]),
        lambda f, x, t: f.nll_loss(x, t, weight=x[0].detach()[:2]),
        lambda f, x, t: f.nll_loss(x, t, weight=x[0].detach().float()),
        lambda f, x, t: f.nll_loss(x.long(), t),
        lambda f, x, t: f.nll_loss(x.reshape(2, 3, 1), t),
        lambda f, x, t: f.nll_loss(x.reshape(2, 3, 1, 1), t),
        lambda f, x, t: f.cross_entropy(x, t, label_smoothing=1.5),
        lambda f, x, t: f.cross_entropy(x, x.detach(), ignore_index=1),
        lambda f, x, t: f.cross_entropy(x, x.long()),
        lambda f, x, t: f.cross_entropy(x, x.detach()[:1]),
        lambda f, x, t: f.mse_loss(x, t),
        lambda f, x, t: f.mse_loss(x, x, reduction="all"),
        lambda f, x, t: f.binary_cross_entropy(x, x[0]),
        lambda f, x, t: f.binary_cross_entropy(x + 5, x),
        lambda f, x, t: f.binary_cross_entropy_with_logits(x, x[0]),
        lambda f, x, t: f.binary_cross_entropy_with_logits(x, x.long()),
        lambda f, x, t: f.binary_cross_entropy_with_logits(x, x, weight=x),
        lambda f, x, t: f.kl_div(x, t),
        lambda f, x, t: f.gaussian_nll_loss(x, x, x[:, :2].abs()),
        lambda f, x, t: f.gaussian_nll_loss(x, x, x - 9),
        lambda f, x, t: f.smooth_l1_loss(x, x, beta=-1),
        lambda f, x, t: f.huber_loss(x, x, delta=0),
        lambda f, x, t: f.soft_margin_loss(x, x),
        lambda f, x, t: f.margin_ranking_loss(x, x[0], x),
        lambda f, x, t: f.cosine_embedding_loss(x, x, x),
        lambda f, x, t: f.triplet_margin_loss(x, x[0], x),
        lambda f, x, t: f.triplet_margin_loss(x, x, x, margin=0),
        lambda f, x, t: f.layer_norm(x, (2,)),
        lambda f, x, t: f.layer_norm(x, (3,), x),
        lambda f, x, t: f.layer_norm(x, ()),
        lambda f, x, t: f.layer_norm(x, 3),
        lambda f, x, t: f.layer_norm(t, (2,)),
        lambda f, x, t: f.layer_norm(x, (3,), x[0].float()),
        lambda f, x, t: f.softmax(t, 0),
        lambda f, x, t: f.softmax(x, 2),
        lambda f, x, t: f.dropout(x, 2.0),
        lambda f, x, t: f.dropout(t),
        lambda f, x, t: f.dropout1d(x[0]),
        lambda f, x, t: f.one_hot(t - 3),
        lambda f, x, t: f.one_hot(x),
        lambda f, x, t: f.one_hot(t, 1),
        lambda f, x, t: f.normalize(t),
        lambda f, x, t: f.cosine_similarity(t, t, 0),
        lambda f, x, t: f.embedding(t, x, padding_idx=9),
        lambda f, x, t: f.embedding(t + 9, x),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_errors_are_of_pytorchs_kind(program):
    import torch

    theirs = error_of(torch, program)
    assert theirs is not None
    assert isinstance(error_of(numgrad, program), type(theirs)), theirs


def error_of(module, program):
    """The error that the program, or its backward, raises."""
    x = module.from_numpy(np.random.default_rng(0).normal(size=(2, 3))).requires_grad_()
    try:
        program(functional(module), x, module.tensor([2, 1])).sum().backward()
    except Exception as error:  # compared with the other module's
        return error
    return None


# -- probabilities, normalization, distances ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "stepped"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax(name, layout, dtype):
    for shape in ((3, 4), (2, 3, 4), (4,), (), (0, 3), (3, 0)):
        for dim in range(max(1, len(shape))):
            arrays = randoms(shape, layout=layout, dtype=dtype)
            assert_same(lambda m, x, dim=dim: getattr(functional(m), name)(x, dim), *arrays)
        assert_same(lambda m, x: getattr(functional(m), name)(x, -1, dtype=m.float64), *arrays)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("weighted", "biased"), [(False, False), (True, False), (False, True), (True, True)])
def test_layer_norm(weighted, biased, dtype):
    for shape, normalized in (((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (4,)), ((0, 4), (4,))):

        def norm(m, x, w, b, normalized=normalized):
            return functional(m).layer_norm(x, normalized, w if weighted else None, b if biased else None)

        assert_same(norm, *randoms(shape, normalized, normalized, dtype=dtype))


@pytest.mark.parametrize(
    "program",
    [
        lambda f, x, y: f.rms_norm(x, (4,), y[0]),
        lambda f, x, y: f.cosine_similarity(x, y),
        lambda f, x, y: f.cosine_similarity(x, y[0], 0),
        lambda f, x, y: f.pairwise_distance(x, y, p=1.5, keepdim=True),
        lambda f, x, y: f.pairwise_distance(x, y[0]),
        lambda f, x, y: f.normalize(x - y),
        lambda f, x, y: f.normalize(x, p=1, dim=0),
    ],
)
def test_composed_functions(program):
    assert_same(lambda m, x, y: program(functional(m), x, y), *randoms((3, 4), (3, 4)), graph=False)


def test_one_hot_and_embedding():
    indices = classes(2, 3)
    assert_same(lambda m, t: functional(m).one_hot(t), indices)
    assert_same(lambda m, t: functional(m).one_hot(t, 7), indices)
    (weight,) = randoms((3, 2))
    for padding in (None, 1, -1):
        assert_same(lambda m, t, w, padding=padding: functional(m).embedding(t, w, padding), indices, weight)
    assert_same(lambda m, t, w: functional(m).embedding(t, w.detach().clone(), max_norm=0.7), indices, weight)


# -- random numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "stepped"])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize(
    "name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"]
)
@pytest.mark.filterwarnings("ignore:dropout")
def test_dropout(name, p, layout, dtype):
    for shape in ((3, 4), (2, 3, 4), (2, 3, 4, 2)):
        for inplace in (False, True):

            def drop(m, x, shape=shape, inplace=inplace):
                if name == "dropout1d" and len(shape) == 4:
                    x = x[0]
                m.manual_seed(3)
                out = getattr(functional(m), name)(x * 1, p, training=True, inplace=inplace)
                return out, m.rand(2)

            assert_same(drop, *randoms(shape, layout=layout, dtype=dtype), graph=False)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    def choose(m, x):
        m.manual_seed(3)
        return functional(m).gumbel_softmax(x, tau=0.7, hard=hard)

    assert_same(choose, *randoms((3, 4)), graph=False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["contiguous", "stepped"])
def test_rrelu(layout, dtype):
    """Slopes are drawn for those alone that are not positive."""
    def activate(m, x):
        m.manual_seed(3)
        out = functional(m).rrelu(x, training=True), m.rrelu_(x * 1, 0.1, 0.3, True), m.nn.RReLU(0.2)(x)
        turned = functional(m).rrelu(x.t(), training=True).contiguous()  # which PyTorch lays out row by row
        return *out, turned * 1, m.nn.RReLU().eval()(x), m.rand(2)

    x = randoms((5, 4), layout=layout, dtype=dtype)[0]
    x[:2, 0] = 0, np.nan
    assert_same(activate, x, graph=False)
