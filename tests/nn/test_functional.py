"""nn.functional: values by hand, edges, warnings of deprecated arguments, errors, derivatives of composed functions."""

import inspect
import math

import numba
import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad import nn

F = nn.functional
NAN, INF = math.nan, math.inf


def rows(*values, requires_grad=False):
    return numgrad.tensor(values, dtype=numgrad.float64, requires_grad=requires_grad)


def randoms(*shape, seed=0, requires_grad=True):
    values = np.random.default_rng(seed).normal(size=shape)
    return numgrad.tensor(values, requires_grad=requires_grad)


def test_every_name_is_a_documented_function():
    for name in F.__all__:
        function = getattr(F, name)
        assert callable(function), name
        assert inspect.getdoc(function), name


# -- how losses are reduced ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size_average", "reduce", "reduction"),
    [
        (True, None, "mean"), (False, None, "sum"), (None, False, "none"), (None, True, "mean"), (False, False, "none"),
        (False, True, "sum"), (True, False, "none"),
    ],
)
def test_the_older_arguments_win_with_a_warning(size_average, reduce, reduction):
    x, y = rows(1.0, 4.0), rows(0.0, 1.0)
    with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead") as warned:
        found = F.mse_loss(x, y, size_average, reduce, "sum")
    assert warned[0].filename == __file__
    assert found.tolist() == F.mse_loss(x, y, reduction=reduction).tolist()


LOSSES = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss", "poisson_nll_loss",
    "hinge_embedding_loss", "binary_cross_entropy_with_logits",
)


@pytest.mark.parametrize("name", LOSSES)
def test_the_reductions_agree(name):
    x, y = randoms(3, 4), numgrad.sigmoid(randoms(3, 4, seed=1, requires_grad=False))
    loss = getattr(F, name)
    each = loss(x, y, reduction="none")
    assert each.shape == (3, 4)
    np.testing.assert_allclose(loss(x, y, reduction="sum").item(), each.sum().item(), 1e-14)
    if name != "kl_div":  # where the mean warns
        np.testing.assert_allclose(loss(x, y).item(), each.mean().item(), 1e-14)
    with pytest.raises(ValueError, match="avg is not a valid value for reduction"):
        loss(x, y, reduction="avg")


@pytest.mark.parametrize(
    ("loss", "expected"), [(F.mse_loss, 2.0), (F.l1_loss, 1.0), (F.smooth_l1_loss, 0.75), (F.huber_loss, 0.75)]
)
def test_a_target_of_another_shape_warns_and_broadcasts(loss, expected):
    message = r"target size \(torch.Size\(\[2\]\)\) that is different to the input size \(torch.Size\(\[2, 2\]\)\)"
    with pytest.warns(UserWarning, match=message) as warned:
        assert loss(rows([1.0, 2.0], [3.0, 4.0]), rows(1.0, 2.0)).item() == expected
    assert warned[0].filename == __file__


# -- regression ---------------------------------------------------------------------------------------------------

DISTANCES = [0.0, 0.5, -0.5, 1.0, 2.0, -2.0, INF, NAN]


@pytest.mark.parametrize(
    ("loss", "values", "slopes"),
    [
        (F.mse_loss, [0, 0.25, 0.25, 1, 4, 4, INF, NAN], [0, 1, -1, 2, 4, -4, INF, NAN]),
        (F.l1_loss, [0, 0.5, 0.5, 1, 2, 2, INF, NAN], [0, 1, -1, 1, 1, -1, 1, 0]),
        (F.smooth_l1_loss, [0, 0.125, 0.125, 0.5, 1.5, 1.5, INF, NAN], [0, 0.5, -0.5, 1, 1, -1, 1, NAN]),
        (F.huber_loss, [0, 0.125, 0.125, 0.5, 1.5, 1.5, INF, NAN], [0, 0.5, -0.5, 1, 1, -1, 1, NAN]),
    ],
)
def test_losses_of_a_distance(loss, values, slopes):
    x, y = rows(*DISTANCES, requires_grad=True), numgrad.zeros(8, dtype=numgrad.float64, requires_grad=True)
    losses = loss(x, y, reduction="none")
    np.testing.assert_array_equal(losses.detach().numpy(), values)
    losses.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), slopes)
    np.testing.assert_array_equal(y.grad.numpy(), -np.array(slopes))


