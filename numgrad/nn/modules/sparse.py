"""Embedding: a table of vectors; and sums of such vectors."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...ops.creation.factories import empty
from .. import functional, init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What the modules of learnt rows have in common."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _set_table(self, weight: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        """Make the parameter, of these values or drawn."""
        shape = self.num_embeddings, self.embedding_dim
        if weight is not None and tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        table = empty(shape, device=device, dtype=dtype) if weight is None else weight
        self.weight = Parameter(table, requires_grad=requires_grad)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight from the standard normal distribution afresh, with zeros in the row ``padding_idx``."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Rows of the learnt ``weight``, of shape (num_embeddings, embedding_dim), by their numbers.

    An input of integers of any shape gives an output of that shape and one dimension more.  The row ``padding_idx``
    starts as zeros and gets no gradient.

    Args:
        num_embeddings: how many rows.
        embedding_dim: how long they are.
        padding_idx: the row that stays as it is.
        max_norm: rows that are looked up and have a larger norm are scaled down to it first.
        norm_type: the order of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by the number of times it was looked up.
        sparse: makes no difference: gradients are dense.
        device: where the weight lies.
        dtype: that of the weight.

    Raises:
        AssertionError: ``padding_idx`` is no row.
    """

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
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _checked_padding("Padding_idx", padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_table(_weight, not _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        defaults = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False}
        return f"{self.num_embeddings}, {self.embedding_dim}{_options_text(self, defaults)}"

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
        """An Embedding on a table that there is already, which is not learnt if ``freeze``."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            _weight=embeddings, _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or largest elements, by columns, of rows of the learnt ``weight`` (num_embeddings, embedding_dim).

    It is called as ``bag(input, offsets=None, per_sample_weights=None)``: see :func:`nn.functional.embedding_bag` for
    these and for all other arguments.  The row ``padding_idx`` starts as zeros and does not count.

    Raises:
        AssertionError: ``padding_idx`` is no row.
    """

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
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _checked_padding("padding_idx", padding_idx, num_embeddings)
        self._set_table(_weight, True, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )

    def extra_repr(self) -> str:
        defaults = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "mode": "", "padding_idx": None}
        return f"{self.num_embeddings}, {self.embedding_dim}{_options_text(self, defaults)}"

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
        """An EmbeddingBag on a table that there is already, which is not learnt if ``freeze``."""
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
    """The number of the row that is padding, counted from the front."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx % rows


def _options_text(module: Module, defaults: dict[str, Any]) -> str:
    """The attributes of a module that have other values than these."""
    given = [(name, getattr(module, name)) for name in defaults]
    return "".join([f", {name}={value!r}" for name, value in given if value != defaults[name]])
