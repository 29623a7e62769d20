"""Memory of GPUs shared with other libraries, in both directions: ``__cuda_array_interface__`` and DLPack."""

import gc
import weakref

import numpy as np
import pytest

import numgrad
from numgrad import from_dlpack, tensor, to_dlpack
from numgrad.interop import dlpack

KINDS = [
    numgrad.bool, numgrad.uint8, numgrad.int8, numgrad.int16, numgrad.int32, numgrad.int64, numgrad.float32,
    numgrad.float64, numgrad.complex64, numgrad.complex128,
]


@pytest.fixture(autouse=True)
def _in_use(cuda):
    """Every test here uses GPUs."""


class Exported:
    """Another library's array on a GPU, as its interface describes it."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


def is_same_memory(one, other):
    return one.data_ptr() == other.data_ptr() and one.stride() == other.stride() and one.tolist() == other.tolist()


# --- __cuda_array_interface__ -----------------------------------------------------------


def test_the_interface():
    x = numgrad.arange(6.0, device="cuda").reshape(2, 3)
    interface = x.__cuda_array_interface__
    assert interface == {
        "shape": (2, 3), "typestr": "<f4", "data": (x.data_ptr(), False), "strides": None, "stream": 1, "version": 3,
    }
    transposed = x.t()[1:].__cuda_array_interface__
    assert (transposed["shape"], transposed["strides"], transposed["data"][0]) == ((2, 2), (4, 12), x.data_ptr() + 4)
    assert numgrad.zeros(0, 3, device="cuda").__cuda_array_interface__["data"] == (0, False)


def test_the_interface_names_the_current_stream():
    x = tensor([1.0], device="cuda")
    stream = numgrad.cuda.Stream()
    with numgrad.cuda.stream(stream):
        assert x.__cuda_array_interface__["stream"] == stream.cuda_stream


def test_who_has_no_interface():
    assert not hasattr(tensor([1.0]), "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"non-CUDA tensor type: torch\.FloatTensor Use tensor\.cuda"):
        tensor([1.0]).__cuda_array_interface__  # noqa: B018
    with pytest.raises(RuntimeError, match="on Variable that requires grad"):
        tensor([1.0], device="cuda", requires_grad=True).__cuda_array_interface__  # noqa: B018


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_arrays_are_taken_as_they_are(kind):
    x = tensor([[0, 1], [2, 3]], device="cuda").to(kind)
    taken = numgrad.as_tensor(Exported(x))
    assert (taken.dtype, taken.device) == (kind, x.device)
    assert is_same_memory(taken, x)


@pytest.mark.parametrize(
    "view",
    [lambda x: x.t(), lambda x: x[:, 1:], lambda x: x[1], lambda x: x[0, 1], lambda x: x[:, ::2], lambda x: x[:0]],
)
def test_arrays_of_any_strides(view):
    x = view(numgrad.arange(6.0, device="cuda").reshape(2, 3))
    taken = numgrad.as_tensor(Exported(x))
    assert taken.shape == x.shape
    assert taken.tolist() == x.tolist()
    taken += 1
    assert x.tolist() == taken.tolist()
    stream = numgrad.as_tensor(Exported(x, stream=None))
    assert stream.tolist() == x.tolist()


def test_an_array_lives_as_long_as_its_tensor():
    array = Exported(tensor([1.0, 2.0], device="cuda"))
    gone = weakref.ref(array)
    part = numgrad.as_tensor(array)[1:]
    del array
    gc.collect()
    assert gone() is not None
    assert part.tolist() == [2]
    del part
    gc.collect()
    assert gone() is None


def test_further_arguments():
    x = tensor([1.5, 2.5], device="cuda")
    assert numgrad.as_tensor(Exported(x), device="cpu").device == numgrad.device("cpu")
    assert numgrad.as_tensor(Exported(x), dtype=numgrad.int64).tolist() == [1, 2]
    copied = tensor(Exported(x), requires_grad=True)
    assert copied.is_cuda
    assert copied.requires_grad
    assert copied.data_ptr() != x.data_ptr()
    assert copied.tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"strides": (-4,)}, ValueError, "stride in the given array is negative"),
        ({"strides": (6,)}, ValueError, "not a multiple of the element byte size"),
        ({"typestr": ">f4"}, ValueError, "byte order"),
        ({"typestr": "<f16"}, TypeError, "numgrad has no dtype"),
        ({"mask": 1}, ValueError, "masked"),
    ],
)
def test_arrays_that_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        numgrad.as_tensor(Exported(tensor([1.0, 2.0], device="cuda"), **changes))


def test_a_read_only_array_is_warned_of():
    x = tensor([1.0], device="cuda")
    with pytest.warns(UserWarning, match="not writable"):
        numgrad.as_tensor(Exported(x, data=(x.data_ptr(), True)))


# --- DLPack -----------------------------------------------------------------------------


class Old:
    """A library with DLPack before version 1.0."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.streams = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_there_and_back(kind):
    x = tensor([[0, 1, 2], [3, 4, 5]], device="cuda").to(kind)
    assert x.__dlpack_device__() == (2, 0)
    for taken in (from_dlpack(x), from_dlpack(to_dlpack(x)), from_dlpack(Old(x))):
        assert (taken.dtype, taken.device) == (kind, x.device)
        assert is_same_memory(taken, x)
    assert is_same_memory(from_dlpack(x.t()), x.t())
    assert from_dlpack(x[:, 1:]).tolist() == x[:, 1:].tolist()
    assert from_dlpack(x[1, 2]).shape == ()
    assert from_dlpack(x[:0]).shape == (0, 3)


