"""The pages of the reference: families of operations, Tensor, public modules, the command line."""

from __future__ import annotations

import argparse
import inspect
import types
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numgrad
from numgrad.__main__ import _parser
from numgrad.ops import ops, public_functions
from numgrad.ops.table.op import public_name

from .markup import Lines, heading, indented, literal, summary, table
from .operations import FOLDERS, families, family_page, function_entry


def public_modules() -> dict[str, types.ModuleType]:
    """Return the public modules: those that the ``__all__`` of another names, from ``numgrad`` on."""
    found: dict[str, types.ModuleType] = {}

    def visit(name: str, module: types.ModuleType) -> None:
        if module in found.values():
            return
        found[name] = module
        for each in module.__all__:
            value = getattr(module, each)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("numgrad"):
                visit(f"{name}.{each}", value)

    visit("numgrad", numgrad)
    for name in ("serialization", "testing"):  # public, but not exported by a star import
        visit(f"numgrad.{name}", getattr(numgrad, name))
    return dict(sorted(found.items()))


class Reference:
    """The pages of the reference.

    Attributes:
        documented: full names by the identity of the described function or class.
        pages: the text of each page by its name.
    """

    def __init__(self) -> None:
        self.documented: dict[int, str] = {}
        self.pages: dict[str, str] = {}

    def write(self, folder: Path) -> None:
        """Write the pages that differ from those that are there, and remove pages that no longer exist."""
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.rst"):
            if old.stem not in self.pages:
                old.unlink()
        for name, text in self.pages.items():
            path = folder / f"{name}.rst"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")

    def add(self, name: str, lines: Lines) -> str:
        """Add a page."""
        self.pages[name] = "\n".join(lines)
        return name

    def add_tables(self) -> None:
        """Add the pages of the families of operations, and of their folders."""
        internal = defaultdict(list)
        for key, op in ops.items():
            if public_name(key) not in public_functions:
                internal[op.function.__module__.removeprefix("numgrad.ops.")].append(op)
        for folder, modules in families().items():
            made = []
            names = dict.fromkeys([*modules, *[key.partition(".")[2] for key in internal if key.startswith(folder)]])
            for module in sorted(names):
                for name in modules[module]:
                    self.documented[id(public_functions[name])] = f"numgrad.{name}"
                title = module.replace("_", " ").capitalize()
                lines = family_page(title, modules[module], internal[f"{folder}.{module}"])
                made.append(self.add(f"ops.{folder}.{module}", lines))
            self.add(f"ops.{folder}", self._folder(FOLDERS[folder], modules, made))

    def add_tensor(self) -> None:
        """Add the page of Tensor: methods that are functions as well are listed, all others described."""
        names = [name for name in dir(numgrad.Tensor) if not name.startswith("_") and hasattr(numgrad.Tensor, name)]
        in_place = [name for name in names if name.endswith("_") and name[:-1] in names]
        functions = [name for name in names if name in public_functions and inspect.isfunction(public_functions[name])]
        others = [name for name in names if name not in in_place and name not in functions]
        self.documented[id(numgrad.Tensor)] = "numgrad.Tensor"
        self.add("numgrad.Tensor", self._tensor(sorted(others), sorted(functions), sorted(in_place)))

    def _tensor(self, others: list[str], functions: list[str], in_place: list[str]) -> Lines:
        yield from heading("Tensor")
        yield from (".. autoclass:: numgrad.Tensor", "")
        for name in others:
            value = inspect.getattr_static(numgrad.Tensor, name)
            kind = "automethod" if inspect.isroutine(value) else "autoattribute"
            yield from indented((f".. {kind}:: {name}", ""))
        yield from heading("Methods that are functions, too", "-")
        yield from ("The tensor is the first argument: ``x.sum(0)`` is ``numgrad.sum(x, 0)``.", "")
        yield from table(("Method", ""), (
            (f":py:func:`~numgrad.{name}`", summary(public_functions[name])) for name in functions
        ))
        yield from heading("Methods in place", "-")
        yield from ("Each overwrites the tensor with the result of the method without the underscore.", "")
        yield from (", ".join(map(literal, in_place)), "")

    def add_commands(self) -> None:
        """Add the page of the command line, from the texts of its ``--help``."""
        self.add("commands", self._commands())

    def _commands(self) -> Lines:
        parser = _parser()
        yield from heading("Command line")
        yield from ("``python -m numgrad`` and the script ``numgrad`` are the same program.", "")
        (commands,) = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        for name, each in commands.choices.items():
            yield from heading(name, "-")
            yield from (".. code-block:: text", "")
            yield from indented(each.format_help().splitlines())
            yield ""

    def _contents(self, title: str, pages: Iterable[str]) -> Lines:
        yield from heading(title)
        yield from (".. toctree::", "   :maxdepth: 1", "")
        yield from indented(pages)

    def _folder(self, title: str, modules: dict[str, list[str]], pages: Iterable[str]) -> Lines:
        yield from self._contents(title, pages)
        yield from table(("Family", "Functions"), (
            (module.replace("_", " ").capitalize(), ", ".join(f":py:func:`~numgrad.{name}`" for name in sorted(names)))
            for module, names in sorted(modules.items()) if names
        ))

    def add_modules(self) -> None:
        """Add a page for each public module, and one with the list of them."""
        made = []
        for full_name, module in public_modules().items():
            lines = list(self._module(full_name, module))
            if lines:
                made.append(self.add(full_name, iter(lines)))
        self.add("modules", self._contents("Modules", made))

    def _module(self, full_name: str, module: types.ModuleType) -> Lines:
        names = [name for name in dict.fromkeys(module.__all__) if name in vars(module) or hasattr(module, name)]
        described, same, constants, modules = [], [], [], []
        for name in names:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                modules.append(name)
            elif not (inspect.isroutine(value) or isinstance(value, type)):
                constants.append(name)
            elif id(value) in self.documented:
                same.append(name)
            else:
                self.documented[id(value)] = f"{full_name}.{name}"
                described.append(name)
        if not (described or constants or modules) and full_name != "numgrad.special":
            return
        yield from heading(full_name)
        yield from (f".. py:module:: {full_name}", "")
        yield from (inspect.getdoc(module) or "").splitlines()
        yield ""
        if described:
            kinds = {name: "class" if isinstance(getattr(module, name), type) else "func" for name in described}
            yield from table(("Name", ""), (
                (f":py:{kinds[name]}:`~{full_name}.{name}`", summary(getattr(module, name))) for name in described
            ))
        for name in described:
            if isinstance(getattr(module, name), type):
                yield from (f".. autoclass:: {full_name}.{name}", "   :members:", "")
            else:
                yield from function_entry(f"{full_name}.{name}", name, getattr(module, name))
        if constants:
            yield from heading("Values", "-")
            values = {name: literal(repr(getattr(module, name))) for name in constants}
            yield from table(("Name", "Value"), ((literal(name), value) for name, value in values.items()))
        if same and full_name != "numgrad":
            yield from heading("Names for what is described elsewhere", "-")
            yield from table(("Name", "Described as"), (
                (literal(name), self._link(getattr(module, name))) for name in same
            ))

    def _link(self, value: Any) -> str:
        return f":py:{'class' if isinstance(value, type) else 'func'}:`{self.documented[id(value)]}`"
