"""Layers, activations and losses as modules: each is its function with the arguments that it was made with."""

import pytest
from nn_models import refusal

import numgrad as torch
from numgrad import nn

functional = nn.functional

X = [[0.5, -1.5, 3.5, -3.25], [7.0, 0.25, -0.75, 0.0]]
TARGET = [[1.0, -1.0, 3.0, -3.0], [5.0, 0.0, -2.0, 0.5]]
SIGNS = [[1.0, -1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, -1.0]]
PROBABILITIES = [[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]

#: A module, its text, and its result for ``x``.
ACTIVATIONS = [
    (nn.ReLU(), "ReLU()", lambda F, x: F.relu(x)),
    (nn.ReLU(inplace=True), "ReLU(inplace=True)", lambda F, x: F.relu(x)),
    (nn.ReLU6(), "ReLU6()", lambda F, x: F.relu6(x)),
    (nn.LeakyReLU(0.2), "LeakyReLU(negative_slope=0.2)", lambda F, x: F.leaky_relu(x, 0.2)),
    (nn.LeakyReLU(inplace=True), "LeakyReLU(negative_slope=0.01, inplace=True)", lambda F, x: F.leaky_relu(x)),
    (nn.PReLU(), "PReLU(num_parameters=1)", lambda F, x: F.leaky_relu(x, 0.25)),
    (nn.Hardtanh(-2, 3.0), "Hardtanh(min_val=-2, max_val=3.0)", lambda F, x: F.hardtanh(x, -2, 3.0)),
    (nn.Hardsigmoid(), "Hardsigmoid()", lambda F, x: F.hardsigmoid(x)),
    (nn.Hardswish(), "Hardswish()", lambda F, x: F.hardswish(x)),
    (nn.Threshold(0.1, 20.0), "Threshold(threshold=0.1, value=20.0)", lambda F, x: F.threshold(x, 0.1, 20.0)),
    (nn.Hardshrink(1.0), "Hardshrink(1.0)", lambda F, x: F.hardshrink(x, 1.0)),
    (nn.Softshrink(1.0), "Softshrink(1.0)", lambda F, x: F.softshrink(x, 1.0)),
    (nn.Sigmoid(), "Sigmoid()", lambda F, x: F.sigmoid(x)),
    (nn.LogSigmoid(), "LogSigmoid()", lambda F, x: F.logsigmoid(x)),
    (nn.Tanh(), "Tanh()", lambda F, x: F.tanh(x)),
    (nn.Tanhshrink(), "Tanhshrink()", lambda F, x: F.tanhshrink(x)),
    (nn.Softsign(), "Softsign()", lambda F, x: F.softsign(x)),
    (nn.Softplus(2.0, 5.0), "Softplus(beta=2.0, threshold=5.0)", lambda F, x: F.softplus(x, 2.0, 5.0)),
    (nn.GELU(), "GELU(approximate='none')", lambda F, x: F.gelu(x)),
    (nn.GELU("tanh"), "GELU(approximate='tanh')", lambda F, x: F.gelu(x, approximate="tanh")),
    (nn.SiLU(), "SiLU()", lambda F, x: F.silu(x)),
    (nn.Mish(), "Mish()", lambda F, x: F.mish(x)),
    (nn.ELU(0.5), "ELU(alpha=0.5)", lambda F, x: F.elu(x, 0.5)),
    (nn.CELU(0.5), "CELU(alpha=0.5)", lambda F, x: F.celu(x, 0.5)),
    (nn.SELU(), "SELU()", lambda F, x: F.selu(x)),
    (nn.GLU(), "GLU(dim=-1)", lambda F, x: F.glu(x)),
    (nn.Softmax(0), "Softmax(dim=0)", lambda F, x: F.softmax(x, 0)),
    (nn.Softmin(1), "Softmin(dim=1)", lambda F, x: F.softmin(x, 1)),
    (nn.LogSoftmax(dim=-1), "LogSoftmax(dim=-1)", lambda F, x: F.log_softmax(x, -1)),
    (nn.Dropout(0.0), "Dropout(p=0.0, inplace=False)", lambda F, x: x),
    (nn.Dropout(1.0), "Dropout(p=1.0, inplace=False)", lambda F, x: x * 0),
    (nn.LayerNorm(4), "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)",
     lambda F, x: F.layer_norm(x, (4,))),
    (nn.LayerNorm([2, 4], 0.1, elementwise_affine=False),
     "LayerNorm((2, 4), eps=0.1, elementwise_affine=False, bias=False)",
     lambda F, x: F.layer_norm(x, (2, 4), eps=0.1)),
    (nn.RMSNorm(4), "RMSNorm((4,), eps=None, elementwise_affine=True)", lambda F, x: F.rms_norm(x, (4,))),
    (nn.RMSNorm((2, 4), 0.5, elementwise_affine=False), "RMSNorm((2, 4), eps=0.5, elementwise_affine=False)",
     lambda F, x: F.rms_norm(x, (2, 4), eps=0.5)),
    (nn.Flatten(), "Flatten(start_dim=1, end_dim=-1)", lambda F, x: x),
    (nn.Flatten(0), "Flatten(start_dim=0, end_dim=-1)", lambda F, x: x.reshape(8)),
    (nn.Unflatten(1, (2, -1)), "Unflatten(dim=1, unflattened_size=(2, -1))", lambda F, x: x.reshape(2, 2, 2)),
    (nn.Identity(3, nothing=None), "Identity()", lambda F, x: x),
]


@pytest.mark.parametrize(("module", "text", "expected"), ACTIVATIONS, ids=[text for _, text, _ in ACTIVATIONS])
def test_of_one_tensor(module, text, expected):
    assert repr(module) == text
    assert module(torch.tensor(X)).tolist() == expected(functional, torch.tensor(X)).tolist()


def test_in_place():
    x = torch.tensor(X)
    assert nn.ReLU(inplace=True)(x) is x
    assert x.tolist() == [[max(value, 0.0) for value in row] for row in X]


LOSSES = [
    (nn.L1Loss, {}, "l1_loss", TARGET),
    (nn.MSELoss, {}, "mse_loss", TARGET),
    (nn.SmoothL1Loss, {"beta": 0.5}, "smooth_l1_loss", TARGET),
    (nn.HuberLoss, {"delta": 0.5}, "huber_loss", TARGET),
    (nn.KLDivLoss, {"log_target": True}, "kl_div", TARGET),
    (nn.PoissonNLLLoss, {"log_input": False, "eps": 4.0}, "poisson_nll_loss", TARGET),
    (nn.SoftMarginLoss, {}, "soft_margin_loss", SIGNS),
    (nn.HingeEmbeddingLoss, {"margin": 2.0}, "hinge_embedding_loss", SIGNS),
    (nn.BCEWithLogitsLoss, {}, "binary_cross_entropy_with_logits", PROBABILITIES),
    (nn.CrossEntropyLoss, {"label_smoothing": 0.1}, "cross_entropy", PROBABILITIES),
]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("kind", "options", "function", "target"), LOSSES, ids=[loss[0].__name__ for loss in LOSSES])
def test_losses(kind, options, function, target, reduction):
    x, target = torch.tensor(X), torch.tensor(target)
    loss = kind(reduction=reduction, **options)
    assert repr(loss) == f"{kind.__name__}()"
    expected = getattr(functional, function)(x, target, reduction=reduction, **options)
    assert loss(x, target).tolist() == expected.tolist()


