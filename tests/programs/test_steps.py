"""Training steps compiled as a whole: parameters, gradients, states and versions are those of the steps themselves."""

import copy

import pytest
from optim.test_formulas import CASES as FUSED
from optim.test_matrix_optimizers import CASES as OF_MATRICES
from programs.comparison import replays

import numgrad
from numgrad import nn, optim
from numgrad.nn.functional import mse_loss

OPTIMIZERS = [*FUSED, *[case for case in OF_MATRICES if case[0] != "Adafactor"]]
ADAFACTOR = [case for case in OF_MATRICES if case[0] == "Adafactor"]


class Training:
    """A model, its optimizer and a training step, which is compiled if ``compiled``."""

    def __init__(self, make, compiled, model=None):
        numgrad.manual_seed(0)
        self.model = model() if model else nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Dropout(0.2), nn.Linear(5, 2))
        self.optimizer = make(self.model.parameters())
        self.step = numgrad.compile(self.do) if compiled else self.do

    def do(self, x, y):
        self.optimizer.zero_grad()
        loss = mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def seen(self):
        """The state that a step may change."""
        found = []
        for tensor in [*self.model.parameters(), *self.model.buffers()]:
            found += [bits(tensor), tensor._version, bits(tensor.grad)]
        for state in self.optimizer.state_dict()["state"].values():
            found += [(name, bits(value), getattr(value, "_version", 0)) for name, value in state.items()]
        groups = [{name: value for name, value in group.items() if name != "params"} for group in
                  self.optimizer.param_groups]
        return [*found, groups, bits(numgrad.get_rng_state())]


def bits(value):
    if isinstance(value, list):
        return [*map(bits, value)]
    if not isinstance(value, numgrad.Tensor):
        return value
    return value.dtype, tuple(value.shape), value.stride(), value.detach().numpy().tobytes()


def data(number):
    generator = numgrad.Generator().manual_seed(number)
    return numgrad.randn(6, 4, generator=generator), numgrad.randn(6, 2, generator=generator)


def compare(make, between=lambda training, number: None, steps=5, step=None, model=None):
    """Training steps, compared with those of a compiled one; ``between`` is called before each."""
    trainings = []
    for compiled in (False, True):
        training = Training(make, False, model)
        if step is not None:
            training.do = training.step = step.__get__(training)
        if compiled:
            training.step = numgrad.compile(training.do)
        trainings.append(training)
    for number in range(steps):
        results = []
        for training in trainings:
            numgrad.manual_seed(number)
            between(training, number)
            result = training.step(*data(number))
            results.append((bits(result), training.seen()))
        assert results[0] == results[1], f"in step {number}"
    return trainings[1].step


@pytest.mark.parametrize("set_to_none", [True, False], ids=["none", "zeros"])
@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=str)
def test_optimizers(name, options, set_to_none):
    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none)
        loss = mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def schedule(training, number):
        if number == 3:
            for group in training.optimizer.param_groups:
                group["lr"] = group["lr"] * 0.5

    def model():
        return nn.Sequential(nn.Linear(4, 5, bias=False), nn.Tanh(), nn.Linear(5, 2, bias=False))

    compiled = compare(lambda params: getattr(optim, name)(params, **options), schedule, 7, step, model)
    # Muon has its options in the program; Adagrad has a state from the start, so that its first step is a program, too
    assert replays(compiled) == [2 if name == "Muon" else 1]


@pytest.mark.parametrize(("name", "options"), ADAFACTOR, ids=str)
def test_optimizers_that_look_at_values(name, options):
    with pytest.warns(UserWarning, match="needs values"):
        compare(lambda params: getattr(optim, name)(params, **options))


def sgd(params):
    return optim.SGD(params, lr=0.1, momentum=0.9)


def adam(params):
    return optim.AdamW(params, lr=0.1)


@pytest.mark.parametrize("make", [sgd, adam])
@pytest.mark.parametrize("kind", ["StepLR", "CosineAnnealingLR", "ExponentialLR", "OneCycleLR"])
def test_schedules_between_steps(kind, make):
    options = {"StepLR": {"step_size": 2}, "CosineAnnealingLR": {"T_max": 9}, "ExponentialLR": {"gamma": 0.8},
               "OneCycleLR": {"max_lr": 0.5, "total_steps": 8}}[kind]  # fmt: skip
    schedules = {}

    def between(training, number):
        if number:
            schedules[id(training)].step()
        else:
            schedules[id(training)] = getattr(optim.lr_scheduler, kind)(training.optimizer, **options)
            training.optimizer.step()  # none before, since schedules would warn

    assert replays(compare(make, between, 6)) == [1]


