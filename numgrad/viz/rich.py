"""HTML for notebooks: tensors, sizes, modules, optimizers, profiles and explanations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import LEVELS, state
from ..autograd.profiler.table import columns_of, format_time
from ..core.display import counted, number_of_bytes
from ..tensors import printing
from ..tensors.printing import origin_text
from .html import Html, element, faint, framed, joined, table, unfolding

#: Tensors that would show more numbers than this, because printing in full was requested, are shown as text.
_MOST_NUMBERS = 10_000


def tensor_html(tensor: Any) -> str | None:
    """Return the tensor as HTML; None within transforms and with tangents, where only the text is complete."""
    if state.mode & LEVELS or hasattr(tensor, "_mapped"):
        return None
    array = tensor._numbers()
    positions = printing.shown_positions(array)
    shown = printing.selected(array, positions)
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
    """Return numbers of equal width, which wrap to the width of the window."""
    style = f"min-width: {width}ch"
    cells = [element("span", text, style=style) for text in texts]
    if shape and len(texts) < shape[0]:
        cells.insert(_gap(positions[0]), element("span", "…", style=style))
    return element("div", joined(cells, " "), class_="numbers")


def _gap(positions: np.ndarray) -> int:
    """Return the index at which entries of a row are left out."""
    return len(positions) // 2


def _number_rows(texts: list[str], positions: Sequence[np.ndarray], shape: tuple[int, ...]) -> Html:
    """Return a table with the last dimension in each row, and a line where an outer index changes."""
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
    """Return the size as HTML."""
    return framed(repr(size), " ", faint(counted(size.numel(), "element")))


#: Trees of up to _UNFOLDED modules are shown unfolded; only the first _MOST_MODULES modules of a tree are shown.
_UNFOLDED, _MOST_MODULES = 20, 2000


def module_html(module: Any) -> str:
    """Return the module as HTML."""
    size = sum(1 for _ in module.modules())
    tree = _module_tree(None, module, size <= _UNFOLDED, iter(range(_MOST_MODULES)), outermost=True)
    more = faint(f"the first {_MOST_MODULES:,} of {counted(size, 'module')}") if size > _MOST_MODULES else ""
    return framed(tree, more)


def _remarks(module: Any, outermost: bool) -> str:
    """Return the number of parameters in and below the module; for the outermost module, also further figures."""
    parameters = list(module.parameters())
    number = _elements(parameters)
    remarks = [counted(number, "parameter")] if number else []
    if outermost:
        learnt = _elements([parameter for parameter in parameters if parameter.requires_grad])
        if learnt < number:
            remarks.append(f"{learnt:,} of them trainable")
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
    """Return a module with its submodules.  Each consumes an item of ``allowed``; none is shown once it is empty."""
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
    """Return a row for each of the module's own parameters and buffers."""
    rows = []
    for category, tensors in (("", module._parameters), ("buffer", module._buffers)):
        for name, tensor in tensors.items():
            if tensor is not None:
                remark = category or ("" if tensor.requires_grad else "requires_grad=False")
                rows.append([name, list(tensor.shape), tensor.dtype.name, faint(remark)])
    return rows


def optimizer_html(optimizer: Any) -> str:
    """Return the optimizer as HTML."""
    groups = optimizer.param_groups
    names = sorted({name for group in groups for name in group} - {"params", "param_names"})
    rows: list[list[Any]] = [[name, *[group.get(name, "") for group in groups]] for name in names]
    rows.insert(0, ["parameters", *[_size(group["params"]) for group in groups]])
    head = ["", *[f"group {number}" for number in range(len(groups))]] if len(groups) > 1 else ()
    return framed(element("p", element("b", type(optimizer).__name__)), table(rows, head, class_="left"))


def _size(tensors: list[Any]) -> str:
    return f"{counted(len(tensors), 'tensor')} of {counted(_elements(tensors), 'element')}"


_MOST_EVENTS = 100

#: The maximum widths of names, shapes and sources, in characters.
_WIDTHS = (55, 40, 75)

_BAR = "rgba(90,150,230,.35)"


def profile_html(profile: Any) -> str | None:
    """Return a profile's averages, or a list of events in its own order, as HTML; None if there are no events."""
    events: Any = profile if isinstance(profile, list) else _averages(profile)
    if not events:
        return None
    columns = columns_of(events, _WIDTHS)
    shown = events[:_MOST_EVENTS]
    total = events.self_cpu_time_total
    rows = [[_cell(column, event) for column in columns] for event in shown]
    gpus = f", on GPUs {format_time(events.self_device_time_total)}" if events.use_device else ""
    compile_time = format_time(events.compile_time_total)
    totals = f"in all {format_time(total)}{gpus}, and {compile_time} to compile or load kernels"
    if len(shown) < len(events):
        totals += f"; the first {_MOST_EVENTS} of {counted(len(events), 'row')}"
    return framed(element("p", totals), table(rows, [column.title for column in columns], class_="names"))


def _averages(profile: Any) -> Any:
    """Return the events of a profile, with or without a schedule, summed by name; None if there are none yet."""
    if hasattr(profile, "profiler"):
        profile = profile.profiler
    if profile is None or not profile.function_events:
        return None
    averages = profile.key_averages()
    averages.sort(key=lambda event: event.self_cpu_time_total, reverse=True)
    return averages


def _cell(column: Any, event: Any) -> str:
    """Return the content of a cell; a percentage is drawn as a bar, too."""
    text = column.text(event)
    if not text.endswith("%"):
        return text
    return element("td", text, style=f"background: linear-gradient(90deg, {_BAR} {text}, transparent {text})")


def explanation_html(explanation: Any) -> str:
    """Return the explanation as HTML."""
    return framed(element("p", explanation.summary), table(explanation.topics.items(), class_="left words"))