def test_losses_of_classes():
    x, classes, weight = torch.tensor(X), torch.tensor([2, 0]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    loss = nn.NLLLoss(weight, ignore_index=0)
    assert loss(x, classes).item() == functional.nll_loss(x, classes, weight, ignore_index=0).item() == -3.5
    assert list(loss.state_dict()) == ["weight"]
    loss = nn.CrossEntropyLoss(weight, reduction="none")
    assert loss(x, classes).tolist() == functional.cross_entropy(x, classes, weight, reduction="none").tolist()
    loss = nn.BCEWithLogitsLoss(pos_weight=weight)
    target = torch.tensor(PROBABILITIES)
    expected = functional.binary_cross_entropy_with_logits(x, target, pos_weight=weight)
    assert loss(x, target).item() == expected.item()
    loss = nn.BCELoss(weight)
    assert loss(target, target).item() == functional.binary_cross_entropy(target, target, weight).item()


@pytest.mark.parametrize(
    ("kind", "options", "function", "third"),
    [
        (nn.GaussianNLLLoss, {"full": True, "eps": 0.5}, "gaussian_nll_loss", PROBABILITIES),
        (nn.MarginRankingLoss, {"margin": 0.5}, "margin_ranking_loss", SIGNS),
        (nn.CosineEmbeddingLoss, {"margin": 0.5}, "cosine_embedding_loss", [1.0, -1.0]),
        (nn.TripletMarginLoss, {"margin": 2.0, "p": 1.0, "swap": True}, "triplet_margin_loss", SIGNS),
        (nn.TripletMarginWithDistanceLoss, {"distance_function": functional.cosine_similarity, "swap": True},
         "triplet_margin_with_distance_loss", SIGNS),
    ],
)
def test_losses_of_three(kind, options, function, third):
    inputs = torch.tensor(X), torch.tensor(TARGET), torch.tensor(third)
    for reduction in ("mean", "none"):
        expected = getattr(functional, function)(*inputs, reduction=reduction, **options)
        assert kind(reduction=reduction, **options)(*inputs).tolist() == expected.tolist()
    assert refusal(lambda: nn.TripletMarginLoss(margin=0)) == (
        "ValueError: TripletMarginLoss: expected margin to be greater than 0, got 0 instead"
    )


def test_losses_in_the_older_spelling():
    message = "size_average and reduce args will be deprecated, please use reduction='{}' instead."
    for given, reduction in (({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"reduce": True}, "mean")):
        with pytest.warns(UserWarning, match=message.format(reduction)):
            assert nn.MSELoss(**given).reduction == reduction


def test_distances():
    first, second = torch.tensor(X), torch.tensor(TARGET)
    assert nn.CosineSimilarity(dim=0)(first, second).tolist() == functional.cosine_similarity(first, second, 0).tolist()
    distance = nn.PairwiseDistance(1.0, keepdim=True)
    expected = functional.pairwise_distance(first, second, 1.0, keepdim=True)
    assert distance(first, second).tolist() == expected.tolist()
    assert distance(first, second).shape == (2, 1)


def test_linear():
    linear = nn.Linear(2, 3)
    assert repr(linear) == "Linear(in_features=2, out_features=3, bias=True)"
    assert (linear.weight.shape, linear.bias.shape) == ((3, 2), (3,))
    linear.load_state_dict({"weight": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "bias": torch.ones(3)})
    x = torch.tensor([[[1.0, 10.0]]], requires_grad=True)
    y = linear(x)
    assert y.tolist() == [[[22.0, 44.0, 66.0]]]
    y.sum().backward()
    assert linear.weight.grad.tolist() == [[1.0, 10.0]] * 3
    assert linear.bias.grad.tolist() == [1.0] * 3
    assert x.grad.tolist() == [[[9.0, 12.0]]]
    without = nn.Linear(2, 3, bias=False, dtype=torch.float64)
    assert repr(without) == "Linear(in_features=2, out_features=3, bias=False)"
    assert without.bias is None
    assert without(torch.ones(2, dtype=torch.float64)).dtype == torch.float64


def test_embedding():
    table = torch.arange(6.0).reshape(3, 2)
    embedding = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=-2)
    assert repr(embedding) == "Embedding(3, 2, padding_idx=1)"
    y = embedding(torch.tensor([[2, 1], [2, 0]]))
    assert y.tolist() == [[[4.0, 5.0], [2.0, 3.0]], [[4.0, 5.0], [0.0, 1.0]]]
    y.sum().backward()
    assert embedding.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    table.zero_()
    assert embedding(torch.tensor(2)).tolist() == [0.0, 0.0]
    assert not nn.Embedding.from_pretrained(table).weight.requires_grad


