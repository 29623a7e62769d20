"""Memory formats of images: results have channels last if the images have, as in PyTorch.

The steps of operations read images of any strides and compute row-major results, which are then copied to the format.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.formats import has_channels_last, with_channels_last
from ...core.layout import Layout
from ...core.types import channels_last, channels_last_3d, dtype
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..table.op import parameters
from .copying import formatted_op


def following(
    *names: str, ambiguous: bool = True, volumes: bool | dtype = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function that builds a plan: its results have channels last if one of the named inputs has.

    A tuple input has channels last if all tensors in it have; an input that is also row-major counts only if
    ``ambiguous``.  Images with three spatial dimensions count if ``volumes`` is True or equals their dtype.
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

        @functools.wraps(decide)
        def build(p: Plan, *args: Any) -> Any:
            return in_format(p, chosen(args), decide(p, *args))

        build.parameters = named  # type: ignore[attr-defined]
        return build

    return decorate


def _layouts(input: Any) -> Any:
    """Return the layout of an input, or the layouts of several."""
    if input.__class__ is tuple:
        return tuple(map(_layouts, input))
    return input.layout if input.__class__ is TensorRef else input


def in_format(p: Plan, inputs: Sequence[Any], results: Any) -> Any:
    """Add the steps that bring the results of a plan to channels last, if one of the inputs has that format."""
    if not any(map(_says_so, inputs)):
        return results
    return _relaid(p, results) if results.__class__ is TensorRef else tuple([_relaid(p, tensor) for tensor in results])


def _relaid(p: Plan, tensor: TensorRef) -> TensorRef:
    layout, target = tensor.layout, with_channels_last(tensor.layout)
    if layout is target or (layout.contiguous and target.contiguous):
        return tensor._replace(layout=target)
    copy = p.new_tensor(target)
    p.assign(tensor, copy)
    return copy


def _says_so(input: Any) -> bool:
    if isinstance(input, tuple):
        return len(input) > 0 and all(map(has_channels_last, input))
    return input is not None and has_channels_last(input)


def formatted_like(tensor: Tensor | None, images: Tensor | Layout) -> Any:
    """Return a gradient with channels last if its images have them, whatever its own memory order."""
    layout = images._layout if isinstance(images, Tensor) else images
    if tensor is None or not has_channels_last(layout):
        return tensor
    if tensor._layout.strides == with_channels_last(tensor._layout).strides:
        return tensor
    return formatted_op(tensor, channels_last if len(layout.shape) == 4 else channels_last_3d)
