"""Decisions are made once per layouts and arguments; all other differences between calls must still take effect."""

import math
import threading

import numpy as np
import pytest

import numgrad
from numgrad.ops.table.entries import Entries
from numgrad.ops.table.op import ops


def test_views_of_one_layout_at_other_places_are_read_where_they_lie():
    x = numgrad.arange(24.0).reshape(4, 6)
    for column in range(3):
        part = x[:, column : column + 3]
        np.testing.assert_array_equal((part * 2).numpy(), x.numpy()[:, column : column + 3] * 2)


def test_a_0d_tensor_is_read_at_every_call():
    x = numgrad.ones(2, 3)
    factors = [numgrad.tensor(value) for value in (2.0, 3.0)]
    assert [(x * factor).sum().item() for factor in factors] == [12.0, 18.0]
    factors[0].fill_(5.0)
    assert (x * factors[0]).sum().item() == 30.0


def test_the_dtype_and_the_kind_of_number_are_parts_of_the_key():
    x = numgrad.tensor([[1, 2]]).t()
    assert (x + 1).dtype is numgrad.int64
    assert (x + 1.0).dtype is numgrad.float32
    assert (x + True).dtype is numgrad.int64
    assert (x.double() + 1).dtype is numgrad.float64


def test_a_new_default_dtype_is_noticed():
    x = numgrad.tensor([[1, 2]]).t()
    assert x.exp().dtype is numgrad.float32
    numgrad.set_default_dtype(numgrad.float64)
    try:
        assert x.exp().dtype is numgrad.float64
    finally:
        numgrad.set_default_dtype(numgrad.float32)
    assert x.exp().dtype is numgrad.float32


def test_static_numbers_are_parts_of_the_key():
    x = numgrad.tensor([[1.0, 2.0]]).t()
    y = numgrad.tensor([[3.0]])
    for alpha in (2, 0.5, 1):
        np.testing.assert_array_equal(numgrad.add(x, y, alpha=alpha).numpy(), x.numpy() + alpha * 3)


def test_a_call_in_place_with_numbers_is_decided_once(monkeypatch):
    x, y = numgrad.ones(5, 1), numgrad.ones(5, 1)
    for _ in range(2):
        x.add_(y, alpha=0.5)
    with monkeypatch.context() as unable:
        unable.delattr(Entries, "find")
        x.add_(y, alpha=0.5)
    assert x.flatten().tolist() == [2.5] * 5


def test_the_gradients_needed_may_change_from_call_to_call():
    for needed in ((True, True), (True, False), (False, True), (False, False)):
        x, y = numgrad.full((2, 1), 2.0), numgrad.full((3,), 5.0)
        x.requires_grad_(needed[0])
        y.requires_grad_(needed[1])
        z = x * y
        assert z.requires_grad == any(needed)
        if any(needed):
            z.sum().backward()
        assert (x.grad is None, y.grad is None) == (not needed[0], not needed[1])
        if needed[0]:
            np.testing.assert_array_equal(x.grad.numpy(), [[15.0], [15.0]])
        if needed[1]:
            np.testing.assert_array_equal(y.grad.numpy(), [4.0, 4.0, 4.0])


def test_ever_new_shapes_are_forgotten(monkeypatch):
    monkeypatch.setattr(Entries, "LIMIT", 8)
    entries = ops["sub"].entries
    entries.clear()
    for count in [count for count in range(1, 40) for _ in range(2)]:  # plans that run once are not kept
        x = numgrad.arange(float(count)).reshape(count, 1).requires_grad_()
        y = x - numgrad.arange(3.0)
        y.sum().backward()
        np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy() - np.arange(3))
        np.testing.assert_array_equal(x.grad.numpy(), np.full((count, 1), 3.0))
        assert len(entries.recent) <= 8
        assert len(entries.older) <= 8
    newest = x._layout, numgrad.arange(3.0)._layout
    assert newest in entries.recent


def test_entries_in_use_are_kept(monkeypatch):
    monkeypatch.setattr(Entries, "LIMIT", 8)
    entries = ops["sub"].entries
    entries.clear()
    often = numgrad.ones(100, 1), numgrad.ones(3)
    key = often[0]._layout, often[1]._layout
    for _ in range(2):
        often[0] - often[1]
    first = entries.find(key)
    assert first is not None
    for count in range(1, 40):
        for _ in range(2):
            numgrad.ones(count, 1) - often[1]
        often[0] - often[1]
        assert entries.find(key) is first


def test_a_call_that_comes_once_leaves_nothing_behind():
    def kept_after(counts):
        for count in counts:
            x = numgrad.ones(count, 2)
            (x + x) * x[:1], x.sum(0), x.mean(), x.t(), numgrad.cat([x, x]), x @ x[0]
        return sum(len(entries.recent) for entries in Entries._all)

    kept = kept_after(range(1000, 1010))
    assert kept_after(range(1010, 1060)) < kept + 30  # of 300: a layout may have the address, and hash, of one gone
    assert kept_after(range(1010, 1060)) > kept + 50 * 6


