"""The mode in which results are reproducible."""

import pytest

import numgrad as torch
from numgrad.ops.indexing.index import index_put_op


@pytest.fixture(autouse=True)
def afterwards_off():
    yield
    torch.use_deterministic_algorithms(False)


def test_the_mode_is_off_at_first_and_can_be_switched():
    assert not torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


def test_sums_are_in_the_order_of_the_indices_in_either_mode():
    values = torch.tensor([1e8, 1.0, -1e8, 1.0])
    index = torch.tensor([0, 0, 0, 0])
    for mode in (False, True):
        torch.use_deterministic_algorithms(mode)
        assert torch.zeros(1).index_add(0, index, values).item() == 1.0


def test_decisions_of_the_other_mode_are_forgotten():
    entries = index_put_op.entries
    for _ in range(2):
        torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.ones(2), True)
    torch.use_deterministic_algorithms(False)
    assert entries.recent
    torch.use_deterministic_algorithms(True)
    assert not entries.recent
    assert not entries.older


@pytest.mark.parametrize("mode", [1, "yes", None])
def test_modes_other_than_bools_are_refused(mode):
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.raises(TypeError, match="argument 'mode' must be bool"):
        torch.use_deterministic_algorithms(mode)
    with pytest.raises(TypeError, match="argument 'warn_only' must be bool"):
        torch.use_deterministic_algorithms(False, warn_only=mode)
    assert torch.are_deterministic_algorithms_enabled()
