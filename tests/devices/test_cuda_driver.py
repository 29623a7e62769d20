"""The real driver's calls, on a stand-in for NVIDIA's that delays all work as long as it may."""

import gc
import inspect
import re
import struct
import threading

import numpy as np
import pytest
from cuda.bindings import driver as real
from driver_stub import Driver
from numba.core import types

import numgrad
from numgrad.core.types import tensor_type
from numgrad.devices import buffers
from numgrad.devices.buffers import DeviceBuffer
from numgrad.devices.cuda import caching, driver, dry, memory, optimizers, packing, pinned, runtime, simulated
from numgrad.devices.needs import OutOfMemoryError
from numgrad.devices.updates import UpdateTable
from numgrad_kernels.cuda import adapter
from numgrad_kernels.facts import Facts

ERROR = real.CUresult
FLOAT64 = np.dtype(np.float64)
ROW = types.CPointer(types.float64)


def begin(monkeypatch, gpus=1, **options):
    """The state at the beginning of a process that uses these GPUs."""
    stub = Driver(gpus, **options)
    monkeypatch.setattr(driver, "cu", stub)
    monkeypatch.setattr(driver, "_contexts", {})
    driver.device_count.cache_clear()
    monkeypatch.setattr(driver, "_active", driver._Active())
    monkeypatch.setattr(driver, "machine_code", lambda name, text, arguments, capability: ("entry", str(capability)))
    monkeypatch.setattr(runtime, "driver", driver)
    monkeypatch.setattr(buffers, "_driver", driver)
    monkeypatch.setattr(buffers, "_memory", memory)
    monkeypatch.setattr(memory, "_allocators", {})
    monkeypatch.setattr(runtime, "_current", runtime._Current())
    for name in ("_defaults", "_pools", "_turns"):
        monkeypatch.setattr(runtime, name, {})
    for name, value in (("_idle", {}), ("_starts", []), ("_blocks", {})):
        monkeypatch.setattr(pinned, name, value)
    pinned._returned.clear()
    return stub


@pytest.fixture
def gpu(monkeypatch):
    yield begin(monkeypatch)
    gc.collect()  # blocks return to the stand-in of the test


@pytest.fixture
def two(monkeypatch):
    yield begin(monkeypatch, gpus=2)
    gc.collect()


def parameters_of(binding):
    """The names of a function's parameters, from the first line of the bindings' documentation."""
    (given,) = re.fullmatch(r"\w+\((.*)\)", binding.__doc__.splitlines()[0]).groups()
    return [re.split(r"[ *]", part.partition(":")[0].strip())[-1] for part in given.split(", ") if part]


@pytest.mark.parametrize("name", [name for name in vars(Driver) if name.startswith("cu")])
def test_the_stand_in_has_the_signatures_of_the_bindings(name):
    assert list(inspect.signature(getattr(Driver(), name)).parameters) == parameters_of(getattr(real, name))


def test_the_simulated_gpu_has_the_functions_of_the_real_one():
    functions = [
        {name: inspect.signature(value) for name, value in vars(module).items()
         if inspect.isroutine(value) and value.__module__ == module.__name__ and name[0] != "_"}
        for module in (driver, simulated)
    ]
    assert functions[0] == functions[1]
    assert all(inspect.signature(getattr(dry, name)) == signature for name, signature in functions[0].items())


def test_listeners_are_called_when_a_kernel_has_been_loaded_and_run(gpu, monkeypatch):
    from numgrad.devices import launches
    from numgrad.devices.cuda import launching

    made, found = [], []
    monkeypatch.setattr(launches, "kernel_listeners", [lambda name, begun, ended: made.append(name)])
    facts = Facts(FLOAT64, ("x",), written=frozenset({"x"}))
    kernel = launching.CudaKernel("move", "def kernel(x):\n    x[0] = 1\n", (ROW,), facts)
    assert made == []
    buffer = memory.empty_buffer(4, FLOAT64, 0)
    launches.listen(found.append)
    try:
        launching.run_kernel(kernel, 1, 1, memory.stream(0), buffer)
    finally:
        launches.unlisten(found.append)
    assert made == ["move"]
    (launch,) = found
    assert (launch.kernel, launch.device, launch.read, launch.written) == (kernel, "cuda:0", 0, 32)


