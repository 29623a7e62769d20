"""``numgrad.explain``: in words, what a tensor has to do with gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...autograd.node import Node
from ...core.display import shown_by
from ...core.tensor import Tensor
from . import gradient, graph, memory, requires
from .subject import Subject, listed

if TYPE_CHECKING:
    from ...nn import Module

__all__ = ["Explanation", "explain"]


class Explanation:
    """What there is to say of a tensor.  It prints as text.

    Attributes:
        summary: what the tensor is.
        topics: by topic, what there is to say.
    """

    def __init__(self, summary: str, topics: dict[str, str]):
        self.summary = summary
        self.topics = topics

    def __getitem__(self, topic: str) -> str:
        return self.topics[topic]

    def __str__(self) -> str:
        return "\n".join([self.summary, *[f"{topic}: {text}" for topic, text in self.topics.items()]])

    __repr__ = __str__
    _repr_html_ = shown_by("explanations")


def explain(tensor: Tensor | Node | Module | None, output: Tensor | None = None) -> Explanation:
    """Say in words why a tensor has a gradient or none, what became of its graph, and who uses it.

    Of a node (a ``grad_fn``) it says what lies behind it and what it has saved, of a module which of its parameters
    learn and have gradients; of None where that may have come from.

    Some of it is known only of what happened under :class:`numgrad.autograd.detect_anomaly`: which calls of backward
    have added to ``grad``, and which lines recorded an operation or changed a tensor in place.  To find who uses the
    tensor, all objects of the process are looked at, which takes some time; nothing is changed.

    Args:
        tensor: of any shape and dtype; or a node, a module or None.
        output: a tensor, such as a loss, of which to say whether and how it depends on ``tensor``.

    Returns:
        An object that prints as text; ``explanation["grad"]`` is what it says of one topic.  The topics are
        ``requires_grad``, ``grad``, ``graph``, ``used by``, ``memory``, ``hooks`` and, where one is given, ``output``.

    Raises:
        TypeError: one of the arguments is nothing of these, or ``output`` no tensor.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> loss = y.tanh().sum()
        >>> numgrad.explain(y)
        A tensor of shape [2], float32, made by MulBackward0.
        requires_grad: True, since it was computed from tensors that require gradients.
        grad: None. Only leaves keep their gradient: call retain_grad() on this tensor before backward().
        graph: 1 node and 1 leaf (of shape [2]) lie behind it. Nothing is freed: backward can go through it.
        used by: TanhBackward0.
        memory: its own, never changed in place.
        hooks: none.
        >>> loss.backward()
        >>> print(numgrad.explain(loss)["graph"])
        3 nodes and 1 leaf (of shape [2]) lie behind it. What TanhBackward0 and MulBackward0 had saved was freed here:
          File "<doctest numgrad.viz.explanation.explain[5]>", line 1, in <module>
            loss.backward()
        With retain_graph=True the graph can be gone through again.
        >>> print(numgrad.explain(x, loss)["output"])
        A tensor of shape [], float32, made by SumBackward0. 1 path leads back to the tensor:
        SumBackward0 <- TanhBackward0 <- MulBackward0 <- torch::autograd::AccumulateGrad
        >>> print(numgrad.explain(x.detach())["requires_grad"])
        False. It was cut off the graph of another tensor (tensor of shape [2], float32, a leaf) by detach() or .data.
    """
    if output is not None and not isinstance(output, Tensor):
        raise TypeError(f"explain(): argument 'output' must be Tensor, not {type(output).__name__}")
    if not isinstance(tensor, Tensor):
        from .others import account  # which needs numgrad.nn

        return Explanation(*account(tensor))
    subject = Subject(tensor)
    topics = {
        "requires_grad": requires.text(subject),
        "grad": gradient.text(subject),
        "graph": graph.text(subject),
        "used by": f"{listed([node.name() for node in subject.users]) or 'no recorded operation that still exists'}.",
        "memory": memory.text(subject),
        "hooks": memory.hooks_text(subject),
    }
    if output is not None:
        topics["output"] = graph.dependence_text(subject, output)
    return Explanation(f"{subject.described()}.", topics)
