"""``python -m numgrad cache``: the kernels stored on disk."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from numgrad.core.display import counted, number_of_bytes
from numgrad.devices import cache_directory

#: Files of a kernel: its machine code, its text, and the lock of a process that compiles it.
_NAME = re.compile(r"(\w+)_[0-9a-f]{24}(?:_again)?\.(bin|gpu|py|lock)")


def print_cache(clear: bool) -> None:
    """Print the directory of the kernels, their number and their size; with ``clear``, delete them.

    Raises:
        OSError: a file cannot be deleted.
    """
    print(_summary([file for _, file in _kernels()]))
    if clear:
        for file in cache_directory().glob("*.*"):
            if _NAME.fullmatch(file.name):
                file.unlink(missing_ok=True)
        print("deleted")


def list_kernels() -> None:
    """Print the kernels stored on disk by name: their number, their size and the age of the newest."""
    kernels: dict[str, list[Path]] = defaultdict(list)
    for name, file in _kernels():
        kernels[name].append(file)
    print(_summary([file for files in kernels.values() for file in files]))
    width = max(map(len, kernels), default=0)
    for name, files in sorted(kernels.items()):
        age = time.time() - max(file.stat().st_mtime for file in files)
        print(f"  {name:<{width}}  {len(files):>4}  {number_of_bytes(_size(files)):>10}  {_ago(age)}")


def _kernels() -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of each kernel."""
    for file in cache_directory().glob("*.*"):
        match = _NAME.fullmatch(file.name)
        if match and match[2] in ("bin", "gpu"):
            yield match[1] + " (GPU)" * (match[2] == "gpu"), file


def _summary(files: list[Path]) -> str:
    return f"{cache_directory()}: {counted(len(files), 'kernel')}, {number_of_bytes(_size(files))}"


def _size(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _ago(seconds: float) -> str:
    """Format an elapsed time in a suitable unit."""
    for length, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} ago"
    return "just now"