def test_a_thread_sets_the_context_of_the_only_gpu_once(gpu):
    for _ in range(3):
        driver.memory_info(0)
    thread = threading.Thread(target=driver.memory_info, args=(0,))
    thread.start()
    thread.join()
    assert gpu.made("cuCtxSetCurrent") == [(0,), (0,)]
    assert gpu.made("cuDevicePrimaryCtxRetain") == [(0,)]


def test_with_several_gpus_the_context_is_set_for_each_call(two):
    for device in (0, 1, 1, 0):
        driver.memory_info(device)
    assert two.made("cuCtxSetCurrent") == [(0,), (1,), (1,), (0,)]
    assert two.made("cuDevicePrimaryCtxRetain") == [(0,), (1,)]


def test_properties(two):
    properties = driver.device_properties(1)
    assert (properties.name, properties.major, properties.minor) == ("GPU number 1", 9, 1)
    assert (properties.total_memory, properties.multi_processor_count) == (1 << 26, 132)
    assert repr(properties).startswith("_CudaDeviceProperties(name='GPU number 1', major=9, minor=1, total_memory=64MB")


def test_arguments_lie_in_slots_of_their_types(gpu):
    kinds = (ROW, types.int64, types.float64, types.boolean, types.complex128, types.float32, types.complex64,
             types.int32, types.uint8)  # fmt: skip
    launch = driver.load("kernel", "", kinds)
    gpu.parameters = 11
    buffer = DeviceBuffer(0xFFFF_0000_1234, 5, FLOAT64, 0, None)
    launch(3, 256, runtime.stream(0), buffer, -2, 0.1, True, 1 + 2j, 1.5, 3 - 4j, -7, 200)
    ((_, grid, block, stream, arguments),) = gpu.made("cuLaunchKernel")
    assert (grid, block, stream) == ((3, 1, 1), (256, 1, 1), 0)
    formats = ["Q", "q", "d", "?7x", "d", "d", "f4x", "f4x", "f4x", "i4x", "B7x"]
    read = [struct.unpack("=" + form, slot)[0] for form, slot in zip(formats, arguments, strict=True)]
    assert read == [0xFFFF_0000_1234, -2, 0.1, True, 1, 2, 1.5, 3, -4, -7, 200]


