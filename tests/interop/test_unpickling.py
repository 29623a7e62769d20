"""Damaged, truncated and malicious files: errors, and no reads outside of a storage."""

import builtins
import dataclasses
import io
import os
import pickle
import tarfile
import time
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import numgrad
from numgrad import arange, tensor
from numgrad.interop.archives import write_archive
from numgrad.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, load, safe_globals, save


def archive(pickled, *storages):
    """A file with this pickle."""
    buffer = io.BytesIO()
    write_archive(buffer, pickled, storages)
    buffer.seek(0)
    return buffer


def names(module, name):
    return f"c{module}\n{name}\n".encode()


def rebuilding(offset, shape, strides, *, key="0", count=6, kind="FloatStorage", location="cpu"):
    """A pickle of a tensor on a storage."""

    def plain(*values):
        return b"".join(pickle.dumps(value, 2)[2:-1] for value in values)

    storage = b"(" + plain("storage") + names("torch", kind) + plain(key, location, count) + b"tQ"
    arguments = b"(" + storage + plain(offset, shape, strides, False, None) + b"t"
    return b"\x80\x02" + names("torch._utils", "_rebuild_tensor_v2") + arguments + b"R."


# -- formats ---------------------------------------------------------------------------------------------


def test_a_truncated_file(tmp_path):
    path = tmp_path / "short"
    save({"w": numgrad.ones(5)}, path)
    data = path.read_bytes()
    for length in (1, 3, 4, 8, 50, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        for mmap in (None, True):
            with pytest.raises(RuntimeError, match=r"short' is (damaged|not a PyTorch file, or is damaged)"):
                load(path, mmap=mmap)
    path.write_bytes(b"")
    with pytest.raises(RuntimeError, match=r"short' is empty"):
        load(path)


def test_older_formats_are_refused_by_name(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, 2))
    with pytest.raises(RuntimeError, match=r"model.pt' is a pickle, as PyTorch's format before version 1.6 was"):
        load(path)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as file:
        file.addfile(tarfile.TarInfo("storages"))
    with pytest.raises(RuntimeError, match=r"model.pt' is a tar archive, PyTorch's oldest format"):
        load(path)


