"""Functions of lists of tensors, against the operations of their names."""

import pytest

import numgrad
from numgrad import foreach, tensor


def lists():
    return [tensor([1.0, 4.0]), tensor([2.0])], [tensor([3.0, 5.0]), tensor([7.0])]


def test_every_name_calls_the_operation():
    for name in (*foreach.UNARY, *foreach.BINARY, *foreach.TERNARY):
        x, y = lists()
        others = () if name in foreach.UNARY else (y,) if name in foreach.BINARY else (y, y)
        if name == "lerp":
            others = (y, y)
        wanted = [getattr(numgrad, name)(*arguments) for arguments in zip(x, *others, strict=True)]
        found = getattr(numgrad, f"_foreach_{name}")(x, *others)
        assert type(found) is tuple
        numgrad.testing.assert_close(list(found), wanted, equal_nan=True)
        changed = getattr(numgrad, f"_foreach_{name}_")(x, *others)
        assert all(one is other for one, other in zip(changed, x, strict=True))
        numgrad.testing.assert_close(x, wanted, equal_nan=True)


def test_operands_may_be_numbers_or_lists_of_numbers():
    x, y = lists()
    assert [t.tolist() for t in numgrad._foreach_mul(x, 2)] == [[2, 8], [4]]
    assert [t.tolist() for t in numgrad._foreach_mul(x, tensor(2.0))] == [[2, 8], [4]]
    assert [t.tolist() for t in numgrad._foreach_add(x, [1, 2])] == [[2, 5], [4]]
    assert [t.tolist() for t in numgrad._foreach_add(x, y, alpha=2)] == [[7, 14], [16]]
    assert [t.tolist() for t in numgrad._foreach_maximum(x, [2, 3])] == [[2, 4], [3]]
    assert [t.tolist() for t in numgrad._foreach_minimum([tensor([1, 3])], 1.5)] == [[1, 1.5]]
    assert [t.tolist() for t in numgrad._foreach_addcmul(x, y, y, tensor([1.0, 2.0]))] == [[10, 29], [100]]
    assert [t.item() for t in numgrad._foreach_norm(x, 1)] == [5, 2]
    assert [t.item() for t in numgrad._foreach_norm(x, tensor(1.0))] == [5, 2]
    assert [t.item() for t in numgrad._foreach_powsum(x, 2)] == [17, 4]
    assert [t.tolist() for t in numgrad._foreach_mm([tensor([[2.0]])], [tensor([[3.0]])])] == [[[6]]]
    assert [t.tolist() for t in numgrad._foreach_addcmul([tensor([1, 2])], [tensor([3, 4])], [tensor([5, 6])], [2.5])] \
        == [[31, 50]]
    assert [t.item() for t in numgrad._foreach_max(x)] == [4, 2]
    numgrad._foreach_copy_(x, y)
    assert [t.tolist() for t in numgrad._foreach_clone(x)] == [[3, 5], [7]]
    assert [t.tolist() for t in numgrad._foreach_zero_(x)] == [[0, 0], [0]]


def test_gradients_flow():
    x = [tensor([1.0, 2.0], requires_grad=True), tensor([3.0], requires_grad=True)]
    sum(part.sum() for part in numgrad._foreach_mul(x, x)).backward()
    assert [part.grad.tolist() for part in x] == [[2, 4], [6]]


@pytest.mark.parametrize(("arguments", "error"), [
    (([], 1), RuntimeError), (([tensor(1.0)], [1, 2]), RuntimeError), ((tensor([1.0]), 1), TypeError),
])
def test_refusals(arguments, error):
    with pytest.raises(error, match=r"[tT]ensor"):
        numgrad._foreach_add(*arguments)