def test_the_width_of_the_square():
    x, y = rows(1.0), rows(0.0)
    assert F.smooth_l1_loss(x, y, beta=2.0).item() == 0.25
    assert F.smooth_l1_loss(x, y, beta=0.5).item() == 0.75
    assert F.smooth_l1_loss(x, y, beta=0).item() == 1.0
    assert F.huber_loss(x, y, delta=2.0).item() == 0.5
    assert F.huber_loss(x, y, delta=0.5).item() == 0.375
    with pytest.raises(RuntimeError, match="negative values for beta"):
        F.smooth_l1_loss(x, y, beta=-1)
    with pytest.raises(RuntimeError, match="non-positive values for delta"):
        F.huber_loss(x, y, delta=0.0)


@pytest.mark.parametrize(("loss", "mean"), [(F.mse_loss, 3.0), (F.l1_loss, 1.5), (F.huber_loss, 2.0)])
def test_weights_of_elements(loss, mean):
    weight = rows(1.0, 3.0)
    each = loss(rows(0.0, 2.0), rows(0.0, 0.0), reduction="none", weight=weight)
    assert each.tolist() == [0.0, 3 * loss(rows(2.0), rows(0.0)).item()]
    total = each.sum().item()
    assert loss(rows(0.0, 2.0), rows(0.0, 0.0), reduction="sum", weight=weight).item() == total
    divisor = 2 if loss is F.huber_loss else 4  # PyTorch divides only that one by the number of elements
    assert loss(rows(0.0, 2.0), rows(0.0, 0.0), weight=weight).item() == total / divisor
    with pytest.raises(ValueError, match="Weights and input must have the same size"):
        loss(rows(0.0, 2.0), rows(0.0, 0.0), weight=rows(1.0))


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"])
def test_losses_of_integers_are_refused(name):
    x = numgrad.tensor([1, 2])
    with pytest.raises((NotImplementedError, RuntimeError), match="Long"):
        getattr(F, name)(x, x)


@pytest.mark.parametrize("shape", [(2, 3), (2,), (2, 1)])
def test_gaussian_nll(shape):
    x, y = randoms(2, 3), randoms(2, 3, seed=1)
    var = (randoms(*shape, seed=2, requires_grad=False) ** 2 + 0.1).requires_grad_()
    full = var.detach().numpy() if len(shape) == 2 else var.detach().numpy()[:, None]
    expected = 0.5 * (np.log(full) + (x.detach().numpy() - y.detach().numpy()) ** 2 / full)
    np.testing.assert_allclose(F.gaussian_nll_loss(x, y, var, reduction="none").detach().numpy(), expected, 1e-13)
    constant = F.gaussian_nll_loss(x, y, var, full=True) - F.gaussian_nll_loss(x, y, var)
    np.testing.assert_allclose(constant.item(), 0.5 * math.log(2 * math.pi), 1e-12)
    check_gradients(F.gaussian_nll_loss, x, y, var)


def test_variances_of_gaussian_nll():
    x = rows([1.0, 2.0])
    assert F.gaussian_nll_loss(x, x, 1.0).item() == 0.0
    assert F.gaussian_nll_loss(x, x, 0.0, eps=1.0).item() == 0.0
    for var in (-1.0, rows([1.0, -1.0])):
        with pytest.raises(ValueError, match="var has negative entry/entries"):
            F.gaussian_nll_loss(x, x, var)
    for var in (rows(1.0, 1.0, 1.0), rows([1.0, 2.0, 3.0])):
        with pytest.raises(ValueError, match="var is of incorrect size"):
            F.gaussian_nll_loss(x, x, var)


