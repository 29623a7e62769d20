"""Reports on the events of a profile: sums, tables, traces and stacks in files."""

import gzip
import json
import re
import time

import pytest
from profiles import names, profiled

from numgrad.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg, Interval

# -- sums and tables --------------------------------------------------------------------------------------------


def made(id, name, start, end, **more):
    return FunctionEvent(id=id, name=name, thread=more.pop("thread", 1), start_us=start, end_us=end, **more)


def test_events_are_summed_by_name():
    events = EventList([made(1, "a", 0, 10), made(2, "b", 1, 4), made(3, "b", 5, 9), made(4, "b", 2, 3, thread=2)])
    events._build_tree()
    assert [event.cpu_parent and event.cpu_parent.name for event in events] == [None, "a", "a", None]
    a, b = events.key_averages()
    assert (a.key, a.count, a.cpu_time_total, a.self_cpu_time_total) == ("a", 1, 10, 3)
    assert (b.key, b.count, b.cpu_time_total, b.self_cpu_time_total, b.cpu_time) == ("b", 3, 8, 8, 8 / 3)
    total = events.total_average()
    assert (total.key, total.count, total.self_cpu_time_total) == ("Total", 4, 11)


def test_events_may_be_summed_by_shapes_and_stacks():
    events = EventList([
        made(1, "a", 0, 1, input_shapes=[[2]], stack=["f", "main"]),
        made(2, "a", 1, 2, input_shapes=[[3]], stack=["f", "main"]),
        made(3, "a", 2, 3, input_shapes=[[3]], stack=["g", "main"]),
    ])
    assert [average.count for average in events.key_averages()] == [3]
    by_shape = events.key_averages(group_by_input_shapes=True)
    assert [(average.input_shapes, average.count) for average in by_shape] == [([[2]], 1), ([[3]], 2)]
    by_stack = events.key_averages(group_by_stack_n=1)
    assert [(average.stack, average.count) for average in by_stack] == [(["f"], 2), (["g"], 1)]


def test_the_docstring_says_what_events_sum_up():
    for name in ("cpu_time", "device_time", "compile_time_total", "device_time_total", "cpu_memory_usage"):
        assert getattr(FunctionEvent, name).__doc__


def test_sums_take_events_of_one_name():
    average = FunctionEventAvg().add(made(1, "a", 0, 2))
    average += made(2, "a", 3, 7)
    assert (average.count, average.cpu_time_total, average.cpu_time_str) == (2, 6, "3.000us")
    with pytest.raises(ValueError, match="'b' cannot be summed with those of 'a'"):
        average.add(made(3, "b", 0, 1))
    with pytest.raises(TypeError, match="got int"):
        average.add(3)
    assert average.count == 2


def test_an_interval():
    assert Interval(3, 5.5).elapsed_us() == 2.5


def table_of(*events, **options):
    events = EventList(events)
    events._build_tree()
    return events.table(**options)


def cells(line):
    return re.split("  +", line.strip())


def test_a_table():
    text = table_of(made(1, "a", 0, 2_000_000), made(2, "long name of b", 0, 1600, self_cpu_memory_usage=2048))
    rule, header, _, first, second, _, time_line, compile_line = text.splitlines()
    assert rule.split("  ")[0] == "-" * len("long name of b")
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "Compile", "Bytes"]
    assert cells(header) == [*titles, "# of Calls"]
    assert cells(first) == ["a", "99.92%", "1.998s", "100.00%", "2.000s", "2.000s", "0.000us", "0 B", "1"]
    assert cells(second)[:4] == ["long name of b", "0.08%", "1.600ms", "0.08%"]
    assert cells(second)[4:] == ["1.600ms", "1.600ms", "0.000us", "2.00 KB", "1"]
    assert time_line == "Self CPU time total: 2.000s"
    assert compile_line == "Compile time total: 0.000us"
    assert len({len(line) for line in (rule, header, first, second)}) == 1


