"""``numgrad.inspect``: the kernels of a computation, from Python text to machine code, with their speed."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable
from inspect import signature
from typing import Any

from ...autograd.node import Node
from ...core.tensor import Tensor
from ...core.types import bool_, dtype, float32, int64
from ...devices import Kernel
from ...ops import ops, public_functions
from ...ops.table.callables import function_of
from ...ops.table.elementwise import Pointwise
from ...random import Generator
from ..programs.description import compiled_of
from ..programs.report import ProgramInspection
from .calls import inspect_call, node_inspection, only_computes
from .kernels import InspectedKernel, Inspection

__all__ = ["InspectedKernel", "Inspection", "inspect", "inspect_example"]

#: The number of elements of the tensors of an example.
SIZE = 1_000_000


class _Template:
    """A placeholder for a tensor of an example, made once its size is known; other arguments are used as they are."""


_ROW, _VECTOR, _MATRIX, _STACK, _BOOLEANS, _INDICES = (_Template() for _ in range(6))

#: The arguments of operations whose parameter names do not determine an example.
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["dot", "vdot"], (_ROW, _ROW)),
    **dict.fromkeys(["outer", "ger"], (_VECTOR, _VECTOR)),
    **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "logsumexp"], (_MATRIX, -1)),
    **dict.fromkeys(["softmax", "log_softmax"], (_MATRIX, -1)),
    **dict.fromkeys(["cat", "concat", "stack"], ([_MATRIX, _MATRIX],)),
    **dict.fromkeys(["clamp", "clip"], (_ROW, 0.25, 0.75)),
    **dict.fromkeys(["hstack", "vstack", "row_stack", "dstack", "column_stack"], ([_MATRIX, _MATRIX],)),
    **dict.fromkeys(["chunk", "split", "topk", "kthvalue"], (_MATRIX, 2)),
    "addmv": (_VECTOR, _MATRIX, _VECTOR), "baddbmm": (_STACK, _STACK, _STACK), "bmm": (_STACK, _STACK),
    "dropout": (_ROW, 0.5, True), "flip": (_MATRIX, 0), "gather": (_MATRIX, -1, _INDICES),
    "layer_norm": (_MATRIX, (_VECTOR,)), "lerp": (_ROW, _ROW, 0.5), "masked_fill": (_MATRIX, _BOOLEANS, 0.0),
    "mv": (_MATRIX, _VECTOR), "pow": (_ROW, 3.0), "prelu": (_MATRIX, _VECTOR), "rms_norm": (_MATRIX, (_VECTOR,)),
    "roll": (_MATRIX, 1), "scatter_add": (_MATRIX, -1, _INDICES, _MATRIX), "take_along_dim": (_MATRIX, _INDICES, -1),
    "where": (_BOOLEANS, _MATRIX, _MATRIX),
}

#: Unannotated parameters that are tensors.
_TENSORS = ("input", "other", "self", "tensor", "x", "y")


def inspect(subject: Any, *args: Any, **kwargs: Any) -> Inspection | ProgramInspection:
    """Show the kernels that a computation runs, their code and their run times.

    Each kernel has its generated Python text, Numba's types, LLVM's code and the machine code with its vector width,
    the text for NVIDIA's GPUs and their assembly, PTX (for pointwise kernels; PTX needs the extra ``cuda``), and the
    time, bytes and bandwidth of its last run.  A kernel that was loaded from disk is compiled again, in memory, when
    its machine code is requested.  A kernel that ran on a GPU has its text, its PTX and its time by the GPU's clock.

    Operations of numgrad run three times, because the first run meets cold memory, unless they change their arguments
    or draw random numbers.  Everything else runs once, with the effects of an ordinary call on tensors and the random
    state.  Only kernels that run in the calling thread are inspected.

    Args:
        subject: one of

            - a function of numgrad's, a method of a tensor, a module, or a user's function: it is called with the other
              arguments, and backward passes gradients of ones to those that require a gradient, without accumulating
              them and without calling the hooks of these tensors;
            - such a function of numgrad's, or its name, without arguments: it is called with an example, a row of a
              million float32 for pointwise operations, a matrix of a million for most others;
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
            f"numgrad.inspect: to call the class {subject.__name__} makes an object and computes nothing; give it a "
            "module, or a Function's apply, with arguments"
        )
    if isinstance(subject, str):
        subject = _named(subject)
    elif not callable(subject):
        raise TypeError(f"numgrad.inspect: a {type(subject).__name__} is nothing that has kernels")
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
    function = _named(subject) if isinstance(subject, str) else subject
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