def test_slots_have_the_sizes_of_the_parameters_of_a_kernel():
    numbers = (types.float64, types.complex128, types.float32, types.complex64, types.int32, types.uint8)
    kinds = (ROW, types.int64, *numbers)
    text = "def kernel(a, b, c, d, e, f, g, h):\n    a[b] = c + d.real + d.imag + e + f.real + f.imag + g + h\n"
    ptx = adapter.compile_ptx("wide", text, kinds)
    bits = re.findall(r"^\s*\.param \.[a-z](\d+)", ptx.partition(".visible .entry")[2].partition(")")[0], re.M)
    assert packing.sizes(kinds) == [int(each) // 8 for each in bits]


def test_a_launch_within_a_launch_has_arguments_of_its_own(gpu, monkeypatch):
    inner = []
    taken = gpu.cuLaunchKernel

    def call(*given):  # as another thread's, or of a destructor, before this one is read
        if not inner:
            inner.append(True)
            launch(1, 1, runtime.stream(0), 22)
        return taken(*given)

    monkeypatch.setattr(gpu, "cuLaunchKernel", call)
    launch = driver.load("kernel", "", (types.int64,))
    gpu.parameters = 1
    launch(1, 1, runtime.stream(0), 11)
    assert [struct.unpack("=q", call[-1][0]) for call in gpu.made("cuLaunchKernel")] == [(22,), (11,)]


def test_a_number_that_is_too_large_leaves_a_kernel_usable(gpu):
    launch = driver.load("kernel", "", (types.int64,))
    gpu.parameters = 1
    with pytest.raises(OverflowError):
        launch(1, 1, runtime.stream(0), 1 << 63)
    launch(1, 1, runtime.stream(0), 1)
    assert len(gpu.made("cuLaunchKernel")) == 1


@pytest.mark.parametrize("gpus", [1, 2])
def test_a_thread_that_has_used_no_gpu_waits_for_events(monkeypatch, gpus):
    begin(monkeypatch, gpus)
    start, end = (driver.create_event(gpus - 1, timing=True) for _ in range(2))
    for event in (start, end):
        driver.record_event(event, runtime.stream(gpus - 1))
    times = []

    def wait():
        driver.wait_for_event(end)
        times.append(driver.elapsed_time(start, end))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert times == [0]


@pytest.mark.parametrize("first", [True, False], ids=["a first call", "a later call"])
def test_a_thread_without_its_context_makes_it_current_again(gpu, first):
    """Numba removes the context of a thread at the end of ``with cuda.gpus[0]``."""
    launch = driver.load("kernel", "", (types.int64,))
    gpu.parameters = 1
    stream = runtime.stream(0)
    event, start = (driver.create_event(0, timing=True) for _ in range(2))
    host, here = driver.allocate_pinned(8), driver.allocate(8, 0)
    if not first:
        launch(1, 1, stream, 1)
    for call, arguments in {
        driver.memory_info: (0,), driver.allocate: (8, 0), driver.allocate_pinned: (8,),
        driver.copy_to_device: (here, host, 8, stream), driver.copy_to_host: (host, here, 8, stream),
        driver.copy_within: (here, here, 8, stream), driver.fill_bytes: (here, 0, 8, stream),
        driver.create_stream: (0,), driver.stream_is_done: (stream,), driver.create_event: (0,),
        driver.record_event: (event, stream), driver.wait_on_stream: (stream, event), driver.event_is_done: (event,),
        driver.elapsed_time: (start, event), driver.wait_for_event: (event,), launch: (1, 1, stream, 1),
        launch.occupancy: (0,), driver.synchronize: (stream,), driver.synchronize_device: (0,),
        driver.free: (here, 0), driver.free_pinned: (host,),
    }.items():  # fmt: skip
        gpu.context.clear()
        call(*arguments)
        assert gpu.context, call
    assert len(gpu.made("cuLaunchKernel")) == 2 - first
    gpu.fail["cuStreamSynchronize"] = ERROR.CUDA_ERROR_INVALID_CONTEXT
    with pytest.raises(RuntimeError, match="INVALID_CONTEXT"):  # of another reason: the second try is the last
        driver.synchronize(stream)


def test_work_that_is_captured_runs_when_its_graph_is_launched(gpu):
    capturing, here = runtime.pooled_stream(0), runtime.stream(0)
    launch = driver.load("kernel", "", (types.int64,))
    gpu.parameters, found = 1, []
    gpu.kernel = lambda argument: found.append(struct.unpack("=q", argument)[0])

    def work():
        for number in range(3):
            launch(1, 1, capturing, number)

    graph = driver.capture(capturing, work)
    driver.synchronize_device(0)
    assert found == []
    for _ in range(2):
        driver.launch_graph(graph, here)
    driver.synchronize(here)
    assert found == [0, 1, 2, 0, 1, 2]
    assert gpu.made("cuGraphLaunch") == [(3, 0), (3, 0)]
    del graph
    assert len(gpu.made("cuGraphExecDestroy")) == len(gpu.made("cuGraphDestroy")) == 1


@pytest.mark.parametrize(
    "call", ["cuStreamBeginCapture", "cuLaunchKernel", "cuStreamEndCapture", "cuGraphInstantiate"]
)
def test_work_that_cannot_be_captured_leaves_the_stream_usable(gpu, call):
    capturing = runtime.pooled_stream(0)
    launch = driver.load("kernel", "", (types.int64,))
    gpu.parameters = 1
    gpu.fail[call] = ERROR.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    assert driver.capture(capturing, lambda: launch(1, 1, capturing, 1)) is None
    gpu.fail.clear()
    assert not gpu.capturing
    assert driver.capture(capturing, lambda: launch(1, 1, capturing, 1)) is not None


def test_a_default_stream_captures_nothing(gpu):
    assert driver.capture(runtime.stream(0), lambda: None) is None


def test_a_kernel_is_loaded_once_on_each_gpu_for_its_capability(two):
    launch = driver.load("kernel", "", (types.int64,))
    two.parameters = 1
    assert not two.made("cuModuleLoadData")
    for device in (1, 0, 1):
        launch(1, 1, runtime.stream(device), 1)
    assert two.made("cuModuleLoadData") == [("(9, 1)",), ("(9, 0)",)]
    assert two.made("cuModuleGetFunction") == [(b"entry",), (b"entry",)]
    assert [call[0] for call in two.made("cuLaunchKernel")] == [(b"entry", device) for device in (1, 0, 1)]


def test_the_block_size_that_keeps_most_threads_busy(gpu):
    launch = driver.load("kernel", "", (types.int64,))
    assert launch.occupancy(0) == (256, 6 * 132)  # 1024 threads would leave a third of the multiprocessor idle


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("CUDA_ERROR_INVALID_VALUE", r"^CUDA error: what the driver says \(CUDA_ERROR_INVALID_VALUE\)$"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "might be asynchronously reported"),
        ("CUDA_ERROR_NOT_INITIALIZED", "Cannot re-initialize CUDA in forked subprocess"),
    ],
)
def test_errors_of_the_driver(gpu, error, words):
    launch = driver.load("kernel", "", (types.int64,))
    gpu.fail = {"cuLaunchKernel": getattr(ERROR, error), "cuStreamSynchronize": getattr(ERROR, error)}
    with pytest.raises(RuntimeError, match=words):
        launch(1, 1, runtime.stream(0), 1)
    with pytest.raises(RuntimeError, match=words):
        driver.synchronize(runtime.stream(0))


