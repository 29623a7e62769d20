"""Functions for ``DistributedDataParallel.register_comm_hook``, whose ``state`` is the process group, or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....autograd.grad_mode import no_grad
from ....core.types import bfloat16, dtype, float16
from ....futures import Future
from ....nn.parallel.buckets import GradBucket
from ....tensors.tensor import Tensor
from ...collectives import all_reduce
from ...groups import get_world_size

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]

#: A function ``hook(state, bucket)`` that starts the reduction of a bucket and returns the future of its buffer.
Hook = Callable[[Any, GradBucket], Future[Tensor]]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients, as without a hook."""
    return _averaged(process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients after rounding them to bfloat16, which halves the bytes of float32 that are sent.

    Sums are computed in float32 and rounded to bfloat16, which has 8 significant bits.

    Example:
        >>> from numgrad.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
        >>> def compress(model: numgrad.nn.parallel.DistributedDataParallel):
        ...     model.register_comm_hook(None, bf16_compress_hook)
    """
    return bf16_compress_wrapper(_averaged)(process_group, bucket)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients after rounding them to float16; gradients beyond 65504 become infinite."""
    return fp16_compress_wrapper(_averaged)(process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that rounds the gradients to float16 before it calls another."""
    return _compressed(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that rounds the gradients to bfloat16 before it calls another."""
    return _compressed(hook, bfloat16)


def _compressed(hook: Hook, sent_as: dtype) -> Hook:
    def compress(state: Any, bucket: GradBucket) -> Future[Tensor]:
        with no_grad():
            bucket.set_buffer(bucket.buffer().to(sent_as))
        return hook(state, bucket)

    return compress


def _averaged(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Start the sum of gradients that are divided by the number of ranks, which keeps float16 in its range."""
    with no_grad():
        bucket.buffer().div_(get_world_size(process_group))
    work: Any = all_reduce(bucket.buffer(), group=process_group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
