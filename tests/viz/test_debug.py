"""Printing of operations as they run: ``numgrad.viz.debug`` and the variable ``NUMGRAD_DEBUG``."""

import io
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import numgrad
from numgrad.autograd.profiler import profile, record_function
from numgrad.devices import kernel_listeners, launches
from numgrad.func import vmap
from numgrad.viz import debug


def printed(level, function):
    """The lines that are printed while the function runs, with their times, which differ, as "T"."""
    file = io.StringIO()
    with debug(level, file=file):
        function()
    text = re.sub(r"\d+\.\d+ (us|ms|GB/s)", r"T \1", file.getvalue())
    assert all(line.startswith("numgrad: ") for line in text.splitlines())
    return [line.removeprefix("numgrad: ") for line in text.splitlines()]


def leaf():
    return numgrad.tensor([1.0, 2.0], requires_grad=True)


def test_operations_and_nodes_with_their_shapes():
    x = leaf()
    assert printed(1, lambda: (x.exp() * 2).sum().backward()) == [
        "aten::exp [2] -> [2]",
        "aten::mul [2] 2 -> [2]",
        "aten::sum [2] -> []",
        "SumBackward0 []",
        "  aten::expand [] (2) -> [2]",
        "  -> [2]",
        "MulBackward0 [2] -> [2]",
        "ExpBackward0 [2] -> [2]",
        "torch::autograd::AccumulateGrad [2]",
    ]


def test_dtypes_results_bytes_and_times():
    x, y = leaf(), numgrad.ones(5, dtype=numgrad.float64)
    assert printed(2, lambda: (x * 3, x.sum(), y.neg(), y[1:3], x.detach().clone().add_(1))) == [
        "aten::mul float32[2] 3 -> float32[2] = [3., 6.], 8 bytes, T us",
        "aten::sum float32[2] -> float32[] = 3., 4 bytes, T us",
        "aten::neg float64[5] -> float64[5], 40 bytes, T us",
        "aten::slice float64[5] 0 1 3 1 -> float64[2] (view) = [1., 1.], T us",
        "aten::clone float32[2] -> float32[2] = [1., 2.], 8 bytes, T us",
        "aten::add_ float32[2] 1 1 -> float32[2] = [2., 3.], 8 bytes, T us",
    ]


def test_runs_of_kernels():
    x = numgrad.ones(300)
    x.exp()
    assert printed(3, lambda: x.exp()) == [
        "aten::exp float32[300]",
        "  kernel exp: 300 elements, 2400 bytes, T us, T GB/s",
        "  -> float32[300], 1200 bytes, T us",
    ]
    joined = printed(3, lambda: numgrad.cat([x, numgrad.zeros(300)]))
    assert "  kernel join_rows: 600 elements, 4800 bytes, T us, T GB/s" in joined


def test_the_making_of_a_kernel():
    numgrad.ones(2).exp()
    file = io.StringIO()
    with debug(3, file=file):
        for tell in kernel_listeners:
            tell("odd", 1_000_000, 3_500_000)
    assert file.getvalue() == "numgrad: kernel odd made in 2.5 ms\n"


def test_the_text_of_a_kernel_before_its_first_run():
    x = numgrad.ones(3)
    lines = printed(4, lambda: (x.expm1(), x.expm1()))
    lines = [line for line in lines if "made in" not in line]
    begin = next(number for number, line in enumerate(lines) if line.startswith("  <Kernel expm1("))
    end = lines.index("  kernel expm1: 3 elements, 24 bytes, T us, T GB/s")
    assert begin == 1
    assert "  | def kernel(input, out):" in lines[begin:end]
    assert [line.partition(":")[0] for line in lines[end + 1 :]] == [
        "  -> float32[3] = [1.7183, 1.7183, 1.7183], 12 bytes, T us", "aten", "  kernel expm1",
        "  -> float32[3] = [1.7183, 1.7183, 1.7183], 12 bytes, T us",
    ]  # fmt: skip


