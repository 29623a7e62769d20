"""One of the processes of ``python -m numgrad launch``: runs the program, and ends all processes if it fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..distributed.mpi import mpi
from ..distributed.processes import abort_on_errors, end_all, number_processes
from .run import run_as_main


def main(arguments: Sequence[str]) -> None:
    """Run the program that the arguments name; ``-m`` before it says that it is a module."""
    module = arguments[0] == "-m"
    try:
        abort_on_errors()
        number_processes(mpi().COMM_WORLD)
    except (ImportError, RuntimeError, ValueError) as error:
        # in one piece, so that the messages of ranks do not mix
        sys.stderr.write(f"python -m numgrad launch: error: {error}\n")
        sys.exit(1)
    try:
        run_as_main(arguments[module:], module)
    except SystemExit as exit:
        if exit.code and mpi().COMM_WORLD.Get_size() > 1:
            if isinstance(exit.code, int):
                end_all(exit.code)
            print(exit.code, file=sys.stderr)
            end_all(1)
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
