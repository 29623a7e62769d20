"""Functions in forward mode: the tangents of the outputs are what the user's ``jvp`` makes of those of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checks import is_tensor
from .grad_mode import switch_back, thread_state
from .levels import Level, outside, set_tangent, tangent_of, with_duals
from .operations import operations

if TYPE_CHECKING:
    from .function import Function


class FunctionCall:
    """One call of a Function, as levels are handed it (see ``numgrad.ops.table.transforms``)."""

    target = None
    closed = False  # watchers and levels have to do with what forward calls, too
    context: Any  # the Function's, when it has run
    saved: tuple[Any, ...]
    constants: frozenset[int]  # the numbers of the outputs that have no derivative

    def __init__(self, function: type[Function], args: tuple[Any, ...]):
        self.function = function
        self.name = self.title = function.__name__
        self.args = args

    def run(self) -> Any:
        """Do it, as the levels that are left want it."""
        return self.function._call(self.args, self)

    def take_note(self, context: Any, output: Any) -> None:
        """Keep what ``jvp`` and its result are going to be judged by, of what ``forward`` left and returned."""
        self.context = context
        self.saved = context.saved_for_forward or ()
        marked = context.non_differentiable
        identities = set(map(id, marked)) if isinstance(marked, tuple) else set()
        outputs = output if isinstance(output, tuple) else (output,)
        self.constants = frozenset(
            number for number, value in enumerate(outputs) if not _differentiable(value) or id(value) in identities
        )

    def with_tangents(self, level: Level) -> Any:
        """Run forward, then ``jvp`` on the tangents of the inputs, for those of the outputs.

        Raises:
            RuntimeError: ``jvp`` does not return what it must.
        """
        tangents = [tangent_of(value, level) if is_tensor(value) else None for value in self.args]
        versions = [None if tangent is None else tangent._counter[0] for tangent in tangents]
        with outside(level):
            result = with_duals(operations.transformed, self)
            context = self.context
            outputs = result if isinstance(result, tuple) else (result,)
            given = self._materialized(tangents) if context.materialize_grads else tangents
            context.saved_for_forward = self.saved
            before = thread_state()
            try:
                found = self.function.jvp(context, *given)
            finally:
                switch_back(before)
                context.__dict__.pop("saved_for_forward", None)
        found = found if isinstance(found, tuple) else (found,)
        for number, tangent in enumerate(found):
            if tangent is not None and not is_tensor(tangent):
                raise RuntimeError(
                    f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}."
                )
        if len(found) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(found)}). (The function is {self.name}.)"
            )
        for number, (output, tangent) in enumerate(zip(outputs, found, strict=True)):
            if number not in self.constants:
                self._give(output, tangent, number, level, tangents, versions)
            elif tangent is not None and is_tensor(output):
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {number}, but the corresponding forward output is "
                    "not a differentiable Tensor.You should return None at that position instead. "
                    f"(The function is {self.name}.)"
                )
        return result

    def _materialized(self, tangents: list[Any]) -> list[Any]:
        """The tangents, and zeros for the differentiable tensors that have none."""
        return [
            operations.zeros(value._layout.shape, value._layout.type)
            if tangent is None and _differentiable(value)
            else tangent
            for value, tangent in zip(self.args, tangents, strict=True)
        ]

    def _give(
        self, output: Any, tangent: Any, number: int, level: Level, tangents: list[Any], versions: list[Any]
    ) -> None:
        """Give an output the tangent that ``jvp`` returned for it."""
        changed = [
            (own, version)
            for value, own, version in zip(self.args, tangents, versions, strict=True)
            if output is value
        ]
        for own, version in changed:
            if own is not None and (tangent is not own or own._counter[0] == version):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        if not changed:
            for value, own in zip(self.args, tangents, strict=True):
                if own is not None and output._storage is value._storage:
                    _check_view(tangent, own)
        if tangent is None:
            return
        if not _differentiable(tangent):
            raise RuntimeError(
                "Expected both tensor and its forward grad to be floating point or complex, but the tangent "
                f"{number} that the jvp of {self.name} returned is of {tangent.dtype}"
            )
        if tangent._layout.shape != output._layout.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(output.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )
        if not changed:
            set_tangent(output, level, tangent)
        elif changed[0][0] is None:
            operations.give_tangent(output, level, tangent)


def _differentiable(value: Any) -> bool:
    return is_tensor(value) and value._layout.type.dtype.differentiable


def _check_view(tangent: Any, own: Any) -> None:
    """Raise unless the tangent of an output that is a view of an input is a view of that input's tangent, ``own``.

    Raises:
        RuntimeError: it is not.
    """
    if tangent is None or tangent._view is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if tangent._root is not (own if own._view is None else own._root):
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the given grad input. "
            f"(It is of shape {list(tangent.shape)}.)"
        )
