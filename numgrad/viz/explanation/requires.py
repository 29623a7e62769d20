"""Why a tensor requires a gradient, or does not."""

from __future__ import annotations

from ...autograd.history import DETACHED, FOREIGN, GIVEN, UNRECORDED, origin_of
from ...core.tensor import Tensor
from .subject import Subject, described_best, on_the_same_memory


def text(subject: Subject) -> str:
    """The reason, as far as it is known."""
    tensor = subject.tensor
    if tensor.requires_grad:
        if subject.node is None and subject.trouble is None:
            if tensor._view is not None:
                made = tensor._view.made
                when = f"under {made}" if made is not None else "before that one did"
                return f"True, being a view of a tensor that does; but it was made {when}, so that gradients end here."
            return "True, so that backward adds to its grad."
        return "True, since it was computed from tensors that require gradients."
    return f"False. {_why_not(tensor)}"


def _why_not(tensor: Tensor) -> str:
    kind = tensor._layout.type.dtype
    if not kind.differentiable:
        return f"There are no derivatives of {kind.name}: only floating-point and complex tensors have some."
    if tensor.is_inference():
        return "It was made under inference_mode(), where nothing is ever recorded; clone() it to compute with it."
    if type(tensor).__name__ == "Parameter":  # numgrad.nn need not be loaded to find that out
        return "It is a parameter that is frozen: requires_grad_() has it learn again."
    base = tensor if tensor._view is None else tensor._root
    origin = getattr(base, "_origin", None)
    of = "It" if base is tensor else "It is a view of a tensor that"
    if origin == DETACHED:
        others = [other for other in on_the_same_memory(tensor) if other.requires_grad]
        of_what = f" of another tensor ({described_best(others)})" if others else ""
        return f"{of} was cut off the graph{of_what} by detach() or .data."
    if base is not tensor:
        return "It is a view of a tensor that requires none."
    maker = origin_of(tensor)
    if maker is not None:
        return f"It was made by '{maker.name}', {maker.reason}, here:\n{maker.location}"
    return f"{_ORIGINS[origin]} {'' if origin in (GIVEN, FOREIGN) else _WHO}".rstrip()


_WHO = "Under numgrad.autograd.detect_anomaly(check_forward=True) this says which operation made it."

_ORIGINS = {
    GIVEN: "Nobody has asked for one: requires_grad_() does, or requires_grad=True where it is made.",
    FOREIGN: "It lies on memory of NumPy's or another library, and nobody has asked for one with requires_grad_().",
    UNRECORDED: (
        "It was computed where nothing is recorded: under no_grad(), in the forward of a Function, or by backward()."
    ),
    None: (
        "It was computed from tensors that require none, such as integers, by what has no derivative, or by backward() "
        "without create_graph=True."
    ),
}
