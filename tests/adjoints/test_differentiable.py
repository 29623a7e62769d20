"""``numgrad.differentiable``: calls in the graph, forward mode, second derivatives, written arguments, the tape."""

import functools
import math

import numba
import numpy as np
import pytest
from adjoints.known_programs import garch

import numgrad as torch
from numgrad import scalar
from numgrad.autograd import gradcheck, gradgradcheck


@numba.njit
def square(x):
    return x * x


@torch.differentiable
def log_likelihood(theta, data):
    total = 0.0
    for i in range(data.shape[0]):
        total += square(data[i] - theta[0]) * theta[1] - math.log(theta[1])
    return total


DATA = np.linspace(-1.0, 2.0, 5)


@pytest.fixture
def theta():
    return torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)


def of_theta(theta):
    return log_likelihood(theta, DATA)


def test_gradient_of_one_node(theta):
    loss = of_theta(theta)
    assert loss.grad_fn.name() == "LogLikelihoodBackward"
    loss.backward()
    residual = DATA - 0.5
    np.testing.assert_allclose(theta.grad.numpy(), [-4 * residual.sum(), (residual**2).sum() - 5 / 2.0])


def test_all_derivatives(theta):
    assert gradcheck(of_theta, (theta,), check_forward_ad=True)
    assert gradgradcheck(of_theta, (theta,))
    hessian = torch.autograd.functional.hessian(of_theta, theta)
    residual = (DATA - 0.5).sum()
    np.testing.assert_allclose(hessian.numpy(), [[20, -2 * residual], [-2 * residual, 5 / 4]], atol=1e-12)
    (forward_over_reverse,) = torch.func.jvp(torch.func.grad(of_theta), (theta,), (torch.ones_like(theta),))[1:]
    np.testing.assert_allclose(forward_over_reverse.detach().numpy(), hessian.sum(1).numpy())


def test_a_compiled_training_step_has_the_same_bits():
    def trained(wrap):
        theta = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([theta], lr=1e-3)

        def step():
            optimizer.zero_grad()
            loss = of_theta(theta)
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        for _ in range(3):
            step()
        return theta

    compiled = trained(functools.partial(torch.compile, fullgraph=True))
    assert compiled.equal(trained(lambda step: step))


def test_a_program_has_results_and_gradients_of_any_memory_order():
    @torch.differentiable
    def parts(A):
        B = A * A
        return B[::2, 1], B.T

    def loss(A):
        column, transposed = parts(A.t())
        return column.sum() + (transposed * transposed).sum()

    compiled = torch.compile(loss, fullgraph=True)
    for number in range(1, 6):
        found, expected = [torch.full((2, 3), float(number), dtype=torch.float64, requires_grad=True) for _ in range(2)]
        assert torch.equal(compiled(found), loss(expected))
        compiled(found).backward()
        loss(expected).backward()
        assert torch.equal(found.grad, expected.grad)


def test_a_program_calls_functions_without_a_derivative_that_do_not_write():
    @torch.differentiable
    def spread(x):
        return x - np.nanmedian(x)

    @torch.differentiable
    def centred(x):
        x -= np.nanmedian(x)

    x = torch.tensor([1.0, 4.0, 2.0], dtype=torch.float64)
    compiled = torch.compile(lambda x: spread(x) * 2.0, fullgraph=True)
    for number in range(3):
        assert compiled(x * number).tolist() == [-2.0 * number, 4.0 * number, 0.0]
    with pytest.raises(TypeError, match=r"x -= np\.nanmedian"):
        torch.compile(lambda x: centred(x))(x)


def test_results_of_another_size_are_not_those_of_a_replay():
    @torch.differentiable
    def positive(x):
        return x[x > 0.0]

    compiled = torch.compile(lambda x: positive(x) * 2.0)
    for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, -8.0]):
        found = compiled(torch.tensor(values, dtype=torch.float64))
        assert found.tolist() == [2.0 * each for each in values if each > 0.0]


def test_results_do_not_share_memory_with_arguments_or_each_other():
    @torch.differentiable
    def parts(x):
        return x, x[1:], DATA

    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    results = parts(x)
    assert all(each.is_contiguous() and each._version == 0 for each in results)
    for each in results:
        each.detach().zero_()
    assert x.tolist() == [1, 1, 1]
    assert DATA[-1] == 2.0
    (results[0].sum() + 2.0 * results[1].sum()).backward()
    assert x.grad.tolist() == [1, 3, 3]


