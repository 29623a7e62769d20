"""Streams and events: the current stream, waiting, and elapsed times."""

import threading

import numpy as np
import pytest

import numgrad as torch


def test_the_default_stream_is_the_current_one_at_first():
    stream = torch.cuda.current_stream()
    assert stream == torch.cuda.default_stream() == torch.cuda.current_stream("cuda:0")
    assert (stream.cuda_stream, stream.device, stream.device_index) == (0, torch.device("cuda", 0), 0)
    assert repr(stream) == "<numgrad.cuda.Stream device=cuda:0 cuda_stream=0x0>"


def test_a_stream_is_current_in_its_context():
    outer, inner = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    before = torch.cuda.current_stream()
    assert len({outer, inner, before}) == 3
    with torch.cuda.stream(outer):
        assert torch.cuda.current_stream() == outer
        with inner:
            assert torch.cuda.current_stream() == inner
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == outer
    assert torch.cuda.current_stream() == before
    with pytest.raises(ZeroDivisionError), torch.cuda.stream(outer):
        1 / 0  # noqa: B018
    assert torch.cuda.current_stream() == before


def test_the_current_stream_is_each_threads_own():
    seen = []
    with torch.cuda.stream(torch.cuda.Stream()):
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.cuda.default_stream()]


def test_set_stream():
    side = torch.cuda.Stream()
    torch.cuda.set_stream(side)
    try:
        assert torch.cuda.current_stream() == side
        torch.cuda.set_stream(None)
        assert torch.cuda.current_stream() == side
    finally:
        torch.cuda.set_stream(torch.cuda.default_stream())


def test_a_stream_of_another_library():
    side = torch.cuda.Stream()
    outside = torch.cuda.ExternalStream(side.cuda_stream)
    assert outside == side
    with torch.cuda.stream(outside):
        assert torch.ones(3, device="cuda").sum().item() == 3


def test_work_on_streams(size):
    count = size(100, 1 << 22)
    side = torch.cuda.Stream()
    x = torch.ones(count, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(20):
            x = x + 1
    torch.cuda.current_stream().wait_stream(side)
    y = x * 2
    assert np.array_equal(y.cpu().numpy(), np.full(count, 42, np.float32))
    x.record_stream(torch.cuda.current_stream())
    side.synchronize()
    assert side.query()


def test_memory_is_allocated_for_the_current_stream(cuda):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.ones(1000, device="cuda")
    assert x._storage.block.piece.pool.stream == side.cuda_stream
    address = x.data_ptr()
    x.record_stream(torch.cuda.current_stream())
    del x
    torch.cuda.synchronize()
    torch.cuda.memory_allocated()  # takes the block back
    torch.cuda.synchronize()
    assert torch.ones(1000, device="cuda").data_ptr() != address
    with torch.cuda.stream(side):
        assert torch.ones(1000, device="cuda").data_ptr() == address


def test_record_stream_is_for_gpus():
    with pytest.raises(NotImplementedError, match="is on the CPU"):
        torch.ones(3).record_stream(torch.cuda.current_stream())


def test_events():
    event = torch.cuda.Event()
    assert repr(event) == "<numgrad.cuda.Event uninitialized>"
    assert event.query()
    event.synchronize()
    event.wait()
    event.record()
    event.synchronize()
    assert event.query()
    assert repr(event) == "<numgrad.cuda.Event device=cuda:0>"
    other = torch.cuda.Stream().record_event()
    torch.cuda.current_stream().wait_event(other)
    torch.cuda.synchronize()
    assert other.query()


def test_time_between_events(size):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(end)
    start.record()
    x = torch.ones(size(100, 1 << 24), device="cuda") * 2
    end.record()
    end.synchronize()
    assert 0 < start.elapsed_time(end) < 10_000
    assert x.device.type == "cuda"
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(torch.cuda.Event())


def test_an_index_outside_is_raised_where_the_program_waits():
    x = torch.ones(3, device="cuda")
    for wait in (torch.cuda.synchronize, torch.cuda.current_stream().synchronize):
        x[torch.tensor([5], device="cuda")]
        with pytest.raises(IndexError, match="out of bounds"):
            wait()
        wait()
