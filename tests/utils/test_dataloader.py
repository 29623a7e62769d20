"""DataLoader: batches in order or shuffled, from each type of data set."""

import pytest

import numgrad
from numgrad import arange, tensor
from numgrad.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
    fetching,
    get_worker_info,
)


class Counting(IterableDataset):
    def __iter__(self):
        return iter(range(7))


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return index, float(index * index)


def values(loader):
    return [batch.tolist() for batch in loader]


# -- which batches ---------------------------------------------------------------------------------------


def test_in_order():
    loader = DataLoader(arange(7), batch_size=3)
    assert len(loader) == 3
    assert values(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert values(loader) == [[0, 1, 2], [3, 4, 5], [6]]  # each loop begins anew
    assert values(DataLoader(arange(7), batch_size=3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert len(DataLoader(arange(7), batch_size=3, drop_last=True)) == 2
    assert values(DataLoader(range(2))) == [[0], [1]]
    assert values(DataLoader([])) == []


def test_shuffled_as_in_pytorch():
    numgrad.manual_seed(1)
    loader = DataLoader(arange(7), batch_size=3, shuffle=True)
    assert values(loader) == [[0, 5, 1], [4, 2, 3], [6]]
    assert numgrad.rand(1).item() == pytest.approx(0.0293, abs=1e-4)
    assert sorted(numgrad.cat(list(loader)).tolist()) == list(range(7))


def test_with_a_generator_as_in_pytorch():
    generator = numgrad.Generator().manual_seed(9)
    numgrad.manual_seed(1)
    loader = DataLoader(arange(7), batch_size=3, shuffle=True, generator=generator)
    assert values(loader) == [[5, 6, 4], [3, 0, 2], [1]]
    assert numgrad.rand(1).item() == pytest.approx(0.7576, abs=1e-4)  # the default generator was not touched
    assert numgrad.rand(1, generator=generator).item() == pytest.approx(0.5139, abs=1e-4)


def test_random_numbers_drawn_without_shuffling_as_in_pytorch():
    numgrad.manual_seed(1)
    values(DataLoader(arange(7), batch_size=3))
    assert numgrad.rand(1).item() == pytest.approx(0.4031, abs=1e-4)


def test_samples_of_several_parts():
    x, y = next(iter(DataLoader(Squares(), batch_size=4)))
    assert x.tolist() == [0, 1, 2, 3]
    assert y.tolist() == [0, 1, 4, 9]
    assert y.dtype is numgrad.float64


def test_without_batches():
    x = numgrad.ones(2)
    assert next(iter(DataLoader([x], batch_size=None))) is x
    assert list(DataLoader(range(3), batch_size=None)) == [0, 1, 2]
    assert len(DataLoader(range(3), batch_size=None)) == 3
    assert list(DataLoader(range(3), batch_size=None, collate_fn=str)) == ["0", "1", "2"]


def test_samplers():
    assert values(DataLoader(arange(5), sampler=[4, 0, 2], batch_size=2)) == [[4, 0], [2]]
    loader = DataLoader(arange(5), batch_sampler=[[4, 0], [2]])
    assert values(loader) == [[4, 0], [2]]
    assert len(loader) == 2
    assert loader.batch_size is None
    batches = BatchSampler(SequentialSampler(range(3)), 2, False)
    assert values(DataLoader(arange(3), sampler=batches, batch_size=None)) == [[0, 1], [2]]


def test_collate_fn_gets_the_samples():
    assert list(DataLoader(range(5), batch_size=2, collate_fn=tuple)) == [(0, 1), (2, 3), (4,)]


def test_iterable():
    assert values(DataLoader(Counting(), batch_size=3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert values(DataLoader(Counting(), batch_size=3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert list(DataLoader(Counting(), batch_size=None)) == list(range(7))
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Counting()))


def test_the_iterator():
    loader = DataLoader(arange(3), batch_size=2)
    iterator = iter(loader)
    assert len(iterator) == 2
    assert iter(iterator) is iterator
    assert next(iterator).tolist() == [0, 1]
    assert next(iter(loader)).tolist() == [0, 1]  # another pass
    assert next(iterator).tolist() == [2]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


@pytest.mark.parametrize("iterable", [False, True])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_after_an_error_the_next_sample_comes(iterable, batch_size):
    def broken(samples):
        if samples in (2, [2]):
            raise ValueError("sample 2 cannot be collated")
        return samples

    data = Counting() if iterable else range(7)
    iterator, seen = iter(DataLoader(data, batch_size=batch_size, collate_fn=broken)), []
    for _ in range(7):
        try:
            seen.append(next(iterator))
        except ValueError as error:
            seen.append(str(error))
    wanted = [0, 1, "sample 2 cannot be collated", 3, 4, 5, 6]
    assert seen == [[sample] if batch_size and isinstance(sample, int) else sample for sample in wanted]
    assert list(iterator) == []


# -- rows of tensors, read at once -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [
        arange(18.0).view(6, 3),
        arange(18.0).view(3, 6).t(),
        arange(6),
        arange(24.0).view(6, 2, 2)[:, :, 0],
        arange(3.0).view(1, 3).expand(6, 3),
        numgrad.zeros(6, 0),
    ],
    ids=["plain", "transposed", "1-d", "stepped", "expanded", "empty rows"],
)
def test_rows_are_what_collating_gives(x):
    data = TensorDataset(x, arange(6))
    indices = [4, 0, -1, 0]
    for dataset, chosen in (data, indices), (Subset(Subset(data, [5, 4, 3, 2, 1, 0]), indices), [1, 0, 3]):
        rows = fetching._rows(dataset, chosen)
        expected = default_collate([dataset[i] for i in chosen])
        for row, wanted in zip(rows, expected, strict=True):
            assert row.tolist() == wanted.tolist()
            assert row.dtype is wanted.dtype
            assert row.stride() == wanted.stride()
    rows[1].fill_(7)
    assert data.tensors[1].tolist() == [0, 1, 2, 3, 4, 5]  # a batch is a copy


def test_what_is_not_read_at_once():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple([2 * part for part in super().__getitem__(index)])

    class Marked(numgrad.Tensor):
        pass

    plain = TensorDataset(arange(4))
    assert fetching._rows(plain, [slice(0, 2)]) is None
    assert fetching._rows(plain, [tensor(1)]) is None
    assert fetching._rows(Doubled(arange(4)), [1]) is None
    assert fetching._rows(TensorDataset(numgrad.ones(2, requires_grad=True)), [1]) is None
    assert fetching._rows(TensorDataset(Marked([1.0])), [0]) is None
    assert values(DataLoader(Doubled(arange(4)), batch_size=2, collate_fn=lambda batch: batch[0][0])) == [0, 4]
    assert [batch[0].tolist() for batch in DataLoader(Doubled(arange(4)), batch_size=2)] == [[0, 2], [4, 6]]
    assert [batch[0].tolist() for batch in DataLoader(Subset(Doubled(arange(4)), [3, 1]), batch_size=2)] == [[6, 2]]


def test_gradients_reach_the_tensors():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    for (batch,) in DataLoader(TensorDataset(x), batch_size=2):
        batch.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_an_index_out_of_range():
    with pytest.raises(IndexError):
        list(DataLoader(TensorDataset(arange(3)), sampler=[1, 3], batch_size=2))


# -- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": 1}, "timeout=1"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor option should be positive where there are workers"),
        ({"num_workers": 1, "prefetch_factor": -1}, "prefetch_factor option should be non-negative"),
        ({"num_workers": 1, "multiprocessing_context": "thread"}, "should specify a valid start method in .*'thread'"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used with multi-process loading"),
        ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "shuffle": True}, "batch_sampler option is mutually exclusive"),
        ({"batch_sampler": [[1]], "batch_size": 3}, "batch_sampler option is mutually exclusive"),
        ({"batch_sampler": [[1]], "sampler": [1]}, "batch_sampler option is mutually exclusive"),
        ({"batch_sampler": [[1]], "drop_last": True}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"batch_size": 2.5}, "batch_size should be a positive integer value"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(range(3), **arguments)


def test_a_context_that_is_none():
    with pytest.raises(TypeError, match="multiprocessing_context option should be a valid context object or a string"):
        DataLoader(range(3), num_workers=1, multiprocessing_context=3)


def test_more_workers_than_cores():
    with pytest.warns(UserWarning, match="This DataLoader will create 9999 worker processes in total, and there are"):
        DataLoader(range(3), num_workers=9999)


def test_refused_for_iterable_data():
    for name, value in {"shuffle": True, "sampler": [1], "batch_sampler": [[1]]}.items():
        with pytest.raises(ValueError, match=f"expected unspecified {name} option, but got {name}="):
            DataLoader(Counting(), **{name: value})
    assert len(list(DataLoader(Counting(), shuffle=False))) == 7
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        DataLoader([], shuffle=True)


def test_pinned_memory_needs_a_gpu():
    loader = DataLoader(range(2), pin_memory=True)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert values(loader) == [[0], [1]]


def test_attributes():
    loader = DataLoader(range(3), batch_size=2)
    assert loader.dataset == range(3)
    assert (loader.batch_size, loader.drop_last, loader.num_workers, loader.pin_memory) == (2, False, 0, False)
    assert isinstance(loader.sampler, SequentialSampler)
    assert isinstance(loader.batch_sampler, BatchSampler)
    assert DataLoader(range(3), num_workers=1).prefetch_factor == 2
    assert loader.prefetch_factor is None
    for name in ("dataset", "batch_size", "drop_last", "sampler", "batch_sampler"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, 4)
    loader.collate_fn = sum
    assert list(loader) == [1, 2]
    assert DataLoader[int] is not None
    assert get_worker_info() is None
