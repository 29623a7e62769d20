"""Random tensors: the numbers of PyTorch 2.13 for the same seed, recorded and compared; ranges, errors and graphs."""

import copy
import math
import pickle

import numpy as np
import pytest
from snapshots import refused

import numgrad
from numgrad import Generator, empty, manual_seed, tensor


def close(x, values):
    np.testing.assert_allclose(x.numpy(), values, 2e-7)


# -- recorded from PyTorch, after manual_seed(3) ------------------------------------------------------------------


@pytest.fixture(autouse=True)
def seeded():
    manual_seed(3)


def test_randint():
    assert numgrad.randint(10, (4,)).tolist() == [6, 8, 7, 7]
    assert numgrad.randint(2**40, (2,)).tolist() == [790795084744, 2445173525]
    small = numgrad.randint(-5, 5, (2, 3), dtype=numgrad.int8)
    assert (small.tolist(), small.dtype) == ([[-4, 4, -1], [-4, 0, 4]], numgrad.int8)


def test_randperm():
    assert numgrad.randperm(11).tolist() == [9, 0, 3, 6, 4, 5, 2, 8, 1, 10, 7]
    close(numgrad.rand(1), [0.45103133])  # one draw fewer than elements was taken
    assert numgrad.randperm(0).shape == (0,)
    assert numgrad.randperm(3, dtype=numgrad.float32).dtype is numgrad.float32


def test_random_fills_what_a_dtype_holds():
    found = [empty(3, dtype=getattr(numgrad, kind)).random_().tolist()
             for kind in ("uint8", "int16", "int32", "int64", "float32", "float64", "bool")]
    assert found == [
        [106, 152, 249], [26243, 15288, 25544], [46504192, 297689877, 1687694333],
        [8062369756993517258, 345839747989920761, 749504818045640330], [7707478.0, 2946154.0, 15924623.0],
        [7012550707245838.0, 1679693614348832.0, 5354241321539047.0], [False, False, True],
    ]


def test_bernoulli():
    assert empty(8).bernoulli_(0.3).tolist() == [1, 1, 0, 1, 0, 0, 1, 0]
    assert numgrad.bernoulli(numgrad.full((8,), 0.3)).tolist() == [1, 0, 0, 0, 0, 1, 0, 1]


def test_normal():
    close(numgrad.normal(numgrad.arange(3.0), numgrad.ones(3) * 2), [1.6065521, 1.3496668, 2.1779561])
    close(numgrad.normal(1.0, 2.0, (2,)), [-0.22743602, 1.0923649])


def test_tensors_that_are_not_contiguous_get_normals_by_pairs():
    close(empty(2, 10).t().normal_().reshape(-1)[:3], [0.80327606, 0.52204996, 0.17483339])


def test_exponential_multinomial_and_complex():
    close(empty(3).exponential_(2), [0.017351728, 0.16895479, 0.74121535])
    manual_seed(3)
    assert tensor([0.1, 0.2, 0.7]).multinomial(2).tolist() == [0, 1]
    assert numgrad.multinomial(tensor([0.1, 0.2, 0.7]), 8, replacement=True).tolist() == [1, 2, 2, 1, 2, 2, 2, 1]
    manual_seed(3)
    close(numgrad.randn(2, dtype=numgrad.complex64), [0.56800199 + 0.12362587j, 0.06291702 - 0.43396416j])


def test_complex_normals_are_rounded_once_and_drawn_as_real_ones_are():
    manual_seed(3)
    found = numgrad.randn(2, dtype=numgrad.complex64)
    assert found.tolist() == [0.5680019855499268 + 0.12362587451934814j, 0.06291701644659042 - 0.43396416306495667j]
    manual_seed(3)  # in the order of memory, by pairs, where a tensor is not contiguous
    found = numgrad.randn_like(empty(10, 2, dtype=numgrad.complex64).t())
    assert found[0, 1].item() == 0.032655924558639526 - 0.9675053358078003j


