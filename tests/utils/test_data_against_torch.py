"""Data sets, samplers, batches and the state of the generators afterwards, against PyTorch's for the same seed."""

import gc
import itertools
import random
import warnings
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import numgrad
import numgrad.utils.data

pytestmark = pytest.mark.torch

Pair = namedtuple("Pair", "x y")


def plain(value):
    """Tensors and containers as nested tuples that name their classes and dtypes."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return "tensor", str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(item) for item in value]
    return type(value).__name__, value


def outcome(module, program):
    """Return a program's result, the random numbers that follow, and the warnings or the type of the error."""
    module.manual_seed(11)
    generator = module.Generator().manual_seed(12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(program(module, module.utils.data, generator))
        except Exception as error:  # compared with the other module's
            result = type(error).__name__
    after = module.rand(2).tolist(), module.rand(2, generator=generator).tolist()
    messages = [str(warning.message) for warning in caught]
    # with fewer cores than workers, each gives different advice
    return result, after, sorted(message for message in messages if "worker processes in total" not in message)


def compare(program):
    import torch

    assert outcome(numgrad, program) == outcome(torch, program)


SAMPLERS = {
    f"{name} {count} {'own' if own else 'default'}": (lambda m, d, g, make=make, n=count, own=own: list(
        make(m, d, n, {"generator": g} if own else {})
    ))
    for (name, make), count, own in itertools.product(
        {
            "random": lambda m, d, n, kw: d.RandomSampler(range(n), **kw),
            "fewer": lambda m, d, n, kw: d.RandomSampler(range(n), num_samples=3, **kw),
            "more": lambda m, d, n, kw: d.RandomSampler(range(n), num_samples=70, **kw),
            "twice": lambda m, d, n, kw: d.RandomSampler(range(n), num_samples=2 * n, **kw),
            "replacement": lambda m, d, n, kw: d.RandomSampler(range(n), replacement=True, **kw),
            "many": lambda m, d, n, kw: d.RandomSampler(range(n), replacement=True, num_samples=70, **kw),
            "64": lambda m, d, n, kw: d.RandomSampler(range(n), replacement=True, num_samples=64, **kw),
            "subset": lambda m, d, n, kw: d.SubsetRandomSampler(list(range(5, 5 + n)), **kw),
            "weighted": lambda m, d, n, kw: d.WeightedRandomSampler([i % 3 + 0.5 for i in range(n)], 9, **kw),
            "unrepeated": lambda m, d, n, kw: d.WeightedRandomSampler(range(1, n + 1), 4, replacement=False, **kw),
        }.items(),
        (5, 32, 1000),
        (False, True),
    )
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name):
    compare(SAMPLERS[name])


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"shuffle": True}, {"batch_size": 4}, {"batch_size": 4, "shuffle": True},
        {"batch_size": 4, "shuffle": True, "drop_last": True}, {"batch_size": 5, "shuffle": True},
        {"batch_size": None}, {"batch_size": None, "shuffle": True}, {"sampler": [3, 1]},
        {"batch_sampler": [[3, 1], [2]]}, {"pin_memory": True}, {"batch_size": 0}, {"shuffle": True, "sampler": [1]},
        {"batch_size": None, "drop_last": True}, {"num_workers": -1}, {"sampler": [12]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("dataset", ["tensors", "subset", "list"])
def test_loader(arguments, own, dataset):
    def program(m, d, g):
        data = d.TensorDataset(m.arange(10.0), m.arange(20).reshape(10, 2))
        if dataset == "subset":
            data = d.Subset(data, [*range(9, -1, -1)])
        elif dataset == "list":
            data = [{"x": np.full(2, i), "y": (i, str(i))} for i in range(10)]
        loader = d.DataLoader(data, **arguments, **({"generator": g} if own else {}))
        return [list(loader), len(loader), list(loader)]

    compare(program)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 7, None])
def test_loader_of_what_follows_one_another(batch_size, drop_last):
    def program(m, d, g):
        class Random(d.IterableDataset):
            def __iter__(self):
                yield from m.rand(7, generator=g).tolist()
                yield m.rand(1).item()

        return list(d.DataLoader(Random(), batch_size=batch_size, drop_last=drop_last, generator=g))

    compare(program)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_samplers_that_draw_early_and_late(batch_size):
    def program(m, d, g):
        class Early(d.Sampler):
            def __iter__(self):
                return iter(m.randperm(4).tolist())

        early = d.DataLoader(range(4), sampler=Early(), batch_size=batch_size)
        late = d.DataLoader(range(4), sampler=d.WeightedRandomSampler([1, 2, 3, 4], 5), batch_size=batch_size)
        return [list(early), list(late)]

    compare(program)


@pytest.mark.parametrize(
    "lengths",
    [[3, 7], [10, 0], [3, 3], [0.3, 0.7], [0.33, 0.33, 0.34], [1.0], [1], [1 / 3] * 3, [0.05, 0.95], [0.5, 0.4],
     [1.5, -0.5], [0.0, 1.0]],
)  # fmt: skip
@pytest.mark.parametrize("own", [False, True])
def test_split(lengths, own):
    compare(lambda m, d, g: [
        list(part.indices) for part in d.random_split(range(10), lengths, **({"generator": g} if own else {}))
    ])


