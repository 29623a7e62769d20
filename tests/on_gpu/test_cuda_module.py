"""The package ``numgrad.cuda``: which GPUs there are, which is current, and how much memory they have."""

import threading

import pytest

import numgrad as torch

MIB = 1 << 20


def test_there_is_a_gpu():
    assert torch.cuda.is_available()
    torch.cuda.init()
    assert torch.cuda.is_initialized()
    assert torch.cuda.device_count() >= 1


def test_the_accelerator_is_the_gpu():
    assert torch.accelerator.is_available()
    kind = torch.accelerator.current_accelerator()
    assert (kind.type, kind.index) == ("cuda", None)
    made = torch.ones(2, device=kind)
    with torch.accelerator.device_index(0):
        assert made.get_device() == torch.accelerator.current_device_index() == 0
    assert torch.accelerator.memory_allocated() == torch.cuda.memory_allocated() > 0


def test_properties_of_a_gpu(size):
    properties = torch.cuda.get_device_properties()
    assert torch.cuda.get_device_name() == torch.cuda.get_device_name("cuda:0") == properties.name
    assert torch.cuda.get_device_capability(0) == (properties.major, properties.minor) >= (7, 5)
    assert properties.warp_size == 32
    assert properties.max_threads_per_block >= 1024
    assert properties.multi_processor_count >= size(1, 2)
    assert repr(properties).startswith(f"_CudaDeviceProperties(name='{properties.name}', major=")
    assert "simulator" in properties.name or "emulator" in properties.name or size(0, 1)


def test_the_current_gpu():
    assert torch.cuda.current_device() == 0
    for same in (0, "cuda", "cuda:0", torch.device("cuda", 0), -1):
        torch.cuda.set_device(same)
        with torch.cuda.device(same):
            assert torch.cuda.current_device() == 0
    with torch.cuda.device(None), torch.cuda.device_of(torch.ones(2)), torch.cuda.device_of(torch.ones(2).cuda()):
        assert torch.cuda.current_device() == 0


@pytest.mark.parametrize("use", [torch.cuda.set_device, torch.cuda.device, torch.cuda.synchronize])
def test_a_gpu_that_is_not_there(use):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        use(99)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        use("cpu")


def test_memory_of_tensors_is_counted():
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    x = torch.empty(MIB, device="cuda")
    assert torch.cuda.memory_allocated() == before + 4 * MIB
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    y = x.clone()
    del x, y
    assert torch.cuda.memory_allocated("cuda:0") == before
    assert torch.cuda.max_memory_allocated() == before + 8 * MIB
    assert torch.cuda.max_memory_reserved() >= before + 8 * MIB
    reserved = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() <= reserved - 20 * MIB


def test_memory_stats():
    x = torch.empty(1000, device="cuda")
    torch.cuda.reset_accumulated_memory_stats()
    before = torch.cuda.memory_stats()
    y = torch.empty(1000, device="cuda")
    stats = torch.cuda.memory_stats()
    assert list(stats) == sorted(stats)
    for name, given in (("allocation", 1), ("allocated_bytes", 4096), ("requested_bytes", 4000)):
        assert stats[f"{name}.all.current"] == before[f"{name}.all.current"] + given
        assert stats[f"{name}.all.allocated"] == given
        assert stats[f"{name}.all.freed"] == 0
    assert stats["allocated_bytes.small_pool.current"] == before["allocated_bytes.small_pool.current"] + 4096
    assert stats["reserved_bytes.all.current"] == torch.cuda.memory_reserved()
    assert stats["num_ooms"] >= 0
    del x, y
    assert torch.cuda.memory_stats()["allocated_bytes.all.freed"] == 8192


def test_memory_summary():
    x = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    summary = torch.cuda.memory_summary()
    lines = summary.splitlines()
    assert {len(line) for line in lines} == {83}
    (allocated,) = [line for line in lines if line.startswith("|Allocated memory")]
    assert allocated.split("|")[2].split()[1] in ("MiB", "GiB")
    assert "from large pool" in summary
    assert "from large pool" not in torch.cuda.memory_summary(abbreviated=True)
    assert x.nbytes == 3 * MIB


def test_free_memory():
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total == torch.cuda.get_device_properties().total_memory


def test_out_of_memory():
    assert torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    with pytest.raises(torch.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to allocate 4096\.00 GiB\. GPU"):
        torch.empty(1 << 40, device="cuda")
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_another_thread_uses_the_gpu():
    found = []
    x = torch.ones(5, device="cuda")

    def work():
        found.append(((x + 1).sum().item(), torch.cuda.current_device()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(10, 0)]


def test_pinned_memory():
    x = torch.arange(1000.0).pin_memory()
    assert x.is_pinned()
    assert not torch.ones(3).is_pinned()
    y = x.to("cuda", non_blocking=True)
    back = y.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    assert back.is_pinned()
    assert back.tolist() == x.tolist()
