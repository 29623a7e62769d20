"""Embeddings, tables of vectors, and reductions of such vectors."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...ops.creation.factories import empty
from ...tensors.tensor import Tensor
from .. import functional, init
from ..parameter import Parameter
from .module import Configured

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Configured):
    """The base class of modules with a learnt table."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _set_table(self, weight: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        """Create the parameter from a given table, or draw it."""
        shape = self.num_embeddings, self.embedding_dim
        if weight is not None and tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        table = empty(shape, device=device, dtype=dtype) if weight is None else weight
        self.weight = Parameter(table, requires_grad=requires_grad)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the weight from the standard normal distribution, with zeros in the row ``padding_idx``."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Rows, by index, of the learnt ``weight`` of shape (num_embeddings, embedding_dim).

    An input of integers of any shape gives an output with one more dimension.  The row ``padding_idx`` is initially
    zeros and gets no gradient.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the length of a row.
        padding_idx: a row that is not learnt.
        max_norm: the maximum norm; looked-up rows with a larger norm are first scaled down to it.
        norm_type: the order of that norm.
        scale_grad_by_freq: True to divide a row's gradient by the number of times it was looked up.
        sparse: ignored, since gradients are dense.
        device: the device of the weight.
        dtype: the dtype of the weight.

    Raises:
        AssertionError: ``padding_idx`` is out of range.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.Embedding(10, 3)
        >>> layer(numgrad.tensor([1, 2])).shape
        torch.Size([2, 3])
    """

    _shown = "num_embeddings", "embedding_dim"
    _shown_unless = (
        ("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False), ("sparse", False),
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings=num_embeddings, embedding_dim=embedding_dim,
            padding_idx=_checked_padding("Padding_idx", padding_idx, num_embeddings), max_norm=max_norm,
            norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
        )
        self._set_table(_weight, not _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Return an Embedding on an existing table, which is not learnt if ``freeze``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            _weight=embeddings, _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima, by columns, of rows of the learnt ``weight`` (num_embeddings, embedding_dim).

    It is called as ``bag(input, offsets=None, per_sample_weights=None)``; :func:`nn.functional.embedding_bag` describes
    these and all other arguments.  The row ``padding_idx`` is initially zeros and is ignored.

    Raises:
        AssertionError: ``padding_idx`` is out of range.

    Example:
        >>> import numgrad
        >>> bag = numgrad.nn.EmbeddingBag.from_pretrained(numgrad.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
        >>> bag(numgrad.tensor([[0, 1], [1, 1]]))
        tensor([[4., 6.],
                [6., 8.]])
    """

    _shown = "num_embeddings", "embedding_dim"
    _shown_unless = (
        ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False), ("mode", ""), ("padding_idx", None),
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings=num_embeddings, embedding_dim=embedding_dim, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, mode=mode, sparse=sparse, include_last_offset=include_last_offset,
            padding_idx=_checked_padding("padding_idx", padding_idx, num_embeddings),
        )
        self._set_table(_weight, True, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Return an EmbeddingBag on an existing table, which is not learnt if ``freeze``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bag = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag


def _checked_padding(name: str, padding_idx: int | None, rows: int) -> int | None:
    """Return the padding row as a non-negative number."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx % rows
