"""Reading and writing at indices on a GPU, compared with the CPU's functions of the same names."""

from collections import namedtuple

import numpy as np
import pytest
from on_gpu.comparison import run_steps

import numgrad
from numgrad.devices import IndexSteps, cpu
from numgrad.devices.launches import listening

#: Elements at indices of a storage: the first one, the indices, and the arguments of the devices' functions.
Elements = namedtuple("Elements", "start indices steps")

#: The steps of three elements next to each other.
ONES = IndexSteps(0, 1, 3, 1, 1, 1)

DTYPES = ["float32", "float64", "int64", "int32", "int16", "uint8", "bool", "complex64", "complex128"]


@pytest.fixture
def generator():
    return np.random.default_rng(3)


@pytest.fixture(params=[False, True], ids=["atomic", "deterministic"])
def deterministic(request):
    numgrad.use_deterministic_algorithms(request.param)
    yield request.param
    numgrad.use_deterministic_algorithms(False)


def numbers(generator, count, dtype):
    """Small whole numbers, whose sums are exact in any order."""
    kind = np.dtype(dtype)
    made = generator.integers(0 if kind.kind in "bu" else -3, 4, count)
    return (made + 1j * generator.integers(-3, 4, count) if kind.kind == "c" else made).astype(kind)


def take(backend, x, given):
    return run_steps(backend, "take_rows", x, given.indices, given.start, given.steps, -given.steps.size)


def put(backend, values, value_steps, given, x, accumulate, distinct):
    start, buffer, steps = given
    run_steps(backend, "put_rows", values, x, buffer, value_steps, start, steps, -steps.size, accumulate, distinct)


def gather(backend, *given):
    return run_steps(backend, "gather_axis", *given)


def scatter(backend, *given):
    run_steps(backend, "scatter_axis", *given)


def elements_on(memory, given):
    return given._replace(indices=memory.buffer_from(given.indices))


# -- rows ----------------------------------------------------------------------------------------------------------

#: (start, outer step, step, size, inner step, outer, inner) of elements of a row of 240 elements.
WALKS = {
    "rows": (0, 0, 12, 20, 1, 1, 12),
    "rows of a part": (3, 0, 12, 19, 1, 1, 7),
    "elements": (0, 0, 1, 240, 0, 1, 1),
    "columns": (0, 12, 1, 12, 0, 20, 1),
    "middle": (0, 60, 6, 10, 1, 4, 6),
    "a transposed matrix": (0, 0, 1, 12, 12, 1, 20),
    "backwards": (239, 0, -12, 20, -1, 1, 12),
}


def elements_of(walk, generator, count, distinct=False):
    start, outer_step, step, size, inner_step, outer, inner = walk
    buffer = generator.permutation(size)[:count] if distinct else generator.integers(-size, size, count)
    return Elements(start, buffer.astype(np.int64), IndexSteps(outer_step, step, size, inner_step, outer, inner))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("walk", ["rows", "columns", "a transposed matrix"])
def test_take_rows(cuda, generator, dtype, walk):
    given = elements_of(WALKS[walk], generator, 7)
    x = numbers(generator, 240, dtype)
    found = take(cuda, cuda.memory.buffer_from(x), elements_on(cuda.memory, given))
    np.testing.assert_array_equal(found.host(), take(cpu, x, given))


@pytest.mark.parametrize("walk", WALKS)
def test_take_rows_of_all_layouts(cuda, generator, walk):
    given = elements_of(WALKS[walk], generator, 5)
    x = generator.random(240, np.float32)
    found = take(cuda, cuda.memory.buffer_from(x), elements_on(cuda.memory, given))
    np.testing.assert_array_equal(found.host(), take(cpu, x, given))


def put_on_both(cuda, values, steps, given, x, *rest):
    mine = cuda.memory.buffer_from(x)
    put(cpu, values, steps, given, x, *rest)
    put(cuda, cuda.memory.buffer_from(values), steps, elements_on(cuda.memory, given), mine, *rest)
    return x, mine.host()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("walk", ["rows", "columns"])
def test_put_rows_adds_what_has_the_same_place(cuda, generator, deterministic, dtype, walk):
    given = elements_of(WALKS[walk], generator, 9)
    values = numbers(generator, given.steps.outer * 9 * given.steps.inner, dtype)
    steps = 9 * given.steps.inner, given.steps.inner, 1
    expected, found = put_on_both(cuda, values, steps, given, numbers(generator, 240, dtype), True, False)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("accumulate", [False, True])
