"""Modules made and run with PyTorch and with numgrad: the same text, names, numbers and gradients."""

import inspect

import numpy as np
import pytest
from ops.torch_comparison import assert_same

import numgrad

pytestmark = pytest.mark.torch


# --- constructors: repr, attributes, names in the state ---------------------------------

CONSTRUCTORS = [
    "ReLU()", "ReLU(True)", "ReLU6()", "ReLU6(True)", "GELU()", "GELU('tanh')", "SiLU()", "SiLU(True)", "ELU()",
    "ELU(2.0, True)", "LeakyReLU()", "LeakyReLU(0.1, True)", "Softplus()", "Softplus(2, 10)", "Sigmoid()", "Tanh(3)",
    "Hardtanh()", "Hardtanh(-2, 2, True)", "SELU()", "SELU(True)", "CELU()", "CELU(1.5, True)", "Mish()", "Mish(True)",
    "RReLU()", "RReLU(0.1, 0.3, True)",
    "LogSigmoid()", "Softsign()", "Tanhshrink()", "Hardshrink()", "Softshrink(0.25)", "Threshold(0.1, 20)",
    "Threshold(0.1, 20, True)", "PReLU()", "PReLU(3, 0.1)", "GLU()", "GLU(0)", "Hardsigmoid()", "Hardsigmoid(True)",
    "Hardswish()", "Hardswish(True)", "Softmax()", "Softmax(1)", "Softmin(1)", "LogSoftmax()", "LogSoftmax(dim=1)",
    "Dropout()", "Dropout(0.2, True)", "Embedding(3, 4)", "Embedding(3, 4, -1)",
    "Embedding(3, 4, 0, None, 3, True)", "EmbeddingBag(3, 4)", "EmbeddingBag(3, 4, 1.0, 3.0, True, 'sum', True)",
    "EmbeddingBag(3, 4, padding_idx=-1, include_last_offset=True)", "EmbeddingBag(3, 4, _weight=m.ones(2, 2))",
    "LayerNorm(3)", "LayerNorm((2, 3), elementwise_affine=False)",
    "LayerNorm([3], 0.1, bias=False)", "Linear(2, 3)", "Linear(2, 3, False)", "Linear(2, 3, dtype=m.float64)",
    "Bilinear(2, 3, 4)", "Bilinear(2, 3, 4, False)", "Bilinear(0, 3, 4)",
    "Flatten()", "Flatten(0, 1)", "Unflatten(1, (2, 3))", "Identity(3, a=4)", "MSELoss()", "L1Loss(reduction='sum')",
    "SmoothL1Loss(beta=0.5)", "HuberLoss('sum', 0.5)", "NLLLoss(m.ones(3))", "CrossEntropyLoss(label_smoothing=0.1)",
    "LinearCrossEntropyLoss(4, 5)", "LinearCrossEntropyLoss(4, 5, out_features=(2,), bias=True, weight=m.ones(5))",
    "KLDivLoss(log_target=True)", "BCELoss(m.ones(2))", "BCEWithLogitsLoss(pos_weight=m.ones(2))",
    "RMSNorm(3)", "RMSNorm((2, 3), 0.1, False)", "GaussianNLLLoss(full=True)", "PoissonNLLLoss(False)",
    "MarginRankingLoss(0.5)", "HingeEmbeddingLoss()", "SoftMarginLoss()", "CosineEmbeddingLoss()", "Softmax2d()",
    "TripletMarginLoss(swap=True)", "TripletMarginLoss(0)", "TripletMarginWithDistanceLoss(margin=-1)",
    "Dropout2d(0.1)", "AlphaDropout()", "FeatureAlphaDropout()", "Dropout1d()", "Dropout3d()", "CosineSimilarity(0)",
    "PairwiseDistance(1.0, 0.0, True)", "MSELoss(False)", "MSELoss(reduce=False)",
    "ParameterList([m.ones(2), 3])", "ParameterDict({'b': m.ones(2), 'a': m.ones(())})", "ParameterList()",
    "Sequential()", "ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])", "ModuleDict([('b', nn.ReLU())])",
    "Conv1d(2, 3, 3, padding='same')", "Conv2d(3, 6, (3, 2), 2, 1, 2, 3, False, 'reflect')",
    "Conv3d(2, 2, 1, padding=(1, 2, 3))", "ConvTranspose1d(2, 3, 3)",
    "ConvTranspose2d(4, 6, 3, 2, 1, 1, 2, False, 2)", "ConvTranspose3d(2, 2, 2, dtype=m.float64)",
    "Conv2d(3, 4, 3, groups=2)", "Conv2d(4, 4, 3, groups=0)", "Conv2d(4, 3, 3, groups=2)",
    "Conv2d(4, 3, 3, padding='x')", "Conv2d(4, 3, 3, padding='same', stride=2)", "Conv2d(4, 3, 3, padding_mode='x')",
    "Conv2d(4, 3, 3, padding='valid')", "ConvTranspose2d(4, 6, 3, padding_mode='reflect')", "Fold((4, 5), 3)",
    "Unfold(3, 1, 2, (3, 2))",
    "MultiheadAttention(4, 2)", "MultiheadAttention(6, 3, 0.1, False, True, True, 5, batch_first=True)",
    "MultiheadAttention(4, 2, vdim=3, dtype=m.float64)", "MultiheadAttention(4, 3)", "MultiheadAttention(4, 0)",
    "Dropout(-1)", "Hardtanh(1, 0)", "Embedding(3, 4, 3)", "Embedding(3, 4, _weight=m.ones(2, 2))", "Unflatten(1, 3)",
    "Linear(2)", "Sequential(3)", "ModuleDict(3)", "ModuleDict([3])", "ParameterList(3)", "ParameterDict([(1, 2, 3)])",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", CONSTRUCTORS)
def test_constructors(text):
    import torch

    def made(m):
        try:
            module = eval(text, {"m": m, "nn": m.nn})
        except Exception as error:
            return type(error).__name__
        attributes = {name: str(value) for name, value in vars(module).items() if not name.startswith("_")}
        shapes = [(name, tuple(value.shape), str(value.dtype)) for name, value in module.state_dict().items()]
        return repr(module), attributes, shapes

    assert made(numgrad) == made(torch)


def test_every_module_has_pytorchs_parameters():
    import torch

    anything = {"Module", "RNN", "LSTM", "GRU"}  # PyTorch's take any arguments, and refuse them themselves
    for name in set(numgrad.nn.modules.__all__) - anything:
        wanted = list(inspect.signature(getattr(torch.nn, name)).parameters)
        found = list(inspect.signature(getattr(numgrad.nn, name)).parameters)
        if name == "Hardtanh":
            wanted = wanted[:3]  # without the deprecated names of the bounds
        assert found == wanted, name


LAZY = [
    "LazyLinear(4)", "LazyConv1d(3, 3)", "LazyConv2d(3, 3, 2, bias=False)",
    "LazyConv3d(3, 2, padding_mode='circular', padding=1)", "LazyConvTranspose1d(3, 3, groups=3)",
    "LazyConvTranspose2d(4, 3, 2, 1, 1, 2)", "LazyConvTranspose3d(3, 2)",
]


@pytest.mark.parametrize("text", LAZY)
def test_lazy_modules_become_ordinary_ones(text):
    import torch

    shape = {"1": (2, 6, 7), "2": (2, 6, 5, 7), "3": (2, 6, 4, 4, 5)}.get(text.partition("d(")[0][-1], (5, 3))

    def seen(m):
        m.manual_seed(0)
        module = eval(f"nn.{text}", {"nn": m.nn})
        states = [repr(module), repr(module.state_dict())]
        out = module(m.ones(shape))
        values = {name: value.numpy() for name, value in module.state_dict().items()}
        return [*states, repr(module), out.shape, type(module).__name__], values, out.detach().numpy()

    (wanted, parameters, result), (found, own, out) = seen(torch), seen(numgrad)
    assert found == wanted
    assert own.keys() == parameters.keys()
    for name, value in parameters.items():
        np.testing.assert_array_equal(own[name], value)
    np.testing.assert_allclose(out, result, 1e-5, 1e-6)


PADDED = [
    ("Conv2d(2, 4, 3, padding=(1, 2), padding_mode='reflect')", (2, 2, 5, 6)),
    ("Conv1d(2, 4, 4, padding='same', padding_mode='replicate')", (2, 2, 7)),
    ("Conv3d(2, 2, 3, 2, 1, padding_mode='circular', groups=2)", (2, 4, 4, 3)),
    ("Conv2d(2, 4, 2, padding='valid', padding_mode='reflect')", (2, 2, 5, 6)),
]


@pytest.mark.parametrize(("text", "shape"), PADDED)
def test_padding_modes_of_convolutions(text, shape):
    x = np.random.default_rng(0).standard_normal(shape)

    def program(m, x):
        m.manual_seed(0)
        return eval(f"nn.{text}", {"nn": m.nn}).double()(x)

    assert_same(program, x, graph=False)


@pytest.mark.parametrize("size", [(12, 11), (2, 4, 12, 12), (13, 12), (13,), (10, 11)])
def test_sizes_of_transposed_convolutions(size):
    def program(m, x):
        m.manual_seed(0)
        return m.nn.ConvTranspose2d(3, 4, 3, 2).double()(x, output_size=size)

    assert_same(program, np.random.default_rng(0).standard_normal((2, 3, 5, 5)), graph=False)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("text", ["Conv2d(4, 6, 3", "ConvTranspose2d(4, 6, 3", "Linear(4, 6"])
def test_a_normalization_made_part_of_a_layer(text, bias):
    def program(m, x, mean, scale, shift):
        m.manual_seed(0)
        layer = eval(f"nn.{text}, bias={bias})", {"nn": m.nn}).double().eval()
        norm = m.nn.Module().eval()
        norm.running_mean, norm.running_var, norm.eps = mean.detach(), mean.detach() ** 2, 1e-3
        norm.weight, norm.bias, norm.num_features = scale, shift, 6
        utils = m.nn.utils
        if "Linear" in text:
            return utils.fuse_linear_bn_eval(layer, norm)(x[0, 0])
        return utils.fuse_conv_bn_eval(layer, norm, "Transpose" in text)(x)

    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape) for shape in ((2, 4, 5, 4), (6,), (6,), (6,))]
    assert_same(program, *arrays, graph=False)


