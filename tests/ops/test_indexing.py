"""Reading and writing parts of tensors with ``tensor[...]``: values, shared memory, and errors."""

import numpy as np
import pytest
from snapshots import refused

import numgrad
from numgrad import arange, ones, tensor, zeros

ALL = slice(None)

INDICES = [
    0, -1, 1, ALL, slice(1, None), slice(None, -1), slice(None, None, 2), slice(5, None), slice(1, 1), slice(-10, 10),
    slice(2, 1), ..., None, (), (0, 1), (1, 2, 3), (-1, -2, -3), (ALL, 1), (ALL, ALL, 1), (..., 1), (0, ...),
    (0, ..., 1), (..., ALL), (ALL, ...), (1, 2, 3, ...), (ALL, slice(0, 3, 2), slice(1, None, 3)),
    (0, slice(1, 3), slice(None, None, 2)), (None, 0), (ALL, None), (..., None), (None, ..., None),
    (0, None, slice(1, None), None, 2), (ALL, slice(5, None)), (slice(0, 0),), (np.int64(1), np.int32(-1)),
    (np.uint8(1), ALL),
]  # fmt: skip


@pytest.fixture
def cube():
    return arange(24.0).reshape(2, 3, 4)


# --- reading ----------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_is_numpys(cube, index):
    part, expected = cube[index], cube.numpy()[index]
    assert part.shape == expected.shape
    assert part.tolist() == expected.tolist()
    assert part is not cube
    if isinstance(expected, np.ndarray) and expected.size:  # NumPy's view, too: strides and first element
        moved = [s for s, extent in zip(part.stride(), part.shape, strict=True) if extent > 1]
        assert moved == [s // 4 for s, extent in zip(expected.strides, expected.shape, strict=True) if extent > 1]
        assert part.data_ptr() == expected.ctypes.data


def test_similar_indices_are_distinguished():
    x = arange(12.0).reshape(4, 3)
    for start in range(3):  # which are looked up alike
        assert x[start].tolist() == x.tolist()[start]
        assert x[start : start + 2].tolist() == x.tolist()[start : start + 2]
        assert x[start : start + 2, -start].tolist() == [row[-start] for row in x.tolist()[start : start + 2]]
    assert [x[0:2:1].shape, x[(0, 2, 1),].shape, x[True].shape, x[1].shape] == [(2, 3), (3, 3), (1, 4, 3), (3,)]
    assert [x[1:2].shape, x[1:2, None].shape, x[1, None].shape] == [(1, 3), (1, 1, 3), (1, 3)]
    with pytest.raises(IndexError, match="only integers"):
        x[1.0]


@pytest.mark.parametrize("dtype", [numgrad.float64, numgrad.int64, numgrad.bool])
def test_every_dtype_is_indexed(dtype):
    x = tensor([[1, 0, 1], [0, 0, 1]], dtype=dtype)
    assert x[1, 2].item() == 1
    assert x[:, ::2].tolist() == [[1, 1], [0, 1]]
    assert x[0].dtype is dtype


def test_0d_integer_tensors_are_integers(cube):
    one, last = tensor(1), tensor(-1)
    assert cube[one].tolist() == cube[1].tolist()
    assert cube[one, last].tolist() == cube[1, -1].tolist()
    assert cube[:one].tolist() == cube[:1].tolist()
    assert cube[:, one::2].tolist() == cube[:, 1::2].tolist()
    assert cube[one]._is_view()


def test_a_0d_tensor_has_one_way_to_be_indexed():
    x = tensor(3.0)
    assert x[()].item() == x[...].item() == 3
    assert x[None].shape == (1,)
    assert x[None, ..., None].shape == (1, 1)


def test_empty_tensors():
    assert zeros(0, 3)[:, 0].shape == (0,)
    assert zeros(3, 0)[1].shape == (0,)
    assert zeros(3, 0)[1:].shape == (2, 0)


# --- views ------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [i for i in INDICES if i is not None], ids=repr)
def test_parts_share_memory_both_ways(cube, index):
    array = cube.numpy().copy()
    part = cube[index]
    array[index] += 100
    part.add_(100)
    assert cube.tolist() == array.tolist()
    assert part._version == cube._version == 1
    cube.zero_()
    assert not np.any(part.numpy())


def test_parts_of_parts(cube):
    part = cube[1][1:, ::2][:, 1]
    assert part.tolist() == [18, 22]
    part[0] = -1
    assert cube[1, 1, 2].item() == -1
    assert part._base is cube._base


@pytest.mark.parametrize(
    ("index", "node"),
    [
        (0, "SelectBackward0"),
        (slice(1, None), "SliceBackward0"),
        (ALL, "SliceBackward0"),
        ((ALL, 1), "SelectBackward0"),
        ((0, slice(1, None)), "SliceBackward0"),
        (None, "UnsqueezeBackward0"),
        (..., "AliasBackward0"),
        ((), "AliasBackward0"),
        ((ALL, ALL), "AliasBackward0"),
    ],
)
def test_gradients_go_back_to_the_elements_read(index, node):
    x = arange(6.0, requires_grad=True)
    part = x.reshape(2, 3)[index]
    assert part.grad_fn.name() == node
    (part * 2).sum().backward()
    expected = np.zeros((2, 3))
    expected[index] = 2
    assert x.grad.reshape(2, 3).tolist() == expected.tolist()


# --- writing ----------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing_is_numpys(cube, index):
    array = cube.numpy().copy()
    array[index] = -5
    cube[index] = -5
    assert cube.tolist() == array.tolist()
    assert cube._version == 1
    part = np.arange(array[index].size).reshape(array[index].shape)
    array[index] = part
    cube[index] = tensor(part)
    assert cube.tolist() == array.tolist()


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (2.5, [2.5, 2.5, 2.5]),
        (True, [1, 1, 1]),
        (np.float64(2.5), [2.5, 2.5, 2.5]),
        (np.int64(2), [2, 2, 2]),
        (np.bool_(True), [1, 1, 1]),
        (tensor(2.5), [2.5, 2.5, 2.5]),
        (tensor([2.5]), [2.5, 2.5, 2.5]),
        (tensor([1, 2, 3]), [1, 2, 3]),
        (tensor([1.0, 2.0, 3.0], dtype=numgrad.float64), [1, 2, 3]),
        (tensor([True, False, True]), [1, 0, 1]),
        (tensor([[[1.0, 2.0, 3.0]]]), [1, 2, 3]),  # leading dimensions of size 1 are dropped
        ([1, 2, 3], [1, 2, 3]),
        (np.array([1.0, 2.0, 3.0]), [1, 2, 3]),
    ],
    ids=repr,
)
def test_values_are_broadcast_and_converted(value, row):
    x = zeros(2, 3)
    x[1] = value
    assert x.tolist() == [[0, 0, 0], row]
    x[:] = value
    assert x.tolist() == [row, row]


