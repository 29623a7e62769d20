"""Batches between processes: what arrives, and where it lies."""

import gc
import multiprocessing
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import numgrad
from numgrad import arange
from numgrad.nn import Parameter
from numgrad.utils.data import transfer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory without a name is a file there")

LARGE = 100_000


def transferred(value):
    """The value, as the other end of a connection receives it."""
    here, there = multiprocessing.Pipe()
    sender = threading.Thread(target=transfer.send, args=(there, transfer.packed(value)))
    sender.start()
    try:
        return transfer.receive(here)
    finally:
        sender.join()
        here.close()
        there.close()


def mapped():
    """Return the number of arrays in memory of another process."""
    gc.collect()
    return Path("/proc/self/maps").read_text().count("memfd:numgrad")


def test_large_arrays_lie_in_shared_memory_while_they_are_held():
    before, files = mapped(), len(os.listdir("/proc/self/fd"))
    batch = transferred({"x": arange(LARGE).view(2, -1), "array": np.ones(LARGE), "small": arange(3), "name": "b"})
    assert mapped() == before + 2
    assert batch["x"].tolist() == arange(LARGE).view(2, -1).tolist()
    assert batch["array"].tolist() == [1.0] * LARGE
    assert (batch["small"].tolist(), batch["name"]) == ([0, 1, 2], "b")
    for part in batch["x"], batch["array"], batch["small"]:
        part[0] = 7  # it may be changed
    row = batch.pop("x")[1]
    assert mapped() == before + 2
    del batch
    assert mapped() == before + 1
    assert row[0].item() == LARGE // 2
    del row, part
    assert mapped() == before
    assert len(os.listdir("/proc/self/fd")) == files


def test_there_is_a_limit_to_what_is_mapped(monkeypatch):
    before = mapped()
    monkeypatch.setattr(transfer, "_MAPPED_LIMIT", len(transfer._mapped) + 1)
    first, second = transferred([arange(LARGE), arange(LARGE) + 1])
    assert mapped() == before + 1
    assert second.tolist() == (first + 1).tolist()
    second.fill_(3)


def test_only_what_is_shown_is_sent():
    table = arange(10.0 * LARGE).view(10, LARGE)
    data, buffers = transfer.packed([table[2, :5], table.t()[:3]])
    assert len(data) < 2000
    assert sum(buffer.raw().nbytes for buffer in buffers) == 0
    row, column = transferred([table[2], table[:, 3]])
    assert row.tolist() == table[2].tolist()
    assert column.tolist() == table[:, 3].tolist()
    assert row._storage.size == LARGE


def test_tensors_stay_what_they_are():
    weight, noted = Parameter(arange(6.0).view(2, 3)[:, 1:]), arange(4)[::2]
    noted.note = "x"
    same = arange(LARGE)
    result = transferred([weight, noted, numgrad.ones(1).expand(5), same, same, arange(6).view(2, 3).t()])
    assert type(result[0]) is Parameter
    assert result[0].requires_grad
    assert result[0].tolist() == [[1, 2], [4, 5]]
    assert (result[1].tolist(), result[1].note) == ([0, 2], "x")
    assert result[2].stride() == (0,)
    assert result[3] is result[4]
    assert result[5].stride() == (1, 3)


def test_nothing_is_shared_where_files_cannot_be_handed_over(monkeypatch):
    monkeypatch.setattr(transfer, "_SHARES", False)
    before = mapped()
    x = transferred(arange(LARGE))
    assert mapped() == before
    x[0] = 5
    assert x.sum().item() == LARGE * (LARGE - 1) // 2 + 5