# --- numbers ----------------------------------------------------------------------------


SIZES = [(2, 3), (17, 5), (4, 40), (3, 2, 3)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "fill",
    [
        lambda i, t: i.uniform_(t, -1.0, 3.0), lambda i, t: i.normal_(t, 1.0, 0.5), lambda i, t: i.trunc_normal_(t),
        lambda i, t: i.trunc_normal_(t, 1.0, 2.0, -1.0, 1.5), lambda i, t: i.trunc_normal_(t, 0.0, 1.0, 1.0, 1.5),
        lambda i, t: i.trunc_normal_(t, 5.0, 1.0, -2.0, 2.0),
        lambda i, t: i.constant_(t, 2.5), lambda i, t: i.ones_(t), lambda i, t: i.zeros_(t), lambda i, t: i.eye_(t),
        lambda i, t: i.dirac_(t), lambda i, t: i.xavier_uniform_(t), lambda i, t: i.xavier_uniform_(t, 2.0),
        lambda i, t: i.xavier_normal_(t), lambda i, t: i.kaiming_uniform_(t),
        lambda i, t: i.kaiming_uniform_(t, 5**0.5),
        lambda i, t: i.kaiming_uniform_(t, nonlinearity="relu"), lambda i, t: i.kaiming_normal_(t, mode="fan_out"),
        lambda i, t: i.kaiming_normal_(t, nonlinearity="tanh"), lambda i, t: i.orthogonal_(t),
        lambda i, t: i.orthogonal_(t, 2.0), lambda i, t: i.sparse_(t, 0.3), lambda i, t: i.sparse_(t, 0.5, 1.0),
    ],
)
def test_init(fill, dtype):
    import torch

    for size in SIZES:
        results = []
        for m in (torch, numgrad):
            m.manual_seed(11)
            weight = m.nn.Parameter(m.zeros(size, dtype=getattr(m, dtype)))
            try:
                assert fill(m.nn.init, weight) is weight
            except ValueError as error:
                results.append(str(error))
                continue
            results.append((weight.detach().numpy(), m.rand(2).numpy()))
        if isinstance(results[0], str):
            assert results[1] == results[0]
        else:
            tolerance = 1e-5 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(results[1][0], results[0][0], tolerance, tolerance)
            np.testing.assert_array_equal(results[1][1], results[0][1])  # as many random numbers were drawn


