"""Running sums, products and extremes on a GPU against the CPU's functions of the same names."""


import numpy as np
import pytest
from on_gpu.comparison import on_cpu, run_steps

from numgrad.devices import cpu

RNG = np.random.default_rng(6)

#: Rows: one, short ones, one that takes several turns, one that blocks share; columns: short, and in pieces; nothing.
SIZES = [(1, 1, 1), (9, 3, 1), (2, 40, 1), (1, 130, 1), (2, 5, 3), (1, 150, 2), (1, 0, 1), (0, 3, 2)]


def numbers(sizes, dtype=np.float32):
    drawn = RNG.normal(size=np.prod(sizes))
    if np.dtype(dtype).kind == "c":
        drawn = drawn + 1j * RNG.normal(size=drawn.size)
    return np.round(2 * drawn).astype(dtype) if np.dtype(dtype).kind in "iub" else drawn.astype(dtype)


def agree(on_gpu, expected, rtol=3e-5, atol=1e-5):
    assert on_gpu.dtype == expected.dtype
    np.testing.assert_allclose(on_gpu.host(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "logsumexp"])
@pytest.mark.parametrize("sizes", SIZES)
def test_scans(cuda, name, sizes, backwards):
    x = numbers(sizes)
    on_gpu = run_steps(cuda, "scan_axis", cuda.buffer_from(x), *sizes, name, np.dtype(np.float32), backwards)
    agree(on_gpu, on_cpu("scan_axis", x, sizes, name, np.dtype(np.float32), backwards))


@pytest.mark.parametrize(
    ("dtype", "out"),
    [
        (np.float64, np.float64), (np.complex64, np.complex64), (np.bool_, np.int64), (np.int32, np.int64),
        (np.int64, np.int64), (np.uint8, np.uint8),
    ],
)
def test_scans_of_each_dtype(cuda, dtype, out):
    for sizes in [(3, 7, 1), (1, 70, 2)]:
        x = numbers(sizes, dtype)
        for name in ("sum", "prod"):
            kind = np.dtype(out)
            on_gpu = run_steps(cuda, "scan_axis", cuda.buffer_from(x), *sizes, name, kind)
            agree(on_gpu, on_cpu("scan_axis", x, sizes, name, kind))


def test_log_sum_exp_of_infinite_numbers(cuda):
    inf, nan = np.inf, np.nan
    x = np.array([-inf, -inf, 1, -inf, 2, inf, 3, inf, -inf, nan, 1, inf], np.float32)
    for sizes in [(1, 12, 1), (1, 6, 2)]:
        agree(
            run_steps(cuda, "scan_axis", cuda.buffer_from(x), *sizes, "logsumexp", np.dtype(np.float32)),
            on_cpu("scan_axis", x, sizes, "logsumexp", np.dtype(np.float32)),
        )


def test_long_sums_round_little(cuda, size):
    length = size(700, 5_000_000)
    for inner in (1, 2):
        x = np.full(length * inner, 0.1, np.float32)
        sums = run_steps(cuda, "scan_axis", cuda.buffer_from(x), 1, length, inner, "sum", np.dtype(np.float32)).host()
        exact = np.cumsum(x.reshape(length, inner), 0, np.float64).reshape(-1)
        np.testing.assert_allclose(sums, exact, rtol=2e-6)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
def test_extremes_so_far(cuda, sizes, largest):
    few = np.round(numbers(sizes) * 2)  # so that there are equal ones, of which the last counts
    holes = few.copy()
    holes[few.size // 2 :: 17] = np.nan
    for x in (few, holes, few.astype(np.int64), few > 0):
        on_gpu = run_steps(cuda, "extremes_so_far", cuda.buffer_from(x), *sizes, largest)
        for ours, expected in zip(on_gpu, on_cpu("extremes_so_far", x, sizes, largest), strict=True):
            agree(ours, expected, rtol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("sizes", SIZES)
def test_recurrences(cuda, sizes, dtype):
    _, length, inner = sizes
    x = numbers(sizes, dtype)
    factors = numbers(sizes, dtype) if dtype is np.int64 else numbers(sizes, dtype) / 2
    for backwards in (False, True):
        operands = cuda.buffer_from(x), cuda.buffer_from(factors)
        on_gpu = run_steps(cuda, "recurrence_axis", *operands, length, inner, backwards)
        agree(on_gpu, run_steps(cpu, "recurrence_axis", x, factors, length, inner, backwards))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_shifts(cuda, sizes, backwards):
    for x, fill in [(numbers(sizes), np.inf), (numbers(sizes, np.int32), 1), (numbers(sizes) > 0, 1.0)]:
        on_gpu = run_steps(cuda, "shift_axis", cuda.buffer_from(x), *sizes, backwards, fill)
        agree(on_gpu, on_cpu("shift_axis", x, sizes, backwards, fill), rtol=0)
