"""Losses: binary cross-entropy, distances of two tensors, and the negative log-likelihood of classes."""

from __future__ import annotations

from numgrad_kernels import scalar

from ...autograd.grad_mode import GRAD, LEVELS, state
from ...autograd.locations import UNRECORDED
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor, tensor_of
from ..batching.batches import is_batched, is_shared, physical, physical_of
from ..batching.physical import aligned
from ..indexing.gathering import gather_op
from ..indexing.index import index_op
from ..memory.copying import buffer_of, convert
from ..pointwise.arithmetic import abs, div, mul, neg, sub
from ..pointwise.comparison import choose, eq, ne, where
from ..pointwise.exponential import log, sigmoid
from ..pointwise.special import log_one_plus_exp
from ..reductions.sums import sum_all
from ..shapes.dimensions import squeeze_dim, unsqueeze
from ..shapes.views import reshape
from ..table.checks import check_index
from ..table.dispatch import perform
from ..table.entries import Entry
from ..table.lookup import operation
from ..table.planned import Planned
from .loss_reduction import loss, spread
from .softmax import log_softmax_backward, log_softmax_op

# -- of probabilities -------------------------------------------------------------------------------------------


@loss(
    "BinaryCrossEntropyBackward0", aten="binary_cross_entropy", name="bce_op", weighted=True,
    nondifferentiable=["weight"], probabilities=["input", "target"],
)
def bce(input, target):
    """``-(target * log(input) + (1 - target) * log(1 - input))``, with each logarithm at least -100."""
    yes = scalar.maximum(scalar.log(input), -100)
    no = scalar.maximum(scalar.log1p(-input), -100)
    return (target - 1) * no - target * yes


@bce.derivative("BinaryCrossEntropyBackwardBackward0", aten="binary_cross_entropy_backward")
def bce_backward(grad_output, input, target):
    """``grad_output * (input - target) / (input * (1 - input))``, with a divisor of at least 1e-12."""
    return grad_output * (input - target) / scalar.maximum((1 - input) * input, 1e-12)


@bce_backward.gradient("grad_output")
def _(grad, input, target):
    return bce_backward(grad, input, target)


@bce_backward.gradient("input")
def _(grad, grad_output, input, target):
    product = where((1 - input) * input > 1e-12, (1 - input) * input, 1e-12)
    return grad * grad_output * ((input * input - 2 * input * target + target) / product / product)


@bce_backward.gradient("target")
def _(grad, grad_output, input):
    return -grad * grad_output / where((1 - input) * input > 1e-12, (1 - input) * input, 1e-12)


@bce.gradient("target")
def _(grad, input, weight, reduction):
    """``grad * weight * (log(1 - input) - log(input))``."""
    return mul(spread(grad, input._layout.shape, reduction, weight), sub(log(sub(1, input)), log(input)))


# -- of logits --------------------------------------------------------------------------------------------------


@loss(
    "BinaryCrossEntropyWithLogitsBackward0", aten="binary_cross_entropy_with_logits",
    name="bce_with_logits_op", weighted=True,
    nondifferentiable=["weight", "pos_weight"],
)
def logit_loss(input, target, pos_weight):
    """``-(pos_weight * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input)))``."""
    return (1 - target) * log_one_plus_exp(input) + pos_weight * target * log_one_plus_exp(-input)


@logit_loss.derivative("LogitLossGradientBackward0")
def logit_loss_gradient(grad_output, input, target, positive):
    """The gradient of :func:`logit_loss` with respect to its input."""
    return grad_output * ((1 - target) * sigmoid(input) - positive * target * sigmoid(-input))


@logit_loss_gradient.gradient("grad_output")
def _(grad, input, target, positive):
    return logit_loss_gradient(grad, input, target, positive)


@logit_loss_gradient.gradient("input")
def _(grad, grad_output, input, target, positive):
    return grad * grad_output * ((1 + (positive - 1) * target) * sigmoid(input) * sigmoid(-input))


@logit_loss_gradient.gradient("target")
def _(grad, grad_output, input, positive):
    return grad * grad_output * (-1 - (positive - 1) * sigmoid(-input))


