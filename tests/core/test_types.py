"""Size, dtype and device, and the older spellings of types: FloatTensor and its sisters, Variable."""

import copy
import operator
import pickle

import numpy as np
import pytest

import numgrad
from numgrad import Size, Tensor, device, tensor, zeros
from numgrad.autograd import Variable

# --- Size -------------------------------------------------------------------------------


def test_size_is_a_tuple_that_prints_as_pytorchs():
    size = zeros(2, 3).shape
    assert repr(size) == str(size) == f"{size}" == "torch.Size([2, 3])"
    assert repr(Size()) == repr(Size([])) == "torch.Size([])"
    assert size == (2, 3)
    assert size != [2, 3]
    assert hash(size) == hash((2, 3))
    assert isinstance(size, tuple)
    rows, columns = size
    assert (rows, columns, size.numel(), size.count(2), size.index(3)) == (2, 3, 6, 1, 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Size([2, 3])[:1], [2]),
        (Size([2, 3])[::-1], [3, 2]),
        (Size([2]) + Size([3]), [2, 3]),
        (operator.add(Size([2]), (3,)), [2, 3]),
        (operator.add((3,), Size([2])), [3, 2]),
        (Size([2]) * 2, [2, 2]),
        (2 * Size([2]), [2, 2]),
        (Size([tensor(2), np.int64(3), True]), [2, 3, 1]),
        (Size(range(2)), [0, 1]),
        (pickle.loads(pickle.dumps(Size([2]))), [2]),
        (copy.deepcopy(Size([2])), [2]),
    ],
)
def test_sizes_stay_sizes(value, expected):
    assert type(value) is Size
    assert list(value) == expected
    assert all(type(extent) is int for extent in value)


def test_a_size_is_of_ints():
    assert Size([2, 3])[1] == 3
    for bad, name in ((1.5, "float"), ("2", "str"), (None, "NoneType")):
        with pytest.raises(TypeError, match=rf"takes an iterable of 'int' \(item 1 is '{name}'\)"):
            Size([2, bad])
    with pytest.raises(TypeError, match="not iterable"):
        Size(3)


# --- dtype ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "text", "itemsize", "floating", "signed"),
    [
        (numgrad.float32, "torch.float32", 4, True, True),
        (numgrad.float64, "torch.float64", 8, True, True),
        (numgrad.int64, "torch.int64", 8, False, True),
        (numgrad.bool, "torch.bool", 1, False, False),
    ],
)
def test_dtypes(dtype, text, itemsize, floating, signed):
    assert isinstance(dtype, numgrad.dtype)
    assert repr(dtype) == str(dtype) == text
    assert dtype.itemsize == itemsize
    assert dtype.is_floating_point is floating
    assert dtype.is_signed is signed
    assert dtype.is_complex is False
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype


def test_dtypes_have_second_names():
    assert numgrad.float is numgrad.float32
    assert numgrad.double is numgrad.float64
    assert numgrad.long is numgrad.int64
    assert numgrad.get_default_dtype() is numgrad.float32
    assert len({numgrad.float32, numgrad.float64, numgrad.int64, numgrad.bool, numgrad.float}) == 4


def test_numpy_takes_dtypes_for_its_own():
    assert np.dtype(numgrad.float32) == np.float32
    assert np.zeros(2, dtype=numgrad.complex64).dtype == np.complex64
    assert np.arange(2).astype(numgrad.uint8).dtype == np.uint8


# --- device -----------------------------------------------------------------------------


def test_device():
    cpu = device("cpu")
    assert (cpu.type, cpu.index) == ("cpu", None)
    assert repr(cpu) == "device(type='cpu')"
    assert str(cpu) == "cpu"
    assert cpu == device("cpu") == device(cpu)
    assert cpu != "cpu"
    assert hash(cpu) == hash(device("cpu"))
    first = device("cpu:0")
    assert (first.type, first.index) == ("cpu", 0)
    assert repr(first) == "device(type='cpu', index=0)"
    assert str(first) == "cpu:0"
    assert first == device("cpu", 0) == device(first)
    assert first != cpu
    assert pickle.loads(pickle.dumps(first)) == copy.deepcopy(first) == first


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (device("cuda"), "device(type='cuda')"),
        (device("cuda:1"), "device(type='cuda', index=1)"),
        (device("cuda", 2), "device(type='cuda', index=2)"),
        (device(type="cuda", index=0), "device(type='cuda', index=0)"),
        (device(3), "device(type='cuda', index=3)"),
        (device(device("cuda:1")), "device(type='cuda', index=1)"),
    ],
)
def test_gpus_can_be_named_whether_or_not_there_are_any(value, text):
    assert repr(value) == text
    assert eval(text) == value
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert value != device("cpu")


def test_the_current_gpu_and_the_first_are_two_names():
    assert device("cuda") != device("cuda:0")
    assert len({device("cuda"), device("cuda:0"), device("cuda", 0), device(0)}) == 2


@pytest.mark.parametrize("name", ["tpu", "CUDA", "gpu:0"])
def test_kinds_of_devices_that_there_are_not(name):
    with pytest.raises(RuntimeError, match=f"Expected one of cpu, cuda device type at start of device string: {name}"):
        device(name)
    with pytest.raises(RuntimeError, match="at start of device string"):
        zeros(2, device=name)


