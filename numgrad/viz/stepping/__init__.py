"""Backward step by step: it runs as always, and what it did at each node can be looked at afterwards.

What a node has saved goes by the name that the rules use, with that of the node's attribute and of pictures beside it
where this is another: ``(saved as self)`` is ``grad_fn._saved_self``.

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

from ...autograd.watching import unwatch, watch
from ...core.tensor import Tensor, type_name
from ...nn.modules.module import Module
from ..graph.drawing import Drawing, draw
from ..graph.names import known_names
from .frames import Frames, steps_html
from .recording import StepRecording
from .step import Run, Step

#: Steps up to which all are shown as text where nobody has asked for that by ``print``.
MANY = 100


def backward_steps(
    loss: Tensor,
    gradient: Tensor | None = None,
    *,
    inputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    values: bool | int = 1000,
    names: Mapping[str, Tensor] | None = None,
    module: Module | None = None,
) -> Steps:
    """Run ``loss.backward()`` and return what it did at each node, one step for each.

    Everything is as after ``loss.backward(gradient, retain_graph, create_graph, inputs)``: the engine itself does it.
    Each step has copies of the values as they were then.

    While somebody looks on, here or in a profile, the engine takes no short ways: a hook may then be given an expanded
    gradient, which cannot be written to, in place of one with elements of its own.

    Args:
        loss: the tensor to start from.
        gradient: its gradient, of its shape; may be left out for a tensor of one element.
        inputs: accumulate only into these.
        retain_graph: keep what was saved for backward; by default as ``create_graph``.
        create_graph: record the computation of the gradients.
        values: elements up to which a tensor is copied.  Of a larger one a ``Summary`` is kept: shape, dtype, the first
            three elements, the least and the greatest.  True copies all, whatever memory that takes.
        names: what to call tensors in the texts: tensors by name.  Others are called by the caller's variables.
        module: a module whose parameters get the names that they have in it.

    Raises:
        TypeError: ``loss`` is no tensor, or ``values``, ``names`` and ``module`` are not what they should be.
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
    if not isinstance(loss, Tensor):
        raise TypeError(f"backward_steps() needs a tensor to start from, not {type_name(loss)}")
    if not isinstance(values, int):
        raise TypeError(f"backward_steps(): argument 'values' must be a bool or an int, not {type_name(values)}")
    drawing = None
    with contextlib.suppress(RuntimeError, ValueError):  # there is no graph: backward will tell
        drawing = draw(loss, module, names=names)
    run = Run(float("inf") if values is True else values, drawing)
    recording = StepRecording(run)
    watch(recording)
    try:
        loss.backward(gradient, retain_graph, create_graph, inputs)
    finally:
        unwatch(recording)
    _find_names(run, recording.steps, names, module)
    frames = None if drawing is None else Frames(drawing, recording.steps)
    return Steps(run, recording.steps, frames)


def _find_names(
    run: Run, steps: Sequence[Step], given: Mapping[str, Tensor] | None, module: Module | None
) -> None:
    """Name the tensors that the steps have to do with."""
    names = known_names(module, given or {})
    for step in steps:
        slots = [(step.node.sequence, number) for number in range(len(step.gradients))]
        known = {slot: names.of_output(*slot) for slot in slots}
        known.update({entry.slot: names.of(entry.tensor) for entry in step.accumulated})
        run.names.update({slot: name for slot, name in known.items() if name is not None})


class Steps(Sequence[Step]):
    """The steps of one backward, in their order; ``print`` shows them all, ``steps[2]`` or ``steps[:5]`` some.

    Jupyter shows a drawing with buttons to go through them if ipywidgets and pygraphviz are installed.
    """

    def __init__(self, run: Run, steps: Sequence[Step], frames: Frames | None):
        self._run = run
        self._steps = list(steps)
        self._frames = frames

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> Steps: ...

    def __getitem__(self, index: int | slice) -> Step | Steps:
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
        """The graph as it was before backward, as ``draw`` gives it."""
        return self._run.drawing

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What Jupyter shows: buttons and a slider, where ipywidgets is installed, else HTML or text."""
        bundle: dict[str, Any] = {
            "text/plain": str(self) if len(self) <= MANY else repr(self),
            "text/html": steps_html(self._steps, self._frames),
        }
        try:
            from .widget import Stepper
        except ImportError:  # ipywidgets is not installed
            return bundle
        return Stepper(self._steps, self._frames).box._repr_mimebundle_() | bundle if self._steps else bundle