def test_the_state_is_pytorchs():
    manual_seed(5)
    numgrad.randn(3)
    numgrad.rand(7)
    state = numgrad.get_rng_state()
    assert (state.dtype, state.shape) == (numgrad.uint8, (5056,))
    assert state[:24].tolist() == [5, 0, 0, 0, 0, 0, 0, 0, 98, 2, 0, 0, 1, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0]
    assert state[5024:5032].tolist() == [44, 7, 140, 236, 91, 92, 229, 63]  # the second number of a pair, which is kept
    assert state[5040:5044].tolist() == [1, 0, 0, 0]
    assert int(state.numpy().astype(int).sum()) == 326139


# -- ranges and distributions -------------------------------------------------------------------------------------


def test_a_state_brings_the_numbers_back():
    numgrad.randn(3)  # the second number of a pair is kept
    state = numgrad.get_rng_state()
    first = numgrad.randn(5).tolist(), numgrad.rand(700).tolist()
    numgrad.set_rng_state(state)
    assert (numgrad.randn(5).tolist(), numgrad.rand(700).tolist()) == first
    other = Generator().set_state(state)
    assert numgrad.randn(5, generator=other).tolist() == first[0]
    again = pickle.loads(pickle.dumps(other))
    assert again.initial_seed() == other.initial_seed() == 3
    assert numgrad.rand(4, generator=again).tolist() == numgrad.rand(4, generator=copy.deepcopy(other)).tolist()


@pytest.mark.parametrize(
    ("state", "error"),
    [(numgrad.zeros(5056, dtype=numgrad.uint8), RuntimeError), (numgrad.zeros(7, dtype=numgrad.uint8), RuntimeError),
     (numgrad.zeros(5056), TypeError), ([1, 2], TypeError)],
    ids=["zeros", "short", "float", "list"],
)
def test_a_wrong_state_is_refused_and_changes_nothing(state, error):
    before = numgrad.get_rng_state().tolist()
    with pytest.raises(error):
        numgrad.set_rng_state(state)
    assert numgrad.get_rng_state().tolist() == before


def test_numbers_lie_in_their_range():
    for low, high in ((0, 7), (-3, 4), (2**35, 2**35 + 3), (-(2**63), 2**63 - 1)):
        drawn = numgrad.randint(low, high, (500,)).numpy()
        assert low <= drawn.min() <= drawn.max() < high
    assert set(numgrad.randint(3, (200,)).tolist()) == {0, 1, 2}
    uniform = empty(1000).uniform_(2, 3).numpy()
    assert 2 <= uniform.min() < uniform.max() < 3
    assert sorted(numgrad.randperm(100).tolist()) == list(range(100))
    assert empty(3).bernoulli_(1).tolist() == [1, 1, 1]
    assert empty(3).bernoulli_(0).tolist() == [0, 0, 0]
    picks = numgrad.multinomial(tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0]]), 2)
    assert [sorted(row) for row in picks.tolist()] == [[1, 2], [0, 2]]
    assert numgrad.randint_like(numgrad.zeros(2, 3), 4).shape == (2, 3)


def test_frequencies():
    share = numgrad.bernoulli(numgrad.full((4000,), 0.2)).numpy().mean()
    assert abs(share - 0.2) < 0.03
    counts = np.bincount(numgrad.multinomial(tensor([1.0, 2.0, 5.0]), 8000, True).numpy(), minlength=3)
    np.testing.assert_allclose(counts / 8000, [0.125, 0.25, 0.625], atol=0.03)
    waits = empty(4000).exponential_(4).numpy()
    assert abs(waits.mean() - 0.25) < 0.02


def test_memory_order_decides_which_element_gets_which_number():
    manual_seed(1)
    rows = empty(3, 4).uniform_()
    manual_seed(1)
    columns = empty(4, 3).t().uniform_()
    assert columns.t().reshape(-1).tolist() == rows.reshape(-1).tolist()


