"""Nested structures: taken apart, put together, compared and printed."""

from collections import OrderedDict, namedtuple

import pytest

from numgrad.core.nesting import flatten, map_leaves

Pair = namedtuple("Pair", "left right")

TREES = {
    "*": 1,
    "(*,)": (1,),
    "(*, *)": (1, None),
    "()": (),
    "[*, (*, *)]": [1, (2, 3)],
    "{'b': *, 'a': [*]}": {"b": 1, "a": [2]},
    "OrderedDict({'z': *, 1: *})": OrderedDict([("z", 1), (1, 2)]),
    "Pair(left=*, right={'k': *})": Pair(1, {"k": 2}),
}


@pytest.mark.parametrize("text", TREES)
def test_apart_and_together(text):
    tree = TREES[text]
    leaves, structure = flatten(tree)
    assert str(structure) == text
    again = structure.unflatten(leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert structure == flatten(map_leaves(str, tree))[1]


def test_leaves_are_in_order():
    assert flatten([1, {"b": (2, 3), "a": 4}, Pair(None, [5])])[0] == [1, 2, 3, 4, None, 5]


def test_structures_differ_by_kind_keys_and_number():
    different = [(1, 2), [1, 2], (1, 2, 3), {"a": 1, "b": 2}, {"b": 1, "a": 2}, Pair(1, 2), (1, (2,)), 1, ()]
    structures = [flatten(tree)[1] for tree in different]
    assert len(set(structures)) == len(different)


def test_new_leaves():
    assert map_leaves(lambda leaf: leaf * 10, {"a": (1, [2])}) == {"a": (10, [20])}
