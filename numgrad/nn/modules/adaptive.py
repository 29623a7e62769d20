"""A softmax over many classes, with clusters of rare classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...tensors.tensor import Tensor
from .. import functional
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Configured

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _Result(NamedTuple):
    """The logarithm of each target's probability, and minus their mean."""

    output: Tensor
    loss: Tensor


_Result.__name__ = _Result.__qualname__ = "_ASMoutput"  # the name that PyTorch prints


class AdaptiveLogSoftmaxWithLoss(Configured):
    """The negative log-likelihood of many classes, with rare classes grouped in clusters (Grave et al., "Efficient
    softmax approximation for GPUs", 2017).

    The head has a score for each of the ``cutoffs[0]`` most frequent classes and for each cluster.  Cluster ``i`` has
    the classes from ``cutoffs[i]`` to the next cutoff.  Two linear layers compute their scores, via
    ``in_features // div_value ** (i + 1)`` features, only for the examples whose target is in the cluster.

    It is called with an input of shape (batch, in_features) or (in_features) and int64 targets of shape (batch) or ().
    It returns ``output``, the logarithm of each target's probability, and ``loss``, minus their mean.

    Args:
        in_features: the number of features of the input.
        n_classes: the number of classes, ordered by decreasing frequency.
        cutoffs: the starts of the clusters.
        div_value: the factor by which the features decrease from one cluster to the next.
        head_bias: True if the head has a bias.

    Raises:
        ValueError: the cutoffs are not increasing, or one is not in [1, n_classes).
        RuntimeError: input and target do not fit each other, or a target is not a class.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:
        bounds = list(cutoffs)
        if not bounds:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if bounds != sorted(set(bounds)) or bounds[0] < 1 or bounds[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1: they are {bounds}, for {n_classes} classes"
            )
        super().__init__(
            in_features=in_features, n_classes=n_classes, cutoffs=[*bounds, n_classes], div_value=div_value,
            head_bias=head_bias, shortlist_size=bounds[0], n_clusters=len(bounds), head_size=bounds[0] + len(bounds),
        )
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            width = int(in_features // div_value ** (number + 1))
            size = self.cutoffs[number + 1] - self.cutoffs[number]
            self.tail.append(
                Sequential(Linear(in_features, width, False, device, dtype), Linear(width, size, False, device, dtype))
            )

    def reset_parameters(self) -> None:
        """Reinitialize all weights."""
        for layer in (self.head, *[layer for cluster in self.tail for layer in cluster]):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _Result:
        self._check(input_, target_)
        batched = target_.dim() == 1
        rows, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        columns, output = target.clone(), rows.new_zeros(target.shape)
        for number, cluster in enumerate(self.tail):
            low, high = self.cutoffs[number : number + 2]
            inside = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if inside.numel():
                scores = functional.log_softmax(cluster(rows.index_select(0, inside)), 1)
                index = (target.index_select(0, inside) - low).unsqueeze(1)
                output = output.index_copy(0, inside, scores.gather(1, index).squeeze(1))
                columns.index_fill_(0, inside, self.shortlist_size + number)
        head = functional.log_softmax(self.head(rows), 1)
        output = output + head.gather(1, columns.unsqueeze(1)).squeeze(1)
        return _Result(output if batched else output.squeeze(0), (-output).mean())

    def _check(self, input: Tensor, target: Tensor) -> None:
        shapes = f"(shapes {list(input.shape)}, {list(target.shape)})"
        if target.dim() > 1:
            raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported {shapes}")
        if target.dim() == 0 and input.dim() != 1:
            raise RuntimeError(
                f"0D target tensor expects 1D input tensors, but found inputs with size {input.shape}"
            )
        if target.dim() == 1 and input.shape[:1] != target.shape:
            raise RuntimeError(f"Input and target should have the same size in the batch dimension. {shapes}")
        if target.numel():
            low, high = int(target.min()), int(target.max())
            if low < 0 or high >= self.n_classes:
                raise RuntimeError(
                    f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were "
                    "found. "
                )

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, (batch, n_classes), for an input (batch, in_features)."""
        return self._all_classes(input, self.head(input))

    def _all_classes(self, input: Tensor, scores: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, given the scores of the head."""
        head = functional.log_softmax(scores, 1)
        out = input.new_empty((head.shape[0], self.n_classes))
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for number, cluster in enumerate(self.tail):
            scores = functional.log_softmax(cluster(input), 1)
            shared = head[:, self.shortlist_size + number].unsqueeze(1)
            out[:, self.cutoffs[number] : self.cutoffs[number + 1]] = scores + shared
        return out

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each example, int64 of shape (batch), computing clusters only if needed."""
        scores = self.head(input)
        output = scores.argmax(1)
        rare = (output >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel():
            rows = self._all_classes(input.index_select(0, rare), scores.index_select(0, rare))
            output[rare] = rows.argmax(1)
        return output
