"""Tensors from data: inferred dtypes, shared memory of arrays, and errors."""

from math import inf, nan

import numpy as np
import pytest

import numgrad
from numgrad import as_tensor, float32, float64, from_numpy, int64, tensor

BOOL = numgrad.bool

# --- data -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        (2.5, float32, 2.5),
        (2, int64, 2),
        (True, BOOL, True),
        ([], float32, []),
        ([[], []], float32, [[], []]),
        ([1, 2], int64, [1, 2]),
        ((1, 2), int64, [1, 2]),
        (range(3), int64, [0, 1, 2]),
        ([1, 2.5], float32, [1, 2.5]),
        ([True, 2], int64, [1, 2]),
        ([True, 0.5], float32, [1, 0.5]),
        ([True, False], BOOL, [True, False]),
        ([[1, 2], [3, 4.5]], float32, [[1, 2], [3, 4.5]]),
        ([[[1], [2]], [[3], [4]]], int64, [[[1], [2]], [[3], [4]]]),
        (np.float64(2.5), float64, 2.5),
        (np.float32(2.5), float32, 2.5),
        (np.int64(2), int64, 2),
        (np.bool_(True), BOOL, True),
        ([np.float64(2.5), 1], float64, [2.5, 1]),
        ([1, np.float64(2.5)], float64, [1, 2.5]),
        ([np.int64(1), 2], int64, [1, 2]),
        ([np.int64(1), np.float32(2.5)], float32, [1, 2.5]),
        (np.arange(3.0), float64, [0, 1, 2]),
        (np.array([1.5], np.float32), float32, [1.5]),
        (np.arange(3), int64, [0, 1, 2]),
        (np.array(2.5), float64, 2.5),
        ([np.arange(2.0), np.arange(2.0)], float64, [[0, 1], [0, 1]]),
        ([np.arange(2), [2, 3]], int64, [[0, 1], [2, 3]]),
        ([tensor(1.5), tensor(2.5)], float32, [1.5, 2.5]),
        ([tensor(1), 2.5], float32, [1, 2.5]),
        ([2, tensor(1.5, dtype=float64)], float64, [2, 1.5]),
        ([tensor([1]), tensor([[2]])], int64, [1, 2]),
        ([tensor(True), False], BOOL, [True, False]),
        (2**63 - 1, int64, 2**63 - 1),
        (-(2**63), int64, -(2**63)),
        (1e300, float32, inf),
    ],
)
def test_dtype_is_inferred(data, dtype, values):
    x = tensor(data)
    assert x.dtype is dtype
    assert x.tolist() == values
    assert x.shape == np.shape(values)
    assert x.is_contiguous()


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        ([1, 2], float64, [1, 2]),
        ([1.75, -1.75], int64, [1, -1]),
        ([0.0, 0.5, nan], BOOL, [False, True, True]),
        ([True, False], float32, [1, 0]),
        (10**30, float64, 1e30),
        ([0.1], float64, [0.1]),
        (np.array([1.75]), int64, [1]),
        (np.array([1e300]), float32, [inf]),
        ([tensor(2.5), tensor(3)], int64, [2, 3]),
        ([1, 2], float, [1, 2]),  # Python's types: float64, int64, bool
        ([1.5], int, [1]),
        ([2], bool, [True]),
        ([1, 2], np.float64, [1, 2]),
    ],
)
def test_dtype_is_asked_for(data, dtype, values):
    x = tensor(data, dtype=dtype)
    expected = {float: float64, int: int64, bool: BOOL, np.float64: float64}.get(dtype, dtype)
    assert x.dtype is expected
    assert x.tolist() == values


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1, 2], [3]], ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
        ([[1.0], [2.0, 3.0]], ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"),
        ([[1, 2], 3], ValueError, r"expected sequence of length 2 at dim 1 \(got 0\)"),
        ([[[1], [2]], [[3], [4, 5]]], ValueError, r"expected sequence of length 1 at dim 2 \(got 2\)"),
        ([[[1]], [[2], [3]]], ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"),
        ([np.zeros(2), np.zeros(3)], ValueError, r"expected sequence of length 2 at dim 1 \(got 3\)"),
        ([1, [2]], TypeError, "expected a number.*got a list"),
        ("text", TypeError, "invalid data type 'str'"),
        (["text"], ValueError, "too many dimensions 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        ([1, None], RuntimeError, "Could not infer dtype of NoneType"),
        ({1: 2}, RuntimeError, "Could not infer dtype of dict"),
        ([object()], RuntimeError, "Could not infer dtype of object"),
        (np.array(["text"]), TypeError, "numgrad has no dtype"),
        (np.array([1, 2], dtype=object), TypeError, "numgrad has no dtype"),
        (np.zeros(3, "datetime64[s]"), TypeError, "numgrad has no dtype.*M8"),
        ([tensor([1.0, 2.0])], ValueError, r"only one element tensors can be converted.*\[2\]"),
        (2**63, ValueError, "Overflow"),
        ([-(10**30)], ValueError, "Overflow"),
    ],
)
def test_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        tensor(data)


@pytest.mark.parametrize("value", [nan, inf, -inf, 1e30])
def test_numbers_that_an_integer_tensor_cannot_hold(value):
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64 without overflow"):
        tensor([value], dtype=int64)


def test_data_is_copied():
    array = np.arange(3.0)
    x = tensor(array)
    x[0] = 5
    assert array.tolist() == [0, 1, 2]


def test_copying_a_tensor_warns_and_gives_a_leaf():
    x = tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match=r"recommended to use sourceTensor.detach\(\).clone\(\)"):
        y = tensor(x * 2)
    assert y.tolist() == [2, 4]
    assert y.is_leaf
    assert not y.requires_grad


