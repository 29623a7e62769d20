"""Public functions of operations, whose calls are looked up by their arguments.

``@operation(...)`` decorates the function that decides how a call is computed (see ``planned``).  With ``public=True``
it also exports the operation: ``cumsum_op`` becomes ``numgrad.cumsum`` and ``Tensor.cumsum``.  Then its parameters and
defaults are PyTorch's, and their annotations declare the values that users may pass (see ``arguments``).  The function
that decides and the rules receive converted values: for a ``Dim`` the dimension counted from the front, for ``Dims``
all of them in order, for a ``DType`` numgrad's own dtype.  The declaration also provides NumPy's parameter names,
``out=``, the errors for arguments that do not fit, and the arguments that ``vmap`` has to shift.  Other operations call
the entry itself, with converted arguments by position.

A function that PyTorch has in several forms, with nodes of several names or as several operations, is declared by
``@lookup``.  The decorated function resolves a call to an operation.  It receives the arguments, with layouts instead
of tensors.  It returns the operation of the table and that operation's arguments: either those that are not tensors, in
their order, or all of them.  The operation receives the tensors of the call in their order.  An operation on one tensor
receives only the first.  The function may return a third result: a function that makes the operation's tensors from
those of the call.  Its parameters may have the annotations that ``@operation`` accepts.  It runs once for similar
arguments.

If a call takes several operations, the function returns, instead of the operation, a function to call with the tensors
and the other arguments.  Tensors passed for parameters that are not annotated with Layout are read as numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, get_args, get_type_hints

import numpy as np

from ...core.layout import Layout
from ...core.types import Size, dtype
from ...devices import OutOfBoundsError, TensorRef
from ...tensors.tensor import Tensor
from .arguments import bind, check_arguments, declared_arguments, without_numpy_names
from .autocasting import called_in_autocast
from .dispatch import caller
from .entries import Entries
from .op import attach, named_in_place, with_options
from .op import export as export_as
from .operands import check_apart
from .out import write_out
from .planned import Planned
from .public_signatures import linked, of_decision


@with_options
def lookup(
    resolve: Callable[..., Any],
    /,
    *,
    outside: Callable[..., Exception] | None = None,
    results: Any = None,
    export: bool = True,
    function: bool = True,
    method: bool = True,
    names: Sequence[str] = (),
    in_place: bool = False,
    exact_out: bool = False,
) -> Any:
    """Decorate the function that resolves a call to an operation.

    Args:
        outside: ``outside(error, *args, **keywords)`` returns the exception to raise if an index is out of bounds.
        results: the class of named tuple that holds several results.
        export, function, method, names: the public names; see ``public`` in ``op``.
        in_place: if True, define a method that overwrites the tensor, whose name ends with an underscore.
        exact_out: if True, ``out`` must have the dtype of the result.
    """
    resolve, entries = _normalized(resolve), Entries()
    call = _looked_up(resolve, entries, False, outside, results, exact_out=exact_out)
    call.method = _looked_up(resolve, entries, True, outside, results)
    if in_place:
        change = _looked_up(resolve, Entries(), True, outside, results, True)
        attach(f"{resolve.__name__}_", named_in_place(change, resolve.__name__))
    for name in (resolve.__name__, *names) if export else ():
        export_as(name, call, function, method)
    return call


def operation(
    node: str,
    *,
    public: bool = False,
    order: Sequence[str] = (),
    export: bool = True,
    method: bool = True,
    in_place: bool = False,
    outside: Callable[..., Exception] | None = None,
    results: Any = None,
    **declared: Any,
) -> Callable[[Callable[..., Any]], Planned]:
    """Decorate the function that decides how a call is computed.

    Args:
        node: name of the node class.
        public: if True, the operation has a public function, which follows from its declaration; if not, only rules and
            other functions call it, and the arguments up to ``results`` do not apply.
        export: if True, export the public function from ``numgrad``; ``nn.functional`` may export it in any case.
        order: the parameters of the public function in order, if these are not all, or rules have another order.
        method: if True, attach a method to Tensor, too.
        in_place, outside, results: see ``lookup``.
        declared: see ``Planned``.
    """

    def decorate(decide: Callable[..., Any]) -> Planned:
        op = Planned(decide, node, **declared)
        if not public:
            return op
        resolve = _resolver(op, decide, order or op.parameters)
        op.public = lookup(
            resolve, outside=outside, results=results, export=export, method=method, in_place=in_place
        )
        return op

    return decorate


def _resolver(op: Planned, decide: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """Return the function that maps users' arguments, with parameters of these names, to those of the operation."""

    @functools.wraps(decide)
    def resolve(*args: Any, **keywords: Any) -> tuple[Planned, tuple[Any, ...]]:
        bound = bind(resolve, args, keywords).arguments
        return op, tuple([bound[name] for name in op.parameters if name in bound])

    resolve.__name__ = resolve.__qualname__ = op.name.removesuffix("_op")
    declared = signature(decide)
    if tuple(names) != tuple(declared.parameters):
        ordered = declared.replace(parameters=[declared.parameters[name] for name in names])
        resolve.__signature__ = ordered  # type: ignore[attr-defined]
    return resolve