def _named(name: str) -> Callable[..., Any]:
    """Return the function of numgrad's with this name, or the op table's entry for it.

    Raises:
        ValueError: there is none.
    """
    from ... import linalg, special  # only for the lookup: most inspections need neither
    from ...nn import functional

    known = {key: getattr(space, key) for space in (linalg, special, functional) for key in space.__all__}
    known |= public_functions
    if name in known:
        return known[name]
    op: Any = ops.get(name) or ops.get(f"{name}_op")
    if op is None:
        near = difflib.get_close_matches(name, sorted({*known, *ops}), 3)
        raise ValueError(f"numgrad has no operation '{name}'{': ' * bool(near)}{', '.join(near)}")
    if isinstance(op, Pointwise):
        function: Any = function_of(op)
    else:
        function = functools.wraps(op.function)(lambda *args: op(*args))
    function.op = op
    return function


def _title(function: Any, args: tuple[Any, ...]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    own = getattr(function, "__self__", None)  # of a method
    given = [own, *args] if isinstance(own, Tensor) else args
    return f"{name.lstrip('_').removesuffix('_op')}({', '.join(map(_described, given))})"


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{list(value.shape)} {value._layout.type.dtype.name}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_described, value))}]"
    return str(value) if isinstance(value, bool | int | float | complex | str) else type(value).__name__


def example(
    name: str, function: Callable[..., Any], size: int = SIZE, dtype: dtype = float32, device: str = "cpu"
) -> tuple[Any, ...]:
    """Return arguments for an operation: tensors of about ``size`` elements, in a single row for pointwise operations.

    The arguments require a gradient if their dtype allows it.

    Raises:
        TypeError: no argument is known for one of the parameters.
    """
    op = getattr(function, "op", None)
    plain = name.removesuffix("_")
    if name != plain and plain in public_functions:  # in place
        return example(plain, public_functions[plain], size, dtype, device)
    if name in _ARGUMENTS:
        return tuple([_made(value, size, dtype, device) for value in _ARGUMENTS[name]])
    if isinstance(op, Pointwise):
        whole = dtype.is_floating_point and "f" not in op.dtypes
        usual = int64 if whole else dtype
        return tuple([_tensor((size,), bool_ if n in op.conditions else usual, device) for n in op.inputs])
    arguments = []
    for parameter in signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(f"nothing is known of its parameter '*{parameter.name}'")
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            break
        if "Tensor" not in str(parameter.annotation) and parameter.name not in _TENSORS:
            raise TypeError(f"nothing is known of its parameter '{parameter.name}'")
        arguments.append(_made(_MATRIX, size, dtype, device))
    return tuple(arguments)


def _made(value: Any, size: int, dtype: dtype, device: str) -> Any:
    """Return an argument of an example."""
    side = max(math.isqrt(size), 1)
    shapes = {_ROW: (size,), _VECTOR: (side,), _STACK: (4, side // 2, side // 2)}
    if isinstance(value, list):
        return [_made(part, size, dtype, device) for part in value]
    if value == (_VECTOR,):  # a shape
        return (side,)
    if value is _INDICES:
        return public_functions["zeros"](side, side, dtype=int64, device=device)
    if not isinstance(value, _Template):
        return value
    return _tensor(shapes.get(value, (side, side)), bool_ if value is _BOOLEANS else dtype, device)


def _tensor(shape: tuple[int, ...], dtype: dtype, device: str) -> Tensor:
    """Return reproducible numbers between 0 and 1; ones for a dtype without derivatives."""
    if not dtype.differentiable:
        return public_functions["full"](shape, 1, dtype=dtype, device=device)
    numbers = public_functions["rand"](shape, generator=Generator().manual_seed(0), dtype=dtype)
    return numbers.to(device).requires_grad_()
