"""How the ``grad`` of a tensor came about, or why there is none."""

from __future__ import annotations

import itertools

from .._quantities import counted
from ..autograd.contributions import Contributions, contributions_to
from .subject import Subject, described, listed

__all__ = ["text"]

#: Calls of backward that are shown, the latest.
SHOWN = 3


def text(subject: Subject) -> str:
    """What is known of the gradient."""
    tensor = subject.tensor
    if tensor._grad is None:
        return f"None. {_why_none(subject)}"
    known = contributions_to(tensor)
    if known is not None and known.made(tensor._grad):
        return f"{described(tensor._grad)}. {_account(known)}"
    return (
        f"{described(tensor._grad)}. Each backward pass adds to it, until zero_grad() or grad = None starts it afresh. "
        "Under numgrad.autograd.detect_anomaly() this says which calls have added to it, and from where."
    )


def _account(known: Contributions) -> str:
    """What backward passes brought."""
    passes = counted(known.count, "backward pass", "backward passes")
    start = f"{passes} brought it" if known.complete else f"There was one before, to which {passes} added"
    groups = [[next(same), *same] for _, same in itertools.groupby(known.latest)]
    lines = [f"{start}, the latest here:" if len(groups) > SHOWN else f"{start}, here:"]
    for group in groups[-SHOWN:]:
        call, sources = group[0]
        lines.append(str(call))
        names = [f"{name} ({place.brief})" if place is not None else name for name, place in sources]
        often = [f"{len(group)} times"] if len(group) > 1 else []
        lines.append("    " + ", ".join([*often, f"from {listed(names) or 'the call itself'}"]))
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
