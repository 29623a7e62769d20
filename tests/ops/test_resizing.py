"""Tensors that are given other memory, or another part of their own."""

import pytest

import numgrad


def test_a_resized_tensor_shows_its_memory_in_another_shape():
    x = numgrad.arange(6.0)
    assert x.resize_(2, 2) is x
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x._version == 1
    assert x.resize_((2, 3)).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]  # nothing was lost
    assert numgrad.ones(2, 3).t().resize_(3, 2).stride() == (1, 3)  # of this shape already


def test_a_tensor_is_resized_beyond_its_memory():
    x = numgrad.arange(4.0)
    part = x[1:3]
    part.resize_(5)
    assert part.tolist()[:3] == [1.0, 2.0, 3.0]
    assert part.shape == (5,)
    part[0] = 7.0
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert numgrad.empty(0).resize_as_(numgrad.ones(2, 1)).shape == (2, 1)


def test_set_shares_the_memory_of_another_tensor():
    x, y = numgrad.zeros(2), numgrad.arange(3.0)
    assert x.set_(y) is x
    assert x._version == 1
    x.add_(1)
    assert y.tolist() == [1.0, 2.0, 3.0]
    assert numgrad.zeros(1).set_(y, 1, (2,), (1,)).tolist() == [2.0, 3.0]
    assert numgrad.zeros(1).set_().shape == (0,)


def test_nothing_is_resized_or_set_behind_autograds_back():
    leaf = numgrad.ones(2, requires_grad=True)
    for tensor in (leaf, leaf * 1):
        with pytest.raises(RuntimeError, match=r"cannot resize .*\[2\]"):
            tensor.resize_(3)
        with pytest.raises(RuntimeError, match=r"derivative|leaf Variable"):
            tensor.set_(numgrad.ones(1))
    assert leaf.shape == (2,)
    with numgrad.no_grad():
        assert leaf.set_(numgrad.ones(3)).shape == (3,)
    (leaf * 2).sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(("call", "message"), [
    (lambda: numgrad.ones(4).resize_(-1), r"\[-1\]"),
    (lambda: numgrad.ones(2).set_(numgrad.ones(2, dtype=numgrad.float64)), "float64.*float32"),
    (lambda: numgrad.ones(2).set_(numgrad.ones(2), 1, (2,)), "out of bounds"),
    (lambda: numgrad.ones(2, 3).sum_to_size(2, 2), r"\[2, 2\].*\[2, 3\]"),
    (lambda: numgrad.ones(3).sum_to_size(1, 3), r"\[1, 3\].*\[3\]"),
])
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_as_strided_in_place_is_recorded():
    w = numgrad.arange(6.0, requires_grad=True)
    x = w * 1
    assert x.as_strided_((2, 2), (2, 1), 1) is x
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.grad_fn.name() == "AsStridedBackward1"
    x.sum().backward()
    assert w.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]


def test_sums_undo_broadcasting():
    x = numgrad.ones(2, 3, requires_grad=True)
    assert x.sum_to_size(2, 1).tolist() == [[3.0], [3.0]]
    assert x.sum_to_size((3,)).tolist() == [2.0, 2.0, 2.0]
    assert (x > 0)[0, 0].sum_to_size(()).dtype is numgrad.int64  # a sum, too
    assert (x > 0).sum_to_size(2, 3).dtype is numgrad.bool
    assert x.sum_to_size(2, 3) is x
    assert x.sum_to_size(()).item() == 6.0
    x.sum_to_size(1, 3).pow(2).sum().backward()
    assert x.grad.tolist() == [[4.0] * 3] * 2