@pytest.mark.parametrize("kind", ["SGD", "AdamW", "NAdam", "ASGD"])
def test_rates_that_are_tensors(kind):
    def make(params):
        return getattr(optim, kind)(params, lr=numgrad.tensor(0.1))

    def between(training, number):
        group = training.optimizer.param_groups[0]
        if number == 3:
            group["lr"].mul_(0.5)
        elif number > 3:
            group["lr"] = numgrad.tensor(0.2) if number == 4 else 0.3

    assert replays(compare(make, between, 7)) == [1]

    def step(self, x, y):
        loss = Training.do(self, x, y)
        self.optimizer.param_groups[0]["lr"].mul_(0.9)
        return loss

    with pytest.warns(UserWarning, match="it changes an option of an optimizer in place"):
        compare(make, step=step)


def option(name, value):
    def change(training):
        for group in training.optimizer.param_groups:
            group[name] = value

    return change


def freeze(training):
    training.model[0].weight.requires_grad_(not training.model[0].weight.requires_grad)


def reload(training):
    state = copy.deepcopy(training.model.state_dict())
    training.model.load_state_dict({name: value * 0.5 for name, value in state.items()})
    training.optimizer.load_state_dict(copy.deepcopy(training.optimizer.state_dict()))


def replace(training):
    training.model[3].bias = nn.Parameter(numgrad.ones(2))
    training.optimizer.add_param_group({"params": [training.model[3].bias], "lr": 0.01})


def set_data(training):
    training.model[0].weight.data = training.model[0].weight.data * 2


def change_gradients(training):
    for parameter in training.model.parameters():
        if parameter.grad is not None:
            parameter.grad = parameter.grad * 2


def give_up_gradients(training):
    training.model.zero_grad()


def hook(training):
    training.model[0].register_forward_hook(lambda module, given, result: result * 2)


def evaluate(training):
    training.model.train(not training.model.training)


def dropout(training):
    training.model[2].p = 0.7


def new_optimizer(training):
    training.optimizer = optim.SGD(training.model.parameters(), lr=0.3)


CHANGES = [
    option("lr", 0.01), option("weight_decay", 0.3), option("maximize", True), freeze, reload, replace, set_data,
    change_gradients, give_up_gradients, hook, evaluate, dropout, new_optimizer,
]


@pytest.mark.filterwarnings("ignore:.*cannot be compiled as a whole")
@pytest.mark.parametrize("make", [sgd, adam])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_steps(change, make):
    compare(make, lambda training, number: change(training) if number in (4, 6) else None, 9)


@pytest.mark.parametrize(
    ("name", "value"), [("momentum", 0.3), ("betas", (0.5, 0.6)), ("eps", 0.1), ("nesterov", True)]
)
def test_options_that_change(name, value):
    make = adam if name in ("betas", "eps") else sgd

    def between(training, number):
        if number == 4:
            option(name, value)(training)

    compare(make, between, 7)


