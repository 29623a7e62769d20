"""Calls of cuBLAS; in the simulator, of a stand-in that computes with NumPy at the addresses that it receives."""

import ctypes
import inspect
import threading

import numpy as np
import pytest
from on_gpu.product_cases import check, on_gpu, product, tensor, vector_product
from programs.comparison import program_of

import numgrad as torch
from numgrad.devices import cpu, launches


class StandIn:
    """nvmath.bindings.cublas as far as numgrad uses it, with cuBLAS's requirements on arguments."""

    def __init__(self):
        self.calls = []
        self.handles = []
        self.streams = []
        self.workspaces = []
        self.in_device_memory = False
        for letter, dtype in zip("sdcz", ("f4", "f8", "c8", "c16"), strict=True):
            self._define(letter, np.dtype(dtype))

    def get_cudart_version(self):
        return 13000

    def create(self):
        self.handles.append(len(self.handles) + 1)
        return self.handles[-1]

    def set_stream(self, handle, stream_id):
        self.streams.append((handle, stream_id))

    def set_workspace(self, handle, workspace, workspace_size_in_bytes):
        assert workspace % 256 == 0
        assert self.streams[-1][0] == handle  # setting the stream would take the workspace away
        self.workspaces.append((handle, workspace, workspace_size_in_bytes))

    def set_pointer_mode(self, handle, mode):
        self.in_device_memory = bool(mode)

    def _define(self, letter, kind):
        def gemm_64(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
            self.calls.append((f"{letter}gemm_64", transa, transb))
            self._multiply(kind, handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

        def gemm_strided_batched_64(
            handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,
            batch_count,
        ):  # fmt: skip
            self.calls.append((f"{letter}gemm_strided_batched_64", transa, transb, stride_a, stride_b))
            item = kind.itemsize
            for i in range(batch_count):
                places = [start + i * stride * item for start, stride in ((a, stride_a), (b, stride_b), (c, stride_c))]
                self._multiply(
                    kind, handle, transa, transb, m, n, k, alpha, places[0], lda, places[1], ldb, beta, places[2], ldc
                )

        def gemv_64(handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy):
            self.calls.append((f"{letter}gemv_64", trans))
            assert handle in self.handles
            assert incx != 0
            assert incy != 0
            assert not self.in_device_memory
            matrix = columns(kind, a, m, n, lda)
            matrix = matrix.T if trans else matrix
            out = spread(kind, y, matrix.shape[0], incy)
            out[...] = number(kind, alpha) * matrix @ spread(kind, x, matrix.shape[1], incx) + earlier(kind, beta, out)

        def dot_64(handle, n, x, incx, y, incy, result):
            self.calls.append((f"{letter}dot_64",))
            assert handle in self.handles
            assert self.in_device_memory
            spread(kind, result, 1, 1)[0] = spread(kind, x, n, incx) @ spread(kind, y, n, incy)

        for function in (gemm_64, gemm_strided_batched_64, gemv_64):
            setattr(self, letter + function.__name__, function)
        setattr(self, f"{letter}dotu_64" if kind.kind == "c" else f"{letter}dot_64", dot_64)

    def _multiply(self, kind, handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        assert handle in self.handles
        assert not self.in_device_memory
        assert ldc >= m
        first = columns(kind, a, *((k, m) if transa else (m, k)), lda)
        second = columns(kind, b, *((n, k) if transb else (k, n)), ldb)
        out = columns(kind, c, m, n, ldc)
        product = (first.T if transa else first) @ (second.T if transb else second)
        out[...] = number(kind, alpha) * product + earlier(kind, beta, out)


def spread(kind, address, count, step):
    """Elements that are ``step`` apart."""
    memory = (ctypes.c_char * (kind.itemsize * ((count - 1) * step + 1))).from_address(address)
    return np.ndarray((count,), kind, memory, 0, (step * kind.itemsize,))


def columns(kind, address, rows, width, step):
    """A matrix stored by columns."""
    assert step >= max(1, rows)
    memory = (ctypes.c_char * (kind.itemsize * ((width - 1) * step + rows))).from_address(address)
    return np.ndarray((rows, width), kind, memory, 0, (kind.itemsize, step * kind.itemsize))


def number(kind, address):
    return spread(kind, address, 1, 1)[0]


def earlier(kind, beta, out):
    """Return the target of an addition, whose elements are not read, NaN or not, if the factor is 0."""
    factor = number(kind, beta)
    return factor * out if factor else 0


@pytest.fixture
def library(cuda, size, monkeypatch):
    """cuBLAS on a GPU; in the simulator a stand-in that records its calls."""
    module = size(StandIn(), None) or cuda.cublas.bindings()
    if module is None:
        pytest.skip("needs nvmath-python and cuBLAS")
    monkeypatch.setattr(cuda.cublas, "bindings", lambda: module)
    monkeypatch.setattr(cuda.cublas, "_of_thread", cuda.cublas._OfThread())
    monkeypatch.setattr(cuda.cublas, "_free", {})
    cuda.cublas.routines.cache_clear()
    yield module
    cuda.cublas.routines.cache_clear()


@pytest.fixture
def stand_in(library):
    if not isinstance(library, StandIn):
        pytest.skip("looks at what the stand-in was asked for")
    return library


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 5, 4), (1, 7, 3), (6, 1, 2), (4, 3, 1)])
def test_matrices(cuda, library, dtype, shape):
    m, n, k = shape
    check(cuda, tensor((m, k), dtype), tensor((k, n), dtype, seed=1))
    check(cuda, tensor((m, k), dtype), tensor((k, n), dtype, seed=1), bias=tensor((n,), dtype, seed=2))


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("by_columns", [(False, False), (True, False), (False, True), (True, True)])
def test_transposed(cuda, library, transposed, by_columns):
    """Factors that are stored transposed, or are to be transposed, or both, without a copy."""
    factors = []
    for number, (turn, columns) in enumerate(zip(transposed, by_columns, strict=True)):
        rows, width = ((5, 3), (3, 4))[number][:: -1 if turn else 1]
        base = tensor((width, rows + 2) if columns else (rows, width + 2), seed=number)
        factors.append(base[:, :rows].t() if columns else base[:, :width])
    check(cuda, *factors, transposed)
    if isinstance(library, StandIn):
        expected = [int(turn != columns) for turn, columns in zip(transposed, by_columns, strict=True)]
        assert library.calls == [("sgemm_64", expected[1], expected[0])]


