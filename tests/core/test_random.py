"""Random numbers: PyTorch's for the same seed, as recorded from PyTorch 2.13 and as it gives them now."""

import itertools
import threading

import numpy as np
import pytest

import numgrad
from numgrad.random import Generator

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
SEEDS = [0, 1, 42, 2**31 + 5, 2**40 + 3, -7]
SIZES = [*range(41), 100, 1000, 4097, 16384, 16385, 40000]


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def assert_same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal to the last bit, the signs of zeros included."""
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))


# --- recorded from PyTorch --------------------------------------------------------------

UNIFORM = {
    0: [0.4962566, 0.7682218, 0.08847743, 0.13203049],
    2**31 + 5: [0.86270386, 0.9956874, 0.14650017, 0.7144843],
    -7: [0.25333762, 0.67736036, 0.25344586, 0.60641783],
}
UNIFORM_FLOAT64 = [0.9700530018065531, 0.707819864399788, 0.45938294312745087]
FEW_NORMALS = [1.5409961082440433, -0.2934289057609464, -2.1787893820745574]
NORMAL = [
    1.9269153, 1.4872841, 0.9007172, -2.105521, -0.75813115, 1.0783176, 0.80080056, 1.6806206, 0.3558599,
    -0.686623, -0.49335635, 0.24148779, -0.23162432, 0.04175949, -0.2515753, 0.8598585, -0.30972677,
    -0.3957105, 0.80340934, -0.6215954,
]
NORMAL_FLOAT64 = [
    0.2995562877502637, 1.504572275678796, 1.2715909667771088, 0.618669993885617, -0.03720300727052493,
    1.0352472972512925, -0.010085521702337353, 0.08948016046560357, 0.038435238263354446, 0.3900034836035703,
    -0.5798414554742108, 0.875893884648022, 0.39238484373268534, 1.108461181451433, 0.8651734647119074,
    0.855215961472287, 0.2494118796915765,
]


@pytest.mark.parametrize("seed", UNIFORM)
def test_uniform(seed):
    assert_same(seeded(seed).uniform(4, FLOAT32), np.array(UNIFORM[seed], FLOAT32))


def test_uniform_float64_takes_two_draws():
    assert_same(seeded(0).uniform(3, FLOAT64), np.array(UNIFORM_FLOAT64))


def test_uniform_between_bounds():
    expected = np.array([0.48128295, 1.841109, -1.5576129], FLOAT32)
    assert_same(seeded(0).uniform(3, FLOAT32, -2.0, 3.0), expected)


def test_few_normals_are_computed_in_float64():
    np.testing.assert_array_max_ulp(seeded(0).normal(3, FLOAT64), np.array(FEW_NORMALS), maxulp=2)
    assert_same(seeded(0).normal(3, FLOAT32), np.array(FEW_NORMALS).astype(FLOAT32))


def test_many_normals_come_in_blocks_and_the_last_block_is_drawn_afresh():
    assert_same(seeded(42).normal(20, FLOAT32), np.array(NORMAL, FLOAT32))
    np.testing.assert_array_max_ulp(seeded(42).normal(17, FLOAT64), np.array(NORMAL_FLOAT64), maxulp=2)


def test_normal_with_mean_and_standard_deviation():
    expected = np.array([0.7830606, 1.4243551, 1.3460046], FLOAT32)
    generator = seeded(0)
    generator.uniform(3, FLOAT32)
    assert_same(generator.normal(16, FLOAT32, 1.0, 0.5)[:3], expected)


def test_a_normal_left_over_waits_for_the_next_few():
    generator = seeded(1)
    assert_same(generator.normal(3, FLOAT32), np.array([0.66135216, 0.2669241, 0.06167726], FLOAT32))
    expected = np.array([0.6213173286854216, -0.45190596470388295])  # the first was left over
    np.testing.assert_array_max_ulp(generator.normal(2, FLOAT64), expected, maxulp=2)
    assert_same(generator.uniform(2, FLOAT32), np.array([0.6826141, 0.3051495], FLOAT32))
    assert_same(generator.normal(1, FLOAT32), np.array([-0.16613023], FLOAT32))
    assert_same(generator.normal(18, FLOAT32)[-3:], np.array([-1.0373387, 1.5747981, -0.6298472], FLOAT32))
    assert_same(generator.normal(2, FLOAT32), np.array([0.32550153, -0.47914493], FLOAT32))


def test_functions_of_the_package_use_the_default_generator():
    assert numgrad.manual_seed(0) is numgrad.default_generator
    assert_same(numgrad.rand(2, 2).numpy(), np.array(UNIFORM[0], FLOAT32).reshape(2, 2))
    numgrad.manual_seed(42)
    assert_same(numgrad.randn(4, 5).numpy(), np.array(NORMAL, FLOAT32).reshape(4, 5))


# --- seeds ------------------------------------------------------------------------------


def test_a_new_generator_has_the_usual_seed():
    assert Generator().initial_seed() == 67280421310721


def test_negative_seeds_wrap_around():
    assert seeded(-1).initial_seed() == 2**64 - 1
    assert_same(seeded(-7).uniform(4, FLOAT32), seeded(2**64 - 7).uniform(4, FLOAT32))


def test_numpy_integers_are_seeds():
    assert seeded(np.int64(42)).initial_seed() == 42


@pytest.mark.parametrize("seed", [3.5, "1", None, np.float32(1)])
def test_invalid_seeds(seed):
    with pytest.raises(RuntimeError, match=f"manual_seed expected an int, but got {type(seed).__name__}"):
        Generator().manual_seed(seed)


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_out_of_range(seed):
    with pytest.raises(RuntimeError, match=f"in .*, but got {seed}"):
        Generator().manual_seed(seed)


def test_seed_chooses_another_one_each_time():
    generator = Generator()
    first, second = generator.seed(), generator.seed()
    assert first != second
    assert generator.initial_seed() == second
    assert numgrad.seed() == numgrad.initial_seed()


def test_seeding_drops_the_normal_left_over():
    generator = seeded(0)
    first = generator.normal(1, FLOAT64)
    assert_same(generator.manual_seed(0).normal(1, FLOAT64), first)


# --- guarantees to users ----------------------------------------------------------------


def test_other_dtypes_are_refused():
    for method in (Generator().uniform, Generator().normal):
        with pytest.raises(TypeError, match="float32 or float64, not int64"):
            method(3, np.dtype(np.int64))


def test_uniform_never_reaches_its_upper_bound():
    low, high = FLOAT32.type(1.0), FLOAT32.type(1.001)
    values = seeded(0).uniform(1_000_000, FLOAT32, low, high)
    assert low <= values.min()
    assert values.max() < high


def test_threads_share_a_generator_without_losing_numbers():
    generator, calls, size = seeded(3), 50, 1000
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.extend(generator.uniform(size, FLOAT64) for _ in range(calls)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = seeded(3).uniform(4 * calls * size, FLOAT64).reshape(-1, size)
    order = np.argsort([values[0] for values in found])
    assert_same(np.array(found)[order], expected[np.argsort(expected[:, 0])])


# --- against PyTorch --------------------------------------------------------------------


def assert_as_pytorch(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits if PyTorch uses its vector mathematics for float32."""
    import torch

    if actual.dtype == FLOAT64 or "AVX" in torch.backends.cpu.get_cpu_capability():
        assert_same(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=0))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_against_pytorch(seed, dtype):
    import torch

    for size in SIZES:
        options = {"generator": torch.Generator().manual_seed(seed), "dtype": getattr(torch, dtype.name)}
        assert_as_pytorch(seeded(seed).uniform(size, dtype), torch.rand(size, **options).numpy())
        options["generator"].manual_seed(seed)
        assert_as_pytorch(seeded(seed).normal(size, dtype), torch.randn(size, **options).numpy())