def test_poisson_nll():
    rate, count = rows(0.5, 2.0), rows(1.0, 3.0)
    expected = rate.numpy() - count.numpy() * np.log(rate.numpy() + 1e-8)
    found = F.poisson_nll_loss(rate, count, log_input=False, reduction="none")
    np.testing.assert_allclose(found.numpy(), expected, 1e-14)
    np.testing.assert_allclose(F.poisson_nll_loss(rate.log(), count, reduction="none").numpy(), expected, 1e-6)
    stirling = F.poisson_nll_loss(rate, count, full=True, reduction="none") - F.poisson_nll_loss(
        rate, count, reduction="none"
    )
    expected = 3 * math.log(3) - 3 + 0.5 * math.log(6 * math.pi)
    np.testing.assert_allclose(stirling.numpy(), [0, expected], 1e-13)


# -- classification -----------------------------------------------------------------------------------------------


def test_cross_entropy_of_no_classes():
    target = numgrad.tensor([-100, -100])
    for reduction, expected in (("mean", NAN), ("sum", NAN), ("none", [NAN, NAN])):
        found = F.cross_entropy(numgrad.zeros(2, 0), target, label_smoothing=0.1, reduction=reduction)
        np.testing.assert_array_equal(found.numpy(), expected)
    assert F.cross_entropy(numgrad.zeros(2, 0), numgrad.zeros(2, 0), label_smoothing=0.1).isnan()


def test_label_smoothing_is_a_mixture_with_all_classes():
    x, target, weight = randoms(4, 3), numgrad.tensor([0, 2, 1, 2]), rows(1.0, 2.0, 0.5)
    smooth = 0.9 * F.one_hot(target, 3) + 0.1 / 3
    for reduction in ("none", "sum"):
        by_index = F.cross_entropy(x, target, weight, reduction=reduction, label_smoothing=0.1)
        by_share = F.cross_entropy(x, smooth.double(), weight, reduction=reduction)
        np.testing.assert_allclose(by_index.detach().numpy(), by_share.detach().numpy(), 1e-6)
    exact = 0.9 * F.one_hot(target, 3).double() + 0.1 / 3
    mean = F.cross_entropy(x, exact, weight, reduction="sum") / weight[target].sum()
    np.testing.assert_allclose(F.cross_entropy(x, target, weight, label_smoothing=0.1).item(), mean.item(), 1e-12)
    check_gradients(lambda x: F.cross_entropy(x, target, weight, label_smoothing=0.1, ignore_index=2), x)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 3, 4), (2, 3, 2, 2), (2, 3, 2, 1, 2)])
def test_nll_loss_of_any_number_of_dimensions(shape, reduction):
    x, weight = randoms(*shape), rows(0.5, 2.0, 1.0)
    classes = min(1, len(shape) - 1)
    target = np.random.default_rng(3).integers(0, 3, (*shape[:classes], *shape[classes + 1 :]))
    picked = np.take_along_axis(x.detach().numpy(), np.expand_dims(target, classes), classes).squeeze(classes)
    counted = weight.numpy()[target] * (target != 1)
    losses = -picked * counted
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / counted.sum()}[reduction]

    def loss(x):
        return F.nll_loss(x, numgrad.tensor(target), weight, ignore_index=1, reduction=reduction)

    if reduction != "mean" or counted.sum():
        np.testing.assert_allclose(loss(x).detach().numpy(), expected, 1e-13)
        check_gradients(loss, x)
    found = loss(x).grad_fn
    while found.next_functions[0][0] is not None and not found.name().startswith("NllLoss"):
        found = found.next_functions[0][0]
    assert found.name() == ("NllLossBackward0" if len(shape) < 3 else "NllLoss2DBackward0")
    assert len(found.next_functions) == 1  # neither targets nor weights have an edge