def test_layer_norm_starts_as_the_identity_of_normal_inputs():
    norm = nn.LayerNorm((2, 2))
    assert norm.weight.tolist() == [[1.0, 1.0]] * 2
    assert norm.bias.tolist() == [[0.0, 0.0]] * 2
    assert list(nn.LayerNorm(2, bias=False).state_dict()) == ["weight"]


def test_dropout_is_for_training():
    torch.manual_seed(0)
    dropout = nn.Dropout(0.25)
    x = torch.ones(1000)
    values = dropout(x).tolist()
    assert sorted(set(values)) == pytest.approx([0.0, 4 / 3])
    assert 200 < values.count(0.0) < 300
    assert dropout.eval()(x).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("kind", "shape"),
    [(nn.Dropout1d, (8, 8, 3)), (nn.Dropout2d, (8, 8, 3, 2)), (nn.Dropout3d, (8, 8, 3, 2, 2)),
     (nn.FeatureAlphaDropout, (8, 8, 3))],
)
def test_channels_are_dropped_as_a_whole(kind, shape):
    torch.manual_seed(0)
    dropout = kind(0.5)
    values = dropout(torch.ones(shape)).reshape(64, -1)
    assert (values == values[:, :1]).numpy().all()
    assert 10 < (values[:, 0] == values.numpy().min()).sum().item() < 54
    assert dropout.eval()(torch.ones(shape)).tolist() == torch.ones(shape).tolist()


