"""A tensor's memory, who shares it, how often it was changed; and the hooks on the tensor."""

from __future__ import annotations

from ...autograd.history import FOREIGN, changes_since
from ...autograd.hooks import hook_name
from ...core.display import counted
from ...core.tensor import Tensor
from .subject import Subject, described_best, listed, on_the_same_memory


def text(subject: Subject) -> str:
    """Whose the memory is, and how often it was changed."""
    tensor = subject.tensor
    view = tensor._view
    if view is not None:
        return f"it is a view of another tensor ({described_best([tensor._root])}), {_changes(tensor)}"
    others = on_the_same_memory(tensor)
    views = [other for other in others if other._view is not None and other._root is tensor]
    shared = [other for other in others if other._view is None]
    if getattr(tensor, "_origin", None) == FOREIGN:
        found = "that of a NumPy array or of another library's, which sees what is changed here"
    elif shared:
        found = f"shared with another tensor ({described_best(shared)}), which sees what is changed here"
    else:
        found = "its own"
    of_it = f", with {counted(len(views), 'view')} of it" if views else ""
    return f"{found}{of_it}, {_changes(tensor)}"


def _changes(tensor: Tensor) -> str:
    if tensor.is_inference():
        return "without a version."
    version = tensor._version
    if not version:
        return "never changed in place."
    changes = changes_since(tensor, 0)
    where = f", the last time here:\n{list(changes.values())[-1]}" if changes else "."
    return f"changed in place {counted(version, 'time')} (its version is {version}){where}"


def hook_names(tensor: Tensor) -> list[str]:
    """What the hooks on a tensor's gradient are called, in their order."""
    return [hook_name(hook) for hook in (tensor._backward_hooks or {}).values()]


def hooks_text(subject: Subject) -> str:
    """The hooks that its gradient meets, in their order."""
    tensor, node = subject.tensor, subject.node
    parts = []
    if subject.trouble is None:
        parts.append(("register_hook", tensor._backward_hooks))
        parts.append(("register_post_accumulate_grad_hook", tensor._post_accumulate_grad_hooks))
    if node is not None and node.attached is not None:
        parts.append(("register_prehook of its node", node.attached.pre_hooks))
        parts.append(("register_hook of its node", node.attached.post_hooks))
    found = [f"{listed([hook_name(hook) for hook in hooks.values()])} by {how}" for how, hooks in parts if hooks]
    if node is not None and subject.trouble is None and tensor.retains_grad:
        found.append("retain_grad() was called")
    return f"{'; '.join(found) or 'none'}."
