"""``vmap``: transform of a function of one example into a function of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.thread_state import guarded
from ..core.nesting import Structure, flatten
from ..ops.batching.batches import Batched, below, mapped, unmapped
from ..ops.creation.random_numbers import get_rng_state, set_rng_state
from ..ops.shapes.broadcasting import expand
from ..ops.shapes.dimensions import movedim
from ..ops.shapes.joining import cat
from ..ops.shapes.parts import narrow
from ..tensors.tensor import Tensor

#: Position of the batch in an input or output: a dimension, None, or a nested structure of these.
Dims = Any


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that applies ``func`` to every example of a batch.

    Inside ``func``, tensors have the shape of one example, and each operation processes all examples at once.  An
    operation without a batching rule in numgrad processes one example after the other.  ``func`` may take derivatives
    with the transforms of this package, and may call ``vmap``.  The new function can itself be differentiated and
    mapped.

    Args:
        func: takes and returns tensors, or nested structures of them.
        in_dims: for each positional argument, the dimension that indexes the examples, or None for an argument common
            to all: an int for all arguments, or a tuple, with nested structures for nested arguments.  Keyword
            arguments are passed on unchanged.
        out_dims: for each output, the dimension that is to index the examples: an int for all outputs, or a nested
            structure; None for an output that is the same for all examples, which is then returned once.
        randomness: the behaviour of random operations in ``func``: raise an error ("error"), draw for each example
            ("different") or once for all ("same").
        chunk_size: the number of examples processed at once, by default all; it bounds the memory needed.

    Raises:
        RuntimeError: ``randomness`` is invalid; in ``func``, if control flow depends on a tensor's values
            (``if x > 0``, ``item()``, a mask as an index), or if values that differ between examples overwrite a tensor
            common to all.
        ValueError: in_dims or out_dims do not match the structure of the inputs or outputs; no argument has a batch
            dimension, or these differ in size; ``func`` returns a value that is not a tensor; ``chunk_size`` is not
            positive.

    Example:
        >>> import numgrad
        >>> rows = numgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> numgrad.func.vmap(numgrad.dot)(rows, rows)
        tensor([ 5., 25.])
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    name = getattr(func, "__name__", None) or repr(func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        dims = _in_dims(name, in_dims, leaves, structure, bool(args))
        size = _batch_size(leaves, dims)
        if chunk_size is None or chunk_size >= size:
            return _run(func, name, leaves, dims, structure, out_dims, size, randomness, kwargs)
        chunks = []
        state = get_rng_state() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            if state is not None:
                set_rng_state(state)
            count = min(chunk_size, size - start)
            part = [
                leaf if dim is None else narrow(leaf, dim, start, count) for leaf, dim in zip(leaves, dims, strict=True)
            ]
            chunks.append(_run(func, name, part, dims, structure, out_dims, count, randomness, kwargs))
        return _joined(name, chunks, out_dims)

    return wrapped


def check_randomness(randomness: str) -> None:
    """Raise unless ``randomness`` is one of the three words.

    Raises:
        RuntimeError: it is another value.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )


def _run(
    func: Callable[..., Any], name: str, leaves: list[Any], dims: list[int | None], structure: Structure,
    out_dims: Dims, size: int, randomness: str, kwargs: dict[str, Any],
) -> Any:
    fronted = [
        leaf if dim is None else movedim(leaf, dim, 0) if dim else leaf for leaf, dim in zip(leaves, dims, strict=True)
    ]

    def mapped_over() -> Any:
        with Batched(size, randomness) as level:
            batched = [
                leaf if dim is None else mapped(level, leaf) for leaf, dim in zip(fronted, dims, strict=True)
            ]
            outputs, output_structure = flatten(func(*structure.unflatten(batched), **kwargs))
            dims_out = _out_dims(name, out_dims, output_structure)
            with below(level):
                results = [_result(name, level, *pair) for pair in zip(outputs, dims_out, strict=True)]
        return output_structure.unflatten(results)

    return guarded(mapped_over)


def _result(name: str, level: Batched, output: Any, dim: int | None) -> Any:
    """Return an output in the form that the caller receives."""
    if not isinstance(output, Tensor):
        if dim is None:
            return output
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    whole, batched = unmapped(level, output)
    if dim is None:
        if batched:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return whole
    if not batched:
        whole = expand(whole, (level.size, *whole._layout.shape))
    return movedim(whole, 0, dim) if dim else whole


# -- dimensions of batches -----------------------------------------------------------------------------------


def _in_dims(name: str, in_dims: Dims, leaves: list[Any], structure: Structure, specified: bool) -> list[int | None]:
    """Return for each leaf of the arguments the dimension of the batch, counted from the front."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not specified:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    dims = _spread(in_dims, structure)
    if dims is None:
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1]} but inputs has structure {structure}."
        )
    return [_in_dim(call, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]


def _in_dim(call: str, leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim. (Each number in a list is a separate "
            "argument: to map over a list, make it a tensor with torch.tensor().)"
        )
    rank = leaf.dim()
    if not -rank <= dim < rank:
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so expected "
            f"in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return dim % rank


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]


def _out_dims(name: str, out_dims: Dims, structure: Structure) -> list[Any]:
    """Return for each output the position of the batch."""
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and structure.container is None:
        out_dims = out_dims[0]
    for dim in flatten(out_dims)[0]:
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear."
            )
    dims = _spread(out_dims, structure)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {structure}."
        )
    return dims


def _spread(dims: Dims, structure: Structure) -> list[Any] | None:
    """Return the dims of all leaves; a dim of a part applies to all its leaves.  None if structures do not match."""
    nested = flatten(dims)[1]
    if nested.container is None:
        return [dims] * structure.count
    if nested.container is not structure.container or nested.keys != structure.keys:
        return None
    if len(nested.parts) != len(structure.parts):
        return None
    result: list[Any] = []
    values = dims.values() if isinstance(dims, dict) else dims
    for value, part in zip(values, structure.parts, strict=True):
        below = _spread(value, part)
        if below is None:
            return None
        result += below
    return result


def _joined(name: str, chunks: list[Any], out_dims: Dims) -> Any:
    """Return the concatenated results of the chunks."""
    rows, structures = zip(*map(flatten, chunks), strict=True)
    structure = structures[0]
    dims = _out_dims(name, out_dims, structure)
    return structure.unflatten([
        parts[0] if dim is None else cat(list(parts), dim)
        for dim, parts in zip(dims, zip(*rows, strict=True), strict=True)
    ])