def test_alpha_dropout_keeps_mean_and_variance():
    torch.manual_seed(0)
    values = nn.AlphaDropout(0.3)(torch.randn(20_000)).numpy()
    assert values.mean() == pytest.approx(0.0, abs=0.03)
    assert values.std() == pytest.approx(1.0, abs=0.03)


def test_softmax_over_channels():
    x = torch.tensor(X).reshape(2, 2, 2)
    assert nn.Softmax2d()(x).tolist() == functional.softmax(x, 0).tolist()
    assert refusal(lambda: nn.Softmax2d()(x[0])) == (
        "ValueError: Softmax2d: expected input to be 3D or 4D, got 2D instead"
    )


def test_a_softmax_without_dim_warns_where_it_is_called():
    for module in (nn.Softmax(), nn.LogSoftmax(), nn.Softmin()):
        with pytest.warns(UserWarning, match="Implicit dimension choice") as caught:
            module(torch.tensor(X))
        assert caught[0].filename == __file__


def test_embedding_of_limited_norms():
    embedding = nn.Embedding(2, 2, max_norm=1.0, _weight=torch.tensor([[3.0, 4.0], [3.0, 4.0]]))
    assert embedding(torch.tensor([0])).tolist() == [pytest.approx([0.6, 0.8])]
    assert embedding.weight[1].tolist() == [3.0, 4.0]
    assert repr(embedding) == "Embedding(2, 2, max_norm=1.0)"


def test_prelu_learns_its_slopes():
    prelu = nn.PReLU(2, init=0.5)
    y = prelu(torch.tensor([[-1.0, -2.0], [3.0, -4.0]]))
    assert y.tolist() == [[-0.5, -1.0], [3.0, -2.0]]
    y.sum().backward()
    assert prelu.weight.grad.tolist() == [-1.0, -6.0]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: nn.Dropout(1.5), "ValueError: dropout probability has to be between 0 and 1, but got 1.5"),
        (lambda: nn.Hardtanh(1, 1), "AssertionError: max_val (1) must be larger than min_val (1)"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), "AssertionError: Padding_idx must be within num_embeddings"),
        (lambda: nn.Embedding.from_pretrained(torch.ones(3)),
         "AssertionError: Embeddings parameter is expected to be 2-dimensional"),
        (lambda: nn.Unflatten(1, (2, "a")),
         "TypeError: unflattened_size must be tuple of ints, but found element of type str at pos 1"),
    ],
)
def test_refused(action, message):
    assert refusal(action) == message


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: nn.CrossMapLRN2d, "PyTorch has 'CrossMapLRN2d', but numgrad.nn does not have it yet"),
        (lambda: nn.Lineer, "module 'numgrad.nn' has no attribute 'Lineer'"),
    ],
)
def test_layers_that_only_pytorch_has(action, message):
    assert refusal(action).startswith(f"AttributeError: {message}")
