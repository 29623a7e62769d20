"""The text of tensors: literal expectations, and a comparison with PyTorch's own text."""

import time
from collections.abc import Iterator
from math import inf, nan

import numpy as np
import pytest

from numgrad.tensors import printing
from numgrad.tensors.printing import get_printoptions, printoptions, set_printoptions, tensor_text


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def text(values, dtype=np.float32, **kwargs) -> str:
    return tensor_text(np.array(values, dtype=dtype), **kwargs)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (0.0, "tensor(0.)"),
        (-0.0, "tensor(-0.)"),
        (1.5, "tensor(1.5000)"),
        (-3, "tensor(-3.)"),
        (nan, "tensor(nan)"),
        ([0.0], "tensor([0.])"),
        ([1, 2, 1000], "tensor([   1.,    2., 1000.])"),
        ([-1, 2], "tensor([-1.,  2.])"),
        ([0.5, -0.25], "tensor([ 0.5000, -0.2500])"),
        ([9.99999], "tensor([10.0000])"),
        ([123456.789], "tensor([123456.7891])"),
        # Zeros and non-finite values do not widen the column.
        ([-0.0, 1], "tensor([-0., 1.])"),
        ([-0.0, 1.5], "tensor([-0.0000, 1.5000])"),
        ([nan, 1], "tensor([nan, 1.])"),
        ([inf, 1, -3], "tensor([inf,  1., -3.])"),
        ([-inf, 1.5], "tensor([  -inf, 1.5000])"),
        ([nan, 0], "tensor([nan, 0.])"),
    ],
)
def test_floats(values, expected):
    assert text(values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 1000], "tensor([   1., 1000.])"),
        ([1, 1001], "tensor([1.0000e+00, 1.0010e+03])"),
        ([1e8], "tensor([100000000.])"),
        ([2e8], "tensor([2.0000e+08])"),
        ([0.0001], "tensor([0.0001])"),
        ([9.9e-5], "tensor([9.9000e-05])"),
        ([-1e-5, 0], "tensor([-1.0000e-05,  0.0000e+00])"),
        ([nan, 1e9], "tensor([       nan, 1.0000e+09])"),
    ],
)
def test_scientific_notation_is_chosen_by_the_values(values, expected):
    assert text(values, np.float64) == expected


def test_float32_is_judged_by_its_exact_value():
    assert text([1e-4], np.float32) == "tensor([1.0000e-04])"
    assert text([1e-4], np.float64) == "tensor([0.0001])"


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (3, np.int64, "tensor(3)"),
        ([1, -200, 3], np.int64, "tensor([   1, -200,    3])"),
        ([200, 1], np.uint8, "tensor([200,   1])"),
        ([2**63 - 1, -(2**63)], np.int64, "tensor([ 9223372036854775807, -9223372036854775808])"),
        (True, np.bool_, "tensor(True)"),
        ([[True], [False]], np.bool_, "tensor([[ True],\n        [False]])"),
        ([True, True], np.bool_, "tensor([True, True])"),
        ([0.5, 0.25], np.float16, "tensor([0.5000, 0.2500])"),
    ],
)
def test_other_dtypes(values, dtype, expected):
    assert text(values, dtype) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (1 + 2j, "tensor(1.+2.j)"),
        ([1.5 + 2j], "tensor([1.5000+2.j])"),
        ([1 + 1e-6j], "tensor([1.+1.0000e-06j])"),
        ([complex(-1, -0.0)], "tensor([-1.-0.j])"),
        ([complex(inf, -inf), 1.5], "tensor([   inf-infj, 1.5000+0.j])"),
        ([complex(1, nan)], "tensor([1.+nanj])"),
        ([1e10 + 2j, 1 + 1j], "tensor([1.0000e+10+2.j, 1.0000e+00+1.j])"),
        # Only the real parts are aligned.
        ([-1.5 - 200j, 3], "tensor([-1.5000-200.j,  3.0000+0.j])"),
    ],
)
def test_complex(values, expected):
    assert text(values, np.complex128) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((0,), "tensor([])"),
        ((0, 3), "tensor([], size=(0, 3))"),
        ((3, 0), "tensor([], size=(3, 0))"),
        ((1, 0, 2), "tensor([], size=(1, 0, 2))"),
    ],
)
def test_empty(shape, expected):
    assert tensor_text(np.zeros(shape, np.float32)) == expected


def test_empty_with_dtype_and_suffix():
    array = np.zeros((0, 3))
    expected = "tensor([], size=(0, 3), dtype=torch.float64, requires_grad=True)"
    assert tensor_text(array, dtype_text="torch.float64", suffixes=["requires_grad=True"]) == expected


def test_nesting_leaves_blank_lines_between_blocks():
    expected = "tensor([[[[0., 1.],\n          [2., 3.]]],\n\n\n        [[[4., 5.],\n          [6., 7.]]]])"
    assert text(np.arange(8).reshape(2, 1, 2, 2)) == expected
    assert text(np.arange(4).reshape(2, 1, 2)) == "tensor([[[0., 1.]],\n\n        [[2., 3.]]])"


