"""The topics of an explanation: a tensor's ``requires_grad``, the origin of its ``grad``, its graph, and its memory."""

from __future__ import annotations

import itertools

import numpy as np

from ...autograd.accumulation import Contributions, contributions_to
from ...autograd.hooks import hook_name
from ...autograd.locations import DETACHED, FOREIGN, GIVEN, UNRECORDED, Location, changes_since, origin_of
from ...autograd.node import Node
from ...autograd.order import edges_of
from ...autograd.saved import SavingNode
from ...core.display import counted
from ...tensors.tensor import Tensor
from .subject import NAMED, Subject, described, described_best, listed, nodes_behind, others_on_memory


def requires_text(subject: Subject) -> str:
    """Return the reason for the value of ``requires_grad``, as far as it is known."""
    tensor = subject.tensor
    if tensor.requires_grad:
        if subject.node is None and subject.trouble is None:
            if tensor._view is not None:
                origin = tensor._view.creation
                when = f"under {origin}" if origin is not None else "before that tensor did"
                return f"True, as a view of a tensor that does; but it was made {when}, so gradients end here."
            return "True: backward adds to its grad."
        return "True, because it was computed from tensors that require gradients."
    return f"False. {_why_not(tensor)}"


def _why_not(tensor: Tensor) -> str:
    dtype = tensor._layout.type.dtype
    if not dtype.differentiable:
        return f"{dtype.name} has no derivatives: only floating-point and complex dtypes have some."
    if tensor.is_inference():
        return "It was made under inference_mode(), where nothing is recorded; clone() it to record what uses it."
    if type(tensor).__name__ == "Parameter":  # finding that out must not load numgrad.nn
        return "It is a frozen parameter: requires_grad_() makes it learn again."
    base = tensor if tensor._view is None else tensor._root
    origin = getattr(base, "_origin", None)
    of = "It" if base is tensor else "It is a view of a tensor that"
    if origin == DETACHED:
        others = [other for other in others_on_memory(tensor) if other.requires_grad]
        from_what = f"another tensor ({described_best(others)})" if others else "a graph"
        return f"{of} was detached from {from_what} by detach() or .data."
    if base is not tensor:
        return "It is a view of a tensor that requires none."
    maker = origin_of(tensor)
    if maker is not None:
        return f"It was made by '{maker.name}', {maker.reason}, here:\n{maker.location}"
    return f"{_ORIGINS[origin]} {'' if origin in (GIVEN, FOREIGN) else _WHO}".rstrip()


_WHO = "Under numgrad.autograd.detect_anomaly(check_forward=True) explain names the operation that made it."

_ORIGINS = {
    GIVEN: "No gradient was requested: call requires_grad_(), or pass requires_grad=True where it is made.",
    FOREIGN: "It uses memory of NumPy or another library, and no gradient was requested by requires_grad_().",
    UNRECORDED: (
        "It was computed where nothing is recorded: under no_grad(), in the forward of a Function, or by backward()."
    ),
    None: (
        "It was computed from tensors that require none, such as integers, by an operation without a derivative, or by "
        "backward() without create_graph=True."
    ),
}


#: The number of latest calls of backward that are shown.
SHOWN = 3


def gradient_text(subject: Subject) -> str:
    """Return the known facts about the gradient."""
    tensor = subject.tensor
    if tensor._grad is None:
        return f"None. {_why_none(subject)}"
    contributions = contributions_to(tensor)
    start = f"{described(tensor._grad)}{anomalies(tensor._grad)}."
    if contributions is not None and contributions.produced(tensor._grad):
        return f"{start} {_passes_text(contributions)}"
    hooks = hook_names(tensor)
    changed = f"Incoming gradients pass its hooks ({listed(hooks)}) first, which may change them. " if hooks else ""
    return (
        f"{start} Each backward pass adds to it until zero_grad() or grad = None resets it. {changed}"
        "Under numgrad.autograd.detect_anomaly() explain lists the calls that added to it."
    )


def anomalies(gradient: Tensor) -> str:
    """Return a remark about unusual elements: all zeros, NaN or infinities."""
    try:
        elements = gradient._all_elements()
    except RuntimeError:  # one example of many, under vmap
        return ""
    if elements.size and not elements.any():
        return ", all zeros"
    counts = [(int(np.isnan(elements).sum()), "NaN"), (int(np.isinf(elements).sum()), "infinite")]
    return "".join(f", {count:,} of {counted(elements.size, 'element')} {word}" for count, word in counts if count)