def test_capsules_keep_the_memory_and_give_it_back():
    before = len(dlpack._kept)
    x = tensor([1.0, 2.0], device="cuda")
    capsule = to_dlpack(x)
    del x
    assert len(dlpack._kept) == before + 1
    taken = from_dlpack(capsule)
    del capsule
    gc.collect()
    assert taken[1:].tolist() == [2]
    del taken
    gc.collect()
    assert len(dlpack._kept) == before
    unread = to_dlpack(tensor([1.0], device="cuda"))
    assert len(dlpack._kept) == before + 1
    del unread
    assert len(dlpack._kept) == before


def test_copies_and_other_devices():
    x = tensor([1.0, 2.0], device="cuda")
    copied = from_dlpack(x, copy=True)
    assert copied.data_ptr() != x.data_ptr()
    assert copied.tolist() == [1, 2]
    assert from_dlpack(x, device="cpu").device == numgrad.device("cpu")
    assert is_same_memory(from_dlpack(x, device="cuda", copy=False), x)
    assert from_dlpack(np.ones(2), device="cuda").is_cuda
    assert np.from_dlpack(x.cpu()).tolist() == [1, 2]
    assert from_dlpack(x.__dlpack__(dl_device=(1, 0))).device == numgrad.device("cpu")
    with pytest.raises(ValueError, match="a copy is needed"):
        from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(ValueError, match="a copy is needed"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="to DLPack device"):
        x.__dlpack__(dl_device=(2, 7))
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        from_dlpack(x.requires_grad_())


def test_streams():
    old = Old(tensor([1.0], device="cuda"))
    from_dlpack(old)
    stream = numgrad.cuda.Stream()
    with numgrad.cuda.stream(stream):
        from_dlpack(old)
    assert old.streams == [1, stream.cuda_stream]
    for given in (None, -1, 0, 1, 2, stream.cuda_stream):
        assert from_dlpack(old.tensor.__dlpack__(stream=given)).tolist() == [1]
    with pytest.raises(TypeError, match="stream must be an int or None, not str"):
        old.tensor.__dlpack__(stream="1")


def test_a_capsule_is_read_once():
    capsule = to_dlpack(tensor([1.0], device="cuda"))
    from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="DLTensor capsules can be consumed only once"):
        from_dlpack(capsule)


# The structures are DLPack's: NumPy reads ours, and we read NumPy's, if they are said to be of the CPU's memory.


@pytest.mark.parametrize("versioned", [False, True])
def test_our_structures_are_read_by_numpy(monkeypatch, versioned):
    monkeypatch.setattr(dlpack, "CUDA", 1)
    array = np.arange(6, dtype=np.int16).reshape(2, 3)

    class Ours:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return dlpack.capsule_of(array, array.ctypes.data, (1, 0), array.dtype, (3, 2), (1, 3), versioned)

    taken = np.from_dlpack(Ours())
    assert taken.tolist() == array.T.tolist()
    assert np.shares_memory(taken, array)


@pytest.mark.parametrize("asked", [{}, {"max_version": (1, 0)}], ids=["older", "versioned"])
def test_numpys_structures_are_read_by_us(monkeypatch, asked):
    array = np.arange(6.0).reshape(2, 3)[:, 1:]
    with pytest.raises(BufferError, match="not on a GPU"):
        dlpack.read_capsule(array.__dlpack__(**asked))
    monkeypatch.setattr(dlpack, "CUDA", 1)
    owner, address, device, *layout = dlpack.read_capsule(array.__dlpack__(**asked))
    assert (address, device) == (array.ctypes.data, 0)
    assert layout == [array.dtype, (2, 2), (3, 1), False]
    del owner


@pytest.mark.cupy
def test_a_library_of_today(size):
    import cupy

    x = numgrad.arange(size(6, 1 << 20), dtype=numgrad.float32, device="cuda")
    array = cupy.asarray(x)
    assert array.data.ptr == x.data_ptr()
    assert is_same_memory(numgrad.as_tensor(array), x)
    assert is_same_memory(from_dlpack(cupy.from_dlpack(x)), x)
