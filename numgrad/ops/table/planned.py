"""Operations of the table that decide by layouts how a call is computed: all that are not pointwise.

The function that decides computes nothing.  Its first parameter ``p`` is a plan (see
``devices.plan``).  It receives the arguments of a call, with tensors of the plan instead of tensors, adds steps, and
returns the plan's tensor that is the result, or a tuple of several.  If the size of the result depends on values, it
returns ``p.returns_from(...)``.  Other operations that need this one call its ``build`` with their own plan.

The function of a view builds no plan.  It receives layouts instead of tensors, and returns the layout of the view and
the number of elements by which the view begins after the tensor.  For several views, it returns two tuples.  For a view
in another dtype, it returns, instead of the number, a function that returns the tensor's memory in that dtype and the
view's offset.  If a host function computes the result, ``prepare`` returns the result's layout, or a tuple of layouts.

Decisions are remembered (see ``dispatch``).  The key consists of the layouts and all other arguments, except
``numbers``: these are operands of the plan, after the tensors.  For a view, such a number may be an index: then
``prepare`` returns the number of elements by which one step of the index moves the view, and ``key`` returns the values
that the view's layout depends on.

In-place calls overwrite the first input.  The function that ``op.changing`` decorates decides how: it receives the
target instead of the first input, and adds steps that overwrite it.  ``op.in_place`` takes the arguments of ``op``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from inspect import Signature, signature
from typing import Any

from ...autograd.calls import transformed
from ...autograd.grad_mode import AUTOCAST, TRANSFORMED, state
from ...core.formats import kept_layout
from ...core.layout import Layout, layout_of
from ...devices import NUMBERS, Plan, TensorRef, check_countable
from ...devices.host_functions import HostFunction
from ...tensors.tensor import Tensor, check_in_place, check_one_device
from .ahead import Sample
from .arguments import declared_arguments, defaults
from .autocasting import cast_call
from .checks import not_implemented
from .dispatch import change, perform, result_of
from .entries import Entries, Entry
from .keys import keying
from .op import Op, builds_plan, enter, parameters
from .recording import OUTPUT, RuleBackwardPlan, RuleNode
from .transforms import ChangeCall, GeneralCall
from .widening import Widening, has_halves, is_mixed, widened


class _Unrecorded(functools.partial[Any]):
    """The call of an operation without recording, with the signature of the function that decides."""

    @property
    def __signature__(self) -> Signature:
        """The signature, without the plan; made on first access, because making them all would slow down the import."""
        decides: Any = self.__wrapped__  # type: ignore[attr-defined]
        whole = signature(decides)
        return whole.replace(parameters=[*whole.parameters.values()][1:]) if builds_plan(decides) else whole


def _by_position(decide: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as one that takes all arguments by position."""
    code = decide.__code__
    count, named = code.co_argcount, code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    if not named:
        return decide
    return lambda *args: decide(*args[:count], **dict(zip(named, args[count:], strict=False)))


