"""``python -m numgrad info``: information for bug reports."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import threadpoolctl
from numba.core.registry import cpu_target
from numba.np.ufunc.parallel import _launch_threads

import numgrad
from numgrad import devices

#: Instruction sets that affect which kernels are compiled or their speed.
_FEATURES = ("sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512dq", "avx512vl", "neon", "sve")

_THREADING_LAYERS = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}

_VARIABLES = ("CUDA_", "GOMP_", "KMP_", "NUMGRAD_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")

#: Fields that distinguish processors sold under one name, as named by Linux on x86 and on ARM.
_GENERATION = ("vendor_id", "cpu family", "model", "stepping", "CPU implementer", "CPU part")

#: Vector width in bits of the vector functions called, by their letter.
_VECTOR_BITS = {"b": 128, "d": 256, "e": 512}


def print_info() -> None:
    """Print the rows of ``rows``, labels and values in two columns."""
    table = rows()
    width = max(len(label) for label, _ in table)
    for label, value in table:
        print(f"{label:<{width}}  {value}")


def rows() -> list[tuple[str, str]]:
    """Return labels and values that describe numgrad, its dependencies and the machine."""
    return [
        ("numgrad", f"{numgrad.__version__} ({Path(numgrad.__file__).parent})"),
        ("Python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("numba", numba.__version__),
        ("llvmlite", llvmlite.__version__),
        ("NumPy", np.__version__),
        ("SciPy", _optional("scipy")),
        ("numba-cuda", _optional("numba-cuda")),
        ("nvmath-python", _optional("nvmath-python")),
        ("platform", platform.platform()),
        ("C library", " ".join(platform.libc_ver()).strip() or "unknown"),
        ("vector mathematics", _vector_mathematics()),
        ("processor", _processor()),
        ("compiled for", _target()),
        ("threads", f"{numba.config.NUMBA_NUM_THREADS}; {_usable()} of {os.cpu_count()} processors may be used"),
        ("threading layer", _threading_layer()),
        ("BLAS", _blas()),
        ("LAPACK", _lapack()),
        *_gpus(),
        *_gpu_compilers(),
        ("kernel cache", _cache(devices.cache_directory())),
        ("environment", _environment()),
    ]


def _optional(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, the numbers of its generation if available, and LLVM's name for it."""
    facts: dict[str, str] = {}
    try:
        for line in cpuinfo.read_text().splitlines():
            name, _, value = line.partition(":")
            facts.setdefault(name.strip(), value.strip())
    except OSError:  # not Linux
        pass
    name = facts.get("model name") or platform.processor() or platform.machine()
    generation = [f"{fact} {facts[fact]}" for fact in _GENERATION if fact in facts]
    return ", ".join([name, *generation, f"{llvmlite.binding.get_host_cpu_name()} to LLVM"])


def _vector_mathematics() -> str:
    letter = devices.libm.variant()
    return f"libmvec, {_VECTOR_BITS[letter]}-bit" if letter else "libmvec not found"


def _usable() -> int | None:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _target() -> str:
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    enabled = set(features.split(","))
    instructions = [feature for feature in _FEATURES if f"+{feature}" in enabled]
    return f"{name} ({triple}), with {', '.join(instructions) or 'no vector instructions'}"


def _threading_layer() -> str:
    available = []
    for name, module in _THREADING_LAYERS.items():
        with contextlib.suppress(ImportError):  # the layer's own library is not installed
            importlib.import_module(f"numba.np.ufunc.{module}")
            available.append(name)
    try:
        _launch_threads()  # Numba selects the layer when the threads start
    except ValueError:  # the layer set by NUMBA_THREADING_LAYER is not installed
        selected = f"none (asked for {numba.config.THREADING_LAYER})"
    else:
        selected = numba.threading_layer()
    return f"{selected}; available: {', '.join(available)}"


def _blas() -> str:
    """Return the library that multiplies matrices, and the loaded BLAS libraries with their target processors."""
    name = devices.blas_name()  # loads the library
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    libraries = [" ".join(str(blas[key]) for key in ("name", "version") if key in blas) + " in NumPy"]
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            build = f"{library['internal_api']} {library['version']} for {library.get('architecture', 'any processor')}"
            libraries.append(f"{build}, {library['num_threads']} threads ({library.get('threading_layer', 'unknown')})")
    return f"matrices are multiplied by {name}; {'; '.join(libraries)}"


def _lapack() -> str:
    """Return the library that decomposes matrices, also those on GPUs."""
    known = devices.has_lapack(np.dtype(np.float64))
    name = devices.blas_name() if known else "numgrad's kernels and numpy.linalg"
    return f"matrices are decomposed by {name} on the host, also those on a GPU"


def _gpus() -> list[tuple[str, str]]:
    """Return a row for each GPU and one for the driver, or one that reports the missing part."""
    try:
        count = devices.needs.check()
        gpus = [numgrad.cuda.get_device_properties(number) for number in range(count)]
        driver = devices.gpu_driver_version()
    except (ImportError, RuntimeError) as error:
        return [("GPU", f"none: {error}")]
    rows = [(f"GPU {number}", _described(properties)) for number, properties in enumerate(gpus)]
    return [*rows, ("GPU driver", f"{_module_version()}{driver}")]


def _gpu_compilers() -> list[tuple[str, str]]:
    """Return a row of the versions of NVIDIA's compilers, if there are any, and one of their disagreements."""
    try:
        versions, advice = devices.gpu_compilers()
    except (ImportError, RuntimeError):  # numba-cuda is not installed, or does not run on this system
        return []
    return [("GPU compilers", versions), *([("GPU compilers disagree", advice)] if advice else [])]


def _described(gpu: Any) -> str:
    """Return a GPU's name, compute capability and memory size."""
    return f"{gpu.name}, compute capability {gpu.major}.{gpu.minor}, {gpu.total_memory / 1e9:.1f} GB"


def _module_version() -> str:
    """Return the version of NVIDIA's kernel module, if Linux reports it."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    match = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)\s", text)
    return f"{match[1]}, for " if match else ""


def _cache(directory: Path) -> str:
    sizes = [file.stat().st_size for file in directory.rglob("*") if file.is_file()]
    return f"{directory} ({len(sizes)} files, {sum(sizes) / 1e6:.1f} MB)"


def _environment() -> str:
    names = sorted(name for name in os.environ if name.startswith(_VARIABLES))
    return " ".join(f"{name}={os.environ[name]}" for name in names) or "-"
