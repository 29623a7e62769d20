"""The command line, ``python -m numgrad``: ``run``, ``launch``, ``train``, ``ops``, ``kernels`` and others."""

from __future__ import annotations

import argparse
import importlib
import io
import math
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from . import __version__
from .core.display import SUBSTITUTE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got '{text}'")
    return int(text)


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a positive number, got '{text}'")
    return value


def _seed(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an integer, got '{text}'") from None
    if not -(2**63) <= value < 2**64:
        raise argparse.ArgumentTypeError(f"expected an integer in [-2**63, 2**64), got '{text}'")
    return value


#: For each command, the module of ``numgrad.commands``, imported on demand, and its function, which takes the options
#: and returns False if something was not found.
_COMMANDS = {
    "info": "info.print_info", "cache": "cache.print_cache", "ops": "ops.print_ops", "kernels": "kernels.print_kernels",
    "run": "run.run", "launch": "launch.launch", "train": "train.train_digits", "score": "train.score_digits",
    "warm": "warm.warm",
}

#: Sections of ``kernels``; the first two are the default.
_SECTIONS = {
    "python": "the Python text (the default, with --loop)",
    "loop": "the main loop of the machine code",
    "llvm": "LLVM's code of the function with that loop",
    "assembly": "the machine code of that function",
    "cuda": "the Python text of the kernels for NVIDIA's GPUs (needs the extra 'cuda')",
    "ptx": "their assembly (likewise)",
}


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m numgrad", description="Try numgrad out, or describe its installation.")
    parser.add_argument("--version", action="version", version=f"numgrad {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.add_parser("info", help="print what a bug report should contain")
    cache = commands.add_parser("cache", help="print where compiled kernels are kept, and their size")
    cache.add_argument("--clear", action="store_true", help="delete them")
    table = commands.add_parser("ops", help="print the operations: signature, derivatives, differences from PyTorch")
    table.add_argument("names", nargs="*", metavar="name", help="print these only, such as tanh or Tensor.add_")
    kernels = commands.add_parser("kernels", help="show the kernels of operations, down to their machine code")
    kernels.add_argument(
        "names", nargs="*", metavar="operation", help="such as tanh or linalg.solve; none: list the kernels on disk"
    )
    kernels.add_argument("--dtype", default="float32", help="dtype of the example's tensors (default: float32)")
    kernels.add_argument("--size", type=_count, default=1_000_000, help="elements of each of them (default: 1000000)")
    for section, text in _SECTIONS.items():
        kernels.add_argument(f"--{section}", action="append_const", dest="sections", const=section, help=f"show {text}")
    kernels.set_defaults(sections=[])
    run = commands.add_parser("run", help="run a program that says 'import torch' with numgrad in PyTorch's place")
    run.add_argument("-m", dest="module", action="store_true", help="the program is the name of a module")
    run.add_argument("program", help="its file")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    launch = commands.add_parser("launch", help="run a program in several processes, which communicate by MPI")
    launch.add_argument("--processes", "-n", type=_count, required=True, help="their number")
    launch.add_argument(
        "--mpiexec", default="mpiexec", metavar="COMMAND",
        help="MPI's launcher with its options, such as 'mpiexec -hosts a,b' (default: mpiexec)",
    )
    launch.add_argument("-m", dest="module", action="store_true", help="the program is the name of a module")
    launch.add_argument("program", help="its file")
    launch.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    train = commands.add_parser(
        "train", help="train a small network on data that comes with numgrad",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    train.add_argument("data", choices=["digits"], help="the data: 'digits', 1797 handwritten digits")
    train.add_argument(
        "--model", choices=["mlp", "cnn"], default="mlp", help="a hidden layer, or two convolutions before it"
    )
    train.add_argument("--digits", type=_count, help="use only so many of them, four fifths of these for training")
    train.add_argument("--epochs", type=_count, default=20, help="passes over the training digits")
    train.add_argument("--batch-size", type=_count, default=32, help="digits per step")
    train.add_argument("--lr", type=_rate, default=0.005, help="learning rate")
    train.add_argument("--seed", type=_seed, default=0, help="seed of all that is random")
    train.add_argument("--seeds", type=_count, default=1, help="train once for each of so many seeds from --seed on")
    train.add_argument("--hidden", type=_count, default=128, help="units in the hidden layer")
    train.add_argument("--device", default="cpu", help="where to compute")
    train.add_argument("--save", metavar="FILE", help="write the trained model to this file")
    train.add_argument("--plot", metavar="FILE", help="draw losses and accuracies (.png, .svg, .pdf; needs matplotlib)")
    score = commands.add_parser("score", help="test a model that 'train --save' wrote")
    score.add_argument("data", choices=["digits"], help="the data that it was trained on")
    score.add_argument("file", help="the file with the model")
    score.add_argument("--device", default="cpu", help="where to compute")
    warm = commands.add_parser("warm", help="compile kernels ahead of time")
    warm.add_argument("--common", action="store_true", help="those of usual networks, in float32 and float64")
    warm.add_argument("program", nargs=argparse.REMAINDER, help="those of a program, which is run with its arguments")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given by ``arguments``, by default those of the process, and return the exit status."""
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    command = options.pop("command")
    if command is None:
        parser.print_help()
        return 0
    options.pop("data", None)  # always "digits"
    module, function = _COMMANDS[command].split(".")
    runs_the_users = command in ("run", "launch", "warm")
    if not runs_the_users and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=SUBSTITUTE)
    try:
        found_all = getattr(importlib.import_module(f"numgrad.commands.{module}"), function)(**options)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ImportError, OSError, RuntimeError, MemoryError) as error:
        what = "out of memory: " if isinstance(error, MemoryError) else ""
        print(f"python -m numgrad {command}: error: {what}{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 1 if found_all is False else 0


if __name__ == "__main__":
    sys.exit(main())