def test_a_program_has_calls_that_write_and_passes_gradients_on():
    @torch.differentiable
    def relax(u, rate, steps):
        for _ in range(steps):
            for i in range(1, u.shape[0]):
                u[i] += rate * u[i] * u[i - 1]

    def relaxed(x, rate):
        u = x * 2.0
        relax(u, rate, 3)
        return u.sin()

    compiled = torch.compile(relaxed, fullgraph=True)
    for scale in (0.1, 0.2, 0.3):
        x = torch.linspace(-1.0, 1.0, 5, dtype=torch.float64).mul(scale).requires_grad_()
        rate = torch.tensor(scale, dtype=torch.float64, requires_grad=True)
        results = [function(x, rate) for function in (compiled, relaxed)]
        assert results[0].equal(results[1])
        gradients = [torch.autograd.grad(each.sum(), (x, rate)) for each in results]
        assert all(first.equal(second) for first, second in zip(*gradients, strict=True))


def test_checkpoint_runs_a_call_again(theta):
    checkpointed = torch.utils.checkpoint.checkpoint(lambda theta: of_theta(theta.exp()), theta, use_reentrant=False)
    expected = torch.autograd.grad(of_theta(theta.exp()), theta)[0]
    assert torch.autograd.grad(checkpointed, theta)[0].equal(expected)


def test_views_of_the_graph_and_of_time_show_a_call(theta):
    with torch.profiler.profile() as profile:
        loss = of_theta(theta)
        loss.backward()
    assert "LogLikelihood" in {event.key for event in profile.key_averages()}
    assert "LogLikelihoodBackward" in str(torch.viz.draw(of_theta(theta)))
    assert "1 node" in str(torch.explain(of_theta(theta)))
    assert "log_likelihood.adjoint_source(...)" in str(torch.inspect(log_likelihood, theta, DATA))
    assert "code of its own" in str(torch.inspect(of_theta(theta).grad_fn))


def test_arrays_alone_are_a_call_of_numba():
    assert isinstance(log_likelihood(np.array([0.5, 2.0]), DATA), float)


def test_vmap():
    thetas = torch.tensor([[0.5, 2.0], [0.1, 1.5]], dtype=torch.float64)
    data = torch.tensor(np.stack([DATA, DATA + 1.0]))

    def each(function, *batches):
        return torch.stack([function(*examples) for examples in zip(*batches, strict=True)])

    func = torch.func
    assert func.vmap(log_likelihood)(thetas, data).equal(each(log_likelihood, thetas, data))
    assert func.vmap(of_theta)(thetas).equal(each(of_theta, thetas))
    for transform in (func.grad, func.jacrev, func.hessian):
        assert func.vmap(transform(of_theta))(thetas).allclose(each(transform(of_theta), thetas))
    of_both = func.vmap(func.vmap(log_likelihood, in_dims=(0, None)), in_dims=(None, 0))
    assert of_both(thetas, data)[1, 0].equal(log_likelihood(thetas[0], data[1]))
    jacobian = func.jacrev(func.vmap(of_theta))(thetas)
    assert jacobian[1, 1].allclose(func.grad(of_theta)(thetas[1]))
    assert jacobian[0, 1].eq(0).all()


def test_several_results_and_an_integer():
    @torch.differentiable
    def pair(x):
        count = 0
        y = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            if x[i] > 0.0:
                count += 1
                y[i] = x[i] ** 3
        return y, y.sum(), count

    x = torch.tensor([2.0, -1.0], dtype=torch.float64, requires_grad=True)
    y, total, count = pair(x)
    assert (count.item(), count.requires_grad) == (1, False)
    (y[0] + 2 * total).backward()
    assert x.grad.tolist() == [36, 0]


def test_written_argument():
    @torch.differentiable(validate=True)
    def step(u, v, dt):
        for i in range(u.shape[0]):
            u[i] += dt * v[i] * u[i]

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    u = x.clone()
    step(u, v, 0.5)
    u.sum().backward()
    assert u.tolist() == [2.5, 6]
    assert (x.grad.tolist(), v.grad.tolist()) == ([2.5, 3], [0.5, 1])


