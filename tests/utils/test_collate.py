"""Batches from samples: results of default_collate and default_convert for each type."""

from collections import OrderedDict, UserDict, defaultdict, namedtuple

import numpy as np
import pytest

import numgrad
from numgrad import float32, float64, int64, tensor
from numgrad.utils.data import default_collate, default_convert
from numgrad.utils.data.collate import collate, default_collate_fn_map

Pair = namedtuple("Pair", "x y")


@pytest.mark.parametrize(
    ("batch", "dtype", "values"),
    [
        ([1, 2], int64, [1, 2]),
        ([1.5, 2], float64, [1.5, 2]),
        ([1, 2.5], float32, [1, 2.5]),
        ([True, False], numgrad.bool, [True, False]),
        ([tensor(1), tensor(2)], int64, [1, 2]),
        ([tensor([1.0]), tensor([2.0])], float32, [[1], [2]]),
        ([np.ones(2), np.zeros(2)], float64, [[1, 1], [0, 0]]),
        ([np.float32(1), np.float32(2)], float32, [1, 2]),
        ([np.float64(1), np.float64(2)], float64, [1, 2]),
        ([np.int64(1)], int64, [1]),
        ([np.bool_(True)], numgrad.bool, [True]),
        ([np.array(1.5)], float64, [1.5]),
    ],
)
def test_tensors_and_numbers(batch, dtype, values):
    result = default_collate(batch)
    assert result.dtype is dtype
    assert result.tolist() == values


def test_strings_stay():
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a"]) == [b"a"]


def test_nested():
    x, names, rest = default_collate([(1, "a", [2.5, {"k": 3}]), (4, "b", [5.5, {"k": 6}])])
    assert x.tolist() == [1, 4]
    assert names == ("a", "b")
    assert rest[0].tolist() == [2.5, 5.5]
    assert rest[1]["k"].tolist() == [3, 6]
    assert [part.tolist() for part in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]
    assert default_collate([(), ()]) == []


def test_classes_of_containers_are_kept():
    pair = default_collate([Pair(1, 2), Pair(3, 4)])
    assert isinstance(pair, Pair)
    assert pair.y.tolist() == [2, 4]
    for container in (OrderedDict, UserDict, lambda entries: defaultdict(int, entries)):
        model = container({"a": 1})
        result = default_collate([model, container({"a": 2})])
        assert type(result) is type(model)
        assert result["a"].tolist() == [1, 2]
        assert model["a"] == 1
    assert isinstance(default_collate([(1,), (2,)]), list)


def test_gradients_pass():
    x = tensor([1.0, 2.0], requires_grad=True)
    batch = default_collate([x, x])
    batch.sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([tensor([1.0]), tensor([1.0, 2.0])], RuntimeError, "stack expects each tensor to be equal size"),
        ([[1, 2], [3]], RuntimeError, r"each element in list of batch should be of equal size.*\[2, 1\]"),
        ([None], TypeError, "default_collate: batch must contain .*; found <class 'NoneType'>"),
        ([{1, 2}], TypeError, "found <class 'set'>"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([{"a": 1}, {"b": 2}], KeyError, "a"),
        ([], IndexError, "out of range"),
    ],
)
def test_refused(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_conversion_of_one_sample():
    x = tensor([1.0])
    assert default_convert(x) is x
    assert default_convert(1) == 1
    assert default_convert("a") == "a"
    assert default_convert(None) is None
    assert default_convert(np.array(["a"])).dtype.kind == "U"
    assert default_convert(np.float64(2)).dtype is float64
    array = np.ones(2, np.float32)
    a, (b, c), d = default_convert((array, [1, array], {"k": Pair(array, 2)}))
    assert a.dtype is float32
    assert (b, c.tolist()) == (1, [1, 1])
    assert isinstance(d["k"], Pair)
    assert d["k"].x.tolist() == [1, 1]
    array[0] = 5
    assert a[0].item() == 5  # the array's own memory


def test_programs_add_functions_for_their_own_types(monkeypatch):
    class Point:
        def __init__(self, x):
            self.x = x

    def collate_points(points, *, collate_fn_map):
        return [point.x for point in points]

    monkeypatch.setitem(default_collate_fn_map, Point, collate_points)
    assert default_collate([{"at": Point(1)}, {"at": Point(2)}]) == {"at": [1, 2]}
    with pytest.raises(TypeError, match="batch must contain tensors"):
        collate([1, 2])