def test_a_driver_that_is_too_old_for_the_compiler(gpu):
    launch = driver.load("kernel", "", (types.int64,))
    gpu.fail["cuModuleLoadData"] = ERROR.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    with pytest.raises(RuntimeError, match=r"for CUDA 13.1, cannot load the output of the compiler. Update the driver"):
        launch(1, 1, runtime.stream(0), 1)


def test_rows_go_to_a_gpu_and_back(gpu):
    x = np.arange(100_000.0)
    buffer = memory.buffer_from(x)
    assert (buffer.host() == x).all()
    assert (buffer[3:5].copy().host() == x[3:5]).all()
    assert memory.zero_buffer(3, FLOAT64).host().tolist() == [0, 0, 0]
    assert buffer.item(7) == 7


def test_a_small_array_may_change_as_soon_as_it_was_given(gpu):
    x = np.arange(5.0)
    buffer = memory.buffer_from(x)
    assert not gpu.made("cuStreamSynchronize")
    x[:] = -1
    again = memory.buffer_from(x)  # in pinned memory of its own, for the first is still to be copied
    assert buffer.host().tolist() == [0, 1, 2, 3, 4]
    assert again.host().tolist() == [-1] * 5
    memory.buffer_from(x)
    assert len(gpu.made("cuMemHostAlloc")) == 2


def test_the_table_of_an_optimizer_of_many_parameters_is_not_waited_for(gpu):
    table = UpdateTable("adam", tensor_type(numgrad.float32), [1] * 2000)
    copy = optimizers._Copy(table, 0)
    waits = len(gpu.made("cuStreamSynchronize"))
    table.memory[:] = np.arange(table.memory.size)
    sent = table.memory.copy()
    copy.renew()
    table.memory[:] = 0
    assert len(gpu.made("cuStreamSynchronize")) == waits
    assert sent.nbytes > 2 * memory.STAGED
    assert (copy.table.host() == sent).all()


