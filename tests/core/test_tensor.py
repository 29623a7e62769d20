"""Attributes of a tensor, and its conversion to numbers, lists and arrays."""

import operator

import numpy as np
import pytest

import numgrad
from numgrad import Tensor, tensor, zeros


@pytest.fixture
def matrix():
    return tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# --- shape, layout, type ----------------------------------------------------------------


def test_shape(matrix):
    assert matrix.shape == matrix.size() == (2, 3)
    assert isinstance(matrix.shape, numgrad.Size)
    assert isinstance(matrix.size(), numgrad.Size)
    assert (matrix.size(0), matrix.size(-1), matrix.size(dim=1)) == (2, 3, 3)
    assert matrix.ndim == matrix.dim() == 2
    assert matrix.numel() == matrix.nelement() == 6
    assert len(matrix) == 2
    assert tensor(1.0).shape == ()


@pytest.mark.parametrize("dim", [2, -3])
def test_size_and_stride_of_a_dimension_that_is_not_there(matrix, dim):
    with pytest.raises(IndexError, match=rf"expected to be in range of \[-2, 1\], but got {dim}"):
        matrix.size(dim)
    with pytest.raises(IndexError, match="Dimension out of range"):
        matrix.stride(dim)


@pytest.mark.parametrize(
    ("make", "strides", "offset", "contiguous"),
    [
        (lambda m: m, (3, 1), 0, True),
        (lambda m: m.t(), (1, 3), 0, False),
        (lambda m: m.T, (1, 3), 0, False),
        (lambda m: m[1], (1,), 3, True),
        (lambda m: m[:, 1], (3,), 1, False),
        (lambda m: m[:, :2], (3, 1), 0, False),
        (lambda m: m[:1, :2], (3, 1), 0, True),  # one row: its stride is never taken
        (lambda m: m[:, ::2], (3, 2), 0, False),
        (lambda m: m[1, 2], (), 5, True),
        (lambda m: m[2:], (3, 1), 6, True),  # no elements
        (lambda m: m[0].expand(4, 3), (0, 1), 0, False),
        (lambda m: m[0].expand(1, 3), (3, 1), 0, True),
        (lambda m: m[None], (6, 3, 1), 0, True),
        (lambda m: m.unsqueeze(1).transpose(0, 1), (3, 3, 1), 0, True),
        (lambda m: m.view(3, 2), (2, 1), 0, True),
    ],
)
def test_strides(matrix, make, strides, offset, contiguous):
    part = make(matrix)
    assert part.stride() == strides
    assert [part.stride(d) for d in range(part.dim())] == list(strides)
    assert part.storage_offset() == offset
    assert part.is_contiguous() is contiguous
    assert part.data_ptr() == (matrix.data_ptr() + 4 * offset if part.numel() else 0)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((), ()), ((0,), (1,)), ((2, 0), (1, 1)), ((0, 2), (2, 1)), ((2, 0, 3), (3, 3, 1)), ((2, 1, 3), (3, 3, 1))],
)
def test_strides_of_new_tensors_count_empty_dimensions_as_one(shape, strides):
    assert zeros(shape).stride() == strides
    assert zeros(shape).is_contiguous()


def test_only_the_row_major_format_is_asked_for(matrix):
    assert matrix.is_contiguous(memory_format=numgrad.contiguous_format)
    assert not matrix.t().is_contiguous(memory_format=numgrad.contiguous_format)
    assert matrix.is_contiguous(memory_format=numgrad.preserve_format)
    assert not matrix.is_contiguous(memory_format=numgrad.channels_last)


def test_contiguous_gives_the_tensor_itself_or_a_row_major_copy(matrix):
    assert matrix.contiguous() is matrix
    copied = matrix.t().contiguous()
    assert copied.stride() == (2, 1)
    assert copied.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert copied.data_ptr() != matrix.data_ptr()


def test_a_clone_keeps_the_order_of_dimensions_but_not_the_gaps(matrix):
    assert matrix.t().clone().stride() == (1, 3)
    assert matrix[:, ::2].clone().stride() == (2, 1)
    assert matrix[0].expand(4, 3).clone().stride() == (3, 1)
    assert zeros(2, 3, 4).permute(2, 0, 1).clone().stride() == (1, 12, 4)