@pytest.mark.parametrize(
    "build",
    [
        lambda nn: nn.Linear(7, 5),
        lambda nn: nn.Linear(2, 1, bias=False),
        lambda nn: nn.Embedding(9, 3, padding_idx=2),
        lambda nn: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 1)),
        lambda nn: nn.MultiheadAttention(6, 2),
        lambda nn: nn.MultiheadAttention(6, 2, kdim=3, vdim=5, add_bias_kv=True),
    ],
)
def test_parameters_start_alike(build):
    import torch

    states = []
    for m in (torch, numgrad):
        m.manual_seed(5)
        states.append({name: value.numpy() for name, value in build(m.nn).state_dict().items()})
    assert list(states[1]) == list(states[0])
    for name, value in states[0].items():
        np.testing.assert_allclose(states[1][name], value, 2e-7, 1e-7)


MODULES = [
    "ReLU()", "ReLU6()", "GELU()", "GELU('tanh')", "SiLU()", "ELU(0.5)", "LeakyReLU(0.2)", "Softplus(2.0, 3.0)",
    "Sigmoid()", "Tanh()", "Hardtanh(-0.5, 1.0)", "SELU()", "CELU(0.5)", "Mish()", "LogSigmoid()", "Softsign()",
    "Tanhshrink()", "Hardshrink()", "Softshrink()", "Threshold(0.1, 2.0)", "PReLU()", "PReLU(4)", "GLU(0)",
    "Hardsigmoid()", "Hardswish()", "Softmax(1)", "Softmin(0)", "Dropout(0.3)", "LogSoftmax(-1)", "LayerNorm(4)",
    "LayerNorm((6, 4), 0.1)", "RMSNorm(4)", "Flatten(0)", "Unflatten(0, (2, 3))", "Identity()", "Linear(4, 3)",
    "Linear(4, 3, False)",
    "Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))",
]


