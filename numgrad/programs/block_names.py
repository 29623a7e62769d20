"""Names for the blocks of memory that a program uses: arguments, parameters, gradients and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..tensors.tensor import Tensor
from .captured import Capture
from .recorded_steps import OUTSIDE, Block, root_of
from .trees import fields_of, is_dataclass_value

#: Kinds of blocks that are visible to the callers of a program.
ARGUMENT, PARAMETER, RESULT = "argument", "parameter", "result"


class BlockName(NamedTuple):
    """The kind and name of a block, and the layout of a tensor in it."""

    kind: str
    name: str
    layout: Any = None


def argument_names(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any], inputs: Sequence[Tensor]
) -> list[str]:
    """Return names of the tensors among arguments: ``x``, ``pair[0]``, ``options['scale']``."""
    names: dict[int, str] = {}
    for name, value in arguments_by_name(function, args, keywords).items():
        for path, tensor in _paths(name, value):
            names.setdefault(id(tensor), path)
    return [names.get(id(tensor), f"inputs[{number}]") for number, tensor in enumerate(inputs)]


def arguments_by_name(function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the function's parameters."""
    try:
        return inspect.signature(getattr(function, "forward", function)).bind(*args, **keywords).arguments
    except (TypeError, ValueError):  # it has no signature
        return {"args": args, **keywords}


def described(args: Sequence[Any], keywords: dict[str, Any]) -> str:
    """Return a description of the arguments of a call: ``([3] float32, requires_grad; 0.5)``."""
    parts = [*map(_described, args), *[f"{name}={_described(value)}" for name, value in keywords.items()]]
    return f"({'; '.join(parts)})"


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        facts = [f"{list(value.shape)} {value._layout.type.dtype.name}"]
        facts += [f"strides {list(value.stride())}"] * (not value.is_contiguous())
        facts += ["requires_grad" if value.is_leaf else "with a graph"] * value.requires_grad
        return ", ".join(facts + ["with grad"] * (value._grad is not None))
    if isinstance(value, tuple | list):
        return f"[{'; '.join(map(_described, value))}]"
    if isinstance(value, dict):
        return f"{{{'; '.join([f'{key!r}: {_described(item)}' for key, item in value.items()])}}}"
    return repr(value) if isinstance(value, int | float | complex | str | bytes | None) else type(value).__name__


def _paths(path: str, tree: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a tree, each with the expression that leads to it."""
    subtrees: dict[str, Any] = {}
    if isinstance(tree, Tensor):
        yield path, tree
    elif isinstance(tree, tuple | list):
        subtrees = {f"[{number}]": item for number, item in enumerate(tree)}
    elif isinstance(tree, dict):
        subtrees = {f"[{key!r}]": item for key, item in tree.items()}
    elif is_dataclass_value(tree):
        subtrees = {f".{name}": item for name, item in fields_of(tree).items()}
    for step, subtree in subtrees.items():
        yield from _paths(f"{path}{step}", subtree)


def block_names(captured: Capture) -> dict[Block, BlockName]:
    """Return the names of the blocks of a recorded call that are visible to its callers."""
    recorder, environment = captured.recorder, captured.environment
    outside = {block.number: block for block in recorder.blocks if block.origin == OUTSIDE}
    blocks = {id(root_of(array)): outside[number] for number, (array, _) in enumerate(captured.outside)}
    inputs = [*zip(captured.inputs, captured.input_names, strict=True)]
    tensors = {id(tensor): name for tensor, name in inputs}
    for module in environment.modules.values():
        for key, tensor in [*module.value._parameters.items(), *module.value._buffers.items()]:
            tensors.setdefault(id(tensor), f"{module.path()}.{key}".strip("."))
    for optimizer in environment.optimizers.values():
        for parameter, state in optimizer.value.state.items():
            for key, value in state.items():
                tensors.setdefault(id(value), f"{key} of {tensors.get(id(parameter), 'a parameter')}")
    for source in environment.tensors.values():
        tensors.setdefault(id(source.value), source.name())
    results = captured.results()
    result_names = [f"results[{number}]" if len(results) > 1 else "result" for number in range(len(results))]
    grads = [(before.tensor, before.grad) for before in captured.states.values()]
    named = [
        *[(ARGUMENT, name, tensor) for tensor, name in inputs],
        *[(PARAMETER, tensors[id(source.value)], source.value) for source in environment.tensors.values()],
        *[(PARAMETER, f"{tensors.get(id(tensor), '')}.grad", grad) for tensor, grad in grads],
        *[(RESULT, name, tensor) for name, tensor in zip(result_names, results, strict=True)],
        *[(RESULT, f"{tensors.get(id(tensor), '')}.grad", grad) for tensor, grad in captured.grads],
    ]
    names: dict[Block, BlockName] = {}
    for kind, name, tensor in named:
        array = None if tensor is None else tensor._storage
        block = blocks.get(id(root_of(array))) or recorder.block_of(array)
        if block is not None:
            names.setdefault(block, BlockName(kind, name, tensor._layout))
    # the only other memory that existed before is that of generators
    return names | {block: BlockName(PARAMETER, "generator") for block in outside.values() if block not in names}
