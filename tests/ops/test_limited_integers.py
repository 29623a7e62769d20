"""uint16, uint32 and uint64: storage, conversion and some arithmetic, but no promotion with other integers."""

import numpy as np
import pytest

import numgrad as torch

LIMITED = [torch.uint16, torch.uint32, torch.uint64]


@pytest.mark.parametrize("dtype", LIMITED)
def test_the_largest_number_survives(dtype):
    largest = int(np.iinfo(dtype.numpy).max)
    x = torch.tensor([1, largest], dtype=dtype)
    assert torch.from_numpy(x.numpy()).tolist() == x.clone().tolist() == [1, largest]
    assert x.double().tolist() == [1.0, float(largest)]
    assert (x / 2).dtype is torch.float32
    assert x[x == 1].item() == 1
    assert torch.iinfo(dtype).max == largest
    assert str(x) == f"tensor([{1:>{len(str(largest))}}, {largest}], dtype=torch.{dtype.name})"


def test_promotion_with_other_integers_is_refused():
    x = torch.tensor([1], dtype=torch.uint16)
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported, attempted to"):
        x + torch.tensor([1])
    assert (x + torch.tensor([0.5])).tolist() == [1.5]
    assert (x * 3).dtype is torch.uint16


def test_numbers_out_of_range_are_refused():
    for number in (-1, 2**64):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            torch.tensor([number], dtype=torch.uint64)
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint64 without overflow"):
        torch.tensor([-1.0], dtype=torch.uint64)


def test_they_have_no_older_names():
    assert not hasattr(torch, "UInt16Tensor")
    assert not hasattr(torch.ones(1), "uint16")


def test_schemes_of_storage_other_than_strided_are_only_names():
    assert torch.ones(2).layout is torch.strided
    assert repr(torch.sparse_coo) == "torch.sparse_coo"
    assert torch.zeros(2, layout=torch.strided).tolist() == [0, 0]
    for make in torch.zeros, torch.rand, torch.arange:
        with pytest.raises(NotImplementedError, match=r"numgrad has no tensors of layout torch\.sparse_csr"):
            make(2, layout=torch.sparse_csr)