def test_all_operations_together_remember_so_many_calls(monkeypatch):
    monkeypatch.setattr(Entries, "LIMIT_OF_ALL", 256)
    for count in [count for count in range(1, 200) for _ in range(2)]:
        x = numgrad.ones(count)
        x + x, x * x, x - x, x / x
    assert sum(len(entries.recent) for entries in Entries._all) <= 256


def test_equal_numbers_of_different_types_are_distinguished():
    x = numgrad.tensor([1, -1])
    assert [(x * number).dtype for number in (1, 1.0, True)] == [numgrad.int64, numgrad.float32, numgrad.int64]
    y = numgrad.tensor([1.0, -1.0])
    assert [(y / zero).tolist() for zero in (0.0, -0.0)] == [[math.inf, -math.inf], [-math.inf, math.inf]]
    assert [math.copysign(1, y.clamp(zero, zero)[0].item()) for zero in (0.0, -0.0)] == [1.0, -1.0]
    assert all(math.isnan((y + number)[0].item()) for number in (math.nan, float("nan")))
    assert [y.sum(dim).tolist() for dim in (0, -1)] == [0.0, 0.0]
    for wrong in (0.0, "0"):
        with pytest.raises(TypeError):
            y.sum(wrong)  # which equals, or looks like, a dimension that was just given


def test_numbers_that_change_are_not_part_of_the_key():
    x, matrix = numgrad.arange(100.0), numgrad.arange(100.0).reshape(50, 2)
    kept = sum(len(entries.recent) for entries in Entries._all)
    for number in range(40):
        assert (x * (number + 0.5))[number].item() == number * (number + 0.5)
        assert x[number : number + 3].tolist() == [number, number + 1, number + 2]
        assert matrix[number].tolist() == [2 * number, 2 * number + 1]
        x.clamp(min=number + 0.5)
    assert sum(len(entries.recent) for entries in Entries._all) - kept < 20


def test_mutable_arguments_are_not_part_of_a_key():
    class Dim:
        number = 0

        def __index__(self):
            return self.number

    x, dim = numgrad.arange(4.0).reshape(2, 2), Dim()
    shift = numgrad.nn.Parameter(numgrad.tensor(0), requires_grad=False)
    for number in (0, 1):
        shift.fill_(number)
        dim.number = number
        assert numgrad.roll(x, (shift,), (0,)).tolist() == [[[0.0, 1.0], [2.0, 3.0]], [[2.0, 3.0], [0.0, 1.0]]][number]
        assert x.sum(dim).tolist() == [[2.0, 4.0], [1.0, 5.0]][number]


def test_accepted_arguments_do_not_depend_on_earlier_calls():
    x = numgrad.ones(4)
    for _ in range(2):
        assert len(numgrad.chunk(x, 1)) == 1
        with pytest.raises(TypeError):
            numgrad.chunk(x, 1.0)


def test_a_call_in_place_of_too_few_or_too_many_operands_is_none_of_the_calls_before():
    x, y = numgrad.ones(2, 2), numgrad.ones(2, 2)
    for _ in range(2):
        numgrad.add(x, y)
        numgrad.zeros(2, 2).add_(2.0)
        numgrad.zeros(2, 2).add_(y, alpha=2.0)
    for operands, numbers in (((), {}), ((), {"alpha": 2.0}), ((y, 2.0), {})):
        with pytest.raises(TypeError, match=r"add_\(\) (missing|takes 2) .*positional argument"):
            x.add_(*operands, **numbers)
    assert x._version == 0


def test_a_view_made_with_tensors_for_bounds_stays_where_it_was():
    base, first, last = numgrad.zeros(5), numgrad.tensor(0), numgrad.tensor(2)
    view = base[first:last]
    first += 2
    last += 2
    weight = numgrad.arange(5.0).requires_grad_()
    base.add_(weight)
    view.sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_nothing_is_gathered_from_nothing():
    index = numgrad.tensor([[0, 1, 2]])
    for gather in (lambda: numgrad.zeros(0, 3).gather(0, index), lambda: numgrad.zeros(3, 0).t().gather(0, index)):
        with pytest.raises(RuntimeError, match="index 0 is out of bounds for dimension 0 with size 0"):
            gather()


def test_threads_look_up_at_once():
    wrong = []

    def work(seed):
        for count in range(1, 120):
            x = numgrad.full((count, 2), float(seed), requires_grad=True)
            total = (x * 2 + numgrad.ones(2)).sum(0)
            total.sum().backward()
            if total.tolist() != [count * (2.0 * seed + 1)] * 2 or x.grad.tolist() != [[2.0, 2.0]] * count:
                wrong.append((seed, count))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_leaf_that_takes_gradients_of_any_dtype():
    x = numgrad.ones(3, 1, requires_grad=True)
    x.grad_dtype = None
    (x * numgrad.arange(4.0)).sum().backward()
    assert x.grad.tolist() == [[6.0]] * 3


def test_an_error_is_raised_again():
    x, y = numgrad.ones(2, 3), numgrad.ones(4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match"):
            x + y
