"""Profiled events, and sums of events with one name, in PyTorch's classes.

PyTorch's attributes have PyTorch's meaning, with one exception: the time to make kernels, that is to write them and to
compile them or load them from disk, is kept separate.  It is included in ``time_range`` but in no ``cpu_time``, and has
attributes of its own.  Times are in microseconds.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from .table import format_time

#: Prefix of the names of the engine's turns at nodes.
TURN = "autograd::engine::evaluate_function: "


@dataclass(eq=False)
class Interval:
    """Interval from ``start`` to ``end``, in microseconds since the profile began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Return the duration."""
        return self.end - self.start


class Compilation(NamedTuple):
    """Making of one kernel, which was compiled or loaded from disk."""

    kernel: str
    time_range: Interval


class KernelRun(NamedTuple):
    """One run of a kernel on the GPU with index ``device``, with its ``duration`` in microseconds."""

    name: str
    device: int
    duration: float
    time_range: Interval


def _text(time: str) -> property:
    """Return a property that formats a time."""
    return property(lambda event: format_time(getattr(event, time)))


def _older_name(attribute: str) -> property:
    return property(attrgetter(attribute), doc=f"``{attribute}``, by its older name.")


def _with_children(attribute: str) -> property:
    """Return a property that sums an attribute over an event and all events nested in it."""

    def total(event: FunctionEvent) -> Any:
        return getattr(event, attribute) + sum(map(total, event.cpu_children))

    return property(total, doc=f"The sum of ``{attribute}`` over the event and all that is nested in it.")


def _for_one_call(total: str) -> property:
    doc = f"``{total}`` divided by the number of calls."
    return property(lambda event: getattr(event, total) / event.count if event.count else 0.0, doc=doc)


class _Times:
    """Base of events and averages: annotated attributes, which averages sum, and values derived from them."""

    count: int = 0
    cpu_time_total: Any = 0
    self_cpu_time_total: Any = 0
    compile_time_total: Any = 0
    self_compile_time_total: Any = 0
    device_time_total: Any = 0
    self_device_time_total: Any = 0
    cpu_memory_usage: Any = 0
    self_cpu_memory_usage: Any = 0
    device_memory_usage: Any = 0
    self_device_memory_usage: Any = 0

    use_device = None
    node_id = -1
    is_async = is_remote = is_legacy = False

    cpu_time = _for_one_call("cpu_time_total")
    device_time = _for_one_call("device_time_total")
    cuda_time = _older_name("device_time")
    cuda_time_total = _older_name("device_time_total")
    self_cuda_time_total = _older_name("self_device_time_total")
    device_time_str = _text("device_time")
    device_time_total_str = _text("device_time_total")
    self_device_time_total_str = _text("self_device_time_total")
    cpu_time_str = _text("cpu_time")
    cpu_time_total_str = _text("cpu_time_total")
    self_cpu_time_total_str = _text("self_cpu_time_total")


@dataclass(eq=False, repr=False)
class FunctionEvent(_Times):
    """One profiled event: an operation, a node's part in backward, or a named block.

    Attributes:
        id: its number in the profile, starting at 1, in order of the start times.
        name: PyTorch's name: ``aten::mul``, ``MulBackward0``.
        key: the key for sums: the name.
        trace_name: its name in traces, in which the steps of ``numgrad.profiler.profile`` are numbered.
        time_range: its start and end.
        thread: the number of its thread, starting at 1; ``device_resource_id`` is the system's identifier.
        cpu_parent, cpu_children: the event that directly contains it, and those that it directly contains.
        count: 1.
        sequence_nr: the number of the node that it recorded, or of its own node; -1 if there is none.
        fwd_thread: for a node, the thread that recorded it; 0 if that was not profiled.
        scope: 0 for an operation, 1 for a node's rule, 7 for a named block.
        is_user_annotation: True for a named block.
        input_shapes: with ``record_shapes``, a list per argument, empty for one that is not a tensor.
        concrete_inputs: with ``record_shapes``, the value of each argument that is a number, else None.
        input_dtypes: with ``record_shapes``, the dtype name of each tensor, else "".
        stack: with ``with_stack``, the calls that led to it, innermost first; for a node, those of its operation.
        compilations: the kernels made for it, without its children.
        kernels: with ``use_cuda``, the runs of kernels on GPUs for it, without its children.
        self_cpu_memory_usage, self_device_memory_usage: the bytes of the tensors that it made itself, on the CPU and on
            GPUs.
        cpu_memory_usage, device_memory_usage: the bytes of all tensors made in it; freed memory is not subtracted.
        remark: the second argument of ``record_function``.
    """

    id: int
    name: str
    thread: int
    start_us: InitVar[float]
    end_us: InitVar[float]
    _: KW_ONLY
    fwd_thread: int = 0
    input_shapes: list[Any] | None = None
    stack: list[str] | None = None
    scope: int = 0
    sequence_nr: int = -1
    is_user_annotation: bool = False
    concrete_inputs: list[Any] | None = None
    input_dtypes: list[str] | None = None
    device_resource_id: int | None = None
    self_cpu_memory_usage: int = 0
    self_device_memory_usage: int = 0
    remark: str | None = None
    trace_name: str | None = None
    kwinputs: dict[str, Any] = field(init=False, default_factory=dict)
    kernels: list[KernelRun] = field(init=False, default_factory=list)
    compilations: list[Compilation] = field(init=False, default_factory=list)
    cpu_children: list[FunctionEvent] = field(init=False, default_factory=list)
    cpu_parent: FunctionEvent | None = field(init=False, default=None)

    count = 1
    overload_name = ""

    def __post_init__(self, start_us: float, end_us: float) -> None:
        self.time_range = Interval(start_us, end_us)
        if self.trace_name is None:
            self.trace_name = self.name
        if self.device_resource_id is None:
            self.device_resource_id = self.thread

    @property
    def key(self) -> str:
        return self.name

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that is directly nested in this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Set the event in which this one is directly nested."""
        self.cpu_parent = parent

    @property
    def self_compile_time_total(self) -> float:
        """The time spent compiling and loading kernels, without its children."""
        return sum(compilation.time_range.elapsed_us() for compilation in self.compilations)

    @property
    def cpu_time_total(self) -> float:
        """The duration without compilation."""
        return self.time_range.elapsed_us() - self.compile_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The duration without its children and without compilation."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        """The time of kernels on GPUs, without its children."""
        return sum(kernel.duration for kernel in self.kernels)

    compile_time_total = _with_children("self_compile_time_total")
    device_time_total = _with_children("self_device_time_total")
    cpu_memory_usage = _with_children("self_cpu_memory_usage")
    device_memory_usage = _with_children("self_device_memory_usage")

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} cpu_time={self.cpu_time_str} "
            f"compile_time={format_time(self.compile_time_total)} start_us={self.time_range.start} "
            f"end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(_Times):
    """Sum of events with one key.

    The attributes listed here are those of the first event, and those annotated in ``_Times`` are sums; ``cpu_time``
    and ``device_time`` are averages.
    """

    key: str | None = None
    input_shapes: Any = None
    stack: list[str] | None = None
    scope: int | None = None
    overload_name: str | None = None
    is_user_annotation: bool = False
    cpu_children: list[FunctionEvent] | None = None
    cpu_parent: FunctionEvent | None = None

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or a sum of events, to this sum, and return the sum.

        Raises:
            TypeError: ``other`` is neither an event nor a sum of events.
            ValueError: its key differs.
        """
        if not isinstance(other, FunctionEvent | FunctionEventAvg):
            raise TypeError(f"expected a FunctionEvent or FunctionEventAvg, got {type(other).__name__}")
        if self.key is None:
            for name in FunctionEventAvg.__annotations__:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise ValueError(f"an event of '{other.key}' cannot be summed with those of '{self.key}'")
        return self._sum(other)

    def _sum(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        for name in _Times.__annotations__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    @property
    def name(self) -> str | None:
        """The key."""
        return self.key

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} compile_time={format_time(self.compile_time_total)} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )
