"""Profiles of steps: schedules, trace handlers, traces."""

import json

import pytest

import numgrad
from numgrad.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

X = numgrad.ones(3)


def actions(count, **given):
    when = schedule(**given)
    letters = {"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "s"}
    return "".join([letters[when(step).name] for step in range(count)])


def test_schedules():
    assert actions(12, wait=1, warmup=1, active=2, repeat=2, skip_first=1) == "..wrs.wrs..."
    assert actions(7, wait=0, warmup=1, active=1) == "wswswsw"
    assert actions(9, wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1) == ".ws..ws.."
    assert schedule(wait=0, warmup=1, active=1)(1) is ProfilerAction.RECORD_AND_SAVE


def test_schedules_that_cannot_be():
    with pytest.raises(ValueError, match=r"Got wait=-1 \(need >= 0\), warmup=1 \(need >= 0\), active=1 \(need > 0\)"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(ValueError, match="active=0"):
        schedule(wait=0, warmup=1, active=0)
    with pytest.raises(ValueError, match="Step must be non-negative"):
        schedule(wait=0, warmup=1, active=1)(-1)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)


def loop(count, **options):
    handed = []

    def ready(prof):
        handed.append((prof.step_num, {row.key: row.count for row in prof.key_averages()}))

    with profile(on_trace_ready=ready, **options) as prof:
        for n in range(count):
            X.sin() if n % 2 else X.cos()
            prof.step()
    return handed, prof


def test_results_are_handed_over_after_each_cycle():
    handed, prof = loop(9, schedule=schedule(wait=1, warmup=1, active=2, repeat=2))
    cycle = {"ProfilerStep*": 2, "aten::cos": 1, "aten::sin": 1}
    assert handed == [(4, cycle), (8, cycle)]
    steps = [event for event in prof.events() if event.name == "ProfilerStep*"]
    assert [event.trace_name for event in steps] == ["ProfilerStep#6", "ProfilerStep#7"]  # of the last cycle
    assert [child.name for event in steps for child in event.cpu_children] == ["aten::cos", "aten::sin"]


def test_cycles_may_follow_each_other_at_once():
    with pytest.warns(UserWarning, match="warmup"):
        when = schedule(wait=0, warmup=0, active=1)
    handed, _ = loop(2, schedule=when)
    assert handed == [
        (1, {"ProfilerStep*": 1, "aten::cos": 1}),
        (2, {"ProfilerStep*": 1, "aten::sin": 1}),
        (2, {"ProfilerStep*": 1}),  # of the step that had begun
    ]


def test_without_a_schedule_all_is_recorded():
    handed, prof = loop(4)
    assert handed == [(4, {"aten::cos": 2, "aten::sin": 2})]
    assert len(prof.events()) == 4


def test_a_profile_may_be_started_and_stopped():
    prof = profile(record_shapes=True)
    X.exp()
    prof.start()
    X.sin()
    prof.stop()
    X.exp()
    prof.stop()
    assert [(event.name, event.input_shapes) for event in prof.events()] == [("aten::sin", [[3]])]
    prof.start()
    X.cos()
    prof.stop()
    assert [event.name for event in prof.events()] == ["aten::cos"]


def test_without_results(tmp_path):
    prof = profile()
    for ask in (prof.events, prof.key_averages, lambda: prof.export_chrome_trace(str(tmp_path / "trace.json"))):
        with pytest.raises(RuntimeError, match="Profiler must be initialized before"):
            ask()
    handed = []
    profile(on_trace_ready=handed.append).stop()
    assert handed == []
    with prof, pytest.raises(RuntimeError, match="didn't finish"):
        prof.export_chrome_trace(str(tmp_path / "trace.json"))


def test_activities():
    assert supported_activities() == {ProfilerActivity.CPU}
    for activities in ([], [ProfilerActivity.CUDA]):
        with pytest.raises(ValueError, match="No valid profiler activities"):
            profile(activities=activities)


def test_without_gpus_a_warning_says_so(monkeypatch):
    monkeypatch.setattr(numgrad.profiler, "gpu_count", lambda: 0)
    with pytest.warns(UserWarning, match="cuda is not available, only the CPU is profiled"):
        prof = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with prof:
        X.sin()
    assert "CUDA" not in prof.key_averages().table()


def test_traces(tmp_path):
    directory = tmp_path / "runs"
    with profile(on_trace_ready=tensorboard_trace_handler(str(directory), "me")) as prof:
        prof.add_metadata("run", "first")
        prof.add_metadata_json("sizes", "[1, 2]")
        X.sin()
    (path,) = directory.iterdir()
    assert path.name.startswith("me.")
    assert path.name.endswith(".pt.trace.json")
    document = json.loads(path.read_text())
    assert (document["run"], document["sizes"]) == ("first", [1, 2])
    assert "aten::sin" in [entry["name"] for entry in document["traceEvents"]]
    tensorboard_trace_handler(str(directory), use_gzip=True)(prof)
    assert len(list(directory.glob("*.pt.trace.json.gz"))) == 1
