"""Plans: the kernels that a call runs for tensors of given layouts, as data.

Note [Plans]
An operation decides by the layouts of its operands what a call runs.  It writes that into a ``Plan``: it takes its
operands as ``TensorRef``, asks for new buffers (``new``) and for the elements of a tensor in row-major order
(``contiguous``, which adds a copy if they do not lie so), and adds the runs of kernels (``run``), of pointwise programs
(``pointwise``) and of host functions (``host``, ``call``).  A plan allocates nothing and holds no closure.  One that
builds on another operation calls that operation's function with its own plan and tensors.  Where the sizes of results
depend on values, a host function makes buffers of any size (``unsized``), and the last one, which ``found`` adds,
returns the layouts of the results with their memory.

``interpret`` in ``interpreter`` runs a plan step by step: this defines what a plan means, and is the fastest way to run
one once.  A device's ``bind`` turns a plan that is run again into a straight-line function.

The functions of a device that add steps take the same parameters on all devices; which kernels they run, with which
operands, is theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.facts import facts_of
from numgrad_kernels.pointwise import Program

from ..core.layout import Layout, layout_of
from .common import copy_program, filler
from .memory import check_countable
from .operands import (
    Array,
    Bounds,
    Buffer,
    Given,
    Input,
    New,
    Offset,
    Report,
    Scaled,
    SizeOf,
    State,
    Storage,
    TensorRef,
    Value,
)

__all__ = [
    "Array", "Bounds", "Buffer", "Given", "HandWritten", "HostStep", "Input", "New", "Offset", "Plan", "Pointwise",
    "Report", "Scaled", "SizeOf", "State", "Step", "Storage", "TensorRef", "Value", "pointwise_plan",
]


class HandWritten(NamedTuple):
    """A kernel of ``numgrad_kernels`` for one dtype, with ``parts`` in place of its own functions of these names."""

    function: Callable[..., None]
    compute: np.dtype
    parts: tuple[tuple[str, Any], ...] = ()


class Pointwise(NamedTuple):
    """The kernel of a pointwise program in one of a device's forms."""

    program: Program
    form: Any


class Step(NamedTuple):
    """One run of a kernel.

    Attributes:
        kernel: ``HandWritten`` or ``Pointwise``.
        operands: the kernel's arguments, in order.
        work: number of elements that the kernel's threads share.
        reports: the error that the kernel may report.
        one_thread: True if BLAS must not use threads of its own.
        grid: blocks and threads per block on a GPU; None if they follow from ``work``.
        aligned: on a GPU, the kernel and its work for operands of which four elements can be read at once.
    """

    kernel: HandWritten | Pointwise
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


#: Operands that plans have in common, made once: it takes less time.
_input, _storage, _offset = [functools.lru_cache(maxsize=256)(kind) for kind in (Input, Storage, Offset)]


