"""Making tensors: filled, as ranges, at random, like others; their sizes, dtypes and flags."""

from math import inf, isnan, nan

import numpy as np
import pytest
from snapshots import refused

import numgrad
from numgrad import float32, float64, int64, ones, tensor, zeros

BOOL = numgrad.bool

# --- filled -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zeros, ones, numgrad.empty, numgrad.rand])
def test_a_size_is_what_it_is_now(make):
    size = tensor(2)
    assert make(size).shape == (2,)
    size.fill_(3)
    assert make(size).shape == (3,)
    assert make(1, 2).shape == make((1, 2)).shape == (1, 2)
    for wrong in [(True, 2), ((True, 2),), (1.0, 2), ([1, 2.0],)]:
        with pytest.raises(TypeError, match="a size must be ints"):
            make(*wrong)


def test_fill_values_are_distinguished_by_type_and_value():
    made = [numgrad.full((1,), value) for value in (1, 1.0, True, 0.0, -0.0, nan)]
    assert [one.dtype for one in made] == [int64, float32, BOOL, float32, float32, float32]
    assert repr([one.item() for one in made]) == "[1, 1.0, True, 0.0, -0.0, nan]"
    x = zeros(1)
    assert x.fill_(2.5).item() == 2.5
    for call in (lambda: x.fill_(1e39), lambda: numgrad.full((1,), 1e39), lambda: numgrad.full_like(x, 10**39)):
        with pytest.raises((RuntimeError, OverflowError), match=r"cannot be converted|too large"):
            call()
    assert x.item() == 2.5
    assert tensor(1e39).item() == inf


def test_a_new_default_dtype_counts_at_once():
    calls = [lambda: zeros(2), lambda: numgrad.arange(2.0), lambda: tensor(2.5), lambda: numgrad.full((2,), 1.5)]
    assert [call().dtype for call in calls] == [float32] * 4
    numgrad.set_default_dtype(float64)
    try:
        assert [call().dtype for call in calls] == [float64] * 4
    finally:
        numgrad.set_default_dtype(float32)


@pytest.mark.parametrize("make", [zeros, ones, numgrad.empty, numgrad.rand, numgrad.randn])
def test_sizes(make):
    assert make(2, 3).shape == make((2, 3)).shape == make([2, 3]).shape == make(size=(2, 3)).shape == (2, 3)
    assert make(numgrad.Size([4])).shape == make(np.int64(4)).shape == make(tensor(4)).shape == (4,)
    assert make(()).shape == ()
    assert make(0).shape == (0,)
    assert make(2, 0).shape == (2, 0)
    assert make(2).dtype is float32
    assert make(2, dtype=float64).dtype is float64


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ((-1,), RuntimeError, r"negative dimension -1: \[-1\]"),
        (([2, -3],), RuntimeError, r"negative dimension -3: \[2, -3\]"),
        ((2.0,), TypeError, "must be ints, not float"),
        (("2",), TypeError, "must be ints, not str"),
        ((2, None), TypeError, "must be ints, not NoneType"),
        ((True,), TypeError, "must be ints, not bool"),
        (([[2]],), TypeError, "must be ints, not list"),
        ((), TypeError, "missing 1 required positional argument"),
    ],
)
@pytest.mark.parametrize("make", [zeros, numgrad.randn])
def test_bad_sizes(make, sizes, error, message):
    with pytest.raises(error, match=message):
        make(*sizes)
    with pytest.raises(TypeError, match="'size'"):
        make(2, size=(2,))


@pytest.mark.parametrize("dtype", [float32, float64, int64, BOOL])
def test_values(dtype):
    assert zeros(2, dtype=dtype).tolist() == [0, 0]
    assert ones(2, dtype=dtype).tolist() == [1, 1]
    assert numgrad.empty(2, dtype=dtype).dtype is dtype
    assert numgrad.full((1, 2), 1, dtype=dtype).tolist() == [[1, 1]]
    assert numgrad.eye(2, 3, dtype=dtype).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert numgrad.eye(3, 2, dtype=dtype).tolist() == [[1, 0], [0, 1], [0, 0]]


