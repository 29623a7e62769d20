"""Functions in forward mode: the tangents of the outputs are what the user's ``jvp`` makes of those of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checks import is_tensor
from .levels import Level, outside, set_tangent, tangent_of, with_duals
from .operations import operations

if TYPE_CHECKING:
    from .function import Function

__all__ = ["FunctionCall"]


class FunctionCall:
    """One call of a Function, as levels are handed it (see ``numgrad.ops.transforms``)."""

    target = None
    closed = False  # watchers and levels have to do with what forward calls, too
    context: Any  # the Function's, when it has run
    saved: tuple[Any, ...]

    def __init__(self, function: type[Function], args: tuple[Any, ...]):
        self.function = function
        self.name = self.title = function.__name__
        self.args = args

    def run(self) -> Any:
        """Do it, as the levels that are left want it."""
        result, self.context, self.saved = self.function._call(self.args)
        return result

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
            try:
                found = self.function.jvp(context, *given)
            finally:
                context.__dict__.pop("saved_for_forward", None)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(outputs):
            raise RuntimeError(
                f"{self.name}'s jvp returned an invalid number of forward gradients "
                f"(expected {len(outputs)} but got {len(found)})"
            )
        for number, (output, tangent) in enumerate(zip(outputs, found, strict=True)):
            if is_tensor(output) and output._type.dtype.differentiable:
                self._give(output, tangent, number, level, tangents, versions)
        return result

    def _materialized(self, tangents: list[Any]) -> list[Any]:
        """The tangents, and zeros for the tensors that have none."""
        return [
            operations.zeros(value._shape, value._type) if tangent is None and is_tensor(value) else tangent
            for value, tangent in zip(self.args, tangents, strict=True)
        ]

    def _give(
        self, output: Any, tangent: Any, number: int, level: Level, tangents: list[Any], versions: list[Any]
    ) -> None:
        """Give an output the tangent that ``jvp`` returned for it."""
        if tangent is None:
            return
        if not is_tensor(tangent):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}.")
        if tangent._shape != output._shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(output._shape)} while the given forward gradient is of size "
                f"{list(tangent._shape)}."
            )
        for value, own, version in zip(self.args, tangents, versions, strict=True):
            if output is value and own is not None:  # changed in place
                if tangent is not own or own._counter[0] == version:
                    raise RuntimeError(
                        "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
                        "forward is modifying an input inplace, then the jvp function must modify the corresponding "
                        "gradient inplace."
                    )
                return
        shares = any(is_tensor(value) and output._storage is value._storage for value in self.args)
        if shares and tangent._view is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                "view."
            )
        set_tangent(output, level, tangent)