def test_long_rows_are_wrapped():
    expected = (
        "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000,\n"
        "        0.5000, 0.5000])"
    )
    assert text([0.5] * 11) == expected


def test_suffixes_stay_on_the_line_or_move_to_the_next():
    mul = ["grad_fn=<MulBackward0>"]
    assert text([1, 2], suffixes=mul) == "tensor([1., 2.], grad_fn=<MulBackward0>)"
    five = "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000"
    assert text([0.5] * 5, suffixes=mul) == five + "], grad_fn=<MulBackward0>)"
    assert text([0.5] * 6, suffixes=mul) == five + ", 0.5000],\n       grad_fn=<MulBackward0>)"
    expected = "tensor([1., 1., 1., 1., 1., 1., 1., 1.], dtype=torch.float64,\n       grad_fn=<ExpBackward0>)"
    assert text([1] * 8, dtype_text="torch.float64", suffixes=["grad_fn=<ExpBackward0>"]) == expected


def test_large_tensors_are_summarised():
    assert text(np.arange(1001)) == "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])"
    assert "..." not in text(np.arange(1000))
    expected = (
        "tensor([[   0,    1],\n"
        "        [   2,    3],\n"
        "        [   4,    5],\n"
        "        ...,\n"
        "        [1194, 1195],\n"
        "        [1196, 1197],\n"
        "        [1198, 1199]])"
    )
    assert text(np.arange(1200).reshape(600, 2), np.int64) == expected


def test_a_summary_is_formatted_by_the_entries_it_shows():
    values = np.ones(2000)
    values[1000] = 1e-9
    assert text(values) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


def test_precision():
    set_printoptions(precision=2)
    assert text([1.555]) == "tensor([1.55])"
    assert text([1e-5]) == "tensor([1.00e-05])"
    set_printoptions(precision=0)
    assert text([1.555]) == "tensor([2])"
    assert text([1]) == "tensor([1.])"


def test_sci_mode_is_forced_on_and_off():
    set_printoptions(sci_mode=True)
    assert text([1.5, -2]) == "tensor([ 1.5000e+00, -2.0000e+00])"
    assert text([1, 2], np.int64) == "tensor([1, 2])"
    assert text([0, nan]) == "tensor([0., nan])"
    set_printoptions(sci_mode=False)
    assert text([1e10, 1e-10], np.float64) == "tensor([10000000000.0000,           0.0000])"


def test_threshold_edgeitems_and_linewidth():
    set_printoptions(threshold=4, edgeitems=1)
    expected = "tensor([[ 0,  ...,  4],\n        ...,\n        [20,  ..., 24]])"
    assert text(np.arange(25).reshape(5, 5), np.int64) == expected
    set_printoptions(profile="default", linewidth=20)
    assert text([1, 2, 3, 4, 5, 6]) == "tensor([1., 2., 3.,\n        4., 5., 6.])"
    set_printoptions(linewidth=1)
    assert text([1, 2]) == "tensor([1.,\n        2.])"


def test_no_edgeitems_show_the_size_instead():
    set_printoptions(threshold=2, edgeitems=0)
    assert text([1, 2, 3]) == "tensor([...], size=(3,))"
    assert text([1, 2]) == "tensor([1., 2.], size=(2,))"
    assert text([]) == "tensor([])"


def test_set_printoptions():
    assert get_printoptions() == {
        "precision": 4,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": None,
    }
    set_printoptions(profile="short", linewidth=100)
    assert (get_printoptions()["precision"], get_printoptions()["edgeitems"]) == (2, 2)
    assert get_printoptions()["linewidth"] == 100
    set_printoptions(profile="full")
    assert get_printoptions()["threshold"] == inf
    before = get_printoptions()
    set_printoptions(profile="unknown")
    assert get_printoptions() == before
    set_printoptions(sci_mode=True)
    set_printoptions(precision=3)
    assert get_printoptions()["sci_mode"] is None


def test_printoptions_restores_what_was_set():
    set_printoptions(precision=7, sci_mode=True)
    before = get_printoptions()

    def fail_inside():
        with printoptions(profile="short"):
            assert get_printoptions()["precision"] == 2
            assert get_printoptions()["sci_mode"] is None
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert get_printoptions() == before


def test_printing_is_quick():
    def best_of_five(array: np.ndarray) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            tensor_text(array)
            times.append(time.perf_counter() - start)
        return min(times)

    assert best_of_five(np.linspace(0.1, 1, 1000, dtype=np.float32)) < 5e-3
    assert best_of_five(np.zeros((5000, 5000), np.float32)) < 5e-3


