"""The dtypes that operations are defined for, and the dtypes of their results.

For a pointwise operation, the table computes both.  Any other operation decides by the layouts of its operands.  A
sample of the tests is called in each dtype, up to the decision, so no kernel of the operation is compiled or run.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from ops.samples import SAMPLES  # tests/ is on the path
from ops.sampling import Sample, takes_complex

import numgrad
from numgrad.autograd.watching import Stop, Watcher, unwatch, watch
from numgrad.core.layout import layout_of
from numgrad.core.types import TensorType, tensor_type
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.op import Op

#: Dtypes whose support is shown.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")

#: Errors of operations that are not defined for a dtype.
REFUSALS = (RuntimeError, NotImplementedError, TypeError, ValueError)

#: The dtype of a result that depends on values, such as ``nonzero``'s, by the name of the operation.
_BY_VALUES = {"nonzero_op": "int64", "flat_nonzero_op": "int64"}


def dtypes_text(op: Op) -> str:
    """Describe the dtypes of an operation and of its result; empty if it has no sample."""
    found = result_dtypes(op) if isinstance(op, Pointwise) else decided_dtypes(op)
    by_result = defaultdict(list)
    for given, result in found.items():
        by_result["the same" if given == result else result].append(given)
    texts = [f"{', '.join(given)} → {result}" for result, given in by_result.items()]
    return f"Dtypes: {'; '.join(texts)}" if texts else ""


def result_dtypes(op: Pointwise) -> dict[str, str]:
    """Return the dtype of a pointwise operation's result for each dtype of its operands that it is defined for."""
    result = {}
    for name in DTYPES:
        operand = layout_of(tensor_type(getattr(numgrad, name)), (2,))
        condition = layout_of(tensor_type(numgrad.bool), (2,))
        given = [condition if each in op.conditions else operand for each in op.inputs]
        try:
            result[name] = str(op.compute_types(given)[1]).removeprefix("torch.")
        except REFUSALS:
            continue
    return result


def decided_dtypes(op: Op) -> dict[str, str]:
    """Return the dtype of the first result of any other operation for each dtype of the kinds that the tests try."""
    samples = sorted((sample for sample in SAMPLES if sample.name == op.name), key=_chosen_dtype)
    kinds = {np.dtype(name).kind for sample in samples for name in sample.dtypes}
    if kinds and takes_complex(op):
        kinds.add("c")
    result = {}
    for name in DTYPES:
        if np.dtype(name).kind.replace("u", "i") in kinds:
            results = filter(None, (_result_dtype(op, sample, name) for sample in samples))
            if (first := next(results, None)) is not None:
                result[name] = first
    return result


def _chosen_dtype(sample: Sample) -> bool:
    """Return True if a sample's arguments include the dtype of the result."""
    return any(isinstance(each, numgrad.dtype | TensorType) for each in (*sample.args, *sample.attributes.values()))


class _Deciding(Watcher):
    """Watcher that ends the first call of an operation with the arguments as the value."""

    def __init__(self, op: Op):
        self.op, self.args = op, None

    def before(self, call: Any) -> None:
        if getattr(call, "op", None) is self.op:
            self.args = call.args
            raise Stop


def _result_dtype(op: Any, sample: Sample, dtype: str) -> str | None:
    """Return the dtype of a sample's first result; None if the operation is not defined for the operands' dtype."""
    case = sample.cases()[0]
    deciding = _Deciding(op)
    watch(deciding)
    try:
        case(*case.leaves(dtype))
    except Stop:
        pass
    except REFUSALS:
        return None
    finally:
        unwatch(deciding)
    try:
        layout = op.prepared(deciding.args, again=False).layout
    except REFUSALS:
        return None
    if _chosen_dtype(sample):
        return "the given one"
    if layout is None:
        return _BY_VALUES.get(op.name, dtype)
    first = layout[0] if layout.__class__ is tuple else layout
    return first.type.dtype.name
