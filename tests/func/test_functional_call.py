"""``func.functional_call`` and ``stack_module_state``: modules with replaced tensors."""

import pytest

from numgrad import Tensor, nn, ones, tensor, zeros
from numgrad.func import functional_call, grad, stack_module_state


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(tensor(10.0))

    def forward(self, x):
        return self.factor * x


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tensor([1.0, 2.0]))
        self.register_buffer("shift", tensor([3.0, 4.0]))
        self.inner = Inner()

    def forward(self, x, scale=1.0):
        return self.weight * x * scale + self.shift + self.inner(x)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(tensor(1.0))
        self.second = self.first

    def forward(self, x):
        return x + self.first * 2 + self.second * 5


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", tensor(0.0))

    def forward(self, x):
        self.calls = self.calls + 1
        return x


@pytest.fixture
def x():
    return tensor([1.0, 2.0])


@pytest.fixture
def module():
    return Outer()


def test_tensors_are_replaced_for_the_call(x, module):
    weight, shift, state = module.weight, module.shift, list(module.state_dict())
    new = {"weight": ones(2), "shift": zeros(2), "inner.factor": tensor(0.0)}
    assert functional_call(module, new, (x,)).tolist() == [1, 2]
    assert functional_call(module, new, x, {"scale": 3.0}).tolist() == [3, 6]
    assert functional_call(module, new, None, {"x": x}).tolist() == [1, 2]
    assert functional_call(module, ({"weight": zeros(2)}, {"shift": zeros(2)}), x).tolist() == [10, 20]
    assert module.weight is weight
    assert module.shift is shift
    assert list(module.state_dict()) == state
    assert functional_call(module, {}, x).tolist() == module(x).tolist()


def test_after_an_error_the_module_is_as_before(x, module):
    weight, factor = module.weight, module.inner.factor
    with pytest.raises(RuntimeError):
        functional_call(module, {"inner.factor": tensor(1.0), "weight": ones(3)}, x)
    with pytest.raises(TypeError, match=r"3.0 is not an instance of torch.Tensor"):
        functional_call(module, {"inner.factor": tensor(1.0), "weight": 3.0}, x)
    assert module.weight is weight
    assert module.inner.factor is factor


def test_gradients_by_the_parameters(x, module):
    parameters = dict(module.named_parameters())
    result = grad(lambda parameters: functional_call(module, parameters, x).sum())(parameters)
    assert {name: gradient.tolist() for name, gradient in result.items()} == {"weight": [1, 2], "inner.factor": 3}
    assert module.weight.grad is None


def test_tied_tensors_are_replaced_together(x):
    module, new = Tied(), tensor(0.0)
    for names in (["first"], ["second"], ["first", "second"]):
        assert functional_call(module, dict.fromkeys(names, new), x, strict=True).tolist() == [1, 2]
    assert functional_call(module, {"first": new}, x, tie_weights=False).tolist() == [6, 7]
    assert functional_call(module, {"first": new, "second": ones(())}, x, tie_weights=False).tolist() == [6, 7]
    with pytest.raises(ValueError, match=r"multiple values for keys \['first', 'second'\], which are tied"):
        functional_call(module, {"first": new, "second": ones(())}, x)
    assert module.second is module.first


def test_parameters_replaced_by_the_module_are_restored(x):
    module, state = Counter(), {"calls": tensor(5.0)}
    functional_call(module, state, x)
    assert state["calls"].item() == 6
    assert module.calls.item() == 0


def test_other_attributes_may_be_given_for_the_call(x, module):
    functional_call(module, {"extra": ones(1)}, x)
    assert not hasattr(module, "extra")


ERRORS = {
    "missing": (
        lambda m, x: functional_call(m, {"weight": ones(2)}, x, strict=True), RuntimeError,
        r"for Outer:\n\tMissing key\(s\): 'inner.factor', 'shift'.",
    ),
    "unknown": (
        lambda m, x: functional_call(m, dict(m.state_dict()) | {"z": x}, x, strict=True), RuntimeError,
        r"for Outer:\n\tUnexpected key\(s\): 'z'.$",
    ),
    "no dictionary": (lambda m, x: functional_call(m, 3, x), ValueError, "to be a dict, or a list/tuple of dicts"),
    "no dictionaries": (lambda m, x: functional_call(m, ({}, 3), x), ValueError, "to be dictionaries"),
    "twice": (
        lambda m, x: functional_call(m, ({"weight": x}, {"weight": x}), x), ValueError,
        r"\['weight'\] appeared in multiple",
    ),
    "no submodule": (lambda m, x: functional_call(m, {"other.weight": x}, x), AttributeError, "no attribute `other`"),
    "a submodule": (lambda m, x: functional_call(m, {"inner": x}, x), TypeError, "`inner`: .* not an instance of"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(module, x, case):
    call, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        call(module, x)


# -- stacking -----------------------------------------------------------------------------------------------


def test_states_are_stacked_by_name():
    models = [Outer(), Outer(), Outer()]
    models[1].inner.factor.data.fill_(7.0)
    parameters, buffers = stack_module_state(models)
    assert {name: tuple(one.shape) for name, one in parameters.items()} == {"weight": (3, 2), "inner.factor": (3,)}
    assert parameters["inner.factor"].tolist() == [10, 7, 10]
    assert buffers["shift"].tolist() == [[3, 4]] * 3
    assert all(
        parameter.is_leaf and parameter.requires_grad and type(parameter) is Tensor for parameter in parameters.values()
    )
    assert not buffers["shift"].requires_grad


def test_a_context_replaces_the_tensors_of_a_module():
    model = Outer()
    with nn.utils.stateless._reparametrize_module(model, {"inner.factor": tensor(0.0)}):
        assert model(ones(2)).tolist() == [4, 6]
    assert model(ones(2)).tolist() == [14, 16]


def test_parameters_without_gradients_are_stacked_without_them():
    models = [Inner(), Inner()]
    for model in models:
        model.requires_grad_(False)
    assert not stack_module_state(models)[0]["factor"].requires_grad


STACKING = {
    "at least one model": list,
    "same training/eval mode": lambda: [Inner(), Inner().eval()],
    "same class": lambda: [Inner(), Outer()],
    "factor from each model to have the same .requires_grad": lambda: [Inner(), Inner().requires_grad_(False)],
    "stack expects each tensor to be equal size": lambda: [nn.Linear(1, 1), nn.Linear(2, 1)],
}


@pytest.mark.parametrize("message", STACKING)
def test_modules_that_cannot_be_stacked(message):
    with pytest.raises(RuntimeError, match=message):
        stack_module_state(STACKING[message]())
