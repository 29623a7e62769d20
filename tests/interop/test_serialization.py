"""save and load: the loaded values, and errors for invalid files."""

import io
import math
import os
import pickle
from collections import Counter, OrderedDict

import numpy as np
import pytest

import numgrad
from numgrad import arange, tensor
from numgrad.interop import archives
from numgrad.nn import Parameter
from numgrad.serialization import load, save


def saved(state):
    buffer = io.BytesIO()
    save(state, buffer)
    return buffer.getvalue()


def roundtrip(state):
    return load(io.BytesIO(saved(state)))


# -- loaded values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mmap", [None, True])
def test_a_training_state(tmp_path, mmap):
    weight = Parameter(numgrad.randn(3, 2))
    state = {
        "epoch": 3,
        "model": OrderedDict(weight=weight, bias=numgrad.zeros(3)),
        "optimizer": {"state": {0: {"step": tensor(7.0), "momentum": None}}, "param_groups": [{"betas": (0.9, 0.99)}]},
        "best": math.inf,
    }
    path = tmp_path / "checkpoint.pt"
    save(state, path)
    assert os.listdir(tmp_path) == ["checkpoint.pt"]
    result = load(str(path), mmap=mmap)
    assert list(result) == ["epoch", "model", "optimizer", "best"]
    assert result["epoch"] == 3
    assert result["best"] == math.inf
    assert type(result["model"]) is OrderedDict
    assert type(result["model"]["weight"]) is Parameter
    assert result["model"]["weight"].tolist() == weight.tolist()
    assert result["optimizer"]["state"][0]["step"].item() == 7
    assert result["optimizer"]["param_groups"] == [{"betas": (0.9, 0.99)}]
    result["model"]["bias"].fill_(5)  # a copy, whatever the mapping
    assert load(path)["model"]["bias"].tolist() == [0, 0, 0]


VALUES = [
    None, True, False, 0, -3, 10**30, 1.5, -0.0, 5e-324, math.inf, -math.inf, 1 + 2j, complex(math.inf, -0.0), "",
    "text \u00e9 \U0001f600 \"\\", b"", b"\x00\xff", numgrad.float32, numgrad.bool, numgrad.device("cpu"),
    numgrad.Size([2, 3]), (), [], {}, (1, (2, [3])), {1: "a", "1": "b", None: 2.5, (1, "x"): 3, 0.5: 4},
    np.float64(2.5), np.float32(0.1), np.int8(-3), np.bool_(True), OrderedDict([("b", 1), ("a", 2)]),
    Counter({2: 1, 4: 3}), {1, (2, 3)}, frozenset({3}), bytearray(b"\x00\xff"), numgrad.strided,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(value):
    result = roundtrip([value, {"k": value}])
    assert result == [value, {"k": value}]
    assert repr(result) == repr([value, {"k": value}])  # types and the sign of zero are compared, too


def test_nan():
    result = roundtrip((math.nan, np.float32(math.nan)))
    assert all(math.isnan(value) for value in result)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64",
                                   "complex64", "complex128"])  # fmt: skip
def test_dtypes(dtype):
    x = tensor([0, 1, 5], dtype=getattr(numgrad, dtype))
    result = roundtrip(x)
    assert result.dtype is x.dtype
    assert result.tolist() == x.tolist()