@logit_loss_gradient.gradient("positive")
def _(grad, grad_output, input, target):
    return -grad * grad_output * (target * sigmoid(-input))


@logit_loss.gradient("target")
def _(grad, input, weight, pos_weight, reduction):
    """``grad * weight * ((pos_weight - 1) * log(1 + exp(-input)) - input)``."""
    each = spread(grad, input._layout.shape, reduction, weight)
    if pos_weight is None:
        return neg(mul(each, input))
    return mul(each, sub(mul(sub(pos_weight, 1), log_one_plus_exp(neg(input))), input))


# -- of signed scores -------------------------------------------------------------------------------------------


@loss("SoftMarginLossBackward0", aten="soft_margin_loss", nondifferentiable=["target"])
def soft_margin(input, target):
    """``log(1 + exp(-target * input))``."""
    return log_one_plus_exp(-target * input)


@soft_margin.derivative("SoftMarginLossBackwardBackward0", aten="soft_margin_loss_backward")
def soft_margin_backward(grad_output, input, target):
    """``-grad_output * target / (1 + exp(target * input))``."""
    return -grad_output * target * sigmoid(-target * input)


@soft_margin_backward.gradient("grad_output")
def _(grad, input, target):
    return soft_margin_backward(grad, input, target)


@soft_margin_backward.gradient("input")
def _(grad, grad_output, input, target):
    return grad * grad_output * (target * target * sigmoid(target * input) * sigmoid(-target * input))


# -- absolute ---------------------------------------------------------------------------------------------------


@loss("L1LossBackward0", aten="l1_loss", nondifferentiable=["input", "target"])
def l1(input, target):
    """``abs(input - target)``; where it is differentiated, the difference is computed before and saved."""
    return scalar.abs(input - target)


# -- squared ----------------------------------------------------------------------------------------------------


@loss("MseLossBackward0", aten="mse_loss", symmetric=True)
def mse(input, target):
    """``(input - target) ** 2``."""
    return (input - target) * (input - target)


@mse.derivative("MseLossBackwardBackward0", aten="mse_loss_backward")
def mse_backward(grad_output, input, target):
    """``2 * grad_output * (input - target)``."""
    return 2 * grad_output * (input - target)


@mse_backward.gradient("grad_output")
def _(grad, input, target):
    return mse_backward(grad, input, target)


@mse_backward.gradient("input")
def _(grad, grad_output):
    return 2 * grad * grad_output


@mse_backward.gradient("target")
def _(grad, grad_output):
    return -2 * grad * grad_output


# -- quadratic up to beta, and parallel to the absolute value beyond ----------------------------------------------


@loss("SmoothL1LossBackward0", aten="smooth_l1_loss", symmetric=True)
def smooth_l1(input, target, *, beta=1.0):
    """``d ** 2 / (2 * beta)`` where ``d = abs(input - target)`` is less than ``beta``, ``d - beta / 2`` elsewhere."""
    distance = scalar.abs(input - target)
    return scalar.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


@smooth_l1.derivative("SmoothL1LossBackwardBackward0", aten="smooth_l1_loss_backward")
def smooth_l1_backward(grad_output, input, target, *, beta=1.0):
    """``grad_output`` times ``(input - target) / beta``, clamped to [-1, 1]."""
    slope = (input - target) / beta
    return grad_output * scalar.where(slope <= -1, -1, scalar.where(slope >= 1, 1, slope))


@smooth_l1_backward.gradient("grad_output")
def _(grad, input, target, beta):
    return smooth_l1_backward(grad, input, target, beta=beta)


@smooth_l1_backward.gradient("input")
def _(grad, grad_output, input, target, beta):
    return where(abs(input - target) < beta, grad * grad_output / beta, 0)


@smooth_l1_backward.gradient("target")
def _(grad, grad_output, input, target, beta):
    return where(abs(input - target) < beta, -grad * grad_output / beta, 0)


# -- quadratic up to delta, and linear with that slope beyond -----------------------------------------------------


@loss("HuberLossBackward0", aten="huber_loss", symmetric=True)
def huber(input, target, *, delta=1.0):
    """``d ** 2 / 2`` where ``d = abs(input - target)`` is at most ``delta``, ``delta * (d - delta / 2)`` elsewhere."""
    distance = scalar.abs(input - target)
    return scalar.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


