"""Calls of differentiable functions in the graph: a call, its adjoint and its tangents are one operation each.

With J the Jacobian of a function, the call computes f(x), the adjoint Jᵀg and the tangents J t.  The derivatives of
each operation consist of the others, and of the derivative of gᵀJ t by x, which is compiled as forward over reverse.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.function import Function, once_differentiable
from ..autograd.grad_mode import GRAD, TRANSFORMED, state
from ..ops.creation.from_data import from_numpy
from ..ops.shapes.joining import stack
from ..tensors.tensor import Tensor
from .program import DerivativeProgram


class DifferentiableCall:
    """One call of a ``Differentiable`` with tensors: the arguments, and the program of its derivatives."""

    program: DerivativeProgram

    def __init__(self, function: Any, arguments: Sequence[Any]):
        self.function, self.arguments = function, list(arguments)
        self.positions = [position for position, each in enumerate(arguments) if isinstance(each, Tensor)]
        self.names = [function.parameters[position] for position in self.positions]
        differentiated = state.mode & GRAD and any(arguments[position].requires_grad for position in self.positions)
        #: True if derivatives may follow.
        self.recorded = bool(differentiated or state.mode & TRANSFORMED)
        #: Calls for the examples of a batch, by the number of levels around that level of ``vmap``.
        self.examples: list[DifferentiableCall] = []
        self.depth = -1

    def at_level(self, size: int) -> list[DifferentiableCall]:
        """Return the calls for the examples of the present level of ``vmap``; this one if it is shared by them."""
        return self.examples if self.depth == _depth() else [self] * size

    def values(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the arguments of the function, with these tensors instead of those of the call."""
        values = list(self.arguments)
        for position, tensor in zip(self.positions, tensors, strict=True):
            values[position] = self.function.value_of(tensor)
        return values

    def prepare(self, values: list[Any]) -> None:
        """Find the program, and copy the arguments that may change before the backward pass."""
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
        self.kept = [each.copy() if isinstance(each, np.ndarray) else each for each in values]
        for first, second in self.program.same:
            self.kept[names.index(second)] = self.kept[names.index(first)]
        self.like = {name: values[position] for name, position in zip(self.names, self.positions, strict=True)}

    def arguments_of_call(self) -> list[Any]:
        """Return the arguments of the program."""
        return self.function.without_functions(self.kept)

    def seeds(self, gradients: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
        """Return the cotangents of the results and of the written arguments, in the form that the program takes."""
        program, seeds = self.program, []
        count = len(program.normal.results)
        for name, has, gradient in zip(program.normal.results, program.has_derivative, gradients, strict=False):
            if has:
                array = gradient.detach().numpy()
                kind = program.normal.kinds[name]
                seeds.append(np.array(array, str(kind.dtype)) if array.ndim else float(array))
        written = [each.detach().numpy() for each in gradients[count:]]
        return seeds, dict(zip(program.written, written, strict=True))

    def directions(self, tangents: Sequence[Any]) -> dict[str, Any]:
        """Return the tangents of the tensors, by parameter name."""
        pairs = zip(self.names, tangents, strict=True)
        return {name: tangent.detach().numpy() for name, tangent in pairs if tangent is not None}

    def as_tensors(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the derivatives by the tensors, with the dtypes and shapes of the arguments, or None for none."""
        by_name = dict(zip(self.program.by, gradients, strict=True))
        results = []
        for name in self.names:
            like = np.asarray(self.like[name])
            value = by_name.get(name)
            results.append(from_numpy(np.asarray(np.zeros_like(like) if value is None else value, like.dtype))
                        if name in by_name else None)
        return results

    def results(self, values: Sequence[Any]) -> list[Any]:
        """Return the tangents of the results as tensors, or None for results without a tangent."""
        kinds = [self.program.normal.kinds[each] for each in self.program.normal.results]
        return [
            from_numpy(np.asarray(each, str(getattr(kind, "dtype", kind)))) if has else None
            for each, kind, has in zip(values, kinds, self.program.has_derivative, strict=True)
        ]


class ArrayFunction(Function):
    """Base of the operations that ``differentiable`` makes."""

    @staticmethod
    def forward(call: DifferentiableCall, *tensors: Tensor) -> Any:
        values = call.values(tensors)
        if call.recorded:
            call.prepare(values)
        results = call.function.dispatcher(*values)
        results = () if results is None else results if isinstance(results, tuple) else (results,)
        written = [tensors[call.positions.index(position)] for position in call.written] if call.recorded else []
        return (*[from_numpy(np.asarray(each)) for each in results], *written)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        call, *tensors = inputs
        if not call.recorded:
            return
        ctx.call = call
        ctx.mark_non_differentiable(
            *[each for each, has in zip(output, call.program.has_derivative, strict=False) if not has]
        )
        written = [tensors[call.positions.index(position)] for position in call.written]
        if written:
            ctx.mark_dirty(*written)
        unwritten = [each for number, each in zip(call.positions, tensors, strict=True) if number not in call.written]
        ctx.save_for_backward(*unwritten)
        ctx.save_for_forward(*unwritten)

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
        return None, *_Adjoint.apply(call, len(gradients), *gradients, *ctx.saved_tensors)

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
    call = ctx.call
    seeds, of_written = call.seeds(gradients)
    return None, *call.as_tensors(call.program.gradients(call.arguments_of_call(), seeds, of_written))


class _PartOfCall(Function):
    """Base of the Functions that compute the derivatives of a call."""

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], call: DifferentiableCall, *arguments: Any) -> Any:
        return _for_each(cls, info, in_dims, call, *arguments)


class _Adjoint(_PartOfCall):
    """Operation that computes the derivatives of a call by its tensors from the cotangents of its results."""

    @staticmethod
    def forward(call: DifferentiableCall, count: int, *tensors: Any) -> Any:
        seeds, _ = call.seeds(tensors[:count])
        return tuple(call.as_tensors(call.program.gradients(call.arguments_of_call(), seeds, {})))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.call, ctx.count, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Any) -> Any:
        call, program = ctx.call, ctx.call.program
        seeds, _ = call.seeds(ctx.saved_tensors[: ctx.count])
        directions = call.directions(cotangents)
        by_inputs = call.as_tensors(program.second(call.arguments_of_call(), directions, seeds, {}))
        by_seeds = call.results(program.tangents(call.arguments_of_call(), directions)[0])
        return None, None, *by_seeds, *by_inputs

    @staticmethod
    def jvp(ctx: Any, _call: Any, _count: Any, *tangents: Any) -> Any:
        return _TangentsOfAdjoint.apply(ctx.call, ctx.count, *tangents, *ctx.saved_tensors)


class _TangentsOfAdjoint(_PartOfCall):
    """Operation for the tangents of the derivatives of a call, without backward or jvp for third derivatives."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def forward(call: DifferentiableCall, count: int, *tensors: Any) -> Any:
        half = len(tensors) // 2
        tangents, saved = tensors[:half], tensors[half:]
        seeds, _ = call.seeds(saved[:count])
        moved, _ = call.seeds(tangents[:count])
        by_inputs = call.program.second(call.arguments_of_call(), call.directions(tangents[count:]), seeds, {})
        by_seeds = call.program.gradients(call.arguments_of_call(), moved, {})
        pairs = zip(by_inputs, by_seeds, strict=True)
        return tuple(call.as_tensors([None if first is None else first + second for first, second in pairs]))


class _Tangents(_PartOfCall):
    """Operation that computes the tangents of the results of a call from those of its tensors."""

    @staticmethod
    def forward(call: DifferentiableCall, *tensors: Any) -> Any:
        half = len(call.positions)
        out, _ = call.program.tangents(call.arguments_of_call(), call.directions(tensors[:half]))
        return tuple(call.results(out))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.call, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Any) -> Any:
        call, program = ctx.call, ctx.call.program
        seeds, _ = call.seeds(cotangents)
        directions = call.directions(ctx.saved_tensors[: len(call.positions)])
        by_inputs = call.as_tensors(program.second(call.arguments_of_call(), directions, seeds, {}))
        by_tangents = call.as_tensors(program.gradients(call.arguments_of_call(), seeds, {}))
        return None, *by_tangents, *by_inputs
