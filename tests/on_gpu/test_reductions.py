"""Reductions of rows on a GPU against the CPU's functions of the same names."""


import numpy as np
import pytest
from on_gpu.comparison import on_cpu, run_steps

import numgrad as torch
from numgrad.devices import Plan
from numgrad.ops.pointwise.arithmetic import mul
from numgrad.ops.reductions.sums import sum_all

RNG = np.random.default_rng(5)

#: Rows: short ones, those that threads or blocks share, with lengths that are multiples of 4 and not; columns: few,
#: many, short and long ones; nothing.
SIZES = [
    (1, 1, 1), (5, 3, 1), (2, 19, 1), (3, 20, 1), (1, 203, 1), (2, 90, 2), (3, 4, 7), (1, 33, 5), (1, 0, 1),
    (2, 0, 3), (0, 4, 1),
]


def numbers(sizes, dtype):
    drawn = RNG.normal(size=np.prod(sizes)) * 2
    if np.dtype(dtype).kind == "c":
        drawn = drawn + 1j * RNG.normal(size=drawn.size)
    return np.round(drawn).astype(dtype) if np.dtype(dtype).kind in "iub" else drawn.astype(dtype)


def agree(on_gpu, expected, **tolerance):
    assert on_gpu.dtype == expected.dtype
    np.testing.assert_allclose(on_gpu.host(), expected, **{"rtol": 2e-5, "atol": 1e-5, **tolerance})


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum"])
@pytest.mark.parametrize("sizes", SIZES)
def test_folds(cuda, name, sizes):
    x = numbers(sizes, np.float32)
    if name == "nansum":
        x[::3] = np.nan
    type = np.dtype(np.float32)
    on_gpu = run_steps(cuda, "fold_axis", cuda.buffer_from(x), *sizes, name, type)
    agree(on_gpu, on_cpu("fold_axis", x, sizes, name, type))


@pytest.mark.parametrize(
    ("dtype", "out", "names"),
    [
        (np.float64, np.float64, ["sum", "max"]), (np.complex64, np.complex64, ["sum", "prod", "nonzero"]),
        (np.int32, np.int64, ["sum", "nonzero"]), (np.int64, np.int64, ["prod", "min"]), (np.uint8, np.uint8, ["max"]),
        (np.bool_, np.int64, ["sum"]), (np.bool_, np.bool_, ["any", "all"]), (np.float32, np.bool_, ["any"]),
        (np.bool_, np.bool_, ["max", "min"]), (np.int64, np.bool_, ["nanany"]),
    ],
)
def test_folds_of_each_dtype(cuda, dtype, out, names):
    for sizes in [(3, 7, 1), (1, 70, 2), (2, 0, 2)]:
        x = numbers(sizes, dtype)
        for name in names:
            kind = np.dtype(out)
            on_gpu = run_steps(cuda, "fold_axis", cuda.buffer_from(x), *sizes, name, kind)
            agree(on_gpu, on_cpu("fold_axis", x, sizes, name, kind))


def test_a_sum_is_the_same_at_every_run(cuda, size):
    x = cuda.buffer_from(numbers(size(300, 10_000_000), np.float32))
    first, second = [run_steps(cuda, "fold_axis", x, 1, x.size, 1, "sum", np.dtype(np.float32)) for _ in range(2)]
    assert first.item(0) == second.item(0)


def test_a_row_that_begins_anywhere_is_summed(cuda):
    x = numbers((1, 90, 1), np.float32)
    for start in range(4):
        row = cuda.buffer_from(x)[start:]
        total = run_steps(cuda, "fold_axis", row, 1, row.size, 1, "sum", np.dtype(np.float32))
        agree(total, x[start:].sum(keepdims=True))


def test_a_long_sum_rounds_little(cuda, size):
    x = np.full(size(600, 20_000_000), 0.1, np.float32)
    on_gpu = run_steps(cuda, "fold_axis", cuda.buffer_from(x), 1, x.size, 1, "sum", np.dtype(np.float32)).item(0)
    assert on_gpu == pytest.approx(np.sum(x, dtype=np.float64), rel=1e-6)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("sizes", [(1, 60, 1), (4, 3, 3)])
def test_a_nan_is_the_extreme(cuda, sizes, largest):
    x = numbers(sizes, np.float32)
    x[5] = np.nan
    name = "max" if largest else "min"
    on_gpu = run_steps(cuda, "fold_axis", cuda.buffer_from(x), *sizes, name, np.dtype(np.float32))
    agree(on_gpu, on_cpu("fold_axis", x, sizes, name, np.dtype(np.float32)))
    assert np.isnan(on_gpu.host()).sum() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("sizes", [(3, 5, 1), (1, 150, 2), (2, 0, 1)])
