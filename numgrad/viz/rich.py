"""What notebooks show: tensors, sizes, modules, optimizers, profiles and explanations as HTML."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import LEVELS, state
from ..autograd.profiler.table import columns_of, format_time
from ..core import printing
from ..core.display import counted, number_of_bytes
from ..core.printing import origin_text
from .html import Html, element, faint, framed, joined, table, unfolding

#: Where more numbers than these would be shown, since it was asked to print all, it is done in text.
_MOST_NUMBERS = 10_000


def tensor_html(tensor: Any) -> str | None:
    """The tensor as HTML; None where only its text tells everything: within transforms, and with tangents."""
    if state.mode & LEVELS or hasattr(tensor, "_mapped"):
        return None
    array = tensor._host_array()
    positions = printing.shown_positions(array)
    shown = printing.taken(array, positions)
    if shown.size > _MOST_NUMBERS or (array.size and not shown.size):
        return None
    return framed(_caption(tensor), _numbers(shown, positions, array.shape))


def _caption(tensor: Any) -> Html:
    origin = origin_text(tensor)
    parts = [element("b", type(tensor).__name__), list(tensor._layout.shape), tensor._layout.type.dtype.name]
    if tensor.is_cuda:
        parts.append(str(tensor.device))
    if origin is not None:
        parts.append(faint(origin))
    return element("p", joined(parts, " "))


def _numbers(array: np.ndarray, positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    if array.size == 0:
        return faint("no elements")
    padded, width = printing.element_texts(array.reshape(-1))
    texts = [text.strip() for text in padded]
    return _number_line(texts, width, positions, shape) if array.ndim < 2 else _number_rows(texts, positions, shape)


def _number_line(texts: list[str], width: int, positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    """Numbers of equal width, in as many lines as the window asks for."""
    style = f"min-width: {width}ch"
    cells = [element("span", text, style=style) for text in texts]
    if shape and len(texts) < shape[0]:
        cells.insert(_gap(positions[0]), element("span", "…", style=style))
    return element("div", joined(cells, " "), class_="numbers")


def _gap(positions: np.ndarray) -> int:
    """Where in a row of entries some are left out."""
    return len(positions) // 2


def _number_rows(texts: list[str], positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    """A table with a row for each index but the last; a line where one of the outer indices changes."""
    columns = positions[-1]
    step = len(columns)
    has_gap = step < shape[-1]

    def row(heading: Any, cells: list[Any], name: str = "td", **attributes: str) -> Html:
        if has_gap:
            cells = [*cells[: _gap(columns)], "…", *cells[_gap(columns) :]]
        return element("tr", element("th", faint(heading)), *[element(name, cell) for cell in cells], **attributes)

    lines = []
    before: tuple[int, ...] | None = None
    for number, index in enumerate(itertools.product(*[along_one.tolist() for along_one in positions[:-1]])):
        attributes = {}
        if before is not None:
            changed = next(dim for dim, (old, new) in enumerate(zip(before, index, strict=True)) if old != new)
            if index[changed] > before[changed] + 1:
                lines.append(row("⋮", ["⋮"] * step))
            if changed < len(index) - 1:
                attributes["class_"] = "next"
        lines.append(row(", ".join(map(str, index)), texts[number * step : (number + 1) * step], **attributes))
        before = index
    head = element("thead", row("", [faint(column) for column in columns], "th"))
    return element("table", head, element("tbody", *lines))


def size_html(size: Any) -> str:
    """The size as HTML."""
    return framed(repr(size), " ", faint(counted(size.numel(), "element")))


#: Trees of so many modules are shown unfolded; of more than so many, only the first are shown.
_UNFOLDED, _MOST_MODULES = 20, 2000


def module_html(module: Any) -> str:
    """The module as HTML."""
    size = sum(1 for _ in module.modules())
    tree = _module_tree(None, module, size <= _UNFOLDED, iter(range(_MOST_MODULES)), outermost=True)
    more = faint(f"the first {_MOST_MODULES:,} of {counted(size, 'module')}") if size > _MOST_MODULES else ""
    return framed(tree, more)


def _remarks(module: Any, outermost: bool) -> str:
    """How many parameters there are in it and below; of the outermost module more."""
    parameters = list(module.parameters())
    number = _elements(parameters)
    remarks = [counted(number, "parameter")] if number else []
    if outermost:
        learnt = _elements([parameter for parameter in parameters if parameter.requires_grad])
        if learnt < number:
            remarks.append(f"{learnt:,} of them to be learnt")
        if number:
            remarks.append(number_of_bytes(sum([parameter.nbytes for parameter in parameters])))
        if not module.training:
            remarks.append("in evaluation mode")
    return ", ".join(remarks)


def _elements(tensors: list[Any]) -> int:
    return sum([tensor.numel() for tensor in tensors])


def _module_tree(
    name: str | None, module: Any, unfolded: bool, allowed: Iterator[int], *, outermost: bool = False
) -> Html:
    """A module and what is below it; each module uses up one of ``allowed``, and when it is empty no more follow."""
    if next(allowed, None) is None:
        return Html()
    line = _module_line(name, module, outermost)
    tensors = _tensor_rows(module)
    below = [_module_tree(key, child, unfolded, allowed) for key, child in module._modules.items() if child is not None]
    if not tensors and not below:
        return element("div", line)
    inside = [table(tensors, class_="left")] if tensors else []
    content = element("div", *inside, *below, style="margin-left: 1.3em")
    return unfolding(line, content, is_open=outermost or (unfolded and bool(below)))


def _module_line(name: str | None, module: Any, outermost: bool) -> Html:
    options = " ".join(module.extra_repr().split("\n"))
    parts = [] if name is None else [f"{name}:"]
    parts.append(joined([element("b", module._get_name()), f"({options})" if options else ""]))
    remarks = _remarks(module, outermost)
    return joined([*parts, faint(remarks)] if remarks else parts, " ")


def _tensor_rows(module: Any) -> list[list[Any]]:
    """A row for each parameter and buffer of the module's own."""
    rows = []
    for category, own in (("", module._parameters), ("buffer", module._buffers)):
        for name, tensor in own.items():
            if tensor is not None:
                remark = category or ("" if tensor.requires_grad else "requires_grad=False")
                rows.append([name, list(tensor.shape), tensor.dtype.name, faint(remark)])
    return rows


