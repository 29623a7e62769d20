"""``numgrad.inspect``: the kernels of a computation, from Python text to machine code, with their speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.node import Node
from ...core.types import dtype, float32
from ...devices import Kernel
from ...tensors.tensor import Tensor
from ..programs.description import compiled_of
from ..programs.report import ProgramInspection
from .calls import inspect_call, node_inspection, only_computes
from .examples import SIZE, example, function_named
from .kernels import InspectedKernel, Inspection

__all__ = ["InspectedKernel", "Inspection", "inspect", "inspect_example"]


def inspect(subject: Any, *args: Any, **kwargs: Any) -> Inspection | ProgramInspection:
    """Show the kernels that a computation runs, their code and their run times.

    Each kernel has its generated Python text, Numba's types, LLVM's code and the machine code with its vector width,
    the text for NVIDIA's GPUs and their assembly, PTX (for pointwise kernels; PTX needs the extra ``cuda``), and the
    time, bytes and bandwidth of its last run.  A kernel that ran on a GPU has its text, its PTX and its time by the
    GPU's clock.

    Operations of numgrad run three times, because the first run meets cold memory, unless they change their arguments
    or draw random numbers.  Everything else runs once, with the effects of an ordinary call on tensors and the random
    state.  Only kernels that run in the calling thread are inspected.

    Args:
        subject: one of

            - a function of numgrad's, a method of a tensor, a module, or a user's function: it is called with the other
              arguments, and backward passes gradients of ones to those that require a gradient, without accumulating
              them and without calling the hooks of these tensors;
            - such a function of numgrad's, or its name, such as "linalg.solve", without arguments: it is called with an
              example, a row of a million float32 for pointwise operations, a matrix of a million for most others;
            - ``tensor.grad_fn``: its rule runs on gradients of ones; the kernels of the operation that it records are
              read from its plan and do not run;
            - a kernel of ``numgrad.devices.compiled_kernels()``;
            - a function or module compiled by ``numgrad.compile``: its programs, after a call if there are arguments.
              Their times are measured on copies of their memory.
        args, kwargs: the arguments of the call.

    Returns:
        An object that prints as text, with a list ``kernels``, each of which has ``python``, ``types``, ``llvm``,
        ``assembly``, ``loop``, ``vectors``, ``cuda`` and ``ptx``; ``time`` in seconds, ``bytes`` and ``bandwidth`` in
        GB/s.  For a compiled function or module, an object with a list ``programs``, each of which has ``steps``,
        ``buffers``, ``times`` and ``llvm``.

    Raises:
        TypeError: the subject has no kernels, or no example is known for it.
        ValueError: there is no operation of this name.
        RuntimeError: the values saved by a node were freed by backward, or changed in place since.

    Example:
        >>> import numgrad
        >>> x = numgrad.linspace(-1, 1, 1000, requires_grad=True)
        >>> inspection = numgrad.inspect(numgrad.tanh, x)
        >>> [(kernel.name, kernel.stage) for kernel in inspection.kernels]
        [('tanh', 'forward'), ('tanh_backward', 'backward')]
        >>> print(inspection.kernels[0].python)
        \"\"\"tanh: one pass over memory, computed in float32.\"\"\"
        <BLANKLINE>
        from numpy import float32
        <BLANKLINE>
        from numgrad_kernels.scalar import tanh
        <BLANKLINE>
        <BLANKLINE>
        def kernel(input, out):
            for i in range(out.shape[0]):
                input_i = input[i]
                out[i] = tanh(input_i)
        <BLANKLINE>
        >>> inspection.kernels[0].types
        {'input': 'array(float32, 1d, C)', 'out': 'array(float32, 1d, C)'}
        >>> inspection.kernels[0].bytes
        8000
    """
    if isinstance(subject, Kernel | Node) and (args or kwargs):
        raise TypeError(f"numgrad.inspect: a {type(subject).__name__} takes no arguments")
    if isinstance(subject, Kernel):
        return Inspection(f"kernel {subject.name}", [InspectedKernel(subject.name, "", subject)])
    compiled = compiled_of(subject)
    if compiled is not None:
        if args or kwargs:
            subject(*args, **kwargs)
        return ProgramInspection(compiled)
    if isinstance(subject, Node):
        return node_inspection(subject)
    if isinstance(subject, Tensor):
        raise TypeError("numgrad.inspect takes a tensor's grad_fn, not the tensor: numgrad.inspect(tensor.grad_fn)")
    if isinstance(subject, type):
        raise TypeError(
            f"numgrad.inspect: calling the class {subject.__name__} only makes an object; pass a "
            "module, or a Function's apply, with arguments"
        )
    if isinstance(subject, str):
        subject = function_named(subject)
    elif not callable(subject):
        raise TypeError(f"numgrad.inspect: a {type(subject).__name__} has no kernels")
    method = isinstance(getattr(subject, "__self__", None), Tensor)
    if not args and not kwargs and only_computes(subject) and not method:
        return inspect_example(subject)
    return inspect_call(_title(subject, args), subject, args, kwargs)


def inspect_example(
    subject: Callable[..., Any] | str, size: int = SIZE, dtype: dtype = float32, device: str = "cpu"
) -> Inspection:
    """Inspect a function of numgrad's, given itself or by name, on an example of about ``size`` elements.

    On "cuda" without a GPU, kernels are made but not run, so they have no times.

    Raises:
        TypeError: no example is known.
        ValueError: there is no operation of this name.
    """
    function = function_named(subject) if isinstance(subject, str) else subject
    name = function.__name__.lstrip("_")
    try:
        args = example(name, function, size, dtype, device)
        try:
            return inspect_call(_title(function, args), function, args, {})
        except RuntimeError:  # it has no derivative, or changes its argument in place, which a leaf forbids
            args = tuple([arg.detach() if isinstance(arg, Tensor) else arg for arg in args])
            return inspect_call(_title(function, args), function, args, {})
    except (TypeError, RuntimeError, IndexError, ValueError) as error:
        raise TypeError(
            f"numgrad.inspect has no example for {name} ({error}): call it with arguments, numgrad.inspect({name}, ...)"
        ) from error


def _title(function: Any, args: tuple[Any, ...]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    bound = getattr(function, "__self__", None)  # of a method
    arguments = [bound, *args] if isinstance(bound, Tensor) else args
    return f"{name.lstrip('_').removesuffix('_op')}({', '.join(map(_described, arguments))})"


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{list(value.shape)} {value._layout.type.dtype.name}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_described, value))}]"
    return str(value) if isinstance(value, bool | int | float | complex | str) else type(value).__name__
