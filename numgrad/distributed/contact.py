"""Short messages between ranks about their progress, which tell whom a collective waits for.

Note [Contact]
A rank that waits answers questions about where it waits, and a rank that ends its program announces it.  So a rank
whose call takes too long learns who takes part in it, who waits elsewhere, and who does not answer, and a call in which
a rank can no longer take part fails after a second.  The messages have a communicator of their own, and nothing is sent
unless a call times out or the program ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .deferred import begin_compared
from .mpi import mpi

__all__ = ["Contact", "Waiting", "named"]

#: Tags of messages: a question, its answer, the end of a program, and a call that differs from those of other ranks.
_QUESTION, _ANSWER, _END, _CALL = 1, 2, 3, 4

#: Seconds that a rank which times out waits for answers, and that messages of a rank which has ended may be underway.
ANSWER_WITHIN, UNDERWAY = 2.0, 5.0


class Waiting(Protocol):
    """A call that waits for other ranks.

    Attributes:
        name: the name of the function.
        group: the number of its process group.
        count: how many collectives of the group this rank has begun, or None if it is not a collective.
        peers: the ranks in the world that take part.
    """

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> int: ...
    @property
    def count(self) -> int | None: ...
    @property
    def peers(self) -> Sequence[int]: ...
    def describe(self) -> str:
        """Return the name of the call with its place in the program."""


class _Answer(NamedTuple):
    """Answer of a rank: the call in which it waits."""

    name: str
    group: int
    begun: int | None
    text: str


class Contact:
    """The state of this rank as others see it, and what it knows about others.

    Args:
        communicator: MPI's communicator for these messages alone.
    """

    def __init__(self, communicator: Any):
        self._communicator = communicator
        self._sent: list[Any] = []
        self._answers: dict[int, _Answer] = {}
        #: For each rank that has ended: how many collectives of each group it has begun, and when this became known.
        self._ended: dict[int, tuple[dict[int, int], float]] = {}
        self._has_ended = False
        #: For each collective, by the numbers of group and collective, what other ranks call.
        self._calls: dict[tuple[int, int], dict[int, str]] = {}

    def check(self, waiting: Waiting) -> str | None:
        """Handle messages while a call waits; return the reason if it cannot complete."""
        self._handle(waiting)
        ended = [rank for rank in waiting.peers if rank in self._ended]
        if waiting.count is not None:
            ended = [rank for rank in ended if self._ended[rank][0].get(waiting.group, 0) < waiting.count]
        else:  # any of the peers may send a message, which may be underway
            others = {*waiting.peers} - {self._communicator.Get_rank()}
            if len(ended) < len(others) or time.monotonic() < max(self._ended[rank][1] for rank in ended) + UNDERWAY:
                ended = []
        return f"{named(ended)} ended the program" if ended else None

    def ask(self, waiting: Waiting) -> str:
        """Ask the other ranks where they are, and return the answers as text."""
        own = self._communicator.Get_rank()
        others = [rank for rank in waiting.peers if rank != own]
        self._answers.clear()
        for rank in others:
            self._send(None, rank, _QUESTION)
        end = time.monotonic() + ANSWER_WITHIN
        while time.monotonic() < end and not all(rank in self._answers or rank in self._ended for rank in others):
            self._handle(waiting)
            time.sleep(0.001)
        here, missing = [own], []
        for rank in others:
            answer = self._answers.get(rank)
            if rank in self._ended:
                missing.append(f"rank {rank} ended the program")
            elif answer is None:
                missing.append(f"rank {rank} does not answer: it computes, or hangs")
            elif waiting.count is None or answer[:3] != (waiting.name, waiting.group, waiting.count):
                missing.append(f"rank {rank} waits in {answer.text}")
            else:
                here.append(rank)
        return f"{named(sorted(here))} wait{'s' * (len(here) == 1)}; missing: {'; '.join(missing) or 'nobody'}"

    def exchange(self, collective: tuple[int, int], call: str, ranks: Sequence[int]) -> dict[int, str]:
        """Tell other ranks what this one calls, and return what all call, as far as they tell it in time."""
        own = self._communicator.Get_rank()
        others = {*ranks} - {own}
        for rank in others:
            self._send((collective, call), rank, _CALL)
        calls = self._calls.setdefault(collective, {})
        end = time.monotonic() + ANSWER_WITHIN
        while time.monotonic() < end and not others <= calls.keys() | self._ended.keys():
            self._handle(None)
            time.sleep(0.001)
        return {own: call, **self._calls.pop(collective)}

    def end(self, counts: dict[int, int]) -> None:
        """Announce that this rank begins no more collectives, of each group, than ``counts``; wait for the others."""
        if self._has_ended:
            return
        self._has_ended = True
        own, size = self._communicator.Get_rank(), self._communicator.Get_size()
        for rank in range(size):
            if rank != own:
                self._send(counts, rank, _END)
        pause = 0.0
        while len(self._ended) < size - 1 or not all(request.Test() for request in self._sent):
            self._handle(None)
            begin_compared()
            time.sleep(pause)
            pause = min(pause + 0.0001, 0.01)

    def free(self) -> None:
        """Free the communicator after ``end``."""
        self._communicator.Free()

    def _send(self, value: Any, rank: int, tag: int) -> None:
        self._sent = [request for request in self._sent if not request.Test()]
        self._sent.append(self._communicator.isend(value, rank, tag))

    def _handle(self, waiting: Waiting | None) -> None:
        """Handle the messages that have arrived."""
        communicator = self._communicator
        status = mpi().Status()
        while communicator.iprobe(status=status):
            rank, tag = status.Get_source(), status.Get_tag()
            value = communicator.recv(source=rank, tag=tag)
            if tag == _QUESTION:
                if waiting is not None:
                    answer = _Answer(waiting.name, waiting.group, waiting.count, waiting.describe())
                    self._send(answer, rank, _ANSWER)
            elif tag == _ANSWER:
                self._answers[rank] = value
            elif tag == _CALL:
                collective, call = value
                self._calls.setdefault(collective, {})[rank] = call
            else:
                self._ended[rank] = value, time.monotonic()


def named(ranks: Sequence[int]) -> str:
    """Return ranks as text: ``rank 2`` or ``ranks 0, 3``."""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
