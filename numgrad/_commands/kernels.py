"""``python -m numgrad kernels``: the kernels of operations, or those that are kept on disk."""

from __future__ import annotations

import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from numgrad._inspect import inspect_example
from numgrad._inspect.examples import SIZE
from numgrad._quantities import counted, number_of_bytes
from numgrad._types import to_dtype
from numgrad.devices import cache_directory

__all__ = ["list_kernels", "print_kernels"]

_NAME = re.compile(r"(\w+)_[0-9a-f]{24}\.bin")


def print_kernels(names: Sequence[str], dtype: str = "float32", size: int = SIZE, sections: Sequence[str] = ()) -> bool:
    """Inspect the operations of these names on examples, and print it; return whether there was one of each name.

    Args:
        names: of operations.
        dtype: that of the examples' tensors.
        size: how many elements they have, about.
        sections: what to print beside the figures: see ``Inspection.text``.
    """
    found = True
    for number, name in enumerate(names):
        try:
            inspection = inspect_example(name, size, to_dtype(dtype))
        except (TypeError, ValueError) as error:
            print(f"python -m numgrad kernels: {error}", file=sys.stderr)
            found = False
        else:
            print("\n" * (number > 0) + inspection.text(*sections))
    return found


def list_kernels() -> None:
    """Print the kernels that are kept on disk, by name: how many there are, their size, how long ago the last was made.
    """
    directory = cache_directory()
    kernels: dict[str, list[Path]] = defaultdict(list)
    for name, file in _kept(directory):
        kernels[name].append(file)
    sizes = {name: sum(file.stat().st_size for file in files) for name, files in kernels.items()}
    total, number = sum(sizes.values()), sum(map(len, kernels.values()))
    print(f"{directory}: {counted(number, 'kernel')}, {number_of_bytes(total)}")
    width = max(map(len, kernels), default=0)
    for name, files in sorted(kernels.items()):
        age = time.time() - max(file.stat().st_mtime for file in files)
        print(f"  {name:<{width}}  {len(files):>4}  {number_of_bytes(sizes[name]):>10}  {_ago(age)}")


def _kept(directory: Path) -> Iterator[tuple[str, Path]]:
    """The name and the file of each kernel on disk."""
    for file in directory.glob("*.bin"):
        found = _NAME.fullmatch(file.name)
        if found:
            yield found[1], file


def _ago(seconds: float) -> str:
    """A time gone by, in the unit that suits it."""
    for length, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} ago"
    return "just now"
