"""Indexing tensors on a GPU: the operations and their gradients, against the CPU."""

import numpy as np
import pytest

import numgrad as torch


def on(device, array):
    made = torch.from_numpy(np.array(array)).to(device)
    return made.requires_grad_() if made.is_floating_point() else made


X = np.arange(60, dtype=np.float32).reshape(3, 4, 5) % 7
ROWS, COLUMNS = np.array([[2], [0], [-1]]), np.array([1, -1, 0, 1])
MASK = X > 3
INDEX = np.array([[[0, 2, 1, 2, 0]], [[2, 2, 2, 0, 1]]])
WHERE = np.array([2, 0, 2])

READING = {
    "a vector": lambda x, t: x[t([2, 0, 0])],
    "a list": lambda x, t: x[[1, 1]],
    "two": lambda x, t: x[t(ROWS), t(COLUMNS)],
    "two apart": lambda x, t: x[t(ROWS), :, t(COLUMNS)],
    "of a transposed tensor": lambda x, t: x.permute(2, 0, 1)[t(COLUMNS), t(ROWS)],
    "of a part": lambda x, t: x[1:, ::2, t(COLUMNS)],
    "a mask": lambda x, t: x[t(MASK)],
    "a mask and a vector": lambda x, t: x[:, t(MASK[0]), ][:, t(WHERE)],
    "mask, then index": lambda x, t: x[t(MASK[:, 0, 0]), t(np.array([1]))],
    "a bool": lambda x, t: x[True],
    "an index of one element": lambda x, t: x[t(1)],
    "int32": lambda x, t: x[t(np.array([2, 1], np.int32))],
    "an array of NumPy's": lambda x, t: x[np.array([2, 1])],
    "nothing": lambda x, t: x[t(np.zeros(0, np.int64))],
    "index_select": lambda x, t: x.index_select(1, t(WHERE)),
    "take": lambda x, t: x.take(t([[59, -60], [3, 3]])),
    "gather": lambda x, t: x.gather(0, t(INDEX)),
    "take_along_dim": lambda x, t: x.take_along_dim(x.argmax(2, keepdim=True), 2),
    "masked_select": lambda x, t: x.masked_select(t(MASK)),
    "masked_fill": lambda x, t: x.masked_fill(t(MASK), -1.5),
    "masked_fill by a tensor": lambda x, t: x.masked_fill(t(MASK), x[0, 0, 3].detach()),
    "masked_scatter": lambda x, t: x.masked_scatter(t(MASK), (x * x).flatten()),
    "where": lambda x, t: torch.where(t(MASK), x, 0.0),
    "scatter": lambda x, t: x.scatter(1, t(INDEX[:, :, :2] % 2 * 2), x[:, :1, :2] * 2),
    "scatter a number": lambda x, t: x.scatter(0, t(INDEX), 4.0),
    "scatter_add": lambda x, t: x.scatter_add(0, t(INDEX), x[:2, :1] * x[:2, :1]),
    "scatter multiplying": lambda x, t: x.scatter(0, t(INDEX), 3.0, reduce="multiply"),
    "scatter_reduce": lambda x, t: x.scatter_reduce(0, t(INDEX), x[:2, 1:2], "prod"),
    "scatter_reduce mean": lambda x, t: x.scatter_reduce(0, t(INDEX), x[:2, 1:2], "mean", include_self=False),
    "scatter_reduce amax": lambda x, t: x.scatter_reduce(0, t(INDEX), x[:2, 1:2] + 1, "amax"),
    "index_add": lambda x, t: x.index_add(1, t(WHERE), x[:, :3], alpha=2),
    "index_copy": lambda x, t: x.index_copy(1, t([2, 0, 1]), x[:, 1:] * 2),
    "index_fill": lambda x, t: x.index_fill(2, t([0, -1, 0]), 3.0),
    "index_fill by a tensor": lambda x, t: x.index_fill(2, t([0, -1, 0]), x[0, 0, 3] * 2),
    "index_put": lambda x, t: x.index_put((t(ROWS), t(COLUMNS)), x[0, :1, :] * 3, accumulate=True),
    "put": lambda x, t: x.put(t([5, -1, 7]), x[0, 0, :3]),
    "embedding": lambda x, t: torch.nn.functional.embedding(t([[2, 0], [2, 1]]), x[0], padding_idx=1),
    "embedding by frequency": lambda x, t: torch.nn.functional.embedding(
        t([[2, 0], [2, 1]]), x[0], scale_grad_by_freq=True
    ),
    "embedding_bag": lambda x, t: torch.nn.functional.embedding_bag(
        t([2, 0, 2, 1]), x[0], t([0, 3, 3]), scale_grad_by_freq=True
    ),
    "repeat_interleave": lambda x, t: x.repeat_interleave(t([2, 0, 3]), 0),
    "stack and cat": lambda x, t: torch.cat([torch.stack([x, x * 2], 1).flatten(0, 1), x], 0),
    "combinations": lambda x, t: torch.combinations(x[0, 0], 2),
    "roll": lambda x, t: x.roll((1, 2), (0, 2)),
    "tril": lambda x, t: x.tril(1),
    "vmap": lambda x, t: torch.vmap(lambda row, i: row[i])(x, t([[1, -1], [0, 2], [3, 3]])),
}


