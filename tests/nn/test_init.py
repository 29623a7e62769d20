"""nn.init: PyTorch's numbers for the same seed, their distribution, and errors.

The numbers were printed by PyTorch 2.13.
"""

import math

import numpy as np
import pytest
from nn_models import refusal

import numgrad as torch
from numgrad import nn
from numgrad.nn import init

empty = torch.empty

NUMBERS = {
    "uniform": (lambda: init.uniform_(empty(2, 2), -1.0, 3.0), [1.13969, -0.204787, 1.636847, 1.627561]),
    "normal": (lambda: init.normal_(empty(2, 2), 1.0, 0.5), [0.926602, 1.393071, 1.473411, 0.442828]),
    "xavier uniform": (
        lambda: init.xavier_uniform_(empty(2, 3), 2.0),
        [0.153023, -1.319778, 0.697631, 0.687459, -1.17098, -0.328364],
    ),
    "xavier normal": (
        lambda: init.xavier_normal_(empty(2, 3)), [-0.092841, 0.497199, 0.598823, -0.704773, 1.06935, -0.565939]
    ),
    "kaiming uniform": (
        lambda: init.kaiming_uniform_(empty(2, 3), nonlinearity="relu"),
        [0.098776, -0.851913, 0.450319, 0.443753, -0.755864, -0.211958],
    ),
    "kaiming normal, fan_out": (
        lambda: init.kaiming_normal_(empty(2, 3), mode="fan_out"),
        [-0.146795, 0.786141, 0.946822, -1.114344, 1.69079, -0.894828],
    ),
    "kaiming normal, with a kernel": (
        lambda: init.kaiming_normal_(empty(1, 2, 2)), [-0.1038, 0.555886, 0.669504, -0.78796]
    ),
    "orthogonal rows": (
        lambda: init.orthogonal_(empty(2, 3)), [-0.118443, 0.634307, 0.763954, -0.489211, 0.632237, -0.60079]
    ),
    "orthogonal columns": (
        lambda: init.orthogonal_(empty(3, 2), gain=2.0),
        [-0.151071, 1.570595, 0.974399, -1.017246, 1.740036, 0.706005],
    ),
    "truncated normal": (
        lambda: init.trunc_normal_(empty(6), 0.0, 1.0, -0.7, 0.7),
        [-0.146795, 0.240546, 0.138173, -0.602848, 0.317678, 0.132807],
    ),
    "narrowly truncated normal": (
        lambda: init.trunc_normal_(empty(4), 0.0, 1.0, 0.5, 0.7), [0.606984, 0.539761, 0.631842, 0.631378]
    ),
    "sparse": (
        lambda: init.sparse_(empty(4, 2), 0.5, 1.0), [0.0, 0.786141, 0.946822, 0.0, 0.0, 0.0, -0.355625, 1.232386]
    ),
}