def test_function_as_argument():
    @torch.differentiable
    def euler(rhs, y, k, steps):
        for _ in range(steps):
            y = y + 0.1 * rhs(y, k)
        return y

    @numba.njit
    def decay(y, k):
        return -k * y

    k = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = euler(decay, 2.0, k, 3)
    y.backward()
    assert y.item() == pytest.approx(2 * 0.95**3)
    assert k.grad.item() == pytest.approx(-0.1 * 3 * 2 * 0.95**2)


def test_compiled_functions_call_differentiable_ones():
    @numba.njit
    def twice(theta, data):
        return 2 * log_likelihood(theta, data)

    theta = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    torch.differentiable(twice)(theta, DATA).backward()
    expected = torch.autograd.grad(2 * of_theta(theta), theta)[0]
    assert theta.grad.equal(expected)


@pytest.mark.long
def test_axes_of_length_one_are_broadcast():
    @torch.differentiable
    def outer(column, row, scale):
        out = np.zeros((3, 2))
        out[:, :1] += scale
        out += np.exp(column) * row
        return out, (column * row).sum()

    arguments = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 1), (2,), (1,))]
    assert gradcheck(outer, arguments, check_forward_ad=True)


def test_functions_of_scalars():
    @numba.njit
    def activation(x):
        return scalar.softplus(x, beta=2.0) * scalar.logaddexp(x, 0.5)

    @torch.differentiable
    def layer(x, np):
        total = 0.0
        for each in x:
            total += activation(each * np)
        return total

    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert gradcheck(layer, (x, weight), check_forward_ad=True)
    assert gradgradcheck(layer, (x, weight))


@pytest.mark.long
def test_small_matrices():
    @torch.differentiable
    def of_factors(A, b):
        L = np.linalg.cholesky(A @ A.T + np.eye(3)) + np.sum(A[1:], axis=0)[2]
        return np.linalg.det(A) + np.log(np.diag(L)).sum() + b[0]

    @torch.differentiable
    def of_inverse(A, b):
        return np.sum(np.linalg.inv(A)) * b[0]

    @torch.differentiable
    def of_solution(A, b):
        return np.linalg.solve(A, b) @ b

    generator = np.random.default_rng(0)
    A = torch.tensor(generator.normal(size=(3, 3)), requires_grad=True)
    b = torch.tensor(generator.normal(size=3), requires_grad=True)
    for function in (of_factors, of_inverse, of_solution):
        assert gradcheck(function, (A, b), check_forward_ad=function is of_factors)
    assert gradgradcheck(of_solution, (A, b))


def test_tape():
    @torch.differentiable
    def logistic_map(r, steps):
        x = 0.5
        for _ in range(steps):
            x = r * x * (1.0 - x)
        return x

    r = torch.tensor(3.2, dtype=torch.float64, requires_grad=True)
    assert logistic_map.tape_bytes(r, 1000) == 8 * 1000  # one number for each store
    logistic_map(r, 1000).backward()  # larger than the first tape: it grows and nothing is lost
    x, derivative = 0.5, 0.0
    for _ in range(1000):
        x, derivative = 3.2 * x * (1 - x), x * (1 - x) + 3.2 * (1 - 2 * x) * derivative
    assert r.grad.item() == pytest.approx(derivative)
    source = logistic_map.adjoint_source(r, 1000)
    assert source.startswith("def logistic_map_adjoint(r, steps, ")
    assert "# reverse sweep" in source


def test_checkpoints_bound_the_tape():
    parameters = torch.tensor([0.1, 0.1, 0.8], dtype=torch.float64, requires_grad=True)
    returns = np.random.default_rng(0).normal(size=100_000)
    whole, kept = torch.differentiable(garch), torch.differentiable(garch, checkpoint="sqrt")
    assert whole.tape_bytes(parameters, returns) == 8 * 100_000
    assert kept.tape_bytes(parameters, returns) < 10_000
    gradients = [torch.autograd.grad(each(parameters, returns), parameters)[0] for each in (whole, kept)]
    assert gradients[0].equal(gradients[1])


