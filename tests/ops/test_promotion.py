"""The dtype in which tensors and numbers of different dtypes meet.

PyTorch's rule: of the operands with dimensions, the 0-d tensors and the Python numbers, each group has the smallest
dtype that its members can be converted to; a later group counts only if it is of a higher category (bool, integer,
floating point).  A Python float stands for float32, the default.
"""

import itertools

import pytest
from snapshots import refused

import numgrad
from numgrad import cat, float32, float64, int64, maximum, promote_types, stack, tensor, where

BOOL = numgrad.bool
DTYPES = [BOOL, int64, float32, float64]  # every one can be converted to the next


def rows(dtype):
    return tensor([1, 1], dtype=dtype)


def scalar(dtype):
    return tensor(1, dtype=dtype)


# The contribution of an operand (a maker and its dtype), and the dtype of ``operand + rows(dtype)`` for each of DTYPES.
OPERANDS = [
    (lambda: rows(BOOL), [BOOL, int64, float32, float64]),
    (lambda: rows(int64), [int64, int64, float32, float64]),
    (lambda: rows(float32), [float32, float32, float32, float64]),
    (lambda: rows(float64), [float64, float64, float64, float64]),
    (lambda: scalar(BOOL), [BOOL, int64, float32, float64]),
    (lambda: scalar(int64), [int64, int64, float32, float64]),
    (lambda: scalar(float32), [float32, float32, float32, float64]),
    (lambda: scalar(float64), [float64, float64, float32, float64]),
    (lambda: True, [BOOL, int64, float32, float64]),
    (lambda: 2, [int64, int64, float32, float64]),
    (lambda: 2.5, [float32, float32, float32, float64]),
]
PAIRS = [(make, dtype, out) for make, outs in OPERANDS for dtype, out in zip(DTYPES, outs, strict=True)]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(DTYPES, repeat=2)))
def test_two_dtypes_promote_to_the_larger(first, second):
    assert promote_types(first, second) is max(first, second, key=DTYPES.index)


@pytest.mark.parametrize(("make", "dtype", "expected"), PAIRS)
def test_arithmetic(make, dtype, expected):
    other, x = make(), rows(dtype)
    for result in (x + other, other * x):
        assert result.dtype is expected
        assert result.shape == (2,)


SOME_PAIRS = [pair for pair in PAIRS if pair[1] in (int64, float32)]


@pytest.mark.parametrize(("make", "dtype", "expected"), SOME_PAIRS)
def test_where_and_division(make, dtype, expected):
    other, x = make(), rows(dtype)
    condition = tensor([True, False])
    assert where(condition, other, x).dtype is expected
    assert (x / other).dtype is (expected if expected.is_floating_point else float32)


@pytest.mark.parametrize(("make", "dtype", "expected"), SOME_PAIRS)
def test_comparisons_give_bool(make, dtype, expected):
    other, x = make(), rows(dtype)
    for result in (x == other, other >= x):
        assert result.dtype is BOOL


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (scalar(float64), scalar(float32), float64),  # among 0-d tensors: as among others
        (scalar(int64), scalar(BOOL), int64),
        (scalar(int64), 2.5, float32),
        (scalar(float64), 2.5, float64),
        (scalar(float32), 2, float32),
        (scalar(BOOL), 2, int64),
        (scalar(BOOL), True, BOOL),
    ],
)
def test_0d_tensors_with_each_other_and_with_numbers(first, second, expected):
    assert (first + second).dtype is expected
    assert (second + first).dtype is expected


def test_numbers_are_computed_with_in_the_promoted_dtype():
    assert (tensor([1, 2]) * 1.5).tolist() == [1.5, 3]
    assert (tensor([True, False]) + 2).tolist() == [3, 2]
    assert (tensor([2**24 + 1]) + tensor([0.0])).tolist() == [2**24]  # float32 has no such integer
    assert (tensor([2**24 + 1]) + tensor([0.0], dtype=float64)).tolist() == [2**24 + 1]
    assert (tensor([0.5]) + tensor(2**-30, dtype=float64)).tolist() == [0.5]  # stays float32


