"""Views and in-place changes in any order, against NumPy: values, derivatives, versions and errors.

The model holds, for every tensor, a NumPy array of its elements and one of their derivatives with respect to the six
elements of ``x``; a view of the tensor is a view of both.  All operations are linear, so that nothing is saved for
backward which a later change could spoil.
"""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import numgrad

#: Views of a tensor and of the model's arrays; those of the derivatives have one more dimension at the end.
VIEWS = {
    "first": (lambda t: t[0], lambda a: a[0], 1),
    "rest": (lambda t: t[1:], lambda a: a[1:], 1),
    "every other": (lambda t: t[..., ::2], lambda a: a[..., ::2], 1),
    "exchanged": (lambda t: t.transpose(0, 1), lambda a: a.swapaxes(0, 1), 2),
    "unsqueezed": (lambda t: t.unsqueeze(0), lambda a: a[None], 0),
    "one of several": (lambda t: t.unbind()[0], lambda a: a[0], 1),
    "part of several": (lambda t: t.split(1)[0], lambda a: a[:1], 1),
}
SEVERAL = ("one of several", "part of several")

#: In-place changes by a tensor of the same shape, and their effects on the elements and on their derivatives.
WRITES = {
    "add_": (lambda t, u: t.add_(u), lambda a, b: np.add(a, b, out=a)),
    "sub_": (lambda t, u: t.sub_(u, alpha=2), lambda a, b: np.subtract(a, 2 * b, out=a)),
    "copy_": (lambda t, u: t.copy_(u), lambda a, b: np.copyto(a, b)),
    "mul_": (lambda t, u: t.mul_(-2), lambda a, b: np.multiply(a, -2, out=a)),
    "zero_": (lambda t, u: t.zero_(), lambda a, b: a.fill(0)),
    "assignment": (lambda t, u: t.__setitem__(..., u), lambda a, b: np.copyto(a, b)),
}


class Memory:
    """State that all tensors on one memory share."""

    def __init__(self, base, requires_grad):
        self.base, self.requires_grad, self.version = base, requires_grad, 0


class Model:
    """A tensor with its elements and derivatives; ``made`` says whether it is one of several views, or unrecorded."""

    def __init__(self, tensor, memory, values, slopes, made=None):
        self.tensor, self.memory, self.values, self.slopes, self.made = tensor, memory, values, slopes, made
        self.version = memory.version

    @property
    def stale(self):
        """Return True if the tensor is unusable, as its memory was changed and it cannot follow."""
        return self.made is not None and self.memory.requires_grad and self.version != self.memory.version


@contextmanager
def refused():
    with pytest.raises(RuntimeError, match="modified inplace"):
        yield


class Views(RuleBasedStateMachine):
    @initialize()
    def start(self):
        values = np.arange(1.0, 7.0).reshape(2, 3)
        self.x = numgrad.from_numpy(values.copy()).requires_grad_()
        self.models = []
        self.add(self.x * 1, values, np.eye(6).reshape(2, 3, 6), True)
        self.add(numgrad.ones(2, 3, dtype=numgrad.float64), np.ones((2, 3)), np.zeros((2, 3, 6)), False)

    def add(self, tensor, values, slopes, requires_grad):
        self.models.append(Model(tensor, Memory(tensor, requires_grad), values, slopes))

    def choose(self, number):
        return self.models[number % len(self.models)]

    @rule(number=st.integers(0, 99), name=st.sampled_from([*VIEWS]), recorded=st.integers(0, 5))
    def view(self, number, name, recorded):
        model = self.choose(number)
        look, regard, rank = VIEWS[name]
        assume(model.values.ndim >= rank and model.values.ndim < 4 and model.values.shape[:1] != (0,))
        if model.stale:
            return
        values, slopes = regard(model.values), regard(model.slopes)
        if name == "every other":
            slopes = model.slopes[..., ::2, :]
        with numgrad.set_grad_enabled(recorded > 0):
            tensor = look(model.tensor)
        made = "unrecorded" if not recorded else "several" if name in SEVERAL else model.made
        self.models.append(Model(tensor, model.memory, values, slopes, made))

    @rule(number=st.integers(0, 99), other=st.integers(0, 99), name=st.sampled_from([*WRITES]))
    def write(self, number, other, name):
        target, source = self.choose(number), self.choose(other)
        assume(target.values.shape == source.values.shape and source.made is None)
        change, model_change = WRITES[name]
        taken, values, slopes = source.tensor.clone(), source.values.copy(), source.slopes.copy()
        needed = source.memory.requires_grad and name not in ("mul_", "zero_")
        if target.made and (target.memory.requires_grad or needed):
            with refused():
                change(target.tensor, taken)
            return
        change(target.tensor, taken)
        model_change(target.values, values)
        model_change(target.slopes, slopes)
        target.memory.version += 1
        target.memory.requires_grad |= needed

    @rule(number=st.integers(0, 99), detached=st.booleans())
    def write_unrecorded(self, number, detached):
        model = self.choose(number)
        if detached:
            model.tensor.detach().add_(1)
        else:
            with numgrad.no_grad():
                model.tensor.add_(1)
        model.values += 1
        model.memory.version += 1

    @rule(number=st.integers(0, 99), transposed=st.booleans())
    def reshape_in_place(self, number, transposed):
        model = self.choose(number)
        assume(2 <= model.values.ndim < 4)
        def change():
            return model.tensor.transpose_(0, 1) if transposed else model.tensor.unsqueeze_(0)

        if model.made and model.memory.requires_grad:
            with refused():
                change()
            return
        change()
        for name in ("values", "slopes"):
            array = getattr(model, name)
            setattr(model, name, array.swapaxes(0, 1) if transposed else array[None])
        model.memory.version += 1
        if model.version == model.memory.version - 1:
            model.version += 1

    @rule(number=st.integers(0, 99))
    def copy(self, number):
        model = self.choose(number)
        assume(model.made is None)
        self.add(model.tensor * 1, model.values.copy(), model.slopes.copy(), model.memory.requires_grad)

    @rule(number=st.integers(0, 99))
    def derivative(self, number):
        model = self.choose(number)
        weights = np.arange(1.0, model.values.size + 1).reshape(model.values.shape)
        if model.stale:
            with refused():
                model.tensor.sum()
            return
        if model.made == "unrecorded" or not model.memory.requires_grad:
            return
        total = (model.tensor * numgrad.from_numpy(weights)).sum()
        found, = numgrad.autograd.grad(total, self.x, materialize_grads=True, retain_graph=True)
        expected = np.tensordot(weights, model.slopes, weights.ndim)
        np.testing.assert_allclose(found.numpy().reshape(6), expected, 1e-12, 1e-12)

    @invariant()
    def models_agree(self):
        for model in getattr(self, "models", ()):
            tensor, memory = model.tensor, model.memory
            assert np.array_equal(tensor.detach().numpy(), model.values)
            assert tensor._version == memory.version
            assert tensor.requires_grad == memory.requires_grad
            assert tensor._base is (None if tensor is memory.base else memory.base)


Views.TestCase.settings = settings(max_examples=150, stateful_step_count=30, derandomize=True, deadline=None)
TestViews = Views.TestCase
