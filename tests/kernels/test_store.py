"""The kernel store in one process: dependencies of a kernel's file, and damaged files."""

import ast
import errno
import io
import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import types

from numgrad_kernels import cache as files
from numgrad_kernels import libm, store, target
from numgrad_kernels.facts import Facts

FACTS = Facts(np.dtype(np.float32))
TEXT = """
def kernel(x, y, out):
    for i in range(out.shape[0]):
        out[i] = x[i] * 3 + y[i]
"""
FLOATS = types.Array(types.float32, 1, "C")
DOUBLES = types.Array(types.float64, 1, "C")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache directory, and a store without kernels."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(directory))
    monkeypatch.setattr(store, "_kernels", {})
    return directory


def compiled(text=TEXT, array=FLOATS, name="axpy"):
    """Return the kernel, after a check of its result."""
    kernel = store.compile_kernel(name, text, [array] * 3, FACTS)
    assert right(kernel, array)
    return kernel


def right(kernel, array=FLOATS):
    x = np.arange(100).astype(str(array.dtype))
    out = np.full_like(x, -1)
    kernel.entry(x, x + 1, out)
    return np.array_equal(out, x * 3 + (x + 1))


def reloaded(**arguments):
    """The kernel as another process would get it."""
    store._kernels.clear()
    return compiled(**arguments)


def only(cache, pattern):
    (path,) = cache.glob(pattern)
    return path


# -- the kept kernels -----------------------------------------------------------------------------------------------


def test_notebooks_show_the_text_of_a_kernel(cache):
    shown = compiled("# 1 < 2\n" + TEXT)._repr_html_()
    assert "<b>axpy</b>(" in shown
    assert "compiled in" in shown
    assert "# 1 &lt; 2\n\ndef kernel(x, y, out):\n    for i" in shown


def test_a_kernel_is_compiled_once_and_then_loaded(cache):
    first = compiled()
    assert first.origin == "compiled"
    assert first.text == TEXT
    assert compiled() is first
    assert store.compiled_kernels() == [first]
    again = reloaded()
    assert again.origin == "loaded"
    assert again.text == TEXT
    assert "axpy" in repr(again)


def test_a_kernels_text_is_stored_with_its_machine_code_and_nothing_else_is(cache):
    compiled()
    assert only(cache, "axpy_*.py").read_text() == TEXT
    assert only(cache, "axpy_*.py").stem == only(cache, "axpy_*.bin").stem
    assert len(list(cache.iterdir())) == 2


# -- names of files ---------------------------------------------------------------------------------------------------


def test_the_machine_code_of_a_loaded_kernel_is_shown_without_changing_the_store(cache, monkeypatch):
    compiled()
    monkeypatch.setattr(store, "_kernels", {})
    kernel = compiled()
    assert kernel.origin == "loaded"
    files = {file: file.stat().st_mtime_ns for file in cache.iterdir()}
    entry = kernel.entry
    assert "define " in kernel.llvm()
    assert kernel.assembly().count("kernel") > 1
    assert kernel.entry is entry
    assert {file: file.stat().st_mtime_ns for file in cache.iterdir()} == files


def test_other_texts_types_and_names_are_other_kernels(cache):
    strided = types.Array(types.float32, 1, "A")
    flat = [FLOATS] * 3
    plane = types.Array(types.float32, 2, "C")
    cases = [
        ("axpy", TEXT, flat, False),
        ("axpy", TEXT + "\n", flat, False),
        ("axpy", TEXT.replace("3", "4"), flat, False),
        ("other", TEXT, flat, False),
        ("axpy", TEXT, [DOUBLES] * 3, False),
        ("axpy", TEXT, [FLOATS, FLOATS, DOUBLES], False),
        ("axpy", TEXT, [DOUBLES, FLOATS, FLOATS], False),
        ("axpy", TEXT, [strided] * 3, False),
        ("axpy", TEXT, [plane] * 3, False),
        ("axpy", TEXT, flat, True),
    ]
    digests = {store._digest(name, text, tuple(arguments), parallel) for name, text, arguments, parallel in cases}
    assert len(digests) == len(cases)


def test_two_signatures_of_one_text_do_not_meet(cache):
    assert compiled() is not compiled(array=DOUBLES)
    assert len(list(cache.glob("*.bin"))) == 2
    store._kernels.clear()
    assert [compiled(array=array).origin for array in (DOUBLES, FLOATS)] == ["loaded", "loaded"]


ELSEWHERE = {
    "another Numba": (numba, "__version__", "0.0.1"),
    "another llvmlite": (target.llvmlite, "__version__", "0.0.1"),
    "another C library, or libmvec gone": (libm, "fingerprint", lambda: "glibc 2.2, libmvec absent"),
    "another Python": (target.sys, "version_info", (3, 99, 0)),
    "another optimisation level": (numba.config, "OPT", 1),
    "bounds are checked": (numba.config, "BOUNDSCHECK", 1),
    "for a debugger": (numba.config, "DEBUGINFO_DEFAULT", 1),
    "variables live longer": (numba.config, "EXTEND_VARIABLE_LIFETIMES", 1),
    "no loops of vectors": (numba.config, "LOOP_VECTORIZE", 0),
    "vectors of statements": (numba.config, "SLP_VECTORIZE", 1),
    "no pruning of references": (numba.config, "LLVM_REFPRUNE_PASS", 0),
    "printing what is run": (numba.config, "DEBUG_ARRAY_OPT_RUNTIME", 1),
    "arrays of more dimensions": (numba.config, "PARFOR_MAX_TUPLE_SIZE", 7),
    "for a profiler": (numba.config, "ENABLE_PROFILING", 1),
    "another option": (target, "OPTIONS", {**target.OPTIONS, "error_model": "python"}),
}