def test_put_rows_at_distinct_indices(cuda, generator, walk, accumulate):
    given = elements_of(WALKS[walk], generator, 6, distinct=True)
    values = generator.random(given.steps.outer * 6 * given.steps.inner, np.float32)
    steps = 6 * given.steps.inner, given.steps.inner, 1
    expected, found = put_on_both(cuda, values, steps, given, generator.random(240, np.float32), accumulate, True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("steps", [(0, 0, 0), (0, 0, 1)])
def test_put_rows_repeats_values(cuda, generator, steps):
    given = elements_of(WALKS["middle"], generator, 6)
    values = generator.random(6, np.float32)
    expected, found = put_on_both(cuda, values, steps, given, np.zeros(240, np.float32), False, False)
    np.testing.assert_array_equal(found, expected)


def test_sums_of_many_values_in_one_row(cuda, generator, size, deterministic):
    count = size(200, 200_000)
    given = Elements(0, generator.integers(0, 3, count), IndexSteps(0, 2, 3, 1, 1, 2))
    values = numbers(generator, 2 * count, "float32")
    expected, found = put_on_both(cuda, values, (0, 2, 1), given, np.zeros(6, np.float32), True, False)
    np.testing.assert_array_equal(found, expected)


# -- an index for each element -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner", [1, 3])
def test_gather_axis(cuda, generator, dtype, inner):
    x, indices = numbers(generator, 2 * 5 * inner, dtype), generator.integers(0, 5, 2 * 4 * inner)
    found = gather(cuda, cuda.memory.buffer_from(x), cuda.memory.buffer_from(indices), 5, 4, inner)
    np.testing.assert_array_equal(found.host(), gather(cpu, x, indices, 5, 4, inner))


@pytest.mark.parametrize(
    ("mode", "dtype"),
    [
        (mode, dtype)
        for mode in ("add", "multiply", "amax", "amin")
        for dtype in DTYPES
        if not (mode.startswith("am") and dtype.startswith("complex"))  # which have no order
    ],
)
def test_scatter_axis(cuda, generator, deterministic, mode, dtype):
    inner = 1 if dtype == "float32" else 3
    x, values = numbers(generator, 2 * 5 * inner, dtype), numbers(generator, 2 * 6 * inner, dtype)
    indices = generator.integers(0, 5, 2 * 6 * inner)
    mine = cuda.memory.buffer_from(x)
    buffers = cuda.memory.buffer_from(values), cuda.memory.buffer_from(indices), mine
    scatter(cpu, values, indices, x, 5, 6, inner, mode)
    scatter(cuda, *buffers, 5, 6, inner, mode)
    np.testing.assert_array_equal(mine.host(), x)


@pytest.mark.parametrize("mode", ["amax", "amin"])
def test_nan_is_an_extreme(cuda, deterministic, mode):
    x, values = np.array([1, np.nan, -3, 4], np.float32), np.array([np.nan, 1, -np.inf, -2, 5, 2], np.float32)
    indices = np.array([0, 1, 2, 3, 2, 3])
    mine = cuda.memory.buffer_from(x)
    scatter(cpu, values, indices, x, 4, 6, 1, mode)
    scatter(cuda, cuda.memory.buffer_from(values), cuda.memory.buffer_from(indices), mine, 4, 6, 1, mode)
    np.testing.assert_array_equal(mine.host(), x)


@pytest.mark.parametrize("deterministic", [True], indirect=True)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 9, 40])
def test_runs_of_all_lengths(cuda, generator, deterministic, count):
    indices = generator.permutation(np.repeat([0, 1, 3], [count, 4, 1]))
    x, values = np.zeros(5, np.float32), generator.random(indices.size, np.float32)
    mine = cuda.memory.buffer_from(x)
    scatter(cpu, values, indices, x, 5, indices.size, 1, "add")
    scatter(cuda, cuda.memory.buffer_from(values), cuda.memory.buffer_from(indices), mine, 5, indices.size, 1, "add")
    np.testing.assert_array_equal(mine.host(), x)  # to the last bit: in the same order


@pytest.mark.parametrize("deterministic", [True], indirect=True)
def test_the_last_of_several_values_counts(cuda, deterministic):
    out, buffer = cuda.memory.buffer_from(np.zeros(3)), cuda.memory.buffer_from
    scatter(cuda, buffer(np.arange(1.0, 6)), buffer(np.array([1, 0, 1, 1, 0])), out, 3, 5, 1, "set")
    assert out.host().tolist() == [5, 4, 0]
    elements = Elements(0, buffer(np.array([2, -1, 2])), ONES)
    put(cuda, buffer(np.arange(1.0, 4)), (0, 1, 0), elements, out, False, False)
    assert out.host().tolist() == [5, 4, 3]


