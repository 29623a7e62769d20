"""Where in the user's program something was called, as messages show it: file and line, or the cell of a notebook.

In anomaly mode the calls that made or changed a tensor are noted.
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
    """A call in the user's program.  It holds the code, not the frame, which would hold all variables.

    Attributes:
        code: the function, module or cell that the call stands in.
        instruction: which of its instructions it is.
    """

    code: CodeType
    instruction: int

    @property
    def brief(self) -> str:
        """The location without its directory and code: ``model.py, line 7``."""
        filename = self.code.co_filename
        return f"{_cell(filename) or os.path.basename(filename)}, line {self._positions()[0]}"

    def _positions(self) -> tuple[int | None, int | None, int | None, int | None]:
        return next(islice(self.code.co_positions(), self.instruction // 2, None))

    def __str__(self) -> str:
        """The location as in a traceback, two lines or three, the call underlined where the line holds more."""
        code = self.code
        line, end_line, column, end_column = self._positions()
        return _shown(FrameSummary(
            code.co_filename, line, code.co_name, lookup_line=False, end_lineno=end_line, colno=column,
            end_colno=end_column,
        )).rstrip("\n")


_new = tuple.__new__

#: Where the files of this package lie, as the code of its functions says it.
_PACKAGE = os.path.dirname(os.path.dirname(Location.__str__.__code__.co_filename)) + os.sep


def calling_location(depth: int = 1) -> Location:
    """Where the user's program called this package; ``depth`` frames of this package are known to stand above."""
    frame = calling_frame(depth + 1)
    return _new(Location, (frame.f_code, frame.f_lasti))  # in less time than by its name


def calling_frame(depth: int = 1) -> FrameType:
    """The frame of the user's program that called this package; the outermost frame if all are this package's."""
    try:
        frame = sys._getframe(depth)
    except ValueError:  # it was not a function in Python that called
        frame = sys._getframe()
    while frame.f_code.co_filename.startswith(_PACKAGE):
        outside = frame.f_back
        if outside is None:
            break
        frame = outside
    return frame


def forward_trace() -> list[str]:
    """The traceback of the call being recorded, frame by frame, without the recorder's own frames.

    In a notebook it begins with the cell, since the frames that run the cells are the same for all.
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
    """Warn with the line of the user's program that led here: once for each line, unless filters say otherwise."""
    frame = calling_frame(2)
    name = frame.f_globals.get("__name__", "<unknown>")
    told = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno, name, told)


def _shown(frame: FrameSummary) -> str:
    """One frame of a traceback, as Python shows it."""
    (text,) = traceback.format_list([frame])
    cell = _cell(frame.filename)
    return text if cell is None else text.replace(f'File "{frame.filename}"', cell, 1)


def _cell(filename: str) -> str | None:
    """IPython's name of the cell of a notebook whose code has this file name; None if it is a file."""
    number = re.match(r"<ipython-input-(\d+)-", filename)
    if number is not None:
        return f"Cell In[{number[1]}]"
    ipython = sys.modules.get("IPython")  # which runs the cells, so that it is there if there are any
    shell = ipython.get_ipython() if ipython is not None else None
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    label = name_of(filename) if name_of is not None else None  # ("Cell", "In[3]")
    return " ".join(label) if label is not None else None


# -- the calls that made or changed a tensor, noted in anomaly mode ------------------------------------------


#: The values of a tensor's ``_origin``: cut off a graph; on another library's memory; made of data, or filled; computed
#: where nothing is recorded.  A tensor computed from tensors that require no gradient has none.
DETACHED, FOREIGN, GIVEN, UNRECORDED = "detached", "foreign", "given", "unrecorded"


class Origin(NamedTuple):
    """The operation that made a tensor.

    Attributes:
        name: the operation's.
        reason: why it was not recorded.
        location: the call of it.
    """

    name: str
    reason: str
    location: Location


#: By the identity of the tensor, which is held weakly.
_origins: dict[int, tuple[ref[Any], Origin]] = {}


def note_origin(tensor: Any, name: str, reason: str) -> None:
    """Note that the operation ``name`` has made a tensor, and was not recorded."""
    key = id(tensor)
    _origins[key] = ref(tensor, lambda _: _origins.pop(key, None)), Origin(name, reason, calling_location())


def origin_of(tensor: Any) -> Origin | None:
    """The operation noted for a tensor."""
    weak, origin = _origins.get(id(tensor), (None, None))
    return origin if weak is not None and weak() is tensor else None


#: Version counters that are remembered, and changes of each: the oldest are forgotten.
COUNTERS, CHANGES = 4096, 64

#: By the identity of a version counter: the counter, held so that no other gets its identity, and the calls that made
#: each version of the memory that it counts for.
_changes: dict[int, tuple[list[int], dict[int, Location]]] = {}
_noting = threading.Lock()


def note_change(tensor: Any) -> None:
    """Note that ``tensor`` is about to be changed in place; if that fails the next change takes over the version."""
    counter = tensor._counter
    if counter.__class__ is not list:  # of an inference tensor, which no node saves
        return
    with _noting:
        known = _changes.get(id(counter))
        if known is None:
            if len(_changes) >= COUNTERS:
                del _changes[next(iter(_changes))]
            known = _changes[id(counter)] = (counter, {})
        locations = known[1]
        locations[counter[0] + 1] = calling_location()
        if len(locations) > CHANGES:
            del locations[next(iter(locations))]


def count_change(tensor: Any) -> None:
    """Count a change of a tensor's memory by other means than operations; inference tensors have no version."""
    counter = tensor._counter
    if counter.__class__ is list:
        if state.mode & ANOMALY:
            note_change(tensor)
        counter[0] += 1


def changes_since(tensor: Any, version: int) -> dict[int, Location]:
    """The changes of a tensor's memory that were noted, after the one that made this version, in their order."""
    counter = tensor._counter
    with _noting:
        _, locations = _changes.get(id(counter), (counter, {}))
        return {made: locations[made] for made in sorted(locations) if version < made <= counter[0]}
