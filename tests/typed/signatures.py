"""Generator of the op table's signatures for type checkers and editors: ``python tests/typed/signatures.py --write``.

``numgrad/ops/signatures.pyi`` has the functions and the methods that the table makes, with the declarations
of the arguments and the first paragraph of their docstrings.  The types of results are those of the samples.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin

sys.path.insert(0, str(Path(__file__).parents[1]))

import numgrad
from numgrad import Size, Tensor
from numgrad.ops.table.op import public_functions
from numgrad.ops.table.public_signatures import of_function

FILE = Path(numgrad.__file__).parent / "ops" / "signatures.pyi"

HEADER = '''\
"""The functions and methods that the op table makes, for type checkers and editors.

Written by ``python tests/typed/signatures.py --write``.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.types import Size
from ..core.types import dtype as _dtype
from ..tensors.tensor import Tensor

_Operand = Tensor | _complex | np.ndarray | np.generic
'''

#: Types as the file names them: some methods have the names of classes.
NAMES: dict[Any, str] = {
    Any: "Any", Tensor: "Tensor", types.NoneType: "None", Size: "Size",
    numgrad.dtype: "_dtype",
    Tensor | complex: "_Operand", bool: "_bool", int: "_int", float: "_float", complex: "_complex", str: "_str",
}


def type_text(annotation: Any) -> str:
    """A type as the file writes it; Any for one that it has no name for."""
    if annotation not in NAMES and get_origin(annotation) in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(type_text(part) for part in get_args(annotation)))
    if get_origin(annotation) is Sequence:
        return f"Sequence[{type_text(get_args(annotation)[0])}]"
    if get_origin(annotation) is tuple:
        return f"tuple[{', '.join('...' if part is ... else type_text(part) for part in get_args(annotation))}]"
    return NAMES.get(annotation, "Any")


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature with types, not with their names."""
    own = inspect.signature(function)
    annotations = [own.return_annotation, *[each.annotation for each in own.parameters.values()]]
    return of_function(function) if any(isinstance(each, str) for each in annotations) else own


def result_text(function: Callable[..., Any]) -> str:
    """Return the text of a function's result type; Any for one tensor or several, which no type checker could use."""
    result = signature(function).return_annotation
    if {Tensor, tuple[Tensor, ...]} <= {*get_args(result)}:
        return "Any"
    return type_text(Tensor if result is inspect.Signature.empty else result)


def parameters(name: str, function: Callable[..., Any]) -> list[str]:
    """The parameters of a function as the file writes them."""
    texts, starred = [], False
    for each in signature(function).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        text = "_Operand" if each.annotation is each.empty else type_text(each.annotation)
        stars = "*" * (each.kind is each.VAR_POSITIONAL)
        default = "" if each.default is each.empty else " = ..."
        texts.append(f"{stars}{each.name}: {text}{default}")
    return texts if name.startswith("__") else [*texts, "**keywords: Any"]  # NumPy's names of arguments


def declaration(name: str, function: Callable[..., Any], method: bool = False) -> Iterator[str]:
    """The lines about one function."""
    given = parameters(name, function)
    if method:
        given[:1] = ["self"]
    ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    yield f"def {name}({', '.join(given)}) -> {result_text(function)}:{ignored}"
    summary = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split()) or "..."
    quotes = "" if summary == "..." else '"""'
    yield from textwrap.wrap(f"{quotes}{summary}{quotes}", 112, initial_indent="    ", subsequent_indent="    ")


def attached() -> Iterator[tuple[str, Any]]:
    """Return the attributes of Tensor that the table and later packages define: functions and properties.

    Operators in place are left out: ``x += y`` is checked as ``x = x + y``.
    """
    for name, each in sorted(vars(Tensor).items()):
        function = each.fget if isinstance(each, property) else each
        home = function.__globals__["__name__"] if inspect.isfunction(function) else "numgrad.core"
        own = home.startswith(("numgrad.core", "numgrad.tensors"))
        if not own and not (name.startswith("__i") and hasattr(Tensor, f"__{name[3:]}")):
            yield name, each


def text() -> str:
    """The whole file."""
    lines = [HEADER, "", "class Methods:", '    """What the table attaches to Tensor."""', ""]
    for name, each in attached():
        if isinstance(each, property):
            lines += ["    @property", f"    def {name}(self) -> {result_text(each.fget)}: ...", ""]
        else:
            lines += [*(f"    {line}" for line in declaration(name, each, method=True)), ""]
    for name, each in sorted(public_functions.items(), key=lambda item: item[0]):
        lines += ["", *declaration(name, each), ""] if inspect.isfunction(each) else ["", f"{name}: Any", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file (else print it)")
    if parser.parse_args().write:
        FILE.write_text(text(), encoding="utf-8")
    else:
        print(text())