@pytest.mark.parametrize(
    ("dtype", "name", "itemsize", "floating"),
    [
        (numgrad.float32, "torch.FloatTensor", 4, True),
        (numgrad.float64, "torch.DoubleTensor", 8, True),
        (numgrad.int64, "torch.LongTensor", 8, False),
        (numgrad.bool, "torch.BoolTensor", 1, False),
    ],
)
def test_types(dtype, name, itemsize, floating):
    x = zeros(2, 3, dtype=dtype)
    assert x.dtype is dtype
    assert x.type() == name
    assert x.element_size() == x.itemsize == itemsize
    assert x.nbytes == 6 * itemsize
    assert x.is_floating_point() is floating
    assert x.is_complex() is False
    assert x.device == numgrad.device("cpu")


# --- conversion -------------------------------------------------------------------------


def test_to_gives_the_tensor_itself_where_nothing_changes(matrix):
    assert matrix.to(numgrad.float32) is matrix
    assert matrix.to("cpu") is matrix.cpu() is matrix.float() is matrix
    assert matrix.to(numgrad.device("cpu"), numgrad.float32) is matrix
    copied = matrix.to(numgrad.float32, copy=True)
    copied[0] = 0
    assert matrix[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.double(),
        lambda x: x.to(numgrad.float64),
        lambda x: x.to(dtype=numgrad.float64),
        lambda x: x.to("cpu", numgrad.float64),
        lambda x: x.to(zeros(1, dtype=numgrad.float64)),
        lambda x: x.type(numgrad.float64),
    ],
)
def test_conversion_to_float64(convert):
    result = convert(tensor([0.5, -2.0]))
    assert result.dtype is numgrad.float64
    assert result.tolist() == [0.5, -2.0]


def test_conversion_cuts_off_towards_zero_and_takes_what_is_not_zero_for_true():
    x = tensor([1.75, -2.75, 0.0, 0.25])
    assert x.long().tolist() == [1, -2, 0, 0]
    assert x.bool().tolist() == [True, True, False, True]
    assert tensor([float("nan"), float("-inf")]).bool().tolist() == [True, True]
    assert tensor([True, False]).float().tolist() == [1.0, 0.0]


def test_conversion_keeps_strides(matrix):
    assert matrix.t().double().stride() == (1, 3)


def test_conversion_passes_gradients_between_floating_point_dtypes_only():
    x = tensor([1.5, 2.5], requires_grad=True)
    (x.double() * tensor([2.0, 3.0], dtype=numgrad.float64)).sum().backward()
    assert x.grad.dtype is numgrad.float32
    assert x.grad.tolist() == [2, 3]
    for converted in (x.long(), x.bool()):
        assert not converted.requires_grad
        assert converted.is_leaf


def test_item():
    assert tensor(2.5).item() == 2.5
    assert tensor([[7]]).item() == 7
    assert [type(tensor(v).item()) for v in (2.5, 7, True)] == [float, int, bool]
    assert tensor([1.0, 2.0])[1].item() == 2


@pytest.mark.parametrize("values", [[1.0, 2.0], []])
def test_item_of_other_than_one_element(values):
    with pytest.raises(RuntimeError, match=f"a Tensor with {len(values)} elements cannot be converted to Scalar"):
        tensor(values).item()


def test_tolist(matrix):
    assert matrix.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert matrix.t().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert tensor([True, False]).tolist() == [True, False]
    assert tensor(3).tolist() == 3
    assert zeros(2, 0).tolist() == [[], []]
    assert tensor([0.1]).tolist() == [float(np.float32(0.1))]
    assert tensor([1.0], requires_grad=True).tolist() == [1]


# --- NumPy ------------------------------------------------------------------------------


def test_numpy_shares_memory_and_layout(matrix):
    array = matrix.t().numpy()
    assert array.dtype == np.float32
    assert array.strides == (4, 12)
    array[2, 1] = 10
    assert matrix[1, 2].item() == 10
    matrix[0, 0] = -1
    assert array[0, 0] == -1


def test_an_array_that_would_lose_a_gradient_is_refused(matrix):
    matrix.requires_grad_()
    for make in (Tensor.numpy, np.asarray, np.array):
        with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
            make(matrix)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        (matrix * 2).numpy()
    assert matrix.numpy(force=True)[1, 2] == 6
    assert matrix.detach().numpy()[1, 2] == 6


