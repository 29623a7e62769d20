"""Tensors saved for backward: what was saved, at which version, and the error when it was changed since.

A node keeps, for each thing it saves, the value and the version it had.  An input is kept as the tensor itself;
the node's own output as an alias without a graph (the tensor would hold the node that holds it), whose edge is put
back when it is unpacked.  Things that are no tensors have the version None.
"""

from __future__ import annotations

from typing import Any

from .anomaly_mode import is_anomaly_enabled

__all__ = ["freed_error", "modified_error", "restored_output"]


def modified_error(node: Any, tensor: Any, version: int, is_output: bool) -> RuntimeError:
    """The error for a saved tensor that an in-place operation has changed."""
    kind = f"[{tensor._type.name} {list(tensor._shape)}]"
    edge = (node, 0) if is_output else tensor._edge
    if edge is not None:
        kind += f", which is output {edge[1]} of {edge[0].name()},"
    if is_anomaly_enabled():
        hint = (
            "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
        )
    else:
        hint = (
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
            "with torch.autograd.set_detect_anomaly(True)."
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


def restored_output(node: Any, alias: Any, number: int = 0) -> Any:
    """The node's own output, as it was when it was saved: the alias with its edge put back."""
    tensor = alias._alias()
    tensor._edge = (node, number)
    tensor._requires_grad = True
    return tensor
