"""Trees of containers: flattened, rebuilt, mapped, named by paths, and written as texts."""

import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest

from numgrad import Size
from numgrad.utils import _pytree as pytree

Point = namedtuple("Point", ["x", "y"])

TREE = {"a": [1, (2, Point(3, None))], "b": OrderedDict(c=deque([4], 2)), "d": defaultdict(list, e=5)}


def test_trees_are_rebuilt():
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, 3, None, 4, 5] == pytree.tree_leaves(TREE)
    rebuilt = spec.unflatten(leaves)
    assert rebuilt == TREE
    assert rebuilt["b"]["c"].maxlen == 2
    assert rebuilt["d"]["new"] == []
    assert (spec.num_leaves, spec.num_children, spec.num_nodes) == (6, 3, 13)
    assert spec == pytree.tree_structure(TREE) != pytree.tree_structure([TREE])
    assert hash(spec) == hash(pytree.tree_structure(TREE))
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 6"):
        spec.unflatten([1])


def test_functions_of_leaves():
    assert pytree.tree_map(lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [3], "x": 4}) == {"x": (1, 4), "y": [(2, 3)]}
    assert pytree.tree_map(lambda a, b: b, (1,), ([2, 3],)) == ([2, 3],)
    assert pytree.tree_map_only(int, str, [1, 2.0, (3,)]) == ["1", 2.0, ("3",)]
    assert pytree.tree_map(sum, [(1, 2), (3,)], is_leaf=lambda tree: isinstance(tree, tuple)) == [3, 3]
    assert pytree.tree_any(bool, [0, (1,)])
    assert not pytree.tree_all_only((int,), bool, [0, "a"])
    assert pytree.arg_tree_leaves([1], k=(2,)) == [1, 2]
    seen = []
    assert pytree.tree_map_(seen.append, TREE) is TREE
    assert len(seen) == 6


@pytest.mark.parametrize(("tree", "message"), [
    ([1], "Node arity mismatch; expected 2, but got 1"),
    ((1, 2), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>"),
    (3, "Node type mismatch; expected <class 'list'>, but got <class 'int'>"),
])
def test_trees_mapped_together_have_one_structure(tree, message):
    with pytest.raises(ValueError, match=message):
        pytree.tree_map(max, [1, 2], tree)


def test_paths():
    pairs, _ = pytree.tree_flatten_with_path(TREE)
    assert [pytree.keystr(path) for path, _ in pairs] == [
        "['a'][0]", "['a'][1][0]", "['a'][1][1].x", "['a'][1][1].y", "['b']['c'][0]", "['d']['e']"
    ]
    assert all(pytree.key_get(TREE, path) is leaf for path, leaf in pairs)
    assert pytree.tree_map_with_path(lambda path, leaf: len(path) * leaf, [1, [1]]) == [1, [2]]


def test_classes_are_registered():
    @dataclass
    class Pair:
        first: int
        second: int
        note: str = "none"

    pytree.register_dataclass(Pair, drop_field_names=["note"])
    try:
        assert pytree.tree_map(lambda leaf: leaf + 1, [Pair(1, 2, "some")]) == [Pair(2, 3)]
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Pair, None, None)
    finally:
        pytree._deregister_pytree_node(Pair)
    assert pytree.tree_is_leaf(Pair(1, 2))


def test_structures_as_texts():
    spec = pytree.tree_structure({"a": [1, (2, 3)], "b": defaultdict(list, c=4)})
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert pytree.treespec_pprint(pytree.tree_structure([1, (2,)])) == "[*, (*,)]"
    with pytest.raises(NotImplementedError, match=r"namedtuple class .*Point"):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))


def test_kinds_of_tuples():
    assert pytree.is_namedtuple(Point)
    assert pytree.is_namedtuple_instance(Point(1, 2))
    assert not pytree.is_namedtuple((1, 2))
    assert pytree.is_structseq(time.localtime())
    assert pytree.tree_map(lambda size: size + 1, Size([1, 2])) == (2, 3)


@pytest.mark.torch
def test_texts_are_those_of_pytorch():
    from torch.utils import _pytree as theirs

    tree = {"a": [1, (2, 3)], "b": OrderedDict(c=4), "d": defaultdict(list, e=deque([5], 3))}
    ours_and_theirs = [
        [
            them.treespec_dumps(them.tree_structure(tree)), str(them.tree_structure(tree)),
            them._broadcast_to_and_flatten((1, [2, 3]), them.tree_structure((1, [2, (3, 4)]))),
        ]
        for them in (pytree, theirs)
    ]  # fmt: skip
    assert ours_and_theirs[0] == ours_and_theirs[1]
