"""What is recorded is right for other memory than that of the recorded call."""

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
