"""Profiles of programs that use a GPU: the time and the memory there, against the CPU's."""

import json

import pytest

import numgrad as torch
from numgrad.autograd.profiler import profile
from numgrad.profiler import ProfilerActivity, supported_activities
from numgrad.profiler import profile as profile_steps


@pytest.fixture(scope="module")
def profiled(cuda):
    """The profile of a block in which a GPU computes and differentiates, and the CPU computes."""
    x = torch.ones(2, 3, device="cuda", requires_grad=True)
    with profile(use_cuda=True, profile_memory=True) as prof:
        (x * 2).sum().backward()
        torch.ones(5).sin()
    return prof


def test_events_have_the_kernels_that_ran_for_them(profiled):
    events = {event.name: event for event in profiled.function_events}
    (kernel,) = events["aten::mul"].kernels
    assert (kernel.name, kernel.device) == ("mul", 0)
    assert kernel.duration == events["aten::mul"].self_device_time_total > 0
    turn = events["autograd::engine::evaluate_function: MulBackward0"]
    assert turn.self_device_time_total == 0
    assert turn.device_time_total == events["MulBackward0"].device_time_total == turn.cuda_time_total > 0
    assert events["aten::sin"].device_time_total == 0
    assert events["aten::sin"].cpu_time_total > 0
    average = next(row for row in profiled.key_averages() if row.key == "aten::mul")
    assert average.cuda_time_total == average.cuda_time == kernel.duration
    assert profiled.total_average().self_device_time_total == profiled.function_events.self_device_time_total


def test_memory_is_counted_where_it_is(profiled):
    events = {event.name: event for event in profiled.function_events}
    assert (events["aten::mul"].device_memory_usage, events["aten::mul"].cpu_memory_usage) == (24, 0)
    assert (events["aten::sin"].device_memory_usage, events["aten::sin"].cpu_memory_usage) == (0, 20)


def test_tables_and_pages_have_columns_for_it(profiled):
    averages = profiled.key_averages()
    title = averages.table(sort_by="cuda_time_total").splitlines()[1]
    for column in ("Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg", "CUDA Mem", "Self CUDA Mem"):
        assert f"  {column}  " in title
    assert "Self CUDA time total: " in averages.table()
    assert "CUDA total" in averages._repr_html_()
    assert "on GPUs" in averages._repr_html_()


def test_traces_have_the_kernels_of_a_gpu_by_themselves(profiled, tmp_path):
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(str(path))
    entries = json.loads(path.read_text())["traceEvents"]

    def calls_of(category):
        return [(entry["name"], entry["args"]["External id"]) for entry in entries if entry.get("cat") == category]

    operations = {number: name for name, number in calls_of("cpu_op")}
    kernels = {name: operations[number] for name, number in calls_of("kernel")}
    assert kernels["mul"] == "aten::mul"
    assert [entry["pid"] for entry in entries if entry["ph"] == "M" and entry["args"] == {"name": "GPU 0"}] == [0]


def test_launches_outside_of_operations_have_their_own_events(cuda):
    y = torch.ones(3, device="cuda", requires_grad=True).sum()
    with profile(use_cuda=True) as prof:
        y.backward()
    event = prof.function_events[0]  # the gradient that backward begins with
    assert (event.name, event.kernels[0].name) == ("numgrad::launch", "fill")


def test_gpus_are_profiled_by_default_and_on_request_not(cuda):
    assert supported_activities() == {ProfilerActivity.CPU, ProfilerActivity.CUDA}
    x = torch.ones(3, device="cuda")
    for options, expected in (({}, True), ({"activities": [ProfilerActivity.CPU]}, False)):
        with profile_steps(**options) as prof:
            x.sin()
        (event,) = prof.events()
        assert bool(event.kernels) == expected
        assert ("CUDA total" in prof.key_averages().table()) == expected
