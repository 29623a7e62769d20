"""The kernels of products for GPUs as a GPU gets them: their PTX."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from numba.core import types
from numba.np.numpy_support import from_dtype

from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.products import AREA, DEPTH, SIDE, THREADS, TILE, products, row_products
from numgrad_kernels.source import module_text

whole, truth = types.int64, types.boolean


def ptx(function, dtype, *arguments):
    kind = np.dtype(dtype)
    row = adapter.pointer_type(from_dtype(kind))
    return adapter.compile_ptx(
        function.__name__, module_text(function, kind), [row if each is None else each for each in arguments]
    )


def tiled(dtype):
    return ptx(products, dtype, *[whole] * 3, None, *[whole] * 3, None, *[whole] * 3, None, truth, None)


def test_the_constants_fit_each_other():
    assert (SIDE * SIDE, TILE, AREA) == (THREADS, 4 * SIDE, DEPTH * (TILE + 1))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8"])
def test_a_tile_is_kept_in_registers(dtype, tmp_path):
    code = tiled(dtype)
    assert ".local" not in code
    if dtype == "float32":
        assert ".f64" not in code
        assert len(re.findall(r"fma\.rn\.f32", code)) >= 16
    if not shutil.which("ptxas"):
        return
    file = tmp_path / "products.ptx"
    file.write_text(re.sub(r"^\.version .*", ".version 8.4", code, flags=re.MULTILINE))
    command = ["ptxas", "-v", "-arch=sm_90", str(file), "-o", str(tmp_path / "products.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr


def test_rows_are_summed_as_what_they_are():
    code = ptx(row_products, "float32", None, whole, whole, None, *[whole] * 4, None)
    assert not re.search(r"\.f64|\.local", code)