def test_a_large_array_is_waited_for_unless_it_is_pinned(gpu):
    x = np.arange(20_000.0)
    memory.upload(memory.empty_buffer(x.size, FLOAT64), x, wait=False)
    assert len(gpu.made("cuStreamSynchronize")) == 1
    held = memory.pinned.pinned_buffer(x.size, FLOAT64)
    held[:] = x
    buffer = memory.empty_buffer(x.size, FLOAT64)
    memory.upload(buffer, held, wait=False)
    assert len(gpu.made("cuStreamSynchronize")) == 1
    back = pinned.pinned_buffer(x.size, FLOAT64)
    memory.download(buffer, back, wait=False)
    assert not back.any()
    driver.synchronize_device(0)
    assert (back == x).all()


def test_pinned_memory_is_used_again_once_it_was_copied(gpu):
    def address():
        return pinned.pinned_buffer(100, FLOAT64).ctypes.data

    held = pinned.pinned_buffer(100, FLOAT64)
    assert pinned.block_of(held[50:]) is not None
    assert pinned.block_of(np.zeros(3)) is None
    first = held.ctypes.data
    memory.upload(memory.empty_buffer(100, FLOAT64), held, wait=False)
    del held
    assert address() != first
    driver.synchronize_device(0)
    assert first in (address(), address())


def test_pinned_memory_that_lies_idle_is_given_back_before_there_is_no_more(gpu, monkeypatch):
    limit = 90_000
    allocate = gpu.cuMemHostAlloc

    def allocate_of_little(bytesize, Flags):
        if bytesize + sum(memory.size for memory in gpu.pinned.values()) > limit:
            return ERROR.CUDA_ERROR_OUT_OF_MEMORY, None
        return allocate(bytesize, Flags)

    monkeypatch.setattr(gpu, "cuMemHostAlloc", allocate_of_little)
    kept = pinned.pinned_buffer(10, FLOAT64)
    x = np.arange(8000.0)
    buffer = memory.buffer_from(x)  # by way of 64 KiB
    other = pinned.pinned_buffer(4000, FLOAT64)
    assert sorted(held.size for held in gpu.pinned.values()) == [512, 32768]
    assert pinned.block_of(kept) is not None
    assert pinned.block_of(other) is not None
    assert (buffer.host() == x).all()
    with pytest.raises(MemoryError):
        pinned.pinned_buffer(100_000, FLOAT64)


def test_events_order_streams(gpu):
    one, other = (runtime.pooled_stream(0) for _ in range(2))
    buffer, back = memory.empty_buffer(4, FLOAT64), np.zeros(4)
    event = driver.create_event(0)
    assert driver.event_is_done(event)
    driver.fill_bytes(buffer.address, 1, buffer.nbytes, one)
    driver.record_event(event, one)
    driver.wait_on_stream(other, event)
    driver.copy_to_host(back.ctypes.data, buffer.address, back.nbytes, other)
    assert not driver.event_is_done(event)
    assert not driver.stream_is_done(one)
    driver.synchronize(other)
    assert back.view(np.uint8).tolist() == [1] * 32
    assert driver.event_is_done(event)
    assert driver.stream_is_done(one)


def test_streams_do_not_wait_for_the_default_one_and_are_shared_after_32(gpu):
    pool = [runtime.pooled_stream(0, -1) for _ in range(runtime.POOLED)]
    assert gpu.made("cuStreamCreateWithPriority") == [(1, -1)] * runtime.POOLED
    assert len(set(pool)) == runtime.POOLED
    assert runtime.pooled_stream(0, -1) is pool[0]
    assert runtime.pooled_stream(0, 0) not in pool


def test_a_stream_that_could_not_be_made_leaves_the_others(gpu):
    first = runtime.pooled_stream(0)
    gpu.fail["cuStreamCreateWithPriority"] = ERROR.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(RuntimeError):
        runtime.pooled_stream(0)
    gpu.fail.clear()
    assert first not in [runtime.pooled_stream(0) for _ in range(runtime.POOLED - 1)]
    assert runtime.pooled_stream(0) == first


def test_each_gpu_and_each_thread_has_its_current_stream(two):
    other = runtime.pooled_stream(1)
    runtime.set_stream(other)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(runtime.stream(1)))
    thread.start()
    thread.join()
    assert runtime.stream(1) is other
    assert (runtime.stream(0), runtime.stream(0).device) == (0, 0)
    assert (seen, seen[0].device) == ([0], 1)