@pytest.mark.torch
@pytest.mark.parametrize("seed", SEEDS)
def test_a_sequence_of_calls_against_pytorch(seed):
    import torch

    generator, reference = seeded(seed), torch.Generator().manual_seed(seed)
    sizes = [0, 1, 2, 3, 7, 15, 16, 17, 33, 100]
    choices = list(itertools.product(["rand", "randn"], [FLOAT32, FLOAT64], sizes))
    for index in np.random.default_rng(0).integers(len(choices), size=500):
        name, dtype, size = choices[index]
        draw = generator.uniform if name == "rand" else generator.normal
        expected = getattr(torch, name)(size, dtype=getattr(torch, dtype.name), generator=reference)
        assert_as_pytorch(draw(size, dtype), expected.numpy())


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize(("first", "second"), [(0.3, 1.7), (-5.0, 0.02), (1e6, 3.0)])
def test_parameters_against_pytorch(first, second, dtype):
    import torch

    expected = torch.empty(100_000, dtype=getattr(torch, dtype.name))
    generator, reference = seeded(5), torch.Generator().manual_seed(5)
    cases = [(generator.uniform, "uniform_", first + second), (generator.normal, "normal_", second)]
    for draw, name, last in cases:
        getattr(expected, name)(first, last, generator=reference)
        actual = draw(expected.numel(), dtype, first, last)
        if dtype == FLOAT32:
            assert_as_pytorch(actual, expected.numpy())
        else:  # the last bit depends on whether the processor fuses a product with a sum
            scale = abs(first) + second
            np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-15, atol=1e-15 * scale)