@huber.derivative("HuberLossBackwardBackward0", aten="huber_loss_backward")
def huber_backward(grad_output, input, target, *, delta=1.0):
    """``grad_output`` times ``input - target``, clamped to [-delta, delta]."""
    slope = input - target
    return grad_output * scalar.where(slope <= -delta, -delta, scalar.where(slope >= delta, delta, slope))


@huber_backward.gradient("grad_output")
def _(grad, input, target, delta):
    return huber_backward(grad, input, target, delta=delta)


@huber_backward.gradient("input")
def _(grad, grad_output, input, target, delta):
    return where(abs(input - target) < delta, grad * grad_output, 0)


@huber_backward.gradient("target")
def _(grad, grad_output, input, target, delta):
    return where(abs(input - target) < delta, -grad * grad_output, 0)


# -- the negative log-likelihood of classes ---------------------------------------------------------------------


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """Return the loss, and the total weight of the targets that are not ignored.

    Raises:
        IndexError: a target is not in [0, classes).  On a GPU, the error surfaces at the next synchronization.
    """
    if state.mode & LEVELS and any(map(is_batched, (input, target, weight))):
        return _by_operations(input, target, weight, ignored, reduction)
    op = nll_loss_op if len(input._layout.shape) < 3 else nll_loss_2d_op
    return op(input, target, weight, ignored, reduction)


def nll_loss_entry(input: Tensor, target: Tensor, ignored: int, reduction: str) -> Entry:
    """Return the entry of the loss of a matrix without weights."""
    return nll_loss_op.entry((input, target, None, ignored, reduction))[0]


def nll_loss_of(input: Tensor, target: Tensor, entry: Entry) -> Tensor:
    """Return the loss of a matrix without weights, given its entry; for the ordinary modes only."""
    if state.mode & GRAD:
        return perform(entry, (input, target, None))[0]
    out = tensor_of(entry.layout[0], entry.launch(input, target, None)[0])
    out._origin = UNRECORDED
    return out