def clipped(self, x, y):
    self.optimizer.zero_grad()
    loss = mse_loss(self.model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
    nn.utils.clip_grad_value_(self.model.parameters(), 0.05)
    self.optimizer.step()
    return loss


def accumulating(self, x, y):
    for part, own in ((x[:3], y[:3]), (x[3:], y[3:])):
        (mse_loss(self.model(part), own) / 2).backward()
    self.optimizer.step()
    self.optimizer.zero_grad()


def gradients_alone(self, x, y):
    loss = mse_loss(self.model(x), y)
    loss.backward()
    return loss


def penalized(self, x, y):
    self.optimizer.zero_grad()
    loss = mse_loss(self.model(x), y)
    grads = numgrad.autograd.grad(loss, [*self.model.parameters()], create_graph=True)
    loss = loss + sum((grad * grad).sum() for grad in grads)
    loss.backward()
    self.optimizer.step()
    return loss


def forward_alone(self, x, y):
    return mse_loss(self.model(x), y)


@pytest.mark.parametrize("make", [sgd, adam])
@pytest.mark.parametrize("step", [clipped, accumulating, penalized])
def test_steps(step, make):
    assert replays(compare(make, step=step, steps=6)) == [1]


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("set_to_none", [True, False], ids=["none", "zeros"])
def test_gradients_alone_are_compiled(set_to_none, every):
    def between(training, number):
        if number and number % every == 0:
            training.optimizer.step()
            training.optimizer.zero_grad(set_to_none)

    compare(adam, between, 9, gradients_alone)


def test_backward_outside():
    trainings = [Training(adam, False), Training(adam, False)]
    compiled = numgrad.compile(forward_alone.__get__(trainings[1]))
    for number in range(6):
        for training, call in zip(trainings, (forward_alone.__get__(trainings[0]), compiled), strict=True):
            numgrad.manual_seed(number)
            training.optimizer.zero_grad()
            call(*data(number)).backward()
            training.optimizer.step()
        one, other = [[(bits(p), bits(p.grad)) for p in training.model.parameters()] for training in trainings]
        assert one == other, f"in step {number}"
    assert replays(compiled) == [1]


def test_two_optimizers():
    def step(self, x, y):
        if not hasattr(self, "second"):
            self.second = optim.RMSprop(self.model[3].parameters(), lr=0.02)
        self.optimizer.zero_grad()
        loss = mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.second.step()
        return loss

    compare(lambda params: optim.SGD([*params][:2], lr=0.1), steps=7, step=step)


@pytest.mark.filterwarnings("ignore:.*cannot be compiled as a whole")
def test_averages_of_weights():
    def step(self, x, y):
        if not hasattr(self, "average"):
            self.average = optim.swa_utils.AveragedModel(self.model)
        loss = Training.do(self, x, y)
        self.average.update_parameters(self.model)
        with numgrad.no_grad():
            return loss, [parameter * 1 for parameter in self.average.parameters()]

    def moving(self, x, y):
        if not hasattr(self, "mean"):
            self.mean = [parameter.detach().clone() for parameter in self.model.parameters()]
        loss = Training.do(self, x, y)
        with numgrad.no_grad():
            for mean, one in zip(self.mean, self.model.parameters(), strict=True):
                mean.mul_(0.9).add_(one, alpha=0.1)
        return loss + sum(mean.sum() for mean in self.mean)

    compare(sgd, steps=6, step=lambda self, x, y: step(self, x, y)[1][0])
    compare(sgd, steps=6, step=moving)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_closures_that_look_at_values(search):
    def step(self, x, y):
        def closure():
            self.optimizer.zero_grad()
            loss = mse_loss(self.model(x), y)
            loss.backward()
            return loss

        return self.optimizer.step(closure)

    with pytest.warns(UserWarning, match="cannot be compiled as a whole"):
        compare(lambda params: optim.LBFGS(params, lr=0.1, max_iter=3, line_search_fn=search), steps=4, step=step)


def test_closures():
    def step(self, x, y):
        def closure():
            self.optimizer.zero_grad()
            loss = mse_loss(self.model(x), y)
            loss.backward()
            return loss

        return self.optimizer.step(closure)

    assert replays(compare(adam, steps=6, step=step)) == [1]


@pytest.mark.filterwarnings("ignore:.*cannot be compiled as a whole")
def test_a_schedule_within_the_step():
    def step(self, x, y):
        if not hasattr(self, "schedule"):
            self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 3)
        loss = Training.do(self, x, y)
        self.schedule.step()
        return loss

    compare(sgd, steps=8, step=step)


def test_a_step_keeps_for_parameters_what_it_keeps_uncompiled():
    parameter, other = nn.Parameter(numgrad.ones(2)), nn.Parameter(numgrad.ones(2))
    optimizer = numgrad.optim.SGD([parameter], lr=0.5)

    def step(x):
        (parameter * x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    compiled = numgrad.compile(step, fullgraph=True)
    for _ in range(3):
        compiled(numgrad.ones(2))
    assert not optimizer.state
    optimizer.param_groups[0]["params"].append(other)
    compiled(numgrad.ones(2))
    optimizer.param_groups[0]["params"][1] = parameter  # which is updated twice
    before = parameter.detach().clone()
    compiled(numgrad.ones(2))
    assert numgrad.equal(before - parameter, numgrad.ones(2))
