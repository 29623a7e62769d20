"""Timing of statements, by a clock of the test's, and tables of the times."""

import importlib

import numpy as np
import pytest

import numgrad
from numgrad.utils import benchmark
from numgrad.utils.benchmark import Compare, Measurement, TaskSpec, Timer

TASK = TaskSpec("x + y", "pass")


class Clock:
    """Time passes only when the statement ``tick()`` is run."""

    def __init__(self, *steps):
        self.now, self.runs, self.steps = 0.0, 0, steps or (0.25,)

    def __call__(self):
        return self.now

    def tick(self):
        self.now += self.steps[self.runs % len(self.steps)]
        self.runs += 1


def timed(clock, stmt="tick()", module=benchmark, **options):
    return module.Timer(stmt, timer=clock, globals={"tick": clock.tick}, **options)


# -- timing -----------------------------------------------------------------------------------------------------------


def test_timeit():
    clock = Clock()
    measurement = timed(clock, label="a tick").timeit(400)
    assert clock.runs == 404
    assert (measurement.number_per_run, measurement.raw_times) == (400, [100.0])
    assert (measurement.median, measurement.mean, measurement.iqr) == (0.25, 0.25, 0.0)
    assert (measurement.label, measurement.num_threads) == ("a tick", 1)


def test_blocks_are_long_enough():
    clock = Clock(2.0**-14)
    seen = []
    measurement = timed(clock).blocked_autorange(callback=lambda number, time: seen.append((number, time)))
    assert measurement.number_per_run == 10  # the least that takes a thousandth of 0.2 s
    assert sum(measurement.raw_times) == pytest.approx(0.2, rel=0.01)
    assert set(measurement.times) == {2.0**-14}
    assert seen == [(10, time) for time in measurement.raw_times]


def test_the_first_run_in_which_kernels_are_compiled_does_not_make_blocks_short():
    clock = Clock(1.0, *[2.0**-14] * 9999)
    assert timed(clock).blocked_autorange().number_per_run == 10


def test_timing_goes_on_until_the_times_agree():
    steady = timed(Clock()).adaptive_autorange()
    assert len(steady.raw_times) == 4
    unsteady = timed(Clock(0.25, 0.5)).adaptive_autorange(max_run_time=9)
    assert 9 < sum(unsteady.raw_times) <= 9.5
    assert unsteady.has_warnings


def test_the_setup_and_the_names():
    measurement = Timer("y = torch.add(x, z)", "\n  x = numgrad.ones(3)\n", globals={"z": 2}).timeit(3)
    assert measurement.raw_times[0] > 0
    assert (measurement.stmt, measurement.setup) == ("y = torch.add(x, z)", "x = numgrad.ones(3)")