def _normalized(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its arguments converted as the annotations of its parameters declare."""

    @functools.wraps(resolve)
    def call(*args: Any, **keywords: Any) -> Any:
        declared = declared_arguments(resolve)
        if not declared:
            return resolve(*args, **keywords)
        bound = bind(resolve, args, keywords)
        arguments = bound.arguments
        rank = len(next(iter(arguments.values())).shape)
        for name, argument in declared.items():
            if arguments[name] is None and bound.signature.parameters[name].default is not None:
                raise TypeError  # ``lookup`` raises the error with details
            arguments[name] = argument.normal(arguments[name], rank)
        return resolve(*bound.args, **bound.kwargs)

    return call


class _Unseen:
    """Handling of calls that are new or need special treatment.

    Attributes:
        call: the function.
        name: the function's name in errors.
        exact_out: True if ``out`` must have the dtype of the result.
    """

    call: Callable[..., Any]

    def __init__(self, resolve: Callable[..., Any], method: bool, in_place: bool, exact_out: bool):
        self.resolve, self.method, self.in_place, self.exact_out = resolve, method, in_place, exact_out
        self.name = resolve.__name__ + "_" * in_place

    def check(self, args: Any, keywords: Any) -> None:
        """Raise if an argument is of a type that the function does not declare."""
        check_arguments(self.resolve, self.name, args, keywords, method=self.method)

    def cast(self, args: Any, keywords: Any) -> Any:
        """Call the function as autocast prescribes; return NotImplemented if it prescribes nothing."""
        return called_in_autocast((self.name,), self.call, args, keywords)

    def numbers_in(self, args: Any) -> list[int]:
        """Return the positions of tensors that stand for numbers."""
        positional = _for_tensors(self.resolve)[0]
        return [
            position for position, value in enumerate(args)
            if isinstance(value, Tensor) and not (position < len(positional) and positional[position])
        ]

    def with_numbers_read(self, args: Any, keywords: Any) -> Any:
        """Repeat the call with numbers instead of tensors that stand for numbers."""
        converted = list(args)
        for position in self.numbers_in(args):
            try:
                converted[position] = args[position].__index__()
            except Exception:
                self.check(args, keywords)
                raise
        return self.call(*converted, **keywords)

    def renamed(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by the names of the parameters, with NumPy's names translated."""
        return without_numpy_names(self.resolve, self.name, keywords)

    def in_order(self, args: Any, keywords: Any) -> Any:
        """Repeat the call with the tensors in front, and without ``out``."""
        if "out" in keywords:
            out = keywords.pop("out")
            result = self.call(*args, **keywords)
            return result if out is None else write_out(self.name, out, result, self.exact_out)
        keywords = self.renamed(keywords)
        bound = bind(self.resolve, args, keywords)
        for keyword, value in bound.kwargs.items():
            if isinstance(value, Tensor) and keyword not in _for_tensors(self.resolve)[1]:
                raise TypeError(f"{self.name}(): argument '{keyword}' must not be a Tensor")
        if not bound.args or not isinstance(bound.args[0], Tensor):
            return self.find(args, keywords, ())()  # raises the error with details
        return self.call(*bound.args, **bound.kwargs)

    def find(self, args: Any, keywords: Any, operands: Sequence[Any], again: bool = False) -> Any:
        """Return the function of the tensors among the arguments that computes similar calls.

        Its plan is bound if it will be called ``again``.
        """
        keywords = self.renamed(keywords)
        if self.in_place or any(isinstance(value, float | np.floating) for value in (*args, *keywords.values())):
            # A float instead of an int would be cached as equal to the int, and reach the operations of rules.
            self.check(args, keywords)
        try:
            op, arguments, *adapt = self.resolve(
                *map(_described, args), **{keyword: _described(value) for keyword, value in keywords.items()}
            )
            if self.in_place:
                op, arguments = overwriting(op), [value for value in arguments if value.__class__ is not Layout]
            if adapt:
                return lambda *tensors: op(*adapt[0](*tensors), *arguments)
            if not isinstance(op, Planned):
                return (lambda *tensors: op(*tensors, *arguments)) if arguments else op
            return _called(op, arguments, operands, again)
        except Exception:
            self.check(args, keywords)
            raise


def _looked_up(
    resolve: Callable[..., Any], entries: Entries, method: bool, outside: Callable[..., Exception] | None,
    results: Any, in_place: bool = False, exact_out: bool = False,
) -> Any:
    recent, new, unseen = entries.recent, tuple.__new__, _Unseen(resolve, method, in_place, exact_out)

    @functools.wraps(resolve)
    def call(input: Any = None, /, *others: Any, **keywords: Any) -> Any:
        try:
            layout = key = input._layout
        except AttributeError:
            return unseen.in_order((input, *others) if others or input is not None else (), keywords)
        operands = None  # all tensors, if there are others
        if others or keywords:
            arguments: Any = others
            position = 0
            for value in others:
                cls = value.__class__
                if cls is not int:
                    if cls is Tensor or isinstance(value, Tensor):
                        part = value._layout
                        if operands is None:
                            operands = [input]
                        operands.append(value)
                    else:
                        part = _typed(cls, value)
                    if part is not value:
                        if arguments is others:
                            arguments = [*others]
                        arguments[position] = part
                position += 1  # noqa: SIM113 - enumerate() takes longer
            if keywords:
                arguments = [*arguments]
                last = -1
                for keyword, value in keywords.items():
                    cls = value.__class__
                    if keyword == "out":
                        return unseen.in_order((input, *others), keywords)
                    if cls is int:
                        arguments += keyword, value
                    elif cls is bool:
                        arguments += keyword, cls, value
                    elif not isinstance(value, Tensor):
                        arguments += keyword, _typed(cls, value)
                    elif _for_tensors(resolve)[1].get(keyword, -1) > last:
                        last = _for_tensors(resolve)[1][keyword]
                        arguments += keyword, value._layout
                        operands = [*(operands or (input,)), value]
                    else:
                        return unseen.in_order((input, *others), keywords)
            key = layout, arguments if arguments is others else tuple(arguments)
        try:
            run = recent[key]
        except KeyError:
            args = input, *others
            if (out := unseen.cast(args, keywords)) is not NotImplemented:
                return out
            if operands is not None and unseen.numbers_in(args):
                return unseen.with_numbers_read(args, keywords)
            decide = functools.partial(unseen.find, args, keywords, operands or args[:1])
            run = entries.find(key) or entries.make(key, decide)
        except TypeError:  # an argument is not hashable
            run = unseen.find((input, *others), keywords, operands or (input,))
        try:
            out = run(input) if operands is None else run(*operands)
        except OutOfBoundsError as error:
            if outside is None:
                raise
            raise outside(error, input, *others, **unseen.renamed(keywords)) from None
        return out if results is None or out.__class__ is not tuple else new(results, out)

    unseen.call = call
    call.resolve = resolve  # type: ignore[attr-defined]
    call.__annotations__ = {}  # those of the function that decides
    return linked(call, resolve, functools.partial(of_decision, results=results, out=not method))


def overwriting(op: Planned) -> Callable[..., Tensor]:
    """Return the in-place call of an operation, which raises if another tensor shares elements with the first one."""
    others = len(op.inputs) - 1
    if not others:
        return op.in_place

    def call(target: Tensor, *arguments: Any) -> Tensor:
        for other in arguments[:others]:
            if other._storage is target._storage:
                check_apart(target, other)
        return op.in_place(target, *arguments)

    return call


def _called(op: Planned, arguments: Sequence[Any], tensors: Sequence[Tensor], again: bool) -> Callable[..., Any]:
    """Return an operation's call as a function of the tensors.

    ``arguments`` are its other arguments, or all arguments, with layouts for tensors.
    """
    if not any(value.__class__ is Layout for value in arguments):
        left, others = iter(tensors), iter(arguments)
        args = [
            next(left) if position in op.operand_positions else next(others) for position in range(len(op.parameters))
        ]
        done = caller(op.prepared(args, again=again), again)
        return (lambda input, *layouts: done(input)) if [*left] and len(op.operand_positions) == 1 else done
    done = caller(op.prepared(arguments, again=again), again)
    operands = [arguments[position] for position in op.operand_positions]
    if len(operands) == len(tensors):
        return done

    def with_others(*tensors: Tensor) -> Any:
        remaining = iter(tensors)
        return done(*[next(remaining) if value.__class__ is Layout else value for value in operands])

    return with_others


@functools.cache
def _for_tensors(resolve: Callable[..., Any]) -> tuple[list[bool], dict[str, int]]:
    """Return flags of the positional parameters that take tensors, and the positions of all such parameters by name."""
    hints = get_type_hints(resolve)
    parameters = signature(resolve).parameters.values()
    takes = {name for name, hint in hints.items() if {Layout, TensorRef}.intersection((hint, *get_args(hint)))}
    return (
        [p.name in takes for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD],
        {p.name: position for position, p in enumerate(parameters) if p.name in takes},
    )


def _described(value: Any) -> Any:
    """Return an argument as the resolving function receives it: layouts for tensors, and Python numbers."""
    if isinstance(value, Tensor):
        return value._layout
    return value.item() if isinstance(value, np.generic) else value


def _typed(cls: type, value: Any) -> Any:
    """Return a key that distinguishes a value from equal ones of another class: 1.0 and True from 1."""
    if cls is tuple or cls is list or cls is Size:
        for item in value:
            if item.__class__ is not int:
                return (cls, *[_typed(item.__class__, item) for item in value])
        return value if cls is tuple else (cls, *value)
    if value is None or cls is int or cls is dtype:
        return value
    if cls is float:
        return cls, value.hex()  # distinguishes 0.0 from -0.0, and equals itself for NaN
    if cls is bool or cls is str:
        return cls, value
    if isinstance(value, np.generic):
        plain = value.item()
        return cls, _typed(plain.__class__, plain)
    return []  # not hashable, as the value may change later
