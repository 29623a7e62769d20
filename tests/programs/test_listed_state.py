"""Programs that look at listed state alone: ``compile(step, state=[model, optimizer])``."""

import random
import threading

import pytest
from programs.comparison import calls, ramp, replays

import numgrad
from numgrad import nn, optim
from numgrad.compiler import CaptureError


class Scaled(nn.Module):
    """A module with a parameter, a buffer that its calls change, a number and a counter."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(ramp(3))
        self.register_buffer("mean", numgrad.zeros(3))
        self.scale, self.calls = 2.0, 0

    def forward(self, x):
        self.calls += 1
        with numgrad.no_grad():
            self.mean.lerp_(x, 0.25)
        return (x - self.mean) * self.weight * (self.scale if self.training else 1.0)


CHANGES = {
    "learning rate": lambda model, optimizer: optimizer.param_groups[0].update(lr=0.5),
    "an option switched on": lambda model, optimizer: optimizer.param_groups[0].update(weight_decay=0.5),
    "mode": lambda model, optimizer: model.eval(),
    "a number": lambda model, optimizer: setattr(model[0], "scale", 3.0),
    "elements": lambda model, optimizer: model[0].weight.data.fill_(0.5),
    "memory": lambda model, optimizer: setattr(model[0].weight, "data", ramp(3) + 1),
    "a buffer": lambda model, optimizer: setattr(model[0], "mean", ramp(3)),
    "a parameter": lambda model, optimizer: setattr(model[0], "weight", nn.Parameter(ramp(3) * 2)),
    "a module": lambda model, optimizer: model.__setitem__(1, nn.ReLU()),
    "another module": lambda model, optimizer: model.append(nn.Tanh()),
    "a class": lambda model, optimizer: setattr(model[1], "__class__", nn.Sigmoid),
    "requires_grad": lambda model, optimizer: model[0].weight.requires_grad_(False),
    "a gradient": lambda model, optimizer: setattr(model[0].weight, "grad", numgrad.ones(3)),
    "dtype": lambda model, optimizer: (model.double(), optimizer.load_state_dict(optimizer.state_dict())),
    "the optimizer's state": lambda model, optimizer: optimizer.state.clear(),
    "loaded state": lambda model, optimizer: optimizer.load_state_dict(optimizer.state_dict()),
    "a loaded module": lambda model, optimizer: model.load_state_dict(
        {name: tensor + 1 for name, tensor in model.state_dict().items()}
    ),
    "a new dictionary of options": lambda model, optimizer: optimizer.param_groups.__setitem__(
        0, {**optimizer.param_groups[0], "lr": 0.7}
    ),
    "a new list of groups": lambda model, optimizer: setattr(
        optimizer, "param_groups", [{**optimizer.param_groups[0], "lr": 0.01}]
    ),
    "a group": lambda model, optimizer: optimizer.add_param_group({"params": [nn.Parameter(ramp(3))]}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_listed_state_are_seen(change):
    def results(wrap):
        numgrad.manual_seed(0)
        model = nn.Sequential(Scaled(), nn.Tanh(), nn.Dropout(0.5))
        optimizer = optim.Adam(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x.to(model[0].mean.dtype)).square().sum() + model[0].mean.sum()
            if loss.requires_grad:
                loss.backward()
                optimizer.step()
            return loss.detach()

        step, found = wrap(step, model, optimizer), []
        for number in range(9):
            if number == 5:
                CHANGES[change](model, optimizer)
            found.append(step(ramp(3)).item())
            weight = model[0].weight
            found += [weight.tolist(), model[0].mean.tolist(), model[0].calls, weight.grad is None]
        return found, step

    expected, _ = results(lambda step, model, optimizer: step)
    found, step = results(lambda step, *state: numgrad.compile(step, state=state, fullgraph=True))
    assert found == expected
    assert len(replays(step)) == 1


def test_all_else_is_constant():
    held, event, table = {"scale": 2.0}, threading.Event(), numgrad.ones(3)
    model, other = nn.Linear(3, 1).requires_grad_(False), nn.Dropout(0.5).eval()
    f = numgrad.compile(
        lambda x: (other(x) * held["scale"] * table, model(x) * event.is_set()), state=[model], fullgraph=True
    )
    first = f(ramp(3))
    held["scale"], other.training, table = 3.0, True, numgrad.zeros(3)
    event.set()
    assert [*map(numgrad.equal, f(ramp(3)), first)] == [True, True]
    assert replays(f) == [1]


def test_random_numbers_of_numgrad_continue():
    def results(wrap):
        numgrad.manual_seed(0)
        generator = numgrad.Generator().manual_seed(1)
        f = wrap(lambda: numgrad.rand(2) + numgrad.rand(2, generator=generator), state=[generator])
        return [f().tolist() for _ in range(5)]

    assert results(numgrad.compile) == results(lambda function, state: function)


outside, kept, numbers = ramp(3), {}, iter(range(9))


@pytest.mark.parametrize(("function", "message"), [
    (lambda x: x * random.random(), "draws random numbers that are not numgrad's"),
    (lambda x: x * next(numbers), "is an iterator, which changes when it is read"),
    (lambda x: outside.add_(x) * 1, "it changes outside: put it into state"),
    (lambda x: kept.update(last=x * 2), "a tensor of shape .*: put it into state, or return it"),
    (lambda x: x * numgrad.rand(3, generator=GENERATOR), "put it into state"),
])
def test_state_that_a_replay_could_not_change_is_an_error(function, message):
    f = numgrad.compile(function, state=[nn.Linear(3, 1)], fullgraph=True)
    with pytest.raises(CaptureError, match=message):
        f(ramp(3))


GENERATOR = numgrad.Generator()


def test_an_unlisted_parameter_must_not_change_even_if_the_result_has_a_graph():
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss  # its graph holds the parameters

    compiled = numgrad.compile(step, fullgraph=True, state=[])
    with pytest.raises(CaptureError, match=r"it changes model\.weight: put it into state"):
        calls(compiled, ramp(4, 3))


def test_a_tensor_in_the_memory_of_an_argument_is_an_error():
    x = ramp(4)
    part = x[:2]
    with pytest.raises(CaptureError, match=r"part lies in the memory of an argument"):
        numgrad.compile(lambda x: x[:2] * part, state=[], fullgraph=True)(x)


def test_objects_of_other_classes_are_not_state():
    with pytest.raises(TypeError, match="cannot have an object of the class Event"):
        numgrad.compile(lambda x: x, state=[{"a": [threading.Event()]}])


def test_a_compiled_module_looks_at_the_state_that_is_listed():
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    compiled = numgrad.compile(model, state=model, fullgraph=True)
    for _ in range(4):
        compiled(ramp(3))
    model.eval()
    assert numgrad.equal(compiled(ramp(3)), model(ramp(3)))