#: Operations in which the last of several writes to one element counts.
REPEATED = {
    "index_copy": lambda x, t: x.index_copy(1, t(WHERE), x[:, 1:] * 2),
    "index_put": lambda x, t: x.index_put((t(ROWS), t(WHERE)), x[0, 1:, :] * 3),
    "scatter": lambda x, t: x.scatter(0, t(INDEX), x[:2, 1:2] * 2),
    "put": lambda x, t: x.put(t([[5], [-1], [5]]), x[0, 0, :3]),
}


@pytest.mark.parametrize("name", READING)
def test_operations_and_gradients(cuda, name):
    check_against_cpu(READING[name])


@pytest.mark.parametrize("name", REPEATED)
def test_gradients_of_writes_at_repeated_indices(cuda, name):
    torch.use_deterministic_algorithms(True)
    try:
        check_against_cpu(REPEATED[name])
    finally:
        torch.use_deterministic_algorithms(False)


def check_against_cpu(compute):
    results = []
    for device in ("cpu", "cuda"):
        x = on(device, X)
        out = compute(x, lambda index, device=device: torch.tensor(index, device=device))
        assert out.device == x.device
        weights = torch.arange(out.numel(), dtype=out.dtype, device=device).reshape(out.shape) % 5
        (grad,) = torch.autograd.grad((out * weights).sum(), x)
        assert grad.device == x.device
        results.append((out.detach().cpu().numpy(), grad.cpu().numpy()))
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