def test_blocks_errors_and_what_stands_within():
    def program():
        with record_function("step"):
            numgrad.arange(2) + 1
            with pytest.raises(RuntimeError):
                numgrad.ones(2, 3) @ numgrad.ones(2, 3)
        leaf().tanh()

    lines = printed(1, program)
    assert lines[0] == '"step"'
    assert "  aten::add [2] 1 1 -> [2]" in lines
    assert lines[-1] == "aten::tanh [2] -> [2]"

    class Failing(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("no")

    def fail():
        with pytest.raises(ValueError, match="no"):
            Failing.apply(leaf()).sum().backward()
        leaf().tanh()

    assert printed(1, fail)[-2:] == ["FailingBackward [2] failed", "aten::tanh [2] -> [2]"]


def test_under_transforms():
    lines = printed(2, lambda: vmap(lambda x: x.sum())(numgrad.ones(2, 3)))
    assert "aten::sum float32[3] -> float32[], 4 bytes, T us" in lines


def test_times_leave_out_what_printing_takes():
    class Slow(io.StringIO):
        def write(self, text):
            threading.Event().wait(0.02)
            return super().write(text)

    x = leaf()
    (x**2).sum().backward()
    file = Slow()
    with debug(3, file=file), record_function("all"):
        (x**2).sum().backward()
    total = float(re.search(r"(\S+) us\n$", file.getvalue())[1])
    assert len(file.getvalue().splitlines()) > 10
    assert total < 100_000


def test_only_the_thread_that_entered_and_only_in_the_block():
    file = io.StringIO()
    x = leaf()
    with debug(3, file=file):
        thread = threading.Thread(target=x.exp)
        thread.start()
        thread.join()
    x.exp()
    assert file.getvalue() == ""
    assert not launches.listeners


def test_inside_a_profile_and_inside_itself():
    x = leaf()
    outer, inner = io.StringIO(), io.StringIO()
    with debug(1, file=outer), profile() as prof:
        x.exp()
        with debug(1, file=inner):
            x.sin()
    assert outer.getvalue() == "numgrad: aten::exp [2] -> [2]\nnumgrad: aten::sin [2] -> [2]\n"
    assert inner.getvalue() == "numgrad: aten::sin [2] -> [2]\n"
    assert [event.name for event in prof.function_events] == ["aten::exp", "aten::sin"]


@pytest.mark.parametrize("level", [0, 5, "2", None])
def test_there_are_four_levels(level):
    with pytest.raises(ValueError, match="level must be 1, 2, 3 or 4"):
        debug(level)


def test_one_object_is_entered_once_at_a_time():
    file = io.StringIO()
    printer = debug(3, file=file)
    with printer, pytest.raises(RuntimeError, match="entered already"), printer:
        pass
    with printer:
        leaf().exp()
    assert file.getvalue().count("aten::exp") == 1
    assert not launches.listeners


def test_a_file_must_be_written_to():
    with pytest.raises(TypeError, match=r"file must have a method 'write'.*, not str"):
        debug(1, file="log.txt")


def run(program, value):
    """Return a program's output on stderr with this value of the variable."""
    paths = {str(Path(package.__file__).parent.parent) for package in (numgrad, sys.modules["numgrad_kernels"])}
    environment = {**os.environ, "NUMGRAD_DEBUG": value, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr


def test_the_variable_holds_for_the_whole_program():
    program = """
import threading, numgrad
x = numgrad.tensor([1.0, 2.0], requires_grad=True)
def work():
    x.exp()
work()
thread = threading.Thread(target=work, name="other")
thread.start(); thread.join()
with numgrad.no_grad():
    x.exp()
"""
    lines = [line for line in run(program, "3").splitlines() if "made in" not in line]
    assert [re.sub(r"\d+\.\d+.*", "T", line) for line in lines] == [
        f"{prefix}{line}"
        for prefix in ("numgrad: ", "numgrad other: ", "numgrad: ")
        for line in ("aten::exp float32[2]", "  kernel exp: 2 elements, 16 bytes, T", "  -> float32[2] = [T")
    ]


@pytest.mark.parametrize(("value", "warned"), [("5", True), ("yes", True), ("0", False), ("", False)])
def test_invalid_levels_print_nothing(value, warned, monkeypatch):
    monkeypatch.setenv("NUMGRAD_DEBUG", value)
    if warned:
        with pytest.warns(UserWarning, match=f"NUMGRAD_DEBUG is '{value}', but must be 1, 2, 3 or 4"):
            numgrad.viz.debugging.start()
    else:
        numgrad.viz.debugging.start()
    assert numgrad.autograd.grad_mode.state.watchers == ()
