"""``python -m numgrad launch``: run a program in several processes, with MPI's launcher."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence


def launch(processes: int, mpiexec: str, program: str, arguments: Sequence[str], module: bool) -> bool:
    """Run a program, a file or with ``module`` a module, in several processes.

    On POSIX systems, MPI's launcher takes the place of this process, so it receives its signals, and its exit status is
    that of this process.

    Args:
        processes: their number.
        mpiexec: the launcher with its options; one that stands beside the Python interpreter is preferred.
        program, arguments: the program and its arguments.
        module: True if the program is the name of a module.

    Returns:
        True if the launcher ended with the status 0, on other systems.

    Raises:
        OSError: there is no such program, or no such launcher.
    """
    if not module:
        os.stat(program)
    name, *options = shlex.split(mpiexec)
    beside = os.path.dirname(sys.executable)
    launcher = shutil.which(name, path=os.pathsep.join([beside, os.environ.get("PATH", os.defpath)]))
    if launcher is None:
        raise FileNotFoundError(f"no program '{name}': install an MPI library, such as MPICH with 'pip install mpich'")
    command = [
        launcher, *options, "-n", str(processes), sys.executable, "-m", "numgrad.commands.launched",
        *["-m"] * module, program, *arguments,
    ]
    environment = {**os.environ, "WORLD_SIZE": str(processes)}
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(launcher, command, environment)
    return subprocess.call(command, env=environment) == 0