def entries(**contents):
    """A zip archive of any entries, a "__" in a name standing for a slash."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, (data, compression) in contents.items():
            file.writestr(name.replace("__", "/").replace("_pkl", ".pkl"), data, compression)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({}, "is not a PyTorch file"),
        ({"a": (b"", 0)}, "it holds no data.pkl, or several"),
        ({"a__data_pkl": (b"N.", 0), "b__data_pkl": (b"N.", 0)}, "it holds no data.pkl, or several"),
        ({"a__data_pkl": (b"N.", 0), "a__constants_pkl": (b"N.", 0)}, "it is a TorchScript archive"),
        ({"a__data_pkl": (b"N.", 0), "a__byteorder": (b"middle", 0)}, "its byte order is b'middle'"),
        ({"a__data_pkl": (b"N" * 9 + b".", 8)}, "is compressed, which PyTorch's are not"),
        ({"a__data_pkl": (b"N" * 9999 + b".", 8)}, "they are compressed, or overlap"),
    ],
)
def test_other_archives(contents, message):
    with pytest.raises(RuntimeError, match=message):
        load(entries(**contents))


def test_entries_that_overlap():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a/data.pkl", b"N.")
        file.writestr("a/data/0", bytes(9999))
        file.filelist += [file.filelist[-1]] * 3  # in the directory any number of times
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="they are compressed, or overlap"):
        load(buffer)


def test_numbers_with_their_bytes_the_other_way_round():
    storage = np.arange(6, dtype=">f4")
    data = entries(
        m__data_pkl=(rebuilding(1, (2,), (3,)), 0), m__byteorder=(b"big", 0), m__data__0=(storage.tobytes(), 0)
    )
    assert load(data).tolist() == [1, 4]


# -- tensors ---------------------------------------------------------------------------------------------


def test_tensors_on_a_storage():
    buffer = np.arange(6, dtype=np.float32)
    for offset, shape, strides in (1, (2, 2), (3, 1)), (0, (), ()), (6, (0, 3), (3, 1)), (5, (4,), (0,)):
        wanted = np.lib.stride_tricks.as_strided(buffer[offset:], shape, [4 * stride for stride in strides])
        assert load(archive(rebuilding(offset, shape, strides), buffer)).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "options"),
    [
        (1, (2, 2), (4, 1), {}), (7, (0,), (1,), {}), (6, (1,), (1,), {}), (0, (7,), (1,), {}), (-1, (2,), (1,), {}),
        (0, (2,), (-1,), {}), (5, (2,), (-1,), {}), (0, (-2,), (1,), {}), (0, (2, 2), (1,), {}),
        (0, (2**62, 4), (0, 0), {}), (0, (2**64,), (2**64,), {}), (0, (1.5,), (1,), {}), (True, (2,), (1,), {}),
        (0, None, (1,), {}), (0, 3, 1, {}),
        (0, (2,), (1,), {"count": 7}), (0, (2,), (1,), {"count": 5}), (0, (2,), (1,), {"count": -6}),
        (0, (2,), (1,), {"kind": "DoubleStorage"}), (0, (2,), (1,), {"count": 2**70}), (0, (2,), (1,), {"key": "1"}),
        (0, (2,), (1,), {"key": "../../etc/passwd"}), (0, (2,), (1,), {"key": "/etc/passwd"}),
        (0, (2,), (1,), {"kind": "Tensor"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mmap", [False, True])
def test_tensors_that_reach_out_of_their_storage(tmp_path, offset, shape, strides, options, mmap):
    path = tmp_path / "file.pt"
    path.write_bytes(archive(rebuilding(offset, shape, strides, **options), np.arange(6, dtype=np.float32)).getvalue())
    with pytest.raises(RuntimeError, match="is damaged or truncated"):
        load(path, mmap=mmap)


@pytest.mark.parametrize(("kind", "dtype"), [("ComplexHalfStorage", "complex32"), ("QInt8Storage", "qint8")])
def test_dtypes_that_there_are_not(kind, dtype):
    with pytest.raises(RuntimeError, match=f"numgrad has no dtype torch.{dtype}: in PyTorch, convert such tensors"):
        load(archive(rebuilding(0, (2,), (1,), kind=kind), np.zeros(6, np.float32)))


def test_devices_that_there_are_not():
    data = archive(rebuilding(0, (2,), (1,), location="mps"), np.zeros(6, np.float32))
    with pytest.raises(RuntimeError, match="tensors of a device 'mps', which numgrad lacks"):
        load(data)
    assert load(data, map_location={"mps": "cpu"}).tolist() == [0, 0]


# -- pickles ---------------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return builtins.exec, ("raise SystemExit('executed')",)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_functions_are_not_called(protocol):
    for value in Evil(), [Evil()], {"a": (Evil(),)}, os.system, zipfile.ZipFile:
        for weights_only in True, None:
            with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed\. Unsupported global: GLOBAL"):
                load(archive(pickle.dumps(value, protocol)), weights_only=weights_only)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_each_protocol(protocol):
    value = [
        None, True, 3, -(2**40), 2**3000, 2.5, "x" * 300, b"x" * 300, (), (1,), (1, 2, 3, 4), {1: {2}},
        OrderedDict(a=[]),
    ]  # fmt: skip
    assert load(archive(pickle.dumps(value, protocol))) == value


@pytest.mark.parametrize(
    "program",
    {
        "changing a class": names("torch", "Tensor") + b"N}X\x04\x00\x00\x00itemK\x01s\x86b.",
        "changing a dtype": names("torch", "float32") + b"N}X\x08\x00\x00\x00itemsizeK\x01s\x86b.",
        "calling a class": names("torch", "Tensor") + b")R.",
        "calling a number": b"K\x01)R.",
        "making a class": names("torch", "Tensor") + b")\x81.",
        "a large bytearray": names("builtins", "bytearray") + b"\x8a\x06" + bytes(5) + b"\x01\x85R.",
        "another encoding": names("_codecs", "encode") + b"X\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.",
        "an array of objects": names("numpy", "dtype") + b"X\x01\x00\x00\x00O\x89\x88\x87R.",
        "a function as a value": names("builtins", "set") + b".",
        "a list appended to a number": b"K\x01K\x02a.",
        "an entry of a list": b"]K\x01K\x02s.",
        "an odd number of entries": b"}(K\x01u.",
        "a key that is a list": b"}]K\x02s.",
        "a mark that is missing": b"K\x01t.",
        "a stack that is empty": b".",
        "a tuple of too little": b"K\x01\x86.",
        "what was not remembered": b"h\x05.",
        "an array that is not built": (
            names("numpy._core.multiarray", "_reconstruct") + names("numpy", "ndarray") + b"K\x00NNt"
        ),
        "no end": b"K\x01",
        "no instruction": b"\xff",
        "half an argument": b"J\x01",
    }.items(),
    ids=lambda program: program[0],
)
def test_pickles_that_make_no_sense(program):
    item, size = numgrad.Tensor.item, numgrad.float32.itemsize
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=r"is damaged|Weights only load failed"):
        load(archive(b"\x80\x02" + program[1]))
    assert (numgrad.Tensor.item, numgrad.float32.itemsize) == (item, size)


def rebuilt(
    *, key=b"X\x01\x00\x00\x000", location=b"X\x03\x00\x00\x00cpu", count=b"K\x06",
    offset=b"K\x00", shape=b"K\x06\x85", strides=b"K\x01\x85", marks=b"}",
):  # fmt: skip
    """A pickle of a tensor, the parts of which are given as instructions."""
    storage = b"(X\x07\x00\x00\x00storage" + names("torch", "FloatStorage") + key + location + count + b"tQ"
    return called("torch._utils", "_rebuild_tensor_v2", storage + offset + shape + strides + b"\x89N" + marks)


def called(module, name, arguments):
    return names(module, name) + b"(" + arguments + b"tR."


#: A tuple in a tuple in a tuple ...; and a tuple of a tuple twice, and so on.
NESTED, DOUBLED = b")" + 500_000 * b"\x85", b")" + 60 * b"q\x63h\x63\x86"


#: By position, the pickle with a value at that position.
PLACES = {
    "a key": lambda value: b"}" + value + b"K\x01s.",
    "a part of a key": lambda value: b"}" + value + b"K\x01\x86K\x01s.",
    "an element": lambda value: b"\x8f(" + value + b"\x90.",
    "an element of a frozenset": lambda value: b"(" + value + b"\x91.",
    "an element of a frozenset in a key": lambda value: b"}((" + value + b"\x91tK\x01s.",
    "an element of a list in a set": lambda value: called("builtins", "set", b"]" + value + b"a"),
    "what is counted": lambda value: called("collections", "Counter", b"]" + value + b"K\x01\x86a"),
    "a name of an attribute": lambda value: (
        called("collections", "OrderedDict", b"")[:-1] + b"]" + value + b"K\x01\x86ab."
    ),
    "a size": lambda value: called("torch", "Size", value),
    "a device": lambda value: called("torch", "device", value),
    "a layout": lambda value: called("torch.serialization", "_get_layout", value),
    "a dtype": lambda value: called("numpy", "dtype", value + b"\x89\x88"),
    "an encoding": lambda value: called("_codecs", "encode", b"X\x01\x00\x00\x00a" + value),
    "a name": lambda value: value + b"X\x01\x00\x00\x00a\x93.",
    "a function": lambda value: value + b")R.",
    "a class": lambda value: value + b")\x81.",
    "a storage": lambda value: value + b"Q.",
    "the name of a storage": lambda value: rebuilt(key=value),
    "the place of a storage": lambda value: rebuilt(location=value),
    "the length of a storage": lambda value: rebuilt(count=value),
    "an offset": lambda value: rebuilt(offset=value),
    "a shape": lambda value: rebuilt(shape=b"(K\x01" + value + b"t"),
    "strides": lambda value: rebuilt(strides=value),
    "marks": lambda value: rebuilt(marks=value),
}  # fmt: skip


@pytest.mark.parametrize("value", [NESTED, DOUBLED], ids=["nested", "doubled"])
@pytest.mark.parametrize("place", PLACES)
def test_values_that_would_take_forever(place, value):
    start = time.perf_counter()
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=r"is damaged|Weights only load failed") as caught:
        load(archive(b"\x80\x04" + PLACES[place](value), np.zeros(6, np.float32)))
    assert time.perf_counter() - start < 5
    assert len(str(caught.value)) < 1000


def collided(push):
    """A set of many elements, all of one hash."""
    return b"\x8f(" + b"".join(map(push, range(20_000))) + b"\x90."


def repeated(pushed, number, module, name):
    """The results of many calls of a function with the same argument."""
    call = b"h\x01h\x00R"
    return names(module, name) + b"q\x01" + pushed + b"\x85q\x00" + b"(" + number * call + b"t."


@pytest.mark.parametrize("program", {
    "numbers of one hash": collided(lambda number: pickle.dumps(number * (2**61 - 1), 2)[2:-1]),
    "tuples of one hash": collided(lambda number: pickle.dumps((number * (2**61 - 1),), 2)[2:-3] + b"\x85"),
    "complex numbers of one hash": collided(
        lambda number: called("builtins", "complex", pickle.dumps((1000003.0 * number, -1.0 * number), 2)[2:-4])[:-1]
    ),
    "one key a hundred thousand times": b"}(" + b"(" + 999 * b"N" + b"tq\x00N" + 100_000 * b"h\x00N" + b"u.",
    "copies of bytes": repeated(b"X\xa0\x86\x01\x00" + 100_000 * b"a", 10_000, "_codecs", "encode"),
    "copies of a list": repeated(b"](" + 100_000 * b"K\x01" + b"e", 10_000, "builtins", "frozenset"),
}.items(), ids=lambda program: program[0])  # fmt: skip
def test_small_files_that_describe_much(program):
    start = time.perf_counter()
    with pytest.raises(RuntimeError, match="it describes more elements than a file of its size"):
        load(archive(b"\x80\x04" + program[1]))
    assert time.perf_counter() - start < 5


def test_marks_of_tensors_that_show_much():
    """The memory is negated or conjugated once, whatever part of it a tensor views."""
    marks = b"}X\x03\x00\x00\x00neg\x88s"
    pickled = rebuilt(shape=b"J\x00\x00\x00\x40K\x02\x86", strides=b"K\x00K\x01\x86", marks=marks)
    shown = load(archive(b"\x80\x02" + pickled, np.arange(6, dtype=np.float32)))
    assert shown.shape == (2**30, 2)
    assert shown[7].tolist() == [0, -1]


#: By kind, instructions that put the value on the stack into a container.
WRAPPINGS = {
    "tuple": b"\x85", "twice": b"q\x63h\x63\x86", "list": b"q\x630]h\x63a", "set": b"q\x630\x8f(h\x63\x90",
    "frozenset": b"q\x630(h\x63\x91", "frozenset of both": b"q\x630(h\x63h\x63\x85\x91", "value": b"q\x630}K\x01h\x63s",
    "key": b"q\x630}h\x63K\x01s",
    "ordered": b"q\x630" + called("collections", "OrderedDict", b"")[:-1] + b"h\x63K\x01s",
    "size": b"q\x630" + called("torch", "Size", b"h\x63")[:-1],
    "counted": b"q\x630" + called("collections", "Counter", b"}h\x63K\x01s")[:-1],
    "members": b"q\x630" + called("builtins", "frozenset", b"]h\x63a")[:-1],
    "attribute": b"q\x630" + called("collections", "OrderedDict", b"")[:-1] + b"}X\x01\x00\x00\x00ah\x63sb",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_pickles_of_random_structures(seed):
    """Nested, repeated and hashed values in any place load, or raise an error that names the fault."""
    random, buffer, read = np.random.default_rng(seed), np.arange(6, dtype=np.float32), 0
    for _ in range(500):
        value = random.choice([b")", b"N", b"]", b"K\x01", b"X\x03\x00\x00\x00cpu"])
        for kind in random.choice([*WRAPPINGS], size=random.integers(6)):
            value += WRAPPINGS[kind] * random.choice([1, 1, 40, 2000])
        programs = [lambda value: value + b".", *PLACES.values()]
        start = time.perf_counter()
        try:
            load(archive(b"\x80\x04" + programs[random.integers(len(programs))](value), buffer))
            read += 1
        except (RuntimeError, pickle.UnpicklingError):
            pass
        assert time.perf_counter() - start < 5
    assert read > 20


@pytest.mark.filterwarnings("ignore")  # of escapes in texts
@pytest.mark.parametrize("seed", range(3))
def test_pickles_with_damaged_bytes(seed):
    """A pickle with any changed bytes loads, or raises an error that names the fault."""
    buffer = io.BytesIO()
    save({"w": arange(6.0).view(2, 3).t(), "n": [np.float32(1), 2.5, ("x", {1})]}, buffer)
    with zipfile.ZipFile(buffer) as file:
        pickled = file.read("archive/data.pkl")
    elements, random, refused = np.arange(6, dtype=np.float32), np.random.default_rng(seed), 0
    for _ in range(500):
        damaged = bytearray(pickled)
        for place in random.integers(len(pickled), size=random.integers(1, 4)):
            damaged[place] = random.integers(256)
        try:
            load(archive(bytes(damaged), elements))
        except (RuntimeError, pickle.UnpicklingError, MemoryError):
            refused += 1
    assert refused > 250


# -- globals declared as safe ----------------------------------------------------------------------------


@dataclasses.dataclass
class Settings:
    rate: float
    weight: numgrad.Tensor


class Slots:
    __slots__ = ("x", "y")


@pytest.fixture
def no_safe_globals():
    yield
    clear_safe_globals()


def test_classes_that_the_user_takes_for_safe(no_safe_globals):
    x, buffer = tensor([1.0, 2.0]), io.BytesIO()
    slots = Slots()
    slots.x, slots.y = 1, x
    with safe_globals([Settings, Slots]):
        save([Settings(0.1, x), slots, x], buffer)
        settings, other, same = load(io.BytesIO(buffer.getvalue()))
    assert type(settings) is Settings
    assert (settings.rate, settings.weight, other.x, other.y) == (0.1, same, 1, same)
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL .*Settings was not an allowed"):
        load(io.BytesIO(buffer.getvalue()))


def test_the_list_of_what_is_safe(no_safe_globals):
    add_safe_globals([Settings, (Slots, "elsewhere.Slots")])
    assert get_safe_globals() == [Settings, Slots]
    with safe_globals([(dict, "elsewhere.dict")]):
        assert load(archive(b"\x80\x02" + names("elsewhere", "dict") + b")R.")) == {}
    assert get_safe_globals() == [Settings, Slots]
    clear_safe_globals()
    assert get_safe_globals() == []
    with pytest.raises(TypeError, match="a safe global is a class or function"):
        add_safe_globals([(Settings, 3)])
