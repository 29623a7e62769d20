"""Reading and writing with tensors, arrays and lists as indices, against NumPy, and errors."""

import numpy as np
import pytest
from snapshots import refused, unchanged

import numgrad
from numgrad import arange, ones, tensor, zeros

ALL = slice(None)
P, Q = np.array([1, 0, -1]), np.array([2, 0, 1])
GRID = np.array([[0], [1]])
ROWS = np.array([True, False])
CUBE = np.arange(24.0).reshape(2, 3, 4)

#: Indices for which PyTorch and NumPy agree.
INDICES = [
    P, (P,), (ALL, Q), (..., Q), (P, Q), (P, ALL, Q), (ALL, P, Q), (P, Q, Q), (GRID, Q), (GRID, ALL, Q),
    (ALL, GRID), (P, slice(1, None)), (slice(1, None), Q), (None, P), (P, None), (P, None, Q), (..., P, Q),
    ROWS, (ROWS, 0 * P[:1]), (ALL, np.array([True, False, True])), CUBE > 7, CUBE[:, :, 0] > 5, (CUBE[:, :, 0] > 5, 1),
    (ALL, CUBE[0] > 5), (CUBE[:, :, 0] > 5, slice(1, 3)), CUBE > 99, P[:0], (P[:0], Q[:0]), [1, 0], [True, False],
    ([0, 1], [1, 2]), (range(2), 0), np.array(1), (P.astype(np.int32), Q), (P.astype(np.int8),), np.uint16([1, 0]),
]  # fmt: skip


def as_tensors(index):
    """The index with tensors instead of arrays."""
    if isinstance(index, tuple):
        return tuple(as_tensors(item) for item in index)
    if not isinstance(index, np.ndarray):
        return index
    return numgrad.from_numpy(index) if index.dtype.name in ("int64", "int32", "bool") else index


@pytest.fixture
def cube():
    return arange(24.0).reshape(2, 3, 4).clone()


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_is_numpys(cube, index):
    for given in (as_tensors(index), index):
        part = cube[given]
        expected = CUBE[list(index) if isinstance(index, range) else index]
        assert part.shape == expected.shape
        assert part.tolist() == expected.tolist()
    assert np.shares_memory(part.numpy(), cube.numpy()) == (isinstance(index, np.ndarray) and index.ndim == 0)


@pytest.mark.parametrize("layout", ["transposed", "stepped", "expanded"])
@pytest.mark.parametrize("index", INDICES[:20], ids=repr)
def test_every_layout_is_read(index, layout):
    x = arange(48.0).reshape(4, 3, 4).permute(2, 1, 0)[:2]
    if layout == "stepped":
        x = arange(96.0).reshape(4, 3, 8)[::2, :, ::2]
    elif layout == "expanded":
        x = arange(8.0).reshape(2, 1, 4).expand(2, 3, 4)
    assert x[as_tensors(index)].tolist() == x.numpy()[index].tolist()


def test_other_ways_to_give_an_index(cube):
    assert cube[True].shape == (1, 2, 3, 4)
    assert cube[False].shape == (0, 2, 3, 4)
    assert cube[:, tensor(True)].shape == (2, 1, 3, 4)
    assert cube[0, :, P].tolist() == CUBE[0][:, P].tolist()  # integers come before everything else, not so in NumPy
    assert cube[[]].shape == (0, 3, 4)
    assert cube[tensor(1), Q].tolist() == CUBE[1, Q].tolist()
    assert tensor(3.0)[tensor(True)].tolist() == [3]
    with pytest.warns(UserWarning, match="non-tuple sequence"):
        assert cube[[[0, 1], [1, 2]]].tolist() == CUBE[[0, 1], [1, 2]].tolist()
    with pytest.warns(UserWarning, match="uint8"):
        assert cube[tensor([1, 0], dtype=numgrad.uint8)].tolist() == CUBE[:1].tolist()


@pytest.mark.parametrize("dtype", ["uint8", "float64", "bool", "complex128"])
def test_every_dtype_is_read_and_written(dtype):
    x = tensor([[1, 0, 1], [0, 0, 1]], dtype=getattr(numgrad, dtype))
    assert x[:, tensor([2, 0])].tolist() == x.numpy()[:, [2, 0]].tolist()
    x[tensor([1]), tensor([0, 1])] = 1
    assert x.tolist() == np.array([[1, 0, 1], [1, 1, 1]], dtype).tolist()
    assert x.index_put((tensor([0, 0]), tensor([1, 1])), x[0, 0], accumulate=True)[0, 1] == x.numpy()[0, 0] + x[0, 0]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing_is_numpys(index):
    for given in (as_tensors(index), index):
        cube, array = arange(24.0).reshape(2, 3, 4).clone(), CUBE.copy()
        cube[given] = array[index] = -5
        assert cube.tolist() == array.tolist()
        assert cube._version == 1
        part = np.arange(array[index].size, dtype=np.float32).reshape(array[index].shape)
        cube[given] = tensor(part)
        array[index] = part
        assert cube.tolist() == array.tolist()


