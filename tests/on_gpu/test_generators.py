"""Tensors drawn on a GPU, and the generators that they come from."""

import copy
import math
import pickle

import pytest

import numgrad
from numgrad import (
    bernoulli,
    empty,
    equal,
    full,
    manual_seed,
    multinomial,
    normal,
    ones,
    rand,
    randint,
    randn,
    randperm,
    tensor,
    zeros,
)
from numgrad.cuda import random
from numgrad.devices import launches
from numgrad.nn.functional import alpha_dropout, dropout, dropout2d
from numgrad.ops.creation.distributions import kept_
from numgrad.utils.checkpoint import checkpoint, get_device_states, set_device_states

pytestmark = pytest.mark.usefixtures("cuda")

DRAWS = [
    lambda: rand(5, device="cuda"),
    lambda: randn(3, 2, dtype=numgrad.float64, device="cuda"),
    lambda: randn(3, dtype=numgrad.complex64, device="cuda"),
    lambda: randint(1000, (5,), device="cuda"),
    lambda: randperm(9, device="cuda"),
    lambda: randperm(9, device="cuda", dtype=numgrad.int32),
    lambda: normal(full((5,), 2.0, device="cuda"), 0.5),
    lambda: bernoulli(full((20,), 0.5, device="cuda")),
    lambda: empty(4, device="cuda").uniform_(1, 2),
    lambda: empty(4, 2, device="cuda").t().normal_(),
    lambda: zeros(6, device="cuda")[1::2].exponential_(),
    lambda: empty(5, dtype=numgrad.int8, device="cuda").random_(),
    lambda: empty(20, dtype=numgrad.bool, device="cuda").bernoulli_(0.5),
    lambda: multinomial(ones(2, 9, device="cuda"), 3),
    lambda: multinomial(ones(9, device="cuda"), 5, True),
    lambda: dropout(ones(20, device="cuda"), 0.5),
    lambda: alpha_dropout(ones(20, device="cuda"), 0.5, training=True),
    lambda: numgrad.nn.init.xavier_uniform_(empty(3, 2, device="cuda")),
    lambda: numgrad.nn.init.trunc_normal_(empty(3, 2, device="cuda")),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_the_same_seed_draws_the_same_on_the_gpu(draw):
    manual_seed(5)
    first = draw()
    second = draw()
    manual_seed(5)
    assert first.is_cuda
    assert equal(draw(), first)
    assert not equal(second, first)


def test_the_cpu_and_the_gpu_have_states_of_their_own():
    manual_seed(5)
    expected = rand(3)
    manual_seed(5)
    on_gpu = rand(3, device="cuda")
    assert equal(rand(3), expected)
    random.manual_seed(5)
    assert equal(rand(3, device="cuda"), on_gpu)


def test_values():
    """The numbers for a seed: they may not change from one version to the next."""
    manual_seed(0)
    assert rand(3, device="cuda").tolist() == pytest.approx([0.39904642, 0.97224116, 0.01944941], abs=1e-6)
    assert randint(100, (4,), device="cuda").tolist() == [51, 79, 77, 13]
    assert randn(2, device="cuda").tolist() == pytest.approx([-0.62722886, 0.81283462], abs=1e-5)


def test_kinds_of_numbers():
    manual_seed(1)
    assert sorted(randperm(40, device="cuda").tolist()) == list(range(40))
    assert randperm(0, device="cuda").tolist() == []
    assert randperm(1, device="cuda").tolist() == [0]
    picks = multinomial(tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0]], device="cuda"), 2).sort()[0]
    assert picks.tolist() == [[1, 2], [0, 2]]
    shares = multinomial(tensor([1.0, 0.0, 3.0], device="cuda"), 400, True)
    assert set(shares.tolist()) == {0, 2}
    assert abs(shares.eq(2).float().mean().item() - 0.75) < 0.08
    assert bernoulli(tensor([0.0, 1.0, 0.0, 1.0], device="cuda")).tolist() == [0, 1, 0, 1]
    with pytest.raises(RuntimeError, match=r"p_in >= 0 && p_in <= 1 .*reported by the GPU"):
        bernoulli(tensor([1.5], device="cuda")).tolist()
    with pytest.raises(RuntimeError, match="sum of probabilities <= 0"):
        multinomial(zeros(2, device="cuda"), 1)


