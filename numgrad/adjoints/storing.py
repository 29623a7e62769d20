"""Values that the reverse pass needs: some are stored before they are overwritten, others are computed again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .analysis import Analysis, bound_array, flag_of, target_of
from .buffers import Shapes
from .procedures import call_of
from .source import blocks, indices_of, names_in, text

#: For the statements of a block that compute a value again: the position of the statement after whose reversal they can
#: run, or the length of the block if they run before all reversals.
Places = dict[int, int]


class Storing:
    """Decisions for a program; ``uses`` are the keys that the adjoint of each simple statement reads.

    ``repeated`` are loops that the reverse pass runs again.
    """

    def __init__(
        self, facts: Analysis, uses: dict[int, set[str]], results: Iterable[str], shapes: Shapes,
        repeated: Sequence[ast.stmt] = (),
    ):
        self.facts, self.uses, self._shapes = facts, uses, shapes
        self._repeated = {id(each): facts.reads(each) for each in repeated}
        #: Keys whose values are kept when a loop begins, by the identity of the loop.
        self.before: dict[int, set[str]] = {}
        self.live = facts.live_after(results)
        #: Positions at which statements are executed again, by the identities of the statements.
        self.again: Places = {}
        self._find(facts.body, within=False)
        self._drop_what_is_not_needed()
        while True:
            count = len(self.again)
            #: Identities of the statements that store the value that they overwrite.
            self.stored: set[int] = set()
            self._nest: list[ast.For] = []
            self._overwritten: dict[int, set[str]] = {}
            self._store(facts.body, set())
            if len(self.again) == count:
                break

    def _find(self, block: list[ast.stmt], within: bool) -> None:
        for statement in block:
            for inner in blocks(statement):
                self._find(inner, within=True)
        if within:
            self._find_in(block)

    def _find_in(self, block: list[ast.stmt]) -> None:
        """Find the values that are used only in a block and can be computed again when it is reversed.

        The last statements come first, since a value can be computed only after its operands.
        """
        facts, live = self.facts, self.live[id(block)]
        reads = [facts.reads(statement) for statement in block]
        writes = [facts.writes(statement) for statement in block]
        needed_at: dict[str, int] = {}  # by the values found so far
        for position in range(len(block) - 1, -1, -1):
            statement = block[position]
            if not self._is_pure(statement):
                continue
            variable = statement.targets[0].id  # type: ignore[attr-defined]
            if variable in live or any(variable in each for each in reads[: position + 1]):
                continue
            if sum(variable in each for each in writes) > 1:
                continue
            if any(facts.writes(inner) & {variable} for inner in blocks(statement)):
                continue
            inputs = reads[position]
            needed_by = len(block)
            for later in range(position + 1, len(block)):
                if writes[later] & inputs:
                    needed_by = later
                    break
            last = max([at for at in range(position + 1, len(block)) if variable in reads[at]], default=position)
            if needed_by < len(block) and (last > needed_by or (last == needed_by and blocks(block[needed_by]))):
                continue
            if needed_at.get(variable, 0) > needed_by:
                continue
            self.again[id(statement)] = needed_by
            for each in inputs:
                needed_at[each] = max(needed_at.get(each, 0), needed_by)

    def _is_pure(self, statement: ast.stmt) -> bool:
        target = target_of(statement)
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            return False
        return not self.facts.is_binding(statement) or bound_array(statement.value) is not None

    def _drop_what_is_not_needed(self) -> None:
        """Remove the values that no adjoint reads from those that can be computed again."""
        repeated = {id(each): each for each in self.facts.statements if id(each) in self.again}
        while True:
            needed = set().union(*self.uses.values(), *self._repeated.values())
            more = {
                key: self.facts.reads(each) for key, each in repeated.items()
                if each.targets[0].id in needed  # type: ignore[attr-defined]
            }
            if all(reads <= self.uses[key] for key, reads in more.items()):
                break
            for key, reads in more.items():
                self.uses[key] = self.uses[key] | reads
        self.needed = needed

    def computes_again(self, statement: ast.stmt) -> bool:
        """Return True if the reverse pass executes the statement again."""
        return id(statement) in self.again and target_of(statement).id in self.needed  # type: ignore[union-attr]

    def _store(self, block: list[ast.stmt], before: set[str]) -> set[str]:
        """Return the keys whose values must still be kept after a block; ``before`` are those before it."""
        needed, private = before, set()
        for statement in block:
            uses = self.uses.get(id(statement), set())
            is_call = call_of(statement) is not None
            if not is_call:
                needed = needed | uses  # the adjoint reads the value before the statement
            nest = self._nest
            if isinstance(statement, ast.If):
                self._nest = []
                needed = self._store(statement.body, needed) | self._store(statement.orelse, needed)
            elif isinstance(statement, (ast.For, ast.While)):
                self.before[id(statement)] = needed
                self._nest = [*nest, statement] if isinstance(statement, ast.For) and not flag_of(statement) else []
                while True:
                    again = needed | self._store(statement.body, needed)
                    if again == needed:
                        break
                    needed = again
                overwritten, again = [each.get(id(statement), set()) for each in (self._overwritten, self._repeated)]
                needed = (needed - overwritten) | again
            elif (target := target_of(statement)) is not None:
                key = self.facts.key(target)
                if id(statement) in self.again and key in before:
                    del self.again[id(statement)]  # computing it again would overwrite a value from outside the block
                if id(statement) in self.again:
                    private.add(key)
                elif key in needed:
                    self.stored.add(id(statement))
                if isinstance(target, ast.Name) or (is_call and self._is_alone(text(target.value))):  # type: ignore[attr-defined]
                    needed = needed - {key}
                else:
                    self._overwrite(target)  # type: ignore[arg-type]
                needed = needed | uses if is_call else needed  # rules read ``out`` after the call
            self._nest = nest
        return needed - private

    # -- loops that overwrite all elements of an array

    def _overwrite(self, target: ast.Subscript) -> None:
        """Record it if the loops around an assignment to an element assign to every element of the array."""
        array, indices = text(target.value), indices_of(target)
        loops = self._nest[len(self._nest) - len(indices) :]
        lengths = tuple(self._shapes.length(each.iter.args[-1]) for each in loops if len(each.iter.args) == 1)  # type: ignore[attr-defined]
        by_counters = [text(each.target) for each in loops] == [text(each) for each in indices]
        is_whole = None not in lengths and lengths == self._shapes.of(array)
        if by_counters and is_whole and self._is_alone(array) and array not in names_in(loops[:1], ast.Store):
            self._overwritten.setdefault(id(loops[0]), set()).add(self.facts.contents(array))

    def _is_alone(self, array: str) -> bool:
        """Return True if no other name refers to the memory of an array."""
        root = self.facts.aliases.root(array)
        others = [each for each in self.facts.kinds if each != array and self.facts.is_array(each)]
        return all(self.facts.aliases.root(each) != root for each in others)

