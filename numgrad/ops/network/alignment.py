"""Connectionist temporal classification: the loss of label sequences, summed over all alignments with the time steps.

Labels are interleaved with blanks: ``labels[n, s]`` is the class that state ``s`` of example ``n`` emits, a blank for
each even ``s``.  ``steps`` and ``lengths`` hold the number of steps and of labels of each example.  The caller checks
all of these.
"""

from __future__ import annotations

from ...autograd.backward import grad
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..composition import as_variable, differentiated_as
from ..creation.spaced import arange
from ..indexing.gathering import gather_op
from ..pointwise.arithmetic import add, mul, neg, sub
from ..pointwise.comparison import ge, gt, le, lt, ne, where
from ..pointwise.exponential import exp
from ..shapes.broadcasting import expand
from ..shapes.dimensions import unsqueeze
from ..shapes.joining import stack
from ..shapes.padding import constant_pad
from ..shapes.parts import narrow
from ..table.lookup import operation
from .softmax import log_softmax_op


@operation(
    "CtcLossBackward0", aten="_ctc_loss", inputs=["log_probs", "labels", "steps", "lengths"],
    nondifferentiable=["labels", "steps", "lengths"], extras=["log_alpha", "errors"],
)
def ctc_loss_op(
    p: Plan, log_probs: TensorRef, labels: TensorRef, steps: TensorRef, lengths: TensorRef, zero_infinity: bool
) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Add the steps that compute the negative log-likelihood of each example's labels, the logarithms of the
    probabilities of reaching each state, and the rounding errors of these.

    Args:
        log_probs: of shape (time, batch, classes).
        labels: int64, of shape (batch, states).
        steps, lengths: int64, of shape (batch).
        zero_infinity: True if the rule sets the gradient to 0 where the loss is infinite.
    """
    (time, batch, classes), width = log_probs.shape, labels.shape[1]
    operands = map(p.contiguous, (log_probs, labels, steps, lengths))
    losses, *of_states = p.backend.ctc_losses(p, *operands, time, batch, classes, width)
    log_alpha, errors = [p.tensor(state, log_probs.type, (batch, time, width)) for state in of_states]
    return p.tensor(losses, log_probs.type, (batch,)), log_alpha, errors


@ctc_loss_op.gradient("log_probs")
def _(grad, log_probs, labels, steps, lengths, log_alpha, errors, zero_infinity):
    return ctc_loss_backward(grad, log_probs, labels, steps, lengths, log_alpha, errors, zero_infinity)


@operation(
    "CtcLossBackwardBackward0", aten="_ctc_loss_backward",
    inputs=["grad_output", "log_probs", "labels", "steps", "lengths", "log_alpha", "errors"],
    nondifferentiable=["labels", "steps", "lengths", "log_alpha", "errors"],
)
def ctc_loss_backward(
    p: Plan, grad_output: TensorRef, log_probs: TensorRef, labels: TensorRef, steps: TensorRef, lengths: TensorRef,
    log_alpha: TensorRef, errors: TensorRef, zero_infinity: bool,
) -> TensorRef:
    """``grad_output * (exp(log_probs) - p)``, with p the probability that an example is at a label in a step.

    This is the gradient with respect to the input of ``log_softmax``, as in PyTorch.  The gradient with respect to
    the logarithms is ``-grad_output * p``; the rule of ``log_softmax`` maps both to the same result.
    """
    (time, batch, classes), width = log_probs.shape, labels.shape[1]
    operands = map(p.contiguous, (grad_output, log_probs, labels, steps, lengths, log_alpha, errors))
    out = p.backend.ctc_gradients(p, *operands, time, batch, classes, width, zero_infinity)
    return p.tensor(out, log_probs.type, log_probs.shape)


@differentiated_as(ctc_loss_backward)
def _(grad_output, log_probs, labels, steps, lengths, log_alpha, errors):
    """``grad_output * (exp(log_probs) - p)``, p being minus the derivative of the loss."""
    variable = as_variable(log_probs)
    alpha = where(gt(log_alpha, _NEVER), log_alpha, _NEVER)
    losses, possible = _losses(variable, labels, steps, lengths, alpha, errors)
    (slopes,) = grad([losses], [variable], [losses.new_ones(losses.shape)], create_graph=True)
    time = log_probs._layout.shape[0]
    counted = unsqueeze(lt(unsqueeze(arange(time, device=steps.device), 1), steps), 2)
    each = where(counted, where(unsqueeze(unsqueeze(possible, 0), 2), add(exp(log_probs), slopes), 0), 0)
    return mul(unsqueeze(unsqueeze(grad_output, 0), 2), each)


#: The logarithm of an impossible event: -inf would make derivatives NaN.
_NEVER = -1e30


def _losses(
    log_probs: Tensor, labels: Tensor, steps: Tensor, lengths: Tensor, alpha: Tensor, errors: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the losses minus their values, computed step by step by other operations, and a mask of finite losses.

    The derivatives are those of the losses.  The values are 0 up to rounding, however large the logarithms are: each
    step subtracts the constant values in ``alpha``, with their rounding errors in ``errors``.
    """
    time, batch, _ = log_probs._layout.shape
    width = labels._layout.shape[1]
    states, ends = arange(width, device=steps.device), unsqueeze(lengths, 1) * 2
    emitted = gather_op(
        where(gt(log_probs, _NEVER), log_probs, _NEVER), expand(unsqueeze(labels, 0), (time, batch, width)), 2
    )
    changes = sub(emitted, emitted.detach())
    skips = unsqueeze(ne(labels, _shifted(labels, 2, 0)) & ge(states, 2), 1)
    ways = [alpha, _shifted(alpha, 1, _NEVER), where(skips, _shifted(alpha, 2, _NEVER), _NEVER)]
    arriving = _shares(stack(ways), stack([_shifted(errors, count, 0.0) for count in range(3)]), 0)
    total = changes[0]
    for t in range(1, time):
        whole = add(arriving[:, :, t - 1], stack([_shifted(total, count, 0.0) for count in range(3)])).logsumexp(0)
        total = where(unsqueeze(lt(t, steps), 1), add(whole, changes[t]), total)
    last = expand(unsqueeze(unsqueeze(steps - 1, 1), 1).clamp_min(0), (batch, 1, width))
    at_end = where(ge(states, ends - 1) & le(states, ends), gather_op(alpha, last, 1)[:, 0], _NEVER)
    ending = _shares(at_end, gather_op(errors, last, 1)[:, 0], 1)
    return neg(add(total, ending).logsumexp(1)), gt(at_end.amax(1), _NEVER / 2)


def _shares(logarithms: Tensor, errors: Tensor, dim: int) -> Tensor:
    """Return the logarithms of the terms' shares of their sum, given logarithms and their rounding errors."""
    return log_softmax_op(add(sub(logarithms, logarithms.amax(dim, True)), errors), dim)


def _shifted(rows: Tensor, count: int, before: float) -> Tensor:
    """Return ``rows`` shifted by ``count`` states along the last dimension, with ``before`` in front."""
    return narrow(constant_pad(rows, (count, 0), before), -1, 0, rows._layout.shape[-1])