def test_eye():
    assert numgrad.eye(2).tolist() == [[1, 0], [0, 1]]
    assert numgrad.eye(0).shape == (0, 0)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        numgrad.eye(-1)
    with pytest.raises(TypeError, match="must be ints, not float"):
        numgrad.eye(2.5)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(3, int64), (2.5, float32), (True, BOOL), (np.float64(2.5), float32), (np.int64(3), int64), (tensor(3), int64)],
)
def test_full_takes_the_dtype_of_its_number(value, dtype):
    x = numgrad.full((2,), value)
    assert x.dtype is dtype
    assert x.tolist() == [value, value]


def test_full_of_what_does_not_fit():
    assert isnan(numgrad.full((), nan).item())
    assert numgrad.full((2,), 3.75, dtype=int64).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="cannot be converted to type int64 without overflow"):
        numgrad.full((2,), nan, dtype=int64)
    with pytest.raises(RuntimeError, match="cannot be converted to type float32 without overflow"):
        numgrad.full((2,), 1e300)
    with pytest.raises(OverflowError):
        numgrad.full((2,), 10**30)
    for value in ("a", None, [1]):
        with pytest.raises(TypeError, match="must be a number"):
            numgrad.full((2,), value)
    with pytest.raises(TypeError, match="must be tuple of ints, not int"):
        numgrad.full(2, 3.0)


# --- ranges -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "dtype", "values"),
    [
        ((4,), int64, [0, 1, 2, 3]),
        ((4.0,), float32, [0, 1, 2, 3]),
        ((1, 4), int64, [1, 2, 3]),
        ((1, 6, 2), int64, [1, 3, 5]),
        ((5, 1, -2), int64, [5, 3]),
        ((0, 1, 0.25), float32, [0, 0.25, 0.5, 0.75]),
        ((1, 0, -0.5), float32, [1, 0.5]),
        ((0.5,), float32, [0]),
        ((0,), int64, []),
        ((3, 3), int64, []),
        ((tensor(3),), int64, [0, 1, 2]),
        ((np.int64(3),), int64, [0, 1, 2]),
        ((np.float64(3),), float32, [0, 1, 2]),
    ],
)
def test_arange(arguments, dtype, values):
    x = numgrad.arange(*arguments)
    assert x.dtype is dtype
    assert x.tolist() == values


def test_arange_in_a_given_dtype():
    assert numgrad.arange(3, dtype=float64).dtype is float64
    assert numgrad.arange(2.5).tolist() == [0, 1, 2]
    assert numgrad.arange(end=3).tolist() == [0, 1, 2]
    assert numgrad.arange(start=1, end=3).tolist() == [1, 2]
    # each is computed for itself, and rounded once
    assert numgrad.arange(0, 1, 0.1, dtype=float64).tolist() == [i * 0.1 for i in range(10)]
    assert numgrad.arange(0, 1, 0.1).tolist() == [float(np.float32(i * 0.1)) for i in range(10)]


@pytest.mark.filterwarnings("ignore:range is deprecated")
def test_range_includes_the_end():
    assert numgrad.range(0, 1, 0.25).equal(numgrad.arange(0, 1.25, 0.25))
    assert numgrad.range(4, 1, -2).equal(tensor([4.0, 2.0]))
    assert numgrad.range(0.5, 3.2, dtype=int64).equal(numgrad.arange(4))
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        numgrad.range(4, 1)


