"""The classes of containers: how each is flattened to its children and rebuilt, and how users register theirs."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...core.types import Size
from .keys import GetAttrKey, MappingKey, SequenceKey

PyTree: TypeAlias = Any
Context: TypeAlias = Any
DumpableContext: TypeAlias = Any
FlattenFn: TypeAlias = Callable[[Any], tuple[list[Any], Any]]
UnflattenFn: TypeAlias = Callable[[Iterable[Any], Any], Any]
FlattenFunc, UnflattenFunc = FlattenFn, UnflattenFn
ToDumpableContextFn: TypeAlias = Callable[[Any], Any]
FromDumpableContextFn: TypeAlias = Callable[[Any], Any]


class NodeDef(NamedTuple):
    """A class of containers.

    Attributes:
        type: the class; the function ``namedtuple`` for all classes of named tuples.
        flatten_fn: returns the children of a container, and the context: all else that is needed to rebuild it.
        unflatten_fn: returns the container with these children and this context.
        flatten_with_keys_fn: returns pairs of keys and children, and the context; None if there are no keys.
        serialized_type_name: the name of the class in texts.
        to_dumpable_context, from_dumpable_context: convert the context to a value that JSON represents, and back.
    """

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None
    serialized_type_name: str | None = None
    to_dumpable_context: ToDumpableContextFn | None = None
    from_dumpable_context: FromDumpableContextFn | None = None

    @property
    def name(self) -> str:
        """The name of the class in texts."""
        return self.serialized_type_name or f"{self.type.__module__}.{self.type.__qualname__}"


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make the instances of a class containers; see :class:`NodeDef`.

    Raises:
        ValueError: the class is registered already, or only one conversion of the context is given.

    Example:
        >>> from numgrad.utils import _pytree
        >>> class Pair:
        ...     def __init__(self, *parts):
        ...         self.parts = parts
        >>> _pytree.register_pytree_node(Pair, lambda pair: (list(pair.parts), None), lambda parts, _: Pair(*parts))
        >>> _pytree.tree_leaves([Pair(1, 2), 3])
        [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls!r} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(
        cls, flatten_fn, unflatten_fn, flatten_with_keys_fn, serialized_type_name, to_dumpable_context,
        from_dumpable_context,
    )


def unregister_pytree_node(cls: type) -> None:
    """Make the instances of a class leaves again."""
    del SUPPORTED_NODES[cls]


def register_dataclass(
    cls: type, *, field_names: Sequence[str] | None = None, drop_field_names: Sequence[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make the instances of a dataclass containers of their fields.

    Args:
        cls: the dataclass.
        field_names: the fields that are children; by default all that ``__init__`` takes.
        drop_field_names: fields to leave out: a rebuilt instance has their defaults.

    Raises:
        ValueError: the class is not a dataclass, or the fields are not those that ``__init__`` takes.
    """
    if not dataclasses.is_dataclass(cls):
        raise ValueError(f"register_dataclass takes a dataclass, not {cls!r}")
    taken = [field.name for field in dataclasses.fields(cls) if field.init]
    dropped = set(drop_field_names or ())
    names = [name for name in taken if name not in dropped] if field_names is None else list(field_names)
    if {*names} | dropped != {*taken}:
        raise ValueError(f"fields of {cls.__name__} differ: it takes {taken}, but {[*names, *dropped]} are registered")

    def flatten(instance: Any) -> tuple[list[Any], Any]:
        present = [name for name in names if getattr(instance, name) is not None]
        absent = [name for name in names if name not in present]
        return [getattr(instance, name) for name in present], [present, absent]

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, children, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(instance: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(instance)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children, strict=True)], context

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


def register_constant(cls: type) -> None:
    """Make the instances of a class containers without children, so that they belong to the structure of a tree.

    The class must define ``__eq__`` and ``__hash__``.
    """
    register_pytree_node(cls, lambda value: ([], value), lambda _, value: value, flatten_with_keys_fn=lambda value: (
        [], value
    ))


def register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Name a class of named tuples in texts, where it would be unknown otherwise."""
    named_tuples[serialized_type_name] = cls


#: Classes of named tuples by their names in texts.
named_tuples: dict[str, type] = {}


# -- Python's containers ----------------------------------------------------------------------------------------------


def is_namedtuple_class(cls: Any) -> bool:
    """Return True for a class of named tuples."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj: Any) -> bool:
    """Return True for a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Return True for a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Return True for a class such as ``time.struct_time``, whose fields are counted by the class."""
    counts = [getattr(cls, name, None) for name in ("n_sequence_fields", "n_fields", "n_unnamed_fields")]
    return isinstance(cls, type) and issubclass(cls, tuple) and all(isinstance(count, int) for count in counts)


def is_structseq_instance(obj: Any) -> bool:
    """Return True for an instance of a class such as ``time.struct_time``."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Return True for a class such as ``time.struct_time``, or an instance of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def node_type(tree: Any) -> Any:
    """Return the class under which a value is looked up: its own, or ``namedtuple`` for named tuples."""
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and is_namedtuple_class(cls) else cls


def _indexed(children: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(SequenceKey(index), child) for index, child in enumerate(children)]


def _sequence(cls: Any, flatten: FlattenFn, unflatten: UnflattenFn, **conversions: Any) -> NodeDef:
    def with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(tree)
        return _indexed(children), context

    return NodeDef(cls, flatten, unflatten, with_keys, **conversions)


def _mapping(cls: Any, unflatten: UnflattenFn) -> NodeDef:
    return NodeDef(
        cls, lambda tree: ([*tree.values()], [*tree]), unflatten,
        lambda tree: ([(MappingKey(key), value) for key, value in tree.items()], [*tree]),
    )


def _fields(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(GetAttrKey(name), child) for name, child in zip(tree._fields, tree, strict=True)], type(tree)


def _with_default(context: Any, children: Iterable[Any]) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


def _dumped_factory(context: Any) -> Any:
    factory, keys = context
    return {
        "default_factory_module": getattr(factory, "__module__", None),
        "default_factory_name": getattr(factory, "__qualname__", None), "dict_context": keys,
    }


#: The containers, by class.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: _sequence(tuple, lambda tree: ([*tree], None), lambda children, _: tuple(children)),
    list: _sequence(list, lambda tree: (tree, None), lambda children, _: list(children)),
    deque: _sequence(
        deque, lambda tree: ([*tree], tree.maxlen), lambda children, maxlen: deque(children, maxlen=maxlen)
    ),
    Size: _sequence(Size, lambda tree: ([*tree], None), lambda children, _: tuple(children)),
    dict: _mapping(dict, lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: _mapping(OrderedDict, lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: NodeDef(
        defaultdict, lambda tree: ([*tree.values()], [tree.default_factory, [*tree]]),
        lambda children, context: _with_default(context, children),
        lambda tree: ([(MappingKey(key), v) for key, v in tree.items()], [tree.default_factory, [*tree]]),
        to_dumpable_context=_dumped_factory,
    ),
    namedtuple: NodeDef(
        namedtuple, lambda tree: ([*tree], type(tree)), lambda children, cls: cls(*children), _fields,
    ),
}  # fmt: skip

BUILTIN_TYPES = frozenset(SUPPORTED_NODES)

#: Dictionaries, which match each other in trees to be mapped together.
DICTIONARIES = frozenset({dict, OrderedDict, defaultdict})

# The functions of Python's containers, with which libraries register their subclasses.
_, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = SUPPORTED_NODES[tuple][:4]
_, _list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list][:4]
_, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict][:4]