def test_columns_and_single_elements():
    x = zeros(2, 3)
    x[:] = tensor([[1.0], [2.0]])
    assert x.tolist() == [[1, 1, 1], [2, 2, 2]]
    x[0, 0] = tensor([[7.0]])
    x[0, -1] = 8
    assert x[0].tolist() == [7, 1, 8]
    x.t()[1] = tensor([3.0, 4.0])
    assert x.tolist() == [[7, 3, 8], [2, 4, 2]]
    y = tensor(1.0)
    y[()] = 2
    assert y.item() == 2
    y[...] = 3
    assert y.item() == 3


def test_numbers_are_cut_off_for_integers():
    x = tensor([1, 2, 3])
    x[0] = 2.75
    x[1:] = tensor([-1.75, 0.5])
    assert x.tolist() == [2, -1, 0]
    mask = tensor([False, False])
    mask[0] = 0.5
    assert mask.tolist() == [True, False]


def test_in_place_operators_on_parts(cube):
    array = cube.numpy().copy()
    cube[0] += 100
    array[0] += 100
    cube[:, 1] *= 2
    array[:, 1] *= 2
    cube[1, 2, 3] -= 1
    array[1, 2, 3] -= 1
    cube[..., ::2] /= 4
    array[..., ::2] /= 4
    assert cube.tolist() == array.tolist()


def test_an_empty_part_takes_a_number_or_an_empty_tensor():
    x = tensor([[1.0, 2.0, 3.0]])
    x[5:] = 7
    x[5:] = tensor([7.0, 8.0, 9.0])
    x[:, 1:1] = zeros(1, 0)
    assert x.tolist() == [[1, 2, 3]]


def test_parts_that_do_not_overlap_can_be_copied_onto_each_other():
    x = arange(8.0).reshape(2, 4)
    x[:, :2] = x[:, 2:]
    assert x.tolist() == [[2, 3, 2, 3], [6, 7, 6, 7]]
    x[:, 0] = x[:, 1]
    x[0] = x[1]
    assert x.tolist() == [[7, 7, 6, 7], [7, 7, 6, 7]]
    y = arange(6.0)
    y[::2] = y[1::2]
    y[1::2] += y[::2]
    assert y.tolist() == [1, 2, 3, 6, 5, 10]
    y[:] = y
    assert y.tolist() == [1, 2, 3, 6, 5, 10]