def _by_operations(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """Return the results of :func:`nll_loss` under ``vmap``, from operations with batching rules."""
    shape = input._layout.shape
    dim = 1 if len(shape) > 1 else 0
    counted = ne(target, ignored)
    index = choose(counted, target, 0)
    wrong = input._layout.type.backend.outside(buffer_of(physical_of(index)), 0, shape[dim])
    check_index(
        wrong is None, "Target {} is out of bounds: input of shape {} has {} classes.", wrong, input, shape[dim]
    )
    weights = convert(counted, input.dtype)
    if weight is not None:
        weights = mul(weights, reshape(index_op(weight, reshape(index, (-1,)), (0,), False), target._layout.shape))
    picked = squeeze_dim(gather_op(input, unsqueeze(index, dim), dim), dim)
    losses, total_weight = neg(mul(picked, weights)), sum_all(weights)
    if reduction == "none":
        return losses, total_weight
    summed = sum_all(losses)
    if reduction != "mean":
        return summed, total_weight
    nothing = eq(total_weight, 0)  # an empty mean is NaN, with a gradient of 0
    return choose(nothing, float("nan"), div(summed, choose(nothing, 1, total_weight))), total_weight


def _averaged(
    input: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, ignored: int, reduction: str
) -> Tensor:
    """Return the loss of ``input``; a mean is the sum divided by the given ``total_weight``."""
    if reduction != "mean":
        return nll_loss(input, target, weight, ignored, reduction)[0]
    return div(nll_loss(input, target, weight, ignored, "sum")[0], total_weight)


def _operations(name: str, node: str, aten: str) -> tuple[Planned, Planned]:
    """Return the loss ``name`` and its gradient.  There is a pair for rows, and a pair for the positions of images."""

    def forward(
        p: Plan, input: TensorRef, target: TensorRef, weight: TensorRef | None, ignored: int, reduction: str
    ) -> tuple[TensorRef, TensorRef]:
        """Add the steps of ``-weight[t] * input[n, t]`` for each row ``n`` and its target ``t``, 0 if that is
        ``ignored``; the second result is the total weight of the other targets.
        """
        weights = None if weight is None else p.contiguous(weight)
        operands = p.contiguous(input), p.contiguous(target), weights
        out, total = p.backend.likelihood(p, *operands, input.shape, ignored, reduction)
        shape = target.shape if reduction == "none" else ()
        return p.tensor(out, input.type, shape), p.tensor(total, input.type, ())

    def backward(
        p: Plan, grad_output: TensorRef, target: TensorRef, weight: TensorRef | None, total_weight: TensorRef,
        shape: tuple[int, ...], ignored: int, reduction: str,
    ) -> TensorRef:
        """Add the steps of zeros of ``shape`` with ``-weight[t] * grad_output`` at target ``t``, divided for a mean."""
        divisor = p.contiguous(total_weight) if reduction == "mean" else None
        weights = None if weight is None else p.contiguous(weight)
        operands = p.contiguous(grad_output), p.contiguous(target), weights, divisor
        return p.tensor(p.backend.likelihood_gradient(p, *operands, shape, ignored), grad_output.type, shape)

    forward.__name__, backward.__name__ = f"{name}_op", f"{name}_backward"
    others = ["target", "weight", "total_weight"]
    op = operation(
        f"{node}Backward0", aten=aten, inputs=["input", *others[:2]], nondifferentiable=others[:2], extras=others[2:]
    )(forward)
    nll_loss_backward = operation(
        f"{node}BackwardBackward0", aten=f"{aten}_backward", inputs=["grad_output", *others], nondifferentiable=others
    )(backward)

    @op.gradient("input")
    def _(grad, target, weight, total_weight, input_shape, ignored, reduction):
        return nll_loss_backward(grad, target, weight, total_weight, input_shape, ignored, reduction)

    @nll_loss_backward.gradient("grad_output")
    def _(grad, target, weight, total_weight, ignored, reduction):
        """``-grad[target] * weight[target]``, over the total weight for a mean."""
        return _averaged(grad, target, weight, total_weight, ignored, reduction)

    @nll_loss_backward.batched
    def _(grad_output, target, weight, total_weight, shape, ignored, reduction):
        if grad_output._layout.shape or not all(map(is_shared, (target, weight, total_weight))):
            return NotImplemented
        unit, shared = physical(grad_output).new_ones(()), map(physical, (target, weight, total_weight))
        slopes = nll_loss_backward(unit, *shared, shape, ignored, reduction)  # linear in grad_output
        return mul(aligned(grad_output, len(shape)), slopes)

    return op, nll_loss_backward


nll_loss_op, nll_loss_backward = _operations("nll_loss", "NllLoss", "nll_loss")
nll_loss_2d_op, nll_loss_2d_backward = _operations("nll_loss_2d", "NllLoss2D", "nll_loss2d")


@operation(
    "CrossEntropyBackwardBackward0", aten="_cross_entropy_backward",
    inputs=["grad_output", "target", "weight", "total_weight", "output"],
    nondifferentiable=["grad_output", "target", "weight", "total_weight", "output"],
)
def cross_entropy_backward(
    p: Plan, grad_output: TensorRef, target: TensorRef, weight: TensorRef | None, total_weight: TensorRef,
    output: TensorRef, ignored: int, reduction: str,
) -> TensorRef:
    """``log_softmax_backward`` of the result of ``nll_loss_backward``, in one pass; only for unrecorded gradients."""
    divisor = total_weight if reduction == "mean" else None
    operands = [tensor and p.contiguous(tensor) for tensor in (grad_output, target, weight, divisor, output)]
    gradient = p.backend.cross_entropy_gradient(p, *operands, output.shape, ignored)
    return p.tensor(gradient, output.type, output.shape)


@nll_loss_op.passed_through(log_softmax_op)
@nll_loss_2d_op.passed_through(log_softmax_op)
def _(rule, given, out, dim):
    grad, target, weight, total_weight, shape, ignored, reduction = given
    if dim != min(1, len(shape) - 1) or out._layout.shape[: dim + 1] != shape[: dim + 1]:
        return log_softmax_backward(reshape(rule(*given), out._layout.shape), out, dim)
    return cross_entropy_backward(grad, target, weight, total_weight, out, ignored, reduction)
