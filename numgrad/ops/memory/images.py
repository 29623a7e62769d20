"""Results of operations on images have their channels last if the images have, as PyTorch lays them out.

What launches kernels reads images of any strides, and computes row-major ones; these are then brought into order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.formats import has_channels_last, with_channels_last
from ...core.layout import Layout
from ...core.tensor import Tensor, tensor_of
from ...core.types import channels_last, channels_last_3d, dtype
from ...devices import Plan, TensorRef
from ..table.op import parameters
from ..table.planned import builds_plan
from .copying import copier, formatted_op

#: What an operation decides: the layout of its result and what computes that, or those of several.
Decided = tuple[Any, Callable[..., Any]]


def following(
    *names: str, ambiguous: bool = True, volumes: bool | dtype = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what decides what a call comes to: its results have channels last if one of these inputs has.

    An input that is a tuple has if all in it have; one that is row-major, too, unless ``ambiguous``, has not.  Images
    with three dimensions count if ``volumes``, or if they are of that dtype.
    """

    def decorate(decide: Callable[..., Any]) -> Callable[..., Any]:
        named = parameters(decide)
        positions = [named.index(name) for name in names]

        def chosen(args: Sequence[Any]) -> list[Any]:
            inputs = [_layouts(args[n]) for n in positions]
            if not ambiguous:
                inputs = [input for input in inputs if not input.contiguous]
            if volumes is not True:
                inputs = [input for input in inputs if len(input.shape) != 5 or input.type.dtype is volumes]
            return inputs

        def prepare(*args: Any) -> Decided:
            return in_format_of(chosen(args), *decide(*args))

        def build(p: Plan, *args: Any) -> Any:
            return in_format(p, chosen(args), decide(p, *args))

        wrapped = functools.wraps(decide)(build if builds_plan(decide) else prepare)
        wrapped.parameters = named  # type: ignore[attr-defined]
        return wrapped

    return decorate


def _layouts(one: Any) -> Any:
    """The layout of an input, or the layouts of several."""
    if one.__class__ is tuple:
        return tuple(map(_layouts, one))
    return one.layout if one.__class__ is TensorRef else one


def in_format(p: Plan, inputs: Sequence[Any], made: Any) -> Any:
    """The results of a plan, with channels last if one of the inputs has."""
    if not any(map(_says_so, inputs)):
        return made
    return _relaid(p, made) if made.__class__ is TensorRef else tuple([_relaid(p, one) for one in made])


def _relaid(p: Plan, tensor: TensorRef) -> TensorRef:
    own, wanted = tensor.layout, with_channels_last(tensor.layout)
    if own is wanted or (own.contiguous and wanted.contiguous):
        return tensor._replace(layout=wanted)
    copy = p.new_tensor(wanted)
    p.assign(tensor, copy)
    return copy


def in_format_of(inputs: Sequence[Any], layout: Any, launch: Callable[..., Any]) -> Decided:
    """What was decided, for results that have channels last if one of the inputs has."""
    if not any(map(_says_so, inputs)):
        return layout, launch
    several = layout.__class__ is tuple
    made = layout if several else (layout,)
    wanted = tuple(map(with_channels_last, made))
    moves = [_move(own, goal) for own, goal in zip(made, wanted, strict=True)]
    if not any(moves):
        return (wanted if several else wanted[0]), launch

    def relaid(*operands: Any) -> Any:
        rows = launch(*operands)
        moved = [
            row if move is None else move(row)
            for row, move in zip(rows if several else (rows,), moves, strict=True)
        ]
        return tuple(moved) if several else moved[0]

    return (wanted if several else wanted[0]), relaid


def _says_so(input: Any) -> bool:
    if isinstance(input, tuple):
        return len(input) > 0 and all(map(has_channels_last, input))
    return input is not None and has_channels_last(input)


def _move(own: Layout, wanted: Layout) -> Callable[[Any], Any] | None:
    """What makes of the memory of a result that of one in the order wanted; None if it is the same."""
    if own is wanted or (own.contiguous and wanted.contiguous):
        return None
    copy = copier(own, wanted)
    return lambda row: copy(tensor_of(own, row))


def formatted_like(tensor: Tensor | None, images: Tensor | Layout) -> Any:
    """A gradient with its channels last if the images that it is for have, whatever order it was given in."""
    layout = images._layout if isinstance(images, Tensor) else images
    if tensor is None or not has_channels_last(layout):
        return tensor
    if tensor._layout.strides == with_channels_last(tensor._layout).strides:
        return tensor
    return formatted_op(tensor, channels_last if len(layout.shape) == 4 else channels_last_3d)