@pytest.mark.parametrize("mode", [numgrad.no_grad, numgrad.inference_mode])
def test_where_nothing_is_recorded_no_gradient_is_lost(matrix, mode):
    matrix.requires_grad_()
    with mode():
        for make in (Tensor.numpy, np.asarray):
            assert np.shares_memory(make(matrix), matrix.detach().numpy())
        assert (matrix * 2).numpy()[1, 2] == 12


def test_array_protocol(matrix):
    shared = np.asarray(matrix)
    assert np.shares_memory(shared, matrix.numpy())
    assert not np.shares_memory(np.array(matrix), matrix.numpy())
    assert np.shares_memory(np.array(matrix, copy=False), matrix.numpy())
    wide = np.asarray(matrix, dtype=np.float64)
    assert wide.dtype == np.float64
    assert wide.tolist() == matrix.tolist()
    with pytest.raises(ValueError, match=r"a copy is needed to convert torch\.float32 to float64"):
        np.array(matrix, dtype=np.float64, copy=False)
    assert np.allclose(matrix, [[1, 2, 3], [4, 5, 6]])


# --- as a sequence ----------------------------------------------------------------------


def test_iteration_gives_views_along_the_first_dimension(matrix):
    rows = list(matrix)
    assert [row.tolist() for row in rows] == [[1, 2, 3], [4, 5, 6]]
    rows[0][0] = 10
    assert matrix[0, 0].item() == 10
    first, second = tensor([1.0, 2.0], requires_grad=True)
    assert second.grad_fn.name() == "UnbindBackward0"
    assert first.shape == ()
    assert list(zeros(0, 3)) == []


def test_a_0d_tensor_is_not_a_sequence():
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(tensor(1.0))
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(tensor(1.0))


def test_contains(matrix):
    assert 5 in matrix
    assert 5.5 not in matrix
    assert tensor(6.0) in matrix
    assert np.float64(2) in matrix
    assert 5 + 0j in matrix
    assert 5 + 1j not in matrix
    assert tensor([4.0, 0.0, 0.0]) in matrix  # wherever broadcasting finds an equal element
    assert 1 not in zeros(0)
    assert 5 in matrix.requires_grad_()


@pytest.mark.parametrize("element", ["5", None, [5.0]])
def test_contains_asks_for_tensors_and_numbers(matrix, element):
    with pytest.raises(RuntimeError, match=f"only supports Tensor or scalar.*{type(element).__name__}"):
        element in matrix  # noqa: B015


def test_reversed(matrix):
    assert [row.tolist() for row in reversed(matrix)] == [[4, 5, 6], [1, 2, 3]]


# --- as a number ------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 2.75, -2.75, 3, 0, True, False])
def test_one_element_is_a_number(value):
    for x in (tensor(value), tensor([[value]])):
        assert bool(x) is bool(value)
        assert int(x) == int(value)
        assert float(x) == float(value)
        assert complex(x) == complex(value)
    assert bool(tensor(float("nan"))) is True


def test_tensors_of_several_elements_are_not_numbers():
    for values in ([1.0, 2.0], []):
        for convert in (int, float, complex):
            with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
                convert(tensor(values))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(tensor([1.0, 1.0]))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
        bool(tensor([]))


def test_integers_are_indices():
    letters = "abc"
    assert letters[tensor(1)] == letters[tensor([-2])] == letters[tensor(True)] == "b"
    assert list(range(tensor(3))) == [0, 1, 2]
    assert hex(tensor(255)) == "0xff"
    for x in (tensor(1.0), tensor([1, 2])):
        with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
            operator.index(x)


def test_format():
    assert f"{tensor(3.14159):.2f}" == "3.14"
    assert f"{tensor(7):04d}" == "0007"
    assert f"{tensor(2.5)}" == "2.5"
    assert f"{tensor(2.5, requires_grad=True)}" == "2.5"
    assert f"{tensor([1.0, 2.0])}" == "tensor([1., 2.])"
    assert f"{tensor(2.5)!r}" == str(tensor(2.5)) == "tensor(2.5000)"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tensor([2.5]):.2f}"
