"""Programs compiled as a whole: numgrad's ``compile`` against either library's usual way, ``torch.compile`` and JAX.

All take turns; JAX does so in a process of its own.  Before anything is timed, all must have the same results.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from parts.compiled import COMPILED, Compiled, layers, means
from parts.fused import programs as fused_programs
from timing import Step, best_times, by_host_clock

__all__ = ["CALL_TITLE", "compare_compiled", "compare_first_results", "time_of_call"]

HERE = Path(__file__).parent

LIBRARIES = ("numgrad", "torch")

#: Programs that run tile by tile, and loops written by hand for comparison.
FUSED = fused_programs()

#: Seconds that the first result may take beyond the import, with kernels on disk.
FIRST = 0.3

CALL_TITLE = "A compiled call of a module with 20 parameters, besides what it computes"

#: Greatest overhead in seconds of a call of a module with 20 parameters.
CALL = 4e-6


class InJax:
    """A program in JAX, which computes when it is called, in a process with this number of processors."""

    def __init__(self, python: str, case: Compiled, inputs: Path, threads: int) -> None:
        with _processors(threads):
            self._process = subprocess.Popen(
                _in_jax(python, case, inputs), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._ask, self._answers = self._process.stdin, self._process.stdout
        self.results: list[list[float]] = json.loads(self._answers.readline())["results"]

    def __enter__(self) -> InJax:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def __call__(self) -> None:
        self.seconds(self, 1)

    @staticmethod
    def seconds(program: Any, count: int) -> float:
        """A stopwatch for such programs."""
        program._ask.write(f"{count}\n")
        program._ask.flush()
        return float(program._answers.readline())


def compare_compiled(options: Any, numgrad: Any, torch: Any) -> dict[str, Any]:
    """Time the programs and print a table of ratios to PyTorch's time, each of them compiled and not."""
    columns = ["numgrad", "compiled", *_others(options), "by hand"]
    _head("Compiled programs: shares of the time of PyTorch's", options)
    print(_line("program", ["PyTorch", *columns, "compiled, at most"]))
    print(_line("---", ["--:"] * (len(columns) + 2)))
    figures = {}
    for case in _chosen(options, [*COMPILED, *FUSED]):
        threads = case.threads or options.threads
        for module in (numgrad, torch):
            module.set_num_threads(threads)
        with ExitStack() as stack:
            programs = _programs(case, options, numgrad, torch, stack)
            watches = [InJax.seconds if isinstance(each, InJax) else by_host_clock for each in programs.values()]
            taken = best_times(list(programs.values()), options.rounds, options.seconds, watches)
        times = dict(zip(programs, taken, strict=True))
        limit = case.limit * times[case.of]
        ratios = [f"{times[name] / times['PyTorch']:.3f}" if name in times else "" for name in columns]
        aim = f"{case.limit:g}"
        if case.of != "PyTorch":
            aim = f"{times['compiled'] / times[case.of]:.2f}, {aim} of {case.of}"
        mark = " !" if times["compiled"] > limit else ""
        print(_line(case.title, [f"{times['PyTorch'] * 1e6:,.0f} µs", *ratios, aim + mark]), flush=True)
        figures[case.title] = {**times, "limit": limit}
    if options.only in CALL_TITLE:
        print(f"\n{CALL_TITLE}, in microseconds; at most {CALL * 1e6:g}\n")
        print(_line("library", ["time"]))
        print(_line("---", ["--:"]))
        calls = figures[CALL_TITLE] = {"numgrad": time_of_call(numgrad, options)}
        if options.torch_compile:
            calls["torch.compile"] = time_of_call(torch, options)
        for name, seconds in calls.items():
            mark = " !" if name == "numgrad" and seconds > CALL else ""
            print(_line(name, [f"{seconds * 1e6:.1f}{mark}"]), flush=True)
    return figures


def time_of_call(module: Any, options: Any) -> float:
    """Return the time of a compiled call without its program: the rest once the program's share is subtracted.

    That share is known from a function that calls the same module three times, whose parameters are the same.
    """
    steps = [layers(module, times) for times in (1, 3)]
    programs = [replace(step, function=module.compile(step.function)) for step in steps]
    with module.no_grad():
        once, thrice = best_times(programs, 4 * options.rounds, options.seconds / 20)
    return once - (thrice - once) / 2


