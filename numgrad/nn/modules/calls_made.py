"""Which modules were called lately, and which nodes each call recorded, so that a drawing can group them.

A call is known by the numbers of the graph's nodes: those that it recorded have a number between ``begun`` and
``ended``.  Numbers and identities alone are kept, of the latest calls, so nothing is held that a program would free.
Nodes that other threads record at the same time have numbers between the two as well.
"""

from __future__ import annotations

from collections import deque

from ...autograd.node import next_sequence

__all__ = ["CALLS", "calls_made", "next_sequence", "note_call"]

#: How many calls are remembered; a training step of a GPT of 12 layers makes about 150.
CALLS = 4096

#: Of each call the identity of the module, and the numbers that were next when it began and when it ended.
calls_made: deque[tuple[int, int, int]] = deque(maxlen=CALLS)

#: Called with such a triple at the end of a call.
note_call = calls_made.append
