"""Steps of all optimizers: groups, layouts, dtypes, threads."""

import numba
import numpy as np
import pytest

import numgrad
from numgrad import optim

# -- which parameters, and when -----------------------------------------------------------------------------------


def test_parameters_without_gradient_are_left_alone():
    x, y = numgrad.ones(3, requires_grad=True), numgrad.ones(3, requires_grad=True)
    optimizer = optim.Adam([x, y], lr=0.5)
    for used in [(True, False), (True, True), (False, True), (True, False)]:
        before = x.tolist(), y.tolist()
        for param, use in zip((x, y), used, strict=True):
            param.grad = numgrad.ones(3) if use else None
        optimizer.step()
        assert (x.tolist() != before[0], y.tolist() != before[1]) == used
    assert optimizer.state[x]["step"].item() == 3
    assert optimizer.state[y]["step"].item() == 2
    # each has its own bias correction: with equal gradients every step of Adam has the length lr
    np.testing.assert_allclose(x.tolist(), [1 - 3 * 0.5] * 3, rtol=1e-5)
    np.testing.assert_allclose(y.tolist(), [1 - 2 * 0.5] * 3, rtol=1e-5)


def test_groups_have_options_of_their_own():
    x, y, z = [numgrad.ones(2, requires_grad=True) for _ in range(3)]
    optimizer = optim.SGD([{"params": [x]}, {"params": [y], "lr": 1.0}], lr=0.5)
    optimizer.add_param_group({"params": z, "maximize": True})
    for param in (x, y, z):
        param.grad = numgrad.ones(2)
    optimizer.step()
    assert [x.tolist(), y.tolist(), z.tolist()] == [[0.5] * 2, [0.0] * 2, [1.5] * 2]
    optimizer.param_groups[0]["lr"] = 0.25
    optimizer.step()
    assert [x.tolist(), y.tolist(), z.tolist()] == [[0.25] * 2, [-1.0] * 2, [2.0] * 2]


def test_dtypes_side_by_side():
    params = [numgrad.ones(3, dtype=kind).requires_grad_() for kind in (numgrad.float32, numgrad.float64)]
    optimizer = optim.SGD(params, lr=0.1)
    for param in params:
        param.grad = numgrad.ones_like(param)
    optimizer.step()
    assert params[0].tolist() == [float(np.float32(1) - np.float32(0.1))] * 3
    assert params[1].tolist() == [1 - 0.1] * 3


def test_complex_numbers_are_pairs():
    param = numgrad.tensor([1 + 1j, 0j])
    param.grad = numgrad.tensor([2 - 4j, 1j])
    optimizer = optim.Adam([param], lr=0.5)
    optimizer.step()  # the first step of Adam goes by lr against the sign of each part
    np.testing.assert_allclose(param.numpy(), [0.5 + 1.5j, -0.5j], atol=1e-6)
    assert optimizer.state[param]["exp_avg"].dtype is numgrad.complex64


