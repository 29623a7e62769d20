"""Connectionist temporal classification: how improbable the labels are, in whatever way they lie along the steps.

Where labels stand for ``labels``, blanks do, too: ``labels[n, s]`` is what state ``s`` of example ``n`` emits, a blank
for each even one.  They are classes; the steps and the lengths of the labels are those of each example.  Whoever calls
sees to all that.
"""

from __future__ import annotations

from ...autograd.backward import grad
from ...core.layout import Layout, layout_of
from ...core.tensor import Tensor
from ..creation.factories import arange
from ..indexing.gathering import gather_op
from ..memory.copying import row_reader
from ..pointwise.arithmetic import add, mul, neg
from ..pointwise.comparison import ge, gt, le, lt, ne, where
from ..pointwise.exponential import exp
from ..pointwise.special import logaddexp_op
from ..reductions.axes import Prepared
from ..shapes.broadcasting import expand
from ..shapes.dimensions import unsqueeze
from ..shapes.padding import constant_pad
from ..shapes.parts import narrow
from ..table.composition import as_variable, differentiated_as
from ..table.planned import planned


@planned(
    "CtcLossBackward0", aten="_ctc_loss", inputs=["log_probs", "labels", "steps", "lengths"],
    nondifferentiable=["labels", "steps", "lengths"], extras=["log_alpha"],
)
def ctc_loss_op(
    log_probs: Layout, labels: Layout, steps: Layout, lengths: Layout, zero_infinity: bool
) -> Prepared:
    """Minus the logarithms of the probabilities of the examples' labels, and those of the ways to each state.

    Args:
        log_probs: of shape (time, batch, classes).
        labels: int64, of shape (batch, states).
        steps, lengths: int64, of shape (batch).
        zero_infinity: whether the gradient is 0 where the loss is infinite, for the rule.
    """
    (time, batch, classes), width = log_probs.shape, labels.shape[1]
    reads = [row_reader(each) for each in (log_probs, labels, steps, lengths)]
    compute = log_probs.type.backend.ctc_launcher(log_probs.type, time, batch, classes, width)
    layouts = layout_of(log_probs.type, (batch,)), layout_of(log_probs.type, (batch, time, width))
    return layouts, lambda *tensors: compute(*[read(one) for read, one in zip(reads, tensors, strict=True)])


@ctc_loss_op.gradient("log_probs")
def _(grad, log_probs, labels, steps, lengths, out, log_alpha, zero_infinity):
    return ctc_loss_backward(grad, log_probs, labels, steps, lengths, out, log_alpha, zero_infinity)


@planned(
    "CtcLossBackwardBackward0", aten="_ctc_loss_backward",
    inputs=["grad_output", "log_probs", "labels", "steps", "lengths", "losses", "log_alpha"],
    nondifferentiable=["labels", "steps", "lengths", "losses", "log_alpha"],
)
def ctc_loss_backward(
    grad_output: Layout, log_probs: Layout, labels: Layout, steps: Layout, lengths: Layout, losses: Layout,
    log_alpha: Layout, zero_infinity: bool,
) -> Prepared:
    """``grad_output * (exp(log_probs) - p)``, p being the probability that an example is at a label in a step.

    This is the gradient for what ``log_softmax`` made the logarithms of, as PyTorch has it: that for the logarithms
    is ``-grad_output * p``, and ``log_softmax`` makes the same of both.
    """
    (time, batch, classes), width = log_probs.shape, labels.shape[1]
    given = grad_output, log_probs, labels, steps, lengths, losses, log_alpha
    reads = [row_reader(each) for each in given]
    compute = log_probs.type.backend.ctc_gradient_launcher(
        log_probs.type, time, batch, classes, width, zero_infinity
    )
    return layout_of(log_probs.type, log_probs.shape), lambda *tensors: compute(
        *[read(one) for read, one in zip(reads, tensors, strict=True)]
    )


@differentiated_as(ctc_loss_backward)
def _(grad_output, log_probs, labels, steps, lengths):
    """``grad_output * (exp(log_probs) - p)``, p being minus the derivative of the loss."""
    variable = as_variable(log_probs)
    losses = _losses(variable, labels, steps, lengths)
    (slopes,) = grad([losses], [variable], [losses.new_ones(losses.shape)], create_graph=True)
    time = log_probs._layout.shape[0]
    counted = unsqueeze(lt(unsqueeze(arange(time, device=steps.device), 1), steps), 2)
    possible = unsqueeze(unsqueeze(lt(losses, -_NEVER / 2), 0), 2)
    each = where(counted, where(possible, add(exp(log_probs), slopes), 0), 0)
    return mul(unsqueeze(unsqueeze(grad_output, 0), 2), each)


#: The logarithm of what never happens: with -inf derivatives would be NaN.
_NEVER = -1e30


def _losses(log_probs: Tensor, labels: Tensor, steps: Tensor, lengths: Tensor) -> Tensor:
    """The losses by other operations, one step after the other."""
    time, batch, _ = log_probs._layout.shape
    width = labels._layout.shape[1]
    states, ends = arange(width, device=steps.device), unsqueeze(lengths, 1) * 2
    index = expand(unsqueeze(labels, 0), (time, batch, width))
    emitted = gather_op(where(gt(log_probs, _NEVER), log_probs, _NEVER), index, 2)
    skips = ne(labels, _shifted(labels, 2, 0)) & ge(states, 2)
    alpha = where(lt(states, 2), emitted[0], _NEVER)
    for t in range(1, time):
        two = where(skips, _shifted(alpha, 2, _NEVER), _NEVER)
        whole = logaddexp_op(logaddexp_op(alpha, _shifted(alpha, 1, _NEVER)), two)
        alpha = where(unsqueeze(lt(t, steps), 1), add(whole, emitted[t]), alpha)
    at_end = ge(states, ends - 1) & le(states, ends)
    return neg(where(at_end, alpha, _NEVER).logsumexp(1))


def _shifted(rows: Tensor, count: int, before: float) -> Tensor:
    """For each state what belongs to the one so many before it."""
    return narrow(constant_pad(rows, (count, 0), before), 1, 0, rows._layout.shape[1])
