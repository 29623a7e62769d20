"""Files that PyTorch wrote, read here, and the other way round; models whose weights go from one to the other."""

import importlib
import io
import math
import pickle
import warnings
from collections import Counter, OrderedDict
from contextlib import nullcontext

import numpy as np
import pytest

import numgrad
from numgrad.interop import archives

pytestmark = pytest.mark.torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]

LAYOUTS = {
    "contiguous": lambda x: x, "transposed": lambda x: x.t(), "stepped": lambda x: x[:, ::2], "part": lambda x: x[1],
    "0-d": lambda x: x[1, 2], "expanded": lambda x: x[:1].expand(3, 4), "empty": lambda x: x[:0],
}  # fmt: skip


def exchanged(state, writer, reader, path, **options):
    writer.save(state, path)
    with warnings.catch_warnings(action="ignore"):  # PyTorch's, of storages
        return reader.load(path, **options)


def both_ways():
    import torch

    return [(torch, numgrad), (numgrad, torch)]


def facts(x):
    return x.tolist(), tuple(x.shape), x.stride(), str(x.dtype), x.requires_grad, x.is_leaf, type(x).__name__


@pytest.mark.parametrize("mmap", [None, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors(tmp_path, layout, dtype, mmap):
    for writer, reader in both_ways():
        x = LAYOUTS[layout](writer.arange(12).reshape(3, 4).to(getattr(writer, dtype)))
        y = exchanged(x, writer, reader, tmp_path / "file.pt", mmap=mmap)
        assert facts(y) == facts(x)


def states(m):
    """Return the contents of checkpoints, by name."""
    metadata = OrderedDict(a=1)
    metadata._metadata = OrderedDict({"": {"version": 2}})
    noted, parameter = m.ones(2), m.nn.Parameter(m.ones(2), requires_grad=False)
    noted.note = parameter.note = {"seen": [1]}
    return {
        "numbers": [0, -1, 255, 65536, -(2**31), 2**31, 10**30, True, False, None, 1.5, -0.0, float("inf"), 2 - 1j],
        "texts": ["", "a", "é" * 300, "\U0001f600", b"", b"\x00\xff", bytearray(b"x")],
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {1: (2, [3])}, {1, 2}, Counter("aab")],
        "own": [m.float32, m.int64, m.complex128, m.bool, m.device("cpu"), m.device("cuda", 1), m.Size([2]), m.strided],
        "ordered": metadata,
        "leaf": m.ones(2, requires_grad=True),
        "parameter": m.nn.Parameter(m.ones(2)),
        "attributes": [noted, parameter],
        "optimizer": {"state": {0: {"step": m.tensor(7.0), "buffer": None}}, "param_groups": [{"betas": (0.9, 0.99)}]},
    }


def plain(value):
    """The facts of a value: those of its tensors, and the text of everything else."""
    if hasattr(value, "untyped_storage") or isinstance(value, numgrad.Tensor):
        return facts(value), plain(getattr(value, "note", None))
    if isinstance(value, dict):
        entries = [(key, plain(x)) for key, x in value.items()]
        return type(value).__name__, entries, plain(getattr(value, "_metadata", None))
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(x) for x in value]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("name", states(numgrad))
def test_states(tmp_path, name):
    for writer, reader in both_ways():
        result = exchanged(states(writer)[name], writer, reader, tmp_path / "file.pt")
        assert plain(result) == plain(states(reader)[name])


def test_numbers_and_arrays_of_numpy(tmp_path):
    arrays = [np.arange(6).reshape(2, 3), np.ones(2, ">f4"), np.zeros((0, 2))]
    state = [np.float64(2.5), np.int8(-3), np.bool_(True), *arrays]
    for writer, reader in both_ways():
        options = {} if reader is numgrad else {"weights_only": False}
        result = exchanged(state, writer, reader, tmp_path / "file.pt", **options)
        assert [x.tolist() for x in result] == [x.tolist() for x in state]
        assert [x.dtype for x in result] == [x.dtype.newbyteorder("=") for x in state]


def test_files_of_large_entries(tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(archives, "_LARGE", 1)
    for mmap in None, True:
        result = exchanged([numgrad.arange(5), numgrad.ones(3)], numgrad, torch, tmp_path / "file.pt", mmap=mmap)
        assert [x.tolist() for x in result] == [[0, 1, 2, 3, 4], [1, 1, 1]]


def test_views_share_memory(tmp_path):
    for writer, reader in both_ways():
        x = writer.arange(12.0).reshape(3, 4)
        state = exchanged({"t": x.t(), "row": x[1], "x": x, "same": x}, writer, reader, tmp_path / "file.pt")
        state["row"].fill_(9)
        assert state["t"].tolist() == [[0, 9, 8], [1, 9, 9], [2, 9, 10], [3, 9, 11]]
        assert state["same"] is state["x"]


def test_conjugated_and_negated_elements(tmp_path):
    import torch

    x = torch.tensor([1 + 2j, 3 - 1j])
    for y in x.conj(), x.conj().imag:
        assert exchanged(y, torch, numgrad, tmp_path / "file.pt").tolist() == y.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_and_bfloat16(tmp_path, dtype):
    import torch

    values = [1.5, -3.140625, math.inf, 1e-3]
    for source, target in (torch, numgrad), (numgrad, torch):
        x = source.tensor(values, dtype=getattr(source, dtype))
        y = exchanged(x, source, target, tmp_path / "file.pt")
        assert y.dtype is getattr(target, dtype)
        assert y.tolist() == x.tolist()
        assert target.from_dlpack(x).tolist() == x.tolist()
        assert target.from_dlpack(x.reshape(2, 2).T).dtype is getattr(target, dtype)
        with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16") if dtype == "bfloat16" else (
            nullcontext()
        ):
            assert x.numpy().dtype.name == "float16"