def test_generators_are_independent():
    one = Generator().manual_seed(4)
    expected = numgrad.randint(100, (5,), generator=Generator().manual_seed(4)).tolist()
    numgrad.rand(3)
    assert numgrad.randint(100, (5,), generator=one).tolist() == expected
    with pytest.raises(TypeError, match=r"must be numgrad\.Generator, not int"):
        numgrad.randperm(4, generator=5)


# -- graphs and errors --------------------------------------------------------------------------------------------


def test_overwritten_tensors_have_no_gradient():
    for fill, node in (("uniform_", "UniformBackward0"), ("normal_", "NormalBackward0"),
                       ("bernoulli_", "BernoulliBackward2"), ("exponential_", "ExponentialBackward0")):
        x = numgrad.ones(3, requires_grad=True)
        y = x * 2
        version = y._version
        getattr(y, fill)()
        assert (y.grad_fn.name(), y._version) == (node, version + 1)
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("draw", "node"),
    [(lambda p: numgrad.normal(p, 1.0), "NormalBackward1"), (lambda p: numgrad.normal(1.0, p), "NormalBackward2"),
     (lambda p: numgrad.normal(p, p), "NormalBackward3"), (numgrad.bernoulli, "BernoulliBackward0")],
    ids=["mean", "std", "both", "bernoulli"],
)
def test_drawn_numbers_give_their_parameters_zero_gradients(draw, node):
    p = numgrad.full((3,), 0.5, requires_grad=True)
    drawn = draw(p)
    assert drawn.grad_fn.name() == node
    drawn.sum().backward()
    assert p.grad.tolist() == [0, 0, 0]


ERRORS = [
    (lambda x: numgrad.randint(5, 2, (3,)), RuntimeError, "'from' to be less than 'to', but got from=5 >= to=2"),
    (lambda x: numgrad.randint(0, 300, (3,), dtype=numgrad.uint8), RuntimeError, "to - 1 is out of bounds"),
    (lambda x: numgrad.randint((3,)), TypeError, "missing argument 'high'"),
    (lambda x: x.uniform_(2, 1), RuntimeError, r"found from=2 > to=1"),
    (lambda x: x.normal_(0, -1), RuntimeError, "std >= 0.0, but found std -1"),
    (lambda x: x.bernoulli_(1.5), RuntimeError, r"p to be in \[0, 1\], but got p=1.5"),
    (lambda x: x.exponential_(0), RuntimeError, "lambda > 0.0"),
    (lambda x: x.random_(5, 2), RuntimeError, "from=5 >= to=2"),
    (lambda x: x.uniform_(0, math.inf), RuntimeError, "found to=inf"),
    (lambda x: x.uniform_(-math.inf, 0), RuntimeError, "found from=-inf"),
    (lambda x: x.uniform_(-3e38, 3e38), RuntimeError, r"torch.float32 can hold, but found to - from=6e\+38"),
    (lambda x: x.random_(0, 2**64), RuntimeError, "to - 1 is out of bounds for torch.int64"),
    (lambda x: x.uniform_(till=3), TypeError, "till"),
    (lambda x: x.uniform_(0, to=3, **{"from": 1}), TypeError, "multiple values for argument 'from'"),
    (lambda x: numgrad.bernoulli(tensor([1.5])), RuntimeError, "p_in >= 0 && p_in <= 1"),
    (lambda x: numgrad.bernoulli(tensor([1])), NotImplementedError, "'Long'"),
    (lambda x: numgrad.multinomial(tensor([0.0, 0.0]), 1), RuntimeError, "sum of probabilities <= 0"),
    (lambda x: numgrad.multinomial(tensor([-1.0, 0.0]), 1), RuntimeError, "element < 0"),
    (lambda x: numgrad.multinomial(tensor([1.0, 1.0]), 3), RuntimeError, r"without replacement: 3 of shape \[2\]"),
    (lambda x: numgrad.multinomial(tensor([1.0]), 0), RuntimeError, "n_sample <= 0"),
    (lambda x: numgrad.multinomial(tensor(1.0), 1), RuntimeError, "1 or 2 dim"),
    (lambda x: numgrad.randperm(-1), RuntimeError, "negative dimension -1"),
    (lambda x: numgrad.randperm(300, dtype=numgrad.uint8), RuntimeError, "without overflow"),
    (lambda x: numgrad.normal(numgrad.zeros(2), tensor([-1.0, 1.0])), RuntimeError, r"std >= 0.0 \(shape \[2\]\)"),
    (lambda x: numgrad.normal(0.0, 1.0), TypeError, "'size'"),
    (lambda x: numgrad.empty(3, dtype=numgrad.int64).normal_(), NotImplementedError, "'Long'"),
    (lambda x: numgrad.ones(3, requires_grad=True).normal_(), RuntimeError, "leaf Variable that requires grad"),
    (lambda x: x.expand(2, 3).uniform_(), RuntimeError, "more than one element"),
]


