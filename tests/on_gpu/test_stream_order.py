"""Programs on several streams, on a simulated GPU that does all work as late as it may."""

import math

import late_gpu
import numpy as np
import pytest

import numgrad as torch

pytestmark = pytest.mark.simulator

SIZE = 600  # elements, so that each tensor has a piece of memory of its own


@pytest.fixture(autouse=True)
def gpu(cuda):
    torch.cuda.empty_cache()
    with late_gpu.begin(cuda) as gpu:
        yield gpu
        torch.cuda.empty_cache()


@pytest.fixture
def side():
    return torch.cuda.Stream()


def leaf(value=1.0):
    x = torch.full((SIZE,), value, device="cuda")
    return x.requires_grad_()


def overwrite(stream):
    """Overwrite all memory that is free on a stream, as soon as possible."""
    with torch.cuda.stream(stream):
        kept = [torch.full((SIZE,), -99.0, device="cuda") for _ in range(40)]
        stream.synchronize()
    del kept


def check(tensor, value):
    np.testing.assert_allclose(tensor.cpu().numpy(), np.full(SIZE, value, np.float32), rtol=1e-5)


def forward(x):
    return ((x * 2).exp() * x).tanh().sum()


#: The derivative of a summand of forward() at 0.1.
SLOPE = math.exp(0.2) * (1 + 2 * 0.1) / math.cosh(math.exp(0.2) * 0.1) ** 2


@pytest.mark.parametrize("waits", [True, False])
def test_backward_on_another_stream_sees_results_of_a_side_stream(side, waits):
    x, main = leaf(0.1), torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        loss = forward(x)
    if waits:
        main.wait_stream(side)
    loss.backward()
    del loss
    overwrite(side)
    check(x.grad, SLOPE)


def test_backward_on_another_stream_sees_results_of_the_default_stream(side):
    x, main = leaf(0.1), torch.cuda.current_stream()
    loss = forward(x)
    with torch.cuda.stream(side):
        loss.backward()
        del loss
        overwrite(main)
        check(x.grad, SLOPE)


def test_two_branches_on_two_streams(side):
    x, main, other = leaf(0.1), torch.cuda.current_stream(), torch.cuda.Stream()
    losses = []
    for stream in (side, other):
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            losses.append(forward(x))
    for stream in (side, other):
        main.wait_stream(stream)
    (losses[0] + losses[1]).backward()
    del losses
    for stream in (main, side, other):
        overwrite(stream)
    check(x.grad, 2 * SLOPE)


def test_gradients_are_there_for_the_stream_that_backward_was_called_on(side):
    x, main = leaf(0.1), torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        loss = forward(x)
    (gradient,) = torch.autograd.grad(loss, x)
    doubled = gradient * 2
    del gradient, loss
    overwrite(side)
    check(doubled, 2 * SLOPE)


def test_a_second_backward_and_a_second_derivative(side):
    x, main = leaf(2.0), torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y = (x**3).sum()
    y.backward(retain_graph=True)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    y.backward()
    del y, slope
    overwrite(side)
    overwrite(main)
    check(second, 12)
    check(x.grad, 24)


seen = []


class Where(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        seen.append(torch.cuda.current_stream())
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        seen.append(torch.cuda.current_stream())
        return grad * 2


def test_nodes_run_on_the_stream_of_their_operation(side):
    seen.clear()
    x, main = leaf(), torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y = Where.apply(x)
    y.register_hook(lambda grad: seen.append(torch.cuda.current_stream()))
    z = Where.apply(y).sum()
    z.backward()
    assert seen == [side, main, main, side, side]
    assert torch.cuda.current_stream() == main
    check(x.grad, 4)


def test_an_error_leaves_the_current_stream(side):
    x, main = leaf(), torch.cuda.current_stream()
    with torch.cuda.stream(side):
        y = (x * 2).sum()
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert torch.cuda.current_stream() == main


def test_a_backward_so_deep_that_it_goes_on_in_another_thread(side):
    x, main = leaf(), torch.cuda.current_stream()
    depth = 40
    seen = []

    def hook(grad):
        seen.append(torch.cuda.current_stream())
        if len(seen) < depth:
            with torch.enable_grad():
                once()

    def once():
        with torch.cuda.stream(side):
            y = x * 2
        y.register_hook(hook)
        y.sum().backward()

    side.wait_stream(main)
    once()
    assert seen == [side] * depth
    check(x.grad, 2 * depth)


def test_memory_used_on_another_stream_waits_for_it_though_nobody_said_so(side):
    x, main = torch.full((SIZE,), 3.0, device="cuda"), torch.cuda.current_stream()
    w = torch.eye(SIZE // 20, device="cuda")
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y = x * 2
        copy = x.clone()
        host = torch.empty(SIZE, pin_memory=True)
        host.copy_(x, non_blocking=True)
        product = (w @ w).sum()
    del x, w
    overwrite(main)
    with torch.cuda.stream(side):
        check(y, 6)
        check(copy, 3)
        assert product.item() == SIZE // 20
    check(host, 3)


def test_an_optimizer_on_another_stream(side):
    x, main = leaf(), torch.cuda.current_stream()
    optimizer = torch.optim.SGD([x], lr=0.5)
    for _ in range(2):
        (x * 3).sum().backward()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            optimizer.step()
        optimizer.zero_grad()
        overwrite(main)
        main.wait_stream(side)
    check(x.detach(), -2)


def test_pinned_memory_is_left_alone_until_it_was_copied(side):
    host = torch.full((SIZE,), 5.0).pin_memory()
    with torch.cuda.stream(side):
        there = host.to("cuda", non_blocking=True)
    del host
    kept = [torch.full((SIZE,), -1.0).pin_memory() for _ in range(3)]
    with torch.cuda.stream(side):
        check(there, 5)
    assert len(kept) == 3


def test_memory_shared_with_another_library_waits_for_its_stream(cuda, side):
    x, main = torch.full((SIZE,), 3.0, device="cuda"), torch.cuda.current_stream()
    capsule = x.__dlpack__(stream=side.cuda_stream)
    found = np.zeros(SIZE, np.float32)
    cuda.runtime.driver.copy_to_host(found.ctypes.data, x.data_ptr(), found.nbytes, side._handle)
    del x, capsule
    overwrite(main)
    side.synchronize()
    assert found.tolist() == [3] * SIZE
