"""The second process of Note [Kernels ahead], which runs jobs whose kernels are compiled but not run."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import numgrad
from numgrad.core.layout import Layout, span
from numgrad.core.tensor import tensor_of
from numgrad.devices import launches
from numgrad.ops import ops
from numgrad.ops.table.ahead import LENGTH, Sample
from numgrad.ops.table.dispatch import perform
from numgrad.ops.table.planned import Planned

#: Maximum number of elements of a tensor: unwritten memory costs nothing, but libraries write to it.
LARGEST = 1 << 24


class _Unpickler(pickle.Unpickler):
    """Unpickler limited to loaded packages, because importing others might run a program's code a second time."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function of a module that ``pickle`` looks up.

        Raises:
            UnpicklingError: the module belongs to a package that is not loaded here.
        """
        if module.partition(".")[0] not in sys.modules:
            raise pickle.UnpicklingError(f"{module}.{name} is not numgrad's")
        return super().find_class(module, name)


def main() -> None:
    """Run the jobs read from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the program, which may continue
    if hasattr(os, "nice"):
        os.nice(10)
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(jobs,), daemon=True).start()
    launches.compile_only()
    while True:
        message = jobs.get()
        with contextlib.suppress(Exception):  # if a job fails here, the program compiles later
            name, arguments = _Unpickler(io.BytesIO(message)).load()
            JOBS[name](*arguments)


def _receive(jobs: queue.SimpleQueue[bytes]) -> None:
    """Queue arriving messages, and end this process when the input ends, because the program has ended."""
    try:
        while True:
            length = sys.stdin.buffer.read(LENGTH)
            if len(length) < LENGTH:
                return
            jobs.put(sys.stdin.buffer.read(int.from_bytes(length, "little")))
    finally:
        os._exit(0)


def differentiate(name: str, args: Sequence[Any], statics: Mapping[str, Any]) -> None:
    """Call an operation with tensors in place of the samples among ``args``, and compute its gradients."""
    given = [tuple(map(_stand_in, one)) if type(one) is tuple else _stand_in(one) for one in args]
    op: Any = ops[name]
    if isinstance(op, Planned):
        entry, operands = op.entry(given)
        if entry.step is None and entry.layout is not None:
            entry.launch = _without_computing(entry.layout)  # checks would reject memory that no kernel has written
        out = perform(entry, operands)
    else:
        out = op.run(given, statics)
    outputs = [one for one in (out if isinstance(out, tuple) else (out,)) if one.requires_grad]
    numgrad.autograd.backward(outputs, [numgrad.empty_like(one) for one in outputs])


def step(optimizer: Any, samples: Sequence[Sample], options: Mapping[str, Any]) -> None:
    """Take a step with an optimizer of this class."""
    parameters = list(map(_stand_in, samples))
    for parameter in parameters:
        parameter.grad = numgrad.empty_like(parameter)
    known = inspect.signature(optimizer).parameters
    optimizer(parameters, **{name: value for name, value in options.items() if name in known}).step()


def _stand_in(value: Any) -> Any:
    """Return a tensor of a sample's layout, the number 1 for a number class, or any other value unchanged."""
    if not isinstance(value, Sample):
        return value(1) if value in (bool, int, float, complex) else value
    layout = value.layout
    if layout.size > LARGEST or layout.type.device.type != "cpu":
        raise ValueError(f"{layout} is not made here")
    return tensor_of(layout, _memory(layout)).requires_grad_(value.requires_grad)


def _memory(layout: Layout) -> np.ndarray:
    return np.zeros(span(layout.shape, layout.strides), layout.type.numpy)


def _without_computing(layout: Any) -> Callable[..., Any]:
    """Return a launcher that allocates results of this layout, or of these layouts."""
    return lambda *operands: tuple(map(_memory, layout)) if isinstance(layout, tuple) else _memory(layout)


#: Jobs by name.
JOBS = {"differentiate": differentiate, "step": step}

if __name__ == "__main__":
    main()