class Plan:
    """The steps of a call for tensors of certain layouts.

    Attributes:
        backend: the package of the device.
        device: number of the GPU; None for the CPU.
        steps: in the order in which they run.
        results: buffers of the results, in a tuple; empty for a call in place.
        layouts: those of the results; None where they depend on values.
        count: how many operands a launch has.
    """

    __slots__ = ("_bound", "backend", "count", "device", "layouts", "results", "steps")

    def __init__(self, backend: Any, device: int | None = None):
        self.backend = backend
        self.device = device
        self.steps: list[Step | HostStep] = []
        self.results: tuple[Buffer, ...] = ()
        self.layouts: tuple[Layout, ...] | None = ()
        self.count = 0
        self._bound: Callable[..., Any] | None = None

    # -- operands ----------------------------------------------------------------------------------------------------

    def operand(self, given: Any) -> Any:
        """The next operand of a launch: a tensor of a layout, or a number of a class; None where there is none."""
        number = self.count
        self.count += 1
        if given.__class__ is Layout:
            return TensorRef(_input(number), given)
        return None if given is None else Given(number, given)

    def new(self, size: int, dtype: np.dtype, zeroed: bool = False) -> Buffer:
        """A new buffer."""
        return Buffer(New(size, dtype, (size,), zeroed), size, dtype)

    def unsized(self, dtype: np.dtype) -> Buffer:
        """A new buffer of as many elements as the host function that makes it finds."""
        return Buffer(New(None, dtype, ()), None, dtype)

    def new_tensor(self, layout: Layout, zeroed: bool = False) -> TensorRef:
        """A new tensor of a layout without gaps.

        Raises:
            RuntimeError: no integer of a machine counts its bytes.
        """
        check_countable(layout.shape, layout.type.numpy)
        return TensorRef(New(layout.size, layout.type.numpy, layout.shape, zeroed), layout)

    def contiguous(self, tensor: TensorRef, dtype: Any = None) -> Buffer:
        """The elements of a tensor in row-major order, converted to ``dtype``: where they lie, or a copy."""
        own = tensor.layout
        if own.contiguous and (dtype is None or dtype is own.type.dtype):
            return Buffer(tensor.memory, own.size, own.type.numpy, tensor.start)
        type = own.type if dtype is None else own.type.with_dtype(dtype)
        copy = self.new_tensor(layout_of(type, own.shape))
        self.pointwise(copy_program(own.type.numpy, type.numpy), [tensor], copy)
        return Buffer(copy.memory, own.size, type.numpy)

    def packed(self, tensor: TensorRef) -> TensorRef:
        """A tensor if it is contiguous, or a contiguous copy."""
        return self.tensor(self.contiguous(tensor), tensor.type, tensor.shape)

    def strided(self, tensor: TensorRef) -> tuple[Any, Any]:
        """The memory of a tensor and the position of its first element there, for a kernel that takes strides."""
        memory, own, start = tensor
        if memory.__class__ is Input:
            return _storage(memory.number, own.type.numpy), _offset(memory.number, start)
        return Buffer(memory, memory.size, own.type.numpy), start

    def onward(self, tensor: TensorRef) -> Buffer:
        """The memory of a tensor from its first element on, for a kernel that takes strides alone."""
        memory, own, start = tensor
        return Buffer(memory, None if memory.__class__ is Input else memory.size - start, own.type.numpy, start)

    def tensor(self, buffer: Buffer, type: Any, shape: tuple[int, ...]) -> TensorRef:
        """A buffer's elements as a contiguous tensor."""
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

        On a GPU the kernel has the parts ``aligned``, too, where four elements can be read at once.
        """
        written = [operands[number] for number in _written(function)]
        if not written or any(one.__class__ is not Buffer or one.size != 0 for one in written):
            kernel = HandWritten(function, compute, tuple(parts.items()))
            packed = aligned and (HandWritten(function, compute, tuple((parts | aligned).items())), work)
            self.steps.append(Step(kernel, operands, work, reports, one_thread, grid, packed))

    def pointwise(self, program: Program, operands: Sequence[Any], *outs: TensorRef) -> None:
        """Add one pass of a program over tensors, numbers and values, which writes ``outs``."""
        layouts = [one.layout for one in (*operands, *outs) if one.__class__ is TensorRef]
        self.run_over(program, (*operands, *outs), layouts, are_rows(layouts))

    def run_over(self, program: Program, operands: Sequence[Any], layouts: Sequence[Layout], rows: bool) -> None:
        """Add one pass of a program over tensors of these layouts, numbers and values; the outputs are last."""
        size = layouts[-1].size
        if rows:
            self.over_rows(program, operands, size)
        elif size:
            self.backend.nest_step(self, program, operands, layouts)

    def assign(self, source: TensorRef, target: TensorRef) -> None:
        """Add a step that overwrites a tensor with the elements of another, broadcast and converted."""
        if target.size:
            self.backend.copy_step(self, copy_program(source.type.numpy, target.type.numpy), source, target)

    def over_rows(self, program: Program, operands: Sequence[Any], size: Any) -> None:
        """Add one pass of a program over contiguous tensors of one size, numbers and values; the outputs are last."""
        if not size:
            return
        given: list[Any] = []
        for one in operands:
            if one.__class__ is TensorRef:
                memory, layout, start = one
                written = len(given) >= len(operands) - len(program.outputs)
                one = Buffer(memory, size if written or memory.__class__ is New else None, layout.type.numpy, start)
            given.append(one)
        self.backend.row_step(self, program, given, size)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Add a step that copies a buffer to another of the same size and dtype."""
        if source.size:
            program = copy_program(source.dtype, target.dtype)
            self.backend.row_step(self, program, [source, target], source.size)

    def fill(self, buffer: Buffer, value: Any) -> None:
        """Add a step that fills a buffer with a number, which may come with the call."""
        if buffer.size:
            kind = value.kind if value.__class__ is Given else value.__class__
            self.backend.row_step(self, filler(kind, buffer.dtype), [value, buffer], buffer.size)

    def host(self, function: Callable[..., Any], outs: Sequence[Layout] | Sequence[Buffer], *operands: Any) -> Any:
        """Add the call of a host function, which returns a tuple of the memory of new tensors, or new buffers."""
        made = tuple([self.new_tensor(one) if one.__class__ is Layout else one for one in outs])
        self.steps.append(HostStep(function, operands, made))
        return made

    def check(self, function: Callable[..., None], *operands: Any) -> None:
        """Add the call of a host function that raises an error if a kernel has reported one in its operands."""
        self.steps.append(HostStep(function, operands, is_check=True))

    def call(self, function: Callable[..., None], *operands: Any, written: tuple[Any, ...] = ()) -> None:
        """Add the call of a host function that returns nothing: it may raise, or write to the operands ``written``."""
        self.steps.append(HostStep(function, operands, written=written))

    def returns(self, *results: TensorRef) -> Plan:
        """Finish with these results; with none, a call in place."""
        self.layouts = tuple([one.layout for one in results])
        self.results = tuple([
            Buffer(memory, _extent(memory, layout, start), layout.type.numpy, start)
            for memory, layout, start in results
        ])
        return self

    def found(self, function: Callable[..., Any], *operands: Any) -> Plan:
        """Finish with the results that a host function finds, whose sizes depend on values: see ``HostStep``."""
        self.steps.append(HostStep(function, operands, is_last=True))
        self.layouts = None
        return self

    @property
    def layout(self) -> Any:
        """The layout of the result; of several a tuple; None where it depends on values."""
        return self.layouts if self.layouts is None or len(self.layouts) != 1 else self.layouts[0]

    # -- running -----------------------------------------------------------------------------------------------------

    def __call__(self, *operands: Any) -> Any:
        """Run the plan step by step on the operands of a call, and return the memory of its results."""
        return self.backend.interpret(self, operands)

    def launcher(self, again: bool = True) -> Callable[..., Any]:
        """The function that runs the plan: a straight-line one if it is to run ``again``."""
        if self._bound is None and again:
            self._bound = self.backend.bind(self)
        return self._bound or self