BATCHES = {
    "tensors": lambda m: [m.ones(2), m.zeros(2)],
    "dtypes": lambda m: [m.ones(2), m.zeros(2, dtype=m.float64)],
    "shapes": lambda m: [m.ones(2), m.zeros(3)],
    "ints": lambda m: [1, 2],
    "floats": lambda m: [1.5, 2],
    "int first": lambda m: [1, 2.5],
    "bools": lambda m: [True, False],
    "strings": lambda m: ["a", "b"],
    "bytes": lambda m: [b"a"],
    "pairs": lambda m: [(1, "a"), (2, "b")],
    "lists": lambda m: [[1, 2.5], [3, 4.5]],
    "ragged": lambda m: [[1, 2], [3]],
    "named": lambda m: [Pair(1, m.ones(1)), Pair(2, m.zeros(1))],
    "dicts": lambda m: [{"a": 1, "b": (1, 2)}, {"a": 2, "b": (3, 4), "c": 5}],
    "missing key": lambda m: [{"a": 1}, {"b": 2}],
    "ordered": lambda m: [OrderedDict(a=1), OrderedDict(a=2)],
    "arrays": lambda m: [np.ones(2), np.zeros(2)],
    "small arrays": lambda m: [np.ones(2, np.int32), np.zeros(2, np.int32)],
    "0-d arrays": lambda m: [np.array(1.5), np.array(2.5)],
    "float64": lambda m: [np.float64(1), np.float64(2)],
    "float32": lambda m: [np.float32(1)],
    "uint8": lambda m: [np.uint8(1)],
    "bool_": lambda m: [np.bool_(1)],
    "string array": lambda m: [np.array(["a"])],
    "none": lambda m: [None],
    "complex": lambda m: [1j],
    "nothing": lambda m: [],
    "range": lambda m: [range(3), range(3)],
    "empty": lambda m: [(), ()],
    "mixed": lambda m: [m.ones(2), 1],
    "set": lambda m: [{1, 2}],
}


@pytest.mark.parametrize("name", BATCHES)
def test_collate(name):
    compare(lambda m, d, g: d.default_collate(BATCHES[name](m)))
    compare(lambda m, d, g: d.default_convert(BATCHES[name](m)))


def draws(m, d, count):
    """Data set of random numbers from each generator in a worker, and of the worker's information."""

    class Draws(d.Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            info = d.get_worker_info()
            return index, info.id, info.num_workers, info.seed, m.rand(1).item(), random.random(), np.random.rand()

    return Draws()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("arguments", [
    {"num_workers": 1}, {"num_workers": 2, "shuffle": True}, {"num_workers": 2, "batch_size": 3, "drop_last": True},
    {"num_workers": 2, "persistent_workers": True, "shuffle": True, "prefetch_factor": 3},
])  # fmt: skip
def test_workers(arguments, own):
    def program(m, d, g):
        arguments.setdefault("batch_size", None)
        loader = d.DataLoader(draws(m, d, 7), collate_fn=lambda batch: batch, generator=g if own else None, **arguments)
        return [list(loader), list(loader)]

    compare(program)
    gc.collect()  # PyTorch's workers, if they stay


@pytest.mark.parametrize("batch_size", [None, 2])
def test_workers_of_what_follows_one_another(batch_size):
    def program(m, d, g):
        class Shards(d.IterableDataset):
            def __iter__(self):
                info = d.get_worker_info()
                yield from range(info.id, 5 * (info.id + 1), info.num_workers)

        return list(d.DataLoader(Shards(), batch_size=batch_size, num_workers=3, prefetch_factor=1))

    compare(program)


def test_exceptions_in_workers():
    def program(m, d, g):
        class Broken(d.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                if index:
                    raise [KeyError("a"), UnicodeDecodeError("ascii", b"", 0, 1, "x"), ValueError("c")][index - 1]
                return index

        iterator, seen = iter(d.DataLoader(Broken(), num_workers=2, batch_size=None)), []
        for _ in range(4):
            try:
                seen.append(next(iterator))
            except Exception as error:
                seen.append((type(error).__name__, *str(error).splitlines()[:2], str(error).splitlines()[-1]))
        return seen

    compare(program)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("count", "replicas"), [(10, 3), (9, 3), (2, 5), (1, 4)])
def test_samplers_of_several_processes(count, replicas, drop_last, shuffle):
    def program(m, d, g):
        result = []
        for rank in range(replicas):
            sampler = d.distributed.DistributedSampler(range(count), replicas, rank, shuffle, 5, drop_last)
            result += [len(sampler), list(sampler)]
            sampler.set_epoch(2)
            result.append(list(sampler))
        return result

    compare(program)


def test_gradients():
    def program(m, d, g):
        x = m.arange(6.0).requires_grad_()
        for (batch,) in d.DataLoader(d.TensorDataset(x), batch_size=4, shuffle=True):
            (batch * batch).sum().backward()
        return [x.grad, type(batch.grad_fn).__name__]

    compare(program)


class Pinned(dict):
    """A mapping with a method ``pin_memory``."""

    def pin_memory(self):
        return Pinned(here=True)


@pytest.mark.parametrize(
    "batch", [(1, "x"), [(1,), [Pinned()]], Pair(1, (Pinned(),)), Pinned(a=1), {"a": Pinned(), "b": (range(2), b"y")}]
)
def test_batches_in_pinned_memory(batch):
    import torch.utils.data._utils.pin_memory

    wanted = torch.utils.data._utils.pin_memory.pin_memory(batch)
    assert plain(numgrad.utils.data.collate.pinned(batch)) == plain(wanted)
