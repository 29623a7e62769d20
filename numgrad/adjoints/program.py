"""Compiled derivatives of one function for arguments of certain types."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numba import typeof
from numba.core import types

from .checkpoints import Checkpoint, Checkpointed
from .derivatives import derivative
from .forward import Forward, TangentSource
from .inference import infer, is_array
from .kept import dispatcher
from .normal import NormalForm, normal_form
from .reverse import Adjoint, Reverse
from .source import compiled, definition
from .support import DifferentLengths

_TAPES = (np.float64, np.int64, np.uint8)
#: Largest number of bytes of tapes that are kept for the next call, since new memory costs time.
_KEPT = 1 << 24

#: Number of sizes at the end of an adjoint's results: the lengths of its tapes, and the bytes of the arrays it keeps.
COUNTS = len(_TAPES) + 1


class DerivativeProgram:
    """Derivatives of a function by the parameters ``by``; ``same`` are pairs of parameters for the same array."""

    def __init__(
        self, function: Any, argument_types: Sequence[types.Type], callables: dict[str, Any], by: Sequence[str],
        same: Sequence[tuple[str, str]], checkpoint: Checkpoint = None,
    ):
        self._checkpoint = checkpoint
        self.types, self.by, self.same = list(argument_types), list(by), list(same)
        code = function.__code__
        self.parameters = [each for each in code.co_varnames[: code.co_argcount] if each not in callables]
        self._build: Callable[[], NormalForm] = lambda: normal_form(
            function, self.types, callables, self._broadcasts, derivative
        )
        self._broadcasts = False
        self._generate()
        #: Parameters of the function whose elements it writes.
        self.written = [self.normal.parameters.index(each) for each in self.adjoint.written]
        #: For each result, True if it has a derivative.
        self.has_derivative = [each in self.adjoint.seeds for each in self.normal.results]
        self._sizes = [64, 16, 64]
        self._free: list[list[Any]] = []

    def _generate(self) -> None:
        """Generate the adjoint."""
        self._form = self._build()
        self.normal = self._form.copy()
        self.adjoint: Adjoint = self._reverse_of(self.normal).adjoint()
        for each in ("_reverse", "_forward", "_second"):
            vars(self).pop(each, None)

    def _generated(self, *names: str) -> list[str]:
        """Return the names that parameters have in generated code."""
        return [self.normal.parameters[self.parameters.index(each)] for each in names]

    def _same(self) -> list[tuple[str, str]]:
        return [tuple(self._generated(*pair)) for pair in self.same]  # type: ignore[misc]

    def _called(self, call: Callable[[], Any]) -> Any:
        """Return what ``call`` returns; if it broadcasts axes of length one, generate derivatives that can, first."""
        broadcasts = self._broadcasts
        try:
            return call()
        except DifferentLengths:
            if broadcasts:
                raise
        self._broadcasts = True
        self._generate()
        return call()

    # -- reverse mode

    def _reverse_of(self, normal: NormalForm) -> Reverse:
        by = self._generated(*self.by)
        if self._checkpoint is None:
            return Reverse(normal, by, self._same())
        return Checkpointed(normal, by, self._same(), self._checkpoint)

    @cached_property
    def _reverse(self) -> Callable[..., Any]:
        return dispatcher(self.adjoint.source, self.adjoint.name, self.normal.namespace)

    def _copies(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the arguments with copies of the arrays that the function writes; the same array stays the same."""
        copies = list(arguments)
        for position in self.written:
            copies[position] = arguments[position].copy()
        for first, second in self.same:
            copies[self.parameters.index(second)] = copies[self.parameters.index(first)]
        return copies

    def _shadows(self, arguments: Sequence[Any], of_written: dict[int, Any] | None) -> list[Any]:
        arrays: dict[int, Any] = {}
        for each in self.adjoint.shadows:
            position = self.normal.parameters.index(each)
            initial = None if of_written is None else of_written.get(position)
            arrays[position] = np.zeros_like(arguments[position]) if initial is None else np.array(initial)
        for first, second in self.same:
            if self.parameters.index(first) in arrays:
                arrays[self.parameters.index(second)] = arrays[self.parameters.index(first)]
        return [arrays[self.normal.parameters.index(each)] for each in self.adjoint.shadows]

    def _run(self, call: Callable[[list[Any]], tuple[Any, list[int]]]) -> Any:
        """Call a function with tapes; if they are too small, call it again with larger ones."""
        while True:
            try:
                tapes = self._free.pop()
            except IndexError:  # none yet, or another thread uses them
                tapes = []
            if [tape.size for tape in tapes] != self._sizes:
                tapes = [np.empty(size, dtype) for size, dtype in zip(self._sizes, _TAPES, strict=True)]
            result, used = self._called(functools.partial(call, tapes))
            if all(need <= size for need, size in zip(used, self._sizes, strict=False)):
                if sum(tape.nbytes for tape in tapes) <= _KEPT:
                    self._free[:] = [tapes]
                return result
            self._sizes = [max(pair) for pair in zip(used, self._sizes, strict=False)]

    def gradients(self, arguments: Sequence[Any], seeds: Sequence[Any], of_written: dict[int, Any]) -> list[Any]:
        """Return the derivative by each of ``by``.

        ``seeds`` are the cotangents of the results that have a derivative, ``of_written`` those of the arguments that
        the function writes, by position.
        """

        def call(tapes: list[Any]) -> tuple[Any, list[int]]:
            shadows = self._shadows(arguments, of_written)
            out = self._reverse(*self._copies(arguments), *shadows, *seeds, *tapes)
            return self._by_parameter(shadows, out), out[-COUNTS:]

        return self._run(call)

    def _by_parameter(self, shadows: Sequence[Any], out: Sequence[Any]) -> list[Any]:
        derivatives = dict(zip(self.adjoint.shadows, shadows, strict=True))
        scalars = self.adjoint.scalars
        derivatives.update(zip(scalars, out[len(out) - COUNTS - len(scalars) : len(out) - COUNTS], strict=True))
        seen: set[int] = set()
        gradients = []
        for each in self._generated(*self.by):  # if an array is passed twice, its first parameter has the derivative
            value = derivatives.get(each)
            gradients.append(None if value is None or id(value) in seen else value)
            if isinstance(value, np.ndarray):
                seen.add(id(value))
        return gradients

    def tape_bytes(self, arguments: Sequence[Any]) -> int:
        """Return the number of bytes of the tapes, and of the arrays kept in lists, for these arguments."""
        def call(tapes: list[Any]) -> tuple[Any, list[int]]:
            seeds = self._no_seeds()
            used = self._reverse(*self._copies(arguments), *self._shadows(arguments, None), *seeds, *tapes)[-COUNTS:]
            return used, used

        *used, kept = self._run(call)
        return kept + sum(count * np.dtype(each).itemsize for count, each in zip(used, _TAPES, strict=True))

    def _no_seeds(self) -> list[Any]:
        return [
            np.zeros((0,) * kind.ndim, str(kind.dtype)) if is_array(kind) else 0.0
            for kind in (self.normal.kinds[each] for each in self.adjoint.seeds)
        ]

    # -- forward mode

    def _tangents_for(
        self, normal: NormalForm, tree: ast.FunctionDef, kinds: dict[str, Any], by: list[str]
    ) -> TangentSource:
        return Forward(tree, kinds, by, normal.names, self._same(), derivatives=normal.derivatives).generate()

    @cached_property
    def _forward(self) -> tuple[Callable[..., Any], list[str]]:
        normal = self._form.copy()
        generated = self._tangents_for(normal, normal.tree(), normal.kinds, self._generated(*self.by))
        return dispatcher(generated.source, generated.name, normal.namespace), generated.inputs

    def tangents(self, arguments: Sequence[Any], tangents: dict[str, Any]) -> tuple[tuple[Any, ...], dict[int, Any]]:
        """Return the tangents of the results and those of the arguments that are written, by position."""

        def call() -> Any:
            function, inputs = self._forward
            parameters = self.normal.parameters
            moved = self._tangents_of(dict(zip(parameters, arguments, strict=True)), inputs, tangents)
            _, out = function(*self._copies(arguments), *moved.values())
            return out, {place: moved[parameters[place]] for place in self.written if parameters[place] in moved}

        return self._called(call)

    def _tangents_of(self, values: dict[str, Any], inputs: list[str], tangents: dict[str, Any]) -> dict[str, Any]:
        tangents = dict(zip(self._generated(*tangents), tangents.values(), strict=True))
        result: dict[str, Any] = {}
        for each in inputs:
            value, tangent = values[each], tangents.get(each)
            if isinstance(value, np.ndarray):
                result[each] = np.zeros_like(value) if tangent is None else np.array(tangent, value.dtype)
            else:
                result[each] = 0.0 if tangent is None else float(tangent)
        for first, second in self._same():
            if first in result and second in result:
                if tangents.get(second) is not None:
                    result[first] += tangents[second]
                result[second] = result[first]
        return result

    # -- forward over reverse

    @cached_property
    def _second(self) -> tuple[Callable[..., Any], list[str], list[str]]:
        normal = self._form.copy()
        adjoint = self._reverse_of(normal).adjoint()
        python = compiled(adjoint.source, adjoint.name, normal.namespace)
        shadow_types = [normal.kinds[each] for each in adjoint.shadows]
        seed_types = [normal.kinds[each] for each in adjoint.seeds]
        seed_types = [types.Array(each.dtype, each.ndim, "C") if is_array(each) else each for each in seed_types]
        kinds = infer(python, [*self.types, *map(_shadow_type, shadow_types), *seed_types, *map(_tape_type, _TAPES)])
        kinds.update({name: typeof(value) for name, value in normal.namespace.items() if isinstance(value, np.ndarray)})
        parameters = python.__code__.co_varnames[: python.__code__.co_argcount]
        count = len(self.parameters) + len(shadow_types) + len(seed_types)
        by = [*self._generated(*self.by), *parameters[len(self.parameters) : count]]
        generated = self._tangents_for(normal, definition(adjoint.source), kinds, by)
        function = dispatcher(generated.source, generated.name, normal.namespace)
        return function, [*parameters], generated.inputs

    def second(
        self, arguments: Sequence[Any], tangents: dict[str, Any], seeds: Sequence[Any], of_written: dict[int, Any],
    ) -> list[Any]:
        """Return the derivatives of the ``gradients`` in the direction ``tangents`` of the arguments."""
        count = len(self.parameters)

        def call(tapes: list[Any]) -> tuple[Any, list[int]]:
            function, parameters, inputs = self._second
            shadows = self._shadows(arguments, of_written)
            operands = [*self._copies(arguments), *shadows, *seeds, *tapes]
            values = dict(zip(parameters, operands, strict=True))
            moved = self._tangents_of(values, inputs, tangents)
            (*out,), (*out_tangents,) = function(*operands, *moved.values())
            of_shadows = [moved[each] for each in parameters[count : count + len(shadows)]]
            return self._by_parameter(of_shadows, [*out_tangents[:-COUNTS], *out[-COUNTS:]]), out[-COUNTS:]

        return self._run(call)


def _shadow_type(kind: types.Array) -> types.Array:
    return types.Array(kind.dtype, kind.ndim, "C")


def _tape_type(dtype: Any) -> types.Array:
    return types.Array(typeof(dtype(0)), 1, "C")
