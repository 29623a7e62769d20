"""Exceptions to the comparison with PyTorch: it lacks something, or numgrad deliberately goes further."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from fuzz.comparing import Disagreement, Outcome, difference
from fuzz.programs import Program

__all__ = ["NUMGRAD_IS_RIGHT", "excuse_for"]

#: PyTorch's messages where it lacks a derivative, a rule for batches or a dtype, or fails internally.
LACKING = re.compile(
    "is not implemented|not implemented for|does not support it|[Bb]atching rule|not supported|data-dependent"
    "|Could this error message be improved|INTERNAL ASSERT|ZeroTensors are immutable|unallocated storage"
    "|must have the same dtype|doesn't match the broadcast shape|Expected a proper Tensor but got None"
    "|is not differentiable|does not support automatic differentiation"
    "|does not have a deterministic|vmap over calls to|vmap: |Cannot access data pointer"
)
#: Its messages about tensors without elements in forward mode and transforms.
EMPTY = re.compile(
    "expected a non-empty list of Tensors|reshape tensor of 0 elements|to have non-zero size|with no identity"
    "|out of range for tensor of size \\[0\\]"
)

#: Errors of missing features; see docs/guides/from_pytorch.md.
MISSING = re.compile("log(cum)?sumexp.* not implemented for 'Complex")

#: Steps whose results differ deliberately (docs/guides/differences.md): the mode, or any; a step; the disagreement; the
#: library that has NaN; and a description of the difference.
NAMED = [
    ("forward", r"clamp\(v\d+, (v\d+), \1\)", "tangent", None, "the bounds of clamp touch"),
    ("", r"\.mode\(", "value", "expected", "mode leaves NaN out"),
    ("", r"\*\*|pow", "value", "expected", "0j ** 0j is 1"),
    ("", r"logcumsumexp", "value", "found", "NaN stays in the gradient of logcumsumexp"),
    ("forward", r"alpha=", "tangent: dtype", None, "a tangent has the dtype of its tensor"),
    ("", r"\.conj\(\)(.|\n)*\n    v\d+(\[|\.\w+_\()", "output", None, "conj is a copy"),
]

NOT_YET = "numgrad does not have it yet"
LACKS = "PyTorch lacks it"
KEEPS = "numgrad keeps a copy of what is overwritten"
SAVES = "kron and polar have saved what is overwritten"
POLAR = "the derivative of polar where magnitudes may be negative, and finite differences cannot tell"
COPIES = "conj is a copy"
SEVERAL = "one of several views changed without recording"
WRAPS = "negative widths of a circular pad would show memory that was never written"
OVERLAP = "memory that is read and written overlaps"
ZERO = "a derivative that is zero is None in one of the two"
REFUSES = "PyTorch refuses without the checkpoint: a saved tensor is changed in place"
REFUSES_TOO = "both refuse, numgrad as it does without the transform"
NUMGRAD_IS_RIGHT = "finite differences agree with numgrad, not with PyTorch"

OVERWRITTEN = "modified by an inplace operation"
SHARED = re.compile("refers? to a single memory location")
#: A tensor written to a part of itself, which may be all of it, and elements that are all filled with one number.
WITHOUT_HARM = re.compile(r"(v\d+)\[-?\d+\] = \1$|(fill|zero)_\(", re.MULTILINE)


def excuse_for(
    mode: str, program: Program, unlike: Disagreement, expected: Outcome, found: Outcome, plain: Outcome
) -> str | None:
    """The reason why these outcomes may differ; ``plain`` is PyTorch's outcome in the mode backward."""
    if expected.error is None and found.error is None:
        return _excuse_for_results(mode, program, unlike, expected, found)
    words, own = ["" if one.error is None else str(one.error) for one in (expected, found)]
    if mode == "checkpoint" and OVERWRITTEN in str(plain.error):
        return REFUSES
    if MISSING.search(own):
        return NOT_YET
    if found.error is None:
        return _excuse_for_success(mode, program, words)
    if LACKING.search(words) and "is not implemented" in own:
        return LACKS
    overwritten = OVERWRITTEN in own and OVERWRITTEN in str(plain.error)
    if isinstance(found.error, type(plain.error)) and (words or overwritten):
        return REFUSES_TOO
    if OVERWRITTEN in own and re.search(r"\b(kron|polar)\(", program.body):
        return SAVES
    if "wrapping around more than once" in own:
        return WRAPS
    return OVERLAP if SHARED.search(own) and not words else None


def _excuse_for_success(mode: str, program: Program, words: str) -> str | None:
    """The reason why numgrad may have a result where PyTorch raises an error with these words."""
    if LACKING.search(words) or (mode in ("forward", "nested", "vmap") and EMPTY.search(words)):
        return LACKS
    if SHARED.search(words) and (mode in ("forward", "nested", "vmap") or WITHOUT_HARM.search(program.body)):
        return OVERLAP
    if "This view is the output of a function that returns multiple views" in words and "no_grad" in program.body:
        return SEVERAL
    if "a view of a leaf Variable" in words and re.search(r"\.conj\(|\.mH", program.body):
        return COPIES
    return KEEPS if OVERWRITTEN in words else None


def _excuse_for_results(
    mode: str, program: Program, unlike: Disagreement, expected: Outcome, found: Outcome
) -> str | None:
    """The reason why results may differ, for results that are None and for the steps named above."""
    if mode in ("forward", "second") and difference(*_without_none(expected, found), single=program.single) is None:
        return ZERO
    if "polar(" in program.body and not program.connected and not unlike.kind.startswith("output"):
        return POLAR
    nan = {"expected": _has_nan(expected), "found": _has_nan(found), None: True}
    for where, step, kind, which, reason in NAMED:
        if where in mode and re.search(step, program.body) and re.search(kind, unlike.kind) and nan[which]:
            return reason
    return None


def _without_none(expected: Outcome, found: Outcome) -> tuple[Outcome, Outcome]:
    """Return the outcomes without facts that are None or missing in one of them and zero in the other."""
    one, other = dict(expected.facts), dict(found.facts)
    alike = [name for name in {**one, **other} if not _nothing(one.get(name)) or not _nothing(other.get(name))]
    return tuple([replace(each, facts=[(name, facts.get(name)) for name in alike])
                  for each, facts in ((expected, one), (found, other))])


def _nothing(value: object) -> bool:
    return value is None or (isinstance(value, np.ndarray) and not value.any())


def _has_nan(outcome: Outcome) -> bool:
    return any(isinstance(value, np.ndarray) and np.isnan(value).any() for _, value in outcome.facts)
