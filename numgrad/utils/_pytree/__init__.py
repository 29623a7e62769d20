"""``torch.utils._pytree``: nested containers, here called trees, that are flattened to their leaves and rebuilt.

Tuples, lists, named tuples, deques, dictionaries and the registered classes are containers.  Any other value, including
None, is a leaf.

Example:
    >>> from numgrad.utils import _pytree
    >>> leaves, spec = _pytree.tree_flatten({"a": [1, 2], "b": None})
    >>> leaves
    [1, 2, None]
    >>> _pytree.tree_unflatten([10, 20, 30], spec)
    {'a': [10, 20], 'b': 30}
"""

from .dumping import treespec_dumps, treespec_loads, treespec_pprint
from .functions import (
    _broadcast_to_and_flatten,
    arg_tree_leaves,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_map_with_path,
    tree_structure,
    tree_unflatten,
)
from .keys import GetAttrKey, KeyEntry, KeyPath, MappingKey, SequenceKey, key_get, keystr
from .nodes import (
    BUILTIN_TYPES,
    SUPPORTED_NODES,
    Context,
    DumpableContext,
    FlattenFn,
    FlattenFunc,
    FromDumpableContextFn,
    NodeDef,
    PyTree,
    ToDumpableContextFn,
    UnflattenFn,
    UnflattenFunc,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_namedtuple,
    register_pytree_node,
    unregister_pytree_node,
)
from .nodes import node_type as _get_node_type
from .specs import LeafSpec, TreeSpec

__all__ = [
    "BUILTIN_TYPES", "SUPPORTED_NODES", "Context", "DumpableContext", "FlattenFn", "FlattenFunc",
    "FromDumpableContextFn", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
    "PyTreeSpec", "SequenceKey", "ToDumpableContextFn", "TreeSpec", "UnflattenFn", "UnflattenFunc",
    "_broadcast_to_and_flatten", "_deregister_pytree_node", "_dict_flatten", "_dict_flatten_with_keys",
    "_dict_unflatten", "_get_node_type", "_is_leaf", "_is_namedtuple_instance", "_list_flatten",
    "_list_flatten_with_keys", "_list_unflatten", "_register_namedtuple", "_register_pytree_node", "_tuple_flatten",
    "_tuple_flatten_with_keys", "_tuple_unflatten", "arg_tree_leaves", "is_namedtuple", "is_namedtuple_class",
    "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance", "key_get", "keystr",
    "map_only", "register_constant", "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only",
    "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves",
    "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path",
    "tree_structure", "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint",
]

PyTreeSpec = TreeSpec
_is_leaf, _is_namedtuple_instance = tree_is_leaf, is_namedtuple_instance
_register_pytree_node, _register_namedtuple = register_pytree_node, register_namedtuple
_deregister_pytree_node = unregister_pytree_node
