"""BLAS: the chosen library, and its threads: one during a product, restored afterwards even after errors."""

import ctypes
import os
import subprocess
import sys
import threading
from importlib import metadata

import numpy as np
import pytest

import numgrad
from numgrad.devices.cpu import blas, products


class Library:
    """Stand-in for a BLAS that records the numbers of threads that it is set to."""

    def __init__(self, threads):
        self.threads = threads
        self.thread_counts = []

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, number):
        self.threads = number
        self.thread_counts.append(number)


@pytest.fixture
def library(monkeypatch):
    library = Library(8)
    context = blas._OneThread()
    context.libraries = [library]
    monkeypatch.setattr(blas, "_one_thread", context)
    return library


@pytest.fixture
def without_addresses(monkeypatch):
    """A NumPy whose BLAS does not have the known names."""
    monkeypatch.setattr(products, "blas_addresses", lambda function="gemm": {})


@pytest.mark.parametrize(
    ("sizes", "thread_counts"),
    [((32, 32, 32), []), ((128, 128, 128), [1, 8]), ((320, 320, 330), [1, 8]), ((0, 5, 5), [])],
)
def test_pieces_are_multiplied_by_one_thread_each(library, sizes, thread_counts):
    rows, inner, columns = sizes
    left, right = numgrad.ones(rows, inner), numgrad.ones(inner, columns)
    assert (left @ right).tolist() == np.full((rows, columns), inner).tolist()
    if isinstance(blas.chosen_blas(), blas.OpenBlas):  # others have no threads, or NumPy calls them
        assert library.thread_counts == thread_counts


@pytest.mark.parametrize(
    ("sizes", "expected"), [((32, 32, 32), []), ((128, 128, 128), [1, 8]), ((512, 512, 512), []), ((0, 5, 5), [])]
)
def test_numpys_products_of_middling_size_use_one_thread(library, without_addresses, sizes, expected):
    rows, inner, columns = sizes
    left, right = numgrad.ones(rows, inner), numgrad.ones(inner, columns)
    assert (left @ right).tolist() == np.full((rows, columns), inner).tolist()
    assert library.thread_counts == expected


def test_stacks_are_measured_by_one_matrix(library, without_addresses):
    numgrad.bmm(numgrad.ones(100, 16, 16), numgrad.ones(100, 16, 16))
    assert library.thread_counts == []
    numgrad.bmm(numgrad.ones(2, 128, 128), numgrad.ones(2, 128, 128))
    assert library.thread_counts == [1, 8]


@pytest.mark.parametrize(("size", "expected"), [(64, []), (200, [1, 8])])
def test_vectors_are_multiplied_by_one_thread(library, size, expected):
    assert (numgrad.ones(size, size) @ numgrad.ones(size)).tolist() == [size] * size
    assert library.thread_counts == expected
    assert numgrad.ones(size * size) @ numgrad.ones(size * size) == size * size
    assert library.thread_counts == 2 * expected