def test_stacks(cuda, stand_in):
    """One call for a stack, with a step of 0 for a matrix that all share."""
    left, right = tensor((4, 3, 6)), tensor((4, 6, 5), seed=1)
    check(cuda, left, right)
    check(cuda, left[:1].expand(4, 3, 6), right.transpose(0, 1).contiguous().transpose(0, 1))
    check(cuda, left.transpose(1, 2), right[::2, :, :4].expand(2, 6, 4)[:1].expand(4, 6, 4), (True, False))
    assert stand_in.calls == [
        ("sgemm_strided_batched_64", 0, 0, 30, 18),
        ("sgemm_strided_batched_64", 0, 0, 5, 0),
        ("sgemm_strided_batched_64", 0, 0, 0, 18),
    ]


def test_copies(cuda, library):
    """Factors of which neither rows nor columns are contiguous, or whose rows overlap."""
    base = tensor((20, 30))
    check(cuda, base[::2, ::3], base[3:13, ::4])
    check(cuda, base[0, :9].expand(4, 9), base[:9, :7])
    check(cuda, base.reshape(-1).as_strided((5, 6), (2, 1)), base[:6, 2:7])


def test_vectors(cuda, library):
    matrix, vector = tensor((9, 7), "complex64"), tensor((9, 3), "complex64", seed=1)[:, 1]
    for left, right in (
        (matrix, vector[:7]),
        (matrix.t(), vector),
        (matrix[:, ::2], vector[:4]),
        (vector, matrix[:, 0]),
        (vector, matrix[0, 0].expand(9)),  # a step of 0, which BLAS does not take
        (matrix[0, 0].expand(9), vector),
        (matrix[:, :0], vector[:0]),
    ):
        result = vector_product(cuda, on_gpu(left), on_gpu(right))
        expected = vector_product(cpu, left, right)
        np.testing.assert_array_equal(result.host(), expected)
    if isinstance(library, StandIn):
        assert library.calls == [
            ("cgemv_64", 1), ("cgemv_64", 0), ("cgemv_64", 1), ("cdot_64",)
        ]  # fmt: skip


def test_products_that_cublas_does_not_compute(cuda, stand_in):
    """Integers, sums of nothing, and results without elements."""
    check(cuda, tensor((3, 4), "int64"), tensor((4, 2), "int64", seed=1))
    check(cuda, tensor((3, 0)), tensor((0, 2)), bias=tensor((2,)))
    check(cuda, tensor((0, 3)), tensor((3, 2)))
    assert stand_in.calls == []


