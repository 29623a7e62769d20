"""An element's value depends on nothing but its operands: not on its place, the layout or the number of threads."""

import math

import numba
import numpy as np
import pytest

import numgrad
from numgrad.devices.cpu import launching as cpu
from numgrad.ops import ops
from numgrad.ops.table.elementwise import Pointwise
from numgrad_kernels import scalar

SIZE = 1003  # not a multiple of anything a kernel steps by


def one_for_each_scalar_function():
    """Pointwise operations that between them compute every scalar function, and the plain arithmetic.

    Each can be done in place, those with truth values for results to such.
    """
    covered, chosen = set(), [ops[name] for name in ("add", "mul", "div", "pow_number")]
    for op in ops.values():
        if isinstance(op, Pointwise) and "f" in op.dtypes and (op.result != "bool" or "b" in op.dtypes):
            names = set(op.function.__code__.co_names) & set(vars(scalar))
            if not names <= covered:
                covered |= names
                chosen.append(op)
    return chosen


TABLE = one_for_each_scalar_function()


def configurations():
    """Every pointwise operation, with numbers that have kernels of their own and one that has not."""
    for op in TABLE:
        yield pytest.param(op, op.attributes, id=op.name)
        for name, values in op.baked.items():
            for value in (min(values), 0.5, max(values), 2.5):
                yield pytest.param(op, {**op.attributes, name: value}, id=f"{op.name}-{name}={value}")


each_operation = pytest.mark.parametrize(("op", "attributes"), [*configurations()])

#: One of each kind: arithmetic, our polynomials, the C library's functions, conditions, results that are truth values.
#: Functions for tests of the loop around an element; parallel loops take long to compile.
FEW = [ops[name] for name in ("add", "exp", "sin", "atan2_op", "pow_tensor", "choose", "lt", "log_one_plus_exp")]


