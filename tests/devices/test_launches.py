"""Listeners are notified of every run of a kernel; without listeners, runs cost nothing more."""

import threading

import numpy as np
import pytest

import numgrad as torch
from numgrad.devices import compiled_kernels, launches, recording


def launches_of(function):
    """Return the notifications of the kernels that a function ran."""
    result = []
    with launches.listening(result.append):
        function()
    return result


def moved(function):
    """Names of the kernels that a function ran, with the bytes read and written."""
    return [(launch.name, launch.read, launch.written) for launch in launches_of(function)]


def test_a_run_is_reported_with_its_times_and_bytes():
    x, y = torch.ones(100), torch.ones(100)
    (launch,) = launches_of(lambda: x + y)
    assert launch.name == "add"
    assert launch.kernel in compiled_kernels()
    assert (launch.read, launch.written, launch.bytes, launch.elements) == (800, 400, 1200, 100)
    assert not launch.parallel
    assert launch.thread == threading.get_ident()
    assert launch.ended > launch.begun
    assert launch.bandwidth == pytest.approx(launch.bytes / launch.time / 1e9)


def test_plans_are_interpreted_only_while_there_are_listeners():
    x = torch.ones(10)
    x.tanh()
    with launches.listening(lambda launch: None), launches.listening(lambda launch: None):
        x.tanh()
        assert recording.observed
    assert not recording.observed


@pytest.mark.parametrize("count", [100, 200_000])
def test_runs_of_a_graph_recorded_before_are_reported(count):
    x = torch.ones(count, requires_grad=True)
    y = (x.tanh() * x).sum()  # through the cached path, which keeps the machine code
    names = [launch.name for launch in launches_of(y.backward)]
    assert {"tanh_backward", "mul_backward", "add_rows"} <= {*names}
    (x.tanh() * x).sum().backward()
    assert not recording.observed


def test_launchers_kept_for_a_layout_are_reported_and_freed_again():
    x, row = torch.ones(4, 6), torch.ones(6)
    x + row
    assert moved(lambda: x + row) == [("add", 96 + 24, 96)]  # the repeated row counts once
    assert launches_of(lambda: None) == []
    x + row
    assert not recording.observed


def test_results_and_gradients_are_the_same_while_somebody_listens():
    def run():
        x = torch.linspace(-2, 2, 999, requires_grad=True)
        y = torch.softmax(x.view(27, 37) * x.view(27, 37).exp(), 1)
        (y * y).sum().backward()
        return y.detach().numpy().tobytes(), x.grad.numpy().tobytes()

    before = run()
    inside = []
    launches_of(lambda: inside.append(run()))
    assert inside == [before]


SQUARE, OTHER = torch.ones(20, 30), torch.ones(20, 30)
INDICES = torch.tensor([3, 5])
PART = torch.ones(128, 128)[:, :64]

MOVED = {
    "a sum": (lambda: SQUARE.sum(), [("fold_rows", 2400 + 4, 4)]),
    "rows picked": (lambda: SQUARE.index_select(0, INDICES), [("take_rows", 240 + 16, 241)]),
    "a copy of a part": (lambda: PART.contiguous(), [("copy_runs", 32768, 32768)]),
    "a matrix product": (lambda: SQUARE @ OTHER.T, [("products", 2 * 2400 + 96, 1600)]),
    "in place": (lambda: SQUARE.add_(0), [("add", 2400, 2400)]),
    "a product of vectors": (lambda: SQUARE[0] @ OTHER[1], [("dots", 240 + 24, 4)]),
    "joined": (lambda: torch.cat([SQUARE, OTHER]), [("join_rows", 4800, 4800)]),
    "the same twice": (lambda: SQUARE * SQUARE, [("mul", 2400, 2400)]),
    "sorted": (lambda: SQUARE.sort(), [("sort_lines", 2400, 2400 + 4800)]),  # it reads only its own results
    "random": (lambda: torch.rand(64), [("uniform", 5000, 5000 + 512 + 256)]),
}


@pytest.mark.parametrize("what", MOVED)
def test_bytes_are_those_that_must_be_moved(what):
    function, expected = MOVED[what]
    found = [(name, read, written) for name, read, written in moved(function) if name != "find_outside"]
    assert found == expected


@pytest.mark.parametrize(("options", "read", "written"), [({}, 2, 1), ({"momentum": 0.9}, 3, 2)])
def test_an_update_counts_what_lies_behind_its_addresses(options, read, written):
    parameters = [torch.nn.Parameter(torch.ones(size, dtype=torch.float64)) for size in (3000, 50, 0)]
    optimizer = torch.optim.SGD(parameters, lr=0.1, **options)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert moved(optimizer.step) == [("sgd", 3050 * 8 * read, 3050 * 8 * written)]


def test_runs_in_all_threads_are_reported():
    x = torch.ones(10)

    def elsewhere():
        thread = threading.Thread(target=lambda: x * 3.5)
        thread.start()
        thread.join()

    (launch,) = launches_of(elsewhere)
    assert launch.name == "mul"
    assert launch.thread != threading.get_ident()


def test_kernels_that_a_listener_runs_are_not_reported():
    x = torch.ones(10)
    found = []

    def listener(launch):
        found.append((launch.name, (x + 1).sum().item()))

    with launches.listening(listener):
        x * 2
    assert found == [("mul", 20)]


def test_a_listener_that_listens_twice_leaves_twice():
    x = torch.ones(10)
    found = []
    with launches.listening(found.append):
        with launches.listening(found.append):
            x * 2
        x * 2
    x * 2
    assert len(found) == 3


def test_an_error_of_a_listener_comes_out_and_it_can_leave():
    x = torch.ones(10)

    def listener(launch):
        raise ValueError(launch.name)

    with pytest.raises(ValueError, match="mul"), launches.listening(listener):
        x * 2
    assert not recording.observed
    assert (x * 2).tolist() == [2.0] * 10


def test_arrays_given_by_the_user_are_counted_in_their_own_width():
    x, y = torch.from_numpy(np.ones(10, np.int16)), torch.ones(10)
    ((name, read, written),) = moved(lambda: x + y)
    assert (name, read, written) == ("add", 20 + 40, 40)


def test_a_listener_may_come_and_go_while_other_threads_compute():
    x = torch.ones(10)
    stop, failed = threading.Event(), []

    def compute():
        try:
            while not stop.is_set():
                assert (x * 4.5 + x).sum().item() == 55
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=compute)
    thread.start()
    for _ in range(100):
        launches_of(lambda: x * 2)
    stop.set()
    thread.join()
    assert failed == []
    assert not recording.observed


def test_a_report_that_an_error_left_set_is_not_the_next_calls():
    def listener(launch):
        raise ValueError("an error of the listener")

    x = torch.arange(4.0)
    with pytest.raises(ValueError, match="of the listener"), launches.listening(listener):
        x[torch.tensor([7])]
    for _ in range(3):
        assert torch.take(x, torch.tensor([1])).tolist() == [1]