@pytest.mark.parametrize(("source", "target"), [("numgrad", "torch"), ("torch", "numgrad"), ("numgrad", "numgrad")])
def test_unsigned_integers_without_storages_of_their_own(source, target):
    source, target = importlib.import_module(source), importlib.import_module(target)
    x = source.tensor([[1, 2], [3, 2**32 - 1]], dtype=source.uint32)
    buffer = io.BytesIO()
    source.save({"whole": x, "row": x[1]}, buffer)
    buffer.seek(0)
    read = target.load(buffer)
    assert read["whole"].dtype is target.uint32
    assert read["whole"].tolist() == x.tolist()
    read["whole"][1, 0] = 7
    assert read["row"].tolist() == [7, 2**32 - 1]


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
@pytest.mark.parametrize("dtype", ["float8_e5m2", "complex32"])
def test_dtypes_that_there_are_not(dtype):
    import torch

    for value in torch.empty(2, dtype=getattr(torch, dtype)), getattr(torch, dtype):
        buffer = io.BytesIO()
        torch.save([value], buffer)
        buffer.seek(0)
        with pytest.raises(RuntimeError, match=r"numgrad has no dtype torch\.\w+.*in PyTorch, convert such tensors"):
            numgrad.load(buffer)


@pytest.mark.filterwarnings("ignore")  # PyTorch's, of storages
def test_unsupported_contents():
    import torch

    for state, message in [
        (torch.nn.Linear(1, 1), "Unsupported global: GLOBAL torch.nn.modules.linear.Linear was not"),
        (torch.ones(2).to_sparse(), "Unsupported global: GLOBAL torch._utils._rebuild_sparse_tensor was not"),
        (torch.ones(2).storage(), "A storage without a tensor"),
    ]:
        buffer = io.BytesIO()
        torch.save([state], buffer)
        buffer.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=message):
            numgrad.load(buffer)


def test_older_formats_are_refused():
    import torch

    buffer = io.BytesIO()
    torch.save({"x": torch.ones(2)}, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match=r"file is a pickle, as PyTorch's format before version 1\.6 was"):
        numgrad.load(buffer)


# -- models ----------------------------------------------------------------------------------------------


def convnet(m):
    return m.nn.Sequential(
        m.nn.Conv2d(1, 4, 3, padding=1, bias=False), m.nn.BatchNorm2d(4), m.nn.ReLU(), m.nn.MaxPool2d(2),
        m.nn.Flatten(), m.nn.Linear(4 * 3 * 3, 5),
    )  # fmt: skip


def images(m):
    return m.linspace(-1, 1, 2 * 36).sin().reshape(2, 1, 6, 6)


def transformer_layer(m):
    return m.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0, batch_first=True)


def sequences(m):
    return m.linspace(-1, 1, 2 * 5 * 8).sin().reshape(2, 5, 8)


@pytest.mark.parametrize(("make", "data"), [(convnet, images), (transformer_layer, sequences)])
def test_models_and_their_optimizers(tmp_path, make, data):
    """A model is trained for two steps in one, saved, and goes on in the other as it would have in the first."""

    def steps(m, model, optimizer, count):
        model.train()
        for _ in range(count):
            optimizer.zero_grad()
            model(data(m)).square().mean().backward()
            optimizer.step()
        model.eval()
        return model(data(m)).tolist()

    for writer, reader in both_ways():
        writer.manual_seed(3)
        model = make(writer)
        optimizer = writer.optim.Adam(model.parameters(), lr=0.01)
        steps(writer, model, optimizer, 2)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2}
        state = exchanged(state, writer, reader, tmp_path / "checkpoint.pt")
        assert state["epoch"] == 2
        again = make(reader)
        again.load_state_dict(state["model"])
        wanted = model(data(writer)).tolist()
        np.testing.assert_allclose(again.eval()(data(reader)).tolist(), wanted, rtol=1e-4, atol=1e-5)
        other = reader.optim.Adam(again.parameters())
        other.load_state_dict(state["optimizer"])
        wanted = steps(writer, model, optimizer, 2)
        np.testing.assert_allclose(steps(reader, again, other, 2), wanted, rtol=1e-4, atol=1e-5)
