"""Plans: the kernels that a call runs for tensors of given layouts, as data.

Note [Plans]
An operation decides from the layouts of its operands which kernels a call runs.  It builds a ``Plan`` of them.  Its
operands are ``TensorRef``.  ``new`` makes a new buffer.  ``contiguous`` returns the elements of a tensor in row-major
order, and adds a copy if they are in another order.  ``run``, ``pointwise``, ``host`` and ``call`` add runs of kernels,
of pointwise programs and of Python functions.  A plan allocates nothing and holds no closure.  An operation that builds
on another one calls that operation's function with its own plan and tensors.  If the sizes of results depend on values,
a host function makes buffers without a size (``unsized``), and the last one, which ``returns_from`` adds, returns the
layouts of the results with their memory.

``interpret`` in ``interpreter`` runs a plan step by step.  It defines the meaning of a plan, and is the fastest way to
run a plan once.  A device's ``bind`` turns a plan that runs again into a straight-line function.

A device's functions that add steps take the same parameters on all devices.  Each device chooses its kernels and their
operands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.facts import facts_of
from numgrad_kernels.halves import computed
from numgrad_kernels.pointwise import PointwiseProgram

from ..core.layout import Layout, layout_of
from .common import copy_program, filler
from .memory import check_countable
from .operands import (
    Array,
    Bounds,
    Buffer,
    GeneratorState,
    Given,
    Input,
    InputNumber,
    New,
    Offset,
    Report,
    Scaled,
    SizeOf,
    Storage,
    TensorRef,
)

__all__ = [
    "Array",
    "Bounds",
    "Buffer",
    "GeneratorState",
    "Given",
    "HandWritten",
    "HostStep",
    "Input",
    "InputNumber",
    "New",
    "Offset",
    "Plan",
    "PointwiseKernel",
    "Report",
    "Scaled",
    "SizeOf",
    "Step",
    "Storage",
    "TensorRef",
    "pointwise_plan",
]


class HandWritten(NamedTuple):
    """Kernel of ``numgrad_kernels`` for one dtype, with ``parts`` instead of the names that its text refers to."""

    function: Callable[..., None]
    compute: np.dtype
    parts: tuple[tuple[str, Any], ...] = ()


class PointwiseKernel(NamedTuple):
    """Kernel of a pointwise program in one of a device's forms."""

    program: PointwiseProgram
    form: Any


class Step(NamedTuple):
    """One run of a kernel.

    Attributes:
        kernel: ``HandWritten`` or ``PointwiseKernel``.
        operands: the kernel's arguments, in order.
        work: number of elements that the kernel's threads share.
        reports: the error that the kernel may report.
        one_thread: True if BLAS must not use threads of its own.
        grid: blocks and threads per block on a GPU; None if they follow from ``work``.
        aligned: on a GPU, the kernel and its work for operands of which four elements can be read at once.
    """

    kernel: HandWritten | PointwiseKernel
    operands: tuple[Any, ...]
    work: int = 0
    reports: Bounds | None = None
    one_thread: bool = False
    grid: tuple[int, int] | None = None
    aligned: Any = None


class HostStep(NamedTuple):
    """One call of a Python function.

    Attributes:
        function: returns the memory of ``outputs`` in a tuple, or None if there are none.
        operands: the function's arguments, in order.
        outputs: new buffers or tensors that the function makes.
        written: operands that the function writes to.
        is_check: True if the function raises what a kernel has reported; recorded programs check reports themselves.
        is_last: True if the function returns the layout of the plan's result and its memory, or those of several
            results in two tuples, as their sizes depend on values.
    """

    function: Callable[..., Any]
    operands: tuple[Any, ...]
    outputs: tuple[Any, ...] = ()
    written: tuple[Any, ...] = ()
    is_check: bool = False
    is_last: bool = False


#: Makers of operands that many plans have in common; caching them saves time.
_input, _storage, _offset = [functools.lru_cache(maxsize=256)(kind) for kind in (Input, Storage, Offset)]


