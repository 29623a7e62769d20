"""Machine code for GPUs: made once, kept on disk, and made again when a file is damaged."""

import re
from pathlib import Path

import numba
import pytest
from cuda.bindings import nvjitlink
from numba.core import types

from numgrad_kernels.cuda import adapter, store, toolkit

TEXT = """
from numba import cuda
def kernel(x, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i]
"""
ROW = types.CPointer(types.float32)
ARGUMENTS = ROW, ROW, types.int64


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Return the kernels that are compiled with an empty cache directory."""
    made = []
    compile_ptx = adapter.compile_ptx

    def noting(*given):
        made.append(given)
        return compile_ptx(*given)

    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(adapter, "compile_ptx", noting)
    return made


def test_code_is_compiled_once(compiled, tmp_path):
    entry, code = store.machine_code("move", TEXT, ARGUMENTS, (9, 0))
    assert "kernel" in entry
    assert code.startswith(b"\x7fELF")
    assert entry.encode() in code
    assert store.machine_code("move", TEXT, ARGUMENTS, (9, 0)) == (entry, code)
    assert len(compiled) == 1
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("move_")


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[:50] + b"?" + content[51:]])
def test_a_damaged_file_is_made_again(compiled, tmp_path, damage):
    store.machine_code("move", TEXT, ARGUMENTS, (9, 0))
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    entry, code = store.machine_code("move", TEXT, ARGUMENTS, (9, 0))
    assert entry.encode() in code
    assert store.machine_code("move", TEXT, ARGUMENTS, (9, 0)) == (entry, code)
    assert len(compiled) == 2


def test_each_text_type_and_capability_has_code_of_its_own(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(adapter, "compile_ptx", lambda *given: ".visible .entry kernel() {}")
    monkeypatch.setattr(store, "_linked", lambda name, ptx, target: b"code")
    other = (types.CPointer(types.float64), *ARGUMENTS[1:])
    for given in (
        (TEXT, ARGUMENTS, (9, 0)), (TEXT + "\n", ARGUMENTS, (9, 0)), (TEXT, other, (9, 0)), (TEXT, ARGUMENTS, (8, 0)),
    ):
        assert store.machine_code("move", *given) == ("kernel", b"code")
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize(
    ("setting", "matters"),
    [("CUDA_DEBUGINFO_DEFAULT", True), ("OPT", True), ("NUMBA_NUM_THREADS", False), ("CPU_NAME", False)],
)
def test_settings_that_change_the_code_are_asked(monkeypatch, setting, matters):
    before = adapter.compilers()
    monkeypatch.setattr(numba.config, setting, 0 if setting == "OPT" else 1)
    assert (adapter.compilers() != before) == matters


def test_a_gpu_between_those_that_the_compiler_knows(compiled):
    store.machine_code("move", TEXT, ARGUMENTS, (9, 7))
    assert compiled[0][-1] == (9, 0)


def test_a_gpu_of_a_later_generation_compiles_ptx_itself(compiled):
    _, code = store.machine_code("move", TEXT, ARGUMENTS, (99, 0))
    assert b".version" in code
    assert code.endswith(b"\0")
    assert compiled[0][-1] == adapter.newest_capability((99, 0))


def test_without_the_linker_the_driver_compiles_ptx(compiled, monkeypatch):
    monkeypatch.setattr(store, "_linker", lambda: None)
    assert b".target sm_90" in store.machine_code("move", TEXT, ARGUMENTS, (9, 0))[1]


def test_an_error_of_the_linker_is_raised_with_its_log(compiled, tmp_path, monkeypatch):
    compile_ptx = adapter.compile_ptx
    monkeypatch.setattr(adapter, "compile_ptx", lambda *given: compile_ptx(*given).replace("ld.global", "ld.nowhere"))
    monkeypatch.setattr(nvjitlink, "version", lambda: (12, 1))
    with pytest.raises(RuntimeError, match=r"cannot link kernel move for compute capability 9\.0") as failure:
        store.machine_code("move", TEXT, ARGUMENTS, (9, 0))
    assert "ptxas" in str(failure.value)
    assert "nowhere" in str(failure.value)
    assert "nvJitLink 12.1 may not read the PTX of NVVM 1" in str(failure.value)
    assert not list(tmp_path.iterdir())


def test_a_gpu_that_the_linker_does_not_know(compiled, monkeypatch):
    create = nvjitlink.create
    monkeypatch.setattr(nvjitlink, "create", lambda count, options: create(count, ["-arch=sm_999"]))
    with pytest.raises(RuntimeError, match=r"cannot link kernel move for compute capability 9\.0"):
        store.machine_code("move", TEXT, ARGUMENTS, (9, 0))


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        ({"driver": (13, 1)}, ""),  # the driver loads machine code of its generation
        ({"nvJitLink": (13, 7)}, ""),
        ({"nvJitLink": (13, 0)}, 'nvJitLink 13.0 may not .* 13.5: pip install "cuda-toolkit.nvvm,nvrtc.==13.0.*" "nv'),
        ({"NVRTC": (13, 4)}, "^NVRTC 13.4 may know other GPUs than NVVM 13.5: pip"),
        ({"driver": (12, 8)}, r'CUDA 12.8, does not load the code of nvJitLink 13.5: pip install -e "\.\[cuda12\]"'),
        ({"nvJitLink": None, "driver": (13, 1)}, "^without nvJitLink, the driver, for CUDA 13.1, may not read the PTX"),
        ({"NVRTC": None, "nvJitLink": None}, ""),
    ],
)
def test_versions_that_do_not_fit_each_other(found, advice):
    said = toolkit.advice({"NVVM": (13, 5), "NVRTC": (13, 5), "nvJitLink": (13, 5), **found})
    assert re.search(advice, said) if advice else not said


def test_a_libdevice_of_another_toolkit(monkeypatch):
    monkeypatch.setattr(toolkit, "_folders", lambda: (Path("/one/nvvm"), Path("/other/libdevice.10.bc")))
    advice = toolkit.advice({"NVVM": (13, 5)})
    assert advice.startswith("libdevice (/other/libdevice.10.bc) is not of NVVM's toolkit (/one/nvvm)")


def test_versions_of_this_machine_fit():
    found = toolkit.versions()
    assert found["NVVM"] == found["NVRTC"] is not None
    assert toolkit.advice(found) == ""
    assert toolkit.described(found).startswith(f"NVVM {found['NVVM'][0]}.{found['NVVM'][1]}, NVRTC ")


def test_a_gpu_that_is_too_old(compiled):
    with pytest.raises(RuntimeError, match=r"for compute capability \d\.\d and newer, but the GPU has 3\.5"):
        store.machine_code("move", TEXT, ARGUMENTS, (3, 5))


def test_code_is_made_where_nothing_can_be_written(compiled, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "file" / "directory"))
    assert store.machine_code("move", TEXT, ARGUMENTS, (9, 0))[1].startswith(b"\x7fELF")