DTYPES = [
    *[np.float32] * 4,
    *[np.float64] * 3,
    *[np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.bool_, np.complex64, np.complex128],
]
OPTIONS = {
    "precision": [0, 1, 2, 3, 6, 8, 17],
    "threshold": [0, 1, 5, 20, 100, inf],
    "edgeitems": [0, 1, 2, 3, 5],
    "linewidth": [0, 7, 20, 40, 63, 79, 80, 81, 100, 130],
    "profile": ["default", "short", "full", "unknown"],
    "sci_mode": [True, False],
}
# Values on both sides of all of PyTorch's thresholds.
AWKWARD = [0.0, -0.0, 1, -1, 0.5, 999, 1000, 1001, 1e8, 1e8 + 1, 1e-4, 9.9999e-5, 1e-3, 1.0001e-3, 9.99995]
SPECIAL = [nan, inf, -inf, 0.0, -0.0]


def random_reals(rng: np.random.Generator, count: int) -> np.ndarray:
    sign = rng.choice([-1.0, 1.0], count)
    values = [
        lambda: rng.standard_normal(count),
        lambda: rng.standard_normal(count) * 10.0 ** rng.integers(-8, 12),
        lambda: np.round(rng.standard_normal(count) * 10.0 ** rng.integers(0, 6)),
        lambda: sign * 10 ** rng.uniform(-6, 10, count),
        lambda: sign * 10 ** rng.uniform(-320, 308, count),
        lambda: rng.choice(AWKWARD, count),
    ][rng.integers(6)]()
    if rng.random() < 0.3:
        special = rng.random(count) < rng.choice([0.1, 0.5, 1])
        values = np.where(special, rng.choice(SPECIAL, count), values)
    return values


def random_array(rng: np.random.Generator) -> np.ndarray:
    shape = [
        lambda: rng.integers(0, 40, 1),
        lambda: rng.integers(1, 7, rng.integers(0, 5)),
        lambda: rng.integers(0, 3, rng.integers(0, 5)),
        lambda: rng.integers(900, 1200, 1),
        lambda: rng.integers(1, 60, rng.integers(2, 4)),
    ][rng.integers(5)]()
    shape = tuple(shape.tolist())
    count = int(np.prod(shape))
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = [(info.min, info.max), (max(info.min, -9), 20)][rng.integers(2)]
        values = rng.integers(low, high, count, dtype=dtype, endpoint=True)
    elif dtype.kind == "b":
        values = rng.random(count) < rng.choice([0, 0.5, 1])
    else:
        with np.errstate(over="ignore"):
            values = random_reals(rng, count).astype(dtype)
            if dtype.kind == "c":
                values.imag = random_reals(rng, count)
    return np.asarray(values).reshape(shape)


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(15))
def test_same_text_as_torch(seed):
    torch = pytest.importorskip("torch")

    def function_of(name_length: int) -> type:
        """Return an autograd function that copies its argument; its name sets the length of grad_fn=<...>."""
        members = {
            "forward": staticmethod(lambda ctx, x: x.clone()),
            "backward": staticmethod(lambda ctx, grad: grad),
        }
        return type("F" * name_length, (torch.autograd.Function,), members)

    functions = [function_of(length) for length in range(1, 70)]
    rng = np.random.default_rng(seed)
    try:
        for _ in range(100):
            array = random_array(rng)
            options = {}
            if rng.random() < 0.5:
                options = {k: v[rng.integers(len(v))] for k, v in OPTIONS.items() if rng.random() < 0.4}
            reference = torch.from_numpy(array.copy()).reshape(array.shape)
            suffixes = []
            if array.dtype.kind in "fc":
                extra = rng.integers(3)
                if extra == 1:
                    reference.requires_grad_()
                    suffixes = ["requires_grad=True"]
                elif extra == 2:
                    function = functions[rng.integers(len(functions))]
                    reference = function.apply(reference.requires_grad_())
                    suffixes = [f"grad_fn=<{function.__name__}Backward>"]
            unnamed = {torch.float32}
            if array.size:
                unnamed |= {torch.complex64, torch.int64, torch.bool}
            dtype_text = None if reference.dtype in unnamed else str(reference.dtype)
            for module in (torch, printing):
                module.set_printoptions(profile="default")
                module.set_printoptions(**options)
            ours = tensor_text(array, dtype_text=dtype_text, suffixes=suffixes)
            assert ours == repr(reference), (options, array.shape, array.dtype)
    finally:
        torch.set_printoptions(profile="default")


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_same_choice_of_notation_as_torch(dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for _ in range(500):
        low = dtype(10 ** rng.uniform(-3.5, 1.5))
        high = dtype(float(low) * 1000)
        for _ in range(rng.integers(3)):
            high = np.nextafter(high, dtype(rng.choice([0, inf])))
        array = np.array([low, high], dtype)
        dtype_text = None if dtype is np.float32 else f"torch.{array.dtype}"
        assert tensor_text(array, dtype_text=dtype_text) == repr(torch.from_numpy(array))