def test_the_number_of_threads_holds_while_the_statement_runs():
    before, seen = numgrad.get_num_threads(), []
    Timer("note()", globals={"note": lambda: seen.append(numgrad.get_num_threads())}).timeit(1)
    assert set(seen) == {1}
    assert numgrad.get_num_threads() == before


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Timer(len), ValueError, "only a `str` stmt"),
        (lambda: Timer(language="c++"), NotImplementedError, r"C\+\+ cannot be timed"),
        (lambda: Timer(language="rust"), ValueError, "Invalid language `rust`"),
        (lambda: Timer(global_setup="x"), ValueError, "global_setup is C"),
        (lambda: Timer().repeat(), NotImplementedError, "blocked_autorange"),
        (lambda: Timer().autorange(), NotImplementedError, "blocked_autorange"),
        (lambda: Compare([3]), ValueError, "Expected an instance of `Measurement`, got <class 'int'>"),
        (lambda: Measurement(1, [1.0], TASK).size, AttributeError, "has no attribute 'size'"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


# -- measurements -----------------------------------------------------------------------------------------------------


def test_statistics():
    measurement = Measurement(2, [2e-3, 4e-3, 6e-3, 8e-3, 20e-3], TASK)
    assert measurement.times == [1e-3, 2e-3, 3e-3, 4e-3, 10e-3]
    assert (measurement.median, measurement.mean) == (pytest.approx(3e-3), pytest.approx(4e-3))
    assert measurement.iqr == pytest.approx(2e-3)
    assert measurement.has_warnings
    assert measurement.meets_confidence(0.7)
    assert repr(measurement).splitlines()[1:] == [
        "x + y", "  Median: 3.00 ms", "  IQR:    2.00 ms (2.00 to 4.00)",
        "  5 measurements, 2 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 66.7% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]


def test_measurements_of_a_task_are_merged():
    other = TaskSpec("x - y", "pass")
    parts = [Measurement(2, [2.0], TASK), Measurement(1, [5.0], other), Measurement(1, [3.0], TASK)]
    assert [one.times for one in Measurement.merge(parts)] == [[1.0, 3.0], [5.0]]


@pytest.mark.parametrize(
    ("time", "unit"), [(3e-9, "ns"), (9.9e-7, "ns"), (2e-6, "us"), (0.5, "ms"), (1.0, "s"), (400.0, "s")]
)
def test_units(time, unit):
    name, scale = benchmark.select_unit(time)
    assert name == unit
    assert scale == {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def test_a_table():
    results = [
        Measurement(1, [time], TaskSpec("f()", "pass", label="speed", sub_label=row, description=column))
        for row, column, time in [("small", "one", 2e-6), ("small", "two", 4e-6), ("large", "one", 1e-4)]
    ]
    assert str(Compare(results)).splitlines() == [
        "[---------- speed ----------]",
        "             |   one   |  two",
        "1 threads: ------------------",
        "      small  |    2.0  |  4.0",
        "      large  |  100.0  |     ",
        "",
        "Times are in microseconds (us).",
    ]


# -- against PyTorch ---------------------------------------------------------------------------------------------------


def modules():
    return benchmark, importlib.import_module("torch.utils.benchmark")


def measurements(module, seed):
    """Return measurements of two labels, rows, columns, environments and numbers of threads, some of them unsteady."""
    random = np.random.default_rng(seed)
    results = []
    for number in range(24):
        task = module.TaskSpec(
            stmt="f(x)" if number % 3 else "f(x)\ng(x)", setup="x = 1", label="first" if number % 5 else "second",
            sub_label=[None, "small", "large"][number % 3], description=["one", "another"][number % 2],
            env=["here", "elsewhere"][seed % 2 and number % 2], num_threads=1 + number % 4 // 2,
        )
        spread = random.choice([1e-4, 0.05, 0.6])
        middle = 10.0 ** random.uniform(-8, 1)
        times = middle * (1 + spread * random.random(random.integers(1, 9)))
        results.append(module.Measurement(int(random.integers(1, 100)), times.tolist(), task))
    return results


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(4))
def test_text_of_measurements(seed):
    for own, other in zip(*[measurements(module, seed) for module in modules()], strict=True):
        assert repr(own).splitlines()[1:] == repr(other).splitlines()[1:]
        assert own.significant_figures == other.significant_figures
        assert own.task_spec.summarize() == other.task_spec.summarize()


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("change", [
    lambda table: None,
    lambda table: table.trim_significant_figures(),
    lambda table: table.colorize(),
    lambda table: table.colorize(rowwise=True),
    lambda table: table.highlight_warnings() or table.trim_significant_figures(),
])
def test_tables(change, seed):
    texts = []
    for module in modules():
        table = module.Compare(measurements(module, seed))
        change(table)
        texts.append(str(table))
    assert texts[0] == texts[1]


@pytest.mark.torch
@pytest.mark.parametrize("steps", [(0.25,), (2.0**-14,), (0.25, 0.5, 0.125), (0.001, 0.002)])
def test_times(steps):
    found = []
    for module in modules():
        clocks = [Clock(*steps) for _ in range(3)]
        if module is not benchmark:  # which runs the statement once before it determines the length of blocks
            for clock in clocks[1:]:
                clock.tick()
        timers = [timed(clock, module=module) for clock in clocks]
        results = [
            timers[0].timeit(300),
            timers[1].blocked_autorange(min_run_time=1.0),
            timers[2].adaptive_autorange(max_run_time=3.0),
        ]
        found.append([(result.number_per_run, result.raw_times) for result in results])
    assert found[0] == found[1]
