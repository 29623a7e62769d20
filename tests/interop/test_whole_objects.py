"""Whole objects in files, such as modules: saved by the names of their classes, and loaded by Python's pickle."""

import io
import pickle
import types

import numpy as np
import pytest

import numgrad
from numgrad import Tensor, nn, ones
from numgrad.serialization import load, save


def saved(state):
    buffer = io.BytesIO()
    save(state, buffer)
    return buffer.getvalue()


class Labelled(Tensor):
    """A subclass of the user's."""


class Tree:
    """An object that refers to itself."""

    def __init__(self, weight):
        self.weight, self.root = weight, self


def test_whole_objects_are_read_if_the_caller_trusts_the_file():
    labelled = ones(2).as_subclass(Labelled)
    labelled.note = "two"
    optimizer = numgrad.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.5)
    functions = [len, nn.functional.relu, numgrad.tanh, nn.Linear]
    data = saved([labelled, nn.LazyLinear(3), Tree(labelled), optimizer, np.ones(2, "S2"), *functions])
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed\. Unsupported global: GLOBAL"):
        load(io.BytesIO(data))
    first, lazy, tree, optimizer, texts, *others = load(io.BytesIO(data), weights_only=False)
    assert (type(first), first.note, first.tolist()) == (Labelled, "two", [1.0, 1.0])
    assert lazy(ones(1, 4)).shape == (1, 3)
    assert tree.root is tree
    assert tree.weight is first
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert texts.tolist() == [b"1", b"1"]
    assert others == functions


def test_another_module_may_unpickle():
    calls = []

    class Unpickler(pickle.Unpickler):
        def __init__(self, file, **options):
            calls.append(options)
            super().__init__(file, **options)

    module = types.SimpleNamespace(Unpickler=Unpickler)
    result = load(io.BytesIO(saved([1, ones(1)])), None, module, weights_only=False, encoding="utf-8")
    assert (result, calls) == ([1, ones(1)], [{"encoding": "utf-8"}])


def test_names_that_numgrad_lacks_are_refused(monkeypatch):
    class Linmar(nn.Linear):
        pass

    Linmar.__module__, Linmar.__qualname__ = "numgrad.nn", "Linmar"
    monkeypatch.setattr(nn, "Linmar", Linmar, raising=False)
    data = saved(Linmar(1, 1))
    monkeypatch.undo()
    with pytest.raises(pickle.UnpicklingError, match=r"the file names torch\.nn\.Linmar, which numgrad lacks"):
        load(io.BytesIO(data), weights_only=False)


def network(library):
    """Modules whose functions take arguments of their constructors, and some with functions and parts of their own."""
    nn = library.nn
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, activation=nn.functional.relu)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.LeakyReLU(0.3), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 6), nn.GELU("tanh"), nn.Softplus(2.0), layer,
    ).eval()  # fmt: skip


@pytest.mark.torch
def test_files_of_pytorch_and_files_for_pytorch():
    import torch

    for writer, reader in ((torch, numgrad), (numgrad, numgrad), (numgrad, torch)):
        buffer, model = io.BytesIO(), network(writer)
        writer.save(model, buffer)
        buffer.seek(0)
        state = numgrad.random.default_generator.get_state()
        read = reader.load(buffer, weights_only=False)
        assert numgrad.equal(state, numgrad.random.default_generator.get_state())
        assert str(read) == str(model)
        x = np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8) / 10
        wanted, found = model(writer.from_numpy(x)), read(reader.from_numpy(x))
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-5)
