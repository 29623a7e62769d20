"""The second process of Note [Kernels ahead], which compiles the kernels in the plans of jobs and runs none."""

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
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import numgrad
from numgrad.core.layout import layout_of, span
from numgrad.devices import cpu
from numgrad.ops import ops
from numgrad.ops.table.ahead import LENGTH, Sample
from numgrad.ops.table.planned import Planned
from numgrad.tensors.tensor import tensor_of

#: Maximum number of elements of a tensor: untouched memory costs nothing, but libraries write to it.
LARGEST = 1 << 24
#: Number of elements above which an optimizer uses the same kernel for parameters of all sizes.
MANY = 1 << 20


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
    cpu.compile_only()
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


def differentiate(name: str, args: Sequence[Any], attributes: Mapping[str, Any]) -> None:
    """Call an operation with tensors instead of the samples among ``args``, and compute its gradients."""
    stand_ins = [tuple(map(_stand_in, arg)) if type(arg) is tuple else _stand_in(arg) for arg in args]
    op: Any = ops[name]
    out = op(*stand_ins) if isinstance(op, Planned) else op.run(stand_ins, attributes)
    outputs = [tensor for tensor in (out if isinstance(out, tuple) else (out,)) if tensor.requires_grad]
    numgrad.autograd.backward(outputs, [numgrad.empty_like(output) for output in outputs])


def step(optimizer: Any, samples: Sequence[Sample], options: Mapping[str, Any]) -> None:
    """Take a step with an optimizer of this class."""
    fewer = [layout_of(sample.layout.type, (min(sample.layout.size, MANY),)) for sample in samples]
    parameters = [_stand_in(Sample(layout, True)) for layout in fewer]
    for parameter in parameters:
        parameter.grad = numgrad.empty_like(parameter)
    accepted = inspect.signature(optimizer).parameters
    optimizer(parameters, **{name: value for name, value in options.items() if name in accepted}).step()


def _stand_in(value: Any) -> Any:
    """Return a tensor of a sample's layout, the number 1 for a number class, or any other value unchanged."""
    if not isinstance(value, Sample):
        return value(1) if value in (bool, int, float, complex) else value
    layout = value.layout
    if layout.size > LARGEST or layout.type.device.type != "cpu":
        raise ValueError(f"no sample is made for {layout}: it is too large, or on a GPU")
    memory = np.zeros(span(layout.shape, layout.strides), layout.type.numpy)
    return tensor_of(layout, memory).requires_grad_(value.requires_grad)


#: Jobs by name.
JOBS = {"differentiate": differentiate, "step": step}

if __name__ == "__main__":
    main()