def optimizer_html(optimizer: Any) -> str:
    """The optimizer as HTML."""
    groups = optimizer.param_groups
    names = sorted({name for group in groups for name in group} - {"params", "param_names"})
    rows: list[list[Any]] = [[name, *[group.get(name, "") for group in groups]] for name in names]
    rows.insert(0, ["parameters", *[_size(group["params"]) for group in groups]])
    head = ["", *[f"group {number}" for number in range(len(groups))]] if len(groups) > 1 else ()
    return framed(element("p", element("b", type(optimizer).__name__)), table(rows, head, class_="left"))


def _size(tensors: list[Any]) -> str:
    return f"{counted(len(tensors), 'tensor')} of {counted(_elements(tensors), 'element')}"


_MOST_EVENTS = 100

#: The greatest widths of names, shapes and sources, in characters.
_WIDTHS = (55, 40, 75)

_BAR = "rgba(90,150,230,.35)"


def profile_html(profile: Any) -> str | None:
    """A profile's averages, or a list of events in its own order, as HTML; None if there are no events."""
    events: Any = profile if isinstance(profile, list) else _averages(profile)
    if not events:
        return None
    columns = columns_of(events, _WIDTHS)
    shown = events[:_MOST_EVENTS]
    total = events.self_cpu_time_total
    rows = [[_cell(column, event) for column in columns] for event in shown]
    gpus = f", on GPUs {format_time(events.self_device_time_total)}" if events.use_device else ""
    made = format_time(events.compile_time_total)
    totals = f"in all {format_time(total)}{gpus}, and {made} to compile or load kernels"
    if len(shown) < len(events):
        totals += f"; the first {_MOST_EVENTS} of {counted(len(events), 'row')}"
    return framed(element("p", totals), table(rows, [column.title for column in columns], class_="names"))


def _averages(profile: Any) -> Any:
    """The events of a profile, a single one or one with a schedule, summed by name; None if there are none yet."""
    if hasattr(profile, "profiler"):
        profile = profile.profiler
    if profile is None or not profile.function_events:
        return None
    averages = profile.key_averages()
    averages.sort(key=lambda event: event.self_cpu_time_total, reverse=True)
    return averages


def _cell(column: Any, event: Any) -> str:
    """The content of a cell; a share of the time is a bar, too."""
    text = column.text(event)
    if not text.endswith("%"):
        return text
    return element("td", text, style=f"background: linear-gradient(90deg, {_BAR} {text}, transparent {text})")


def explanation_html(explanation: Any) -> str:
    """The explanation as HTML."""
    return framed(element("p", explanation.summary), table(explanation.topics.items(), class_="left words"))