def test_handles(cuda, stand_in, monkeypatch):
    """A thread has one handle for all streams, with memory for each; the next thread takes it over."""
    left, right = tensor((3, 4)).to("cuda"), tensor((4, 2)).to("cuda")
    handle = type(cuda.stream(0))

    def multiply(*addresses):
        for address in addresses:
            monkeypatch.setattr(cuda.products, "stream", lambda device, a=address: handle(a, device))
            product(cuda, left, right)

    multiply(0, 0, 7, 7, 0)
    assert stand_in.streams == [(1, 0), (1, 7), (1, 0)]
    addresses = [address for _, address, _ in stand_in.workspaces]
    assert addresses[0] == addresses[2] != addresses[1]
    for _ in range(2):
        thread = threading.Thread(target=multiply, args=(0,))
        thread.start()
        thread.join()
    assert stand_in.handles == [1, 2]


def test_runs_of_cublas_are_reported(cuda, library):
    """Each routine is reported by name, with the bytes of the factors and of the product."""
    matrix, stack = torch.ones(3, 4, device="cuda"), torch.ones(2, 4, 5, device="cuda")
    vector, row = torch.ones(4, device="cuda"), torch.ones(3, device="cuda", dtype=torch.float64)
    found = []
    with launches.listening(found.append):
        for product in (lambda: matrix @ stack, lambda: matrix @ vector, lambda: row @ row):
            product()
    assert [(launch.name, launch.read, launch.written) for launch in found] == [
        ("cublas.sgemm", (12 + 40) * 4, 30 * 4), ("cublas.sgemv", (12 + 4) * 4, 12), ("cublas.ddot", 48, 8),
    ]
    assert {(launch.device, launch.kernel) for launch in found} == {("cuda:0", None)}


def test_signatures():
    """The stand-in's functions have the parameters of nvmath's."""
    from nvmath.bindings import cublas

    for name, function in inspect.getmembers(StandIn(), callable):
        if not name.startswith("_"):
            assert list(inspect.signature(function).parameters) == list(
                inspect.signature(getattr(cublas, name)).parameters
            ), name


def test_compiled_programs_call_it_where_their_memory_lies(stand_in):
    def f(x, weight, bias):
        hidden = torch.nn.functional.linear(x, weight, bias).tanh()
        return hidden, torch.bmm(hidden.view(1, 4, 3), weight.view(1, 3, 5)), weight.t() @ bias, bias.dot(hidden[0])

    compiled = torch.compile(f, fullgraph=True)
    for seed in range(3):
        given = [on_gpu(tensor(shape, "float32", seed=seed)) for shape in ((4, 5), (3, 5), (3,))]
        found = []
        for function in (compiled, f):
            del stand_in.calls[:]
            found.append([one.cpu().numpy().tobytes() for one in function(*given)])
            assert [call[0] for call in stand_in.calls] == [
                "sgemm_64", "sgemm_64", "sgemv_64", "sdot_64"
            ]
        assert found[0] == found[1]
    assert "1 program" in str(torch.compiler.explain(compiled))


def test_a_compiled_program_adds_the_bias_where_it_computes_the_activation(stand_in):
    def f(x, weight, bias):
        return torch.relu(torch.nn.functional.linear(x, weight, bias))

    compiled = torch.compile(f, fullgraph=True)
    given = [on_gpu(tensor(shape, "float32")) for shape in ((40, 5), (30, 5), (30,))]
    for _ in range(2):
        compiled(*given)
    program_of(compiled).improve()
    found = []
    with launches.listening(lambda launch: found.append((launch.name, launch.read, launch.written))):
        result = compiled(*given)
    of_product = ((200 + 150) * 4, 1200 * 4)
    assert found == [("cublas.sgemm", *of_product), ("add_rows_relu", (1200 + 30) * 4, 2 * 1200 * 4)]
    assert (result.cpu() == f(*given).cpu()).all()


def test_unusable(cuda, size, monkeypatch):
    """nvmath-python without a cuBLAS counts as missing, with a message."""
    import importlib.machinery
    import sys
    import types

    module = types.ModuleType("nvmath.bindings.cublas")
    module.get_cudart_version = lambda: (_ for _ in ()).throw(RuntimeError("no libcublas.so"))
    monkeypatch.setattr(cuda.cublas.adapter, "is_simulated", lambda: False)
    monkeypatch.setattr(cuda.cublas.runtime, "is_emulated", lambda: False)
    monkeypatch.setattr(
        cuda.cublas.importlib.util, "find_spec", lambda name: importlib.machinery.ModuleSpec(name, None)
    )
    monkeypatch.setitem(sys.modules, "nvmath", types.ModuleType("nvmath"))
    monkeypatch.setitem(sys.modules, "nvmath.bindings", types.ModuleType("nvmath.bindings"))
    monkeypatch.setitem(sys.modules, "nvmath.bindings.cublas", module)
    with pytest.warns(UserWarning, match=r"cannot use cuBLAS \(RuntimeError: no libcublas.so\)"):
        assert cuda.cublas.bindings.__wrapped__() is None