@pytest.mark.parametrize("change", ELSEWHERE)
def test_machine_code_of_other_processors_is_not_loaded(cache, monkeypatch, change):
    compiled()
    with monkeypatch.context() as patch:
        patch.setattr(*ELSEWHERE[change])
        target.environment.cache_clear()
        other = store._digest("axpy", TEXT, (FLOATS,) * 3, False)
    target.environment.cache_clear()
    assert other not in only(cache, "*.bin").name
    assert store._digest("axpy", TEXT, (FLOATS,) * 3, False) in only(cache, "*.bin").name


@pytest.mark.parametrize(
    "name", ["NUMBA_NUM_THREADS", "THREADING_LAYER", "CACHE_DIR", "ENABLE_CUDASIM", "CUDA_LOG_SIZE"]
)
def test_settings_without_influence_on_the_code_are_not_part_of_the_key(cache, monkeypatch, name):
    before = store._digest("axpy", TEXT, (FLOATS,) * 3, False)
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, name, 3)
        target.environment.cache_clear()
        after = store._digest("axpy", TEXT, (FLOATS,) * 3, False)
    target.environment.cache_clear()
    assert after == before


@pytest.mark.parametrize(
    ("name", "changes"), [("polynomials", True), ("passes", True), ("local", False), ("pointwise", False)]
)
def test_a_source_changes_the_kernels_that_it_is_part_of(monkeypatch, name, changes):
    def digest():
        return store._digest("axpy", f"from numgrad_kernels.scalar import exp{TEXT}", (FLOATS,) * 3, False)

    before, file_digest = digest(), files._file_digest
    monkeypatch.setattr(files, "_file_digest", lambda module: file_digest(module) + "changed" * (module == name))
    assert (digest() != before) is changes


def test_the_sources_of_kernels_are_listed_completely():
    """The table is written by hand to save time; this compares it with the imports of the modules."""
    paths = {path.stem: path for path in Path(store.__file__).parent.glob("*.py") if path.stem != "__init__"}
    listed = {module for modules in files.IMPORTED.values() for module in modules}
    assert sorted(paths) == sorted([*files.COMPILER, *listed, *files.WRITING])
    for name, modules in files.IMPORTED.items():
        found, waiting = set(), [name]
        while waiting:
            found.add(module := waiting.pop())
            waiting += imported(paths[module]) - found
        assert found - set(files.COMPILER) == set(modules)