class Planned(Op):
    """An operation that decides by layouts how a call is computed.

    Args:
        prepare: the function that decides.
        node: name of the node class.
        inputs: parameters that are tensors (or None).
        nondifferentiable: inputs that have no gradient.
        passed: inputs whose gradient is that of the output.
        underived: inputs whose derivative is not known: a backward that needs it raises an error.
        numbers: parameters that are numbers passed to ``launch``, whose values the decision does not depend on.
        key: a function of the arguments that returns the key of the decision, if it is not the layouts and all
            arguments that are not ``numbers``.
        outputs: names of the outputs, if there are several.
        extras: names of further outputs without a gradient, for rules or for users.
        view: True if the outputs share the input's memory.
        connected: True if autograd treats the view as a view; False if it treats it as a copy.
        sequence: True if the one input is a tuple of tensors; its rule returns a list.
        joint: True if one rule returns the gradients for all inputs that have one, as the rule of a sequence does; if
            the rule takes ``needed``, the flags of the needed gradients, it may return None for the others.
        linear: True if the operation is linear in each differentiable input while the others are fixed, or in a whole
            sequence.
        dims: parameters that are dimensions, counted from the front, or tuples of them, besides those whose annotations
            say so (``Dim``, ``Dims``); see Note [Batches of calls].
        shapes: parameters that are shapes.
        batch: number of leading dimensions of each input and result that are a batch, 1 for operations that need
            exactly one.
        shared: inputs that must be the same for all examples.
        anywhere: inputs that need not lie on the device of the others.
        aten: PyTorch's name of the operation, if it is not the name that users call.
        host: the host function that launches it, if no kernel does: then ``prepare`` returns the layout alone.
        direct: True if the steps take elements of any dtype, as those do that only move elements: see Note [Half
            precision].
        mixed: True if tensors of float32 may follow a first one of float16 or bfloat16.
        changes: if not "", the function changes a part of the first input in place.  A call changes a copy: a
            "contiguous" one, or a "strided" one, which has the input's strides.

    The operation takes positional arguments only.

    Note [Batches of calls]
    If one of ``dims``, ``shapes``, ``batch`` and ``shared`` is declared, ``vmap`` calls an operation once, with all
    examples.  All inputs but those ``shared`` get one more dimension in front, that of the examples: dimension
    arguments are shifted by it, and shape arguments have its size in front.  So an operation on any number of leading
    dimensions needs only ``dims=()``.  With ``batch=1`` the dimension of the examples is merged with the first one
    instead.  If nothing is declared, if a ``shared`` input differs from example to example, or if a tensor without
    dimensions has a dimension argument 0, the rule that ``op.batched`` decorates is called.  If there is no rule or it
    returns NotImplemented, the operation runs for one example after the other.  An operation decorated with
    ``op.decomposed`` runs as the operations that the function calls.
    """

    node_base = RuleNode
    _narrowed_of_mixed = 1  # number of results that are narrowed if tensors of float32 are among the operands
    _takes_halves = False  # True if the steps widen what they read
    public: Callable[..., Any]  # the public function, if the declaration provides it

    def __init__(
        self,
        prepare: Callable[..., Any],
        node: str,
        *,
        inputs: Sequence[str] = ("input",),
        nondifferentiable: Sequence[str] = (),
        passed: Sequence[str] = (),
        underived: Sequence[str] = (),
        numbers: Sequence[str] = (),
        key: Callable[..., Any] | None = None,
        outputs: Sequence[str] = ("out",),
        extras: Sequence[str] = (),
        view: bool = False,
        connected: bool = True,
        sequence: bool = False,
        joint: bool = False,
        linear: bool = False,
        dims: Sequence[str] | None = None,
        shapes: Sequence[str] = (),
        batch: int = 0,
        shared: Sequence[str] = (),
        anywhere: Sequence[str] = (),
        aten: str = "",
        host: HostFunction | None = None,
        direct: bool = False,
        mixed: bool = False,
        changes: str = "",
    ):
        self.direct, self.mixed = direct, mixed
        self.outputs = tuple(outputs)
        self.extras = tuple(extras)
        self.graded = len(self.outputs) if extras else None
        self.view = view
        self.connected = connected
        self.sequence = sequence
        self.joint = joint or sequence
        self.linear = linear
        self._dims = dims
        self.shapes, self.batch, self.shared = tuple(shapes), batch, tuple(shared)
        self.batch_rule: Callable[..., Any] | None = None
        self.decomposition: Callable[..., Any] | None = None
        self.hides_tangents = False  # True if the view has a tangent of its own, or none
        self.attributes: Mapping[str, Any] = {}
        super().__init__(prepare, node, inputs, nondifferentiable, aten, passed, underived=underived)
        self._decides, self.prepare = prepare, _by_position(prepare)
        #: The function that builds the plan from the plan, its tensors and the other arguments; None for a view.
        self.build: Any = None
        if builds_plan(prepare):
            self.build, self.prepare = self.prepare, self._planned
        if changes:
            self.build, self.prepare_change = functools.partial(self._change_copy, changes == "strided"), prepare
        self.host = host
        self.function = functools.update_wrapper(_Unrecorded(self.unrecorded), prepare)
        #: The positions of the launcher's operands among the arguments.
        self.operand_positions = tuple([self.parameters.index(name) for name in (*self.inputs, *numbers)])
        self._number_positions = () if view else self.operand_positions[len(self.inputs) :]
        #: The inputs that have an edge, and their positions among the arguments and among the operands.
        self.differentiable = tuple([name for name in self.inputs if name not in self.nondifferentiable])
        self.positions = [self.parameters.index(name) for name in self.differentiable]
        self._same_device_positions = [self.parameters.index(name) for name in self.inputs if name not in anywhere]
        self.edge_positions = None if sequence else tuple([self.inputs.index(name) for name in self.differentiable])
        #: The function that maps the arguments of a call to the key of its entry and the operands.
        self.keyed = keying(len(self.parameters), self.operand_positions, len(numbers), sequence, key)
        self._have_entries()
        enter(self)

    def _have_entries(self) -> None:
        self.entries, self.entries_in_place = Entries(), Entries()
        self.recent, self.recent_in_place = self.entries.recent, self.entries_in_place.recent

    @functools.cached_property
    def dims(self) -> tuple[str, ...] | None:
        """The parameters that are dimensions; None if batches of calls are not declared."""
        declared = declared_arguments(self._decides)
        dims = *(self._dims or ()), *[name for name, argument in declared.items() if argument.dimension]
        is_declared = dims or self.shapes or self.batch or self.shared or self._dims is not None
        return dims if is_declared and self.decomposition is None else None

    @functools.cached_property
    def _last_dim(self) -> int:
        """Position of the last parameter that is a dimension; -1 if there is none."""
        return max(map(self.parameters.index, self.dims or ()), default=-1)

    def recorded_by(self, node: str, *numbers: str) -> Planned:
        other = super().recorded_by(node, *numbers)
        other._have_entries()
        return other

    def __call__(self, *args: Any) -> Any:
        key, operands = self.keyed(args)
        entry = self.recent.get(key)
        if entry is None:
            if state.mode & AUTOCAST and (result := cast_call(self.listed, self, args)) is not NotImplemented:
                return result
            entry = self.entry(args)[0]
        return perform(entry, operands)

    def run(self, operands: tuple[Any, ...], attributes: Any) -> Any:
        """Call an operation that has only tensors for arguments (see ``forms``)."""
        return self(*operands)

    def changing(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate the function that decides how an in-place call is computed."""
        self.prepare_change = prepare
        return prepare

    def batched(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate the rule for a batch of calls, for an operation that does not declare its batches.

        The rule runs below the level of ``vmap``.  Its arguments contain tensors of that level (see ``batches``).  It
        returns physical tensors with the dimension of the examples, or NotImplemented.
        """
        self.batch_rule = rule
        return rule

    def decomposed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function of other operations that replaces this operation under ``vmap``."""
        self.decomposition = function
        return function

    def in_place(self, *args: Any) -> Tensor:
        """Overwrite the first input.

        Raises:
            RuntimeError: if it may not be overwritten.
        """
        if state.mode & TRANSFORMED:
            return transformed(ChangeCall(self, args, args[0]))
        key, operands = self.keyed(args)
        check_in_place(*operands)
        return change(self.recent_in_place.get(key) or self.entry(args, True)[0], operands, operands[0])

    def performed(self, entry: Entry, operands: Sequence[Any]) -> Any:
        """Run a call in a special mode."""
        if state.mode & AUTOCAST:
            result = cast_call(self.listed, self, self._arguments(entry, operands))
            if result is not NotImplemented:
                return result
        if not state.mode & TRANSFORMED:
            return perform(entry, operands, True)
        return transformed(GeneralCall(self, self._arguments(entry, operands)))

    def unrecorded(self, *args: Any) -> Any:
        """Return the unrecorded result: a view is merely a tensor on the same memory."""
        key, operands = self.keyed(args)
        return result_of(self.recent.get(key) or self.entry(args)[0], operands)

    def entry(self, args: Sequence[Any], in_place: bool = False) -> tuple[Entry, Sequence[Any]]:
        """Return the entry of a call, and the operands of its launcher."""
        key, operands = self.keyed(args)
        entries = self.entries_in_place if in_place else self.entries
        entry = entries.find(key) or entries.make(key, lambda again: self.prepared(args, in_place, again))
        return entry, operands

    def prepared(self, args: Sequence[Any], in_place: bool = False, again: bool = True) -> Entry:
        """Return a new entry for a call; its plan is bound if it will run ``again``."""
        if len(args) <= self._last_dim:
            raise TypeError(f"{self.name} must be given its dimensions {self.dims}")  # defaults are not normalized
        details: list[Any] = [value._layout if isinstance(value, Tensor) else value for value in args]
        if self.sequence:
            details[0] = tuple([tensor._layout for tensor in args[0]])
        same_device = self._same_device_positions
        check_one_device(*details[0] if self.sequence else [details[position] for position in same_device])
        for position in self._number_positions:
            if details[position].__class__ in NUMBERS:
                details[position] = details[position].__class__
        if in_place:
            layout, launch = details[0], self._planned_change(*details)
        elif self.view:
            layout, launch = self.prepare(*details)
        else:
            launch = self._planned(*details)
            layout = launch.layout
        several = layout.__class__ is tuple
        outputs = layout if several else (layout or details[0],)
        if not self.view:
            for result in outputs:
                check_countable(result.shape, result.type.numpy)
        recorded = self.has_gradient and True in [output.type.dtype.differentiable for output in outputs]
        entry = Entry(self, launch, layout, recorded, tuple(details), again)
        if self.view:
            if not callable(launch):
                entry.launch, entry.delta = None, launch
            entry.step = self.step(entry.details[1:], len(layout) if several else None)
        return entry

    def _planned(self, *details: Any) -> Plan:
        """Return the plan of a call for tensors of these layouts, numbers of these classes and the other arguments."""
        if self.direct or not has_halves(details):
            return _returning(*self._built(details))
        if (mixed := is_mixed(details)) and not self.mixed:
            self._built(details)  # raises the error of an operation that takes tensors of one dtype
        widening = Widening(details)
        p, results = self._built(details, widening)
        return _returning(p, widening.narrowed(p, results, self._narrowed_of_mixed if mixed else len(self.outputs)))

    def _built(self, details: Sequence[Any], widening: Widening | None = None) -> tuple[Plan, Any]:
        """Return the plan of a call and its results, which is the plan itself if their sizes depend on values."""
        p, arguments = self._opened(details)
        if widening is not None and not self._takes_halves:
            arguments = widening.arguments(p, arguments)
        build = self.build if self.host is None else getattr(p.backend, self.host.name, None)
        if build is not None:
            return p, build(p, *arguments)
        assert self.host is not None
        if has_halves(details):
            raise not_implemented(self.host.name, *[value for value in details if value.__class__ is Layout])
        return p, self.host.add_to(p, self.prepare(*details), arguments)

    def _change_copy(self, strided: bool, p: Plan, input: TensorRef, *others: Any) -> TensorRef:
        copy = p.new_tensor(kept_layout(input.layout) if strided else layout_of(input.type, input.shape))
        p.assign(input, copy)
        self.prepare_change(p, copy, *others)
        return copy

    def _planned_change(self, *details: Any) -> Plan:
        """Return the plan of an in-place call."""
        p, arguments = self._opened(details)
        target = p.operand(details[0])
        if self.direct or not has_halves(details):
            self.prepare_change(p, target, *arguments[1:])
            return p
        if is_mixed(details):
            self.prepare_change(Plan(p.backend, p.device), target, *arguments[1:])
        arguments = Widening(details).arguments(p, arguments)
        changed = widened(p, target)
        self.prepare_change(p, changed, *arguments[1:])
        if changed is not target:
            p.assign(changed, target)
        return p

    def _opened(self, details: Sequence[Any]) -> tuple[Plan, list[Any]]:
        """Return a new plan, and the arguments of a call with the plan's operands instead of layouts and classes."""
        layouts = details[0] if self.sequence else [value for value in details if value.__class__ is Layout]
        type = layouts[0].type
        p = Plan(type.backend, type.device.index)
        arguments = list(details)
        if self.sequence:
            arguments[0] = tuple(map(p.operand, layouts))
        else:
            for position in self.operand_positions:
                if position < len(arguments):
                    arguments[position] = p.operand(arguments[position])
        return p, arguments

    def step(self, arguments: Sequence[Any], count: int | None) -> Any:
        """Return the step that makes the same view of a tensor again, with these remaining arguments.

        For several views, return a tuple of steps.
        """
        if count is None:
            return self, arguments
        return tuple([(_nth_view, (self, arguments, number)) for number in range(count if self.connected else 0)])

    def again(self, tensor: Tensor, entry: Entry, numbers: Sequence[Any]) -> Any:
        """Return the view of another tensor for these numbers of a call with this entry."""
        return self(*self._arguments(entry, (tensor, *numbers)))

    def _arguments(self, entry: Entry, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a call with this entry."""
        if self.sequence:
            return tuple(operands), *entry.details[1:]
        args = list(entry.details)
        for position, value in zip(self.operand_positions, operands, strict=True):
            args[position] = value
        return tuple(args)

    def example(self, entry: Entry, needed: int) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments of a call with this entry, with samples for tensors, for Note [Kernels ahead]."""
        differentiated = [position for number, position in enumerate(self.positions) if needed >> number & 1]
        args = [
            Sample(value, position in differentiated) if isinstance(value, Layout) else value
            for position, value in enumerate(entry.details)
        ]
        if self.sequence:
            args[0] = tuple([Sample(layout, True) for layout in entry.details[0]])
        return args, {}

    def backward_plan(self, entry: Entry, needed: int) -> RuleBackwardPlan:
        """Return the backward plan of a call if the inputs in the bits of ``needed`` need a gradient."""
        arguments = zip(self.parameters, entry.details, strict=False)
        values: dict[str, Any] = {**defaults(self._decides), **dict(arguments)}
        operands = [self.parameters[position] for position in self.operand_positions]
        results = (*self.outputs, *self.extras)
        values["needed"] = tuple([bool(needed >> number & 1) for number in range(len(self.differentiable))])
        for name, value in tuple(values.items()):
            if isinstance(value, Layout):
                values[f"{name}_shape"], values[f"{name}_layout"] = value.shape, value
        saved: dict[str, int] = {}
        constants: dict[str, Any] = {}
        rules: list[Any] = []
        for number, name in enumerate(self.differentiable[:1] if self.joint else self.differentiable):
            if not (self.joint or needed >> number & 1):
                rules.append(None)
                continue
            names = parameters(self.rules[name])
            rules.append((self.rules[name], names))
            for each in names:
                if each in results:
                    saved[each] = OUTPUT - results.index(each)
                elif each in operands:
                    saved[each] = operands.index(each)
                elif each in values:
                    constants[each] = values[each]
                elif each != "grad":
                    raise TypeError(
                        f"{self.name}: the rule for {name} has the parameter '{each}', neither an argument nor a result"
                    )
        return RuleBackwardPlan(self.node_class, saved, constants, rules)


def _returning(p: Plan, results: Any) -> Plan:
    """Return a plan, finished with these results, unless they are the plan itself, which then is finished already."""
    if results is p:
        return p
    return p.returns(results) if results.__class__ is TensorRef else p.returns(*results)


def _nth_view(tensor: Tensor, op: Planned, arguments: tuple[Any, ...], number: int) -> Tensor:
    """Return one of the several views that an operation makes."""
    return op(tensor, *arguments)[number]
