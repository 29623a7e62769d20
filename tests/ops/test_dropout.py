"""Dropout: kept elements and their scale, whole channels, in place, seeds, errors."""

import warnings

import numpy as np
import pytest

import numgrad

F = numgrad.nn.functional
ALPHA = 1.7580993408473766  # minus the limit of SELU at minus infinity


def test_kept_elements_preserve_the_mean():
    numgrad.manual_seed(0)
    x = numgrad.ones(100, 100, requires_grad=True)
    out = F.dropout(x, 0.2)
    assert sorted(set(out.detach().numpy().ravel().tolist())) == [0.0, 1.25]
    assert out.mean().item() == pytest.approx(1.0, abs=0.02)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())


def test_draws_are_of_the_mersenne_twister():
    twister = np.random.MT19937()
    twister._legacy_seeding(3)
    high, low = twister.random_raw(2 * 6).reshape(6, 2).astype(object).T
    uniforms = [((int(a) << 32 | int(b)) & (2**53 - 1)) * 2.0**-53 for a, b in zip(high, low, strict=True)]
    numgrad.manual_seed(3)
    found = F.dropout(numgrad.ones(6), 0.4)
    np.testing.assert_allclose(found.numpy(), [(u < 0.6) / 0.6 for u in uniforms], 1e-7)


def test_a_transposed_input_is_dropped_in_the_order_of_its_memory():
    x = numgrad.ones(3, 4)
    numgrad.manual_seed(1)
    rows = F.dropout(x)
    numgrad.manual_seed(1)
    columns = F.dropout(x.t())
    assert columns.tolist() == rows.t().tolist()


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d"])
def test_nothing_is_dropped_and_nothing_drawn(name):
    function = getattr(F, name)
    x = numgrad.ones(2, 3, 1)
    numgrad.manual_seed(4)
    assert function(x, 0.5, training=False) is x
    assert function(x, 0.0, training=True) is x
    empty = numgrad.ones(0, 3, 1)
    assert function(empty, 0.5, training=True) is empty
    after = numgrad.rand(1).item()
    numgrad.manual_seed(4)
    assert after == numgrad.rand(1).item()


def test_everything_is_dropped():
    x = numgrad.tensor([1.0, -2.0], requires_grad=True)
    out = F.dropout(x, 1.0)
    assert out.tolist() == [0.0, -0.0]
    out.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "shape", "channels"),
    [
        ("dropout1d", (8, 5, 3), (8, 5)), ("dropout1d", (40, 3), (40,)), ("dropout2d", (8, 5, 2, 3), (8, 5)),
        ("dropout3d", (8, 5, 1, 2, 3), (8, 5)), ("dropout3d", (40, 1, 2, 3), (40,)),
        ("feature_alpha_dropout", (8, 5, 3), (8, 5)),
    ],
)
@pytest.mark.parametrize("inplace", [False, True])
def test_whole_channels_are_dropped(name, shape, channels, inplace):
    numgrad.manual_seed(5)
    x = numgrad.ones(shape)
    out = getattr(F, name)(x, 0.5, training=True, inplace=inplace)
    assert (out is x) == inplace
    values = out.numpy().reshape(*channels, -1)
    assert (values == values[..., :1]).all()
    assert len(set(values[..., 0].ravel().tolist())) == 2


def test_alpha_dropout_keeps_mean_and_variance():
    numgrad.manual_seed(6)
    x = numgrad.randn(200, 200)
    out = F.alpha_dropout(x, 0.3, training=True).numpy()
    assert out.mean() == pytest.approx(0.0, abs=0.03)
    assert out.var() == pytest.approx(1.0, abs=0.05)
    scale = ((ALPHA**2 * 0.3 + 1) * 0.7) ** -0.5
    dropped = np.isclose(out, -ALPHA * scale * 0.7, 0, 1e-5)
    assert dropped.mean() == pytest.approx(0.3, abs=0.02)
    shift = ALPHA * scale * 0.3
    np.testing.assert_allclose(out[~dropped], (x.numpy() * scale + shift)[~dropped], 1e-4, 1e-5)


def test_in_place():
    numgrad.manual_seed(7)
    expected = F.dropout(numgrad.ones(10), 0.5).tolist()
    for drop in (lambda x: F.dropout(x, 0.5, inplace=True), lambda x: numgrad.dropout_(x, 0.5, True)):
        numgrad.manual_seed(7)
        x = numgrad.ones(10)
        assert drop(x) is x
        assert x.tolist() == expected
        assert x._version == 1


def test_refusals():
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match=f"has to be between 0 and 1, but got {p}"):
            F.dropout(numgrad.ones(2), p)
        with pytest.raises(RuntimeError, match=f"has to be between 0 and 1, but got {p}"):
            numgrad.dropout(numgrad.ones(2), p, True)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        F.dropout(numgrad.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="Feature dropout requires at least 2 dimensions"):
        numgrad.feature_dropout(numgrad.ones(3), 0.5, True)
    with pytest.raises(RuntimeError, match="dropout1d: Expected 2D or 3D input, but received a 1D input"):
        F.dropout1d(numgrad.ones(3))


@pytest.mark.parametrize(("name", "shape"), [("dropout2d", (2, 3)), ("dropout2d", (2, 3, 4)), ("dropout3d", (2, 3, 4))])
def test_unusual_numbers_of_dimensions_warn(name, shape):
    with pytest.warns(UserWarning, match=rf"{name}: Received a {len(shape)}-?D input to {name}") as warned:
        getattr(F, name)(numgrad.ones(shape))
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.dropout2d(numgrad.ones(1, 2, 3, 4))
        F.dropout3d(numgrad.ones(1, 2, 3, 4))