def test_values_are_broadcast():
    for value in (ones(4), ones(1, 3, 1), ones(1, 1, 2, 1, 4), tensor(1.0), [1.0, 1, 1, 1], np.ones((3, 4)), True):
        x = zeros(2, 3, 4)
        x[tensor([1, 0])] = value
        assert x.tolist() == ones(2, 3, 4).tolist()
    x = zeros(2, 3)
    x[x == 0] = tensor(2.0, dtype=numgrad.float64)  # of a mask, a single value is converted
    assert x.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_writing_through_views(cube):
    array = CUBE.copy()
    cube[1][tensor([0, 2])] = array[1][[0, 2]] = 7
    cube.permute(2, 0, 1)[tensor([3, 0]), 1] = array.transpose(2, 0, 1)[[3, 0], 1] = 8
    cube[:, ::2][..., tensor([1])] = array[:, ::2][..., [1]] = 9
    cube[tensor([1]), 1:] += 1
    array[[1], 1:] += 1
    assert cube.tolist() == array.tolist()
    assert cube._version == 4


def test_of_several_values_the_last_one_counts():
    count = 200_000  # enough for several threads
    places = tensor(np.arange(count) % 7)
    x = zeros(7)
    x[places] = numgrad.arange(float(count))
    assert x.tolist() == [float(max(range(p, count, 7))) for p in range(7)]
    rows = zeros(7, 64)
    rows[places[:5000]] = numgrad.arange(5000.0).reshape(5000, 1)
    assert rows[:, 0].tolist() == rows[:, 63].tolist() == [float(max(range(p, 5000, 7))) for p in range(7)]


