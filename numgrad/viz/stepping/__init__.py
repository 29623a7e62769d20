"""Backward step by step: it runs as usual, and its work at each node can be inspected afterwards.

Saved values appear under the names that the rules use.  If the node's attribute, and pictures, use another name, it
follows: ``(saved as self)`` is ``grad_fn._saved_self``.

Example:
    >>> import numgrad
    >>> from numgrad.viz import backward_steps
    >>> x = numgrad.tensor([2.0, 3.0], requires_grad=True)
    >>> print(backward_steps((x * x).sum()))
    Step 1 of 3: SumBackward0
      grad = tensor(1.)  <- given to backward
      input_shape = (2,)  (saved as self_sym_sizes)
      gradient of input: expand(grad, input_shape)
        = tensor([1., 1.])  -> step 2 (MulBackward0)
    Step 2 of 3: MulBackward0
      grad = tensor([1., 1.])  <- step 1
      input = tensor([2., 3.])  (saved as self)
      other = tensor([2., 3.])
      gradient of input: grad * other
        = tensor([2., 3.])  -> step 3 (x)
      gradient of other: grad * input
        = tensor([2., 3.])  -> step 3 (x)
    Step 3 of 3: AccumulateGrad of x
      grad = tensor([4., 6.])  <- step 2 + step 2
      x.grad before = None
      x.grad after = tensor([4., 6.])
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, overload

from ...autograd.backward import backward
from ...autograd.graph import GradientEdge
from ...autograd.watching import unwatch, watch
from ...nn.modules.module import Module
from ...tensors.tensor import Tensor, type_name
from ..graph.assembly import roots_of
from ..graph.drawing import Drawing, draw
from ..graph.names import known_names
from .frames import Frames, steps_html
from .recording import StepRecording
from .step import BackwardRun, BackwardStep

#: The number of steps up to which an interactive display shows all of them as text.
MANY = 100


def backward_steps(
    loss: Any,
    gradient: Any = None,
    *,
    inputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    values: bool | int = 1000,
    names: Mapping[str, Tensor] | None = None,
    module: Module | None = None,
) -> Steps:
    """Run backward and return one step for each node, with the work of backward at that node.

    The engine itself runs, so the effects are those of ``loss.backward(gradient, retain_graph, create_graph, inputs)``.
    Each step has copies of the values at that moment.

    While steps are recorded, or a profile, the engine takes no shortcuts: a hook may then receive an expanded gradient,
    which cannot be written to, instead of one with elements of its own.

    Args:
        loss: the tensor to start from, or anything else that ``draw`` takes: a node, a gradient edge, or a list, tuple
            or dictionary of these, whose keys are then their names.
        gradient: the gradient of ``loss``, of the same shape, or a list of gradients; may be omitted for tensors of one
            element.  As in ``draw``, the second argument may be the module.
        inputs: the only tensors to accumulate into.
        retain_graph: True to keep the values saved for backward; by default as ``create_graph``.
        create_graph: True to record the computation of the gradients.
        values: the maximum number of elements of a tensor that is copied.  A larger one is kept as a ``Summary``:
            shape, dtype, the first three elements, the least and the greatest.  True copies all, whatever memory that
            takes.
        names: tensors by the names to show for them.  Others are named after the caller's variables.
        module: a module whose parameters are shown under their names in it.

    Raises:
        TypeError: ``loss``, ``values``, ``names`` or ``module`` has the wrong type.
        RuntimeError: as ``backward`` does.

    Example:
        >>> import numgrad
        >>> w = numgrad.tensor(3.0, requires_grad=True)
        >>> steps = numgrad.viz.backward_steps((2 * w) ** 2)
        >>> [step.name for step in steps]
        ['PowBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
        >>> steps[0].rule
        {'input': 'where(exponent == 0, 0, grad * (exponent * input ** (exponent - 1)))'}
        >>> steps[1].gradients
        (tensor(12.),)
    """
    if isinstance(gradient, Module):
        gradient, module = None, gradient
    roots = [] if isinstance(loss, Tensor) else roots_of(loss)
    named = {**(names or {}), **{root.name: root.tensor for root in roots if root.name and root.tensor is not None}}
    starts = [root.tensor if root.tensor is not None else GradientEdge(root.node, root.number) for root in roots]
    if not isinstance(values, int):
        raise TypeError(f"backward_steps(): argument 'values' must be a bool or an int, not {type_name(values)}")
    drawing = None
    with contextlib.suppress(RuntimeError, ValueError):  # without a graph, backward itself raises
        drawing = draw(loss, module, names=names)
    run = BackwardRun(float("inf") if values is True else values, drawing)
    recording = StepRecording(run)
    watch(recording)
    try:
        backward(starts or loss, gradient, retain_graph, create_graph, inputs=inputs)
    finally:
        unwatch(recording)
    _find_names(run, recording.steps, named, module)
    frames = None if drawing is None else Frames(drawing, recording.steps)
    return Steps(run, recording.steps, frames)


def _find_names(
    run: BackwardRun, steps: Sequence[BackwardStep], tensors: Mapping[str, Tensor], module: Module | None
) -> None:
    """Name the tensors that the steps refer to."""
    names = known_names(module, tensors)
    for step in steps:
        slots = [(step.node.sequence, number) for number in range(len(step.gradients))]
        found_names = {slot: names.of_output(*slot) for slot in slots}
        found_names.update({entry.slot: names.of(entry.tensor) for entry in step.accumulated})
        run.names.update({slot: name for slot, name in found_names.items() if name is not None})


class Steps(Sequence[BackwardStep]):
    """The steps of one backward pass, in order; ``print`` shows all of them, ``steps[2]`` or ``steps[:5]`` some.

    Jupyter shows a drawing with buttons to browse the steps if ipywidgets and pygraphviz are installed.
    """

    def __init__(self, run: BackwardRun, steps: Sequence[BackwardStep], frames: Frames | None):
        self._run = run
        self._steps = list(steps)
        self._frames = frames

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> BackwardStep: ...

    @overload
    def __getitem__(self, index: slice) -> Steps: ...

    def __getitem__(self, index: int | slice) -> BackwardStep | Steps:
        if isinstance(index, slice):
            return Steps(self._run, self._steps[index], self._frames)
        return self._steps[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self._steps))

    def __repr__(self) -> str:
        names = f", from {self._steps[0].title} to {self._steps[-1].title}" if self._steps else ""
        return f"<Steps: {len(self)} of backward{names}>"

    @property
    def drawing(self) -> Drawing | None:
        """The graph as it was before backward, in the form returned by ``draw``."""
        return self._run.drawing

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the formats that Jupyter shows: buttons and a slider if ipywidgets is installed, else HTML or text."""
        bundle: dict[str, Any] = {
            "text/plain": str(self) if len(self) <= MANY else repr(self),
            "text/html": steps_html(self._steps, self._frames),
        }
        try:
            from .widget import Stepper  # ipywidgets need not be installed
        except ImportError:
            return bundle
        return Stepper(self._steps, self._frames).box._repr_mimebundle_() | bundle if self._steps else bundle
