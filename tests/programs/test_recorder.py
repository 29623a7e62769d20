"""Records are right for other memory than that of the recorded call."""

import pytest

import numgrad
from numgrad import nn, optim


def test_gradients_of_an_optimizer_may_be_arguments():
    parameter = nn.Parameter(numgrad.zeros(3))
    optimizer = optim.SGD([parameter], lr=1.0)

    @numgrad.compile(fullgraph=True)
    def step(gradient):
        parameter.grad = gradient
        optimizer.step()
        parameter.grad = None

    memory = numgrad.arange(12.0)  # gradients that begin within it, and one that does not
    for gradient in (memory[6:9], memory[9:12], memory[0:3], numgrad.tensor([1.0, 1.0, 1.0])):
        before = parameter.detach().clone()
        step(gradient)
        assert numgrad.equal(parameter.detach(), before - gradient)


@pytest.mark.parametrize("program", [
    lambda e: e[1:],
    lambda e: (e[2:], e[:1]),
    lambda e: (e, e[2:]),
    lambda e: e.view(2, 2).t()[1],
])
def test_backward_finds_results_that_begin_anywhere_in_their_memory(program):
    def gradient(function, seed):
        x = (numgrad.arange(4.0) * seed).requires_grad_()
        results = function(x)
        results = results if isinstance(results, tuple) else (results,)
        numgrad.cat([result.reshape(-1) for result in results]).sum().backward()
        return x.grad

    def f(x):
        return program(x.exp())  # the gradient is computed from the result

    compiled = numgrad.compile(f, fullgraph=True)
    for seed in range(3):
        assert numgrad.equal(gradient(compiled, seed), gradient(f, seed))


@pytest.mark.parametrize("halved", [False, True])
def test_each_step_of_an_optimizer_has_numbers_of_its_own(halved):
    def made():
        weight = numgrad.zeros(3, requires_grad=True)
        optimizer = optim.Adam([weight], lr=0.1)

        def steps(x):
            for number in range(2):
                optimizer.zero_grad()
                ((weight - x * number) ** 2).sum().backward()
                optimizer.step()
            if halved:
                optimizer.param_groups[0]["lr"] = 0.05
                optimizer.step()
                optimizer.param_groups[0]["lr"] = 0.1

        return weight, steps

    weight, steps = made()
    other, expected = made()
    compiled = numgrad.compile(steps)
    for seed in range(5):
        x = numgrad.arange(3.0) * seed
        if halved and seed == 1:  # the first call makes the optimizer's state and is not recorded
            with pytest.warns(UserWarning, match="options of an optimizer"):
                compiled(x)
        else:
            compiled(x)
        expected(x)
        assert numgrad.equal(weight, other)
    (signature,) = compiled.signatures.values()
    assert len(signature.programs) == (not halved)
