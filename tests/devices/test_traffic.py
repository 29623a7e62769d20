"""The bytes reported for a run of a kernel are those of the elements that it accesses, not of all its arguments."""

import numpy as np
import pytest
from ops.samples import SAMPLES

import numgrad
from numgrad.devices import launches
from numgrad.ops.table.elementwise import Pointwise

#: Elements of the memory that small tensors are a part of.
WHOLE = 20_000

#: Return the first case with elements of each operation that is not pointwise.
CASES = {
    case.sample.name: case for sample in reversed(SAMPLES) for case in sample.cases()[:1]
    if case.layout != "empty" and case.sample.memory != "taken" and not isinstance(case.op, Pointwise)
}


def within(array, step):
    """A tensor with these elements, one at every ``step`` places of much larger memory."""
    whole = np.zeros(WHOLE, array.dtype)
    part = whole[1000 : 1000 + array.size * step : step]
    part[:] = array.reshape(-1)
    strides = [step * stride // array.itemsize for stride in np.empty(array.shape, array.dtype).strides]
    return numgrad.from_numpy(whole).as_strided(array.shape, strides, 1000)


def claimed(function):
    """Return a function's result, and the bytes that its kernels claimed to move, by name."""
    found = []
    with launches.listening(found.append):
        result = function()
    return result, [(launch.name, launch.bytes) for launch in found]


@pytest.mark.parametrize("step", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CASES)
def test_parts_of_large_memory(name, step):
    case = CASES[name]
    leaves = [None if leaf is None else within(leaf.numpy(), step) for leaf in case.leaves(case.dtype)]
    for leaf, differentiable in zip(leaves, case.differentiable(), strict=True):
        if differentiable and leaf.dtype.is_floating_point:
            leaf.requires_grad = True
    results, found = claimed(lambda: case(*leaves))
    tensors = [value for value in (*leaves, *results) if isinstance(value, numgrad.Tensor)]
    for result in results:
        if isinstance(result, numgrad.Tensor) and result.requires_grad:
            gradient = within(np.ones(result.shape, result.detach().numpy().dtype), step)
            found += claimed(lambda result=result, gradient=gradient: result.backward(gradient, retain_graph=True))[1]
    justified = 8 * sum(tensor.nbytes for tensor in tensors) + 64  # a kernel may have more operands than the operation
    # the work space of LAPACK has a size of its own
    assert [(kernel, count) for kernel, count in found if count > justified and kernel != "lapack"] == []


WRITES = {
    "copied": lambda x, rows, values: x.copy_(values),
    "filled": lambda x, rows, values: x.fill_(2),
    "written at indices": lambda x, rows, values: x.index_put_((rows,), values[:2]),
    "added at indices": lambda x, rows, values: x.index_add_(0, rows, values[:2]),
    "scattered": lambda x, rows, values: x.scatter_(0, rows.view(2, 1), values),
    "scattered extremes": lambda x, rows, values: x.scatter_reduce_(0, rows.view(2, 1), values, "amax"),
    "a product": lambda x, rows, values: x.addmm_(values, values),
    "a row": lambda x, rows, values: x[1].mul_(2),
}


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("what", WRITES)
def test_writes_to_parts_of_large_memory(what, step):
    x, values = within(np.ones((5, 5)), step), within(np.ones((5, 5)), step)
    rows = numgrad.tensor([3, 0])
    _, found = claimed(lambda: WRITES[what](x, rows, values))
    assert [entry for entry in found if entry[1] > 8 * (x.nbytes + values.nbytes)] == []
