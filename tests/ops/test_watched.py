"""Every operation of the table with a watcher: the same results, reported under PyTorch's name."""

import numpy as np
import pytest
from ops.gradients import differentiable, weights_for
from ops.samples import SAMPLES

import numgrad
from numgrad.autograd.profiler import profile

FIRST = {sample.name: sample.cases(shape=(2, 3))[0] for sample in reversed(SAMPLES)}


def outcome(case):
    """The outputs of an operation and, where it has them, the gradients of its inputs."""
    leaves = case.leaves(case.dtype, requires_grad=case.dtype == "float64")
    outputs = case(*leaves)
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    found = differentiable(outputs) if wanted else []
    if not found:
        return [output.detach().numpy() for output in outputs]
    loss = sum((output * weights_for(output, number)).sum() for number, output in enumerate(found))
    loss = loss.real if loss.is_complex() else loss
    return [each.detach().numpy() for each in (*outputs, *numgrad.autograd.grad(loss, wanted))]


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
def test_the_same_is_computed(case):
    expected = outcome(case)
    with profile() as prof:
        results = outcome(case)
    for result, array in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, array, rtol=1e-14)
    titles = [event.name for event in prof.function_events if event.name.startswith("aten::")]
    assert titles
    assert all(event.time_range.end >= event.time_range.start for event in prof.function_events)


@pytest.mark.torch
def test_titles_are_pytorchs():
    import torch

    theirs = {name.split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    ours = set()
    for case in FIRST.values():
        with profile() as prof:
            case(*case.leaves(case.dtype))
        ours.update(event.name for event in prof.function_events if event.name.startswith("aten::"))
    without_counterpart = {
        "aten::_cross_entropy_backward", "aten::as_strided_backward", "aten::erfcx_slope", "aten::frexp_exponent",
        "aten::frexp_mantissa", "aten::from_start", "aten::gamma_density", "aten::linear_recurrence",
        "aten::log_one_plus_exp", "aten::logit_loss", "aten::logit_loss_gradient", "aten::shift", "aten::tan_backward",
        "aten::weighted_gather", "aten::weighted_products", "aten::weighted_scatter",
    }
    assert ours - theirs <= without_counterpart