def test_scatter_axis_writes_one_value(cuda):
    out = cuda.memory.buffer_from(np.zeros(6, np.int16))
    one, indices = cuda.memory.buffer_from(np.array([7], np.int16)), cuda.memory.buffer_from(np.array([2, 0, 2, 1]))
    scatter(cuda, one, indices, out, 3, 2, 1, "set")
    assert out.host().tolist() == [7, 0, 7, 0, 7, 7]


# -- indices out of range ------------------------------------------------------------------------------------------


def wait(cuda):
    cuda.memory.zero_buffer(1, np.dtype(np.int64)).host()


def test_a_bad_index_is_raised_at_the_next_wait(cuda):
    cuda.outside(cuda.memory.buffer_from(np.array([0, 2, 7, 1])), -3, 3)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension with size 3"):
        wait(cuda)
    wait(cuda)  # it has been raised
    cuda.outside(cuda.memory.buffer_from(np.array([0, 2, -3])), -3, 3)
    wait(cuda)


BAD = {
    "take_rows": lambda cuda, buffer, x, elements: take(cuda, x, elements),
    "put_rows": lambda cuda, buffer, x, elements: put(cuda, buffer(np.ones(2)), (0, 1, 0), elements, x, False, True),
    "put_rows adding": lambda cuda, buffer, x, elements: put(
        cuda, buffer(np.ones(2)), (0, 1, 0), elements, x, True, False
    ),
    "gather_axis": lambda cuda, buffer, x, elements: gather(cuda, x, elements.indices, 3, 2, 1),
    "scatter_axis": lambda cuda, buffer, x, elements: scatter(
        cuda, buffer(np.ones(2)), elements.indices, x, 3, 2, 1, "add"
    ),
    "scatter_axis multiplying": lambda cuda, buffer, x, elements: scatter(
        cuda, buffer(np.ones(2)), elements.indices, x, 3, 2, 1, "multiply"
    ),
    "counts": lambda cuda, buffer, x, elements: run_steps(cuda, "counts", elements.indices, 3),
    "offsets": lambda cuda, buffer, x, elements: run_steps(
        cuda, "offsets", elements.indices, (2,), (3,), (1,), (0,)
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_an_index_that_leads_outside_is_not_followed(cuda, name):
    buffer = cuda.memory.buffer_from
    x = buffer(np.full(3, 5.0))
    elements = Elements(0, buffer(np.array([1, 9])), ONES)
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension with size 3"):  # noqa: PT012
        BAD[name](cuda, buffer, x, elements)
        wait(cuda)
    assert x.host()[[0, 2]].tolist() == [5, 5]


@pytest.mark.parametrize("index", [-1, 3])
def test_an_embedding_and_its_gradient_check_their_indices_as_they_use_them(cuda, index):
    """One launch each; a negative index does not count from the end."""
    table = numgrad.ones(3, 2, device="cuda", requires_grad=True)
    good, bad = (numgrad.tensor([1, each], device="cuda") for each in (2, index))
    grad, found = numgrad.ones(2, 2, device="cuda"), []
    with listening(found.append):
        out = numgrad.nn.functional.embedding(good, table)
        out.backward(grad)
    assert [launch.name for launch in found if launch.name != "fill"] == ["take_rows", "put_rows"]
    assert table.grad.tolist() == [[0, 0], [1, 1], [1, 1]]
    out = numgrad.nn.functional.embedding(bad, table)
    with pytest.raises(IndexError, match=f"index {index} is out of bounds for dimension with size 3"):
        out.tolist()
    assert out.tolist() == [[1, 1], [0, 0]]


def test_reads_outside_give_zero(cuda):
    buffer = cuda.memory.buffer_from
    out = take(cuda, buffer(np.full(3, 5.0)), Elements(0, buffer(np.array([9, 1])), ONES))
    with pytest.raises(IndexError):
        wait(cuda)
    assert out.host().tolist() == [0, 5]


def test_nothing_can_be_read_from_a_dimension_of_size_0(cuda):
    buffer = cuda.memory.buffer_from
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension with size 0"):
        take(cuda, buffer(np.ones(0)), Elements(0, buffer(np.array([4])), ONES._replace(size=0)))
