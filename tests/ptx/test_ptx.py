"""Every kernel for GPUs compiles, for compute capability 8.0 or 9.0, to code that keeps its variables in registers."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_every_kernel_compiles_to_what_it_should():
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, HERE / "compile_kernels.py"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 350