def test_targets_may_be_bytes():
    x = randoms(2, 3)
    target = numgrad.tensor([0, 2])
    assert F.nll_loss(x, target.to(numgrad.uint8)).item() == F.nll_loss(x, target).item()


@pytest.mark.parametrize(
    ("input", "target", "error", "message"),
    [
        (rows(1.0, 2.0), numgrad.tensor([0, 1]), ValueError, "1D target must have size 1, but got target size: .2."),
        (rows([1.0, 2.0]), numgrad.tensor(0), ValueError, r"batch_size \(1\) to match target batch_size \(0\)"),
        (rows([1.0, 2.0]), numgrad.tensor([0], dtype=numgrad.int32), RuntimeError, "Long or Byte, but got Int"),
        (numgrad.tensor(1.0), numgrad.tensor(0), ValueError, "1 or more dimensions"),
        (numgrad.tensor([[1, 2]]), numgrad.tensor([0]), NotImplementedError, "not implemented for 'Long'"),
        (rows([1.0, 2.0]), numgrad.tensor([2]), IndexError, "Target 2 is out of bounds"),
    ],
)
def test_refusals_of_nll_loss(input, target, error, message):
    with pytest.raises(error, match=message):
        F.nll_loss(input, target)


def test_weights_of_classes_have_no_gradient():
    weight = rows(1.0, 1.0, requires_grad=True)
    message = "'nll_loss_forward' is not differentiable with respect to argument 'weight'"
    with pytest.raises(RuntimeError, match=message):
        F.nll_loss(randoms(1, 2), numgrad.tensor([0]), weight)
    with numgrad.no_grad():
        F.nll_loss(randoms(1, 2), numgrad.tensor([0]), weight)


def test_binary_cross_entropy_at_the_ends():
    x, t = rows(0.0, 0.0, 1.0, 1.0, requires_grad=True), rows(0.0, 1.0, 0.0, 1.0)
    losses = F.binary_cross_entropy(x, t, reduction="none")
    assert losses.tolist() == [0.0, 100.0, 100.0, 0.0]
    losses.sum().backward()
    assert x.grad.tolist() == [0.0, -1e12, 1e12, 0.0]


def test_binary_cross_entropy():
    x = numgrad.sigmoid(randoms(3, 4)).detach().requires_grad_()
    t = numgrad.sigmoid(randoms(3, 4, seed=1)).detach().requires_grad_()
    weight = rows(0.5, 1.0, 2.0, 3.0)
    p, q = x.detach().numpy(), t.detach().numpy()
    expected = -(weight.numpy() * (q * np.log(p) + (1 - q) * np.log(1 - p))).mean()
    np.testing.assert_allclose(F.binary_cross_entropy(x, t, weight).item(), expected, 1e-13)
    check_gradients(lambda x, t: F.binary_cross_entropy(x, t, weight), x, t)


@pytest.mark.parametrize(
    ("input", "target", "error", "message"),
    [
        (rows(0.5), rows([0.5]), ValueError, r"target size \(torch.Size\(\[1, 1\]\)\) that is different to the input"),
        (rows(1.5), rows(0.5), RuntimeError, "all elements of input should be between 0 and 1"),
        (rows(NAN), rows(0.5), RuntimeError, "all elements of input should be between 0 and 1"),
        (rows(0.5), rows(-0.5), RuntimeError, "all elements of target should be between 0 and 1"),
        (rows(0.5), numgrad.tensor([0.5]), RuntimeError, "Found dtype Float but expected Double"),
        (numgrad.tensor([1]), numgrad.tensor([1]), NotImplementedError, "not implemented for 'Long'"),
    ],
)
def test_refusals_of_binary_cross_entropy(input, target, error, message):
    with pytest.raises(error, match=message):
        F.binary_cross_entropy(input, target)


