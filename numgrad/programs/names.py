"""What users call the memory that a program works on: arguments, parameters, gradients, results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from .steps import OUTSIDE, Block, root_of
from .trees import is_record, parts_of

if TYPE_CHECKING:
    from .capture import Capture

#: What a block is for those who call the program, if it is not only the program's own.
ARGUMENT, PARAMETER, RESULT = "argument", "parameter", "result"


@dataclass(frozen=True)
class Named:
    """A block's name: of which kind it is, and the layout of the tensor that lies in it, if there is one."""

    kind: str
    name: str
    layout: Any = None


def argument_names(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any], inputs: Sequence[Tensor]
) -> list[str]:
    """What the tensors among the arguments of a call are called: ``x``, ``pair[0]``, ``options['scale']``."""
    try:
        given = inspect.signature(getattr(function, "forward", function)).bind(*args, **keywords).arguments
    except (TypeError, ValueError):  # it has no signature
        given = {"args": args, **keywords}
    names: dict[int, str] = {}
    for name, value in given.items():
        for path, tensor in _paths(name, value):
            names.setdefault(id(tensor), path)
    return [names.get(id(tensor), f"inputs[{number}]") for number, tensor in enumerate(inputs)]


def described(args: Sequence[Any], keywords: dict[str, Any]) -> str:
    """The arguments of a call in words: ``([3] float32, requires_grad; 0.5)``."""
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
        return f"{{{'; '.join([f'{key!r}: {_described(one)}' for key, one in value.items()])}}}"
    return repr(value) if isinstance(value, int | float | complex | str | bytes | None) else type(value).__name__


def _paths(path: str, tree: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(tree, Tensor):
        yield path, tree
    elif isinstance(tree, tuple | list):
        for number, one in enumerate(tree):
            yield from _paths(f"{path}[{number}]", one)
    elif isinstance(tree, dict):
        for key, one in tree.items():
            yield from _paths(f"{path}[{key!r}]", one)
    elif is_record(tree):
        for name, one in parts_of(tree).items():
            yield from _paths(f"{path}.{name}", one)


def block_names(made: Capture) -> dict[Block, Named]:
    """The names of the blocks of a recorded call that others see, too."""
    recorder, found = made.recorder, made.surroundings
    outside = {block.number: block for block in recorder.blocks if block.origin == OUTSIDE}
    blocks = {id(root_of(array)): outside[number] for number, (array, _) in enumerate(made.outside)}
    tensors = {id(tensor): name for tensor, name in zip(made.inputs, made.given, strict=True)}
    for module in found.modules.values():
        for key, tensor in [*module.value._parameters.items(), *module.value._buffers.items()]:
            tensors.setdefault(id(tensor), f"{module.path()}.{key}".strip("."))
    for optimizer in found.optimizers.values():
        for parameter, state in optimizer.value.state.items():
            for key, value in state.items():
                tensors.setdefault(id(value), f"{key} of {tensors.get(id(parameter), 'a parameter')}")
    for one in found.tensors.values():
        tensors.setdefault(id(one.value), one.name())
    names: dict[Block, Named] = {}

    def add(kind: str, name: str, array: Any, layout: Any = None) -> None:
        block = blocks.get(id(root_of(array))) or recorder.block_of(array)
        if block is not None:
            names.setdefault(block, Named(kind, name, layout))

    for tensor, name in zip(made.inputs, made.given, strict=True):
        add(ARGUMENT, name, tensor._storage, tensor._layout)
    for one in found.tensors.values():
        add(PARAMETER, tensors[id(one.value)], one.value._storage, one.value._layout)
    for before in made.known.values():
        if before.grad is not None:
            name = f"{tensors.get(id(before.tensor), '')}.grad"
            add(PARAMETER, name, before.grad._storage, before.grad._layout)
    for array, _ in made.outside:
        add(PARAMETER, "generator", array)  # which alone has memory that is no tensor's
    results = made.results()
    for number, tensor in enumerate(results):
        add(RESULT, f"results[{number}]" if len(results) > 1 else "result", tensor._storage, tensor._layout)
    for tensor, grad in made.grads:
        if grad is not None:
            add(RESULT, f"{tensors.get(id(tensor), '')}.grad", grad._storage, grad._layout)
    return names
