"""Indices that are arrays or masks, and arrays joined from others, as loops over elements."""

from __future__ import annotations

import ast

import numpy as np
from numba.core import types

from .elements import Elements, stored
from .source import Refused, expression, index_text, indices_of, is_none, name, statements, text

#: Functions that join arrays along an axis, which is None for the last argument.
JOINING: dict[str, int | None] = {
    "np.concat": None, "np.concatenate": None, "np.stack": None, "np.hstack": 1, "np.vstack": 0, "np.column_stack": 1,
}


#: An array, the first of the axes along which elements are picked, and the positions along each of these axes.
Picked = tuple[str, int, list[str]]


class Gathering(Elements):
    """Rewriter of the parts of array expressions that pick elements or join arrays."""

    def picked(self, node: ast.Subscript, before: list[ast.stmt]) -> Picked | None:
        """Return the array and the picked positions, if an array is among the indices of ``node``."""
        indices = indices_of(node)
        found = [number for number, each in enumerate(indices) if not isinstance(each, ast.Slice) and self.rank(each)]
        if not found:
            return None
        array = self._named(node.value, before)
        others = [each for each in indices if is_none(each) or text(each) == "..."]
        picking = [number for number, each in enumerate(indices) if not isinstance(each, ast.Slice)]
        apart = picking[-1] - picking[0] >= len(picking)  # then the picked axis would be the first one
        if any(self.rank(indices[number]) > 1 for number in found) or others or apart:
            raise Refused(f"the index of {text(node)} is not supported: use a loop")
        positions = [self._positions(indices[number], f"{array}.shape[{number}]", before) for number in found]
        before += [each for other in positions[1:] for each in statements(
            f"same_length({positions[0]}.shape[0], {other}.shape[0])"
        )]
        if len(indices) > len(found):
            for number in found:
                indices[number] = ast.Slice()
            rest = ast.Subscript(name(array), ast.Tuple(indices, ast.Load()), ast.Load())
            array = text(self._viewed(text(rest), array, self.rank(rest), before))
        return array, sum(isinstance(each, ast.Slice) for each in indices[: found[0]]), positions

    def _positions(self, index: ast.expr, length: str, before: list[ast.stmt]) -> str:
        """Return the name of an array of positions along an axis."""
        own = self._named(index, before)
        if not isinstance(self.kinds[own].dtype, types.Boolean):
            return own
        positions = self._new("positions", 1, "np.int64")
        before += statements(f"same_length({own}.shape[0], {length})\n{positions} = np.flatnonzero({own})")
        return positions

    def gathered(self, array: str, axis: int, positions: list[str], before: list[ast.stmt]) -> ast.expr:
        """Return a new array of the picked elements."""
        places, lengths, there = self._picking(array, axis, positions)
        new = self._new("gathered", len(places), str(self.kinds[array].dtype))
        before += statements(f"{new} = np.empty(({', '.join(lengths)},), {array}.dtype)")
        target = stored(expression(f"{new}[{', '.join(places)}]"))
        before += self._nest(places, lengths, [ast.Assign([target], expression(there))])
        return name(new)

    def scattered(
        self, array: str, axis: int, positions: list[str], value: ast.expr, done: list[ast.stmt]
    ) -> None:
        """Assign to the picked elements."""
        places, lengths, there = self._picking(array, axis, positions)
        if self.rank(value):  # all of it is computed first, since it may depend on the array
            new = self._new("array", len(places), str(self.kinds[array].dtype))
            done += statements(f"{new} = np.empty(({', '.join(lengths)},), {array}.dtype)")
            self._loops(new, value, done)
            value = expression(f"{new}[{', '.join(places)}]")
        elif not isinstance(value, (ast.Name, ast.Constant)):
            value = self._held(value, done)
        done += self._nest(places, lengths, [ast.Assign([stored(expression(there))], value)])

    def _picking(self, array: str, axis: int, positions: list[str]) -> tuple[list[str], list[str], str]:
        """Return counters for the picked elements, their bounds, and the source of the element at the counters."""
        rank = self.kinds[array].ndim - len(positions) + 1
        places = [self.names.fresh("ijklmn"[each]) for each in range(rank)]
        more = len(positions) - 1
        lengths = [f"{array}.shape[{each if each < axis else each + more}]" for each in range(rank)]
        lengths[axis] = f"{positions[0]}.shape[0]"
        there = [*places]
        there[axis : axis + 1] = [f"{each}[{places[axis]}]" for each in positions]
        return places, lengths, f"{array}[{', '.join(there)}]"

    def _held(self, value: ast.expr, done: list[ast.stmt]) -> ast.expr:
        held = self.names.fresh("held")
        done.append(ast.Assign([name(held, store=True)], value))
        return name(held)

    def joined(
        self, function: str, sequence: ast.expr, given: ast.expr | None, before: list[ast.stmt]
    ) -> ast.expr:
        """Return arrays joined along an axis, or a new axis."""
        if not isinstance(sequence, ast.Tuple) or not all(map(self.rank, sequence.elts)):
            raise Refused(f"{function} of {text(sequence)} is not supported: pass a tuple of arrays")
        arrays = [self._named(each, before) for each in sequence.elts]
        rank, axis = self.kinds[arrays[0]].ndim, JOINING[function]
        is_new = function == "np.stack" or (rank == 1 and function in ("np.vstack", "np.column_stack"))
        if axis is None or (function == "np.hstack" and rank == 1):
            axis = self.axis_of(given, rank + is_new) if given is not None else 0
        lengths = [f"{arrays[0]}.shape[{each}]" for each in range(rank)]
        along = [f"{each}.shape[{axis}]" for each in arrays]
        if is_new:
            lengths.insert(axis, str(len(arrays)))
        else:
            lengths[axis] = " + ".join(along)
        dtype = np.result_type(*[str(self.kinds[each].dtype).replace("bool", "bool_") for each in arrays])
        new = self._new("joined", len(lengths), f"np.{dtype}")
        before += statements(f"{new} = np.empty(({', '.join(lengths)},), np.{dtype})")
        for number, array in enumerate(arrays):
            start = " + ".join(along[:number]) or "0"
            index = [":"] * len(lengths)
            index[axis] = str(number) if is_new else f"{start}:{start} + {along[number]}"
            self._elements(stored(expression(f"{new}[{', '.join(index)}]")), name(array), before)  # type: ignore[arg-type]
        return name(new)

    def axis_of(self, axis: ast.expr, rank: int) -> int:
        """Return the number of an axis, counted from the first."""
        try:
            return range(rank)[ast.literal_eval(axis)]
        except (ValueError, IndexError, TypeError):
            raise Refused(f"the axis {text(axis)} must be a constant") from None

    def _elements(self, target: ast.Subscript, value: ast.expr, done: list[ast.stmt]) -> None:
        """Assign to the elements of a view, whose index needs no further statements."""
        array = target.value
        assert isinstance(array, ast.Name)
        if index_text(target) in (":", "..."):
            view, source = array.id, array.id
        else:
            source = f"{array.id}[{index_text(target)}]"
            view = text(self._viewed(source, array.id, self.rank(target), done))
        arrays = {each.id for each in ast.walk(value) if isinstance(each, ast.Name) and self.rank(each)}
        overlapping = [
            each for each in arrays
            if self.aliases.root(each) == self.aliases.root(view) and self._views.get(each, each) != source
        ]
        if overlapping:
            value = name(self._computed(value, done))
        elif not self.rank(value) and not isinstance(value, (ast.Name, ast.Constant)):
            value = self._held(value, done)
        self._loops(view, value, done)