def test_sums_of_several_values_are_deterministic():
    random = np.random.default_rng(0)
    for columns in (1, 40):
        values = random.normal(size=(300_000 // columns, columns)).astype(np.float32)
        places = random.integers(0, 50, len(values))
        expected = np.zeros((50, columns), np.float32)
        np.add.at(expected, places, values)  # one after the other, in order
        for _ in range(3):
            total = zeros(50, columns).index_put((tensor(places),), tensor(values), accumulate=True)
            assert np.array_equal(total.numpy(), expected)


def test_large_tensors_are_numpys():
    random = np.random.default_rng(0)
    array = random.normal(size=(300, 400)).astype(np.float32)
    x, index, mask = tensor(array), random.integers(0, 300, (300, 400)), tensor(array > 0)
    rows, columns = index[:, 0], index[0]
    assert np.array_equal(x[tensor(rows)].numpy(), array[rows])
    assert np.array_equal(x[:, tensor(columns)].numpy(), array[:, columns])
    assert np.array_equal(x[tensor(index), tensor(columns)].numpy(), array[index, columns])
    assert np.array_equal(x[mask].numpy(), array[array > 0])
    assert np.array_equal(x.gather(0, tensor(index)).numpy(), np.take_along_axis(array, index, 0))
    assert np.array_equal(x.gather(1, tensor(index)).numpy(), np.take_along_axis(array, index, 1))
    expected = array.copy()
    np.add.at(expected, (np.arange(300)[:, None], index), array)
    assert np.array_equal(x.scatter_add(1, tensor(index), x).numpy(), expected)
    expected = array.copy()
    np.add.at(expected, (index, np.arange(400)), array)
    assert np.array_equal(x.scatter_add(0, tensor(index), x).numpy(), expected)
    x[mask] = x[mask] * 2
    assert np.array_equal(x.numpy(), np.where(array > 0, 2 * array, array))
    with pytest.raises(IndexError, match="index 300 is out of bounds for dimension 0 with size 300"):
        x[tensor(np.append(index, 300))]


def test_gradients_of_what_is_read_and_written():
    x = arange(6.0, requires_grad=True)
    (x[tensor([1, 1, 3])] * tensor([1.0, 2.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0, 3, 0, 4, 0, 0]
    value = ones(3, requires_grad=True)
    x = arange(6.0, requires_grad=True)
    y = x * 2
    y[tensor([4, 0])] = value[:2]
    y[1:][tensor([2])] = value[2]
    assert type(y.grad_fn).__name__ == "CopySlices"
    (y * arange(6.0)).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 0, 0, 10]
    assert value.grad.tolist() == [4, 0, 3]


def test_an_index_that_has_changed_is_noticed():
    x, index = ones(3, requires_grad=True), tensor([0, 2])
    y = x[index]
    index.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (tensor([0, 5]), ["index 5 is out of bounds for dimension 0 with size 2"]),
        (tensor([0, -3]), ["index -3 is out of bounds for dimension 0 with size 2"]),
        ((ALL, [0, 3]), ["index 3 is out of bounds for dimension 1 with size 3"]),
        ((tensor([0]), tensor([4]), tensor([0])), ["index 4 is out of bounds for dimension 1 with size 3"]),
        (tensor([True, False, True]), ["The shape of the mask [3] at index 0 does not match the shape of the indexed "
                                       "tensor [2, 3, 4] at index 0"]),
        ((ALL, ones(3, 5) > 0), ["The shape of the mask [3, 5] at index 1 does not match", "[2, 3, 4] at index 2"]),
        ((tensor([0]),) * 4, ["too many indices for tensor of dimension 3"]),
        ((ones(2, 3) > 0, ones(3, 4) > 0), ["too many indices for tensor of dimension 3"]),
        ((tensor([0, 1]), tensor([0, 1, 2])), ["shape mismatch: indexing tensors could not be broadcast", "[2], [3]"]),
        (tensor([0.0]), ["tensors used as indices must be long, int, byte or bool tensors"]),
        (tensor([0], dtype=numgrad.int16), ["tensors used as indices must be long, int, byte or bool tensors"]),
    ],
)  # fmt: skip
def test_bad_indices_change_nothing(cube, index, words):
    with refused(IndexError, [cube], *words):
        cube[index]
    with refused(IndexError, [cube], *words):
        cube[index] = 5
    if isinstance(index, tensor([0]).__class__):
        with refused(IndexError, [cube], *words):
            cube.index_put_((index,), tensor(5.0))


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (ones(5), RuntimeError, ["shape mismatch: value tensor of shape [5]", "indexing result of shape [2, 3, 4]"]),
        (ones(2, 2, 3, 4), RuntimeError, ["shape mismatch", "[2, 2, 3, 4]", "[2, 3, 4]"]),
        (ones(4, dtype=numgrad.float64), RuntimeError, ["dtypes match", "Float for the destination and Double"]),
        (tensor([1]), RuntimeError, ["Float for the destination and Long for the source"]),
        ("a", TypeError, ["can't assign a str"]),
        (None, TypeError, ["can't assign a NoneType"]),
        (1e300, RuntimeError, ["without overflow"]),
    ],
)
def test_bad_values_change_nothing(cube, value, error, words):
    with refused(error, [cube], *words):
        cube[tensor([1, 0])] = value


def test_tensors_that_may_not_be_written_to():
    leaf, index = ones(2, 3, requires_grad=True), tensor([0])
    with refused(RuntimeError, [leaf], "a leaf Variable that requires grad"):
        leaf[index] = 5
    with refused(RuntimeError, [leaf], "a view of a leaf Variable that requires grad"):
        leaf[0][index] = 5
    x = arange(6.0)
    for given in (x[1:3], x[:2]):
        with refused(RuntimeError, [x], "refer to a single memory location", "clone()"):
            x[tensor([0, 1])] = given
    wide = zeros(3).expand(2, 3)
    with refused(RuntimeError, [wide], "more than one element of the written-to tensor"):
        wide[index] = 1


def test_nothing_is_selected_by_false(cube):
    with unchanged(cube):
        cube[False] = 5


def test_arguments_of_index_put(cube):
    index, value = tensor([0]), tensor(1.0)
    for arguments, words in (
        ((index, value), "must be tuple of Tensors, not Tensor"),
        (((index, None), value), "expected Tensor as element 1"),
        (((index,), 1.0), "'values' (position 2) must be Tensor, not float"),
    ):
        with refused(TypeError, [cube], words):
            cube.index_put(*arguments)
        with refused(TypeError, [cube], words):
            cube.index_put_(*arguments)
    with refused(RuntimeError, [cube], "at least one index tensor"):
        cube.index_put_((), value)


@pytest.mark.parametrize("use", [
    lambda x, i: x[i], lambda x, i: x[i, i], lambda x, i: x[0].gather(0, i), lambda x, i: x.index_select(0, i),
    lambda x, i: x[0].take(i), lambda x, i: x[0].scatter(0, i, x[1]),
])  # fmt: skip
def test_an_index_outside_is_reported_once(use):
    x = ones(4, 4)
    with pytest.raises((IndexError, RuntimeError)):
        use(x, tensor([0, 1, 4, 0]))
    assert use(x, tensor([0, 1, 3, 0])).sum() > 0
