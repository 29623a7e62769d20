"""How the ``grad`` of a tensor came about, or why there is none."""

from __future__ import annotations

import itertools

import numpy as np

from ...autograd.contributions import Contributions, contributions_to
from ...autograd.operations import operations
from ...core.display import counted
from ...core.tensor import Tensor
from .memory import hook_names
from .subject import Subject, described, listed

#: Calls of backward that are shown, the latest.
SHOWN = 3


def text(subject: Subject) -> str:
    """What is known of the gradient."""
    tensor = subject.tensor
    if tensor._grad is None:
        return f"None. {_why_none(subject)}"
    known = contributions_to(tensor)
    start = f"{described(tensor._grad)}{remarkable(tensor._grad)}."
    if known is not None and known.made(tensor._grad):
        return f"{start} {_account(known)}"
    hooks = hook_names(tensor)
    changed = f"What arrives passes its hooks ({listed(hooks)}) first, which may change it. " if hooks else ""
    return (
        f"{start} Each backward pass adds to it, until zero_grad() or grad = None starts it afresh. {changed}"
        "Under numgrad.autograd.detect_anomaly() this says which calls have added to it, and from where."
    )


def remarkable(gradient: Tensor) -> str:
    """What is striking about the elements: zeros alone, NaN or infinities."""
    try:
        elements = operations.elements(gradient)
    except RuntimeError:  # one example of many, under vmap
        return ""
    if elements.size and not elements.any():
        return ", all zeros"
    found = [(int(np.isnan(elements).sum()), "NaN"), (int(np.isinf(elements).sum()), "infinite")]
    return "".join(f", {count:,} of {counted(elements.size, 'element')} {word}" for count, word in found if count)


def _account(known: Contributions) -> str:
    """What backward passes brought."""
    passes = counted(known.count, "backward pass", "backward passes")
    start = f"{passes} brought it" if known.complete else f"There was one before, to which {passes} added"
    groups = [[next(same), *same] for _, same in itertools.groupby(known.latest)]
    lines = [f"{start}, the latest here:" if len(groups) > SHOWN else f"{start}, here:"]
    for group in groups[-SHOWN:]:
        call, sources, changed_by = group[0]
        lines.append(str(call))
        names = [f"{name} ({place.brief})" if place is not None else name for name, place in sources]
        often = [f"{len(group)} times"] if len(group) > 1 else []
        hooked = [f"changed by its hooks ({listed(changed_by)})"] if changed_by else []
        lines.append("    " + ", ".join([*often, f"from {listed(names) or 'the call itself'}", *hooked]))
    return "\n".join(lines)


def _why_none(subject: Subject) -> str:
    tensor = subject.tensor
    if not tensor.requires_grad:
        return "Backward passes it by, since it requires no gradient."
    if subject.trouble is not None:
        return subject.trouble
    if subject.node is not None:
        if tensor.retains_grad:
            return "retain_grad() was called, but no backward pass has come by since."
        return "Only leaves keep their gradient: call retain_grad() on this tensor before backward()."
    if tensor._view is not None:
        return "Gradients of what is computed from a view made without recording end at the view."
    known = contributions_to(tensor)
    if known is not None:
        return f"It had one, which was set to None since, as zero_grad() does. {_account(known)}"
    users = subject.users
    if not users:
        return (
            "No recorded operation that still exists uses this tensor: none was computed with it, or only under "
            "no_grad() or with a detached copy, or the results are gone."
        )
    freed = [node for node in users if node.freed_by is not None]
    if freed:
        return (
            f"A backward pass has gone through {listed([node.name() for node in freed])}, begun here:\n"
            f"{freed[0].freed_by}\n"
            "It kept no gradient (autograd.grad() and backward(inputs=...) do not), or that was set to None since, as "
            "zero_grad() does."
        )
    return (
        f"{listed([node.name() for node in users])} would send it one, but no backward pass has come by there: call "
        "backward() on what was computed of it."
    )
