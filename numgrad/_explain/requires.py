"""Why a tensor requires a gradient, or does not."""

from __future__ import annotations

from .._tensor import Tensor
from ..autograd.origins import origin_of
from .subject import Subject, alive

__all__ = ["text"]


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
    kind = tensor._type.dtype
    if not kind.differentiable:
        return f"There are no derivatives of {kind.name}: only floating-point and complex tensors have some."
    if tensor.is_inference():
        return "It was made under inference_mode(), where nothing is ever recorded; clone() it to compute with it."
    if type(tensor).__name__ == "Parameter":  # numgrad.nn need not be loaded to find that out
        return "It is a parameter that is frozen: requires_grad_() has it learn again."
    view = tensor._view
    others = [other for other in _on_the_same_memory(tensor) if other.requires_grad]
    if others:
        origin = Subject(min(others, key=Tensor._is_view)).described()  # rather the base than a view of it
        return (
            f"It lies on the memory of another tensor, which requires one ({origin[2:]}): detach() or .data made it, "
            "which cut it off the graph."
        )
    if view is not None:
        return "It is a view of a tensor that requires none."
    maker = origin_of(tensor)
    if maker is not None:
        return f"It was made by '{maker.name}', {maker.reason}, here:\n{maker.place}"
    return (
        "Nobody has asked for one with requires_grad_(), or it was computed from tensors that require none, under "
        "no_grad(), or by detach(). Under numgrad.autograd.detect_anomaly(check_forward=True) this says which "
        "operation made it."
    )


def _on_the_same_memory(tensor: Tensor) -> list[Tensor]:
    """The other tensors on a tensor's memory."""
    memory = tensor._storage
    return [
        other for other in alive(Tensor) if other is not tensor and getattr(other, "_storage", None) is memory
    ]