def imported(path):
    """The modules of the package that one of them imports, outside of functions."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom) and node.level]
    return {name for node in found for name in ([node.module] if node.module else [alias.name for alias in node.names])}


# -- files that went wrong --------------------------------------------------------------------------------------------


def check_recovery(cache, damaged):
    """If ``damaged`` replaces the file, the kernel is compiled again, and its file is restored."""
    binary = only(cache, "axpy_*.bin")
    whole = binary.read_bytes()
    assert damaged != whole
    binary.write_bytes(damaged)
    assert reloaded().origin == "compiled"
    assert reloaded().origin == "loaded"


@pytest.mark.parametrize("kept", [0, 1, 31, 32, 33, 0.5, -1])
def test_a_truncated_file_is_compiled_again(cache, kept):
    compiled()
    content = only(cache, "*.bin").read_bytes()
    check_recovery(cache, content[: int(kept * len(content)) if isinstance(kept, float) else kept])


def test_a_flipped_byte_anywhere_is_noticed(cache):
    compiled()
    size = only(cache, "*.bin").stat().st_size
    somewhere = np.random.default_rng(7).integers(size, size=8).tolist()
    for place in [0, 31, 32, 33, size // 2, size - 1, *somewhere]:
        content = bytearray(only(cache, "*.bin").read_bytes())
        content[place % len(content)] ^= 1 << place % 8
        check_recovery(cache, bytes(content))


def test_a_foreign_file_is_not_loaded(cache):
    compiled()
    for content in [b"hello", pickle.dumps({"not": "a kernel"}), only(cache, "*.bin").read_bytes() + b"\0"]:
        check_recovery(cache, content)


def test_another_kernels_file_under_this_ones_name_is_not_loaded(cache):
    compiled()
    compiled(name="minus", text=TEXT.replace("* 3", "* 3 + 0"))
    check_recovery(cache, only(cache, "minus_*.bin").read_bytes())


def test_a_folder_in_the_files_place_does_no_harm(cache):
    compiled()
    binary = only(cache, "*.bin")
    binary.unlink()
    binary.mkdir()
    assert reloaded().origin == "compiled"
    assert sorted(path.suffix for path in cache.iterdir()) == [".bin", ".py"]


def test_the_text_on_disk_is_for_reading_only(cache):
    compiled()
    only(cache, "*.py").write_text("damaged")
    assert reloaded().text == TEXT


# -- directories that went wrong --------------------------------------------------------------------------------------


def test_a_directory_that_cannot_be_made(cache):
    cache.write_text("a file")
    assert compiled().origin == "compiled"
    assert reloaded().origin == "compiled"
    assert cache.read_text() == "a file"


def refuse(*arguments, **options):
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def read_only(cache, monkeypatch):
    """Makes the directory read-only; for the super-user, who may write anywhere, by an error instead."""

    def protect():
        cache.chmod(0o555)
        if os.access(cache, os.W_OK):
            for function in ("mkstemp", "NamedTemporaryFile"):
                monkeypatch.setattr(files.tempfile, function, refuse)
            monkeypatch.setattr(os, "unlink", refuse)
            monkeypatch.setattr(os, "replace", refuse)
            monkeypatch.setattr(os, "open", lambda path, flags, *mode: (refuse if flags & os.O_CREAT else opened)(
                path, flags, *mode
            ))

    opened = os.open
    yield protect
    monkeypatch.undo()
    if cache.is_dir():
        cache.chmod(0o755)


def test_a_directory_that_cannot_be_written_is_still_read(cache, read_only):
    compiled()
    files = sorted(cache.iterdir())
    read_only()
    assert reloaded().origin == "loaded"
    assert compiled(array=DOUBLES).origin == "compiled"
    assert sorted(cache.iterdir()) == files


def test_a_damaged_file_that_cannot_be_deleted(cache, read_only):
    compiled()
    only(cache, "*.bin").write_bytes(b"damaged")
    read_only()
    assert reloaded().origin == "compiled"
    assert only(cache, "*.bin").read_bytes() == b"damaged"


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


class FullDisk(io.FileIO):
    """A file for which there is room for the first byte only."""

    def write(self, content):
        super().write(content[:1])
        full()


@pytest.mark.parametrize("step", ["mkdir", "mkstemp", "write", "replace"])
def test_a_disk_that_fails_at_any_step_leaves_no_part(cache, monkeypatch, step):
    cache.mkdir()
    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(os, "fdopen", FullDisk)
        else:
            owner = {"mkdir": files.Path, "mkstemp": files.tempfile, "replace": os}[step]
            patch.setattr(owner, step, full)
        assert compiled().origin == "compiled"
    assert list(cache.iterdir()) == []
    assert reloaded().origin == "compiled"
    assert reloaded().origin == "loaded"


def test_a_directory_deleted_meanwhile_is_made_again(cache):
    first = compiled()
    shutil.rmtree(cache)
    assert right(first)
    assert compiled(array=DOUBLES).origin == "compiled"
    assert len(list(cache.glob("*.bin"))) == 1
    assert reloaded().origin == "compiled"


# -- interruptions and other processes --------------------------------------------------------------------------------


def test_an_interrupt_while_llvm_compiles(cache):
    """Uses a new process, since LLVM keeps the addresses of functions from the beginning of a process."""
    program = """
import os, signal, sys
import numpy as np
from numba import types
from numba.core.codegen import CPUCodeLibrary

def interrupting(name):
    hook = getattr(CPUCodeLibrary, name)
    def interrupted(cls, *arguments):
        if presses[name]:
            presses[name] -= 1
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000): pass
        return hook(*arguments)
    setattr(CPUCodeLibrary, name, classmethod(interrupted))

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background begins without
presses = {"_object_compiled_hook": 0, "_object_getbuffer_hook": 0}
for name in presses: interrupting(name)

from numgrad_kernels import facts, store
facts = facts.Facts(np.dtype("float32"))
signature = [types.Array(types.float32, 1, "C")] * 3
x = np.arange(9, dtype="float32")
for name, origin in (("_object_compiled_hook", "compiled"), ("_object_getbuffer_hook", "loaded")):
    presses[name] = 1
    store._kernels.clear()
    try:
        store.compile_kernel("axpy", sys.argv[1], signature, facts)
    except KeyboardInterrupt:
        kernel = store.compile_kernel("axpy", sys.argv[1], signature, facts)
        out = np.zeros_like(x)
        kernel.entry(x, x, out)
        print(kernel.origin, presses[name], bool((out == 4 * x).all()), signal.getsignal(signal.SIGINT).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program, TEXT], capture_output=True, text=True, timeout=120)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [f"{origin} 0 True default_int_handler" for origin in ("compiled", "loaded")]


def test_numba_switched_off_is_said(cache, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(RuntimeError, match="NUMBA_DISABLE_JIT is set"):
        compiled()
    monkeypatch.undo()


# -- threads --------------------------------------------------------------------------------------------------------


def test_threads_that_want_one_kernel_compile_it_once(cache):
    start = threading.Barrier(4)
    found = []

    def want():
        start.wait()
        found.append(compiled())

    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1
