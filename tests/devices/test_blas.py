"""BLAS's threads: one for products of middling size, and given back, whatever happens."""

import threading

import numpy as np
import pytest

import numgrad
from numgrad.devices.cpu import blas, products


class Library:
    """A BLAS that counts what it is told."""

    def __init__(self, threads):
        self.threads = threads
        self.told = []

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, number):
        self.threads = number
        self.told.append(number)


@pytest.fixture
def library(monkeypatch):
    library = Library(8)
    context = blas._OneThread()
    context.libraries = [library]
    monkeypatch.setattr(blas, "_one_thread", context)
    return library


@pytest.mark.parametrize(
    ("sizes", "expected"), [((32, 32, 32), []), ((128, 128, 128), [1, 8]), ((512, 512, 512), []), ((0, 5, 5), [])]
)
def test_products_of_middling_size_use_one_thread(library, sizes, expected):
    rows, inner, columns = sizes
    left, right = numgrad.ones(rows, inner), numgrad.ones(inner, columns)
    assert (left @ right).tolist() == np.full((rows, columns), inner).tolist()
    assert library.told == expected


def test_stacks_are_measured_by_one_matrix(library):
    numgrad.bmm(numgrad.ones(100, 16, 16), numgrad.ones(100, 16, 16))
    assert library.told == []
    numgrad.bmm(numgrad.ones(2, 128, 128), numgrad.ones(2, 128, 128))
    assert library.told == [1, 8]


def test_the_threads_are_given_back_after_an_error(library, monkeypatch):
    monkeypatch.setattr(products.np, "dot", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        numgrad.ones(128, 128) @ numgrad.ones(128, 128)
    assert library.threads == 8


def test_the_last_of_several_threads_gives_them_back(library):
    inside, leave = threading.Barrier(3), threading.Event()

    def multiply():
        with blas.one_thread_for(128, 128, 128):
            inside.wait()
            leave.wait()

    workers = [threading.Thread(target=multiply) for _ in range(2)]
    for worker in workers:
        worker.start()
    inside.wait()
    assert library.threads == 1
    leave.set()
    for worker in workers:
        worker.join()
    assert library.told == [1, 8]


def test_the_library_of_numpy_is_found():
    names = [library.internal_api for library in blas._OneThread().libraries]
    used = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    assert ("openblas" in names) == ("openblas" in used)