def test_dropout_and_its_gradient():
    manual_seed(2)
    x = full((200,), 3.0, device="cuda", requires_grad=True)
    y = dropout(x, 0.25)
    assert set(y.tolist()) == {0.0, 4.0}
    assert abs(y.mean().item() - 3) < 0.5
    y.sum().backward()
    assert equal(x.grad * 3, y)
    channels = dropout2d(ones(3, 4, 2, 2, device="cuda"), 0.5).reshape(12, 4)
    assert equal(channels, channels[:, :1].expand(12, 4))
    assert dropout(x, 1.0).tolist() == [0] * 200


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64], ids=str)
@pytest.mark.parametrize("size", [1, 300])
def test_dropout_multiplies_by_the_same_factors_in_one_kernel(dtype, size):
    x = randn(size, device="cuda", dtype=dtype)
    x[0] = math.inf
    x.requires_grad_()
    manual_seed(3)
    kernels = []
    with launches.listening(lambda launch: kernels.append(launch.name)):
        result = dropout(x, 0.4)
    assert kernels == ["drop"]
    manual_seed(3)
    factors = kept_(numgrad.empty_like(x.detach()), 0.6)
    numgrad.testing.assert_close(result.detach(), x.detach() * factors, rtol=0, atol=0, equal_nan=True)
    grad = ones(size, device="cuda", dtype=dtype, requires_grad=True)
    (slope,) = numgrad.autograd.grad(result, x, grad, create_graph=True)
    (again,) = numgrad.autograd.grad(slope, grad, grad.detach())
    assert slope.equal(factors)
    assert again.equal(factors)


def test_generators():
    generator = numgrad.Generator("cuda").manual_seed(3)
    assert generator.device == numgrad.device("cuda", 0)
    first = rand(3, device="cuda", generator=generator)
    again = pickle.loads(pickle.dumps(generator))
    state = generator.get_state()
    assert state.tolist() == [3, *[0] * 7, 1, *[0] * 7]
    second = rand(3, device="cuda", generator=generator)
    assert not equal(first, second)
    assert equal(rand(3, device="cuda", generator=again), second)
    assert equal(rand(3, device="cuda", generator=copy.deepcopy(generator).set_state(state)), second)
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1


def test_generators_of_another_device():
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        rand(3, device="cuda", generator=numgrad.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        rand(3, generator=numgrad.Generator("cuda"))
    with pytest.raises(RuntimeError, match="expected 16 bytes, got 5056"):
        random.set_rng_state(numgrad.get_rng_state())


def test_states():
    random.manual_seed_all(7)
    assert random.initial_seed() == 7
    states = random.get_rng_state_all()
    first = rand(3, device="cuda")
    random.set_rng_state_all(states)
    assert equal(rand(3, device="cuda"), first)
    random.set_rng_state(states[0], "cuda:0")
    assert equal(rand(3, device="cuda"), first)
    random.seed()
    assert random.initial_seed() != 7
    random.seed_all()
    assert not equal(rand(3, device="cuda"), first)


@pytest.mark.parametrize(("devices", "kept"), [(None, True), ([0], True), (["cuda:0"], True), ([], False)])
def test_fork(devices, kept):
    manual_seed(1)
    expected = rand(3, device="cuda")
    manual_seed(1)
    with numgrad.random.fork_rng(devices):
        rand(2, device="cuda")
        rand(2)
    assert equal(rand(3, device="cuda"), expected) == kept


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_draw_again(reentrant):
    """Backward draws the mask of forward, and later draws do not depend on it."""
    manual_seed(4)
    x = ones(50, device="cuda", requires_grad=True)
    y = checkpoint(lambda x: dropout(x, 0.5) * x, x, use_reentrant=reentrant)
    state = random.get_rng_state()
    y.sum().backward()
    assert equal(x.grad, 2 * y)
    assert equal(random.get_rng_state(), state)


def test_states_of_devices_with_tensors():
    x = ones(2, device="cuda")
    random.manual_seed(9)
    gpus, states = get_device_states(x, [x], ones(1), 3)
    assert (gpus, [len(state) for state in states]) == ([0], [16])
    first = rand(2, device="cuda")
    set_device_states(gpus, states)
    assert equal(rand(2, device="cuda"), first)


def test_like_another():
    x = rand(3, device="cuda")
    for like in (numgrad.rand_like(x), numgrad.randn_like(x), numgrad.randint_like(x, 5)):
        assert (like.device, like.shape) == (x.device, x.shape)