def test_kl_div():
    p = F.softmax(randoms(2, 3), 1).detach().requires_grad_()
    logs = F.log_softmax(randoms(2, 3, seed=1), 1).detach().requires_grad_()
    expected = (p.detach().numpy() * (np.log(p.detach().numpy()) - logs.detach().numpy())).sum()
    np.testing.assert_allclose(F.kl_div(logs, p, reduction="batchmean").item(), expected / 2, 1e-12)
    np.testing.assert_allclose(F.kl_div(logs, p.log(), reduction="sum", log_target=True).item(), expected, 1e-12)
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size") as warned:
        np.testing.assert_allclose(F.kl_div(logs, p).item(), expected / 6, 1e-12)
    assert warned[0].filename == __file__
    assert F.kl_div(logs, numgrad.zeros_like(p), reduction="sum").item() == 0.0
    with pytest.raises(RuntimeError, match="Integral inputs not supported"):
        F.kl_div(logs, numgrad.tensor([[1, 0, 0], [1, 0, 0]]), reduction="sum")
    check_gradients(lambda logs, p: F.kl_div(logs, p, reduction="batchmean"), logs, p)


# -- margins ------------------------------------------------------------------------------------------------------


def test_losses_that_leave_off_at_a_margin():
    sign = rows(1.0, -1.0, -1.0)
    assert F.hinge_embedding_loss(rows(0.3, 0.3, 2.0), sign, reduction="none").tolist() == [0.3, 0.7, 0.0]
    found = F.margin_ranking_loss(rows(2.0, 2.0, 1.0), rows(1.0, 1.0, 3.0), sign, margin=0.5, reduction="none")
    assert found.tolist() == [0.0, 1.5, 0.0]
    found = F.cosine_embedding_loss(
        rows([1.0, 0.0], [1.0, 0.0], [1.0, 0.0]), rows([0.0, 2.0], [3.0, 0.0], [0.0, 1.0]), sign, reduction="none"
    )
    np.testing.assert_allclose(found.numpy(), [1, 1, 0], 1e-12, 1e-12)
    found = F.triplet_margin_loss(rows([0.0, 0.0]), rows([3.0, 4.0]), rows([0.0, 5.5]), eps=0.0)
    assert found.item() == 0.5
    near_positive = F.triplet_margin_loss(rows([0.0]), rows([3.0]), rows([4.0]), eps=0.0, swap=True)
    assert near_positive.item() == 3.0  # 3 - min(4, 1) + 1
    by_hand = F.triplet_margin_with_distance_loss(
        rows([0.0]), rows([3.0]), rows([4.0]), distance_function=lambda x, y: (x - y).abs().sum(-1)
    )
    assert by_hand.item() == 0.0


def test_the_soft_margin_of_huge_scores():
    x = rows(1000.0, -1000.0, 0.0, requires_grad=True)
    losses = F.soft_margin_loss(x, numgrad.ones_like(x), reduction="none")
    np.testing.assert_allclose(losses.detach().numpy(), [0, 1000, math.log(2)], 1e-14)
    losses.sum().backward()
    assert x.grad.tolist() == [0.0, -1.0, -0.5]
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'target'"):
        F.soft_margin_loss(rows(1.0), rows(1.0, requires_grad=True))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.margin_ranking_loss(rows([1.0]), rows(1.0), rows(1.0)), RuntimeError, "should have same dimension"),
        (lambda: F.cosine_embedding_loss(rows(1.0), rows(1.0), rows(1.0)), RuntimeError, "1D target .* 2D input"),
        (lambda: F.cosine_embedding_loss(rows(1.0), rows(1.0), rows([1.0])), RuntimeError, "multi-target"),
        (lambda: F.triplet_margin_loss(rows(1.0), rows([1.0]), rows(1.0)), RuntimeError, "same number of dimensions"),
        (lambda: F.triplet_margin_loss(rows(1.0), rows(1.0), rows(1.0), margin=0), ValueError, "greater than 0"),
        (lambda: F.soft_margin_loss(rows(1.0), rows([1.0], [1.0])), RuntimeError, "doesn't match the broadcast shape"),
    ],
)
def test_refusals_of_margin_losses(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("swap", [False, True])
def test_the_derivative_of_the_triplet_loss(swap):
    a, p, n = [randoms(3, 4, seed=seed) for seed in (1, 2, 3)]
    check_gradients(lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=swap, margin=2.0), a, p, n)


