"""Loop templates: generate the text of a pointwise op's kernel from its scalar functions.

There is one loop shape: a nest over the dimensions that remain once adjacent ones are merged (contiguous arrays of one
shape make one flat loop).  The parallel form cuts the first dimension into fixed pieces.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from . import scalar
from .buffer_types import BufferType, ElementBufferType
from .facts import Facts
from .formulas import Formula
from .halves import NARROWING, WIDENING, passed
from .inline import Inliner

#: Elements per piece of a parallel loop: fixed, so that results cannot depend on the number of threads.
BLOCK = 4096

#: Elements that a loop over arrays of any strides processes at once.
LANES = 64

#: Names that a kernel's text uses itself, which no variable may have.
_OWN_NAMES = {
    *["bool_", "call", "high", "i", "inf", "kernel", "loop", "low", "max", "min", "nan", "nest", "njit", "piece"],
    *["count", "cuda", "left", "load4", "local_array", "n", "prange", "quads", "quotient", "range", "rest", "row"],
    *["block_row", "element_row", "rows", "sizes", "start", "step", "store4", "view"],
    *["divisor", "half", "part", "report", "thread", "total"],
    *[f"{letter}{axis}" for letter in "in" for axis in range(64)],
    *[np.dtype(code).name for code in np.typecodes["All"]],
    *vars(scalar),
}


#: Suffix of the names of variables that belong to another variable: ``x_s0`` is a stride of ``x``.
_NUMBERED = re.compile(r"_[qs][0-9]+$")


def _with_ends(name: str) -> set[str]:
    """Return the name of an operand or output, and those of the variables that belong to it."""
    return {name, *[f"{name}_{end}" for end in "bimoqr"]}


#: The scalar functions that cost no more than loading their operands from memory.
_CHEAP = frozenset([
    *["abs", "ceil", "conj", "copysign", "floor", "isinf", "isnan", "maximum", "minimum", "round", "rounded"],
    *["sign", "trunc", *WIDENING.values(), *NARROWING.values()],
])


@dataclass(frozen=True)
class Operand:
    """An input of a program.

    An array has a ``dtype``.  A Python number passed at run time is a ``scalar``, whose ``dtype`` is the one it is
    passed in.  A ``constant`` is written into the text.  ``cast`` is False for a value read without conversion (a
    condition).
    """

    name: str
    dtype: np.dtype | None = None
    scalar: bool = False
    constant: Any = None
    cast: bool = True


@dataclass(frozen=True)
class PointwiseProgram:
    """Scalar functions fused in one pass over memory.

    ``functions`` contains for each output the scalar function that computes it, or one formula for all of them;
    parameters are found by name among ``inputs``.  Everything is computed in ``compute`` and stored in the output's own
    dtype.  ``probabilities`` are inputs whose elements must be in [0, 1], with the message of the error otherwise:
    kernels for GPUs report it, those for the CPU rely on an earlier step.
    """

    name: str
    compute: np.dtype
    inputs: tuple[Operand, ...]
    outputs: tuple[tuple[str, np.dtype], ...]
    functions: tuple[Callable[..., Any] | Formula, ...]
    probabilities: tuple[tuple[str, str], ...] = ()
    #: Storage for the device: the program's kernels, and plans that serve contiguous tensors of all small sizes.
    kernels: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    plans: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @functools.cached_property
    def variables(self) -> dict[str, str]:
        """The names of the inputs in the kernel's text: their own, unless the text uses those itself."""
        reserved = _OWN_NAMES.union(*[_with_ends(name) for name, _ in self.outputs])
        result = {}
        for operand in self.inputs:
            variable = operand.name
            while not reserved.isdisjoint(used := _with_ends(variable)) or _NUMBERED.search(variable):
                variable += "_"
            reserved |= used
            result[operand.name] = variable
        return result

    @functools.cached_property
    def arrays(self) -> tuple[str, ...]:
        """The variables of the arrays that the kernel reads."""
        return tuple([self.variables[i.name] for i in self.arguments if not i.scalar])

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        """The variables of the arrays that the kernel writes."""
        return tuple([name for name, _ in self.outputs])

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of the kernel: inputs, then outputs that are not among them."""
        return tuple(dict.fromkeys([*[self.variables[i.name] for i in self.arguments], *self.written]))

    @functools.cached_property
    def all_arrays(self) -> tuple[str, ...]:
        """The variables of all arrays: those that the kernel reads, then the others that it writes."""
        return tuple(dict.fromkeys(self.arrays + self.written))

    @property
    def row_maker(self) -> str:
        """The name of the function that makes a row of an array's elements along the last dimension."""
        return "element_row" if len(self.outputs) == 1 else "row"

    def row_text(self, name: str, indices: str) -> str:
        """Return the text of the row of an array at these indices."""
        return f"{self.row_maker}({name}, {indices})"

    def row_type(self, name: str, dtype: np.dtype) -> BufferType:
        """Return Numba's type of the row of an array."""
        return (ElementBufferType if len(self.outputs) == 1 else BufferType)(from_dtype(passed(dtype)))

    @functools.cached_property
    def body(self) -> tuple[list[str], frozenset[str]]:
        """The statements that compute one element of each output, and the scalar functions they call."""
        statements, imports = _body(self)
        for name, dtype in self.outputs:
            if dtype in NARROWING:
                target = re.compile(rf"^( *{name}\[@\]) = (.*)$")
                statements = [target.sub(rf"\1 = {NARROWING[dtype]}(\2)", line) for line in statements]
                imports.add(NARROWING[dtype])
        imports |= {WIDENING[i.dtype] for i in self.arguments if i.dtype in WIDENING}
        return statements, frozenset(imports)

    @functools.cached_property
    def weight(self) -> int:
        """The approximate work per element: 1, plus 1 for each expensive function such as exp, more with loops."""
        statements, imports = self.body
        loops = any(line.lstrip().startswith(("for ", "while ")) for line in statements)
        return (1 + len(imports - _CHEAP)) * (16 if loops else 1)

    @functools.cached_property
    def branches(self) -> bool:
        """True if a statement of an element contains other statements, as ``if`` does."""
        return any(line.startswith(" ") for line in self.body[0])

    @functools.cached_property
    def arguments(self) -> tuple[Operand, ...]:
        """The inputs that the kernel takes: all except those written into its text."""
        return tuple([i for i in self.inputs if i.dtype is not None])