def test_means(cuda, sizes, dtype):
    x = numbers(sizes, dtype)
    mean = "sum", np.dtype(dtype), float(sizes[1])
    agree(run_steps(cuda, "fold_axis", cuda.buffer_from(x), *sizes, *mean), on_cpu("fold_axis", x, sizes, *mean))


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("sizes", [(3, 5, 1), (1, 1, 3), (2, 90, 2), (2, 40, 1), (1, 303, 1), (2, 0, 1)])
def test_variances(cuda, sizes, correction, root):
    x = numbers(sizes, np.float32) + np.float32(1000)
    with np.errstate(all="ignore"):
        expected = on_cpu("variance_axis", x, sizes, correction, root)
    found = run_steps(cuda, "variance_axis", cuda.buffer_from(x), *sizes, correction, root)
    for ours, wanted in zip(found, expected, strict=True):
        agree(ours, wanted, rtol=1e-4)


def test_a_variance_of_large_numbers(cuda):
    x = np.full(21, 1e30, np.float32)
    variance, mean = run_steps(cuda, "variance_axis", cuda.buffer_from(x), 1, 21, 1, 1, False)
    assert variance.item(0) == 0
    assert mean.item(0) == pytest.approx(1e30)


def test_a_variance_of_infinite_numbers_is_nan(cuda):
    x = np.array([1, np.inf, 2], np.float32)
    variance, mean = run_steps(cuda, "variance_axis", cuda.buffer_from(x), 1, 3, 1, 1, False)
    assert np.isnan(variance.item(0))
    assert mean.item(0) == np.inf


@pytest.mark.parametrize("sizes", [(3, 5, 1), (2, 90, 2), (1, 300, 1), (2, 0, 1), (0, 3, 1)])
def test_log_sum_exp(cuda, sizes):
    x = numbers(sizes, np.float64) * 100
    on_gpu = run_steps(cuda, "logsumexp_axis", cuda.buffer_from(x), *sizes)
    agree(on_gpu, on_cpu("logsumexp_axis", x, sizes), rtol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (9, 5, 1), (1, 70, 1), (2, 30, 7)])
@pytest.mark.parametrize("order", [2.0, 3.0])
def test_norms_of_numbers_whose_powers_overflow_or_are_0(cuda, sizes, order):
    for size in (1e30, 1e-30, 0.0):
        x = numbers(sizes, np.float32) * np.float32(size)
        x[:1] = np.where(x[:1] == 0, 0, 1)  # and a column of more usual numbers
        found = run_steps(cuda, "norm_axis", cuda.buffer_from(x), *sizes, order, x.dtype)
        agree(found, on_cpu("norm_axis", x, sizes, order, x.dtype), rtol=1e-6)


def test_log_sum_exp_of_infinite_numbers(cuda):
    inf, nan = np.inf, np.nan
    x = np.array([-inf, -inf, 1, inf, -inf, 2, 3, nan], np.float32)
    agree(run_steps(cuda, "logsumexp_axis", cuda.buffer_from(x), 4, 2, 1), on_cpu("logsumexp_axis", x, (4, 2, 1)))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
def test_norms(cuda, order):
    for sizes in [(3, 5, 1), (1, 70, 2), (2, 0, 1)]:
        x = numbers(sizes, np.float32)
        with np.errstate(all="ignore"):
            expected = on_cpu("norm_axis", x, sizes, order, np.dtype(np.float32))
        agree(run_steps(cuda, "norm_axis", cuda.buffer_from(x), *sizes, order, np.dtype(np.float32)), expected)


def test_a_norm_in_a_wider_type(cuda):
    x = numbers((2, 5, 1), np.float32)
    on_gpu = run_steps(cuda, "norm_axis", cuda.buffer_from(x), 2, 5, 1, 2, np.dtype(np.float64))
    agree(on_gpu, on_cpu("norm_axis", x, (2, 5, 1), 2, np.dtype(np.float64)), rtol=1e-12)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("sizes", [(5, 3, 1), (3, 20, 1), (1, 203, 1), (2, 90, 2), (3, 4, 7), (0, 4, 1)])
def test_extremes_and_their_places(cuda, sizes, largest):
    few = np.round(numbers(sizes, np.float32))  # so that there are equal ones, of which the first counts
    holes = few.copy()
    holes[1::11] = np.nan
    for x in (few, holes, few.astype(np.int32), few > 0):
        on_gpu = run_steps(cuda, "extreme_axis", cuda.buffer_from(x), *sizes, largest)
        for ours, expected in zip(on_gpu, on_cpu("extreme_axis", x, sizes, largest), strict=True):
            agree(ours, expected, rtol=0)


@pytest.mark.parametrize("is_result", [False, True])
def test_a_pass_adds_its_elements_up_unless_something_else_reads_them(cuda, is_result):
    x = torch.arange(9.0, device="cuda")
    p = Plan(cuda, 0)
    operand = p.operand(x._layout)
    squares = mul.op.build(p, operand, operand)
    p.returns(sum_all.build(p, squares), *[squares] * is_result)
    assert len(p.steps) == 1 + is_result
    results = p.interpret(x)
    total = results[0] if is_result else results
    assert total.item(0) == 204
    assert not is_result or results[1].item(8) == 64