def test_checkpoints_leave_out_arrays_that_only_later_statements_read():
    def filtered(x):
        smooth, level, total = np.zeros(x.shape[0]), 0.0, 0.0
        for i in range(x.shape[0]):
            level = 0.1 * level * level + x[i]
            smooth[i] = level
        for i in range(x.shape[0]):
            total = 0.1 * total * total + smooth[i] * smooth[i]
        return total

    x = torch.linspace(0.0, 0.5, 100, dtype=torch.float64).requires_grad_()
    whole, kept = torch.differentiable(filtered), torch.differentiable(filtered, checkpoint=10)
    assert kept.tape_bytes(x) < 300
    assert torch.autograd.grad(kept(x), x)[0].equal(torch.autograd.grad(whole(x), x)[0])


@pytest.mark.parametrize("checkpoint", [1, *[pytest.param(n, marks=pytest.mark.long) for n in (3, 100)]])
def test_checkpoints_of_loops_that_end_early_and_write(checkpoint):
    def relax(x, k):
        y, scale, moved = x.copy(), k[0], 1.0
        while moved > 1e-3:
            moved = 0.0
            for i in range(1, y.shape[0] - 1):
                step = math.tanh(scale * (y[i - 1] + y[i + 1] - 2.0 * y[i]))
                y[i] += step
                moved += step * step
            scale *= k[1]
        return y, scale

    x = torch.tensor([0.0, 2.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.4, 0.9], dtype=torch.float64, requires_grad=True)
    gradients = []
    for function in (torch.differentiable(relax), torch.differentiable(relax, checkpoint=checkpoint)):
        y, scale = function(x, k)
        gradients.append(torch.autograd.grad((y * y).sum() + scale, (x, k)))
    assert all(one.equal(other) for one, other in zip(*gradients, strict=True))


def test_second_derivatives_with_checkpoints():
    checkpointed = torch.differentiable(garch, checkpoint=2)
    parameters = torch.tensor([0.1, 0.1, 0.8], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda p: checkpointed(p, DATA), (parameters,))


def test_arrays_that_the_tape_keeps_are_counted():
    @torch.differentiable
    def grow(x, steps):
        for _ in range(steps):
            x = x * x
        return x.sum()

    x = torch.ones(100, dtype=torch.float64, requires_grad=True)
    assert grow.tape_bytes(x, 11) - grow.tape_bytes(x, 1) >= 10 * x.nbytes


@pytest.mark.long
def test_arrays_of_loops_are_made_once():
    @torch.differentiable(checkpoint="sqrt")
    def advance(x, steps):
        y = x.copy()
        for _ in range(steps):
            change = np.zeros(y.shape[0])
            change[1:] = y[1:] * y[:-1]
            y = y + 0.1 * change
        return y.sum()

    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    source = advance.adjoint_source(x, 10)
    assert "np.empty" not in source.partition("for _ in")[2]
    assert gradcheck(advance, (x, 10))
    assert gradgradcheck(advance, (x, 10))


def test_validation_finds_a_jump():
    @torch.differentiable(validate=True)
    def steps(x):
        return math.floor(x[0] * 1e7) * 1e-7

    with pytest.raises(RuntimeError, match="differs from finite differences"):
        steps(torch.tensor([0.7], dtype=torch.float64, requires_grad=True))


def test_machine_code_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))

    def scaled(x):
        return (DATA * x * x).sum() + torch.scalar.softplus(x[0])

    def program():
        return torch.differentiable(scaled).program([DATA], ["x"])

    first, second = program(), program()
    results = [each.gradients([DATA], [1.0], {})[0] for each in (first, second)]
    assert np.array_equal(*results)
    assert [len(each._reverse.stats.cache_hits) for each in (first, second)] == [0, 1]
    DATA[0] += 1.0  # which is part of the code
    try:
        assert program()._reverse._cache.stem != first._reverse._cache.stem
    finally:
        DATA[0] -= 1.0


def test_prange_keeps_every_update():
    @torch.differentiable
    @numba.njit(parallel=True)
    def gathered(x, places):
        y = np.zeros(places.shape[0])
        for k in numba.prange(places.shape[0]):
            y[k] = x[places[k]] ** 2
        return y.sum()

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    gathered(x, np.zeros(1000, np.int64)).backward()
    assert x.grad.tolist() == [2000, 0]


def test_later_changes_of_an_array_do_not_matter(theta):
    data = DATA.copy()
    loss = log_likelihood(theta, data)
    data[:] = 0
    loss.backward()
    assert theta.grad.equal(torch.autograd.grad(of_theta(theta), theta)[0])
