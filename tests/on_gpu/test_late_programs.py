"""Compiled programs on a simulated GPU that does all work as late as it may."""

import late_gpu
import numpy as np
import pytest

import numgrad
from numgrad import nn, optim
from numgrad.devices import launches

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


def squares(x, y):
    return (((x * y).sum() + x) * (y - x).sum()).square()


def test_arguments_of_graphs_may_be_gone_when_work_is_done(gpu):
    side = numgrad.cuda.Stream()
    compiled, x, results, addresses = numgrad.compile(squares, fullgraph=True), filled(2), [], set()
    for _ in range(6):
        numgrad.cuda.synchronize()
        with numgrad.cuda.stream(side):
            scale = filled(3)  # memory of the other stream, where it was before
        addresses.add(scale.data_ptr())
        numgrad.cuda.current_stream().wait_stream(side)
        results.append(compiled(x, scale))
        del scale
    assert len(addresses) <= 2
    assert gpu.launched > 0
    del compiled, x
    overwrite(side)
    overwrite(numgrad.cuda.current_stream())
    expected = squares(filled(2), filled(3)).cpu().numpy()
    for result in results:
        np.testing.assert_array_equal(result.cpu().numpy(), expected)


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


def test_launches_become_a_graph_for_each_combination_of_addresses_that_comes_again(gpu):
    compiled = numgrad.compile(squares, fullgraph=True)
    tensors = [filled(number) for number in range(4)]
    y, kept, results = filled(5), [], []
    for number in (0, 0, 1, 2, 3, 0, 0, 2, 1, 1):
        results.append((number, compiled(tensors[number], y).sum().item()))
    assert gpu.launched > 0
    assert 0 < len(gpu.captured) <= gpu.launched
    for number, result in results:
        assert result == squares(filled(number), filled(5)).sum().item()
    for _ in range(20):  # the results stay, so that each has memory of its own
        kept.append(compiled(tensors[1], y))
    assert len({result.data_ptr() for result in kept}) == 20
    assert {result.sum().item() for result in kept} == {results[-1][1]}


def test_graphs_read_what_arguments_and_parameters_contain(gpu):
    weight = filled(2)
    compiled = numgrad.compile(lambda x: squares(x, weight), fullgraph=True)
    x = filled(0)
    for number in range(12):
        x.fill_(number)
        weight.mul_(1.5)
        assert compiled(x).sum().item() == squares(x, weight).sum().item()
    assert gpu.launched > 5


def test_listeners_are_notified_of_launches_that_are_a_graph_without_them(gpu):
    compiled, x, y = numgrad.compile(squares, fullgraph=True), filled(3), filled(5)
    for _ in range(8):
        compiled(x, y)
    launched, names = gpu.launched, []
    assert launched > 0
    with launches.listening(lambda launch: names.append(launch.name)):
        compiled(x, y)
    assert (gpu.launched, len(names) > 3) == (launched, True)


def test_steps_that_are_put_one_after_the_other(gpu):
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
    assert gpu.launched > 0