def pointwise_plan(
    program: Program, given: Sequence[Any], outs: Sequence[Layout], into: bool = False,
    checks: Sequence[tuple[Callable[..., None], Sequence[int]]] = (),
) -> Plan:
    """The plan of one pass of a program over tensors of these layouts, and over numbers, for which classes stand.

    It makes new tensors of the layouts ``outs``.  With ``into`` a launch takes after the operands the tensors to
    overwrite.  Of a tensor for a scalar of the program, which repeats one value, that value is read.  Before that,
    ``checks`` look at operands, which they name by their numbers.
    """
    first = outs[0]
    check_countable(first.shape, first.type.numpy)
    forms = "".join([
        "n" if own.__class__ is not Layout else "v" if argument.scalar else "a"
        for own, argument in zip(given, program.arguments, strict=True)
    ])
    layouts = [*[own for own, form in zip(given, forms, strict=True) if form == "a"], *outs]
    rows = are_rows(layouts)
    shared = rows and not checks and (into or "a" in forms) and first.type.backend.is_small(program, layouts)
    if shared and (found := program.plans.get((forms, into))):
        found.launcher()  # bound once for all sizes
        return found
    p = Plan(first.type.backend, first.type.device.index)
    operands = [p.operand(own) for own in given]
    if "v" in forms:
        operands = [Value(n) if form == "v" else operands[n] for n, form in enumerate(forms)]
    for check, numbers in checks:
        p.call(check, *map(Given, numbers))
    targets = [p.operand(own) if into else p.new_tensor(own) for own in outs]
    if shared:
        size = SizeOf(len(given) if into else forms.index("a"))
        for one in () if into else targets:
            one.memory.size = size
        p.over_rows(program, (*operands, *targets), size)
        program.plans[forms, into] = p
    else:
        p.run_over(program, (*operands, *targets), layouts, rows)
    return p.returns(*() if into else targets)


def _extent(memory: Any, layout: Layout, start: Any) -> Any:
    """Number of elements of memory that a result keeps: of new memory all from its start on, unless it has no gaps."""
    if memory.__class__ is New and (memory.size.__class__ is SizeOf or not layout.contiguous):
        size: Any = memory.size
        return size - start if start else size
    return layout.size


@functools.cache
def _written(function: Callable[..., None]) -> tuple[int, ...]:
    """The positions of the arrays that a hand-written kernel writes, among its operands."""
    facts = facts_of(function, np.dtype(np.float32))
    names = facts.written - facts.reports
    return tuple([number for number, name in enumerate(facts.parameters) if name in names])


def are_rows(layouts: Sequence[Layout]) -> bool:
    """Return whether tensors of these layouts are contiguous and of one shape."""
    shape = layouts[-1].shape
    return all(own.contiguous and own.shape == shape for own in layouts)