def test_devices_of_pytorch_alone_can_be_named_but_not_used():
    meta = device("meta")
    assert meta != device("cpu")
    assert meta == pickle.loads(pickle.dumps(meta))
    for use in (lambda: zeros(2, device=meta), lambda: zeros(2).to(meta), lambda: zeros(2).to("mps")):
        with pytest.raises(NotImplementedError, match="on devices of the types cpu and cuda, not m"):
            use()
    with meta, pytest.raises(NotImplementedError, match="not meta"):
        zeros(2)


@pytest.mark.parametrize(
    "name", ["cpu:x", "cpu:-1", "cpu:", "cpu:01", "cpu:\N{SUPERSCRIPT TWO}", "cuda:-1", "cuda:", "cuda:01", "cuda:1:2"]
)
def test_malformed_numbers_of_devices(name):
    with pytest.raises(RuntimeError, match=f"Invalid device string: '{name}'"):
        device(name)


def test_a_device_has_a_name():
    with pytest.raises(RuntimeError, match="Device string must not be empty"):
        device("")


@pytest.mark.parametrize("value", [3.5, None, True])
def test_a_device_is_named_by_a_string_or_a_number(value):
    with pytest.raises(TypeError, match=f"must be str or device, not {type(value).__name__}"):
        device(value)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("cpu", -1), RuntimeError, "index must not be negative, but is -1"),
        ((-1,), RuntimeError, "index must not be negative, but is -1"),
        (("cpu:0", 1), RuntimeError, "must not include an index because index was passed explicitly: cpu:0"),
        (("cpu", "0"), TypeError, "argument 'index' .* must be int, not str"),
        (("cuda", True), TypeError, "argument 'index' .* must be int, not bool"),
        ((1, 2), TypeError, "must be str or device, not int"),
        ((device("cuda"), 2), TypeError, "must be str or device, not device"),
    ],
)
def test_indices_that_no_device_has(arguments, error, message):
    with pytest.raises(error, match=message):
        device(*arguments)


def test_the_default_device_is_the_cpu():
    assert numgrad.get_default_device() == device("cpu")
    numgrad.set_default_device("cpu:0")
    assert numgrad.get_default_device() == zeros(2).device == device("cpu")
    numgrad.set_default_device(None)
    with device("cpu") as place:
        assert place == device("cpu")
        assert zeros(2).device == device("cpu")


# --- memory format and layout -----------------------------------------------------------


@pytest.mark.parametrize("constant", [
    numgrad.contiguous_format, numgrad.preserve_format, numgrad.channels_last, numgrad.channels_last_3d,
    numgrad.strided,
])
def test_there_is_one_of_each(constant):
    assert pickle.loads(pickle.dumps(constant)) is copy.deepcopy(constant) is copy.copy(constant) is constant


# --- the older spellings ----------------------------------------------------------------

SISTERS = {"FloatTensor": "float32", "DoubleTensor": "float64", "LongTensor": "int64", "BoolTensor": "bool"}


@pytest.mark.parametrize("name", SISTERS)
def test_float_tensor_and_its_sisters(name):
    make, dtype = getattr(numgrad, name), getattr(numgrad, SISTERS[name])
    x = make([[1, 0], [1, 1]])
    assert type(x) is Tensor
    assert x.dtype is dtype
    assert x.tolist() == [[1, 0], [1, 1]]
    assert not x.requires_grad
    assert make(2, 3).shape == make(Size([2, 3])).shape == (2, 3)
    assert make(2, 3).dtype is dtype
    assert make().shape == (0,)
    assert make((1, 0)).tolist() == [1, 0]
    assert make(np.array([1.0, 0.0])).dtype is dtype
    assert isinstance(x, make)
    assert not isinstance(x.to(numgrad.int64 if dtype is not numgrad.int64 else numgrad.bool), make)
    assert not isinstance(3, make)


def test_float_tensor_takes_only_what_it_understands():
    whole = tensor([1, 2])
    with pytest.raises(TypeError, match=r"expected torch\.float32 \(got torch\.int64\)"):
        numgrad.FloatTensor(whole)
    with pytest.raises(TypeError, match=r"data must be a sequence \(got float\)"):
        numgrad.FloatTensor(2.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dtype'"):
        numgrad.FloatTensor([1], dtype=numgrad.int64)
    assert numgrad.LongTensor([1.75, -1.75]).tolist() == [1, -1]
    assert numgrad.FloatTensor([0.1]).item() == float(np.float32(0.1))


def test_tensor_called_as_a_class_is_a_float_tensor():
    assert Tensor([1, 2]).dtype is numgrad.float32
    assert Tensor(2, 3).shape == (2, 3)
    whole = tensor([1, 2])
    assert Tensor(whole).dtype is numgrad.int64
    Tensor(whole)[0] = 5  # the same memory
    assert whole.tolist() == [5, 2]


def test_variable():
    data = numgrad.FloatTensor([1, 2])
    x = Variable(data, requires_grad=True)
    assert type(x) is Tensor
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert not Variable(data).requires_grad
    assert not data.requires_grad
    x.data[0] = 5
    assert data.tolist() == [5, 2]
    (x * x).sum().backward()
    assert x.grad.tolist() == [10, 4]
    assert x.grad.data.zero_().tolist() == [0, 0]
    assert x.grad.tolist() == [0, 0]
    assert not Variable(x * 2).requires_grad
    assert isinstance(x, Variable)
    assert not isinstance([1, 2], Variable)


def test_variable_refuses_non_tensors_and_dtypes_without_gradients():
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        Variable([1, 2])
    with pytest.raises(RuntimeError, match=r"only Tensors of floating point and complex dtype.*torch\.int64"):
        Variable(tensor([1, 2]), requires_grad=True)
