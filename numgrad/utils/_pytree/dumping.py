"""Structures of trees as texts in JSON, in PyTorch's format."""

from __future__ import annotations

import importlib
import json
from collections import defaultdict, namedtuple
from typing import Any

from .nodes import SUPPORTED_NODES, NodeDef, named_tuples
from .specs import LeafSpec, TreeSpec

__all__ = ["treespec_dumps", "treespec_loads", "treespec_pprint"]

#: The version of the format.
_PROTOCOL = 1


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as a text.

    Raises:
        TypeError: ``treespec`` is not a structure.
        ValueError: the format has another version than 1.
        NotImplementedError: a context is not representable in JSON, or a class of named tuples is not registered.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps([_PROTOCOL, _dumped(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure in a text written by :func:`treespec_dumps`.

    Raises:
        ValueError: the format has another version than 1.
        NotImplementedError: a class in it is not registered.
    """
    protocol, schema = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _loaded(schema)


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as the text of a tree of stars."""
    return str(treespec.unflatten([LeafSpec()] * treespec.num_leaves))


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES[spec.type]
    context: Any
    if spec.type is namedtuple:
        names = [name for name, cls in named_tuples.items() if cls is spec.context]
        if not names:
            raise NotImplementedError(
                f"Can't serialize TreeSpec of namedtuple class {spec.context} because we didn't register a "
                "serialized_type_name. Please register using `_register_namedtuple`."
            )
        context = names[0]
    elif node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec.context)
    else:
        context = _as_json(node, spec.context)
    return {"type": node.name, "context": context, "children_spec": [_dumped(child) for child in spec.children_specs]}


def _as_json(node: NodeDef, context: Any) -> str:
    try:
        return json.dumps(context)
    except TypeError as error:
        raise NotImplementedError(
            f"the context of {node.name} is not representable in JSON: register the class with a to_dumpable_context"
        ) from error


def _loaded(schema: dict[str, Any]) -> TreeSpec:
    if schema["type"] is None:
        return LeafSpec()
    nodes = {node.name: node for node in SUPPORTED_NODES.values()}
    if schema["type"] not in nodes:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    node, context = nodes[schema["type"]], schema["context"]
    if node.type is namedtuple:
        context = named_tuples[context]
    elif node.type is defaultdict:
        factory = context["default_factory_name"]
        module = factory and importlib.import_module(context["default_factory_module"])
        context = [factory and getattr(module, factory), context["dict_context"]]
    elif node.from_dumpable_context is not None:
        context = node.from_dumpable_context(context)
    else:
        context = json.loads(context)
    return TreeSpec(node.type, context, [_loaded(child) for child in schema["children_spec"]])