def test_the_threads_are_given_back_after_an_error(library, without_addresses, monkeypatch):
    monkeypatch.setattr(products.np, "dot", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        numgrad.ones(131, 131) @ numgrad.ones(131, 131)  # another size, because decisions are cached by size
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
    assert library.thread_counts == [1, 8]


def test_the_library_of_numpy_is_found():
    import threadpoolctl

    controllers = threadpoolctl.ThreadpoolController().lib_controllers
    loaded = [address_of_sgemm(each.filepath) for each in controllers if each.internal_api == "openblas"]
    found = blas.openblas()
    if found is None:
        assert not any(loaded) or sys.platform == "win32"
    else:
        assert found.addresses["gemm"][np.dtype(np.float32)] in loaded
        assert found.get_num_threads() >= 1


def address_of_sgemm(path):
    """Return the address of the float32 product with 64-bit integers in this OpenBLAS file, 0 if it has none."""
    library = ctypes.CDLL(path)
    found = [getattr(library, f"{prefix}cblas_sgemm{suffix}", None) for prefix, suffix in blas._NAMES]
    return next((ctypes.cast(function, ctypes.c_void_p).value for function in found if function is not None), 0)


# -- which is chosen ----------------------------------------------------------------------------------------------


@pytest.fixture
def choose(monkeypatch):
    """Return a function that chooses among stand-ins: ``choose(intel, openblas, mkl, wanted)``."""

    def choice(intel, openblas, mkl, wanted=None):
        monkeypatch.setattr(blas, "_is_intel", lambda: intel)
        monkeypatch.setattr(blas, "openblas", lambda: openblas)
        monkeypatch.setattr(blas, "mkl", lambda: mkl)
        if wanted is None:
            monkeypatch.delenv("NUMGRAD_BLAS", raising=False)
        else:
            monkeypatch.setenv("NUMGRAD_BLAS", wanted)
        return blas.chosen_blas.__wrapped__()

    return choice


def test_mkl_is_chosen_on_intels_processors_and_where_there_is_nothing_else(choose):
    assert choose(True, "openblas", "mkl") == "mkl"
    assert choose(True, "openblas", None) == "openblas"
    assert choose(False, "openblas", "mkl") == "openblas"
    assert choose(False, None, "mkl") == "mkl"
    assert choose(False, None, None) is None


def test_the_choice_can_be_made_by_hand(choose):
    assert choose(True, "openblas", "mkl", "openblas") == "openblas"
    assert choose(False, "openblas", "mkl", "mkl") == "mkl"
    assert choose(False, "openblas", "mkl", "numpy") is None
    with pytest.raises(ValueError, match="one of openblas, mkl, numpy, not 'atlas'"):
        choose(False, "openblas", "mkl", "atlas")


class Functions(dict):
    """Stand-in for a library that has every function; its MKL reports its threading layer."""

    def __init__(self, layer):
        self.layer = layer

    def MKL_Set_Threading_Layer(self, layer):
        assert layer == 1
        return self.layer

    def __missing__(self, name):
        return ctypes.CFUNCTYPE(None)(lambda: None)


def test_an_mkl_that_has_threads_is_left_alone(monkeypatch, tmp_path):
    (tmp_path / "libmkl_rt.so.3").touch()
    entry = type("Entry", (), {"name": "libmkl_rt.so.3", "locate": lambda self: tmp_path / self.name})()
    monkeypatch.setattr(blas.metadata, "files", lambda name: [entry])
    for layer, usable in ((1, True), (0, False)):
        monkeypatch.setattr(blas.ctypes, "CDLL", lambda path, layer=layer: Functions(layer))
        found = blas.mkl.__wrapped__()
        assert (found is not None) == usable
    assert sorted(map(str, blas.Mkl(Functions(1)).addresses["gemm"])) == ["float32", "float64"]


FORKED = """
import os, threading
from numgrad.devices.cpu import blas

class Library:
    threads = 8
    def get_num_threads(self): return self.threads
    def set_num_threads(self, number): self.threads = number

context = blas._one_thread
context.libraries = [Library()]
entered, leave = threading.Event(), threading.Event()

def multiply():
    with context:
        entered.set()
        leave.wait()

thread = threading.Thread(target=multiply)
thread.start()
entered.wait()
context.lock.acquire()  # as if another thread were just entering
child = os.fork()
if child == 0:
    with context:
        inside = context.libraries[0].threads
    os._exit(0 if (inside, context.libraries[0].threads, context.inside) == (1, 8, 0) else 1)
context.lock.release()
leave.set()
thread.join()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert (status, context.libraries[0].threads) == (0, 8), status
"""


def test_a_child_forked_during_a_product_gives_blas_its_threads_back():
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def _installed():
    try:
        return metadata.version("mkl")
    except metadata.PackageNotFoundError:
        return None


PROGRAM = """
import numpy as np, numgrad
from numgrad.devices.cpu import blas
numbers = np.arange(120 * 130.0).reshape(120, 130) % 7
for kind in (np.float32, np.float64):
    x = numgrad.from_numpy(numbers.astype(kind)).requires_grad_()
    y = numgrad.from_numpy(numbers.T.copy().astype(kind))
    (x @ y).sum().backward()
    assert np.array_equal((x @ y).detach().numpy(), numbers @ numbers.T)
    assert np.array_equal(x.grad.numpy(), np.ones((120, 120)) @ numbers)
heads = numgrad.linspace(-1, 1, 24).view(1, 2, 3, 4)
mixed = numgrad.nn.functional.scaled_dot_product_attention(heads, heads, heads)
powers = np.exp(heads.numpy() @ heads.numpy().swapaxes(2, 3) / 2)
np.testing.assert_allclose(mixed.numpy(), powers / powers.sum(-1, keepdims=True) @ heads.numpy(), 1e-5)
print(blas.blas_name())
"""


@pytest.mark.parametrize(("wanted", "name"), [("numpy", "NumPy"), ("mkl", "MKL" if _installed() else "NumPy")])
def test_other_libraries_compute_the_same(wanted, name):
    environment = {**os.environ, "NUMGRAD_BLAS": wanted}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == name