class Plan:
    """Steps of a call for tensors of certain layouts.

    Attributes:
        backend: package of the device.
        device: number of the GPU; None for the CPU.
        steps: the steps, in the order in which they run.
        results: buffers of the results; empty for a call in place.
        layouts: layouts of the results; None if they depend on values.
        count: number of operands of a launch.
    """

    __slots__ = ("_bound", "_has_run", "backend", "count", "device", "layouts", "results", "steps")

    def __init__(self, backend: Any, device: int | None = None):
        self.backend = backend
        self.device = device
        self.steps: list[Step | HostStep] = []
        self.results: tuple[Buffer, ...] = ()
        self.layouts: tuple[Layout, ...] | None = ()
        self.count = 0
        self._bound: Callable[..., Any] | None = None
        self._has_run = False

    # -- operands ----------------------------------------------------------------------------------------------------

    def operand(self, kind: Any) -> Any:
        """Return the next operand of a launch: a tensor of the given layout or a number of the given class, or None."""
        number = self.count
        self.count += 1
        if kind.__class__ is Layout:
            return TensorRef(_input(number), kind)
        return None if kind is None else Given(number, kind)

    def new(self, size: int, dtype: np.dtype, zeroed: bool = False) -> Buffer:
        """Return a new buffer of ``size`` elements."""
        return Buffer(New(size, dtype, (size,), zeroed), size, dtype)

    def unsized(self, dtype: np.dtype) -> Buffer:
        """Return a new buffer whose size the host function that makes it chooses."""
        return Buffer(New(None, dtype, ()), None, dtype)

    def new_tensor(self, layout: Layout, zeroed: bool = False) -> TensorRef:
        """Return a new tensor of a layout without gaps.

        Raises:
            RuntimeError: the number of its bytes exceeds the largest int64.
        """
        check_countable(layout.shape, layout.type.numpy)
        return TensorRef(New(layout.size, layout.type.numpy, layout.shape, zeroed), layout)

    def contiguous(self, tensor: TensorRef, dtype: Any = None) -> Buffer:
        """Return the elements of a tensor in row-major order, converted to ``dtype``, as a buffer: a copy if needed."""
        layout = tensor.layout
        if layout.contiguous and (dtype is None or dtype is layout.type.dtype):
            return Buffer(tensor.memory, layout.size, layout.type.numpy, tensor.start)
        type = layout.type if dtype is None else layout.type.with_dtype(dtype)
        copy = self.new_tensor(layout_of(type, layout.shape))
        self.pointwise(copy_program(layout.type.numpy, type.numpy), [tensor], copy)
        return Buffer(copy.memory, layout.size, type.numpy)

    def packed(self, tensor: TensorRef) -> TensorRef:
        """Return a tensor if it is contiguous, otherwise a contiguous copy."""
        return self.tensor(self.contiguous(tensor), tensor.type, tensor.shape)

    def strided(self, tensor: TensorRef) -> tuple[Any, Any]:
        """Return the memory of a tensor and the position of its first element, for a kernel that takes strides."""
        memory, layout, start = tensor
        if memory.__class__ is Input:
            return _storage(memory.number, layout.type.numpy), _offset(memory.number, start)
        return Buffer(memory, memory.size, layout.type.numpy), start

    def onward(self, tensor: TensorRef) -> Buffer:
        """Return the memory that begins with a tensor's first element, for a kernel that takes strides alone."""
        memory, layout, start = tensor
        return Buffer(memory, None if memory.__class__ is Input else memory.size - start, layout.type.numpy, start)

    def tensor(self, buffer: Buffer, type: Any, shape: tuple[int, ...]) -> TensorRef:
        """Return a buffer's elements as a contiguous tensor."""
        memory = buffer.memory
        if memory.__class__ is New and buffer.size == memory.size:
            memory.shape = shape
        return TensorRef(memory, layout_of(type, shape), buffer.start)

    # -- steps -------------------------------------------------------------------------------------------------------

    def run(
        self, function: Callable[..., None], compute: np.dtype, *operands: Any, work: int = 0,
        reports: Bounds | None = None, one_thread: bool = False, grid: tuple[int, int] | None = None,
        aligned: Any = None, **parts: Any,
    ) -> None:
        """Add the run of a hand-written kernel, unless all buffers that it writes are empty.

        On a GPU, the kernel also has the parts ``aligned`` if four elements can be read at once.
        """
        for number in (written := _written(function)):
            operand = operands[number]
            if operand.__class__ is not Buffer or operand.size != 0:
                break
        else:
            if written:
                return
        kernel = HandWritten(function, compute, tuple(parts.items()))
        packed = aligned and (HandWritten(function, compute, tuple((parts | aligned).items())), work)
        self.steps.append(Step(kernel, operands, work, reports, one_thread, grid, packed))

    def pointwise(self, program: PointwiseProgram, operands: Sequence[Any], *outs: TensorRef) -> None:
        """Add one pass of a program that reads tensors, numbers and values, and writes ``outs``."""
        layouts = [operand.layout for operand in (*operands, *outs) if operand.__class__ is TensorRef]
        self.run_over(program, (*operands, *outs), layouts, are_flat(layouts))

    def run_over(
        self, program: PointwiseProgram, operands: Sequence[Any], layouts: Sequence[Layout], flat: bool
    ) -> None:
        """Add one pass of a program over tensors of these layouts, numbers and values; the outputs are last."""
        size = layouts[-1].size
        if flat:
            self.over_buffers(program, operands, size)
        elif size:
            self.backend.nest_step(self, program, operands, layouts)

    def assign(self, source: TensorRef, target: TensorRef) -> None:
        """Add a step that overwrites a tensor with the elements of another, broadcast and converted."""
        if target.size:
            self.backend.copy_step(self, copy_program(source.type.numpy, target.type.numpy), source, target)

    def over_buffers(self, program: PointwiseProgram, operands: Sequence[Any], size: Any) -> None:
        """Add a step that runs a program on contiguous tensors of one size, numbers and values; outputs are last."""
        if not size:
            return
        buffers: list[Any] = []
        for operand in operands:
            if operand.__class__ is TensorRef:
                memory, layout, start = operand
                written = len(buffers) >= len(operands) - len(program.outputs)
                operand = Buffer(memory, size if written or memory.__class__ is New else None, layout.type.numpy, start)
            buffers.append(operand)
        self.backend.row_step(self, program, buffers, size)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Add a step that copies a buffer to another of the same size, converted to its dtype."""
        if source.size:
            program = copy_program(source.dtype, target.dtype)
            self.backend.row_step(self, program, [source, target], source.size)

    def widened(self, buffer: Buffer) -> Buffer:
        """Return a float32 copy of a buffer of float16 or bfloat16."""
        wide = self.new(buffer.size, computed(buffer.dtype))
        self.copy(buffer, wide)
        return wide

    def fill(self, buffer: Buffer, value: Any) -> None:
        """Add a step that fills a buffer with a number, which may come with the call."""
        if buffer.size:
            kind = value.kind if value.__class__ is Given else value.__class__
            self.backend.row_step(self, filler(kind, buffer.dtype), [value, buffer], buffer.size)

    def host(self, function: Callable[..., Any], outs: Sequence[Layout] | Sequence[Buffer], *operands: Any) -> Any:
        """Add the call of a host function that returns the memory of ``outs`` in a tuple; return these operands."""
        result = tuple([self.new_tensor(out) if out.__class__ is Layout else out for out in outs])
        self.steps.append(HostStep(function, operands, result))
        return result

    def check(self, function: Callable[..., None], *operands: Any) -> None:
        """Add the call of a host function that raises the error that a kernel has reported in its operands."""
        self.steps.append(HostStep(function, operands, is_check=True))

    def call(self, function: Callable[..., None], *operands: Any, written: tuple[Any, ...] = ()) -> None:
        """Add the call of a host function that returns None; it may raise, or write to the operands ``written``."""
        self.steps.append(HostStep(function, operands, written=written))

    def returns(self, *results: TensorRef) -> Plan:
        """Finish the plan with these results, or with none if the call is in place."""
        self.layouts = tuple([result.layout for result in results])
        self.results = tuple([
            Buffer(memory, _extent(memory, layout, start), layout.type.numpy, start)
            for memory, layout, start in results
        ])
        self.backend.simplify(self)
        return self

    def returns_from(self, function: Callable[..., Any], *operands: Any) -> Plan:
        """Finish the plan with results of a host function, whose sizes depend on values: see ``HostStep``."""
        self.steps.append(HostStep(function, operands, is_last=True))
        self.layouts = None
        return self

    @property
    def layout(self) -> Any:
        """Layout of the result, or a tuple of several; None if they depend on values."""
        return self.layouts if self.layouts is None or len(self.layouts) != 1 else self.layouts[0]

    # -- running -----------------------------------------------------------------------------------------------------

    def __call__(self, *operands: Any) -> Any:
        """Run the plan on the operands of a call, and return the memory of its results.

        The first call runs step by step, and the second one binds the plan.
        """
        if not self._has_run:
            self._has_run = True
            return self.interpret(*operands)
        return (self._bound or self.launcher())(*operands)

    def interpret(self, *operands: Any) -> Any:
        """Run the plan step by step on the operands of a call, and return the memory of its results."""
        return self.backend.interpret(self, operands)

    @property
    def is_bound(self) -> bool:
        """True if the plan has a straight-line launcher, as it runs more than once."""
        return self._bound is not None

    def launcher(self, again: bool = True) -> Callable[..., Any]:
        """Return the function that runs the plan: a straight-line one if it will run ``again``."""
        if self._bound is None and again:
            self._bound = self.backend.bind(self)
        return self._bound or self


def pointwise_plan(
    program: PointwiseProgram, operand_layouts: Sequence[Any], outs: Sequence[Layout], into: bool = False,
    checks: Sequence[tuple[Callable[..., None], Sequence[int]]] = (),
) -> Plan:
    """Return the plan of one pass of a program.

    Args:
        program: the pointwise program.
        operand_layouts: layouts of the tensors and classes of the numbers that the program reads.  If an argument of
            the program is a scalar, the launch reads the tensor's one value.
        outs: layouts of the results.
        into: if True, a launch takes the tensors to overwrite after the operands; otherwise the plan makes new tensors.
        checks: functions that raise errors before the pass, with the positions of their operands.
    """
    first = outs[0]
    check_countable(first.shape, first.type.numpy)
    forms = "".join([
        "n" if value.__class__ is not Layout else "v" if argument.scalar else "a"
        for value, argument in zip(operand_layouts, program.arguments, strict=True)
    ])
    layouts = [*[operand for operand, form in zip(operand_layouts, forms, strict=True) if form == "a"], *outs]
    flat = are_flat(layouts)
    shared = flat and not checks and (into or "a" in forms) and first.type.backend.is_small(program, layouts)
    if shared and (cached := program.plans.get((forms, into))):
        cached.launcher()  # bound once for all sizes
        return cached
    p = Plan(first.type.backend, first.type.device.index)
    operands = [p.operand(operand) for operand in operand_layouts]
    if "v" in forms:
        operands = [InputNumber(n) if form == "v" else operands[n] for n, form in enumerate(forms)]
    for check, numbers in checks:
        p.call(check, *map(Given, numbers))
    targets = [p.operand(out) if into else p.new_tensor(out) for out in outs]
    if shared:
        size = SizeOf(len(operand_layouts) if into else forms.index("a"))
        for target in () if into else targets:
            target.memory.size = size
        p.over_buffers(program, (*operands, *targets), size)
    else:
        p.run_over(program, (*operands, *targets), layouts, flat)
    p.returns(*() if into else targets)
    if shared:
        program.plans[forms, into] = p  # once it is complete, as other threads may run it at once
    return p


def _extent(memory: Any, layout: Layout, start: Any) -> Any:
    """Return the number of elements that a result keeps: all new memory from its start, unless it has no gaps."""
    if memory.__class__ is New and (memory.size.__class__ is SizeOf or not layout.contiguous):
        size: Any = memory.size
        return size - start if start else size
    return layout.size


@functools.cache
def _written(function: Callable[..., None]) -> tuple[int, ...]:
    """Return the positions, among its operands, of the arrays that a hand-written kernel writes."""
    facts = facts_of(function, np.dtype(np.float32))
    names = facts.written - facts.reports
    return tuple([number for number, name in enumerate(facts.parameters) if name in names])


def are_flat(layouts: Sequence[Layout]) -> bool:
    """Return True if tensors of these layouts are contiguous and of one shape."""
    shape = layouts[-1].shape
    return all(layout.contiguous and layout.shape == shape for layout in layouts)