@pytest.mark.parametrize(("draw", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers(draw, expected):
    torch.manual_seed(7)
    assert draw().reshape(-1).tolist() == pytest.approx(expected, abs=2e-6)


def test_layers_draw_in_order():
    torch.manual_seed(0)
    linear = nn.Linear(2, 3)
    assert linear.weight.reshape(-1).tolist() == pytest.approx(
        [-0.005294, 0.379323, -0.581981, -0.520387, -0.272345, 0.189616], abs=2e-6
    )
    assert linear.bias.tolist() == pytest.approx([-0.01401, 0.560658, -0.062752], abs=2e-6)
    torch.manual_seed(0)
    assert nn.Embedding(3, 2, padding_idx=1).weight.tolist() == [
        pytest.approx([1.540996, -0.293429], abs=2e-6), [0.0, 0.0], pytest.approx([-1.084522, -1.398595], abs=2e-6),
    ]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    assert model[2].bias.tolist() == pytest.approx([0.194091, -0.044625, 0.013499], abs=2e-6)


def test_a_generator_of_ones_own():
    generator = torch.Generator().manual_seed(7)
    torch.manual_seed(1)
    drawn = init.xavier_normal_(empty(2, 3), generator=generator).reshape(-1).tolist()
    assert drawn == pytest.approx(NUMBERS["xavier normal"][1], abs=2e-6)
    unused = init.uniform_(empty(3)).tolist()
    torch.manual_seed(1)
    assert init.uniform_(empty(3)).tolist() == unused


def test_patterns():
    assert init.constant_(empty(2), 3).tolist() == [3.0, 3.0]
    assert init.ones_(empty(2)).tolist() == [1.0, 1.0]
    assert init.zeros_(empty(2)).tolist() == [0.0, 0.0]
    assert init.eye_(empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    identity = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    nothing = [[0.0] * 3] * 2
    assert init.dirac_(empty(4, 2, 3)).tolist() == [*identity, nothing, nothing]
    assert init.dirac_(empty(4, 2, 3), groups=2).tolist() == [*identity, *identity]
    assert init.dirac_(empty(1, 1, 3, 3)).tolist() == [[[[0.0] * 3, [0.0, 1.0, 0.0], [0.0] * 3]]]


def test_parameters_are_filled_without_recording():
    weight = nn.Parameter(empty(3, 4))
    for fill in (
        init.uniform_, init.normal_, init.trunc_normal_, init.ones_, init.zeros_, init.eye_, init.xavier_uniform_,
        init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_, init.orthogonal_,
    ):
        assert fill(weight) is weight
        assert weight.is_leaf
        assert weight.requires_grad
    assert init.constant_(weight, 1.0) is init.sparse_(weight, 0.25) is weight
    assert torch.is_grad_enabled()


def test_gains():
    for name in ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "sigmoid"):
        assert init.calculate_gain(name) == 1
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("selu") == 0.75
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / 1.0001)
    assert init.calculate_gain("leaky_relu", 2) == math.sqrt(2 / 5)


def test_distributions():
    torch.manual_seed(0)
    weight = empty(200, 100)
    values = init.trunc_normal_(weight, 1.0, 2.0, -1.0, 2.0).numpy()
    assert values.min() >= -1.0
    assert values.max() <= 2.0
    # For a normal number z within (-1, 0.5), the mean is (pdf(-1) - pdf(0.5)) / (cdf(0.5) - cdf(-1)) = -0.2068.
    assert values.mean() == pytest.approx(1.0 - 2.0 * 0.2068, abs=0.02)
    assert init.kaiming_normal_(weight).numpy().std() == pytest.approx(math.sqrt(2 / 100), rel=0.03)
    assert init.xavier_uniform_(weight).numpy().std() == pytest.approx(math.sqrt(2 / 300), rel=0.03)
    columns = init.orthogonal_(empty(4, 5, 2), gain=3).numpy().reshape(4, 10)
    np.testing.assert_allclose(columns @ columns.T, 9 * np.eye(4), atol=1e-5)
    assert ((init.sparse_(empty(20, 10), 0.29) == 0).numpy().sum(0) == 6).all()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda t: init.xavier_uniform_(t[0]),
         "ValueError: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
        (lambda t: init.kaiming_normal_(t, mode="fan"),
         "ValueError: Mode fan not supported, please use one of ['fan_in', 'fan_out']"),
        (lambda t: init.kaiming_normal_(t, nonlinearity="no"), "ValueError: Unsupported nonlinearity no"),
        (lambda t: init.calculate_gain("leaky_relu", "a"), "ValueError: negative_slope a not a valid number"),
        (lambda t: init.calculate_gain("leaky_relu", True), "ValueError: negative_slope True not a valid number"),
        (lambda t: init.eye_(t[0]), "ValueError: Only tensors with 2 dimensions are supported"),
        (lambda t: init.sparse_(t[0], 0.1), "ValueError: Only tensors with 2 dimensions are supported"),
        (lambda t: init.dirac_(t), "ValueError: Only tensors with 3, 4, or 5 dimensions are supported"),
        (lambda t: init.dirac_(empty(3, 1, 1), 2), "ValueError: dim 0 must be divisible by groups"),
        (lambda t: init.orthogonal_(t[0]), "ValueError: Only tensors with 2 or more dimensions are supported"),
    ],
)
def test_refused(action, message):
    tensor = torch.ones(2, 3)
    assert refusal(lambda: action(tensor)) == message
    assert tensor.tolist() == [[1.0] * 3] * 2


def test_nothing_to_fill():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(empty(0, 3))
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(empty(2), 5.0, 1.0)
    assert init.orthogonal_(empty(0, 3)).shape == (0, 3)


def test_names_without_an_underscore_warn():
    with pytest.warns(FutureWarning, match=r"deprecated in favor of `nn.init.constant_`"):
        assert init.constant(torch.empty(2), 3).tolist() == [3, 3]
    with pytest.warns(FutureWarning, match="eye_"):
        assert init.eye(torch.empty(2, 2)).tolist() == [[1, 0], [0, 1]]
