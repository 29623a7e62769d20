"""Compiled programs on a simulated GPU that does all work as late as it may."""

import late_gpu
import numpy as np
import pytest

import numgrad
from numgrad import nn, optim

pytestmark = pytest.mark.simulator

SIZE = 600  # elements, so that each tensor has a piece of memory of its own


@pytest.fixture(autouse=True)
def gpu(cuda):
    numgrad.cuda.empty_cache()
    with late_gpu.begin(cuda) as gpu:
        yield gpu
        numgrad.cuda.empty_cache()


def filled(value):
    return numgrad.full((SIZE,), float(value), device="cuda")


def overwrite(stream):
    """Overwrite all memory that is free on a stream, as soon as possible."""
    with numgrad.cuda.stream(stream):
        kept = [filled(-99) for _ in range(40)]
        stream.synchronize()
    del kept


def test_arguments_and_programs_may_be_gone_when_work_is_done():
    side = numgrad.cuda.Stream()
    with numgrad.cuda.stream(side):
        scale = filled(3)  # memory of the other stream, to which it goes back
    numgrad.cuda.current_stream().wait_stream(side)
    compiled = numgrad.compile(lambda x, y: ((x * 2) + (x * y)) * 2, fullgraph=True)
    results = [compiled(filled(number), scale) for number in range(4)]
    del scale, compiled
    overwrite(side)
    overwrite(numgrad.cuda.current_stream())
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result.cpu().numpy(), np.full(SIZE, 10.0 * number, np.float32))


def test_steps_that_are_put_one_after_the_other():
    found = []
    for wrap in (lambda step: step, numgrad.compile(fullgraph=True)):
        numgrad.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2)).to("cuda")
        optimizer = optim.Adam(model.parameters(), lr=0.1)

        @wrap
        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        losses = [step(filled(number).view(75, 8) / 8) for number in range(1, 7)]
        found.append([
            one.cpu().numpy().tobytes() for one in (*losses, *[parameter.detach() for parameter in model.parameters()])
        ])
    assert found[0] == found[1]
