"""NVIDIA's libraries that compile kernels, and whether their versions fit each other and the driver.

NVVM makes PTX with the functions of libdevice, NVRTC says for which GPUs, and nvJitLink makes machine code of the PTX.
Packages of different origins may install them in different versions: PyTorch, for one, brings a nvJitLink of its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cuda.bindings import nvjitlink, nvrtc
from cuda.pathfinder import load_nvidia_dynamic_lib
from llvmlite import ir
from numba.cuda.cudadrv import libs, nvvm

Version = tuple[int, int]


def versions() -> dict[str, Version | None]:
    """Return the version of the CUDA toolkit of each library; None if it cannot be loaded."""
    return {name: _try(find) for name, find in (("NVVM", _nvvm), ("NVRTC", _nvrtc), ("nvJitLink", _nvjitlink))}


def _try(find: Any) -> Any:
    try:
        return find()
    except (ImportError, OSError, RuntimeError):  # the library cannot be loaded
        return None


def _nvvm() -> Version:
    """Return NVVM's version, from the first comment of the PTX that it generates: NVVM has no function for it."""
    module = ir.Module()
    module.triple, module.data_layout = "nvptx64-nvidia-cuda", nvvm.NVVM().data_layout
    nvvm.add_ir_version(module)
    release = re.search(rb"release (\d+)\.(\d+)", nvvm.compile_ir(str(module)))
    if release is None:
        raise RuntimeError("PTX without the version of its compiler")
    return int(release[1]), int(release[2])


def _nvrtc() -> Version:
    _, major, minor = nvrtc.nvrtcVersion()
    return major, minor


def _nvjitlink() -> Version:
    major, minor = nvjitlink.version()
    return major, minor


def _folders() -> tuple[Path, Path]:
    """Return the folder of NVVM's toolkit, and the path of libdevice."""
    return Path(load_nvidia_dynamic_lib("nvvm").abs_path).parents[1], Path(libs.get_libdevice())


def disagreements(versions: dict[str, Version | None]) -> list[str]:
    """Return a sentence for each pair of versions with which kernels may fail, of libraries and of the ``driver``."""
    compiler, targets, linker = (versions.get(name) for name in ("NVVM", "NVRTC", "nvJitLink"))
    driver = versions.get("driver")
    result = []
    if compiler and targets and compiler != targets:
        result.append(f"NVRTC {_text(targets)} may know other GPUs than NVVM {_text(compiler)}")
    if compiler and linker and linker < compiler:
        result.append(f"nvJitLink {_text(linker)} may not read the PTX of NVVM {_text(compiler)}")
    if driver and linker and driver[0] < linker[0]:
        result.append(f"the driver, for CUDA {_text(driver)}, does not load the code of nvJitLink {_text(linker)}")
    if driver and compiler and not linker and driver < compiler:
        result.append(
            f"without nvJitLink, the driver, for CUDA {_text(driver)}, may not read the PTX of NVVM {_text(compiler)}"
        )
    folders = _try(_folders)
    if folders and not folders[1].is_relative_to(folders[0]):
        result.append(f"libdevice ({folders[1]}) is not of NVVM's toolkit ({folders[0]})")
    return result


def advice(versions: dict[str, Version | None]) -> str:
    """Return the disagreements and the command that installs what the oldest can use; "" if there are none."""
    reasons = disagreements(versions)
    if not reasons:
        return ""
    oldest = min(version for version in versions.values() if version)
    packages = '-e ".[cuda12]"'
    if oldest[0] > 12:
        packages = f'"cuda-toolkit[nvvm,nvrtc]=={_text(oldest)}.*" "nvidia-nvjitlink=={_text(oldest)}.*"'
    return f"{'; '.join(reasons)}: pip install {packages}"


def described(versions: dict[str, Version | None]) -> str:
    """Return the versions as text."""
    return ", ".join(f"{name} {_text(version) if version else 'not found'}" for name, version in versions.items())


def _text(version: Version) -> str:
    return ".".join(map(str, version))
