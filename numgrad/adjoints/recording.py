"""Calls of differentiable functions in the graph: a call, its adjoint and its tangents are one operation each.

With J the Jacobian of a function, the call computes f(x), the adjoint Jᵀg and the tangents J t.  The derivatives of
each operation consist of the others, and of the derivative of gᵀJ t by x, which is compiled as forward over reverse.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import typeof

from ..autograd.function import Function, once_differentiable
from ..autograd.grad_mode import GRAD, LEVELS, state
from ..devices import recording
from ..ops.creation.from_data import from_numpy
from ..ops.shapes.joining import stack
from ..tensors.tensor import Tensor
from .program import DerivativeProgram
from .source import Refused


class DifferentiableCall:
    """One call of a ``Differentiable`` with tensors: its other arguments, and the program of its derivatives."""

    program: DerivativeProgram
    #: The tensors that backward needs, between the call and its recording.
    saved: Sequence[Tensor]
    #: Why the function has no derivative, if none is needed.  Its arguments are then constants: a program must know
    #: what the function writes, and only the analysis of its source can tell.
    refusal: Refused | None = None
    #: A compiled program may keep it for its replays; see ``is_immutable``.
    unchanging = True

    def __init__(self, function: Any, arguments: Sequence[Any]):
        self.function = function
        self.positions = [position for position, each in enumerate(arguments) if isinstance(each, Tensor)]
        self.names = [function.parameters[position] for position in self.positions]
        #: The arguments that are not tensors, by position.
        self.others = {
            position: _number(each) for position, each in enumerate(arguments) if not isinstance(each, Tensor)
        }
        self.written: list[int] = []
        differentiated = state.mode & GRAD and any(arguments[position].requires_grad for position in self.positions)
        #: True if derivatives may follow.
        self.recorded = bool(differentiated or state.mode & LEVELS)
        #: Calls for the examples of a batch, by the number of levels around that level of ``vmap``.
        self.examples: list[DifferentiableCall] = []
        self.depth = -1

    def at_level(self, size: int) -> list[DifferentiableCall]:
        """Return the calls for the examples of the present level of ``vmap``; this one if it is shared by them."""
        return self.examples if self.depth == _depth() else [self] * size

    def values(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arguments of the function: these arrays instead of the tensors, numbers for 0-d ones."""
        by_position = dict(zip(self.positions, [each if each.ndim else each[()] for each in arrays], strict=True))
        return [value for _, value in sorted({**self.others, **by_position}.items())]

    def prepare(self, values: list[Any]) -> None:
        """Find the program of the derivatives for arguments with these values."""
        function, names = self.function, self.function.parameters
        by = [name for name, position in zip(self.names, self.positions, strict=True)
              if function.is_differentiable(values[position])]
        self.program = function.program(values, by)
        self.written = [names.index(self.program.parameters[position]) for position in self.program.written]
        for position in self.written:
            if position not in self.positions:
                raise TypeError(
                    f"{function.py_func.__name__} writes into the NumPy array '{names[position]}', which cannot have a "
                    "derivative: pass a tensor, numgrad.from_numpy(array), or allocate the array in the function"
                )
        function.check(self.program, values)
        self.like = {
            name: (np.shape(values[position]), np.asarray(values[position]).dtype)
            for name, position in zip(self.names, self.positions, strict=True)
        }

    def step(
        self, compute: Callable[..., Sequence[Any]], inputs: Sequence[Tensor], others: Sequence[Any] = (),
        written: Sequence[int] = (),
    ) -> list[Any]:
        """Return ``compute(values, arrays)`` as tensors: a step of the program that is recorded, if one is.

        Args:
            compute: function of the arguments and the arrays of ``others``; it returns arrays, and None always at the
                same places.
            inputs: the tensors among the arguments.
            others: further tensors, or None.
            written: the positions of the arguments into which it writes.
        """
        count = len(inputs)
        arrays = [None if each is None else array_of(each) for each in (*inputs, *others)]
        empty: list[bool] = []
        shapes: list[tuple[int, ...]] = []

        def run(*operands: Any) -> tuple[Any, ...]:
            computed = compute(self.values(operands[:count]), operands[count:])
            empty[:] = [each is None for each in computed]
            # contiguous, so that a tensor shares the memory of the array, which replays fill
            made = tuple([np.asarray(each, order="C") for each in computed if each is not None])
            now, shapes[:] = [each.shape for each in made], shapes or [each.shape for each in made]
            if now != shapes:
                raise RuntimeError(
                    f"{self.function.py_func.__name__} returns arrays of the shapes {now}, and of {shapes} when the "
                    "program was recorded: call it outside of compiled programs"
                )
            return made

        recorder = recording.recorder
        if recorder is None:
            results = iter(run(*arrays))
        else:
            results = iter(recorder.host(run, arrays, arrays, [self.positions.index(position) for position in written]))
        return [None if none else from_numpy(next(results)) for none in empty]

    def split(self, tensors: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the tensors before those among the arguments, and these."""
        count = len(tensors) - len(self.positions)
        return tensors[:count], tensors[count:]

    def arguments_of_call(self, values: Sequence[Any]) -> list[Any]:
        """Return the arguments of the program."""
        return self.function.without_functions(values)

    def seeds(self, gradients: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
        """Return the cotangents of the results and of the written arguments, in the form that the program takes."""
        program, seeds = self.program, []
        count = len(program.normal.results)
        for name, has, array in zip(program.normal.results, program.has_derivative, gradients, strict=False):
            if has:
                kind = program.normal.kinds[name]
                seeds.append(np.array(array, str(kind.dtype)) if array.ndim else float(array))
        return seeds, dict(zip(program.written, gradients[count:], strict=True))

    def directions(self, tangents: Sequence[Any]) -> dict[str, Any]:
        """Return the tangents of the tensors, by parameter name."""
        return {name: tangent for name, tangent in zip(self.names, tangents, strict=True) if tangent is not None}

    def by_tensors(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the derivatives by the tensors, with the dtypes and shapes of the arguments, or None for none."""
        by_name = dict(zip(self.program.by, gradients, strict=True))
        results = []
        for name in self.names:
            shape, dtype = self.like[name]
            value = by_name.get(name)
            value = np.asarray(np.zeros(shape) if value is None else value, dtype)
            results.append(value if name in by_name else None)
        return results

    def results(self, values: Sequence[Any]) -> list[Any]:
        """Return the tangents of the results, or None for results without a tangent."""
        kinds = [self.program.normal.kinds[each] for each in self.program.normal.results]
        return [
            np.asarray(each, str(getattr(kind, "dtype", kind))) if has else None
            for each, kind, has in zip(values, kinds, self.program.has_derivative, strict=True)
        ]

    # -- what the operations compute

    def computed(self, values: list[Any], _rest: Any = ()) -> Sequence[Any]:
        """Return the results of the function; those in the memory of arguments or global arrays are copied."""
        results = self._called(values)
        results = () if results is None else results if isinstance(results, tuple) else (results,)
        taken = [each for each in values if isinstance(each, np.ndarray)]
        return [_apart(np.asarray(each), taken) for each in results]

    def _called(self, values: list[Any]) -> Any:
        if self.refusal is None:
            return self.function.dispatcher(*values)
        constants = [each.view() if isinstance(each, np.ndarray) else each for each in values]
        for each in constants:
            if isinstance(each, np.ndarray):
                each.flags.writeable = False
        try:
            self.function.dispatcher.compile(tuple(map(typeof, constants)))
        except Exception:  # Numba has no common base for the errors of compiling
            raise self.refusal from None
        return self.function.dispatcher(*constants)

    def adjoint(self, values: list[Any], gradients: Sequence[Any]) -> Sequence[Any]:
        """Return the derivatives by the tensors from the cotangents of the results and of the written arguments."""
        return self.by_tensors(self.program.gradients(self.arguments_of_call(values), *self.seeds(gradients)))

    def tangents(self, values: list[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        """Return the tangents of the results from those of the tensors."""
        return self.results(self.program.tangents(self.arguments_of_call(values), self.directions(tangents))[0])

    def second(self, values: list[Any], arrays: Sequence[Any]) -> Sequence[Any]:
        """Return the derivatives of the adjoint: by cotangents of the results, in directions of the tensors."""
        count = len(self.program.normal.results)
        seeds, directions = self.seeds(arrays[:count])[0], self.directions(arrays[count:])
        return self.by_tensors(self.program.second(self.arguments_of_call(values), directions, seeds, {}))


def _apart(result: np.ndarray, taken: list[np.ndarray]) -> np.ndarray:
    """Return the result, or a copy if it is constant or shares memory with those ``taken``; add it to these."""
    if not result.flags.writeable or any(np.may_share_memory(result, each) for each in taken):
        result = result.copy()
    taken.append(result)
    return result


def _number(argument: Any) -> Any:
    """Return an argument; instead of a watched number the number itself, which replays then need to be the same."""
    if isinstance(argument, recording.WatchedNumber):
        argument.is_used = True
        return argument.plain()
    return argument


def array_of(tensor: Tensor) -> np.ndarray:
    """Return the array of a tensor, which a step of a program reads.

    Raises:
        RuntimeError: the tensor is not on the CPU.
    """
    if tensor.device.type != "cpu":
        raise RuntimeError(f"differentiable functions run on the CPU, and a tensor is on {tensor.device}")
    return tensor._as_array()


class ArrayFunction(Function):
    """Base of the operations that ``differentiable`` makes."""

    @staticmethod
    def forward(call: DifferentiableCall, *tensors: Tensor) -> Any:
        call.saved = tensors
        if call.recorded or recording.recorder is not None:
            try:
                call.prepare(call.values([array_of(each) for each in tensors]))
            except Refused as refusal:
                if call.recorded:
                    raise
                call.refusal = refusal.with_traceback(None)  # whose frames hold tensors
            keep = {position: each.detach().clone() for position, each in zip(call.positions, tensors, strict=True)
                    if position in call.written}
            call.saved = [keep.get(position, each) for position, each in zip(call.positions, tensors, strict=True)]
        results = call.step(call.computed, tensors, written=call.written)
        if call.recorded and recording.recorder is None:
            call.others = {
                number: each.copy() if isinstance(each, np.ndarray) else each for number, each in call.others.items()
            }
        return (*results, *[tensors[call.positions.index(position)] for position in call.written])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        call, *tensors = inputs
        saved = vars(call).pop("saved", tensors)
        if call.written:
            ctx.mark_dirty(*[tensors[call.positions.index(position)] for position in call.written])
        if not call.recorded:
            return
        ctx.call = call
        ctx.mark_non_differentiable(
            *[each for each, has in zip(output, call.program.has_derivative, strict=False) if not has]
        )
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], call: DifferentiableCall, *tensors: Tensor) -> Any:
        function = call.function
        call.examples = examples = [copy.copy(call) for _ in range(info.batch_size)]
        call.depth = _depth()
        results = _for_each(function.operation, info, in_dims, call, *tensors)
        call.program, call.written = examples[0].program, examples[0].written
        if call.written:
            raise NotImplementedError(
                f"vmap over {function.py_func.__name__}, which writes into its arguments, is not supported"
            )
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        call = ctx.call
        if call.written:
            return _adjoint_of_written(ctx, *gradients)
        return None, *_Adjoint.apply(call, *gradients, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, _call: Any, *tangents: Any) -> Any:
        call, inputs = ctx.call, ctx.saved_tensors
        if call.written:
            raise NotImplementedError(
                f"forward mode of {call.function.py_func.__name__}, which writes into its arguments, is not supported"
            )
        return _Tangents.apply(call, *tangents, *inputs)


def _depth() -> int:
    """Return the number of levels around the present one."""
    level, depth = state.level, 0
    while level is not None:
        level, depth = level.outer, depth + 1
    return depth


def _for_each(function: Any, info: Any, in_dims: tuple[Any, ...], call: DifferentiableCall, *arguments: Any) -> Any:
    """Return the outputs of a function for all examples of a batch, one after another, and their batch dimensions."""
    if not info.batch_size:
        raise ValueError(f"vmap over {call.function.py_func.__name__} needs at least one example")
    rows = [
        function.apply(example, *[
            each if dim is None else each.select(dim, number)
            for each, dim in zip(arguments, in_dims[1:], strict=True)
        ]) for number, example in enumerate(call.at_level(info.batch_size))
    ]
    outputs = [None if row[0] is None else stack(row) for row in zip(*rows, strict=True)]
    return tuple(outputs), tuple(None if each is None else 0 for each in outputs)


def operation(name: str) -> type[Function]:
    """Return an operation whose graph node is named after the function."""
    words = "".join([part.capitalize() for part in name.split("_")]) or "Function"
    return type(words, (ArrayFunction,), {"__module__": __name__})


@once_differentiable
def _adjoint_of_written(ctx: Any, *gradients: Any) -> Any:
    """Return the derivatives by the tensors of a call that writes into some of them."""
    return None, *ctx.call.step(ctx.call.adjoint, ctx.saved_tensors, gradients)


class _PartOfCall(Function):
    """Base of the Functions that compute the derivatives of a call.

    Their last tensors are those among the arguments of the call.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.call, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], call: DifferentiableCall, *arguments: Any) -> Any:
        return _for_each(cls, info, in_dims, call, *arguments)


class _Adjoint(_PartOfCall):
    """Operation that computes the derivatives of a call by its tensors from the cotangents of its results."""

    @staticmethod
    def forward(call: DifferentiableCall, *tensors: Any) -> Any:
        gradients, inputs = call.split(tensors)
        return tuple(call.step(call.adjoint, inputs, gradients))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Any) -> Any:
        call = ctx.call
        gradients, inputs = call.split(ctx.saved_tensors)
        by_seeds = call.step(call.tangents, inputs, cotangents)
        return None, *by_seeds, *call.step(call.second, inputs, [*gradients, *cotangents])

    @staticmethod
    def jvp(ctx: Any, _call: Any, *tangents: Any) -> Any:
        return _TangentsOfAdjoint.apply(ctx.call, *tangents, *ctx.saved_tensors)


class _TangentsOfAdjoint(_PartOfCall):
    """Operation for the tangents of the derivatives of a call, without backward or jvp for third derivatives."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def forward(call: DifferentiableCall, *tensors: Any) -> Any:
        half = len(tensors) // 2
        moved, tangents = call.split(tensors[:half])
        gradients, inputs = call.split(tensors[half:])

        def compute(values: list[Any], arrays: Sequence[Any]) -> Sequence[Any]:
            count = len(gradients)
            pairs = zip(call.second(values, arrays[count:]), call.adjoint(values, arrays[:count]), strict=True)
            return [None if first is None else first + second for first, second in pairs]

        return tuple(call.step(compute, inputs, [*moved, *gradients, *tangents]))


class _Tangents(_PartOfCall):
    """Operation that computes the tangents of the results of a call from those of its tensors."""

    @staticmethod
    def forward(call: DifferentiableCall, *tensors: Any) -> Any:
        half = len(call.positions)
        return tuple(call.step(call.tangents, tensors[half:], tensors[:half]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Any) -> Any:
        call, half = ctx.call, len(ctx.call.positions)
        tangents, inputs = ctx.saved_tensors[:half], ctx.saved_tensors[half:]
        by_tangents = call.step(call.adjoint, inputs, cotangents)
        return None, *by_tangents, *call.step(call.second, inputs, [*cotangents, *tangents])