LAYOUTS = {
    "contiguous": lambda: arange(6).reshape(2, 3),
    "0-d": lambda: tensor(2.5),
    "empty": lambda: numgrad.zeros(0, 3),
    "empty, transposed": lambda: numgrad.zeros(0, 3).t(),
    "transposed": lambda: arange(6).reshape(2, 3).t(),
    "stepped": lambda: arange(10)[1::3],
    "expanded": lambda: tensor([[1.0], [2.0]]).expand(2, 4),
    "a part": lambda: arange(10)[3:7],
    "one row of a transposed": lambda: arange(6).reshape(2, 3).t()[:, 1:],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    x = LAYOUTS[name]()
    result = roundtrip(x)
    assert result.tolist() == x.tolist()
    assert result.shape == x.shape
    assert result.stride() == x.stride()
    assert result.is_contiguous() == x.is_contiguous()


def test_no_more_is_stored_than_needed():
    assert len(saved(arange(10_000)[5:7])) < 1500
    assert len(saved(numgrad.ones(1).expand(10_000))) < 1500


def test_arrays():
    big_endian = np.asfortranarray(np.ones((2, 3), ">f4"))
    arrays = [np.arange(6.0).reshape(2, 3), big_endian, np.zeros((0, 2), "?"), np.array(1j)]
    result = roundtrip(arrays)
    for array, wanted in zip(result, arrays, strict=True):
        assert array.dtype == wanted.dtype.newbyteorder("=")
        assert (array.shape, array.tolist()) == (wanted.shape, wanted.tolist())
        assert array.flags.writeable


def test_the_same_list_stays_the_same():
    part = [1]
    looped = {"part": part, "again": part}
    looped["self"] = looped
    result = roundtrip(looped)
    result["part"].append(2)
    assert result["again"] == [1, 2]
    assert result["self"] is result


def test_the_graph_is_left_out():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    first, second, third = roundtrip([x, x * 2, x.detach()])
    assert first.requires_grad
    assert first.grad is None
    assert second.is_leaf
    assert second.requires_grad
    assert not third.requires_grad
    frozen = roundtrip(Parameter(tensor([1.0]), requires_grad=False))
    assert type(frozen) is Parameter
    assert not frozen.requires_grad


def test_attributes_of_a_tensor():
    x = tensor([1.0])
    x.note = {"seen": [1, tensor([2.0])]}
    assert roundtrip(x).note["seen"][1].item() == 2
    state = OrderedDict(x=x)
    state._metadata = OrderedDict({"": {"version": 1}})
    assert roundtrip(state)._metadata == {"": {"version": 1}}
    assert not hasattr(roundtrip(OrderedDict()), "_metadata")


def test_hooks_are_left_out_with_a_warning():
    x = tensor([1.0], requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        assert roundtrip(x).tolist() == [1]


# -- shared memory ---------------------------------------------------------------------------------------


def test_the_same_tensor_stays_the_same():
    weight = Parameter(numgrad.ones(2))
    result = roundtrip({"a": weight, "b": [weight], "detached": weight.detach()})
    assert result["a"] is result["b"][0]
    with numgrad.no_grad():
        result["a"].fill_(3)
    assert result["detached"].tolist() == [3, 3]


@pytest.mark.parametrize("mmap", [None, True])
def test_views_stay_views(tmp_path, mmap):
    x = arange(12.0).reshape(3, 4)
    save([x.t(), x[1], x, x[:, 2]], tmp_path / "f")
    transposed, row, whole, column = load(tmp_path / "f", mmap=mmap)
    whole.copy_(whole + 100)
    assert transposed.tolist() == (x + 100).t().tolist()
    assert row.tolist() == [104, 105, 106, 107]
    assert column.tolist() == [102, 106, 110]
    assert column.stride() == (4,)


def test_views_of_what_is_not_saved_itself():
    x = arange(20)
    even, odd, part = roundtrip((x[::2], x[1::2], x[4:8]))
    part.fill_(0)
    assert even.tolist() == [0, 2, 0, 0, 8, 10, 12, 14, 16, 18]
    assert odd.tolist() == [1, 3, 0, 0, 9, 11, 13, 15, 17, 19]
    x = arange(6.0).reshape(2, 3)
    first, second = roundtrip((x[:1].expand(3, 3), x[0]))
    second.fill_(9)
    assert first.tolist() == [[9, 9, 9]] * 3


def test_loaded_tensors_that_share_storage_are_saved_once():
    x = arange(6.0)
    first = saved({"x": x, "part": x[1:3]})
    assert len(saved(load(io.BytesIO(first)))) == len(first)


def test_a_row_with_a_stride_of_its_own_shares_with_its_part():
    x = arange(12).reshape(3, 4)[:1].as_strided((1, 4), (9, 1))  # one row: the stride of its dimension means nothing
    row, part = roundtrip((x, x[0, 1:3]))
    part.fill_(0)
    assert row.tolist() == [[0, 0, 0, 3]]


# -- damage ----------------------------------------------------------------------------------------------


def test_any_damaged_byte_is_noticed():
    state = {"w": tensor([1.0, 2.0]), "v": [arange(6).reshape(2, 3).t(), 1.5]}
    data = saved(state)
    noticed = 0
    for place in range(len(data)):
        for change in (0x01, 0x20, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= change
            try:
                result = load(io.BytesIO(bytes(damaged)))
            except RuntimeError as error:
                noticed += "damaged" in str(error)
            else:  # the reading did not depend on that byte
                assert list(result) == ["w", "v"]
                assert result["w"].tolist() == [1, 2]
                assert result["v"][0].tolist() == [[0, 3], [1, 4], [2, 5]]
                assert result["v"][1] == 1.5
    assert noticed > len(data)


# -- values that cannot be saved -------------------------------------------------------------------------


UNNAMED = lambda: None  # noqa: E731 - a function that its name does not lead to


def looped():
    part = [1]
    part.append((part,))
    return {"k": part[1]}


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ({"o": [{"f": (item for item in ())}]}, TypeError, r"state\['o'\]\[0\]\['f'\]: cannot pickle 'generator'"),
        ({(1, UNNAMED): 2}, pickle.PicklingError, r"key .* of state\[1\]: Can't pickle <function <lambda>"),
        (looped(), ValueError, r"state\['k'\]\[0\]\[1\]: a tuple that contains itself cannot be saved"),
    ],
)
def test_refused(tmp_path, state, error, message):
    path = tmp_path / "file"
    save(1, path)
    with pytest.raises(error, match=message):
        save(state, path)
    assert load(path) == 1
    assert os.listdir(tmp_path) == ["file"]


def test_refused_attributes():
    x = tensor([1.0])
    x.note = UNNAMED
    with pytest.raises(pickle.PicklingError, match=r"state\['w'\].__dict__\['note'\]: Can't pickle"):
        saved({"w": x})


def test_an_object_twice_is_not_a_loop():
    part = (1,)
    assert roundtrip([part, part, {"a": part}]) == [(1,), (1,), {"a": (1,)}]


def test_the_format_before_version_1_6_is_not_written():
    with pytest.raises(ValueError, match=r"not the one before version 1\.6"):
        save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


# -- files -----------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    save("old", path)

    def full(handle):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save("new", path)
    monkeypatch.undo()
    assert load(path) == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    path = tmp_path / ("x" * 250)
    save(1, path)
    assert load(path) == 1


def test_mode_and_links_are_kept(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    save(1, path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o600)
    link.symlink_to(path)
    save(2, link)
    assert link.is_symlink()
    assert load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_objects_that_are_not_files(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .*missing does not exist"):
        save(1, tmp_path / "missing" / "file")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        save(1, tmp_path)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        save(1, 5)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'read'"):
        load(5)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        load(io.BytesIO(saved(1)), mmap=True)


def test_open_files(tmp_path):
    path = tmp_path / "file"
    with open(path, "wb") as file:
        save([1, 2], file)
    with open(path, "rb") as file:
        assert load(file) == [1, 2]
    path.write_bytes(b"nonsense")
    with open(path, "rb") as file, pytest.raises(RuntimeError, match=r"file' is not a PyTorch file, or is damaged"):
        load(file)


class Stream:
    """A file with nothing but these methods."""

    def __init__(self, data=b""):
        self.buffer = io.BytesIO(data)
        self.read, self.seek, self.tell = self.buffer.read, self.buffer.seek, self.buffer.tell


def test_files_with_few_methods():
    class Pipe:
        data = b""

        def write(self, data):
            self.data += bytes(data)
            return len(data)

        def flush(self):
            pass

    pipe = Pipe()
    save({"x": arange(3), "y": [1.5]}, pipe)
    result = load(Stream(pipe.data))
    assert result["x"].tolist() == [0, 1, 2]
    assert result["y"] == [1.5]
    stream = Stream()
    del stream.seek
    with pytest.raises(AttributeError, match=r"'seek'.*You can only torch\.load from a file that"):
        load(stream)
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as file, pytest.raises(io.UnsupportedOperation, match="Please pre-load the data"):
        load(file)


@pytest.mark.parametrize("large", [False, True])
def test_memory_in_a_file_is_aligned(tmp_path, monkeypatch, large):
    if large:  # as entries of more than a gigabyte are written
        monkeypatch.setattr(archives, "_LARGE", 1)
    save([arange(5), tensor([1.5]), arange(10_000)], tmp_path / "f")
    for part, count in zip(load(tmp_path / "f", mmap=True), (5, 1, 10_000), strict=True):
        assert part.data_ptr() % 64 == 0
        assert part.numel() == count
    assert load(tmp_path / "f")[2].tolist() == [*range(10_000)]


def test_map_location():
    data = saved(tensor([1.0]))
    functions = [lambda row, name: row, lambda row, name: None]
    for location in (None, "cpu", numgrad.device("cpu"), {"cuda:0": "cpu"}, *functions):
        assert load(io.BytesIO(data), location).tolist() == [1]
        assert load(io.BytesIO(data), map_location=location).device == numgrad.device("cpu")
    with pytest.raises(RuntimeError, match="at start of device string: tpu"):
        load(io.BytesIO(data), map_location="tpu")
    with pytest.raises(TypeError, match="argument 'map_location' must be a device, its name, a dict or a function"):
        load(io.BytesIO(data), map_location=1.5)


def test_map_location_is_given_each_storage_once():
    x, given = arange(6.0), []

    def location(row, name):
        given.append((row.tolist(), name))
        return row + 1

    result = load(io.BytesIO(saved([x[1:], x.view(2, 3)[:, 1:], tensor(7)])), location)
    assert given == [([1, 2, 3, 4, 5], "cpu"), ([7], "cpu")]
    assert [part.tolist() for part in result] == [[2, 3, 4, 5, 6], [[2, 3], [5, 6]], 8]
    with pytest.raises(TypeError, match=r"map_location returned 5 for a storage of 1 elements of type torch\.float32"):
        load(io.BytesIO(saved(tensor(1.0))), lambda row, name: 5)
    with pytest.raises(ZeroDivisionError):
        load(io.BytesIO(saved(tensor(1.0))), lambda row, name: 1 / 0)


def test_other_ways_of_unpickling_are_refused():
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        load(io.BytesIO(saved(1)), pickle_module=math)
