"""Merging of several pointwise programs into one, which runs all of them on each element in turn."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.np.numpy_support import from_dtype

from .buffer_types import BlockBufferType, BufferType
from .halves import WIDENING, passed
from .pointwise import Operand, PointwiseProgram, cast


@dataclass(frozen=True)
class MergedProgram(PointwiseProgram):
    """A program of statements.

    An array that it reads and writes is an input and an output of the same name.
    """

    statements: tuple[str, ...] = ()
    imports: frozenset[str] = frozenset()

    @functools.cached_property
    def variables(self) -> dict[str, str]:
        """The names of the inputs, by themselves: the text of the program uses the same names."""
        return {operand.name: operand.name for operand in self.inputs}

    @functools.cached_property
    def body(self) -> tuple[list[str], frozenset[str]]:
        return list(self.statements), self.imports

    @property
    def row_maker(self) -> str:
        return "block_row" if len(self.outputs) > 1 else super().row_maker

    def row_text(self, name: str, indices: str) -> str:
        if len(self.outputs) == 1:
            return super().row_text(name, indices)
        return f"block_row({name}, {indices}, {self._number(name)}, {len(self.outputs)})"

    def row_type(self, name: str, dtype: np.dtype) -> BufferType:
        if len(self.outputs) == 1:
            return super().row_type(name, dtype)
        return BlockBufferType(from_dtype(passed(dtype)), self._number(name), len(self.outputs))

    def _number(self, name: str) -> int:
        return self.written.index(name) if name in self.written else -1


@dataclass
class Merger:
    """Builder of a merged program; the caller identifies values by keys.

    Attributes:
        compute: the dtype in which all programs compute.
    """

    compute: np.dtype
    _inputs: dict[Any, Operand] = field(default_factory=dict)
    _values: dict[Any, tuple[str, np.dtype]] = field(default_factory=dict)  # the variable of each value, and its dtype
    _statements: list[str] = field(default_factory=list)
    _imports: set[str] = field(default_factory=set)
    _count: int = 0

    def add(self, program: PointwiseProgram, sources: Sequence[tuple[Any, bool]], targets: Sequence[Any]) -> None:
        """Add a program.

        Args:
            sources: for each argument of the program, the key of an array, of a number, or of a value that an earlier
                program computes; and True if it is a number.
            targets: the keys of the values that it computes.
        """
        names = {}
        prefix = f"v{self._count}_"
        self._count += 1
        for argument, (key, is_number) in zip(program.arguments, sources, strict=True):
            variable = f"{program.variables[argument.name]}_i"
            names[variable] = self._read(argument, key, is_number, prefix + variable)
        statements, imports = program.body
        self._imports |= imports
        outputs = dict(zip(program.written, targets, strict=True))
        results = {}
        for statement in statements:
            target, _, expression = statement.partition(" = ")
            value = _renamed(expression, names)
            variable = target.removesuffix("[@]")
            if variable == target:
                names[variable] = prefix + variable
            else:
                dtype = dict(program.outputs)[variable]
                results[outputs[variable]] = prefix + variable, dtype
                if dtype.kind == "f" and dtype not in WIDENING:
                    self._imports.add("rounded")
                    value = f"rounded({value})"
            self._statements.append(f"{prefix}{variable} = {value}")
        self._values |= results

    def _read(self, argument: Operand, key: Any, is_number: bool, name: str) -> str:
        """Return the variable of an argument, converted."""
        value, dtype = self._values.get(key, ("", argument.dtype))
        if not value:
            new = Operand(f"{'c' if is_number else 'a'}{len(self._inputs)}", dtype, is_number, cast=False)
            value = f"{self._inputs.setdefault(key, new).name}_i"
        assert dtype is not None
        if not argument.cast or dtype == self.compute:
            return value
        self._statements.append(f"{name} = {cast(Operand('', dtype), value, self.compute)}")
        return name

    def program(self, name: str, outputs: Sequence[Any]) -> tuple[MergedProgram, list[Any]]:
        """Return the program that writes these values, and the keys of its parameters.

        An output whose key is that of an array is written there.
        """
        written: list[tuple[str, np.dtype]] = []
        statements = list(self._statements)
        keys = list(self._inputs)
        for key in outputs:
            value, dtype = self._values[key]
            if key in self._inputs:
                target = self._inputs[key].name
            else:
                target = f"r{len(written)}"
                keys.append(key)
            written.append((target, dtype))
            statements.append(f"{target}[@] = {value}")
        merged = MergedProgram(
            name, self.compute, tuple(self._inputs.values()), tuple(written), (), statements=tuple(statements),
            imports=frozenset(self._imports),
        )
        return merged, keys


def _renamed(expression: str, names: dict[str, str]) -> str:
    tree = ast.parse(expression, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(tree)