def _passes_text(contributions: Contributions) -> str:
    """Return the contributions of backward passes to the gradient."""
    passes = counted(contributions.count, "backward pass", "backward passes")
    start = f"{passes} brought it" if contributions.complete else f"There was one before, to which {passes} added"
    groups = [[next(same), *same] for _, same in itertools.groupby(contributions.latest)]
    lines = [f"{start}, the latest here:" if len(groups) > SHOWN else f"{start}, here:"]
    for group in groups[-SHOWN:]:
        call, sources, changed_by = group[0]
        lines.append(str(call))
        names = [name if location is None else f"{name} ({location.brief})" for name, location in sources]
        often = [f"{len(group)} times"] if len(group) > 1 else []
        hooked = [f"changed by its hooks ({listed(changed_by)})"] if changed_by else []
        lines.append("    " + ", ".join([*often, f"from {listed(names) or 'the call itself'}", *hooked]))
    return "\n".join(lines)


def _why_none(subject: Subject) -> str:
    tensor = subject.tensor
    if not tensor.requires_grad:
        return "Backward skips it, because it requires no gradient."
    if subject.trouble is not None:
        return subject.trouble
    if subject.node is not None:
        if tensor.retains_grad:
            return "retain_grad() was called, but no backward pass has reached it since."
        return "Only leaves keep their gradient: call retain_grad() on this tensor before backward()."
    if tensor._view is not None:
        return "Gradients of what is computed from a view made without recording end at the view."
    contributions = contributions_to(tensor)
    if contributions is not None:
        return f"It had one, which was set to None, as zero_grad() does. {_passes_text(contributions)}"
    users = subject.users
    if not users:
        return (
            "No recorded operation that still exists uses this tensor: none was computed with it, or only under "
            "no_grad() or with a detached copy, or the results are gone."
        )
    freed = [node for node in users if node.freed_by is not None]
    if freed:
        return (
            f"A backward pass has visited {listed([node.name() for node in freed])}; it began here:\n"
            f"{freed[0].freed_by}\n"
            "It kept no gradient (autograd.grad() and backward(inputs=...) do not), or it was set to None, as "
            "zero_grad() does."
        )
    return (
        f"{listed([node.name() for node in users])} would send it one, but no backward pass has got there: call "
        "backward() on a result that was computed from it."
    )


#: Paths are counted up to this number.
MANY = 1000


def graph_text(subject: Subject) -> str:
    """Return a description of the graph behind the tensor."""
    if subject.trouble is not None:
        return subject.trouble
    return "nothing lies behind it." if subject.node is None else text_of_node(subject.node)


def text_of_node(node: Node) -> str:
    """Return a description of the graph behind a node."""
    nodes, leaves = nodes_behind(node)
    shapes = f" (of {_shapes(leaves)})" if leaves else ""
    verb = "lies" if len(nodes) == 1 and not leaves else "lie"
    size_text = f"{counted(len(nodes), 'node')} and {counted(len(leaves), 'leaf', 'leaves')}{shapes} {verb} behind it."
    location = None if node.attached is None else node.attached.location
    origin_text = f" {node.name()} was recorded here:\n{location}" if location is not None else ""
    return f"{size_text}{origin_text}{_freed_or_changed(nodes, origin_text != '')}"


def _shapes(tensors: list[Tensor]) -> str:
    return f"{'shape' if len(tensors) == 1 else 'shapes'} {listed([list(tensor._layout.shape) for tensor in tensors])}"


def _freed_or_changed(nodes: list[Node], below: bool) -> str:
    """Return a sentence that says whether the nodes' saved values are intact, freed or changed in place."""
    changed = [
        (node, tensor, version)
        for node in nodes if isinstance(node, SavingNode) and not node.is_freed()
        for tensor, version in node.modified()
    ]
    freed = [node for node in nodes if node.freed_by is not None]
    start = "\n" if below else " "
    if freed:
        calls: dict[Location, list[str]] = {}
        for node in freed:
            assert node.freed_by is not None
            calls.setdefault(node.freed_by, []).append(node.name())
        parts = [f"Values saved by {listed(names)} were freed here:\n{call}" for call, names in calls.items()]
        return start + "\n".join([*parts, "With retain_graph=True, backward can run again."])
    if changed:
        node, tensor, version = changed[0]
        changes = list(changes_since(tensor, version).values())
        where = f", here:\n{changes[0]}\nBackward" if changes else ". Backward"
        return (
            f"{start}{node.name()} has saved a tensor of shape {list(tensor.shape)} at version {version} that was "
            f"changed in place since{where} will refuse to compute with it."
        )
    return f"{start}Nothing is freed: backward can go through it."


