"""Locations of calls in the user's program for messages: file and line, or the cell of a notebook.

In anomaly mode, the calls that made or modified a tensor are recorded.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import traceback
import warnings
from itertools import islice
from traceback import FrameSummary
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import ref

from .grad_mode import ANOMALY, state


class Location(NamedTuple):
    """Call in the user's program.  It holds the code and not the frame, which would keep all variables alive.

    Attributes:
        code: the function, module or cell that contains the call.
        instruction: the offset of its instruction.
    """

    code: CodeType
    instruction: int

    @property
    def brief(self) -> str:
        """The location without its directory and source text: ``model.py, line 7``."""
        filename = self.code.co_filename
        return f"{_cell(filename) or os.path.basename(filename)}, line {self._positions()[0]}"

    def _positions(self) -> tuple[int | None, int | None, int | None, int | None]:
        return next(islice(self.code.co_positions(), self.instruction // 2, None))

    def __str__(self) -> str:
        """Return the location as two or three traceback lines, with the call underlined if the line contains more."""
        code = self.code
        line, end_line, column, end_column = self._positions()
        return _shown(FrameSummary(
            code.co_filename, line, code.co_name, lookup_line=False, end_lineno=end_line, colno=column,
            end_colno=end_column,
        )).rstrip("\n")


_new = tuple.__new__

#: Directory of this package, as spelled in the code objects of its functions.
_PACKAGE = os.path.dirname(os.path.dirname(Location.__str__.__code__.co_filename)) + os.sep


def calling_location(depth: int = 1) -> Location:
    """Return the location where the user's program called this package, skipping at least ``depth`` frames."""
    frame = calling_frame(depth + 1)
    return _new(Location, (frame.f_code, frame.f_lasti))  # faster than calling the class


def calling_frame(depth: int = 1) -> FrameType:
    """Return the frame of the user's program that called this package, or the outermost frame if there is none."""
    try:
        frame = sys._getframe(depth)
    except ValueError:  # the stack has fewer Python frames
        frame = sys._getframe()
    while frame.f_code.co_filename.startswith(_PACKAGE):
        outside = frame.f_back
        if outside is None:
            break
        frame = outside
    return frame


def forward_trace() -> list[str]:
    """Return the traceback of the call being recorded, one entry per frame, without the recorder's own frames.

    In a notebook it starts at the cell, because the frames that run cells are always the same.
    """
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(_PACKAGE):
        frames.pop()
    for index, frame in enumerate(frames):
        if _cell(frame.filename) is not None:
            del frames[:index]
            break
    return [_shown(frame) for frame in frames]


def warn_user(message: str) -> None:
    """Issue a warning at the calling line of the user's program: once per line, unless filters specify otherwise."""
    frame = calling_frame(2)
    name = frame.f_globals.get("__name__", "<unknown>")
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno, name, registry)


def _shown(frame: FrameSummary) -> str:
    """Format one frame of a traceback as Python does."""
    (text,) = traceback.format_list([frame])
    cell = _cell(frame.filename)
    return text if cell is None else text.replace(f'File "{frame.filename}"', cell, 1)


def _cell(filename: str) -> str | None:
    """Return IPython's name for the notebook cell whose code has this file name; None if it is a file."""
    number = re.match(r"<ipython-input-(\d+)-", filename)
    if number is not None:
        return f"Cell In[{number[1]}]"
    ipython = sys.modules.get("IPython")  # loaded whenever there are cells, because it runs them
    shell = ipython.get_ipython() if ipython is not None else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    label = name_of(filename) if name_of is not None else None  # ("Cell", "In[3]")
    return " ".join(label) if label is not None else None


# -- calls that made or modified a tensor, recorded in anomaly mode ------------------------------------------


#: Values of a tensor's ``_origin``: detached from a graph; on another library's memory; made from data or filled;
#: computed where nothing is recorded.  A tensor computed from tensors that require no gradient has none of them.
DETACHED, FOREIGN, GIVEN, UNRECORDED = "detached", "foreign", "given", "unrecorded"


class Origin(NamedTuple):
    """Operation that made a tensor.

    Attributes:
        name: the name of the operation.
        reason: the reason why it was not recorded.
        location: the call of the operation.
    """

    name: str
    reason: str
    location: Location


#: Keyed by the identity of the tensor, which is held weakly.
_origins: dict[int, tuple[ref[Any], Origin]] = {}


def note_origin(tensor: Any, name: str, reason: str) -> None:
    """Record that the unrecorded operation ``name`` made a tensor, and the reason."""
    key = id(tensor)
    _origins[key] = ref(tensor, lambda _: _origins.pop(key, None)), Origin(name, reason, calling_location())


def origin_of(tensor: Any) -> Origin | None:
    """Return the operation recorded as the origin of a tensor, or None."""
    weak, origin = _origins.get(id(tensor), (None, None))
    return origin if weak is not None and weak() is tensor else None


#: Maximum number of version counters tracked, and of changes per counter; the oldest are dropped.
COUNTERS, CHANGES = 4096, 64

#: Keyed by the identity of a version counter: the counter, held so that its identity stays unique, and the call that
#: made each version of its memory.
_changes: dict[int, tuple[list[int], dict[int, Location]]] = {}
_noting = threading.Lock()


def note_change(tensor: Any) -> None:
    """Record an imminent in-place change of ``tensor``; if the change fails, the next one replaces the record."""
    counter = tensor._counter
    if counter.__class__ is not list:  # inference tensors are never saved by nodes
        return
    with _noting:
        record = _changes.get(id(counter))
        if record is None:
            if len(_changes) >= COUNTERS:
                del _changes[next(iter(_changes))]
            record = _changes[id(counter)] = (counter, {})
        locations = record[1]
        locations[counter[0] + 1] = calling_location()
        if len(locations) > CHANGES:
            del locations[next(iter(locations))]


def count_change(tensor: Any) -> None:
    """Count a change of a tensor's memory by means other than operations; inference tensors have no version."""
    counter = tensor._counter
    if counter.__class__ is list:
        if state.mode & ANOMALY:
            note_change(tensor)
        counter[0] += 1


def changes_since(tensor: Any, version: int) -> dict[int, Location]:
    """Return the recorded changes of a tensor's memory after this version, in order."""
    counter = tensor._counter
    with _noting:
        _, locations = _changes.get(id(counter), (counter, {}))
        return {change: locations[change] for change in sorted(locations) if version < change <= counter[0]}
