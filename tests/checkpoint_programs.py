"""Parts of the programs with checkpoints that run with PyTorch and with numgrad."""

import warnings

__all__ = ["Counted", "fails", "kept", "message", "nested", "warned"]


def kept(m, function, *args, **kwargs):
    return m.utils.checkpoint.checkpoint(function, *args, use_reentrant=False, **kwargs)


def nested(m, function, *args, **kwargs):
    return m.utils.checkpoint.checkpoint(function, *args, use_reentrant=True, **kwargs)


class Counted:
    """A function that notes its name in ``calls`` each time it starts, and an exclamation mark if it ends."""

    def __init__(self, function, calls, name="f"):
        self.function, self.calls, self.name = function, calls, name

    def __call__(self, *args, **kwargs):
        self.calls.append(self.name)
        result = self.function(*args, **kwargs)
        self.calls.append(f"{self.name}!")
        return result


def warned(function):
    """The beginning of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [(w.category.__name__, str(w.message)[:60]) for w in caught]


def message(m, function):
    """Return the part of a CheckpointError's message that both libraries have."""
    try:
        function()
    except m.utils.checkpoint.CheckpointError as error:
        return type(error).__name__, str(error).split("Tip:")[0].rstrip(". \n")
    return "no error"


def fails(function):
    """Return the error of a call."""
    try:
        function()
    except Exception as error:
        return type(error).__name__, str(error)[:60]
    return "no error"
