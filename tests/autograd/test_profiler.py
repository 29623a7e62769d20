"""Profiles: an event for all that was done, with its name, nesting, times, memory, shapes and stack."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from numba.core import types
from profiles import Doubled, leaf, names, off_as_before, profiled  # noqa: F401 - used by every test

import numgrad
from numgrad.autograd.profiler import profile, record_function
from numgrad.autograd.profiler.table import format_time
from numgrad.devices.launches import compile_kernel
from numgrad_kernels.facts import Facts

FACTS = Facts(np.dtype(np.float64))
TURN = "autograd::engine::evaluate_function: "


def test_operations_have_pytorchs_names_in_the_order_of_beginning():
    x = leaf()
    with profile() as prof:
        y = x * x
        y.sum(0)
        y.detach().add_(1)
        y.softmax(1)
        x.detach().squeeze_()
        x.argmax()
    assert names(prof.function_events) == [
        "aten::mul", "aten::sum", "aten::add_", "aten::softmax", "aten::squeeze_", "aten::argmax",
    ]
    assert [event.id for event in prof.function_events] == list(range(1, 7))


def test_a_block_contains_what_is_done_in_it():
    block = profiled().function_events[0]
    assert block.name == "block"
    assert block.is_user_annotation
    assert block.scope == 7
    assert names(block.cpu_children)[:2] == ["aten::mul", "aten::sum"]
    assert all(child.cpu_parent is block for child in block.cpu_children)


def test_a_node_contains_what_its_rule_calls():
    x = leaf()
    y = (x.exp() * x).sum()
    with profile() as prof:
        y.backward()
    turn = next(event for event in prof.function_events if event.name == TURN + "SumBackward0")
    assert turn.scope == 0
    assert names(turn.cpu_children) == ["SumBackward0"]
    assert turn.cpu_children[0].scope == 1
    assert names(turn.cpu_children[0].cpu_children) == ["aten::expand"]


def test_a_leaf_is_completed_in_the_turn_of_the_node_that_completes_it():
    x = leaf()
    with profile() as prof:
        (x * 2).sum().backward()
    (leaf_turn,) = [event for event in prof.function_events if event.name == TURN + "torch::autograd::AccumulateGrad"]
    assert leaf_turn.cpu_parent.name == TURN + "MulBackward0"
    assert names(leaf_turn.cpu_children) == ["torch::autograd::AccumulateGrad"]
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_functions_have_their_names_and_contain_what_forward_and_backward_call():
    x = leaf()
    with profile() as prof:
        Doubled.apply(x).sum().backward()
    by_name = {event.name: event for event in prof.function_events}
    assert names(by_name["Doubled"].cpu_children) == ["aten::add"]
    assert names(by_name["DoubledBackward"].cpu_children) == ["aten::add"]
    assert by_name["Doubled"].self_cpu_memory_usage == 0  # it is aten::add's


def test_operations_and_their_nodes_have_the_same_number():
    x = leaf()
    with profile() as prof:
        y = x * 2
        y.sum().backward()
    number = y.grad_fn._sequence_nr()
    about = [event for event in prof.function_events if event.sequence_nr == number]
    assert names(about) == ["aten::mul", TURN + "MulBackward0", "MulBackward0"]
    assert [event.fwd_thread for event in about] == [0, 1, 1]


def test_hooks_and_gradients_are_as_without_a_profile():
    x = leaf()
    seen = []
    y = x * x
    y.register_hook(lambda gradient: gradient * 10)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(inputs)))
    with profile():
        (gradient,) = numgrad.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = numgrad.autograd.grad(gradient.sum(), x)
    assert gradient.tolist() == [[20.0, 40.0], [60.0, 80.0]]
    assert second.tolist() == [[20.0, 20.0], [20.0, 20.0]]
    assert seen[0] == 2


def test_indexing_and_other_views_are_seen_without_gradients():
    x = numgrad.ones(2, 3)
    with profile() as prof:
        x[0, 1:].t().clone()
    assert names(prof.function_events) == ["aten::select", "aten::slice", "aten::t", "aten::clone"]


def test_times_lie_within_the_parents():
    prof = profiled()
    for event in prof.function_events:
        assert event.time_range.start <= event.time_range.end
        if event.cpu_parent is not None:
            assert event.cpu_parent.time_range.start <= event.time_range.start
            assert event.time_range.end <= event.cpu_parent.time_range.end
    block = prof.function_events[0]
    inner = sum(child.cpu_time_total for child in block.cpu_children)
    assert block.self_cpu_time_total == pytest.approx(block.cpu_time_total - inner)
    assert prof.self_cpu_time_total == pytest.approx(block.cpu_time_total)


def test_time_is_in_microseconds():
    with profile() as prof, record_function("sleep"):
        time.sleep(0.01)
    assert 10_000 <= prof.function_events[0].cpu_time_total < 1_000_000


def test_compiling_is_counted_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))  # where there is no kernel
    text = "def kernel(row):\n    row[0] = 1\n"
    array_type = types.Array(types.int64, 1, "C")
    with profile() as prof:
        with record_function("block"), record_function("within"):
            compile_kernel("unheard_of", lambda: text, [array_type], FACTS)
        compile_kernel("unheard_of", lambda: text + "    row[1] = 0\n", [array_type], FACTS)
    block, within, alone = prof.function_events
    (compilation,) = within.compilations
    took = compilation.time_range.elapsed_us()
    assert compilation.kernel == "unheard_of"
    assert took > 1000
    assert block.self_compile_time_total == 0
    assert block.compile_time_total == within.compile_time_total == took
    assert within.cpu_time_total == pytest.approx(within.time_range.elapsed_us() - took)
    assert within.cpu_time_total < took
    assert alone.name == "numgrad::compile"
    assert alone.compile_time_total > 1000
    assert alone.cpu_time_total == pytest.approx(0)
    average = next(average for average in prof.key_averages() if average.key == "within")
    assert average.compile_time_total == took
    assert format_time(took) in prof.key_averages().table()
    with profile() as prof:
        pass
    assert prof.function_events == []


def test_compiling_in_another_thread_is_not_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    text = "def kernel(row):\n    row[0] = 2\n"
    with profile() as prof:
        arguments = "other", lambda: text, [types.Array(types.int64, 1, "C")], FACTS
        thread = threading.Thread(target=compile_kernel, args=arguments)
        thread.start()
        thread.join()
    assert prof.function_events == []


def test_memory_is_that_of_the_results():
    x = numgrad.ones(10, 10)
    with profile() as prof:
        y = x + 1
        y.t()
        y.add_(1)
        numgrad.cat([y, y])
        y.argmax(0)
    used = {event.name: event.self_cpu_memory_usage for event in prof.function_events}
    assert used == {"aten::add": 400, "aten::t": 0, "aten::add_": 0, "aten::cat": 800, "aten::argmax": 80}


def test_a_rule_of_one_kernel_has_made_its_gradients():
    x = leaf()
    y = (x * x).sum()
    with profile() as prof:
        y.backward()
    used = {event.name: event.self_cpu_memory_usage for event in prof.function_events}
    assert used["MulBackward0"] == 32


def test_shapes_are_recorded_if_asked_for():
    x, y = numgrad.ones(2, 3), numgrad.ones(3)
    with profile(record_shapes=True) as prof:
        x + y
        x * 2.5
        numgrad.cat([x, x])
    added, multiplied, joined = prof.function_events
    assert added.input_shapes == [[2, 3], [3]]
    assert added.input_dtypes == ["float32", "float32"]
    assert multiplied.input_shapes == [[2, 3], []]
    assert multiplied.concrete_inputs == [None, 2.5]
    assert joined.input_shapes[0] == []
    with profile() as prof:
        x + y
    assert prof.function_events[0].input_shapes == []


def test_stacks_are_recorded_if_asked_for():
    def call(x):
        return (x * 2).sum()

    x = leaf()
    with profile(with_stack=True) as prof:
        call(x).backward()
    events = {event.name: event for event in prof.function_events}
    innermost = events["aten::mul"].stack[0]
    assert innermost.endswith(": call")
    assert innermost.startswith(f"{__file__}(")
    assert events["MulBackward0"].stack == events["aten::mul"].stack  # of the operation that the node is of
    assert events["aten::mul"].stack[1].endswith(": test_stacks_are_recorded_if_asked_for")


def test_tensors_are_not_kept_alive():
    gc.disable()
    try:
        x = numgrad.ones(3)
        with profile(record_shapes=True) as prof:
            y = x + 1
            gone = weakref.ref(y)
            del y
            assert gone() is None
    finally:
        gc.enable()
    assert names(prof.function_events) == ["aten::add"]


# -- against PyTorch ---------------------------------------------------------------------------------------------


def program(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with torch.autograd.profiler.profile() as prof:
        with torch.autograd.profiler.record_function("block"):
            (x * x).sum()
            x.detach().exp_()
        torch.relu(x - 1).sum().backward()
    return prof


@pytest.mark.torch
def test_the_same_events_as_pytorchs():
    import torch

    ours, theirs = program(numgrad), program(torch)

    def seen(prof, wanted):
        return [e.name for e in prof.function_events if e.cpu_parent is None or e.name in wanted]

    wanted = {"aten::mul", "aten::sum", "aten::exp_", "SumBackward0", "ReluBackward0", "SubBackward0"}
    top = [name for name in seen(theirs, wanted) if name != "aten::ones_like"]
    leaf_turn = TURN + "torch::autograd::AccumulateGrad"
    assert seen(ours, wanted) == [name for name in top if name != leaf_turn]
    assert leaf_turn in top  # which is inside the last node's run here


@pytest.mark.torch
def test_the_attributes_of_pytorchs_events():
    import torch

    def public(value):
        return {name for name in dir(value) if not name.startswith("_")}

    ours, theirs = program(numgrad), program(torch)
    left_out = {  # of other devices, and of what PyTorch's tracing library keeps
        "activity_type", "append_kernel", "concrete_inputs", "cpu_percent", "device_index", "device_type",
        "event_metadata", "external_id", "flops", "flow_id", "flow_start", "flow_type", "is_python_function",
        "linked_correlation_id", "metadata_json", "python_id", "python_module_id", "python_parent_id",
        "self_cuda_memory_usage", "self_cpu_percent", "structured_input_shapes", "structured_input_strides",
        "total_cpu_percent", "total_device_percent", "device_time_str", "device_time_total_str",
        "self_device_time_total_str",
    }
    assert public(theirs.function_events[0]) - public(ours.function_events[0]) <= left_out
    assert public(theirs.key_averages()[0]) - public(ours.key_averages()[0]) <= left_out
    assert public(theirs.function_events) <= public(ours.function_events)