@pytest.mark.parametrize("text", MODULES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients(text, dtype):
    def run(m, x):
        m.manual_seed(2)
        module = eval(text, {"nn": m.nn}).to(getattr(m, dtype))
        y = module(x)
        (y * y).sum().backward(retain_graph=True)
        return [y, *[parameter.grad for parameter in module.parameters()]]

    x = np.random.default_rng(0).normal(0, 2, (6, 4)).astype(dtype)
    assert_same(run, x)


LOSSES = [
    "L1Loss()", "MSELoss(reduction='sum')", "SmoothL1Loss(beta=0.5)", "HuberLoss('none', 0.5)", "BCEWithLogitsLoss()",
    "KLDivLoss(reduction='batchmean')", "CrossEntropyLoss(label_smoothing=0.1)", "PoissonNLLLoss(full=True)",
    "SoftMarginLoss()", "HingeEmbeddingLoss()", "CosineSimilarity()", "PairwiseDistance()", "PairwiseDistance(1.0)",
    "BCEWithLogitsLoss(m.tensor([1.0, 2.0, 3.0, 4.0]), pos_weight=m.tensor([4.0, 3.0, 2.0, 1.0]))",
]


@pytest.mark.parametrize("text", LOSSES)
def test_losses(text):
    def run(m, x, y):
        module = eval(text, {"m": m, "nn": m.nn})
        loss = module(x, y.detach().abs())
        (loss * loss).sum().backward(retain_graph=True)
        return loss, x.grad

    assert_same(run, *np.random.default_rng(1).normal(0, 1, (2, 5, 4)).astype("float32"))


@pytest.mark.parametrize("text", ["NLLLoss()", "NLLLoss(m.arange(4.0), ignore_index=1)", "CrossEntropyLoss(m.ones(4))"])
def test_losses_of_classes(text):
    def run(m, x):
        loss = eval(text, {"m": m, "nn": m.nn})(x, m.tensor([3, 1, 0, 2, 1]))
        loss.backward(retain_graph=True)
        return loss, x.grad

    assert_same(run, np.random.default_rng(1).normal(0, 1, (5, 4)).astype("float32"))


@pytest.mark.parametrize(
    "options", ["", ", padding_idx=2", ", scale_grad_by_freq=True", ", max_norm=0.5", ", max_norm=2.0, norm_type=1.0"]
)
def test_embedding(options):
    def run(m, x):
        m.manual_seed(4)
        embedding = eval(f"nn.Embedding(5, 3{options})", {"nn": m.nn})
        y = embedding(m.tensor([[1, 2, 2], [0, 4, 2]]))
        (y * x).sum().backward(retain_graph=True)
        return y, embedding.weight.grad, embedding.weight

    assert_same(run, np.random.default_rng(1).normal(0, 1, (2, 3, 3)).astype("float32"))


def test_training_takes_the_same_steps():
    import torch

    losses = []
    for m in (torch, numgrad):
        nn = m.nn
        m.manual_seed(0)
        model = nn.Sequential(
            nn.Linear(5, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.LeakyReLU(0.1), nn.Linear(16, 3)
        )
        x, labels = m.randn(40, 5), m.arange(40) % 3
        criterion, seen = nn.CrossEntropyLoss(label_smoothing=0.1), []
        for _ in range(30):
            loss = criterion(model(x), labels)
            model.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with m.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(0.3 * parameter.grad)
            seen.append(loss.item())
        losses.append(seen)
    assert losses[0][-1] < 0.9 * losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], 2e-4)
