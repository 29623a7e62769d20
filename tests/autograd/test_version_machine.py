"""Saving, in-place changes and backward passes in any order: an error exactly where a saved value is lost.

The model has, for every tensor, the node that made it, and for every node its saved memory and version.
Backward must fail if and only if it reaches a node whose saved memory has changed since.
"""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import numgrad


class Memory:
    def __init__(self):
        self.version = 0


class MadeBy:
    """A node of the graph: its saved values, and the nodes that made its inputs (None for a leaf)."""

    def __init__(self, saved, parents):
        self.saved = [(memory, memory.version) for memory in saved]
        self.parents = [parent for parent in parents if parent is not None]

    def is_spoilt(self):
        """Return True if a backward pass through this node reaches a tensor that was changed."""
        seen, stack = {id(self)}, [self]
        while stack:
            node = stack.pop()
            if any(memory.version != version for memory, version in node.saved):
                return True
            for parent in node.parents:
                if id(parent) not in seen:
                    seen.add(id(parent))
                    stack.append(parent)
        return False


class Model:
    def __init__(self, tensor, memory, node, requires_grad):
        self.tensor, self.memory, self.node, self.requires_grad = tensor, memory, node, requires_grad


class Versions(RuleBasedStateMachine):
    @initialize()
    def start(self):
        values = np.array([0.5, 0.75])
        self.x = numgrad.from_numpy(values.copy()).requires_grad_()
        self.models = [Model(self.x, Memory(), None, True)]
        self.models.append(Model(numgrad.from_numpy(values.copy()), Memory(), None, False))

    def choose(self, number):
        return self.models[number % len(self.models)]

    def add(self, tensor, saved, *inputs, saves_result=False):
        needed = any(model.requires_grad for model in inputs)
        memory = Memory()
        if saves_result:
            saved = [*saved, memory]
        node = MadeBy(saved, [model.node for model in inputs]) if needed else None
        self.models.append(Model(tensor, memory, node, needed))

    @rule(number=st.integers(0, 99), name=st.sampled_from(["exp", "square", "neg", "halved", "sin of the transpose"]))
    def unary(self, number, name):
        model = self.choose(number)
        function = {
            "exp": numgrad.exp, "square": lambda t: t**2, "neg": lambda t: -t, "halved": lambda t: t * 0.5,
            "sin of the transpose": lambda t: t.expand(1, 2).t().sin().sum(1),
        }[name]
        saved = [model.memory] if name in ("square", "sin of the transpose") else []
        self.add(function(model.tensor), saved, model, saves_result=name == "exp")

    @rule(first=st.integers(0, 99), second=st.integers(0, 99), product=st.booleans())
    def binary(self, first, second, product):
        one, other = self.choose(first), self.choose(second)
        saved = [a.memory for a, b in ((one, other), (other, one)) if product and b.requires_grad]
        result = one.tensor * other.tensor if product else one.tensor - other.tensor
        self.add(result, saved, one, other)

    @rule(number=st.integers(0, 99), other=st.integers(0, 99), how=st.sampled_from(["add_", "mul_", "mul_ number"]))
    def change(self, number, other, how):
        model, operand = self.choose(number), self.choose(other)
        assume(model.tensor is not self.x)
        inputs = [model] if how == "mul_ number" else [model, operand]
        saved = [operand.memory] if how == "mul_" and model.requires_grad else []
        node = MadeBy(saved, [input.node for input in inputs])  # it keeps a copy of the overwritten value
        if how == "mul_ number":
            model.tensor.mul_(0.5)
        else:
            getattr(model.tensor, how)(operand.tensor)
        model.memory.version += 1
        if any(one.requires_grad for one in inputs):
            model.node, model.requires_grad = node, True

    @rule(number=st.integers(0, 99), how=st.sampled_from(["no_grad", "detached", "part", "data"]))
    def change_unrecorded(self, number, how):
        tensor = self.choose(number).tensor
        with numgrad.no_grad():
            {"no_grad": tensor, "detached": tensor.detach(), "part": tensor[1:], "data": tensor.data}[how].mul_(0.9)
        if how != "data":
            self.choose(number).memory.version += 1

    @rule(create_graph=st.booleans())
    def go_backward(self, create_graph):
        for model in self.models:
            assert model.tensor.requires_grad == model.requires_grad
            if not model.requires_grad:
                continue
            total = model.tensor.sum()
            spoilt = model.node is not None and model.node.is_spoilt()
            with pytest.raises(RuntimeError, match="modified by an inplace operation") if spoilt else nullcontext():
                if create_graph:
                    numgrad.autograd.grad(total, self.x, create_graph=True, allow_unused=True)
                else:
                    total.backward(retain_graph=True)


Versions.TestCase.settings = settings(max_examples=150, stateful_step_count=25, derandomize=True, deadline=None)
TestVersions = Versions.TestCase