def compare_first_results(options: Any, numgrad: Any) -> dict[str, Any]:
    """Time fresh processes and print a table of the seconds until their first and third results, beyond the import."""
    columns = ["kernels on disk", "empty cache", *_others(options)]
    _head(f"The first and the third result of a fresh process, in seconds after the import; at most {FIRST}", options)
    print(_line("program", columns))
    print(_line("---", ["--:"] * len(columns)))
    figures = {}
    for case in _chosen(options, COMPILED):
        runs: dict[str, list[float]] = {}
        step = case.make(numgrad)
        with tempfile.TemporaryDirectory() as folder:
            inputs = Path(folder, "inputs.npz")
            _write_inputs(step, inputs)
            expected = [means(step()) for _ in range(3)]
            ours, theirs = [[sys.executable, str(HERE / "first_result.py"), name, case.name] for name in LIBRARIES]
            cache = {"NUMGRAD_CACHE_DIR": folder}
            runs["empty cache"] = _seconds(ours, expected, **cache)
            runs["kernels on disk"] = min(_seconds(ours, expected, **cache) for _ in range(3))
            if options.torch_compile:
                runs["torch.compile"] = _seconds(theirs, expected, TORCHINDUCTOR_CACHE_DIR=folder)
            if options.jax:
                runs["JAX"] = _seconds(_in_jax(options.jax, case, inputs), expected)
        cells = [f"{runs[name][0]:.2f}, {runs[name][-1]:.2f}" for name in columns]
        cells[0] += " !" if runs["kernels on disk"][0] > FIRST else ""
        print(_line(case.title, cells), flush=True)
        figures[case.title] = runs
    return figures


def _programs(case: Compiled, options: Any, numgrad: Any, torch: Any, stack: ExitStack) -> dict[str, Any]:
    """All ways to compute it, which have the same results at the first times, and of another input.

    Raises:
        AssertionError: the results differ.
    """
    programs: dict[str, Any] = {"PyTorch": case.make(torch), "numgrad": case.make(numgrad)}
    programs["compiled"] = _compiled(numgrad, case)
    if case.by_hand is not None:
        programs["by hand"] = _by_hand(numgrad, case)
    if options.torch_compile:
        torch.compiler.reset()  # it goes back to PyTorch's usual way where a function was compiled eight times
        programs["torch.compile"] = _compiled(torch, case)
    if options.jax:
        inputs = Path(stack.enter_context(tempfile.TemporaryDirectory()), "inputs.npz")
        _write_inputs(case.make(numgrad), inputs)
        threads = case.threads or options.threads
        programs["JAX"] = stack.enter_context(InJax(options.jax, case, inputs, threads))
    results = {
        name: program.results if isinstance(program, InJax) else _results(program, numgrad.programs.background.finish)
        for name, program in programs.items()
    }
    for name, result in results.items():
        _assert_same(result, results["PyTorch"][: len(result)], f"{case.title}: {name}")
    return programs


def _results(step: Step, finish: Callable[[], None]) -> list[list[float]]:
    """Return six results, then one for the first argument in reverse order, to detect results kept from before.

    Meanwhile a program that has run several times is made to run tile by tile, which ``finish`` waits for.
    """
    first, *others = step.arguments
    backwards = first.detach().flip(0).requires_grad_(first.requires_grad)
    results = [means(step()) for _ in range(5)]
    finish()
    return [*results, means(step()), means(step.function(backwards, *others))]


def _assert_same(results: list[list[float]], expected: list[list[float]], name: str) -> None:
    np.testing.assert_allclose(results, expected, 2e-3, 1e-6, err_msg=name)


def _compiled(module: Any, case: Compiled) -> Step:
    step = case.make(module)
    return replace(step, function=module.compile(step.function))


def _by_hand(module: Any, case: Compiled) -> Step:
    """Return the program written by hand, from tensors to tensors."""

    def function(*tensors: Any) -> tuple[Any, ...]:
        return tuple(map(module.from_numpy, case.by_hand(*[each.detach().numpy() for each in tensors])))

    return replace(case.make(module), function=function)


def _others(options: Any) -> list[str]:
    return ["torch.compile"] * options.torch_compile + ["JAX"] * bool(options.jax)


def _chosen(options: Any, cases: list[Compiled]) -> Iterator[Compiled]:
    return (case for case in cases if options.only in f"{case.name}: {case.title}")


def _write_inputs(step: Step, path: Path) -> None:
    """The parameters and arguments of a program, as ``in_jax.py`` reads them."""
    kinds = {"p": step.parameters, "a": step.arguments}
    arrays = {f"{kind}{n}": each.detach().numpy() for kind, all_ in kinds.items() for n, each in enumerate(all_)}
    np.savez(path, **arrays)


def _in_jax(python: str, case: Compiled, inputs: Path) -> list[str]:
    return [python, str(HERE / "in_jax.py"), case.name, str(inputs)]


def _seconds(command: list[str], expected: list[list[float]], **environment: str) -> list[float]:
    """The seconds until each of the first results of such a process.

    Raises:
        AssertionError: the results are others.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, check=True, env=inherited | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    printed = json.loads(done.stdout)
    _assert_same(printed["results"], expected, shlex.join(command))
    return printed["seconds"]


@contextmanager
def _processors(count: int) -> Iterator[None]:
    """Processes that are started meanwhile have this number of processors."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def _head(title: str, options: Any) -> None:
    described = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    processor = described[0].partition(": ")[2] if described else "an unnamed processor"
    print(f"\n{title}\n{options.threads} threads of {processor}, `{shlex.join(['python', *sys.argv])}`\n")


def _line(name: str, cells: list[str]) -> str:
    return f"| {name:40s} | {' | '.join(f'{cell:>20s}' for cell in cells)} |"
