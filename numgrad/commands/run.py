"""``python -m numgrad run``: run a program written for PyTorch with numgrad in PyTorch's place."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Sequence

from ..interop.in_place_of_torch import PROCESSES, install_as_torch, missing_names


def run(program: str, arguments: Sequence[str], module: bool) -> bool:
    """Run a program, a file or with ``module`` a module, and print the names that it missed.

    Returns:
        True if it ended without an exception.  An exception is printed as Python prints it.

    Raises:
        OSError, ImportError: there is no such file or module.
    """
    if not module:
        os.stat(program)
    elif importlib.util.find_spec(program.partition(".")[0]) is None:
        raise ModuleNotFoundError(f"No module named '{program}'")
    install_as_torch()
    sys.path.insert(0, PROCESSES)
    try:
        run_as_main([program, *arguments], module)
    except Exception:
        traceback.print_exc()
        return False
    finally:
        with contextlib.suppress(ValueError):  # the program may have removed it
            sys.path.remove(PROCESSES)
        missing = missing_names()
        if missing:
            print(f"numgrad lacks names that the program used: {', '.join(missing)}", file=sys.stderr)
    return True


def run_as_main(program: Sequence[str], module: bool = False) -> None:
    """Run a program, given by its name and arguments, as Python would run it from the command line."""
    name = program[0]
    sys.argv = list(program)
    sys.path.insert(0, os.getcwd() if module else os.path.dirname(os.path.abspath(name)))
    if module:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(name, run_name="__main__")
