"""What errors of backward say: at which node, and what became of the tensors that were saved for it."""

from __future__ import annotations

import re
from typing import Any

from .anomaly_mode import is_anomaly_enabled

__all__ = ["freed_error", "modified_error", "note_node", "operation_name"]


def operation_name(node: Any) -> str:
    """What a node is called in messages: ``Mul`` for ``MulBackward0``, ``Pow1`` for ``PowBackward1``."""
    return re.sub(r"Backward0?(\d*)$", r"\1", node.name())


def modified_error(node: Any, tensor: Any, version: int, is_output: bool) -> RuntimeError:
    """The error for a saved tensor that an in-place operation has changed."""
    kind = f"[{tensor._type.name} {list(tensor._shape)}]"
    edge = (node, 0) if is_output else tensor._edge
    if edge is not None:
        kind += f", which is output {edge[1]} of {operation_name(edge[0])},"
    if is_anomaly_enabled():
        hint = (
            "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
            "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{kind} is at version {tensor._counter[0]}; expected version {version} instead. {hint}"
    )


def freed_error() -> RuntimeError:
    """The error for a second backward through a graph whose saved tensors are gone."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have "
        "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
        "you need to access saved tensors after calling backward."
    )


#: Notes that an error gets on its way out of passes that are nested deeply.
NOTES = 10


def note_node(error: Exception, node: Any, gradient: Any) -> None:
    """Add to an error at which node it was raised; for passes inside one another the innermost comes first."""
    notes = getattr(error, "__notes__", ())
    note = f"Raised in backward at {node.name()}, given {_described(node, gradient)}."
    if len(notes) < NOTES and note not in notes:
        error.add_note(note)


def _described(node: Any, gradient: Any) -> str:
    if isinstance(gradient, list):
        shapes = ", ".join(["None" if g is None else str(list(g._shape)) for g in gradient])
        return f"gradients of the shapes {shapes}"
    return "no gradient" if gradient is None else f"a gradient of shape {list(node.shape)}"
