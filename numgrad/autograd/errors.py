"""Errors of backward, which name the node and the calls that modified or freed its saved tensors."""

from __future__ import annotations

from typing import Any

from .grad_mode import ANOMALY, state
from .locations import Location, changes_since


def operation_name(node: Any) -> str:
    """Return a node's name in messages: ``Mul`` for ``MulBackward0``, ``Pow1`` for ``PowBackward1``."""
    return node.name() if node.op_name is None else node.op_name + node.overload.removeprefix("0")


def modified_error(node: Any, tensor: Any, version: int, is_output: bool) -> RuntimeError:
    """Return the error for a tensor saved by ``node`` that an in-place operation has modified.

    PyTorch's message is followed by the name of the node and, if recorded in anomaly mode, by the call that saved the
    tensor and those that modified it.
    """
    description = f"[{tensor._layout.type.name} {list(tensor.shape)}]"
    edge = (node, 0) if is_output else tensor._edge
    if edge is not None:
        description += f", which is output {edge[1]} of {operation_name(edge[0])},"
    if state.mode & ANOMALY:
        hint = (
            "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
            "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    location = recorded_at(node)
    saved = f"{node.name()} saved it at version {version}" + (f", recorded here:\n{location}" if location else ".")
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{description} is at version {tensor._counter[0]}; expected version {version} instead. {hint}\n"
        f"{saved}\n{_changed_by(node, tensor, version)}"
    )


def _changed_by(node: Any, tensor: Any, version: int) -> str:
    """Return a sentence that names the call that modified a tensor, or explains how to find it."""
    locations = list(changes_since(tensor, version).values())
    if not locations:
        if recorded_at(node) is not None:
            return "It was changed outside of anomaly mode, so the place is not known."
        return (
            "Run the program, forward and backward, under numgrad.autograd.detect_anomaly() to see here which lines "
            "saved and changed it."
        )
    others = len(locations) - 1
    more = f"\nand {others} {'time' if others == 1 else 'times'} after that" if others else ""
    return f"It was changed in place here:\n{locations[0]}{more}"


def recorded_at(node: Any) -> Location | None:
    """Return the call of the operation that a node represents, if anomaly mode was on at that time."""
    return None if node.attached is None else node.attached.location


def freed_error(node: Any, freed_by: Any) -> RuntimeError:
    """Return the error for a second backward through a graph whose saved tensors have been freed.

    PyTorch's message is followed by the name of the node (None if it has been freed too) and, if known, by the call
    that freed the saved tensors.
    """
    message = (
        "Trying to backward through the graph a second time (or directly access saved tensors after they have "
        "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
        "you need to access saved tensors after calling backward."
    )
    if isinstance(freed_by, Location):
        shape = list(node.layout.shape)
        message += f"\nWhat {node.name()}, of output shape {shape}, had saved was freed here:\n{freed_by}"
        location = recorded_at(node)
        if location is None:
            message += "\nUnder numgrad.autograd.detect_anomaly() this also says where the operation was recorded."
        else:
            message += f"\nThe operation was recorded here:\n{location}"
    return RuntimeError(message)


#: Maximum number of notes added to an error that propagates through deeply nested passes.
NOTES = 10


def note_node(error: Exception, node: Any, gradient: Any) -> None:
    """Add to an error a note that names the node that raised it; for nested passes, the innermost comes first."""
    notes = getattr(error, "__notes__", ())
    note = f"Raised in backward at {node.name()}, given {_described(node, gradient)}."
    if len(notes) < NOTES and note not in notes:
        error.add_note(note)


def _described(node: Any, gradient: Any) -> str:
    if isinstance(gradient, list):
        shapes = ", ".join(["None" if g is None else str(list(g._layout.shape)) for g in gradient])
        return f"gradients of the shapes {shapes}"
    return "no gradient" if gradient is None else f"a gradient of shape {list(node.layout.shape)}"


class GradcheckError(RuntimeError):
    """Raised by :func:`numgrad.autograd.gradcheck` and :func:`gradgradcheck` for a wrong derivative."""

    __module__ = "numgrad.autograd.gradcheck"  # its public module