def test_the_order_of_dimensions_is_kept():
    array = np.arange(6.0).reshape(2, 3)
    assert tensor(array.T).stride() == (1, 3)
    assert tensor(np.broadcast_to(array[0], (4, 3))).stride() == (3, 1)
    assert tensor(array[:, ::-1]).tolist() == array[:, ::-1].tolist()


# --- NumPy ------------------------------------------------------------------------------


def test_from_numpy_shares_memory():
    array = np.arange(6.0).reshape(2, 3)
    x = from_numpy(array)
    assert x.dtype is float64
    x[0, 0] = 10
    array[1, 2] = 20
    assert array[0, 0] == 10
    assert x[1, 2].item() == 20
    assert from_numpy(np.array(2.5)).shape == ()
    assert from_numpy(np.array([True])).dtype is BOOL


@pytest.mark.parametrize(
    ("part", "strides"),
    [
        (lambda a: a.T, (1, 4)),
        (lambda a: a[::2, 1::2], (8, 2)),
        (lambda a: a[:, 1], (4,)),
        (lambda a: a[1:, 1:], (4, 1)),
        (lambda a: a.reshape(3, 2, 2).transpose(2, 0, 1), (1, 4, 2)),
    ],
)
def test_from_numpy_takes_strided_arrays(part, strides):
    array = np.arange(12.0).reshape(3, 4)
    piece = part(array)
    x = from_numpy(piece)
    assert x.stride() == strides
    assert x.tolist() == piece.tolist()
    assert (x + 1).tolist() == (piece + 1).tolist()
    x.add_(100)
    assert piece.min() >= 100
    assert array.sum() == 66 + 100 * piece.size


def test_from_numpy_of_an_empty_array():
    x = from_numpy(np.zeros((2, 0, 3)))
    assert x.shape == (2, 0, 3)
    assert x.tolist() == [[], []]


def test_an_array_that_cannot_be_written_warns_and_is_read():
    array = np.arange(4.0).reshape(2, 2)
    array.flags.writeable = False
    for make in (from_numpy, as_tensor):
        with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
            x = make(array)
        assert (x + 1).tolist() == [[1, 2], [3, 4]]
        assert (x.t() * 2).tolist() == [[0, 4], [2, 6]]
        assert x.sum().item() == 6
    with pytest.warns(UserWarning, match="not writable"):
        wide = from_numpy(np.broadcast_to(np.arange(3.0), (2, 3)))
    assert wide.stride() == (0, 1)
    assert (wide * 2).tolist() == [[0, 2, 4], [0, 2, 4]]
    assert tensor(array).tolist() == [[0, 1], [2, 3]]  # a copy needs no warning


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([1.0, 2.0], TypeError, r"expected np.ndarray \(got list\)"),
        (np.float64(1), TypeError, r"expected np.ndarray \(got float64\)"),
        (np.arange(4.0)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.zeros((3, 2))[:, ::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.zeros(3, [("a", "f4"), ("b", "i1")])["a"], ValueError, "not a multiple of the element byte size"),
        (np.arange(3).astype(">f4"), ValueError, "byte order"),
        (np.zeros(3, "datetime64[s]"), TypeError, "numgrad has no dtype.*M8"),
    ],
)
def test_arrays_that_no_tensor_can_stand_on(data, error, message):
    with pytest.raises(error, match=message):
        from_numpy(data)


def test_as_tensor_copies_only_what_it_must():
    x = tensor([1.0], requires_grad=True)
    assert as_tensor(x) is x
    assert as_tensor(x, dtype=float32) is x
    assert as_tensor(x, dtype=float64).grad_fn is not None
    array = np.arange(3.0)
    as_tensor(array)[0] = 5
    as_tensor(array, dtype=float64)[1] = 6
    as_tensor(array, dtype=float32)[2] = 7
    assert array.tolist() == [5, 6, 2]
    assert as_tensor([1, 2.5]).dtype is float32
    assert as_tensor(3).dtype is int64