def test_a_part_can_be_spread_over_the_whole():
    for part, expected in ((1, [[2, 3], [2, 3]]), ((ALL, slice(1, 2)), [[1, 1], [3, 3]]), ((1, 0), [[2, 2], [2, 2]])):
        x = arange(4.0).reshape(2, 2)
        x[:] = x[part]
        assert x.tolist() == expected


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (lambda x: x[1:], lambda x: x[:-1]),
        (lambda x: x[:, 1:], lambda x: x[:, :-1]),
        (lambda x: x, lambda x: x.t()),
        (lambda x: x[:, 0], lambda x: x[1]),
        (lambda x: x[::2, 0], lambda x: x[1:, 0]),
    ],
)
def test_parts_that_overlap_are_refused(target, source):
    x = arange(9.0).reshape(3, 3)
    with refused(RuntimeError, [x], "refer to a single memory location", "clone()"):
        target(x).add_(source(x))
    with refused(RuntimeError, [x], "refer to a single memory location"):
        x.mul_(x[0])  # read after it was overwritten


@pytest.mark.parametrize(("target", "source"), [
    (np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:, 1:], np.s_[:-1, :-1]),
    (np.s_[:, 0], np.s_[1]), (np.s_[::2, 0], np.s_[1:, 0]),
])  # fmt: skip
def test_parts_that_overlap_are_read_before_they_are_written(target, source):
    expected = np.arange(9.0).reshape(3, 3)
    x, weight = tensor(expected), tensor(np.ones((3, 3)), requires_grad=True)
    y = weight * 1
    x[target] = x[source]
    y[target] = y[source] * 1
    expected[target] = expected[source]
    assert x.tolist() == expected.tolist()
    z = weight * 1
    z[target] = z[source]
    (y * x).sum().backward()
    direct = weight.grad.tolist()
    weight.grad = None
    (z * x).sum().backward()
    assert weight.grad.tolist() == direct


def test_dense_parts_that_overlap_are_not_copied():
    x = arange(9.0).reshape(3, 3)
    for target, source in [(x[1:], x[:-1]), (x, x.t())]:
        with refused(RuntimeError, [x], "refer to a single memory location", "clone()"):
            target.copy_(source)
        with refused(RuntimeError, [x], "refer to a single memory location", "clone()"):
            target[...] = source


def test_writing_into_what_requires_a_gradient():
    weight = tensor([2.0], requires_grad=True)
    x = zeros(3)
    x[1] = weight
    assert type(x.grad_fn).__name__ == "CopySlices"
    (x * tensor([10.0, 20.0, 30.0])).sum().backward()
    assert weight.grad.tolist() == [20]
    leaf = ones(3, requires_grad=True)
    y = leaf * 1
    y[0] = 5
    y.sum().backward()
    assert leaf.grad.tolist() == [0, 1, 1]


# --- errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (2, IndexError, ["index 2 is out of bounds for dimension 0 with size 2"]),
        (-3, IndexError, ["index -3 is out of bounds for dimension 0 with size 2"]),
        ((0, 3), IndexError, ["index 3 is out of bounds", "size 3"]),
        ((ALL, -4), IndexError, ["index -4 is out of bounds for dimension 1 with size 3"]),
        ((0, 0, 4), IndexError, ["index 4 is out of bounds", "size 4"]),
        (10**30, IndexError, ["out of bounds"]),
        (tensor(2), IndexError, ["index 2 is out of bounds"]),
        (np.int64(-3), IndexError, ["index -3 is out of bounds"]),
        ((0, 0, 0, 0), IndexError, ["too many indices for tensor of dimension 3"]),
        ((ALL, ALL, ALL, ALL), IndexError, ["too many indices for tensor of dimension 3"]),
        ((0, 0, 0, ..., 0), IndexError, ["too many indices for tensor of dimension 3"]),
        ((..., 0, ...), IndexError, ["single ellipsis"]),
        (slice(None, None, -1), ValueError, ["step must be greater than zero"]),
        ((0, slice(None, None, 0)), ValueError, ["step must be greater than zero"]),
        (1.0, IndexError, ["only integers, slices", "(got float)"]),
        (object(), IndexError, ["only integers, slices", "(got object)"]),
        ({}, IndexError, ["only integers, slices", "(got dict)"]),
        (np.bool_(True), IndexError, ["only integers, slices", "(got bool"]),
        (tensor(1.0), IndexError, ["tensors used as indices must be long, int, byte or bool tensors"]),
        ((0, None, "a"), TypeError, ["invalid data type 'str'"]),
        (slice(1.0, 2), TypeError, ["slice indices must be integers"]),
        ((0, slice(0, "b")), TypeError, ["slice indices must be integers"]),
    ],
    ids=lambda value: "object()" if type(value) is object else repr(value),  # its address differs between processes
)
def test_bad_indices_change_nothing(cube, index, error, words):
    with refused(error, [cube], *words):
        cube[index]
    with refused(error, [cube], *words):
        cube[index] = 5
    with refused(error, [cube], *words):
        cube[index] = ones(1)