def argument_types(program: PointwiseProgram) -> tuple[types.Type, ...]:
    """Return Numba's types of the arguments of the kernel over buffers: inputs, then outputs."""
    dtypes = dict(program.outputs)
    for i in program.arguments:
        assert i.dtype is not None
        dtypes[program.variables[i.name]] = i.dtype
    return tuple([
        program.row_type(name, dtypes[name]) if name in program.all_arrays else from_dtype(dtypes[name])
        for name in program.parameters
    ])


def nest_types(program: PointwiseProgram) -> tuple[types.Type, ...]:
    """Return Numba's types of the arguments of the kernel over a nest of loops."""
    types_of_one: list[Any] = []
    for kind in argument_types(program):
        types_of_one += [kind, types.int64] if isinstance(kind, BufferType) else [kind]
    return (*types_of_one, BufferType(types.int64))


def kernel_text(program: PointwiseProgram, rank: int, parallel: bool, inner: str = "", nest: bool = False) -> str:
    """Return the module text of the program's kernel over arrays of ``rank`` dimensions (1 or more).

    With ``nest`` the kernel takes each array as a buffer and the number of its first element there.  The last argument
    is the array ``nest``: the sizes of the loops, then for each array, inputs and then outputs, its steps in elements.

    ``inner`` may contain a letter for each array, inputs and then outputs: "c" if its elements are contiguous in the
    innermost loop, "r" if it repeats one element there, "a" if it has any stride.  LLVM generates better code for the
    first two; mathematics on the third goes through small buffers.
    """
    variables, outputs = program.variables, program.written
    arrays = program.all_arrays
    scalars = [i for i in program.arguments if i.scalar]
    body, imports = program.body
    signature = ", ".join(program.parameters)

    lines = [f'"""{program.name}: one pass over memory, computed in {program.compute}."""', ""]
    if parallel or nest:
        lines += [f"from numba import njit{', prange' * parallel}", "from numgrad_kernels.parallel import call"]
    lines += [f"from numpy import {', '.join(numpy_names(program))}"]
    blocked = "a" in inner and program.compute.kind == "f" and not imports <= _CHEAP
    local = ["local_array"] * blocked + [program.row_maker] * ("c" in inner) + ["view"] * nest
    if local or imports:
        lines += [""]
    if local:
        lines += [f"from numgrad_kernels.local import {', '.join(local)}"]
    if imports:
        lines += [f"from numgrad_kernels.scalar import {', '.join(sorted(imports))}"]
    lines += ["", ""]

    if parallel or nest:
        lines += ["@njit"]
    lines += [f"def {'loop' if parallel or nest else 'kernel'}({signature}):"]
    for operand in scalars:
        variable = variables[operand.name]
        lines += [f"    {variable}_i = {cast(operand, variable, program.compute)}"]
    reading = _Reading(program, rank, inner or "a" * len(arrays))
    lines += reading.buffers() if blocked else []
    indent = "    "
    for axis in range(rank - 1):
        lines += [f"{indent}for i{axis} in range({outputs[0]}.shape[{axis}]):"]
        indent += "    "
    lines += [indent + line for line in reading.before]
    lines += [indent + line for line in (_block_loop if blocked else _element_loop)(program, body, reading, rank)]
    if nest:
        lines += ["", "", *_nest_of(program, rank)]
    elif parallel:
        lines += ["", "", f"def kernel({signature}):"]
    if parallel:
        lines += _pieces(signature, arrays, outputs[0], rank)
    elif nest:
        lines += [f"    call(loop, ({signature}))"]
    return "\n".join(lines) + "\n"


