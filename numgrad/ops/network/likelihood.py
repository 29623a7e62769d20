"""The negative log-likelihood of classes."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import GRAD, LEVELS, state
from ...autograd.locations import UNRECORDED
from ...core.layout import Layout, layout_of, numel
from ...core.tensor import Tensor, tensor_of
from ..batching.batches import is_batched, is_shared, physical, physical_of
from ..batching.physical import aligned
from ..indexing.gathering import gather_op
from ..indexing.picking import index_op
from ..memory.copying import convert, row_of, row_reader
from ..pointwise.arithmetic import div, mul, neg
from ..pointwise.comparison import choose, eq, ne
from ..reductions.axes import Prepared
from ..reductions.sums import sum_all
from ..shapes.views import reshape, squeeze_dim, unsqueeze
from ..table.dispatch import perform
from ..table.entries import Entry
from ..table.planned import Planned, planned


def _classes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The number of classes, and of elements from one class to the next: they are the second, or only, dimension."""
    return (shape[1], numel(shape[2:])) if len(shape) > 1 else (shape[0], 1)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """The loss, and the weights of the targets that count, added up.

    Raises:
        IndexError: a target is not in [0, classes).  On a GPU it is raised when the program next waits for that.
    """
    if state.mode & LEVELS and any(map(is_batched, (input, target, weight))):
        return _by_operations(input, target, weight, ignored, reduction)
    op = nll_loss_op if len(input._layout.shape) < 3 else nll_loss_2d_op
    return op(input, target, weight, ignored, reduction)


def entry(input: Tensor, target: Tensor, ignored: int, reduction: str) -> Entry:
    """What the loss of a matrix without weights comes to."""
    return nll_loss_op.entry((input, target, None, ignored, reduction))[0]


def nll_loss_of(input: Tensor, target: Tensor, entry: Entry) -> Tensor:
    """The loss of a matrix without weights that comes to this, in an ordinary mode."""
    if state.mode & GRAD:
        return perform(entry, (input, target, None))[0]
    out = tensor_of(entry.layout[0], entry.launch(input, target, None)[0])
    out._origin = UNRECORDED
    return out


def _by_operations(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """The same under ``vmap``: by operations that know what to do there."""
    shape = input._layout.shape
    dim = 1 if len(shape) > 1 else 0
    counted = ne(target, ignored)
    index = choose(counted, target, 0)
    wrong = input._layout.type.backend.outside(row_of(physical_of(index)), 0, shape[dim])
    if wrong is not None:
        raise IndexError(
            f"Target {wrong} is out of bounds: input of shape {list(input.shape)} has {shape[dim]} classes."
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
    nothing = eq(total_weight, 0)  # the mean of nothing is NaN, its gradient 0
    return choose(nothing, float("nan"), div(summed, choose(nothing, 1, total_weight))), total_weight


def _averaged(
    input: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, ignored: int, reduction: str
) -> Tensor:
    """The loss of ``input``, a mean being the sum by the ``total_weight`` given."""
    if reduction != "mean":
        return nll_loss(input, target, weight, ignored, reduction)[0]
    return div(nll_loss(input, target, weight, ignored, "sum")[0], total_weight)


def _operations(name: str, node: str) -> tuple[Planned, Planned]:
    """The loss and its gradient, by the names that they have for targets of rows, or of the places of images."""

    def forward(input: Layout, target: Layout, weight: Layout | None, ignored: int, reduction: str) -> Prepared:
        """``-weight[t] * input[n, t]`` for each row ``n`` and its target ``t``, 0 where that is ``ignored``; and the
        weights of the targets that count, added up.
        """
        classes, inner = _classes(input.shape)
        read, read_target, read_weight = [row_reader(one) for one in (input, target, weight)]
        compute = input.type.backend.likelihood_launcher(
            input.type, input.size, classes, inner, target.size, None if weight is None else weight.size, ignored,
            reduction,
        )

        def launch(tensor: Tensor, targets: Tensor, weights: Any) -> Any:
            flat, total, wrong = compute(read(tensor), read_target(targets), read_weight(weights))
            if wrong is not None:
                raise IndexError(
                    f"Target {wrong} is out of bounds: input of shape {list(input.shape)} has {classes} classes."
                )
            return flat, total

        out = layout_of(input.type, target.shape if reduction == "none" else ())
        return (out, layout_of(input.type, ())), launch

    def backward(
        grad_output: Layout, target: Layout, weight: Layout | None, total_weight: Layout, shape: tuple[int, ...],
        ignored: int, reduction: str,
    ) -> Prepared:
        """Zeros of ``shape`` with ``-weight[t] * grad_output`` at each target ``t``, by ``total_weight`` for a mean."""
        if target.shape != shape[:1] * (len(shape) > 1) + shape[2:]:
            raise RuntimeError(f"shape mismatch: targets of shape {list(target.shape)} for an input of {list(shape)}")
        divisor = total_weight if reduction == "mean" else None
        read, read_target, read_weight, read_total = [
            row_reader(one) for one in (grad_output, target, weight, divisor)
        ]
        compute = grad_output.type.backend.likelihood_gradient_launcher(
            grad_output.type, grad_output.size, *_classes(shape), target.size,
            None if weight is None else weight.size, ignored,
        )
        return layout_of(grad_output.type, shape), lambda grad, targets, weights, total: compute(
            read(grad), read_target(targets), read_weight(weights), read_total(total)
        )

    forward.__name__, backward.__name__ = f"{name}_op", f"{name}_backward"
    others = ["target", "weight", "total_weight"]
    op = planned(
        f"{node}Backward0", inputs=["input", *others[:2]], nondifferentiable=others[:2], extras=others[2:]
    )(forward)
    nll_loss_backward = planned(
        f"{node}BackwardBackward0", inputs=["grad_output", *others], nondifferentiable=others
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
        one, shared = physical(grad_output).new_ones(()), map(physical, (target, weight, total_weight))
        slopes = nll_loss_backward(one, *shared, shape, ignored, reduction)  # it is linear
        return mul(aligned(grad_output, len(shape)), slopes)

    return op, nll_loss_backward


nll_loss_op, nll_loss_backward = _operations("nll_loss", "NllLoss")
nll_loss_2d_op, nll_loss_2d_backward = _operations("nll_loss_2d", "NllLoss2D")