def test_one_parameter_twice():
    """PyTorch warns; every step then updates twice."""
    param = numgrad.zeros(3, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.Adam([param, param], lr=0.5)
    param.grad = numgrad.ones(3)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 2
    np.testing.assert_allclose(param.tolist(), [-1.0] * 3, rtol=1e-6)


def test_one_large_parameter_twice():
    """No two threads may write to it at once."""
    param = numgrad.zeros(50_000, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.AdamW([param, param], lr=0.5, weight_decay=0.0)
    param.grad = numgrad.ones(50_000)
    for _ in range(5):
        optimizer.step()
    np.testing.assert_allclose(param.detach().numpy(), -5.0, rtol=1e-5)


def test_parameters_that_share_memory():
    whole = numgrad.zeros(8)
    params = [whole[:5].detach().requires_grad_(), whole[3:].detach().requires_grad_()]
    optimizer = optim.SGD(params, lr=1.0)
    for param in params:
        param.grad = numgrad.ones(5)
    optimizer.step()
    optimizer.step()
    assert whole.tolist() == [-2, -2, -2, -4, -4, -2, -2, -2]


def test_integers_are_refused():
    param = numgrad.ones(3, dtype=numgrad.int64)
    param.grad = numgrad.ones(3, dtype=numgrad.int64)
    with pytest.raises(RuntimeError, match=r"floating point.*torch.int64 \(shape \[3\]\)"):
        optim.SGD([param]).step()
    assert param.tolist() == [1, 1, 1]


@pytest.mark.parametrize("what", ["gradient", "state"])
def test_mismatched_parameters_and_gradients_are_refused(what):
    first, param = numgrad.ones(2, requires_grad=True), numgrad.ones(3, requires_grad=True)
    optimizer = optim.Adam([first, param])
    first.grad, param.grad = numgrad.ones(2), numgrad.ones(3)
    optimizer.step()
    before = first.tolist()
    if what == "gradient":
        param.data = numgrad.ones(3, dtype=numgrad.float64)
        optimizer.state[param].clear()
        found = r"shape \[3\] and type torch.FloatTensor"
    else:
        optimizer.state[param]["exp_avg"] = numgrad.ones(4)
        found = r"shape \[4\]"
    with pytest.raises(RuntimeError, match=f"the {what} of a parameter of shape .* has {found}"):
        optimizer.step()
    assert first.tolist() == before
    assert optimizer.state[first]["step"].item() == 1


# -- memory -------------------------------------------------------------------------------------------------------


def laid_out(values, how):
    """A tensor of these values (two dimensions) with its elements elsewhere in memory."""
    if how == "transposed":
        return numgrad.tensor(values.T.copy()).t()
    if how == "stepped":
        wide = numgrad.tensor(np.repeat(values, 2, axis=1))
        return wide[:, ::2]
    if how == "offset":
        return numgrad.tensor(np.concatenate([values, values]))[len(values) :]
    return numgrad.tensor(values)


@pytest.mark.parametrize("grad", ["contiguous", "transposed", "stepped"])
@pytest.mark.parametrize("param", ["contiguous", "transposed", "stepped", "offset"])
def test_layouts(param, grad):
    random = np.random.default_rng(0)
    value, gradient = random.standard_normal((4, 6)), random.standard_normal((4, 6))
    tensor = laid_out(value, param).detach().requires_grad_()
    optimizer = optim.SGD([tensor], lr=0.1, momentum=0.9)
    tensor.grad = laid_out(gradient, grad)
    optimizer.step()
    optimizer.step()
    np.testing.assert_allclose(tensor.detach().numpy(), value - 0.1 * gradient - 0.19 * gradient, rtol=1e-12)
    np.testing.assert_array_equal(tensor.grad.numpy(), gradient)


def test_nothing_between_the_elements_is_written_to():
    memory = numgrad.zeros(5, 6)
    param = memory[1:4, ::2].detach().requires_grad_()
    param.grad = numgrad.ones(3, 3)
    optim.SGD([param], lr=1.0).step()
    expected = np.zeros((5, 6))
    expected[1:4, ::2] = -1
    np.testing.assert_array_equal(memory.numpy(), expected)


def test_an_expanded_parameter_is_refused():
    param = numgrad.zeros(1).expand(3).detach().requires_grad_()
    param.grad = numgrad.ones(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        optim.SGD([param]).step()


def test_everything_may_move_between_steps():
    param = numgrad.zeros(3, requires_grad=True)
    optimizer = optim.SGD([param], lr=1.0, momentum=0.5)
    param.grad = numgrad.ones(3)
    optimizer.step()
    param.data = numgrad.full((3,), 10.0)
    optimizer.state[param]["momentum_buffer"] = numgrad.full((3,), 4.0)
    optimizer.step()
    assert param.tolist() == [7.0] * 3
    param.data = numgrad.zeros(2)
    param.grad = numgrad.ones(2)
    del optimizer.state[param]
    optimizer.step()
    assert param.tolist() == [-1.0] * 2


def test_a_step_counts_as_a_change():
    x, y = numgrad.ones(3, requires_grad=True), numgrad.ones(3, requires_grad=True)
    optimizer = optim.SGD([x, y], lr=0.1)
    loss = (x * x * y).sum()
    x.grad = numgrad.ones(3)
    before = x._version, y._version
    optimizer.step()
    assert x._version > before[0]
    assert y._version == before[1]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_steps_are_not_recorded():
    x = numgrad.ones(3, requires_grad=True)
    optimizer = optim.Adam([x])
    (x * x).sum().backward(create_graph=True)
    optimizer.step()
    assert x.is_leaf
    assert x.requires_grad
    assert not optimizer.state[x]["exp_avg"].requires_grad


@pytest.fixture
def threads():
    """Set the number of threads, and set it back."""
    before = numba.get_num_threads()
    yield numba.set_num_threads
    numba.set_num_threads(before)


def test_results_do_not_depend_on_the_number_of_threads(threads):
    results = []
    for count in (1, 2):
        threads(min(count, numba.config.NUMBA_NUM_THREADS))
        random = np.random.default_rng(0)
        params = [numgrad.tensor(random.standard_normal(n).astype("f4"), requires_grad=True) for n in (70_001, 3, 9000)]
        optimizer = optim.AdamW(params, lr=0.1)
        for _ in range(2):
            for param in params:
                param.grad = numgrad.tensor(random.standard_normal(len(param)).astype("f4"))
            optimizer.step()
        results.append([param.detach().numpy() for param in params])
    for alone, together in zip(*results, strict=True):
        np.testing.assert_array_equal(alone, together)