# -- distances ----------------------------------------------------------------------------------------------------


def test_distances():
    x, y = rows([3.0, 4.0], [1.0, 0.0]), rows([4.0, 3.0], [0.0, 2.0])
    np.testing.assert_allclose(F.cosine_similarity(x, y).numpy(), [0.96, 0], 1e-15)
    np.testing.assert_allclose(F.pairwise_distance(x, y, eps=0.0).numpy(), [math.sqrt(2), math.sqrt(5)], 1e-15)
    np.testing.assert_allclose(F.pairwise_distance(x, y, p=1, eps=0.0, keepdim=True).numpy(), [[2], [3]], 1e-15)
    np.testing.assert_allclose(F.normalize(x).numpy(), [[0.6, 0.8], [1, 0]], 1e-15)
    assert F.normalize(rows([0.0, 0.0])).tolist() == [[0.0, 0.0]]
    assert F.cosine_similarity(rows([0.0, 0.0]), x[:1]).tolist() == [0.0]
    out = numgrad.empty(2, 2, dtype=numgrad.float64)
    assert F.normalize(x, out=out) is out
    assert out.tolist() == F.normalize(x).tolist()
    with pytest.raises(RuntimeError, match="common dtype to be floating point, yet common dtype is Long"):
        F.cosine_similarity(numgrad.tensor([[1]]), numgrad.tensor([[1]]))
    with pytest.raises(RuntimeError, match=r"floating point or complex tensor as input\. Got Long"):
        F.normalize(numgrad.tensor([[1]]))


def test_derivatives_of_distances():
    x, y = randoms(3, 4), randoms(4, seed=1)
    check_gradients(lambda x, y: F.cosine_similarity(x, y, -1), x, y)
    check_gradients(F.pairwise_distance, x, y)
    check_gradients(F.normalize, x)


# -- probabilities ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dim"), [((), 0), ((3,), 0), ((2, 3), 1), ((2, 3, 2), 0), ((2, 1, 2, 2), 1)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_the_dimension_is_chosen_with_a_warning(name, shape, dim):
    x = randoms(*shape)
    function = getattr(F, name)
    with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name} has been deprecated") as warned:
        found = function(x)
    assert warned[0].filename == __file__
    assert found.tolist() == function(x, dim).tolist()


def test_softmin_and_dtypes():
    x = numgrad.tensor([[0.0, 1.0]])
    assert F.softmin(x, 1).tolist() == F.softmax(-x, 1).tolist()
    assert F.softmax(numgrad.tensor([0, 1]), 0, dtype=numgrad.float64).dtype is numgrad.float64
    with pytest.raises(NotImplementedError, match="\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"):
        F.softmax(numgrad.tensor([[0, 1]]), 1)
    with pytest.raises(NotImplementedError, match="\"log_softmax_kernel_impl\" not implemented for 'Bool'"):
        F.log_softmax(numgrad.tensor([[True]]), 0)
    with pytest.raises(TypeError, match=r"argument .dim. .* must be int, not NoneType"):
        numgrad.softmax(x, None)


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1057, 2100])
def test_softmax_of_rows_and_columns_of_any_length(size):
    x = np.random.default_rng(1).normal(size=(2, size, 3))
    powers = np.exp(x)
    found = F.softmax(numgrad.tensor(x), 1)
    np.testing.assert_allclose(found.numpy(), powers / powers.sum(1, keepdims=True), 1e-13)
    swapped = F.softmax(numgrad.tensor(np.ascontiguousarray(np.swapaxes(x, 1, 2))), 2)
    np.testing.assert_allclose(swapped.numpy(), np.swapaxes(found.numpy(), 1, 2), 1e-13)
    wide = F.log_softmax(numgrad.tensor(np.ascontiguousarray(x.transpose(0, 2, 1))), 1)
    np.testing.assert_allclose(wide.numpy(), np.log(powers / powers.sum(2, keepdims=True)).transpose(0, 2, 1), 1e-12)


