"""DataLoader with workers: batches, information of workers, errors, and clean ends."""

import mmap
import multiprocessing
import os
import random
import signal
import sys
import time

import numpy as np
import pytest
import threadpoolctl

import numgrad
from numgrad import arange
from numgrad.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # where there is one core
    pytest.mark.skipif(sys.platform != "linux", reason="the data sets here are of classes that workers cannot import"),
]


class Function(Dataset):
    """Sample ``i`` is ``function(i)``."""

    def __init__(self, function, count=8):
        self.function, self.count = function, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.function(index)


class Shards(IterableDataset):
    """Numbers below ``count``, every worker its own."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.count, info.num_workers))


def values(loader):
    return [batch.tolist() for batch in loader]


def worker_pid(index):
    return os.getpid()


def children():
    return {process.pid for process in multiprocessing.active_children()}


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Each test ends with the processes and open files that it began with."""
    processes, files = children(), os.listdir("/proc/self/fd")
    yield
    assert children() <= processes
    assert len(os.listdir("/proc/self/fd")) <= len(files)


# -- which batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}, {"sampler": [4, 0, 2]},
        {"batch_sampler": [[4, 0], [2]]}, {"batch_size": 2, "prefetch_factor": 1},
        {"collate_fn": tuple, "batch_size": 2},
    ],
)  # fmt: skip
@pytest.mark.parametrize("workers", [1, 2])
def test_as_without_workers(arguments, workers):
    data = Function(lambda i: {"x": i, "y": (np.float32(i), str(i))})
    loader = DataLoader(data, num_workers=workers, **arguments)
    alone = DataLoader(data, **{name: value for name, value in arguments.items() if name != "prefetch_factor"})
    iterator = iter(loader)
    assert len(loader) == len(iterator) == len(alone)
    assert repr(list(iterator)) == repr(list(alone))


def test_rows_of_tensors():
    loader = DataLoader(TensorDataset(arange(10.0).view(5, 2), arange(5)), batch_size=2, num_workers=2)
    assert [(x.tolist(), y.tolist()) for x, y in loader] == [
        ([[0, 1], [2, 3]], [0, 1]), ([[4, 5], [6, 7]], [2, 3]), ([[8, 9]], [4])
    ]  # fmt: skip


def test_the_order_is_kept_whoever_is_first():
    overtaken = multiprocessing.Event()

    def slow(index):
        if index == 0:
            overtaken.wait(20)
            time.sleep(0.1)
        elif index == 3:  # the same worker has sent 1 before
            overtaken.set()
        return index

    loader = DataLoader(Function(slow), num_workers=2)
    assert values(loader) == [[0], [1], [2], [3], [4], [5], [6], [7]]
    overtaken.clear()
    loader = DataLoader(Function(slow), num_workers=2, in_order=False)
    first, *others = values(loader)
    assert first == [1]
    assert sorted(others) == [[0], [2], [3], [4], [5], [6], [7]]


def test_samples_that_follow_one_another():
    assert values(DataLoader(Shards(11), batch_size=2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    loader = DataLoader(Shards(11), batch_size=2, num_workers=2, drop_last=True)
    assert values(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10]]
    assert list(DataLoader(Shards(5), batch_size=None, num_workers=2)) == [0, 1, 2, 3, 4]
    assert list(DataLoader(Shards(1), batch_size=None, num_workers=2)) == [0]
    assert sorted(DataLoader(Shards(9), batch_size=None, num_workers=2, in_order=False)) == [*range(9)]


def test_after_the_end():
    iterator = iter(DataLoader(range(2), num_workers=1))
    assert values(iterator) == [[0], [1]]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


def test_workers_read_ahead():
    made = mmap.mmap(-1, 2)  # how many samples each worker has made

    def counted(index):
        made[get_worker_info().id] += 1
        return index

    iterator = iter(DataLoader(Function(counted, 20), num_workers=2, prefetch_factor=3))
    end = time.monotonic() + 10
    while bytes(made) != b"\x03\x03" and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.05)
    assert bytes(made) == b"\x03\x03"
    assert next(iterator).tolist() == [0]


# -- the state of workers ----------------------------------------------------------------------------------


def test_worker_info():
    def options_of(index):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, info.dataset.count, numgrad.initial_seed()

    numgrad.manual_seed(5)
    loader = DataLoader(Function(options_of, 2), batch_size=None, num_workers=2)
    first, second = loader
    seed = first[2]
    assert first == [0, 2, seed, 2, seed]
    assert second == [1, 2, seed + 1, 2, seed + 1]
    assert get_worker_info() is None
    assert next(iter(loader))[2] != seed  # another loop, another seed
    numgrad.manual_seed(5)
    assert next(iter(loader))[2] == seed


def test_generators():
    def drawn(index):
        return numgrad.rand(1).item(), random.random(), np.random.rand()

    numgrad.manual_seed(3)
    loader = DataLoader(Function(drawn, 4), batch_size=None, num_workers=2)
    first = list(loader)
    assert len({number for sample in first for number in sample}) == 12
    numgrad.manual_seed(3)
    assert list(loader) == first
    again = DataLoader(Function(drawn, 4), batch_size=None, num_workers=2, generator=numgrad.Generator().manual_seed(3))
    assert list(again) == first