def flat_facts(program: PointwiseProgram) -> Facts:
    """Return the facts of the kernel over buffers."""
    return pointwise_facts(program, program.parameters, lambda args: getattr(args, program.written[0]).size)


def nest_facts(program: PointwiseProgram) -> Facts:
    """Return the facts of the kernel over a nest of loops."""
    rows = 1 + len(program.all_arrays)
    return pointwise_facts(
        program, _nest_parameters(program), lambda args: math.prod(args.nest[: args.nest.size // rows].tolist())
    )


def pointwise_facts(program: PointwiseProgram, parameters: Sequence[str], most: Callable[[Any], int]) -> Facts:
    """Return the facts of a kernel of this program, on any device."""
    read, written = frozenset(program.arrays), frozenset(program.written)
    return Facts(program.compute, tuple(parameters), read, written, most)


def _nest_parameters(program: PointwiseProgram) -> list[str]:
    arrays = program.all_arrays
    names = [(name, f"{name}_o") if name in arrays else (name,) for name in program.parameters]
    return [*itertools.chain(*names), "nest"]


def _nest_of(program: PointwiseProgram, rank: int) -> list[str]:
    """Return the first lines of a kernel over a nest of loops, which view its arrays as ``nest`` specifies."""
    lines = [f"def kernel({', '.join(_nest_parameters(program))}):"]
    lines += [f"    sizes = {_tuple([f'nest[{axis}]' for axis in range(rank)])}"]
    for number, name in enumerate(program.all_arrays, 1):
        steps = _tuple([f"nest[{number * rank + axis}]" for axis in range(rank)])
        lines += [f"    {name} = view({name}, {name}_o, sizes, {steps})"]
    return lines


def _body(program: PointwiseProgram) -> tuple[list[str], set[str]]:
    """Return statements that compute every output from variables ``<input>_i``, and the scalar functions they call."""
    names = [*program.variables.values(), *[name for name, _ in program.outputs]]
    reserved = _OWN_NAMES.union(*map(_with_ends, names))
    values = {i.name: i.constant if i.dtype is None else f"{program.variables[i.name]}_i" for i in program.inputs}
    if isinstance(program.functions[0], Formula):
        return program.functions[0].text(program.compute, values, program.written, reserved)
    inliner = Inliner(program.compute, reserved)
    results = []
    for function, (name, _) in zip(program.functions, program.outputs, strict=True):
        assert not isinstance(function, Formula)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        result = inliner.call(function, {parameter: values[parameter] for parameter in parameters})
        results.append(f"{name}[@] = {result}")
    return inliner.statements + results, inliner.imports


class _Reading:
    """Access of the innermost loop to the elements of the arrays.

    Attributes:
        before: statements to put before that loop.
        arrays: the inputs that are read in the loop, by their variables; repeated elements are read before it.
        elements: for each array the text of its element number ``@``.
    """

    def __init__(self, program: PointwiseProgram, rank: int, inner: str):
        self.program = program
        outer = [f"i{axis}" for axis in range(rank - 1)]
        inputs = dict(zip(program.arrays, [i for i in program.arguments if not i.scalar], strict=True))
        self.before: list[str] = []
        self.arrays: dict[str, Operand] = {}
        self.elements: dict[str, str] = {}
        for name, letter in zip(program.all_arrays, inner, strict=True):
            if letter == "r" and name in inputs:  # filling an expanded tensor writes one element repeatedly
                first = f"{name}[{', '.join([*outer, '0'])}]"
                self.before += [f"{name}_i = {cast(inputs[name], first, program.compute)}"]
                continue
            if letter == "c":
                self.before += [f"{name}_r = {program.row_text(name, _tuple(outer))}"]
            self.elements[name] = f"{name}_r[@]" if letter == "c" else f"{name}[{', '.join([*outer, '@'])}]"
            if name in inputs:
                self.arrays[name] = inputs[name]

    def element(self, name: str, index: str) -> str:
        """Return the text of one element."""
        return self.elements[name].replace("@", index)

    def buffers(self) -> list[str]:
        """Return statements that create a small buffer for each array."""
        dtypes = {name: _stored(operand, self.program.compute) for name, operand in self.arrays.items()}
        dtypes |= dict(self.program.outputs)
        return [f"    {name}_b = local_array({LANES}, {_dtype_name(dtype)})" for name, dtype in dtypes.items()]


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _element_loop(program: PointwiseProgram, body: list[str], reading: _Reading, rank: int) -> list[str]:
    lines = [f"for i in range({program.outputs[0][0]}.shape[{rank - 1}]):"]
    for name, operand in reading.arrays.items():
        lines += [f"    {name}_i = {cast(operand, reading.element(name, 'i'), program.compute)}"]
    for name, _ in program.outputs:
        body = [line.replace(f"{name}[@]", reading.element(name, "i")) for line in body]
    return lines + [f"    {line}" for line in body]


def _block_loop(program: PointwiseProgram, body: list[str], reading: _Reading, rank: int) -> list[str]:
    """Return a loop that moves elements through buffers, 64 at a time: LLVM vectorises no loop with unknown strides."""
    lines = [
        f"n = {program.outputs[0][0]}.shape[{rank - 1}]",
        f"for start in range(0, n, {LANES}):",
        f"    count = min({LANES}, n - start)",
    ]
    for name in reading.arrays:
        element = _widened(reading.arrays[name], reading.element(name, "start + i"))
        lines += ["    for i in range(count):", f"        {name}_b[i] = {element}"]
    lines += ["    for i in range(count):"]
    lines += [f"        {name}_i = {name}_b[i]" for name in reading.arrays]
    lines += ["        " + line.replace("[@]", "_b[i]") for line in body]
    lines += ["    for i in range(count):"]
    return lines + [f"        {reading.element(name, 'start + i')} = {name}_b[i]" for name, _ in program.outputs]


def _pieces(signature: str, arrays: tuple[str, ...], output: str, rank: int) -> list[str]:
    """Return the body of a parallel kernel: a loop over fixed pieces of the first dimension."""
    pieces = ", ".join(f"{name}[low:high]" if name in arrays else name for name in signature.split(", "))
    inner = " * ".join(f"{output}.shape[{axis}]" for axis in range(1, rank))
    step = f"max(1, {BLOCK} // max(1, {inner}))" if inner else str(BLOCK)
    return [
        f"    rows = {output}.shape[0]",
        f"    step = {step}",
        "    for piece in prange((rows + step - 1) // step):",
        "        low = piece * step",
        "        high = min(rows, low + step)",
        f"        call(loop, ({pieces}))",
    ]


def _stored(operand: Operand, compute: np.dtype) -> np.dtype:
    assert operand.dtype is not None
    return compute if operand.cast else operand.dtype


def _widened(operand: Operand, value: str) -> str:
    """Return the text of an element as a number to compute with."""
    return f"{WIDENING[operand.dtype]}({value})" if operand.cast and operand.dtype in WIDENING else value


def cast(operand: Operand, value: str, compute: np.dtype) -> str:
    if operand.cast and operand.dtype in WIDENING:
        operand, value = Operand(operand.name, np.dtype(np.float32)), _widened(operand, value)
    if not operand.cast or operand.dtype == compute:
        return value
    assert operand.dtype is not None
    if operand.dtype.kind == "c" and compute.kind != "c":
        if compute.kind == "b":
            return f"({value} != 0)"
        value = f"{value}.real"
    if _wraps(operand, compute):
        value = f"int64({value})"
    return f"{_dtype_name(compute)}({value})"


def _wraps(operand: Operand, compute: np.dtype) -> bool:
    """Return True if the operand is converted by way of int64.

    Machines convert to 32 or 64 bits, and a value that does not fit in fewer must wrap around as it does in C.
    """
    assert operand.dtype is not None
    inexact = operand.dtype.kind in "fc" or operand.dtype in WIDENING
    return operand.cast and inexact and compute.kind in "iu" and compute.itemsize < 4


def numpy_names(program: PointwiseProgram) -> list[str]:
    """Return the names that the text of a kernel needs from NumPy: dtypes and constants."""
    dtypes = {program.compute} | {dtype for _, dtype in program.outputs}
    dtypes |= {_stored(i, program.compute) for i in program.arguments}
    names = {_dtype_name(dtype) for dtype in dtypes}
    names |= {name for name in ("float32", "inf", "nan") if re.search(rf"\b{name}\b", " ".join(program.body[0]))}
    return sorted(names | {"int64" for i in program.arguments if _wraps(i, program.compute)})


def _dtype_name(dtype: np.dtype) -> str:
    return "bool_" if dtype.kind == "b" else passed(dtype).name
