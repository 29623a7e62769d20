"""Common training loops: each is replayed, and computes the same as uncompiled."""

import copy
import dataclasses
import enum

import numpy as np
import pytest
from programs.comparison import compared_with_eager

import numgrad
from numgrad import nn, optim
from numgrad.distributions import Categorical, Normal
from numgrad.nn import functional as F  # noqa: N812


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 6), nn.Tanh(), nn.Linear(6, outputs))


@compared_with_eager
def test_gradients_accumulated_over_micro_batches(compiled, see):
    model = network(4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @compiled
    def micro_batch(x):
        loss = model(x).square().mean()
        loss.backward()
        return loss

    @compiled
    def step(x, is_last):
        loss = model(x).square().mean()
        loss.backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    x = numgrad.randn(3, 4)
    for _ in range(6):
        optimizer.zero_grad()
        for _ in range(3):
            see(micro_batch(x))
        optimizer.step()
        optimizer.zero_grad()
        for number in range(3):
            see(step(x, number == 2))
    see(*model.parameters())


@compared_with_eager
def test_the_two_steps_of_a_gan(compiled, see):
    generator, critic = network(4, 2), network(2, 1)
    optimizers = [optim.Adam(generator.parameters()), optim.Adam(critic.parameters())]

    @compiled
    def critic_step(real, noise):
        optimizers[1].zero_grad()
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(generator(noise).detach())).mean()
        loss.backward()
        optimizers[1].step()
        return loss

    @compiled
    def generator_step(noise):
        optimizers[0].zero_grad()
        loss = F.softplus(-critic(generator(noise))).mean()
        loss.backward()
        optimizers[0].step()
        return loss

    for _ in range(8):
        real, noise = numgrad.randn(5, 2), numgrad.randn(5, 4)
        see(critic_step(real, noise), generator_step(noise))
    see(*generator.parameters(), *critic.parameters())


@compared_with_eager
def test_a_policy_gradient_whose_distribution_checks_its_arguments(compiled, see):
    policy = network(4, 3)
    optimizer = optim.Adam(policy.parameters())

    @compiled
    def step(states, actions, advantages):
        distribution = Categorical(logits=policy(states))
        loss = -(distribution.log_prob(actions) * advantages).mean() - 0.01 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
        return loss

    for _ in range(6):
        see(step(numgrad.randn(5, 4), numgrad.randint(0, 3, (5,)), numgrad.randn(5)))


def test_a_replay_checks_the_arguments_of_distributions():
    compiled = numgrad.compile(lambda scale, x: Normal(0.0, scale).log_prob(x), fullgraph=True)
    scale, x = numgrad.ones(3), numgrad.zeros(3)
    for _ in range(3):
        compiled(scale, x)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        compiled(-scale, x)
    with pytest.raises(ValueError, match="Expected value argument"):
        compiled(scale, x * float("nan"))
    assert numgrad.equal(compiled(scale, x), Normal(0.0, scale).log_prob(x))


@compared_with_eager
def test_points_that_require_gradients_in_the_step(compiled, see):
    model = network(1, 1)
    optimizer = optim.Adam(model.parameters())

    @compiled
    def step(x):
        x.requires_grad_()
        optimizer.zero_grad()
        u = model(x)
        (slope,) = numgrad.autograd.grad(u.sum(), x, create_graph=True)
        loss = (slope - u).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    points = numgrad.rand(3)

    @compiled
    def energy(x):
        return x.requires_grad_().square().sum() + points.requires_grad_().sum()

    for _ in range(6):
        x, y = numgrad.rand(5, 1), numgrad.rand(3)
        see(step(x), x.requires_grad, x.grad, points.requires_grad, points.grad)
        energy(y).backward()
        see(y.requires_grad, y.is_leaf, y.grad)


@compared_with_eager
def test_the_gradient_of_an_argument_that_is_indexed(compiled, see):
    order = numgrad.tensor([2, 0, 1])

    @compiled
    def step(x):
        loss = x.index_select(0, order).square().sum()
        loss.backward()
        return loss

    for _ in range(4):
        x = numgrad.randn(3, requires_grad=True)
        see(step(x).detach(), x.grad)


@compared_with_eager
def test_a_trainer_that_counts_its_steps_and_averages_weights(compiled, see):
    class Trainer:
        steps = 0

        def __init__(self, model):
            self.model, self.average, self.samples, self.left = model, copy.deepcopy(model), 0, 100
            self.optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(self, x):
            self.optimizer.zero_grad()
            loss = self.model(x).square().mean()
            loss.backward()
            self.optimizer.step()
            with numgrad.no_grad():
                for mean, parameter in zip(self.average.parameters(), self.model.parameters(), strict=True):
                    mean.mul_(0.9).add_(parameter, alpha=0.1)
            self.samples += 5
            self.left -= 1
            return loss

    trainer = Trainer(network(4, 1))
    step = compiled(trainer.step)
    for _ in range(6):
        see(step(numgrad.randn(5, 4)), trainer.samples, trainer.left)
    trainer.samples = 1000  # other counters do not matter to the program
    see(step(numgrad.randn(5, 4)), trainer.samples, *trainer.average.parameters())


@compared_with_eager(falls_back=True)
def test_a_counter_that_a_program_reads(compiled, see):
    class Decay:
        count = 0

        def __init__(self):
            self.count = 0

        def __call__(self, x):
            self.count += 1
            return x * (0.5 if self.count > 4 else 1.0)

    decay = compiled(Decay())
    see(*[decay(numgrad.ones(2)) for _ in range(8)])


class Kind(enum.Enum):
    DOUBLE = 2
    SAME = 1


@dataclasses.dataclass
class Batch:
    inputs: numgrad.Tensor
    weight: float
    parts: list

    def scaled(self):
        return self.inputs * self.weight


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    loss: numgrad.Tensor
    inputs: numgrad.Tensor


@compared_with_eager
def test_dataclasses_enums_slices_and_numbers_of_numpy_as_arguments(compiled, see):
    def by_batch(batch):
        loss = (batch.scaled() + batch.parts[0]).sum()
        return Output(loss, batch.inputs)

    functions = compiled(by_batch), compiled(lambda x, kind: x * kind.value if kind is Kind.DOUBLE else x)
    part, scaled = compiled(lambda x, part: x[part] * 2), compiled(lambda x, number: x * float(number))
    for number in range(6):
        leaf = numgrad.randn(4, requires_grad=True)
        x = leaf * 2
        output = functions[0](Batch(x, 2.0 + number // 3, [numgrad.ones(4)]))
        output.loss.backward()
        see(output.loss.detach(), output.inputs is x, leaf.grad)
        see(functions[1](numgrad.ones(2), [Kind.DOUBLE, Kind.SAME][number % 2]))
        see(part(numgrad.arange(6.0), slice(number % 2, 4)), scaled(numgrad.ones(2), np.float32(number % 2)))


def test_advice_for_arguments_that_are_arrays():
    with pytest.warns(UserWarning, match=r"an argument of the class ndarray: pass numgrad\.from_numpy\(\) of it"):
        numgrad.compile(lambda x, array: x)(numgrad.ones(1), np.ones(1))