def dependence_text(subject: Subject, output: Tensor) -> str:
    """Return a description of the dependence of ``output`` on the tensor."""
    other = Subject(output)
    if output is subject.tensor:
        return "the tensor itself."
    if not output.requires_grad:
        return f"{other.described()}. It requires no gradient: {requires_text(other)[7:]}"
    paths = _path_count(other.target, subject) if subject.tensor.requires_grad else 0
    if not paths or other.target is None or subject.target is None:
        _, leaves = nodes_behind(other.target)
        on = f", only on leaves of {_shapes(leaves)}" if leaves else ""
        return f"{other.described()}. It does not depend on the tensor{on}."
    names = [node.name() for node in _shortest_path(other.target, subject.target)]
    if len(names) > 2 * NAMED:
        names[NAMED:-NAMED] = [f"({len(names) - 2 * NAMED} more)"]
    number = f"{MANY} paths or more" if paths == MANY else counted(paths, "path")
    by = f"{number} {'leads' if paths == 1 else 'lead'} back to the tensor"
    return f"{other.described()}. {by}{', the shortest' if paths > 1 else ''}: {' <- '.join(names)}"


def _path_count(start: Node | None, subject: Subject) -> int:
    """Return the number of paths from a node to the point where the tensor's gradient arrives, at most MANY."""
    nodes, _ = nodes_behind(start)
    paths: dict[Node, int] = {}
    for node in reversed(nodes):  # oldest first, so that the counts of a node's successors are known
        paths_on = sum(
            paths.get(other, 0) + (other is subject.target and number == subject.number)
            for other, number in edges_of(node)
        )
        paths[node] = min(paths_on, MANY)  # uncapped numbers would have as many digits as the graph is deep
    return paths.get(start, 0) if start is not None and start is not subject.target else 0


def _shortest_path(start: Node, target: Node) -> list[Node]:
    """Return the shortest path from a node to another, including both."""
    before: dict[Node, Node | None] = {start: None}
    reached = [start]
    for node in reached:  # nearest first; the list grows during the loop
        for other, _ in edges_of(node):
            if other not in before:
                before[other] = node
                reached.append(other)
    path = [target]
    while (previous := before[path[-1]]) is not None:
        path.append(previous)
    return path[::-1]


def memory_text(subject: Subject) -> str:
    """Return a description of the memory: its owner, and the number of changes to it."""
    tensor = subject.tensor
    view = tensor._view
    if view is not None:
        return f"it is a view of another tensor ({described_best([tensor._root])}), {_changes(tensor)}"
    others = others_on_memory(tensor)
    views = [other for other in others if other._view is not None and other._root is tensor]
    shared = [other for other in others if other._view is None]
    if getattr(tensor, "_origin", None) == FOREIGN:
        owner = "shared with NumPy or another library, which sees changes made here"
    elif shared:
        owner = f"shared with another tensor ({described_best(shared)}), which sees changes made here"
    else:
        owner = "its own"
    of_it = f", with {counted(len(views), 'view')} of it" if views else ""
    return f"{owner}{of_it}, {_changes(tensor)}"


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
    """Return the names of the hooks on a tensor's gradient, in their order."""
    return [hook_name(hook) for hook in (tensor._backward_hooks or {}).values()]


def hooks_text(subject: Subject) -> str:
    """Return the hooks through which the tensor's gradient passes, in their order."""
    tensor, node = subject.tensor, subject.node
    parts = []
    if subject.trouble is None:
        parts.append(("register_hook", tensor._backward_hooks))
        parts.append(("register_post_accumulate_grad_hook", tensor._post_accumulate_grad_hooks))
    if node is not None and node.attached is not None:
        parts.append(("register_prehook of its node", node.attached.pre_hooks))
        parts.append(("register_hook of its node", node.attached.post_hooks))
    descriptions = [f"{listed([hook_name(hook) for hook in hooks.values()])} by {by}" for by, hooks in parts if hooks]
    if node is not None and subject.trouble is None and tensor.retains_grad:
        descriptions.append("retain_grad() was called")
    return f"{'; '.join(descriptions) or 'none'}."