INDICES = {
    "nonzero": lambda x, t: x.nonzero(),
    "nonzero of no dimension": lambda x, t: x[0, 0, 1].nonzero(),
    "nonzero as rows": lambda x, t: torch.stack(x.nonzero(as_tuple=True)),
    "where": lambda x, t: torch.stack(torch.where(x > 3)),
    "argwhere": lambda x, t: torch.argwhere(x[0] == 2),
    "one_hot": lambda x, t: torch.nn.functional.one_hot(t([[0, 2], [1, 0]])),
    "one_hot of three": lambda x, t: torch.nn.functional.one_hot(t([0, 1]), 3),
    "tril_indices": lambda x, t: torch.tril_indices(4, 3, -1, device=x.device),
    "triu_indices": lambda x, t: torch.triu_indices(3, 4, 1, dtype=torch.int32, device=x.device),
    "repeat_interleave": lambda x, t: torch.repeat_interleave(t([0, 3, 1])),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices(cuda, name):
    expected, found = [
        INDICES[name](on(device, X), lambda index, device=device: torch.tensor(index, device=device))
        for device in ("cpu", "cuda")
    ]
    assert found.device.type == "cuda"
    assert found.dtype is expected.dtype
    assert found.tolist() == expected.tolist()


WRITING = {
    "a number": lambda x, t: x.__setitem__(t([0, 2]), 9.0),
    "a mask and a number": lambda x, t: x.__setitem__(t(MASK), 9.0),
    "a mask": lambda x, t: x.__setitem__(t(MASK), t(np.arange(MASK.sum(), dtype=np.float32))),
    "a mask of rows": lambda x, t: x.__setitem__(t(MASK[:, :, 0]), 9),
    "a mask of columns": lambda x, t: x.__setitem__((Ellipsis, t(MASK[0, 0])), 9),
    "a mask of some of them": lambda x, t: x.__setitem__((1, slice(None), t(MASK[0, 0])), 9),
    "a list": lambda x, t: x.__setitem__((slice(None), [1, 0]), t(X[:, :2] + 1)),
    "places apart": lambda x, t: x.__setitem__((t([0, 1]), slice(None), t([3, 4])), t(X[0, :2, :4] * 2)),
    "a part": lambda x, t: x.__setitem__((0, slice(1, 3)), [1.0, 2.0, 3.0, 4.0, 5.0]),
    "a tensor of one element on the CPU": lambda x, t: x.__setitem__(t([0, 2]), torch.tensor(4.0)),
    "index_put_": lambda x, t: x.index_put_((t([1, 1]),), t(X[:2]), accumulate=True),
    "scatter_": lambda x, t: x.scatter_(0, t(INDEX), 2.0),
    "index_fill_": lambda x, t: x.index_fill_(1, t([0, 3]), 7),
    "masked_fill_": lambda x, t: x.masked_fill_(t(MASK), float("-inf")),
    "masked_scatter_": lambda x, t: x.masked_scatter_(t(MASK), t(X * 3)),
}


@pytest.mark.parametrize("name", WRITING)
def test_writing_in_place(cuda, name):
    results = []
    for device in ("cpu", "cuda"):
        x = torch.tensor(X, device=device)
        WRITING[name](x, lambda index, device=device: torch.tensor(index, device=device))
        results.append(x.cpu().numpy())
    np.testing.assert_array_equal(results[1], results[0])


@pytest.mark.parametrize("index", [torch.tensor([2, 0]), torch.tensor(MASK[:, 0, 0]), (torch.tensor([1]), [2])])
def test_indices_on_the_cpu(cuda, index):
    x = torch.tensor(X, device="cuda")
    assert x[index].tolist() == torch.tensor(X)[index].tolist()
    x[index] = 1.0
    assert (x[index] == 1).all().item()


def test_a_mask_and_a_number_need_no_waiting(cuda, monkeypatch):
    x = torch.tensor(X, device="cuda", requires_grad=True)
    y, mask = x * 2, torch.tensor(MASK, device="cuda")
    with monkeypatch.context() as patch:
        patch.setattr("numgrad.devices.buffers.DeviceBuffer.host", lambda row: pytest.fail("the GPU was waited for"))
        y[mask] = 0.0
        y.masked_fill(mask, float("-inf"))
        z = y.index_select(0, torch.tensor([0, 1], device="cuda"))[:, torch.tensor([3], device="cuda")].sum()
        z.backward()
    expected = 2.0 * ~MASK
    expected[2], expected[:, :3] = 0, 0
    assert x.grad.tolist() == expected.tolist()


def test_classes_whose_number_is_known_need_no_waiting(cuda, monkeypatch):
    classes = torch.tensor([0, 3], device="cuda")
    with monkeypatch.context() as patch:
        patch.setattr("numgrad.devices.buffers.DeviceBuffer.host", lambda row: pytest.fail("the GPU was waited for"))
        rows = torch.nn.functional.one_hot(classes, 4)
        wrong = torch.nn.functional.one_hot(classes, 3)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension with size 3"):
        wrong.tolist()
    assert rows.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("row", [3, -1, -(2**63)])
@pytest.mark.parametrize("mode", ["sum", "max"])
def test_a_row_of_a_bag_that_there_is_not(cuda, mode, row):
    rows, table = torch.tensor([[0, row]], device="cuda"), torch.ones(3, 2, device="cuda")
    out = torch.nn.functional.embedding_bag(rows, table, mode=mode)
    with pytest.raises(IndexError, match=f"index {row} is out of bounds for dimension with size 3"):
        out.tolist()


def test_targets_of_ctc_loss_on_the_other_device_or_out_of_range(cuda):
    scores, targets = torch.zeros(4, 1, 3), torch.tensor([[1, 2]])
    expected = torch.nn.functional.ctc_loss(scores, targets, (4,), (2,)).item()
    assert torch.nn.functional.ctc_loss(scores.cuda(), targets, (4,), (2,)).item() == pytest.approx(expected)
    loss = torch.nn.functional.ctc_loss(scores.cuda(), targets.cuda() + 1, (4,), (2,))
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension with size 3"):
        loss.item()


def test_devices_that_do_not_go_together(cuda):
    x, mine = torch.tensor(X), torch.tensor(X, device="cuda")
    with pytest.raises(RuntimeError, match=r"indices should be either on cpu or on the same device .* \(cpu\)"):
        x[torch.tensor([0], device="cuda")]
    for call in (
        lambda: mine.index_select(0, torch.tensor([0])),
        lambda: mine.gather(0, torch.tensor(INDEX)),
        lambda: mine.masked_select(torch.tensor(MASK)),
        lambda: torch.nn.functional.embedding(torch.tensor([0]), mine[0]),
        lambda: torch.cat([mine, x]),
        lambda: mine.__setitem__(torch.tensor([0, 1]), x[:2]),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two"):
            call()


def test_a_bad_index_is_raised_when_something_is_read(cuda):
    x = torch.tensor(X, device="cuda")
    out = x.index_select(0, torch.tensor([0, 3], device="cuda"))
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension with size 3"):
        out.tolist()
    assert x.sum().item() == X.sum()


def test_a_mask_of_another_shape(cuda):
    x = torch.tensor(X, device="cuda")
    with pytest.raises(IndexError, match="The shape of the mask"):
        x[torch.tensor([True, False], device="cuda")]