def numbers(seed, *shape, dtype=np.float32):
    """Random numbers of all magnitudes; of floating-point ones some are special."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape).astype(dtype) * rng.choice(np.array([0.01, 1, 40], dtype), size=shape)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e-42, 3e38], dtype)
    places = rng.random(shape) < 0.02
    values[places] = rng.choice(special, size=places.sum())
    return numgrad.from_numpy(values)


def operands(op, *shape):
    values = [numbers(seed, *shape) for seed in range(len(op.inputs))]
    return [value > 0 if name in op.conditions else value for name, value in zip(op.inputs, values, strict=True)]


def results(op, attributes, values, gradient=None):
    """The output and the gradients of all inputs."""
    leaves = [v.detach() for v in values]
    for name, leaf in zip(op.inputs, leaves, strict=True):
        if name in op.rules and name not in op.underived and leaf.is_floating_point():
            leaf.requires_grad_()
    out = op.run(leaves, attributes)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if not out.requires_grad:
        return [out]
    gradient = numbers(99, *out.shape) if gradient is None else gradient
    return [out.detach(), *numgrad.autograd.grad(out, wanted, gradient)]


def same_bits(left, right):
    """Return True if all numbers are equal, including the signs of zeros; all NaNs are alike."""
    left, right = (np.ascontiguousarray(x.detach().numpy()) for x in (left, right))
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    if left.dtype.kind != "f":
        return np.array_equal(left, right)
    bits = f"i{left.itemsize}"
    return bool(np.all((left.view(bits) == right.view(bits)) | (np.isnan(left) & np.isnan(right))))


def check(found, expected):
    assert len(found) == len(expected)
    assert all(map(same_bits, found, expected))


def test_same_bits_reports_the_difference():
    x = numgrad.tensor([0.0, 1.0, math.nan])
    assert same_bits(x, x.clone())
    assert not same_bits(x, numgrad.tensor([-0.0, 1.0, math.nan]))
    assert not same_bits(x, numgrad.tensor([0.0, 1.0 + 2**-23, math.nan]))
    assert not same_bits(x, numgrad.tensor([0.0, math.nan, math.nan]))


# -- pointwise operations ---------------------------------------------------------------------------------------------


@pytest.mark.long
@each_operation
def test_the_place_in_a_row(op, attributes):
    values, gradient = operands(op, SIZE), numbers(99, SIZE)
    whole = results(op, attributes, values, gradient)
    for piece in (slice(3, None), slice(None, 7), slice(500, 501), slice(63, 191)):
        part = results(op, attributes, [value[piece] for value in values], gradient[piece])
        check(part, [result[piece] for result in whole])


@pytest.mark.parametrize("op", FEW, ids=lambda op: op.name)
def test_contiguous_and_strided(op):
    attributes = op.attributes
    values, gradient = operands(op, 17, 118), numbers(99, 17, 118)
    halves = [value[:, ::2] for value in values], gradient[:, ::2]
    expected = results(op, attributes, [half.contiguous() for half in halves[0]], halves[1].contiguous())
    check(results(op, attributes, *halves), expected)
    if len(values) > 1:  # one operand in another order of dimensions, one repeated
        turned = [halves[0][0].t().contiguous().t(), *halves[0][1:-1], halves[0][-1][:1].expand(17, 59)]
        expected = results(op, attributes, [value.contiguous() for value in turned], halves[1].contiguous())
        check(results(op, attributes, turned, halves[1]), expected)


@each_operation
def test_in_place_and_out_of_place(op, attributes):
    values = operands(op, SIZE)
    if op.result == "bool":
        target = values[0] > 0
        values = [target, *[value > 0 for value in values[1:]]]
    place = next(n for n, name in enumerate(op.inputs) if name not in op.conditions)
    expected = op.run(values, attributes)
    target = values[place].clone()
    if expected.dtype is not target.dtype:
        target, values = target.double(), [value.double() for value in values]
        expected = op.run(values, attributes)
    changed = [*values[:place], target, *values[place + 1 :]]
    assert op.run(changed, attributes, target) is target
    assert same_bits(target, expected)


@pytest.fixture
def threads(monkeypatch):
    """Call with "serial", or with the number of threads that parallel kernels use from one element on."""
    before = numba.get_num_threads()

    def choose(number):
        monkeypatch.setattr(cpu, "PARALLEL_FROM", 1)
        monkeypatch.setattr(cpu, "worth_threads", lambda size: size > 0 and number != "serial")
        numba.set_num_threads(1 if number == "serial" else min(number, numba.config.NUMBA_NUM_THREADS))

    yield choose
    numba.set_num_threads(before)


def at_all_numbers_of_threads(threads, compute):
    outcomes = []
    for number in ("serial", 1, 2):
        threads(number)
        outcomes.append(compute())
    check(outcomes[1], outcomes[0])
    check(outcomes[2], outcomes[0])


@pytest.mark.parametrize("op", FEW, ids=lambda op: op.name)
def test_serial_and_parallel(op, threads):
    values = operands(op, 3 * 4096 + 5)
    at_all_numbers_of_threads(threads, lambda: [op.run(values, op.attributes)])


def test_serial_and_parallel_gradients_of_rows_and_matrices(threads):
    mul = ops["mul"]
    flat, strided = operands(mul, 3 * 4096 + 5), [value[:, ::2] for value in operands(mul, 99, 240)]

    def compute():
        return [*results(mul, {}, flat), *results(mul, {}, strided)]

    at_all_numbers_of_threads(threads, compute)


def test_the_number_of_threads_set_in_numba(threads):
    x = numbers(1, 100_000)
    before = numba.get_num_threads()
    outcomes = []
    try:
        for number in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(number)
            outcomes.append([x.exp(), x.sum()])
    finally:
        numba.set_num_threads(before)
    check(*outcomes)


# -- reductions -------------------------------------------------------------------------------------------------------


def uniform(*shape, dtype=np.float32):
    return numgrad.from_numpy(np.random.default_rng(5).random(shape).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 4095, 4097, 5 * 4096, 300_007])
def test_sums_and_means_at_all_numbers_of_threads(size, dtype, threads):
    x = uniform(size, dtype=dtype)
    at_all_numbers_of_threads(threads, lambda: [x.sum(), x.mean()])


def test_reductions_over_dimensions_at_all_numbers_of_threads(threads):
    x = uniform(130, 3, 70)

    def compute():
        return [x.sum(0), x.sum(1), x.sum(2), *x.max(1), x.softmax(2), x.log_softmax(2)]

    at_all_numbers_of_threads(threads, compute)


def test_the_place_of_a_row_in_memory():
    x = uniform(20_011)
    assert same_bits(x[3:].sum(), x[3:].clone().sum())
    assert same_bits(x[::2].sum(), x[::2].contiguous().sum())
    rows = uniform(5, 8195)
    assert all(same_bits(rows.sum(1)[n], rows[n].sum()) for n in range(5))
    assert same_bits(rows.softmax(1)[3:], rows[3:].softmax(1))
    assert same_bits(rows.log_softmax(1)[3], rows[3].log_softmax(0))


def test_columns_do_not_know_of_their_neighbours():
    x = uniform(1000, 300)
    assert same_bits(x.sum(0)[250:], x[:, 250:].sum(0))
    assert same_bits(x.max(0)[0][299], x[:, 299].max())


# -- precision --------------------------------------------------------------------------------------------------------


def test_ten_million_ones():
    ones = numgrad.ones(10**7)
    assert ones.sum().item() == 10**7
    assert ones.mean().item() == 1
    assert ones.view(-1, 2).sum(0).tolist() == [5e6, 5e6]
    assert ones.view(2, -1).sum(1).tolist() == [5e6, 5e6]


@pytest.mark.parametrize("size", [1000, 100_003, 3_000_001])
def test_the_error_of_a_float32_sum(size):
    rng = np.random.default_rng(size)
    for values in (rng.random(size), rng.normal(size=size), rng.lognormal(sigma=3, size=size)):
        values = values.astype(np.float32)
        exact, magnitude = math.fsum(values.tolist()), math.fsum(np.abs(values).tolist())
        x = numgrad.from_numpy(values)
        bound = 4e-7 * magnitude  # one number after the other would miss it by far
        assert abs(x.sum().item() - exact) <= bound
        assert abs(x.mean().item() * size - exact) <= bound
        columns = numgrad.from_numpy(np.stack([values, -values], 1)).sum(0)
        assert abs(columns[0].item() - exact) <= bound
        assert columns[1].item() == -columns[0].item()


def test_float32_sums_are_not_float64_sums_in_disguise():
    x = numgrad.tensor([2.0**24, 1.0])
    assert x.sum().item() == 2.0**24
    assert x.double().sum().item() == 2.0**24 + 1
