"""Compile every kernel that the tests of GPUs launch, and report faults of the machine code.

``python compile_kernels.py`` runs the tests in ``tests/on_gpu`` on a GPU that compiles kernels and runs none (see
``numgrad/devices/cuda/dry.py``).  Most of the tests fail there, but they launch the same kernels as on a real GPU.  Of
kernels that differ only in types and strides, one is compiled (see ``one_of_each_program``), for one compute capability
in turn; ``--all`` compiles each for all of them, and runs the tests of ``LONG``, too.  The output has one line for each
fault, and then the number of kernels.  The exit status is 0 if there are no faults.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import re
import sys
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

#: Compute capabilities that kernels are compiled for.
CAPABILITIES = (7, 5), (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)

#: Tests that take five times as long as all others, and launch most of the generated kernels.
LONG = (
    "test_commands_on_gpu.py", "test_complex.py", "test_index_operations.py", "test_indexing.py", "test_programs.py",
    "test_reductions.py", "test_softmax.py", "test_table.py",
)  # fmt: skip

#: Registers of a multiprocessor, which the threads of a block share.
REGISTERS = 65536

#: With fewer kernels, the search for them has failed.
FEWEST = 90

#: Arithmetic in float64.
FLOAT64 = re.compile(r"\b(add|sub|mul|div|fma|rcp|sqrt|rsqrt|min|max|abs|neg|ex2|lg2|sin|cos)\.[a-z.]*f64")

#: The dtypes of kernels that must do no arithmetic in float64.
NARROW = "float32", "complex64"

NUMBER_TYPE = re.compile(r"\b(bool_?|u?int(8|16|32|64)|float(16|32|64)|complex(64|128))\b")


def kernels_of_tests(without: Sequence[str]) -> list[tuple]:
    """Return every kernel that the tests launch: its name, text, argument types and dtype.

    ``without`` names files whose tests are left out.
    """
    import pytest

    from numgrad import devices

    kernels = devices.begin_cuda(dry=True).launching.kernels
    output, folder = io.StringIO(), Path(__file__).parents[1] / "on_gpu"
    with contextlib.redirect_stdout(output):
        status = pytest.main([
            "-q", "-m", "gpu and not simulator", "-n", "0", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore",
            str(folder), *[f"--ignore={folder / name}" for name in without],
        ])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"the tests of GPUs do not run: {output.getvalue()[-2000:]}")
    found = [(kernel.name, kernel.text, kernel.arguments, kernel.facts.compute.name) for kernel in kernels.values()]
    return sorted(found, key=lambda kernel: (kernel[1], str(kernel[2])))


def one_of_each_program(kernels: list[tuple]) -> list[tuple]:
    """Return each program once: in float32 if it is computed in float32, else in complex64 or another dtype.

    A program is a kernel's text whatever its number types are; a pointwise one, which is generated, is the same over
    rows, over four elements at once and over any strides.  The forms that represent the others alternate.
    """
    forms: dict[tuple, dict[str, list[tuple]]] = {}
    for kernel in kernels:
        forms.setdefault(program_of(kernel), {}).setdefault(kernel[3], []).append(kernel)
    chosen = []
    for program, by_dtype in forms.items():
        found = next(by_dtype[dtype] for dtype in (*NARROW, *by_dtype) if dtype in by_dtype)
        chosen.append(found[zlib.crc32(str(program).encode()) % len(found)])
    return chosen


def program_of(kernel: tuple) -> tuple[str, str]:
    name, text, *_ = kernel
    return name, "" if text.partition("\n")[0].endswith('on a GPU."""') else NUMBER_TYPE.sub("T", text)


def faults(kernel: tuple, capabilities: tuple) -> list[str]:
    """Return the faults of a kernel's code for these compute capabilities: those of its PTX and of its machine code."""
    from numgrad_kernels.cuda import adapter

    name, text, arguments, dtype = kernel
    result = []
    try:
        codes = adapter.compile_ptx_for(name, text, arguments, capabilities)
    except Exception as error:
        return [f"does not compile: {str(error).strip().splitlines()[-1]}"]
    for capability, code in zip(capabilities, codes, strict=True):
        if f".target sm_{capability[0]}{capability[1]}" not in code:
            result.append(f"is not for {capability}")
        if ".local" in code:
            result.append(f"keeps variables in local memory on {capability}")
        if ".extern .func" in code:
            result.append(f"calls what is not in it on {capability}")
        if dtype in NARROW and (match := FLOAT64.search(code)):
            result.append(f"computes in float64 on {capability}: {match[0]}")
        result += [f"{fault} on {capability}" for fault in faults_assembled(text, code, capability)]
    return result


def faults_assembled(text: str, code: str, capability: tuple[int, int]) -> list[str]:
    """Return the faults of the machine code, or the reason if there is none, like more than 48 KiB of shared memory."""
    from cuda.bindings import nvjitlink

    try:
        report = assembled(code, capability)
    except nvjitlink.nvJitLinkError as error:
        return [f"is not assembled: {error}"]
    spills = re.findall(r"(\d+) bytes (stack frame|spill stores|spill loads)", report)
    used = re.search(r"Used (\d+) registers", report)
    if not spills or used is None:
        return [f"has no report of its registers: {report}"]
    result = [f"needs {count} bytes of {what}" for count, what in spills if int(count)]
    threads = re.search(r"^THREADS = (\d+)$", text, re.M)  # otherwise, the driver chooses a number that fits
    if threads and int(used[1]) * int(threads[1]) > REGISTERS:
        result.append(f"needs {used[1]} registers for each of {threads[1]} threads")
    return result


def assembled(code: str, capability: tuple[int, int]) -> str:
    """Return the report of NVIDIA's assembler on a kernel: registers, stack, spills."""
    from cuda.bindings import nvjitlink

    data = code.encode()
    handle = nvjitlink.create(2, [f"-arch=sm_{capability[0]}{capability[1]}", "-Xptxas=-v"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel")
        nvjitlink.complete(handle)
        report = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, report)
    finally:
        nvjitlink.destroy(handle)
    return report.decode().strip("\0")


def main() -> bool:
    every = "--all" in sys.argv[1:]
    without = ["test_mutants.py", *(() if every else LONG)]  # mutants are faulty on purpose
    kernels, status = one_of_each_program(kernels_of_tests(without)), False
    capabilities = itertools.repeat(CAPABILITIES) if every else itertools.cycle([(each,) for each in CAPABILITIES])
    with ProcessPoolExecutor(initializer=gc.disable) as pool:  # the collector would take a tenth of the time
        results = pool.map(faults, kernels, capabilities, chunksize=8)
        for (name, text, arguments, _), found in zip(kernels, results, strict=True):
            for fault in found:
                status = True
                print(f"{name}({', '.join(map(str, arguments))}), {text.splitlines()[0]}: {fault}")
    print(f"{len(kernels)} kernels")
    return status or len(kernels) < FEWEST


if __name__ == "__main__":
    sys.exit(main())
