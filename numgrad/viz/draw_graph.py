"""``numgrad.viz.draw``: a picture of the graph that was recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..autograd.node import Node
from ..core.tensor import Tensor, type_name
from ..nn.modules.module import Module
from .assemble import Assembly
from .describe import Describer
from .drawing import Drawing
from .folding import Fold
from .names import known_names
from .rendering.layout import RANKS
from .subjects import roots_of

#: Boxes for nodes that a picture has unless told otherwise, and the picture that stands for a node in Jupyter.
MANY, FEW = 100, 40


def draw(
    subject: Any,
    module: Module | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    names: Mapping[str, Tensor] | None = None,
    values: bool = False,
    saved: bool = True,
    fold: Fold = "auto",
    max_depth: int | None = None,
    max_nodes: int | None = MANY,
    direction: str = "down",
    arrows: str = "forward",
) -> Drawing:
    """Draw the graph that backward would go through from a tensor, as it is now.

    The picture reads like the computation: leaves at the top, results at the bottom, arrows from operands to results,
    at each the shape of the tensor that flows, which is that of its gradient, too.  Gradients go against the arrows.

    - Round boxes are tensors: leaves (blue) with their gradient, once there is one, results (green), and data (sand):
      tensors that some operation has saved, that require no gradient and have a name.
    - Angular boxes are the nodes of the graph, with the name that ``grad_fn`` prints and what they have saved for
      backward, under the names of their ``_saved_`` attributes.  Violet ones are Functions of the user.  A dashed box
      is freed: backward has dropped what it had saved.  A red frame says that a saved tensor was changed in place
      since, so backward will refuse.  Hooks and the gradients that ``retain_grad()`` keeps are named, too.
    - Frames around boxes, with ``module``, are the calls of its parts; green boxes are calls that are folded.

    Names come from ``names``, then from ``module`` (its parameters and buffers), then from the variables of the calling
    program that hold the very tensor: of the function that calls ``draw``, of its callers, of the module or notebook.

    Args:
        subject: a tensor that requires gradients, a node (``grad_fn``), a gradient edge, or several of them in a list,
            tuple or dictionary, whose keys are then their names.
        module: the model that computed it.  Which of its parts recorded a node is known of the latest 4,096 calls of
            modules, and only if no other thread recorded at the same time.
        file: where to save the picture as well; see :meth:`Drawing.save` for the endings of its name.
        names: tensors by the names that they are to have.
        values: whether to write out elements: all of small tensors, of larger ones the first, the least, the greatest.
        saved: whether to write down what nodes have saved.
        fold: which calls of modules are shown as one box: "auto" (none in a small graph, in a large one those that
            must be for the picture to stay readable), None, a depth (0 is ``module`` itself, 1 the modules that it
            calls, and so on), or the names of modules, in which ``*`` stands for anything: ``"blocks.*"``.
        max_depth: boxes that are more steps away from the subject than this are left out.
        max_nodes: so many boxes are shown, the nearest; None for all.  What is left out is counted in a box of its own.
        direction: where the computation goes: "down", "right", "up" or "left".
        arrows: "forward" for arrows that go with the computation, "backward" for the way of the gradients, which is
            that of ``next_functions``.

    Returns:
        The picture, which Jupyter shows; it holds no tensors.

    Raises:
        TypeError: an argument is of a type that it cannot have.
        ValueError: a tensor has no graph, since it requires no gradient; or an option has an impossible value.
        ImportError: ``file`` needs pygraphviz, which is not installed.

    Example:
        >>> import numgrad
        >>> x, w = numgrad.ones(5), numgrad.zeros(5, 3, requires_grad=True)
        >>> b = numgrad.zeros(3, requires_grad=True)
        >>> y = (x @ w + b).tanh()
        >>> numgrad.viz.draw(y)
        y [3] float32
        TanhBackward0: saved result = y [3]
        AddBackward0 → [3]
        ├─ SqueezeBackward4 → [3]: saved self_sym_sizes=(1, 3)
        │  MmBackward0 → [1, 3]: saved self = view of x [1, 5]
        │  ├─ w [5, 3] float32, grad None
        │  └─ x [5] float32, no gradient
        └─ b [3] float32, grad None
        >>> model = numgrad.nn.Sequential(numgrad.nn.Linear(3, 2), numgrad.nn.ReLU())
        >>> numgrad.viz.draw(model(y.detach()), model, fold=1)
        output [2] float32
        1: ReLU, 1 operation
        0 → [2]: Linear, 3 operations, 2 parameters, 8 elements
    """
    roots = roots_of(subject)
    if module is not None and not isinstance(module, Module):
        raise TypeError(f"draw(): argument 'module' must be an nn.Module, not {type_name(module)}")
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(f"draw(): argument 'names' must be a mapping of names to tensors, not {type_name(names)}")
    for name, tensor in (names or {}).items():
        if not isinstance(name, str):
            raise TypeError(f"draw(): 'names' must have strings as keys, not {type_name(name)}")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"draw(): names[{name!r}] must be a Tensor, not {type_name(tensor)}")
    _check_choice("direction", direction, list(RANKS))
    _check_choice("arrows", arrows, ["forward", "backward"])
    _check_count("max_depth", max_depth, 0)
    _check_count("max_nodes", max_nodes, 1)
    known = known_names(module, {**(names or {}), **{root.name: root.tensor for root in roots if root.name}})
    assembly = Assembly(roots, module, known, fold)
    drawing = Drawing(assembly.picture(Describer(known, values, saved), max_depth, max_nodes, direction, arrows))
    if file is not None:
        drawing.save(file)
    return drawing


def node_mimebundle(node: Node) -> dict[str, str]:
    """The picture that Jupyter shows of a node: the graph behind it, the nearest of it.

    The text of the node is left to what shows it.
    """
    bundle = draw(node, max_nodes=FEW)._repr_mimebundle_()
    return {kind: form for kind, form in bundle.items() if kind != "text/plain"}


def _check_choice(name: str, value: Any, choices: list[str]) -> None:
    if value not in choices:
        raise ValueError(f"draw(): {name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def _check_count(name: str, value: Any, least: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"draw(): {name} must be an int or None, not {type_name(value)}")
    if value < least:
        raise ValueError(f"draw(): {name} must be at least {least}, not {value}")