def test_comparisons_compare_in_the_promoted_dtype():
    assert (tensor([1]) == 1.5).tolist() == [False]
    assert (tensor([1, 2]) < 1.5).tolist() == [True, False]
    assert (tensor([0.1]) == 0.1).tolist() == [True]  # the number is rounded to float32
    assert (tensor([0.1]) == tensor(0.1, dtype=float64)).tolist() == [True]
    assert (tensor([0.1]) == tensor([0.1], dtype=float64)).tolist() == [False]
    assert (tensor([2**24 + 1]) == tensor([2.0**24])).tolist() == [True]
    assert (tensor([True, False]) == tensor([1, 2])).tolist() == [True, False]


# --- division and powers ----------------------------------------------------------------


def test_division():
    assert (tensor([1, 2]) / tensor([2, 4])).tolist() == [0.5, 0.5]
    assert (tensor([True]) / tensor([True])).dtype is float32
    assert (1 / tensor([2, 4])).dtype is float32
    assert (tensor([7, -7]) // 2).tolist() == [3, -4]
    assert (tensor([7, -7]) // 2).dtype is int64
    assert (tensor([7.0, -7.0]) // 2).tolist() == [3, -4]
    assert (tensor([7, -7]) // 2.0).dtype is float32
    assert (tensor([7, -7]) % 4).tolist() == [3, 1]
    assert (tensor([7, -7]) % 4).dtype is int64


@pytest.mark.parametrize(
    ("base", "exponent", "dtype", "values"),
    [
        (tensor([2, 3]), 2, int64, [4, 9]),
        (tensor([2, 3]), 2.0, float32, [4, 9]),
        (tensor([4, 9]), 0.5, float32, [2, 3]),
        (tensor([2.0, 3.0]), 2, float32, [4, 9]),
        (tensor([2.0, 4.0], dtype=float64), -1, float64, [0.5, 0.25]),
        (tensor([True, False]), 2, int64, [1, 0]),
        (tensor([2, 3]), tensor([3, 2]), int64, [8, 9]),
        (tensor([2, 4]), tensor([2.0, -1.0]), float32, [4, 0.25]),
        (tensor([2.0, 4.0]), tensor([2, -1]), float32, [4, 0.25]),
        (2, tensor([2, 3]), int64, [4, 8]),
        (2.0, tensor([2, 3]), float32, [4, 8]),
        (2, tensor([0.5, 2.0], dtype=float64), float64, [2**0.5, 4]),
        (tensor(2.0, dtype=float64), tensor([2.0, 3.0]), float32, [4, 8]),
    ],
)
def test_powers(base, exponent, dtype, values):
    result = base**exponent
    assert result.dtype is dtype
    assert result.tolist() == values


def test_integers_to_negative_integer_powers_are_refused():
    x = tensor([2, 3])
    with refused(RuntimeError, [x], "Integers to negative integer powers are not allowed", "torch.int64", "[2]"):
        x**-1


# --- functions --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "sigmoid"])
def test_functions_of_integers_are_float32(name):
    function = getattr(numgrad, name)
    for dtype in (int64, BOOL):
        result = function(rows(dtype))
        assert result.dtype is float32
        assert result.tolist() == function(rows(float32)).tolist()
    assert function(rows(float64)).dtype is float64


def test_functions_that_keep_the_dtype():
    assert numgrad.relu(tensor([-1, 2])).tolist() == [0, 2]
    assert numgrad.abs(tensor([-1, 2])).tolist() == [1, 2]
    assert (-tensor([-1, 2])).dtype is int64
    assert maximum(tensor([1, 2]), tensor([1.5, 1.5])).tolist() == [1.5, 2]
    assert numgrad.max(tensor([True, False])).item() is True
    assert numgrad.max(tensor([1, 3])).dtype is int64
    assert numgrad.argmax(tensor([1.0, 3.0])).dtype is int64


def test_sums_of_integers_and_bools_are_int64():
    assert numgrad.sum(tensor([True, True])).item() == 2
    assert numgrad.sum(tensor([True, True])).dtype is int64
    small = tensor([200, 100], dtype=numgrad.uint8)
    for result, value in ((small.sum(), 300), (small.prod(), 20_000), (small.cumsum(0)[-1], 300)):
        assert (result.item(), result.dtype) == (value, int64)
    assert numgrad.sum(tensor([1, 2]), dtype=float64).dtype is float64
    assert numgrad.mean(tensor([1, 2]), dtype=float32).item() == 1.5
    for dtype in (int64, BOOL):
        with pytest.raises(RuntimeError, match="mean.*floating point.*" + dtype.legacy):
            numgrad.mean(rows(dtype))


@pytest.mark.parametrize(("first", "second"), list(itertools.product(DTYPES, repeat=2)))
def test_cat_and_stack(first, second):
    larger = promote_types(first, second)
    for join in (cat, stack):
        result = join([rows(first), rows(second)])
        assert result.dtype is larger
        assert result.reshape(-1).tolist() == [1, 1, 1, 1]
    # in cat a 0-d tensor would have no dimension to join along; a tensor of size 1 has, and counts in full
    assert cat([rows(first), tensor([1], dtype=second)]).dtype is larger


# --- in place ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "other"),
    [
        (rows(int64), 1.5),
        (rows(int64), scalar(float32)),
        (rows(int64), rows(float32)),
        (rows(BOOL), 1),
        (rows(BOOL), rows(int64)),
        (scalar(int64), rows(float32)[0]),
    ],
)
@pytest.mark.parametrize("name", ["__iadd__", "__imul__", "add_", "mul_"])
def test_a_result_of_a_higher_category_does_not_fit_in_place(target, other, name):
    words = ["result type", "can't be cast to the desired output type", target.dtype.legacy]
    with refused(RuntimeError, [target], *words):
        getattr(target, name)(other)


def test_in_place_division_and_functions_of_integers_are_refused():
    x = tensor([4, 9])
    for change in (
        lambda: x.div_(2), lambda: x.exp_(), lambda: x.sqrt_(), lambda: x.pow_(0.5), lambda: x.__itruediv__(2),
    ):  # fmt: skip
        with refused(RuntimeError, [x], "result type Float can't be cast to the desired output type Long"):
            change()


@pytest.mark.parametrize(
    ("target", "other", "values"),
    [
        (rows(float32), rows(float64), [2, 2]),
        (rows(float32), rows(int64), [2, 2]),
        (rows(float32), True, [2, 2]),
        (rows(float64), 1.5, [2.5, 2.5]),
        (rows(int64), True, [2, 2]),
        (rows(int64), rows(BOOL), [2, 2]),
        (rows(BOOL), True, [True, True]),
    ],
)
def test_results_that_fit_keep_the_dtype_in_place(target, other, values):
    target = target.clone()
    dtype, address = target.dtype, target.data_ptr()
    target += other
    assert target.dtype is dtype
    assert target.data_ptr() == address
    assert target.tolist() == values


def test_copy_and_fill_convert():
    x = tensor([1, 2])
    assert x.copy_(tensor([1.75, -2.75])).tolist() == [1, -2]
    assert x.fill_(2.75).tolist() == [2, 2]
    assert x.fill_(True).tolist() == [1, 1]
    assert tensor([0.5, 0.25]).copy_(tensor([True, False])).tolist() == [1, 0]


# --- gradients --------------------------------------------------------------------------


@pytest.mark.parametrize("other", [rows(float64), rows(int64) * 2, scalar(float64), 3, True])
def test_gradients_come_back_in_the_dtype_of_their_leaf(other):
    x = tensor([1.0, 1.0], requires_grad=True)
    (x * other).sum().backward()
    assert x.grad.dtype is float32
    value = other if not isinstance(other, numgrad.Tensor) else other.reshape(-1)[0].item()
    assert x.grad.tolist() == [value, value]
