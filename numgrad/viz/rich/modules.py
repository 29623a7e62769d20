"""Modules: a tree to unfold, with what each is called, its class and options, and how many parameters it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.display import counted, number_of_bytes
from .html import Html, element, faint, framed, joined, table

#: Trees of so many modules are shown unfolded; of more than so many, only the first are shown.
_UNFOLDED, _MOST = 20, 2000


def html(module: Any) -> str:
    """The module as HTML."""
    size = sum(1 for _ in module.modules())
    places = iter(range(_MOST))
    tree = _tree(None, module, size <= _UNFOLDED, places, outermost=True)
    more = faint(f"the first {_MOST:,} of {counted(size, 'module')}") if size > _MOST else ""
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


def _tree(name: str | None, module: Any, unfolded: bool, places: Iterator[int], *, outermost: bool = False) -> Html:
    """A module and what is below it; a place is taken for each module, and when there are none left no more follow."""
    if next(places, None) is None:
        return Html()
    line = _line(name, module, outermost)
    tensors = _tensors(module)
    below = [_tree(key, child, unfolded, places) for key, child in module._modules.items() if child is not None]
    if not tensors and not below:
        return element("div", line)
    inside = [table(tensors, class_="left")] if tensors else []
    attributes = {"open": ""} if outermost or (unfolded and below) else {}
    content = element("div", *inside, *below, style="margin-left: 1.3em")
    return element("details", element("summary", line), content, **attributes)


def _line(name: str | None, module: Any, outermost: bool) -> Html:
    options = " ".join(module.extra_repr().split("\n"))
    parts = [] if name is None else [f"{name}:"]
    parts.append(joined([element("b", module._get_name()), f"({options})" if options else ""]))
    remarks = _remarks(module, outermost)
    return joined([*parts, faint(remarks)] if remarks else parts, " ")


def _tensors(module: Any) -> list[list[Any]]:
    """A row for each parameter and buffer of the module's own."""
    rows = []
    for kind, own in (("", module._parameters), ("buffer", module._buffers)):
        for name, tensor in own.items():
            if tensor is not None:
                remark = kind or ("" if tensor.requires_grad else "requires_grad=False")
                rows.append([name, list(tensor.shape), tensor.dtype.name, faint(remark)])
    return rows
