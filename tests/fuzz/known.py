"""Where PyTorch is not what numgrad is held against: it lacks something there, or numgrad deliberately goes further."""

from __future__ import annotations

import re

from fuzz.comparing import Outcome

__all__ = ["NUMGRAD_IS_RIGHT", "excuse_for"]

#: What PyTorch says where it lacks a derivative, a rule for batches or a dtype, or fails inside.
LACKING = re.compile(
    "is not implemented|not implemented for|does not support it|[Bb]atching rule|not supported|data-dependent"
    "|Could this error message be improved|INTERNAL ASSERT|ZeroTensors are immutable|unallocated storage"
    "|must have the same dtype|doesn't match the broadcast shape|Expected a proper Tensor but got None"
    "|is not differentiable|does not have a deterministic|vmap over calls to|vmap: |Cannot access data pointer"
)
#: What it says of tensors without elements in forward mode and transforms.
EMPTY = re.compile(
    "expected a non-empty list of Tensors|reshape tensor of 0 elements|to have non-zero size|with no identity"
    "|out of range for tensor of size \\[0\\]"
)

#: What numgrad has not yet, as the README says.
MISSING = re.compile("log(cum)?sumexp.* not implemented for 'Complex")

NOT_YET = "numgrad has it not yet"
LACKS = "PyTorch lacks it"
KEEPS = "numgrad keeps a copy of what is overwritten"
REFUSES = "PyTorch refuses without the checkpoint: a saved tensor is changed in place"
NUMGRAD_IS_RIGHT = "finite differences agree with numgrad, not with PyTorch"


def excuse_for(mode: str, expected: Outcome, found: Outcome, plain: Outcome) -> str | None:
    """Why these outcomes may differ; ``plain`` is PyTorch's of the mode backward."""
    overwritten = "modified by an inplace operation"
    if mode == "checkpoint" and overwritten in str(plain.error):
        return REFUSES
    if MISSING.search(str(found.error)):
        return NOT_YET
    words = "" if expected.error is None else str(expected.error)
    if LACKING.search(words) and (found.error is None or "is not implemented" in str(found.error)):
        return LACKS
    if found.error is None and mode in ("forward", "nested", "vmap") and EMPTY.search(words):
        return LACKS
    if found.error is None and mode in ("forward", "nested") and "refer to a single memory location" in words:
        return LACKS
    return KEEPS if found.error is None and overwritten in words else None
