"""Comparison of each collective with those of the other ranks.

Note [Comparison]
Ranks whose calls differ in function, dtype or size would exchange wrong numbers.  So a sum over all ranks of one number
of 8 bytes travels beside the tensors.  The number of each rank, modulo 2**64, is a hash of all that must be equal: the
function, dtype, reduction, root and sizes; the sum must be a multiple of it.  Where sizes differ between ranks, a rank
adds a hash of each part that it sends, with sender, receiver and size, and subtracts that of each part that it expects.
In the sum, these cancel.  With another sum, the ranks tell each other their calls, and all raise an error.
With ``NUMGRAD_DISTRIBUTED_DEBUG=1``, shapes must be equal, too, and no tensor is sent before the comparison is done.
Open MPI writes beyond the memory of a receiver that expects less than is sent.  There, too, the comparison comes first:
see Note [Compared first].
"""

from __future__ import annotations

import functools
import zlib
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from ..autograd.locations import Location
from ..tensors.tensor import Tensor
from .contact import named
from .errors import DistBackendError
from .groups import ProcessGroup
from .mpi import mpi

__all__ = ["Comparison"]

_MODULUS = 2**64


class Comparison:
    """A request that completes when a call has been compared with those of the other ranks.

    Args:
        group: the process group; the call has its number ``group.count``.
        name: the function.
        tensors: its tensors, whose dtypes, and without ``parts`` sizes, must be equal on all ranks.
        details: other values that must be equal.
        parts: what this rank sends to, and receives from, other ranks: the number of elements for each.
        location: where it is called.
    """

    def __init__(
        self, group: ProcessGroup, name: str, tensors: Sequence[Tensor], details: Mapping[str, Any],
        parts: tuple[Mapping[int, int], Mapping[int, int]] | None, location: Location,
    ):  # fmt: skip
        self._group, self._count, self._location = group, group.count, location
        self._call = name, tensors, details, parts
        sizes: list[Any] = []
        if parts is None:
            sizes = [tuple(each.shape) if group.compares_shapes else each.numel() for each in tensors]
        number = hash((_number_of(name, tensors[0].dtype if tensors else None, *details.values()), *sizes))
        self._expected = number * group.size() % _MODULUS
        if parts is not None:
            own, (sent, awaited) = group.rank(), parts
            number += sum([hash((own, rank, size)) for rank, size in sent.items()])
            number -= sum([hash((rank, own, size)) for rank, size in awaited.items()])
        self._sum = array("Q", [number % _MODULUS])
        self._request = group.prompt.Iallreduce(mpi().IN_PLACE, [self._sum, mpi().UINT64_T], mpi().SUM)

    def Test(self) -> bool:
        """Return True if all ranks make the same call, and False if that is not known yet.

        Raises:
            DistBackendError: the calls differ; raised on all ranks.
        """
        if not self._request.Test():
            return False
        if self._sum[0] != self._expected:
            raise DistBackendError(self._difference())
        return True

    def _difference(self) -> str:
        """Exchange descriptions of the calls, and return them as text."""
        group = self._group
        name, tensors, details, parts = self._call
        arguments = [*map(_described, tensors), *[f"{key}={value}" for key, value in details.items()]]
        own = f"{name}({', '.join(arguments)})"
        if parts is not None:
            own += f", which sends {[*parts[0].values()]} elements and expects {[*parts[1].values()]},"
        own = f"{own} at {self._location.brief}"
        calls = group.contact.exchange((group.number, self._count), own, group.ranks)
        ranks: dict[str, list[int]] = {}
        for rank in group.ranks:
            ranks.setdefault(calls.get(rank, "a call that it does not wait for"), []).append(rank)
        listed = "\n".join(f"  {named(same)}: {text}" for text, same in ranks.items())
        difference = f"the ranks differ in collective number {self._count} of {group}"
        if not group.compares_shapes:  # what the ranks have sent may not match
            group.failure = difference
        return f"{difference}:\n{listed}"


@functools.cache
def _number_of(*values: Any) -> int:
    """Return a number for the text of the values, the same in all processes."""
    return zlib.crc32(" ".join(map(str, values)).encode())


def _described(tensor: Tensor) -> str:
    return f"{tensor.dtype} {[*tensor.shape]}"
