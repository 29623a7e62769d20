"""The guide to GPUs: its user kernel, and the features of the extra ``simulator``."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from environments import python_with

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "gpu.md").read_text(encoding="utf-8")


def run(*arguments):
    """Return the output of a Python that has only the package and the simulator."""
    given = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [python_with("simulator"), *arguments]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_kernel_of_ones_own(users_launches, capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
    (program,) = [block for block in blocks if "@cuda.jit" in block]
    exec(compile(program, "gpu.md", "exec"), {})
    promised = re.search(r"^print\(.*?\) +# (.*)$", program, re.M)[1]
    assert capsys.readouterr().out.strip() == promised


@pytest.mark.simulator
def test_a_network_learns_to_read_in_the_simulator():
    (command,) = re.findall(r"^NUMBA_ENABLE_CUDASIM=1 python (-m numgrad train digits .*)$", GUIDE, re.M)
    match = re.match(r"([\d.]+)% of 60 held-out digits read correctly", run(*shlex.split(command)))
    assert float(match[1]) > 85
