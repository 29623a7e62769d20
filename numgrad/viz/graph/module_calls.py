"""The module call that recorded each node, and the calls that a picture shows as one box."""

from __future__ import annotations

import fnmatch
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...autograd.node import AccumulateGrad, Node
from ...nn.modules.hooks import calls_made
from ...nn.modules.module import Module


class ModuleCall(NamedTuple):
    """A call of a module.

    Attributes:
        key: the key of its group or box.
        name: the module's dotted name, empty for the outermost.
        module: the module.
        depth: the number of enclosing calls; 0 for the outermost module, at least 1 for its submodules.
        parent: the enclosing call.
    """

    key: str
    name: str
    module: Module
    depth: int
    parent: ModuleCall | None

    def path(self) -> list[ModuleCall]:
        """Return the calls from the outermost to this one."""
        calls = [self]
        while calls[-1].parent is not None:
            calls.append(calls[-1].parent)
        return calls[::-1]


def calls_of(nodes: Iterable[Node], module: Module) -> dict[int, ModuleCall]:
    """Return, for the number of each node, the innermost call of ``module`` or a submodule that recorded it.

    Calls are matched by numbers alone (see ``numgrad.nn.modules.hooks``): a node that another thread recorded during a
    call is attributed to that call, and calls too long ago are unknown.
    """
    names = {id(part): (name, part) for name, part in module.named_modules()}
    triples = sorted([(begun, ended, part) for part, begun, ended in calls_made.copy() if part in names])
    sequences = sorted([node.sequence for node in nodes])
    open_calls: list[tuple[int, ModuleCall]] = []  # each with the number at which it ended
    result: dict[int, ModuleCall] = {}
    for begun, ended, part in triples:
        while open_calls and open_calls[-1][0] < begun:
            open_calls.pop()
        name, called = names[part]
        parent = open_calls[-1][1] if open_calls else None
        depth = 0 if called is module else 1 if parent is None else parent.depth + 1
        call = ModuleCall(f"m{begun}", name, called, depth, parent)
        open_calls.append((ended, call))
        recorded = sequences[bisect_right(sequences, begun) : bisect_right(sequences, ended)]
        result.update(dict.fromkeys(recorded, call))  # replaces enclosing calls, which began before
    return result


#: The number of boxes beyond which calls of modules are folded automatically.
COMFORTABLE = 40

#: The ways to fold: "auto", the depth of calls, names of modules, or None.
Fold = str | int | Sequence[str] | None


def folded_calls(
    fold: Fold, module: Module | None, nodes: Sequence[Node], calls: Mapping[int, ModuleCall]
) -> dict[int, ModuleCall]:
    """Return, for the number of each node, the folded call that it is shown as: the one that recorded it, or an
    enclosing one.

    Raises:
        TypeError: ``fold`` has none of the valid forms.
        ValueError: ``fold`` is a negative depth or a name that matches no submodule, or there is no module.
    """
    if fold is None or fold is False:
        return {}
    if fold == "auto":
        return _automatic(nodes, calls)
    if module is None:
        raise ValueError(f"fold={fold!r} needs the module to fold by: draw(tensor, module, fold=...)")
    if isinstance(fold, int):
        if fold < 0:
            raise ValueError(f"fold must be a depth of at least 0, not {fold}")
        return _to_depth(int(fold), calls)
    patterns = [fold] if isinstance(fold, str) else list(fold) if isinstance(fold, Iterable) else [fold]
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise TypeError(f"fold must be 'auto', None, a depth, or names of modules, not {fold!r}")
    names = [name for name, _ in module.named_modules()]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            examples = ", ".join(name for name in names[1:6])
            raise ValueError(f"fold: {type(module).__name__} has no module '{pattern}'; it has {examples}, ...")
    return _outermost(calls, lambda call: any(fnmatch.fnmatch(call.name, pattern) for pattern in patterns))


def _outermost(calls: Mapping[int, ModuleCall], is_folded: Callable[[ModuleCall], bool]) -> dict[int, ModuleCall]:
    """Return, for the number of each node, the outermost folded call around it."""
    return {
        sequence: folded for sequence, call in calls.items()
        if (folded := next(filter(is_folded, call.path()), None)) is not None
    }


def _to_depth(depth: int, calls: Mapping[int, ModuleCall]) -> dict[int, ModuleCall]:
    """Fold the calls at this depth, and calls at smaller depths of modules that called no other module."""
    around = {each.parent.key for call in calls.values() for each in call.path() if each.parent is not None}
    return _outermost(calls, lambda call: call.depth >= depth or call.key not in around)


def _automatic(nodes: Sequence[Node], calls: Mapping[int, ModuleCall]) -> dict[int, ModuleCall]:
    """Fold nothing in a small graph; in a larger one, as little as makes it readable."""
    if not calls or len(nodes) <= COMFORTABLE:
        return {}
    operations = [node.sequence for node in nodes if not isinstance(node, AccumulateGrad)]
    for depth in range(max(call.depth for call in calls.values()), 0, -1):
        folded = _to_depth(depth, calls)
        shown = {folded[sequence].key if sequence in folded else sequence for sequence in operations}
        if len(shown) <= COMFORTABLE:
            return folded
    return _to_depth(1, calls)
