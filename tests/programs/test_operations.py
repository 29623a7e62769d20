"""Every operation of the table in a compiled program, forward and backward, gives the bits of the program itself."""

import numpy as np
import pytest
from ops.samples import SAMPLES
from ops.sampling import REPRESENTATIVES, laid_out

import numgrad
from numgrad.compiler import CaptureError
from numgrad.ops.table.elementwise import Pointwise

#: Layouts to test: others differ in the arguments of kernels, not in the structure of programs.
LAYOUTS = ("contiguous", "0-d", "broadcast", "transposed", "empty")


def is_tried(case):
    """Return True if a case is tested: few pointwise operations are tested in more than one layout."""
    if isinstance(case.op, Pointwise) and case.op.name not in REPRESENTATIVES:
        return case.layout == "contiguous" and case.is_in_turn
    return case.layout in LAYOUTS and case.is_in_turn and (case.layout != "broadcast" or "scatter" in case.op.name)


#: Operations that look at elements, they or their gradients, or whose results have a size that depends on them.
VALUES_NEEDED = {
    "bincount_op", "embedding_bag_op", "embedding_bag_max_op", "flat_nonzero_op", "index_fill_tensor",
    "masked_scatter_op", "masked_scatter_backward", "masked_select_op", "nonzero_op", "prod_all", "prod_dim",
    "recurrent_layer_backward", "repeated_op", "unique_op",
}

CASES = [case for sample in SAMPLES for case in sample.cases(shape=(3, 7)) if is_tried(case)]
REPLAYED = [case for case in CASES if case.op.name not in VALUES_NEEDED]


def leaves_of(case, reversed_order=False):
    """The inputs; with ``reversed_order`` their elements in the opposite order."""
    leaves = case.leaves(case.dtype)
    result = []
    for leaf, differentiable in zip(leaves, case.differentiable(), strict=True):
        if leaf is not None and reversed_order:
            leaf = laid_out(np.ascontiguousarray(np.flip(leaf.numpy())).reshape(leaf.shape), case.layout)
        if leaf is not None and differentiable and leaf.is_floating_point():
            leaf.requires_grad = True
        result.append(leaf)
    return result


def program_of(case):
    call, shapes = case.sample.call, case.shapes  # and not the case: a program is searched for all that it reaches

    def program(*leaves):
        """The outputs and the gradients of all that has some."""
        given = [
            leaf if getattr(leaf, "shape", shape) == shape else leaf.expand(shape)
            for leaf, shape in zip(leaves, shapes, strict=True)
        ]
        outputs = call(*given)
        outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
        wanted = [one for one in leaves if one is not None and one.requires_grad]
        graded = [output for output in outputs if output.requires_grad]
        if not (wanted and graded):
            return outputs, []
        weights = [tensor.detach() * 0.5 + 1 for tensor in graded]
        grads = numgrad.autograd.grad(graded, wanted, weights, allow_unused=True)
        return [one.detach() for one in outputs], list(grads)

    return program


def same(one, other):
    if one is None or other is None:
        return one is other
    alike = (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())
    return alike and one.numpy().tobytes() == other.numpy().tobytes()


@pytest.mark.parametrize("case", REPLAYED, ids=str)
def test_bits_are_those_of_the_program_itself(case):
    program = program_of(case)
    compiled = numgrad.compile(program, fullgraph=True)
    for reversed_order in (False, True, False):
        outputs, grads = compiled(*leaves_of(case, reversed_order))
        expected, expected_grads = program(*leaves_of(case, reversed_order))
        assert all(map(same, outputs, expected))
        assert all(map(same, grads, expected_grads))
    (signature,) = compiled.signatures.values()
    assert len(signature.programs) == 1


@pytest.mark.parametrize("name", sorted(VALUES_NEEDED))
def test_operations_that_need_values_are_not_compiled(name):
    needed = []
    for case in CASES:
        if case.op.name == name:
            try:
                numgrad.compile(program_of(case), fullgraph=True)(*leaves_of(case))
            except CaptureError as error:
                needed.append(str(error))
    assert needed
    assert all("needs values" in error for error in needed)