def test_memory_of_each_gpu_is_its_own(two):
    here, there = (memory.empty_buffer(10, FLOAT64, device) for device in (0, 1))
    assert sorted(gpu for _, gpu in two.blocks.values()) == [0, 1]
    assert (here.device, there.device) == (0, 1)
    del there
    memory.allocator(1).empty_cache()
    assert [gpu for _, gpu in two.blocks.values()] == [0]
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        memory.empty_buffer(1, FLOAT64, 2)


def test_memory_that_another_stream_uses_waits_for_it(gpu):
    side = runtime.pooled_stream(0)
    buffer, back = memory.zero_buffer(100, FLOAT64), np.ones(100)
    address = buffer.address
    driver.synchronize_device(0)
    driver.copy_to_host(back.ctypes.data, address, back.nbytes, side)
    memory.note_uses(side, (buffer,))
    del buffer
    assert memory.empty_buffer(100, FLOAT64).address != address
    driver.synchronize(side)
    assert memory.empty_buffer(100, FLOAT64).address == address
    assert not back.any()


def test_memory_that_another_gpu_uses_waits_for_it(two):
    there = runtime.stream(1)  # its default stream, which has the address of the other GPU's
    buffer, back = memory.zero_buffer(100, FLOAT64, 0), np.ones(100)
    address = buffer.address
    driver.copy_to_host(back.ctypes.data, address, back.nbytes, there)
    memory.note_uses(there, (buffer,))
    del buffer
    assert memory.empty_buffer(100, FLOAT64, 0).address != address
    driver.synchronize(there)
    assert memory.empty_buffer(100, FLOAT64, 0).address == address


def test_a_launch_on_another_stream_says_which_memory_it_uses(gpu):
    launch = driver.load("kernel", "", (ROW, types.int64))
    gpu.parameters = 2
    buffer = memory.zero_buffer(100, FLOAT64)
    address = buffer.address
    side = runtime.pooled_stream(0)
    runtime.set_stream(side)
    launch(1, 1, side, buffer, 1)
    del buffer
    runtime.set_stream(runtime.default_stream(0))
    assert memory.empty_buffer(100, FLOAT64).address != address
    driver.synchronize(side)
    assert memory.empty_buffer(100, FLOAT64).address == address


def test_pinned_memory_that_is_copied_often_has_one_event_for_each_stream(gpu):
    held, buffer = pinned.pinned_buffer(100, FLOAT64), memory.empty_buffer(100, FLOAT64)
    for _ in range(20):
        memory.upload(buffer, held, wait=False)
    assert len(gpu.made("cuEventCreate")) == 1


def test_without_caching_each_buffer_has_memory_of_its_own_size(gpu, monkeypatch):
    monkeypatch.setattr(caching, "CACHING", False)
    buffers = [memory.empty_buffer(count, np.dtype(np.uint8)) for count in (3, 1000, 3 << 20)]
    assert gpu.made("cuMemAlloc") == [(3,), (1000,), (3 << 20,)]
    first = buffers.pop(0).address
    memory.empty_buffer(3, np.dtype(np.uint8))
    assert gpu.made("cuMemFree") == [(first,)]
    assert len(gpu.made("cuMemAlloc")) == 4


def test_kept_memory_is_given_back_before_memory_runs_out(gpu):
    size = caching.LARGE_SEGMENT
    buffer = memory.empty_buffer(size, np.dtype(np.uint8))
    kept = memory.empty_buffer(2 * size, np.dtype(np.uint8))
    memory.note_uses(runtime.pooled_stream(0), (kept,))
    del kept
    large = memory.empty_buffer(2 * size + 512, np.dtype(np.uint8))  # 64 MiB are not enough for all three
    assert memory.allocator(0).retries == 1
    with pytest.raises(OutOfMemoryError, match=r"^CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total "):
        memory.empty_buffer(2 * size, np.dtype(np.uint8))
    assert memory.allocator(0).failures == 1
    assert len(buffer) + len(large) == 3 * size + 512