@pytest.mark.parametrize("dtype", [numgrad.uint8, numgrad.int8, numgrad.int16, numgrad.int32])
@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((0, 3.1), [0, 1, 2, 3]),
        ((1.0, 5.000001, 2.0), [1, 3, 5]),
        ((0.5, 4, 1.5), [0, 1, 2]),
        ((3.9, 0, -1), [3, 2, 1, 0]),
        ((0, 1.2, 0.5), [0, 0, 0]),
    ],
)
def test_arange_of_integers_counts_before_it_truncates(arguments, values, dtype):
    assert numgrad.arange(*arguments, dtype=dtype).tolist() == values


@pytest.mark.parametrize(("arguments", "values"), [
    ((2.5,), [0, 1]), ((0, 3.1), [0, 1, 2]), ((1.0, 5.000001, 2.0), [1, 3]), ((0.5, 4, 1.5), [0, 1, 2, 3]),
])
def test_arange_of_int64_truncates_first_as_in_pytorch(arguments, values):
    assert numgrad.arange(*arguments, dtype=int64).tolist() == values


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, 5, 0), RuntimeError, "step must be nonzero"),
        ((5, 1), RuntimeError, "upper bound and lower bound inconsistent with step sign: 5 -> 1 by 1"),
        ((-3,), RuntimeError, "inconsistent with step sign"),
        ((1, 5, -1), RuntimeError, "inconsistent with step sign"),
        ((nan,), RuntimeError, "unsupported range: 0 -> nan"),
        ((0, inf), RuntimeError, "unsupported range: 0 -> inf"),
        (("3",), TypeError, "must be numbers, not str"),
        ((), TypeError, "must be numbers, not NoneType"),
        ((1, [2]), TypeError, "must be numbers, not list"),
    ],
)
def test_bad_ranges(arguments, error, message):
    with pytest.raises(error, match=message):
        numgrad.arange(*arguments)
    with pytest.raises(NotImplementedError, match="'Bool'"):
        numgrad.arange(2, dtype=BOOL)


# --- random -----------------------------------------------------------------------------


def test_the_seed_decides():
    numgrad.manual_seed(0)
    first = numgrad.rand(2, 2).tolist() + numgrad.randn(3).tolist()
    numgrad.manual_seed(0)
    assert numgrad.rand(2, 2).tolist() + numgrad.randn(3).tolist() == first
    assert numgrad.rand(2, 2).tolist() != first[:2]
    numgrad.manual_seed(0)
    numgrad.rand(3, generator=numgrad.Generator().manual_seed(1))  # leaves the default generator alone
    # PyTorch's numbers for this seed
    assert repr(numgrad.rand(2, 2)) == "tensor([[0.4963, 0.7682],\n        [0.0885, 0.1320]])"


@pytest.mark.parametrize("make", [numgrad.rand, numgrad.randn])
def test_random_numbers_are_floating_point(make):
    with pytest.raises(NotImplementedError, match=r"not implemented for 'Long' \(shape \[2\]\)"):
        make(2, dtype=int64)


# --- like others ------------------------------------------------------------------------

