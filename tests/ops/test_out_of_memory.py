"""Tensors that do not fit in memory: an error with the requested shape, before anything is allocated."""

import numpy as np
import pytest

import numgrad as torch
from numgrad.nn import functional

MANY = 10**15  # more bytes than a machine can address
EXPANDED = torch.ones(1).expand(MANY)
ROW = torch.arange(100_000.0)

CASES = {
    "empty": (lambda: torch.empty(3, MANY), (3, MANY), 4),
    "zeros": (lambda: torch.zeros(MANY, dtype=torch.float64), (MANY,), 8),
    "ones": (lambda: torch.ones(10**7, 10**8), (10**7, 10**8), 4),
    "full": (lambda: torch.full((MANY, 2), 3), (MANY, 2), 8),
    "eye": (lambda: torch.eye(10**8), (10**8, 10**8), 4),
    "arange": (lambda: torch.arange(MANY), (MANY,), 8),
    "arange, float": (lambda: torch.arange(0, 1e15, 0.5), (2 * MANY,), 4),
    "linspace": (lambda: torch.linspace(0, 1, MANY), (MANY,), 4),
    "logspace": (lambda: torch.logspace(0, 1, MANY), (MANY,), 8),
    "rand": (lambda: torch.rand(10, MANY), (10, MANY), 4),
    "randn": (lambda: torch.randn(MANY), (MANY,), 4),
    "randint": (lambda: torch.randint(3, (MANY,)), (MANY,), 8),
    "randperm": (lambda: torch.randperm(MANY), (MANY,), 8),
    "tensor": (lambda: torch.tensor(np.broadcast_to(np.float32(1), (MANY,))), (MANY,), 4),
    "combinations": (lambda: torch.combinations(ROW, 3, with_replacement=True), (166671666700000, 3), 8),
    "cartesian_prod": (lambda: torch.cartesian_prod(ROW, ROW, ROW), (100_000, 100_000, 100_000), 4),
    "tril_indices": (lambda: torch.tril_indices(10**4, 10**11, offset=10**11), (2, MANY), 8),
    "one_hot": (lambda: functional.one_hot(torch.tensor([0, MANY - 1])), (2, MANY), 8),
    "repeat": (lambda: torch.ones(2, 3).repeat(MANY, 1), (2 * MANY, 3), 4),
    "repeat_interleave": (lambda: torch.repeat_interleave(torch.tensor([MANY])), (MANY,), 8),
    "sum of expanded": (lambda: EXPANDED + 1, (MANY,), 4),
    "broadcast": (lambda: ROW[:, None, None] * torch.ones(1).expand(100_000, 100_000), (100_000,) * 3, 4),
    "comparison": (lambda: EXPANDED > 0, (MANY,), 1),
    "clone": (lambda: EXPANDED.clone(), (MANY,), 4),
    "to": (lambda: EXPANDED.to(torch.int16), (MANY,), 2),
    "cat": (lambda: torch.cat([EXPANDED, EXPANDED]), (2 * MANY,), 4),
    "pad": (lambda: functional.pad(torch.ones(2, 3), (0, MANY)), (2, MANY + 3), 4),
    "outer": (lambda: torch.ones(1, 1).expand(10**8, 1) @ torch.ones(1, 1).expand(1, 10**8), (10**8, 10**8), 4),
    "softmax": (lambda: EXPANDED.softmax(0), (MANY,), 4),
    "bincount": (lambda: torch.bincount(torch.tensor([MANY - 1])), (MANY,), 8),
    "multinomial": (lambda: torch.multinomial(torch.ones(2), MANY, replacement=True), (MANY,), 8),
    "diag": (lambda: torch.diag(torch.ones(1).expand(10**8)), (10**8, 10**8), 4),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_beyond_memory_are_reported_with_their_shape(case):
    make, shape, itemsize = CASES[case]
    size = np.prod([int(n) for n in shape], dtype=object) * itemsize
    with pytest.raises(torch.OutOfMemoryError) as caught:
        make()
    said = f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes. The tensor is of shape "
    assert str(caught.value).startswith(f"{said}{list(shape)}")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2**62, 2**5), lambda: torch.zeros(2**31, 2**31), lambda: torch.rand(2**62, 2**5),
        lambda: torch.arange(2**62), lambda: torch.arange(-(2**63), 2**63), lambda: torch.linspace(0, 1, 2**62),
        lambda: torch.randperm(2**62), lambda: torch.bincount(torch.tensor([2**62])), lambda: torch.histc(ROW, 2**62),
        lambda: torch.repeat_interleave(torch.tensor([2**62])), lambda: torch.multinomial(torch.ones(3), 2**62, True),
        lambda: torch.combinations(ROW, 4), lambda: EXPANDED[:, None] * EXPANDED,
    ],
)  # fmt: skip
def test_sizes_beyond_int64_are_reported_with_their_shape(make):
    with pytest.raises(RuntimeError, match=r"^Storage size calculation overflowed with sizes=\[\d{2,}"):
        make()


def test_choices_of_more_than_there_are():
    assert torch.combinations(torch.arange(3), 2**40).shape == (0, 2**40)


def test_out_of_memory_within_an_operation(monkeypatch):
    def refuse(*arguments, **keywords):
        raise MemoryError

    x = torch.ones(1000, requires_grad=True)
    monkeypatch.setattr(np, "argsort", refuse)
    with pytest.raises(torch.OutOfMemoryError, match="can't allocate memory"):
        x.sort()
    monkeypatch.undo()
    assert (x * 2).requires_grad  # recording goes on
    assert torch.is_grad_enabled()


def test_few_indices_of_large_triangles():
    """Nothing of the size of the matrix is made."""
    lower = torch.tril_indices(10**6, 10**6, offset=2 - 10**6)
    assert lower.tolist() == [[999998, 999999, 999999], [0, 0, 1]]
    upper = torch.triu_indices(10**6, 10**6, offset=10**6 - 2)
    assert upper.tolist() == [[0, 0, 1], [999998, 999999, 999999]]


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangles_of_all_proportions(name):
    import torch as pytorch

    for height, width in [(0, 0), (0, 3), (3, 0), (1, 1), (3, 3), (2, 5), (5, 2)]:
        for offset in range(-6, 7):
            expected = getattr(pytorch, name)(height, width, offset)
            assert getattr(torch, name)(height, width, offset).tolist() == expected.tolist()
