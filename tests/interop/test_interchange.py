"""Memory shared by DLPack, and pickles of tensors."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import numgrad
from numgrad import Tensor, arange, tensor
from numgrad.interop.interchange import from_dlpack, to_dlpack
from numgrad.utils import dlpack

# -- out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [arange(3), tensor([[1.0, 2.0], [3.0, 4.0]]).t(), tensor(True), arange(9)[1::3], numgrad.zeros(0, 2)],
    ids=["int64", "transposed", "0-d bool", "stepped", "empty"],
)
def test_out(x):
    array = np.from_dlpack(x)
    assert array.tolist() == x.tolist()
    assert array.shape == x.shape
    if array.size:
        assert [step // array.itemsize for step in array.strides] == list(x.stride())
        x.fill_(1)
        assert (array == 1).all()
    assert x.__dlpack_device__() == (1, 0)


def test_capsules():
    x = tensor([1.0, 2.0])
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor"' in repr(x.__dlpack__(stream=-1, dl_device=(1, 0), copy=False))
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    copied = from_dlpack(x.__dlpack__(copy=True))
    x.zero_()
    assert copied.tolist() == [1, 2]


def test_not_out():
    x = tensor([1.0], requires_grad=True)
    for given in (x, x * 2):
        with pytest.raises(BufferError, match=r"Can't export tensors that require gradient, use tensor\.detach"):
            given.__dlpack__()
    with pytest.raises(BufferError, match=r"cannot export .* to DLPack device \(2, 0\)"):
        x.detach().__dlpack__(dl_device=(2, 0))
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        x.detach().__dlpack__(stream=1)
    assert from_dlpack(to_dlpack(x)).tolist() == [1]  # to_dlpack leaves the graph behind, as in PyTorch


# -- in --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [np.arange(3), np.ones((2, 3), np.float32).T, np.array(True), np.arange(9.0)[1::3], np.zeros((0, 2))],
    ids=["int64", "transposed", "0-d bool", "stepped", "empty"],
)
def test_in(array):
    x = from_dlpack(array)
    assert x.tolist() == array.tolist()
    assert x.dtype.numpy == array.dtype
    assert x.shape == array.shape
    array[...] = 1
    assert x.tolist() == array.tolist()
    x.fill_(0)
    assert not array.any()


def test_in_from_a_tensor():
    x = arange(6.0).reshape(2, 3).t()
    y = from_dlpack(x)
    assert y is not x
    assert y.stride() == (1, 3)
    y.add_(1)
    assert x[0, 0].item() == 1
    assert from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert from_dlpack(x, copy=False, device="cpu").data_ptr() == x.data_ptr()


def test_the_memory_lives_as_long_as_the_tensor():
    x = from_dlpack(np.arange(1000.0))
    y = from_dlpack(to_dlpack(arange(1000.0)))
    assert x.sum().item() == y.sum().item() == 499500


class Old:
    """An array of a library with DLPack before version 1.0."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_libraries_without_a_flag_for_read_only_memory():
    array = np.arange(6.0).reshape(2, 3).T
    x = from_dlpack(Old(array))
    assert x.stride() == (1, 3)
    x.fill_(2)
    x[0, 1].copy_(tensor(3.0))
    assert array.tolist() == [[2, 3], [2, 2], [2, 2]]


def test_arrays_that_may_not_be_written_to():
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="array is not writable"):
        assert from_dlpack(array).tolist() == [0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_dlpack(array, copy=True).add_(1).tolist() == [1, 2, 3]


def test_not_in():
    capsule = to_dlpack(tensor([1.0]))
    from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="DLTensor capsules can be consumed only once"):
        from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="invalid capsule: list has no __dlpack__"):
        from_dlpack([1.0])
    with pytest.raises(TypeError, match="argument 'tensor' must be Tensor, not list"):
        to_dlpack([1.0])
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        from_dlpack(tensor([1.0], requires_grad=True))
    with pytest.raises(ValueError, match="stride in the given numpy array is negative"):
        from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(RuntimeError, match="at start of device string: tpu"):
        from_dlpack(np.zeros(2), device="tpu")


def test_where_it_is_found():
    assert dlpack.from_dlpack is from_dlpack
    assert dlpack.to_dlpack is to_dlpack


# -- pickles ---------------------------------------------------------------------------------------------


def repickled(value, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    "x",
    [
        tensor(2.5), arange(6).reshape(2, 3).t(), arange(10)[1::3], tensor([True]).expand(3), numgrad.zeros(0, 2),
        tensor([1.0], dtype=numgrad.float64), tensor([1, 2], dtype=numgrad.int16), tensor([1 + 2j]),
    ],
    ids=["0-d", "transposed", "stepped", "expanded", "empty", "float64", "int16", "complex"],
)  # fmt: skip
def test_layouts_and_dtypes(x):
    result = repickled(x)
    assert result.tolist() == x.tolist()
    assert result.dtype is x.dtype
    assert result.stride() == x.stride()
    assert result.storage_offset() == x.storage_offset()
    assert not result.requires_grad


def test_shared_memory_stays_shared():
    base = arange(4.0)
    parts = {"base": base, "even": base[::2], "again": base, "detached": base.detach()}
    result = repickled(parts)
    assert result["base"] is result["again"]
    result["base"].zero_()
    assert result["even"].tolist() == [0, 0]
    assert result["detached"].tolist() == [0, 0, 0, 0]
    assert base.tolist() == [0, 1, 2, 3]


def test_the_graph_and_the_gradient_stay_behind():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    result, product = repickled([x, x * 2])
    assert result.requires_grad
    assert result.grad is None
    assert product.is_leaf
    assert product.requires_grad
    assert product.tolist() == [2, 4]
    (product * product).sum().backward()
    assert product.grad.tolist() == [4, 8]
    with numgrad.no_grad():
        assert repickled(x).requires_grad


def test_hooks_stay_behind_with_a_warning():
    x = tensor([1.0], requires_grad=True)
    handle = x.register_hook(print)
    with pytest.warns(UserWarning, match=r"backward hook <built-in function print> on tensor will not be serialized"):
        assert repickled(x).requires_grad
    handle.remove()
    repickled(x)


class Labelled(Tensor):
    """A subclass of the user's."""

    @property
    def loud(self):
        return self.label.upper()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_subclasses_and_attributes_are_kept(protocol):
    x = Labelled([1.0, 2.0])
    x.label = "a"
    x.self = x
    result = repickled(x, protocol)
    assert type(result) is Labelled
    assert result.loud == "A"
    assert result.self is result
    parameter = numgrad.nn.Parameter(tensor([1.0]))
    parameter.note = [1]
    result = repickled(parameter, protocol)
    assert isinstance(result, numgrad.nn.Parameter)
    assert result.requires_grad
    assert result.note == [1]


def test_a_copy_shares_the_memory():
    x = tensor([1.0], requires_grad=True)
    y = copy.copy(x)
    assert y.requires_grad
    assert y.data_ptr() == x.data_ptr()