LIKE = {
    "zeros_like": 0, "ones_like": 1, "empty_like": None, "rand_like": None, "randn_like": None,
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
def test_like(name):
    make = getattr(numgrad, name)
    x = zeros(3, 2, dtype=float64, requires_grad=True)
    y = make(x)
    assert (y.shape, y.dtype, y.requires_grad) == ((3, 2), float64, False)
    assert make(x, dtype=float32).dtype is float32
    if LIKE[name] is not None:
        assert y.tolist() == [[LIKE[name]] * 2] * 3
        assert make(tensor([1, 2])).dtype is int64
    assert make(zeros(3, 2).t()).stride() == (1, 2)  # the order of dimensions is kept, gaps are not
    assert make(zeros(2, 4)[:, ::2]).stride() == (2, 1)
    for value in ([1, 2], np.ones(2)):
        with pytest.raises(TypeError, match=f"{name}.*must be Tensor, not {type(value).__name__}"):
            make(value)


def test_full_like():
    x = numgrad.full_like(zeros(3, 2, dtype=float64).t(), 7)
    assert (x.tolist(), x.dtype, x.stride()) == ([[7] * 3] * 2, float64, (1, 2))
    assert numgrad.full_like(tensor([1, 2]), 2.75).tolist() == [2, 2]
    assert numgrad.full_like(tensor([1, 2]), 2.75, dtype=float32).tolist() == [2.75, 2.75]
    original = zeros(2)
    with refused(RuntimeError, [original], "without overflow"):
        numgrad.full_like(original, 1e300)


# --- flags, dtypes and devices ---------------------------------------------------------


def test_requires_grad_is_asked_for():
    for x in (
        tensor([1.0], requires_grad=True), zeros(2, requires_grad=True), ones(2, requires_grad=True),
        numgrad.full((2,), 1.5, requires_grad=True), numgrad.empty(2, requires_grad=True),
        numgrad.eye(2, requires_grad=True), numgrad.arange(3.0, requires_grad=True),
        numgrad.rand(2, requires_grad=True), numgrad.randn(2, requires_grad=True),
        numgrad.ones_like(zeros(2), requires_grad=True), numgrad.full_like(zeros(2), 3, requires_grad=True),
    ):  # fmt: skip
        assert x.requires_grad
        assert x.is_leaf
        assert x._version == 0
        assert x.grad is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: tensor([1, 2], requires_grad=True),
        lambda: tensor([True], requires_grad=True),
        lambda: zeros(2, dtype=int64, requires_grad=True),
        lambda: ones(2, dtype=BOOL, requires_grad=True),
        lambda: numgrad.full((2,), 3, requires_grad=True),
        lambda: numgrad.arange(3, requires_grad=True),
        lambda: numgrad.eye(2, dtype=int64, requires_grad=True),
        lambda: numgrad.zeros_like(tensor([1, 2]), requires_grad=True),
    ],
)
def test_integers_cannot_require_gradients(make):
    with pytest.raises(RuntimeError, match=r"Only Tensors of floating point and complex dtype.*torch\.(int64|bool)"):
        make()


@pytest.mark.parametrize("make", [lambda **k: tensor([1.0], **k), lambda **k: zeros(2, **k), numgrad.arange])
def test_dtypes_and_devices_that_are_not_there(make):
    make = make if make is not numgrad.arange else lambda **k: numgrad.arange(3, **k)
    with pytest.raises(TypeError, match="numgrad has no dtype 3"):
        make(dtype=3)
    with pytest.raises(TypeError, match=r"numgrad has no dtype.*M8"):
        make(dtype=np.dtype("datetime64[s]"))
    with pytest.raises(RuntimeError, match="at start of device string: tpu"):
        make(device="tpu")
    with pytest.raises(TypeError, match="must be str or device, not float"):
        make(device=2.5)
    assert make(device="cpu").device == make(device=numgrad.device("cpu")).device


def test_the_ends_of_rows_of_integers_are_integers():
    for start, end in ((0.2, 9.7), (tensor(0.2), tensor(9.7)), (0, 9)):
        assert numgrad.linspace(start, end, 7, dtype=numgrad.int64).tolist() == [0, 1, 3, 4, 6, 7, 9]
    assert numgrad.linspace(-0.9, 7.9, 1, dtype=numgrad.int32).tolist() == [0]
    assert numgrad.logspace(0.9, 3.2, 4, dtype=numgrad.int64).tolist() == [1, 10, 100, 1000]
    assert numgrad.logspace(2.5, 4, 1, dtype=numgrad.int64).tolist() == [316]


@pytest.mark.parametrize("make", [numgrad.linspace, numgrad.logspace])
def test_the_ends_are_numbers(make):
    with pytest.raises(TypeError, match=r"argument 'start' \(position 1\) must be Number, not list"):
        make([1.0, 2.0], 3, 2)
    with pytest.raises(TypeError, match=r"argument 'end' \(position 2\) must be Number, not NoneType"):
        make(1.0, None, 2)