@pytest.mark.parametrize(("operation", "error", "message"), ERRORS, ids=[message for _, _, message in ERRORS])
def test_errors_leave_everything_as_it_was(operation, error, message):
    x = numgrad.ones(3)
    state = numgrad.get_rng_state().tolist()
    refused(lambda: operation(x), error, message, x)
    assert numgrad.get_rng_state().tolist() == state


# -- against PyTorch -----------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_like_pytorch():
    import torch

    programs = """m.randint(7, (33,)); m.randint(2**28, (5,)); m.randint(-(2**33), 2**33, (6,)); m.randperm(50)
m.empty(5).random_(4); m.empty(40).uniform_(-1, 4); m.empty(4, 5).t().uniform_(); m.empty(17).normal_(2, 3)
m.empty(20, 3).t().normal_(); m.empty(33, dtype=m.float64).normal_(); m.empty(9).bernoulli_(0.4); m.rand(3)
m.bernoulli(m.linspace(0, 1, 30)); m.normal(m.arange(40.0), 2.0); m.normal(0.5, m.ones(5)); m.empty(30).exponential_(3)
m.multinomial(m.linspace(0, 1, 12), 7); m.multinomial(m.ones(3, 5), 9, True); m.multinomial(m.ones(4), 1, True)
m.randint_like(m.zeros(3), 2, 9); m.randn(17, dtype=m.complex64); m.rand(3, dtype=m.complex128); m.get_rng_state()
m.empty(6, 4)[:, ::2].random_(100); m.empty(3, dtype=m.int64).bernoulli_(m.full((3,), 0.5))
m.randn_like(m.ones(3, 7).t()); m.empty(4, 6, dtype=m.complex64).t().uniform_(1.5, 2.5)
m.empty(9, dtype=m.complex128).normal_(1.5, 2.5); m.nn.Linear(3, 2, dtype=m.complex64).weight.detach()
"""
    for seed in (0, 7, 2**33 + 1):
        for m in (numgrad, torch):
            m.manual_seed(seed)
        for program in programs.replace("\n", ";").split(";"):
            if program.strip():
                found, expected = (eval(program, {"m": m}) for m in (numgrad, torch))
                assert str(found.dtype) == str(expected.dtype), program
                np.testing.assert_allclose(found.numpy(), expected.numpy(), 5e-6, 1e-6, err_msg=program)


def test_randint_like_takes_its_bounds_by_name():
    numgrad.manual_seed(0)
    expected = numgrad.randint(2, 5, (2, 3), dtype=numgrad.float32)
    numgrad.manual_seed(0)
    assert numgrad.equal(numgrad.randint_like(numgrad.zeros(2, 3), low=2, high=5), expected)


def test_the_module_of_random_numbers_has_the_default_generators_state():
    state = numgrad.random.get_rng_state()
    drawn = numgrad.rand(3)
    numgrad.random.set_rng_state(state)
    assert numgrad.equal(numgrad.rand(3), drawn)
