"""Sequences of different lengths, padded to one length, or packed: all first elements, then all second ones, and so on.

A packed sequence has no padding.  The sequences are sorted by length, the longest first, so that the elements of step
``t`` belong to the first sequences, those longer than ``t``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ...core.types import contiguous_format, float32, float64, int8, int16, int32, int64, uint8
from ...ops.creation.factories import empty_like, full
from ...ops.creation.from_data import as_tensor
from ...ops.creation.spaced import arange
from ...ops.indexing.selecting import index_select_op
from ...ops.table.arguments import tensors_checked
from ...tensors.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]

_packed_op = index_select_op.recorded_by("PackPaddedSequenceBackward0")


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """A packed sequence, as returned by :func:`pack_padded_sequence`.

    Attributes:
        data: the elements, of shape (elements, ...).
        batch_sizes: the number of elements of each step: int64, on the CPU.
        sorted_indices: for each sorted sequence, its index before sorting; None if they were sorted already.
        unsorted_indices: for each sequence in the original order, its index after sorting; or None.

    Raises:
        ValueError: ``batch_sizes`` is not on the CPU.
    """

    def __new__(
        cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, list | tuple) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, but is on {batch_sizes.device}. Instances of PackedSequence are "
                "made by functions like pack_sequence and pack_padded_sequence in nn.utils.rnn"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequence with data converted by ``Tensor.to`` and indices moved along; self if unchanged."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda indices: indices.to(data.device))

    def pin_memory(self) -> Self:
        """Return the sequence with data and indices in page-locked memory."""
        return self._with(self.data.pin_memory(), lambda indices: indices.pin_memory())

    def _with(self, data: Tensor, convert: Any) -> Self:
        order = [None if indices is None else convert(indices) for indices in self[2:]]
        return type(self)(data, self.batch_sizes, *order)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequence on a GPU; arguments are those of ``Tensor.cuda``."""
        data = self.data.cuda(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda indices: indices.to(data.device))

    def cpu(self) -> Self:
        """Return the sequence on the CPU."""
        return self.to("cpu")

    def double(self) -> Self:
        """Return the sequence with its data as float64."""
        return self.to(dtype=float64)

    def float(self) -> Self:
        """Return the sequence with its data as float32."""
        return self.to(dtype=float32)

    def long(self) -> Self:
        """Return the sequence with its data as int64."""
        return self.to(dtype=int64)

    def int(self) -> Self:
        """Return the sequence with its data as int32."""
        return self.to(dtype=int32)

    def short(self) -> Self:
        """Return the sequence with its data as int16."""
        return self.to(dtype=int16)

    def char(self) -> Self:
        """Return the sequence with its data as int8."""
        return self.to(dtype=int8)

    def byte(self) -> Self:
        """Return the sequence with its data as uint8."""
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Return True if the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation, of shape (n); None for None."""
    if permutation is None:
        return None
    return empty_like(permutation).scatter_(0, permutation, arange(permutation.numel(), device=permutation.device))


@tensors_checked
def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Return padded sequences as a packed sequence, without the padding.

    Args:
        input: of shape (steps, sequences, ...), or with ``batch_first`` (sequences, steps, ...).
        lengths: the number of elements of each sequence, a list or a tensor on the CPU.
        batch_first: True if the sequences are the first dimension.
        enforce_sorted: True if the sequences must be sorted by decreasing length; False to sort them.

    Raises:
        RuntimeError: the lengths are not sorted, not one per sequence, or not between 1 and the number of steps; or the
            input is empty.

    Example:
        >>> import numgrad
        >>> padded = numgrad.tensor([[1, 2, 3], [4, 0, 0]])
        >>> packed = numgrad.nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True)
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    lengths = lengths.to(int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64, device="cpu")
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device} "
            f"{lengths.dtype.legacy} tensor"
        )
    if not input.numel():
        raise RuntimeError(f"Cannot pack empty tensors. (shape {list(input.shape)})")
    sequences, steps = input.size(0 if batch_first else 1), input.size(1 if batch_first else 0)
    sorted_indices = None
    numbers = lengths.numpy()
    if not enforce_sorted:
        order = lengths.sort(descending=True)[1]
        sorted_indices, numbers = order.to(input.device), numbers[order.numpy()]
    if len(numbers) != sequences:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(numbers)} (batch_size={sequences})"
        )
    if numbers.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0 "
            f"({numbers.min()})"
        )
    if numbers.max() > steps:
        raise RuntimeError(f"an element of 'lengths' is {numbers.max()}, but there are {steps} steps")
    if (np.diff(numbers) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement"
        )
    sizes = (numbers > np.arange(numbers[0])[:, None]).sum(1)
    positions = _positions(sizes, sequences, steps, batch_first, sorted_indices)
    rows = input.reshape(sequences * steps, *input.shape[2:])
    return PackedSequence(_packed_op(rows, positions.to(input.device), 0), as_tensor(sizes), sorted_indices)


def _positions(
    sizes: np.ndarray, sequences: int, steps: int, batch_first: bool, order: Tensor | None = None
) -> Tensor:
    """Return, for each packed element, its row in a padded tensor of sequences in this order."""
    step, number = np.nonzero(np.arange(sequences) < sizes[:, None])
    sequence = number if order is None else order.numpy()[number]
    return as_tensor(sequence * steps + step if batch_first else step * sequences + sequence)


@tensors_checked
def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the padded sequences and their lengths, the inverse of :func:`pack_padded_sequence`.

    Args:
        sequence: the packed sequence.
        batch_first: True to put the sequences in the first dimension.
        padding_value: the value after the end of a sequence.
        total_length: the number of steps of the result; the length of the longest sequence by default.

    Returns:
        A tensor of shape (steps, sequences, ...), or (sequences, steps, ...), and a tensor of lengths, on the CPU.

    Raises:
        ValueError: a sequence is longer than ``total_length``.

    Example:
        >>> import numgrad
        >>> packed = numgrad.nn.utils.rnn.pack_sequence([numgrad.tensor([1, 2, 3]), numgrad.tensor([4])])
        >>> numgrad.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    sizes = sequence.batch_sizes.numpy()
    steps, sequences = len(sizes), int(sizes[0])
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data, order = sequence.data, sequence.sorted_indices
    if order is None and sequence.unsorted_indices is not None:
        order = invert_permutation(sequence.unsorted_indices)
    in_lines = batch_first and order is not None  # as PyTorch lays them out
    positions = _positions(sizes, sequences, steps, in_lines, None if order is None else order.cpu())
    shape = (sequences, steps) if in_lines else (steps, sequences)
    padded = full((*shape, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded.view(steps * sequences, *data.shape[1:]).index_copy_(0, positions.to(data.device), data)
    lengths = as_tensor((sizes[:, None] > np.arange(sequences)).sum(0))
    if sequence.unsorted_indices is not None:
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded.transpose(0, 1) if batch_first and not in_lines else padded, lengths


@tensors_checked
def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return sequences of shapes (length, ...) as one tensor, padded to the longest one's length.

    Args:
        sequences: tensors that agree in all other dimensions; the first one determines the result's dtype and device.
        batch_first: True for a result of shape (sequences, steps, ...), False for (steps, sequences, ...).
        padding_value: the value of padding elements.
        padding_side: the side of the padding, "right" or "left".

    Raises:
        RuntimeError: the shapes do not fit, there are no sequences, or ``padding_side`` is invalid.

    Example:
        >>> import numgrad
        >>> numgrad.nn.utils.rnn.pad_sequence([numgrad.tensor([1, 2]), numgrad.tensor([3])], batch_first=True)
        tensor([[1, 2],
                [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    tensors = tuple(sequences)
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if any(tensor.dim() == 0 for tensor in tensors):
        raise RuntimeError("pad_sequence: expected sequences of at least one dimension, but got one without")
    steps, trailing = max([tensor.size(0) for tensor in tensors]), tensors[0].shape[1:]
    shape = (len(tensors), steps) if batch_first else (steps, len(tensors))
    padded = full((*shape, *trailing), padding_value, dtype=tensors[0].dtype, device=tensors[0].device)
    for number, tensor in enumerate(tensors):
        start = steps - tensor.size(0) if padding_side == "left" else 0
        padded.select(0 if batch_first else 1, number).narrow(0, start, tensor.size(0)).copy_(tensor)
    return padded


@tensors_checked
def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences without padding, the inverse of :func:`pad_sequence`.

    Args:
        padded_sequences: of shape (steps, sequences, ...), or with ``batch_first`` (sequences, steps, ...).
        lengths: the number of elements of each sequence.
        batch_first: True if the sequences are the first dimension.

    Raises:
        ValueError: the numbers of lengths and of sequences differ.
    """
    sequences = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    counts = zip(sequences.unbind(0), lengths.tolist(), strict=True)
    parts = [sequence.narrow(0, 0, min(max(count, 0), sequence.size(0))) for sequence, count in counts]
    return [part.clone(memory_format=contiguous_format) for part in parts]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Return sequences of shapes (length, ...) as a packed sequence.

    Args:
        sequences: tensors that agree in all other dimensions.
        enforce_sorted: True if they must be sorted by decreasing length; False to sort them.

    Raises:
        RuntimeError: they are not sorted, one is empty, or the shapes do not fit.

    Example:
        >>> import numgrad
        >>> packed = numgrad.nn.utils.rnn.pack_sequence([numgrad.tensor([1, 2, 3]), numgrad.tensor([4])])
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed sequence, the inverse of :func:`pack_sequence`.

    Example:
        >>> import numgrad
        >>> packed = numgrad.nn.utils.rnn.pack_sequence([numgrad.tensor([1, 2, 3]), numgrad.tensor([4])])
        >>> numgrad.nn.utils.rnn.unpack_sequence(packed)
        [tensor([1, 2, 3]), tensor([4])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
