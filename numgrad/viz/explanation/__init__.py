"""``numgrad.explain``: explanations, in words, of a tensor's gradient and graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.node import AccumulateGrad, Node
from ...autograd.saved import SavingNode
from ...core.display import counted, shown_by
from ...tensors.tensor import Tensor
from .subject import Subject, described, listed
from .tensors import (
    anomalies,
    dependence_text,
    gradient_text,
    graph_text,
    hooks_text,
    memory_text,
    requires_text,
    text_of_node,
)

if TYPE_CHECKING:
    from ...nn import Module

__all__ = ["Explanation", "explain"]

class Explanation:
    """An explanation of a tensor, a node or a module.  It prints as text.

    Attributes:
        summary: a description of the subject.
        topics: the text of each topic.
    """

    def __init__(self, summary: str, topics: dict[str, str]):
        self.summary = summary
        self.topics = topics

    def __getitem__(self, topic: str) -> str:
        return self.topics[topic]

    def __str__(self) -> str:
        return "\n".join([self.summary, *[f"{topic}: {text}" for topic, text in self.topics.items()]])

    __repr__ = __str__
    _repr_html_ = shown_by("explanation_html")


def explain(tensor: Tensor | Node | Module | None, output: Tensor | None = None) -> Explanation:
    """Explain in words why a tensor has a gradient or none, the state of its graph, and which operations use it.

    For a node (a ``grad_fn``) the explanation covers the graph behind it and its saved values; for a module, the
    parameters that learn and those that have gradients; for None, the possible origins of the None.

    Some facts are recorded only under :class:`numgrad.autograd.detect_anomaly`: the calls of backward that added to
    ``grad``, and the lines that recorded an operation or changed a tensor in place.  Finding the users of the tensor
    scans all objects of the process, which takes some time.  Nothing is changed.

    Args:
        tensor: a tensor of any shape and dtype, a node, a module or None.
        output: a tensor, such as a loss, whose dependence on ``tensor`` is explained, too.

    Returns:
        An object that prints as text; ``explanation["grad"]`` is the text of one topic.  The topics are
        ``requires_grad``, ``grad``, ``graph``, ``used by``, ``memory``, ``hooks`` and, if it is given, ``output``.

    Raises:
        TypeError: ``tensor`` is none of these, or ``output`` is not a tensor.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> loss = y.tanh().sum()
        >>> numgrad.explain(y)
        A tensor of shape [2], float32, made by MulBackward0.
        requires_grad: True, because it was computed from tensors that require gradients.
        grad: None. Only leaves keep their gradient: call retain_grad() on this tensor before backward().
        graph: 1 node and 1 leaf (of shape [2]) lie behind it. Nothing is freed: backward can go through it.
        used by: TanhBackward0.
        memory: its own, never changed in place.
        hooks: none.
        >>> loss.backward()
        >>> print(numgrad.explain(loss)["graph"])
        3 nodes and 1 leaf (of shape [2]) lie behind it. Values saved by TanhBackward0 and MulBackward0 were freed here:
          File "<doctest numgrad.viz.explanation.explain[5]>", line 1, in <module>
            loss.backward()
        With retain_graph=True, backward can run again.
        >>> print(numgrad.explain(x, loss)["output"])
        A tensor of shape [], float32, made by SumBackward0. 1 path leads back to the tensor:
        SumBackward0 <- TanhBackward0 <- MulBackward0 <- torch::autograd::AccumulateGrad
        >>> print(numgrad.explain(x.detach())["requires_grad"])
        False. It was detached from another tensor (tensor of shape [2], float32, a leaf) by detach() or .data.
    """
    if output is not None and not isinstance(output, Tensor):
        raise TypeError(f"explain(): argument 'output' must be Tensor, not {type(output).__name__}")
    if not isinstance(tensor, Tensor):
        return Explanation(*explain_other(tensor))
    subject = Subject(tensor)
    topics = {
        "requires_grad": requires_text(subject),
        "grad": gradient_text(subject),
        "graph": graph_text(subject),
        "used by": f"{listed([node.name() for node in subject.users]) or 'no recorded operation that still exists'}.",
        "memory": memory_text(subject),
        "hooks": hooks_text(subject),
    }
    if output is not None:
        topics["output"] = dependence_text(subject, output)
    return Explanation(f"{subject.described()}.", topics)


#: The explanation of a subject other than a tensor: a summary, and the text of each topic.
Explained = tuple[str, dict[str, str]]


def explain_other(thing: Any) -> Explained:
    """Return the summary and the topics for a subject other than a tensor.

    Raises:
        TypeError: the subject cannot be explained.
    """
    if thing is None:
        return _of_none()
    if isinstance(thing, Node):
        return _of_node(thing)
    from ...nn.modules.module import Module  # explaining a tensor must not load numgrad.nn

    if isinstance(thing, Module):
        return _of_module(thing)
    advice = ""
    if callable(thing):
        advice = ": call it, and explain what it returns"
    elif isinstance(thing, list | tuple | dict):
        advice = ": explain the tensors in it one by one"
    raise TypeError(f"explain(): argument 'tensor' must be Tensor, not {type(thing).__name__}{advice}")


def _of_none() -> Explained:
    return "None: there is no tensor.", {
        "a grad": "explain the tensor itself, not its grad, to learn why it has none.",
        "a grad_fn": "no recorded operation made the tensor; explain the tensor to learn why.",
        "a result of autograd.grad": "the output does not depend on that input; explain(input, output) says more.",
        "a result of a function": "some change their argument and return nothing, as Module.zero_grad() does.",
    }


def _of_node(node: Node) -> Explained:
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        return f"{node.name()}, a node: it adds incoming gradients to the grad of a leaf of {described(leaf)}.", {
            "grad": "None." if leaf._grad is None else f"{described(leaf._grad)}{anomalies(leaf._grad)}."
        }
    receivers = [edge[0].name() for edge in node.edges if edge is not None]
    names = list(node.saved_names()) if isinstance(node, SavingNode) and not node.is_freed() else []
    name, shape = node.name(), list(node.layout.shape)
    return f"{name}, a node: it computes the gradients of its operands from that of its result, of shape {shape}.", {
        "gradients go to": f"{listed(receivers) or 'nothing'}.",
        "saved": f"{listed(names)}." if names else "nothing, or it was freed.",
        "graph": text_of_node(node),
    }


def _of_module(module: Module) -> Explained:
    named = dict(module.named_parameters())
    learning = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    frozen = [name for name in named if name not in learning]
    missing = [name for name, parameter in learning.items() if parameter._grad is None]
    strange = [
        f"{name}{words}" for name, parameter in learning.items()
        if parameter._grad is not None and (words := anomalies(parameter._grad))
    ]
    have = len(learning) - len(missing)
    count = sum(parameter.numel() for parameter in named.values())
    without = f" None: {listed(missing)}; explain one of them to learn why." if missing else ""
    return f"A {type(module).__name__} with {counted(len(named), 'parameter')}, {counted(count, 'element')}.", {
        "requires_grad": f"{len(learning)} of {len(named)} learn{f'; frozen: {listed(frozen)}' if frozen else ''}.",
        "grad": f"{have} of {len(learning)} have one.{without}{f' Unusual: {listed(strange)}.' if strange else ''}",
        "mode": "training." if module.training else "evaluation.",
    }