def test_results_do_not_depend_on_the_number_of_threads():
    x = numgrad.from_numpy(np.random.default_rng(1).normal(size=(300, 400)).astype(np.float32)).requires_grad_()
    found = []
    threads = numba.get_num_threads()
    for count in {1, threads}:
        numba.set_num_threads(count)
        try:
            y = F.softmax(x, 0)
            (gradient,) = numgrad.autograd.grad(y, x, x.detach())
            found.append((y.detach().numpy().tobytes(), gradient.numpy().tobytes()))
        finally:
            numba.set_num_threads(threads)
    assert len(set(found)) == 1


def test_gumbel_softmax():
    logits = randoms(50, 4)
    numgrad.manual_seed(0)
    soft = F.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.sum(1).detach().numpy(), np.ones(50), 1e-12)
    numgrad.manual_seed(0)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(hard.detach().numpy(), np.eye(4)[soft.detach().numpy().argmax(1)], 0, 1e-15)
    weight = randoms(50, 4, seed=5, requires_grad=False)
    gradients = [numgrad.autograd.grad((y * weight).sum(), logits)[0].tolist() for y in (soft, hard)]
    assert gradients[0] == gradients[1]


# -- rows by number -----------------------------------------------------------------------------------------------


def test_one_hot():
    assert F.one_hot(numgrad.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(numgrad.tensor(1), 3).tolist() == [0, 1, 0]
    assert F.one_hot(numgrad.zeros(0, dtype=numgrad.int64), 3).shape == (0, 3)
    for classes, options, message in (
        (numgrad.tensor([0.0]), {}, "only applicable to index tensor of type LongTensor"),
        (numgrad.tensor([0, -1]), {}, "must be non-negative"),
        (numgrad.tensor([0, 2]), {"num_classes": 2}, "must be smaller than num_classes"),
        (numgrad.zeros(0, dtype=numgrad.int64), {}, "Can not infer total number of classes"),
    ):
        with pytest.raises(RuntimeError, match=message):
            F.one_hot(classes, **options)


def test_embedding():
    weight = rows([3.0, 4.0], [1.0, 0.0], [6.0, 8.0], requires_grad=True)
    index = numgrad.tensor([[0, 2], [2, 1]])
    out = F.embedding(index, weight, padding_idx=-1)
    assert out.tolist() == [[[3.0, 4.0], [6.0, 8.0]], [[6.0, 8.0], [1.0, 0.0]]]
    out.sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
        F.embedding(index, weight, padding_idx=3)
    limited = weight.detach().clone()
    np.testing.assert_allclose(F.embedding(index[0], limited, max_norm=5.0).numpy(), [[3, 4], [3, 4]], 1e-6)
    np.testing.assert_allclose(limited.numpy(), [[3, 4], [1, 0], [3, 4]], 1e-6)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_padding_has_no_gradient_whatever_comes_to_it(scaled):
    weight, index = numgrad.zeros(3, 2, requires_grad=True), numgrad.tensor([1, 2, 1])
    given = rows([math.inf, 1.0], [4.0, 2.0], [math.nan, -3.0], requires_grad=True)
    out = F.embedding(index, weight, padding_idx=1, scale_grad_by_freq=scaled)
    (grad,) = numgrad.autograd.grad(out, weight, given, create_graph=True)
    assert grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [4.0, 2.0]]
    (second,) = numgrad.autograd.grad(grad, given, rows([1.0, 1.0], [math.inf, math.nan], [5.0, 6.0]))
    assert second.tolist() == [[0.0, 0.0], [5.0, 6.0], [0.0, 0.0]]