def rows(text):
    lines = text.splitlines()
    first, last = [index for index, line in enumerate(lines) if line.startswith("--")][1:]
    return [line.split()[0] for line in lines[first + 1 : last]]


def test_contents_of_a_table():
    events = [made(1, "a", 0, 10), made(2, "b", 1, 9), made(3, "c", 20, 50)]
    assert rows(table_of(*events)) == ["a", "b", "c"]
    assert rows(table_of(*events, sort_by="cpu_time_total")) == ["c", "a", "b"]
    assert rows(table_of(*events, sort_by="self_cpu_time_total", row_limit=2)) == ["c", "b"]
    assert rows(table_of(*events, row_limit=0)) == []
    assert rows(table_of(*events, row_limit=-1)) == ["a", "b", "c"]
    assert rows(table_of(*events, top_level_events_only=True)) == ["a", "c"]
    assert table_of(*events, header="Heading").splitlines()[1] == "Heading"
    assert "0.010ms" in table_of(*events, time_unit="ms")
    assert rows(table_of(made(1, "a" * 20, 0, 1), max_name_column_width=14)) == ["a" * 11 + "..."]
    with pytest.raises(AttributeError, match="nonsense"):
        table_of(*events, sort_by="nonsense")
    with pytest.raises(ValueError, match="time_unit"):
        table_of(*events, time_unit="h")


def test_tables_of_memory_shapes_and_stacks():
    prof = profiled(profile_memory=True, record_shapes=True, with_stack=True)
    header = prof.table().splitlines()[1]
    assert "Self CPU Mem" in header
    assert "Input Shapes" in header
    assert "Source Location" in header
    assert "Bytes" not in header
    assert "[[2, 2], []]" in prof.key_averages(group_by_input_shape=True).table()
    assert "Input Shapes" not in prof.key_averages().table()
    assert f"{__file__[-20:]}" in prof.key_averages(group_by_stack_n=2).table(max_src_column_width=500)


# -- files ------------------------------------------------------------------------------------------------------


def test_a_trace(tmp_path):
    prof = profiled(record_shapes=True)
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    entries = json.loads(path.read_text())["traceEvents"]
    complete = [entry for entry in entries if entry["ph"] == "X" and entry["cat"] != "compilation"]
    assert [entry["name"] for entry in complete] == names(prof.function_events)
    for entry, event in zip(complete, prof.function_events, strict=True):
        assert entry["dur"] == event.time_range.elapsed_us()
        assert entry["pid"] > 0
        assert entry["tid"] > 0
        assert isinstance(entry["args"], dict)
    assert abs(complete[0]["ts"] / 1e6 - time.time()) < 600  # seconds since 1970
    multiplied = next(entry for entry in complete if entry["name"] == "aten::mul")
    assert multiplied["args"]["Input Dims"] == [[2, 2], []]
    starts = {entry["id"] for entry in entries if entry["ph"] == "s"}
    ends = {entry["id"] for entry in entries if entry["ph"] == "f"}
    assert starts == ends == {multiplied["args"]["Sequence number"], multiplied["args"]["Sequence number"] + 1}


def test_a_compressed_trace(tmp_path):
    path = str(tmp_path / "trace.json.gz")
    prof = profiled()
    prof.export_chrome_trace(path)
    with gzip.open(path, "rt") as file:
        assert json.load(file)["traceEvents"]


def test_stacks_for_flame_graphs(tmp_path):
    path = str(tmp_path / "stacks.txt")
    prof = profiled(with_stack=True)
    prof.export_stacks(path)
    with open(path) as file:
        lines = file.read().splitlines()
    calls, value = lines[0].rsplit(" ", 1)
    assert calls.split(";")[-1].endswith("profiled")
    assert int(value) > 0
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(path, "self_cuda_time_total")
    with pytest.raises(RuntimeError, match="with_stack=True"):
        profiled().export_stacks(path)
