"""Listeners are notified of kernels on a GPU: their names, times and bytes; without listeners, runs cost nothing more.
"""

import io

import pytest

import numgrad as torch
from numgrad.devices import launches
from numgrad.nn import functional


def launches_of(function, **options):
    result = []
    launches.listen(result.append, **options)
    try:
        function()
    finally:
        launches.unlisten(result.append)
    return result


def moved(function):
    """Names of the kernels that a function ran on the GPU, with the bytes read and written."""
    return [(launch.name, launch.read, launch.written) for launch in launches_of(function) if launch.device != "cpu"]


@pytest.fixture
def row(cuda):
    return torch.ones(10, device="cuda")


def test_a_run_is_reported_with_its_device_text_time_and_bytes(row):
    (launch,) = launches_of(lambda: row + row)
    assert (launch.name, launch.device, launch.parallel) == ("add", "cuda:0", False)
    assert "def kernel(input, other, out, n):" in launch.kernel.text
    assert (launch.read, launch.written, launch.elements) == (40, 40, 10)  # the same row twice counts once
    assert launch.ended >= launch.begun
    assert repr(launch.kernel).endswith("for GPUs>")


def test_a_listener_to_gpus_alone_is_not_called_for_the_cpus_kernels(row):
    x = torch.ones(10)
    x.tanh()
    found = []
    launches.listen(found.append, [launches.GPU])
    try:
        row.tanh(), x.tanh()
    finally:
        launches.unlisten(found.append)
    assert [launch.device for launch in found] == ["cuda:0"]
    assert [launch.device for launch in launches_of(lambda: (row.tanh(), x.tanh()), devices=[launches.CPU])] == ["cpu"]


def test_bytes_are_those_that_must_be_moved(row):
    square = torch.ones(40, 60, device="cuda")
    other = torch.rand(60, device="cuda")
    assert moved(lambda: square + other) == [("add", 9600 + 240, 9600)]  # the repeated row counts once
    assert moved(lambda: square.t().contiguous()) == [("transpose", 9600, 9600)]
    images = torch.ones(8, 3, 16, device="cuda")
    found = moved(lambda: functional.batch_norm(images, None, None, training=True))
    assert [name for name, _, _ in found] == ["moments_axis", "join_moments", "normalized_planes"]
    assert moved(lambda: square[:, 1:3].contiguous()) == [("copy", 320, 320)]  # the part of the memory that is reached
    assert [name for name, _, _ in moved(other.sum)] == ["fold_axis"]
    long = torch.ones(16384, device="cuda")  # four elements at once
    assert moved(lambda: long * 2.0) == [("mul", 65536, 65536)]


@pytest.mark.parametrize(
    ("loss", "dtype", "kernel"), [
        (functional.mse_loss, torch.float32, "mse_sum"), (functional.l1_loss, torch.float32, "l1_sum"),
        (functional.binary_cross_entropy, torch.float16, "bce_sum"),
    ],
)  # fmt: skip
def test_losses_are_added_up_where_they_are_computed(cuda, loss, dtype, kernel):
    x, target = (torch.zeros(40, 60, dtype=dtype, device="cuda") for _ in range(2))
    (name, read, written), *_ = moved(lambda: loss(x, target))
    assert (name, read) == (kernel, 2 * x.nbytes)
    assert written < 9600


@pytest.mark.parametrize(("options", "read", "written"), [({}, 2, 1), ({"momentum": 0.9}, 3, 2)])
def test_an_update_counts_what_lies_behind_its_addresses(cuda, options, read, written):
    parameters = [torch.nn.Parameter(torch.ones(size, device="cuda")) for size in (30, 5)]
    optimizer = torch.optim.SGD(parameters, lr=0.1, **options)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert moved(optimizer.step) == [("sgd", 35 * 4 * read, 35 * 4 * written)]


def test_results_are_the_same_while_somebody_listens(cuda):
    def run():
        x = torch.linspace(-2, 2, 24, device="cuda").requires_grad_()
        y = torch.softmax(x.view(4, 6) * x.view(4, 6).exp(), 1)
        (y * y).sum().backward()
        return y.detach().cpu().numpy().tobytes(), x.grad.cpu().numpy().tobytes()

    before = run()
    inside = []
    launches_of(lambda: inside.append(run()))
    assert inside == [before]


def test_kernels_that_a_listener_runs_are_not_reported(row):
    found = []

    def listener(launch):
        found.append(launch.name)
        row.exp()

    with launches.listening(listener):
        row.tanh()
    assert found == ["tanh"]


def test_debugging_prints_kernels_with_their_device_and_text(row):
    x = torch.rand(7, device="cuda")
    output = io.StringIO()
    with torch.viz.debug(4, file=output):
        x.asinh()
    lines = output.getvalue().splitlines()
    assert lines[0] == "numgrad: aten::asinh float32[7]"
    assert any(line.endswith("| def kernel(input, out, n):") for line in lines)
    (run,) = [line for line in lines if "kernel asinh: " in line]
    assert run.startswith("numgrad:   kernel asinh: 7 elements, 56 bytes, ")
    assert run.endswith(" GB/s, on cuda:0")
