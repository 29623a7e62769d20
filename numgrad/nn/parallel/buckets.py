"""Buckets of gradients: flat memory in which the gradients of several parameters are reduced by one call.

Note [Shards]
A bucket is one contiguous tensor of one dtype, in which every gradient has a fixed place, and whose buffer is replaced
as a whole.  Sharded training can therefore be built on buckets as they are: pad the buffer to a multiple of the number
of ranks, and rank r keeps the r-th of the equal pieces.  The reduction becomes ``reduce_scatter_tensor`` of the buffer
into that piece, the optimizer's state has the piece's size, and ``all_gather_into_tensor`` of the parameters' pieces,
laid out in the same places, precedes the forward pass.  Parameters may cross the borders of pieces, as no call looks at
them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...futures import Future
from ...ops.creation.factories import empty, empty_like
from ...tensors.tensor import Tensor

__all__ = ["GradBucket", "bucket_assignment"]


class GradBucket:
    """Parameters whose gradients are reduced together, and the memory of these gradients.

    Args:
        indices: the numbers of the parameters.
        parameters: the parameters, of one dtype and on one device.

    Attributes:
        indices: the numbers of the parameters.
        memory: the flat tensor of the gradients.
        views: the places of the gradients in the memory, in the parameters' shapes and, if dense, strides.
        missing: the number of gradients that are not there yet.
        future: the reduced buffer, while it is underway.
    """

    def __init__(self, indices: Sequence[int], parameters: Sequence[Tensor]):
        self.indices = [*indices]
        self._parameters = [*parameters]
        self._position, self._last = 0, False
        self.missing = len(self.indices)
        self.future: Future[Tensor] | None = None
        with no_grad():
            size = sum([parameter.numel() for parameter in parameters])
            self.memory = self._buffer = empty([size], dtype=parameters[0].dtype, device=parameters[0].device)
            self.views: list[Tensor] = []
            start = 0
            for parameter in parameters:
                strides = empty_like(parameter).stride()
                self.views.append(self.memory.as_strided(parameter.shape, strides, start).detach())
                start += parameter.numel()

    def index(self) -> int:
        """Return the number of the bucket in the order of reductions."""
        return self._position

    def is_last(self) -> bool:
        """Return True for the last bucket of a backward pass."""
        return self._last

    def place(self, position: int, last: bool) -> None:
        """Set the number of the bucket, and if it is the last."""
        self._position, self._last = position, last

    def buffer(self) -> Tensor:
        """Return the flat tensor of the gradients, or that which ``set_buffer`` has put in its place."""
        return self._buffer

    def gradients(self) -> list[Tensor]:
        """Return the gradients in the shapes of the parameters."""
        return [*self.views]

    def parameters(self) -> list[Tensor]:
        """Return the parameters."""
        return [*self._parameters]

    def set_buffer(self, tensor: Tensor) -> None:
        """Let ``buffer`` return this flat tensor, maybe of another dtype, until the reduction is complete."""
        self._buffer = tensor

    def complete(self, reduced: Tensor) -> None:
        """Put the reduced elements into the memory, which becomes the buffer again."""
        self._buffer, self.future = self.memory, None
        if reduced is not self.memory:
            with no_grad():
                self.memory.copy_(reduced)


def bucket_assignment(
    order: Sequence[int], parameters: Sequence[Tensor], first: int, most: int
) -> list[list[int]]:
    """Return the numbers of parameters, in the order given, divided into buckets of one dtype and device.

    Args:
        order: the numbers of the parameters.
        first: the size of the first bucket of each kind in bytes, small so that communication begins early.
        most: the size of the others.  A larger parameter has a bucket of its own.
    """
    buckets: list[list[int]] = []
    filling: dict[Any, tuple[list[int], int, int]] = {}
    for number in order:
        parameter = parameters[number]
        kind = parameter.dtype, parameter.device
        bucket, size, limit = filling.get(kind) or ([], 0, first)
        bytes_of = parameter.numel() * parameter.element_size()
        bucket.append(number)
        size += bytes_of
        if size >= limit:
            buckets.append(bucket)
            bucket, size, limit = [], 0, most
        filling[kind] = bucket, size, limit
    return buckets + [bucket for bucket, _, _ in filling.values() if bucket]
