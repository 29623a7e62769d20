"""Forward mode of every differentiable operation, in every layout, held against the gradients."""

import numpy as np
import pytest
from ops.samples import SAMPLES
from ops.sampling import REPRESENTATIVES

import numgrad
from numgrad.autograd import forward_ad
from numgrad.ops.table.elementwise import Pointwise


def layouts(op):
    """Return the layouts in which an operation is tested.

    The tangents of a pointwise one are computed by pointwise operations, whatever the layout, and those are tried in
    all elsewhere; the others take memory with gaps as they take transposed memory.
    """
    if isinstance(op, Pointwise):
        return ("contiguous", "0-d", "broadcast") if op.name in REPRESENTATIVES else ("contiguous", "0-d")
    return "contiguous", "0-d", "broadcast", "transposed", "empty"


CASES = [
    case for sample in SAMPLES for case in sample.cases(shape=(2, 3))
    if "float64" in sample.dtypes and any(case.differentiable()) and case.layout in layouts(case.op)
]


def numbers(seed, shape):
    return numgrad.from_numpy(np.asarray(np.random.default_rng(seed).uniform(0.5, 1.5, shape)))


def duals(leaves, tangents):
    return [leaf if tangent is None else forward_ad.make_dual(leaf, tangent)
            for leaf, tangent in zip(leaves, tangents, strict=True)]


def tangent_of(output):
    tangent = forward_ad.unpack_dual(output).tangent
    return numgrad.zeros_like(output) if tangent is None else tangent


def inner(tensors, others):
    return sum([(a * b).sum() for a, b in zip(tensors, others, strict=True)], numgrad.zeros((), dtype=numgrad.float64))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tangents_are_what_the_gradients_say(case):
    """``<w, J t>`` is ``<J^T w, t>``, and the tangent of the gradient is the gradient of that."""
    leaves = case.leaves("float64", requires_grad=True)
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    tangents = [
        numbers(n, leaf.shape) if leaf is not None and leaf.requires_grad else None for n, leaf in enumerate(leaves)
    ]
    given = [tangent for tangent in tangents if tangent is not None]
    with forward_ad.dual_level():
        outputs = [output for output in case(*duals(leaves, tangents)) if output.is_floating_point()]
        weights = [numbers(10 + n, output.shape) for n, output in enumerate(outputs)]
        results = [tangent_of(output) for output in outputs]
        for output, result in zip(outputs, results, strict=True):
            assert (result.shape, result.dtype) == (output.shape, output.dtype)
        if any(output.isnan().any() for output in outputs):  # a mean of nothing
            return
        gradients = numgrad.autograd.grad(
            [output for output in outputs if output.requires_grad], wanted,
            [w for w, output in zip(weights, outputs, strict=True) if output.requires_grad],
            create_graph=True, allow_unused=True, materialize_grads=True,
        )
        forward_over_reverse = [tangent_of(gradient).detach().numpy() for gradient in gradients]
        expected = inner([gradient.detach() for gradient in gradients], given)
        np.testing.assert_allclose(inner(results, weights).detach().numpy(), expected.numpy(), 1e-9, 1e-11)
    directional = inner([forward_ad.unpack_dual(gradient).primal for gradient in gradients], given)
    if not directional.requires_grad:
        return
    second = numgrad.autograd.grad(directional, wanted, allow_unused=True, materialize_grads=True)
    for found, gradient in zip(forward_over_reverse, second, strict=True):
        np.testing.assert_allclose(found, gradient.numpy(), 1e-8, 1e-10)