def test_worker_init_fn():
    started = []

    def start(worker):
        started.append(worker)
        get_worker_info().dataset.count = 10 * (worker + 1)

    data = Function(lambda index: (data.count, *started), 2)
    assert list(DataLoader(data, batch_size=None, num_workers=2, worker_init_fn=start)) == [[10, 0], [20, 1]]
    assert started == []


def test_kernels_in_workers_run_on_one_thread_whatever_ran_before():
    x = numgrad.linspace(0, 1, 300_000)
    matrix = x[:90_000].view(300, 300)

    def results(index):
        product = (matrix @ matrix).sum().item()
        libraries = [one for one in threadpoolctl.threadpool_info() if "openblas" in str(one)]
        threads = {one["num_threads"] for one in libraries if "scipy" not in one["filepath"]}  # SciPy has its own
        ones = np.ones((300, 300)) @ np.ones((300, 300))
        return x.sin().sum().item(), product, ones, threads, numgrad.get_num_threads()

    here = results(0)  # on several threads, where there are several cores
    for sine, product, ones, threads, own in DataLoader(Function(results, 2), batch_size=None, num_workers=2):
        assert sine == here[0]
        assert product == pytest.approx(here[1], rel=1e-5)
        assert ones.tolist() == here[2].tolist()
        assert threads <= {1}
        assert own == 1


# -- failures --------------------------------------------------------------------------------------------


class OddError(Exception):
    def __init__(self, text, number):
        super().__init__(text, number)


def test_exceptions():
    class LocalError(Exception):
        pass

    errors = [KeyError("no\nkey"), OddError("odd", 1), LocalError("here"), StopIteration(), None, ValueError("wrong")]

    def broken(index):
        if errors[index] is not None:
            raise errors[index]
        return index

    iterator, seen = iter(DataLoader(Function(broken, 6), batch_size=None, num_workers=2)), []
    for _ in range(6):
        try:
            seen.append(next(iterator))
        except Exception as error:
            seen.append(error)
    assert seen[4] == 4
    assert [type(each) for each in seen] == [KeyError, RuntimeError, RuntimeError, RuntimeError, int, ValueError]
    for worker, index in (0, 0), (1, 1), (0, 2), (1, 3), (1, 5):
        name = ["KeyError", "OddError", "LocalError", "StopIteration", "", "ValueError"][index]
        text = str(seen[index])
        assert text.startswith(f"Caught {name} in DataLoader worker process {worker}.\nOriginal Traceback")
        assert "in broken\n    raise errors[index]" in text
    assert "KeyError: 'no\\nkey'" in str(seen[0])
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_exception_in_worker_init_fn():
    def start(worker):
        raise ValueError("cannot start")

    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0\..*cannot start"):
        list(DataLoader(range(3), num_workers=1, worker_init_fn=start))


def test_a_batch_that_cannot_be_sent():
    with pytest.raises((AttributeError, RuntimeError), match=r"(?s)in DataLoader worker process 0\..*pickle"):
        list(DataLoader(Function(lambda index: lambda: index), batch_size=None, num_workers=1))
    weight = numgrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"(?s)Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(DataLoader(Function(lambda index: weight * index), batch_size=None, num_workers=1))


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by signal SIGKILL"),
        (lambda: os._exit(3), "with exit code 3"),
        (lambda: sys.exit(4), "with exit code 4"),
    ],
)
def test_a_worker_that_ends(end, message):
    iterator = iter(DataLoader(Function(lambda index: end() if index == 2 else index), num_workers=2))
    assert next(iterator).tolist() == [0]
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly: {message}"):
        list(iterator)
    assert list(iterator) == []


def test_timeout():
    iterator = iter(DataLoader(Function(lambda index: time.sleep(0.3) or index), num_workers=1, timeout=0.1))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.1 seconds"):
        next(iterator)


# -- from one loop to the next ---------------------------------------------------------------------------


def test_persistent_workers():
    loader = DataLoader(Function(worker_pid), batch_size=None, num_workers=2, collate_fn=str)
    assert len({*loader, *loader}) == 4
    loader = DataLoader(Function(worker_pid), batch_size=None, num_workers=2, collate_fn=str, persistent_workers=True)
    first = list(loader)
    iterator = iter(loader)
    assert next(iterator) == first[0]
    assert list(loader) == first  # all of it, although the last loop was left early
    assert len(set(first)) == 2
    loader._workers.close()
    assert not {*loader} & {*first}  # new ones, where the old ones have ended
    loader._workers.close()


def test_persistent_workers_begin_anew():
    loader = DataLoader(Shards(5), batch_size=2, num_workers=2, persistent_workers=True)
    assert values(loader) == values(loader) == [[0, 2], [1, 3], [4]]
    del loader


def test_leaving_a_loop_ends_the_workers():
    loader, before = DataLoader(Function(lambda index: numgrad.zeros(50_000)), num_workers=2), children()
    for _ in loader:
        assert len(children() - before) == 2
        break
    assert children() <= before


def test_a_copy_of_the_process_does_not_end_the_workers():
    iterator = iter(DataLoader(range(9), num_workers=2))
    child = os.fork()
    if child == 0:
        del iterator
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list(iterator)) == 9