@pytest.mark.parametrize(
    ("index", "value", "error", "words"),
    [
        (0, zeros(2), RuntimeError, ["(3) must match the existing size (2)", "[2]", "[3]"]),
        (0, zeros(2, 3), RuntimeError, ["number of sizes provided (1) must be greater", "[2, 3]", "[3]"]),
        ((0, 0), zeros(2), RuntimeError, ["number of sizes provided (0) must be greater", "[2]", "[]"]),
        (slice(0, 0), zeros(2, 3), RuntimeError, ["(0) must match the existing size (2)", "[2, 3]", "[0, 3]"]),
        (ALL, zeros(0), RuntimeError, ["(3) must match the existing size (0)", "[0]", "[2, 3]"]),
        (0, [1.0, 2.0], RuntimeError, ["(3) must match the existing size (2)", "[2]", "[3]"]),
        (0, "a", TypeError, ["can't assign a str to a torch.FloatTensor"]),
        (0, None, TypeError, ["can't assign a NoneType"]),
        (0, object(), TypeError, ["can't assign a object"]),
        (0, 1j, RuntimeError, ["value 1j cannot be converted to type float"]),
        (0, [[1.0], [2.0, 3.0]], ValueError, ["expected sequence of length 1"]),
        (0, 1e300, RuntimeError, ["cannot be converted to type float32 without overflow"]),
        (0, 10**30, OverflowError, []),
    ],
)
def test_bad_values_change_nothing(index, value, error, words):
    x = ones(2, 3)
    with refused(error, [x], *words):
        x[index] = value


def test_integers_do_not_take_nan():
    x = tensor([1, 2])
    for value in (float("nan"), float("inf"), 1e30):
        with refused(RuntimeError, [x], "cannot be converted to type int64 without overflow"):
            x[0] = value


def test_leaves_and_expanded_tensors_are_not_written_to():
    leaf = ones(2, 3, requires_grad=True)
    for value in (5, ones(3)):
        with refused(RuntimeError, [leaf], "a view of a leaf Variable that requires grad"):
            leaf[0] = value
    base = zeros(3)
    wide = base.expand(2, 3)
    for value in (2, ones(3)):
        with refused(RuntimeError, [wide, base], "more than one element of the written-to tensor", "[2, 3]", "clone()"):
            wide[:] = value
    wide[0] = ones(3)  # the elements of one row are distinct
    assert base.tolist() == [1, 1, 1]
    wide.fill_(2)  # of all elements
    assert base.tolist() == [2, 2, 2]
    wide[1] = 5
    wide[0, 1:2] = 3
    assert base.tolist() == [5, 3, 5]


def test_elements_cannot_be_deleted(cube):
    with refused(TypeError, [cube], "does not support deleting items"):
        del cube[0]


def test_a_0d_tensor_has_no_elements_to_pick():
    x = tensor(3.0)
    for index in (0, ALL, (0, 0)):
        with refused(IndexError, [x], "dim"):
            x[index]


def test_parts_without_elements_begin_where_they_were_taken():
    x = arange(12.0).view(3, 4)
    parts = x[2:2], x[3:], x[1:1, 2], x[1:1, 1:3], x.narrow(1, 2, 0), x.select(0, 2)[1:1], x.unfold(1, 2, 1)[1:1]
    assert [part.storage_offset() for part in parts] == [8, 12, 6, 5, 2, 9, 4]
    for recorded in (x, x.clone().requires_grad_()):
        assert recorded[2:2].as_strided((2,), (1,)).tolist() == [8.0, 9.0]
