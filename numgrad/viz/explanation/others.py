"""What there is to say of what is no tensor: a node, a module, None."""

from __future__ import annotations

from typing import Any

from ...autograd.node import AccumulateGrad, Node
from ...autograd.saved import SavingNode
from ...core.display import counted
from ...nn.modules.module import Module
from . import gradient, graph
from .subject import described, listed

#: What is said in place of an account: a summary, and what there is to say by topic.
Account = tuple[str, dict[str, str]]


def account(thing: Any) -> Account:
    """The summary and the topics.

    Raises:
        TypeError: there is nothing to say of it.
    """
    if thing is None:
        return _of_none()
    if isinstance(thing, Node):
        return _of_node(thing)
    if isinstance(thing, Module):
        return _of_module(thing)
    advice = ""
    if callable(thing):
        advice = ": call it, and explain what it returns"
    elif isinstance(thing, list | tuple | dict):
        advice = ": explain the tensors in it one by one"
    raise TypeError(f"explain(): argument 'tensor' must be Tensor, not {type(thing).__name__}{advice}")


def _of_none() -> Account:
    return "None: there is no tensor.", {
        "a grad": "explain the tensor itself, not its grad, to be told why it has none.",
        "a grad_fn": "no recorded operation made the tensor; explain the tensor to be told why.",
        "a result of autograd.grad": "the output does not depend on that input; explain(input, output) says more.",
        "a result of a function": "some change what they are given and return nothing, as Module.zero_grad() does.",
    }


def _of_node(node: Node) -> Account:
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        return f"{node.name()}, a node: it adds what arrives to the grad of a leaf of {described(leaf)}.", {
            "grad": "None." if leaf._grad is None else f"{described(leaf._grad)}{gradient.remarkable(leaf._grad)}."
        }
    receivers = [edge[0].name() for edge in node.edges if edge is not None]
    names = list(node.saved_names()) if isinstance(node, SavingNode) and not node.is_freed() else []
    name, shape = node.name(), list(node.layout.shape)
    return f"{name}, a node: it turns the gradient of its result, of shape {shape}, into those of its operands.", {
        "gradients go to": f"{listed(receivers) or 'nobody'}.",
        "saved": f"{listed(names)}." if names else "nothing, or it was freed.",
        "graph": graph.text_of_node(node),
    }


def _of_module(module: Module) -> Account:
    named = dict(module.named_parameters())
    learning = {name: parameter for name, parameter in named.items() if parameter.requires_grad}
    frozen = [name for name in named if name not in learning]
    missing = [name for name, parameter in learning.items() if parameter._grad is None]
    strange = [
        f"{name}{words}" for name, parameter in learning.items()
        if parameter._grad is not None and (words := gradient.remarkable(parameter._grad))
    ]
    have = len(learning) - len(missing)
    count = sum(parameter.numel() for parameter in named.values())
    without = f" None: {listed(missing)}; explain one of them to be told why." if missing else ""
    return f"A {type(module).__name__} with {counted(len(named), 'parameter')}, {counted(count, 'element')}.", {
        "requires_grad": f"{len(learning)} of {len(named)} learn{f'; frozen: {listed(frozen)}' if frozen else ''}.",
        "grad": f"{have} of {len(learning)} have one.{without}{f' Striking: {listed(strange)}.' if strange else ''}",
        "mode": "training." if module.training else "evaluation.",
    }
