"""Users' Functions under ``vmap``.

The outputs come from the user's ``vmap``, or from a Function of the physical tensors that runs forward and backward for
all examples.  Either is recorded below the level, like any operation there.  For derivatives that are taken inside
``vmap``, the outputs get a node of the Function itself, with a context that ``setup_context`` fills.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.function import Function, FunctionCtx
from ...autograd.function_call import FunctionCall, finish
from ...autograd.grad_mode import GRAD, no_grad, state
from ...core.nesting import flatten
from ...tensors.tensor import Tensor
from ..reductions.sums import sum_dims
from ..shapes.dimensions import movedim
from ..table.checks import check
from .batches import Batched, below, lifted, mapped, unmapped
from .physical import expanded

_DETAILS = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """Information for a Function's ``vmap``: the number of examples and the behaviour of random operations."""

    batch_size: int
    randomness: str


def batched_function(call: FunctionCall, level: Batched) -> Any:
    """Call a Function once for all examples.

    Raises:
        RuntimeError: if the Function has neither ``vmap`` nor ``generate_vmap_rule``, or both, or ``vmap`` returns an
            invalid result.
    """
    function = call.function
    _check(function)
    args = tuple([lifted(level, value) if isinstance(value, Tensor) else value for value in call.args])
    tensors = [value for value in args if isinstance(value, Tensor)]
    physical = [value._mapped.tensor if isinstance(value, Tensor) else value for value in args]
    shared = not any(tensor._mapped.batched for tensor in tensors)
    with below(level):
        if shared:
            result: Any = function.apply(*physical)
            results = _as_tuple(result, lambda output: (output, False))
        elif function.vmap is not Function.vmap:
            result, results = _by_users_rule(function, level, args, physical)
        else:
            generated = _generated(function, level, args)
            result = generated.apply(*physical)
            results = [*zip(result if isinstance(result, tuple) else (result,), generated.batched, strict=True)]
    for value in call.args:
        if isinstance(value, Tensor) and not level.concerns(value) and any(output is value for output, _ in results):
            level.adopt(value)  # it was changed in place
    args = tuple([value if level.concerns(value) else arg for value, arg in zip(call.args, args, strict=True)])
    arguments = {id(whole): arg for whole, arg in zip(physical, args, strict=True)}
    outputs = []
    for output, batched in results:
        if not isinstance(output, Tensor):
            outputs.append(output)
        elif id(output) in arguments:  # an input that was changed in place
            outputs.append(arguments[id(output)])
        else:
            outputs.append(mapped(level, output, batched))
    return _recorded(call, args, tuple(outputs), isinstance(result, tuple))


def _as_tuple(value: Any, each: Any) -> list[Any]:
    return [each(item) for item in value] if isinstance(value, tuple) else [each(value)]


def _recorded(call: FunctionCall, args: tuple[Any, ...], outputs: tuple[Any, ...], several: bool) -> Any:
    """Return the outputs with a node of the Function, for derivatives taken at this level."""
    node = call.function._backward_cls(args)
    context = node.context
    result = outputs if several else outputs[0]
    with no_grad():
        call.function.setup_context(context, args, result)
    call.note_forward(context, result)
    record = bool(state.mode & GRAD) and True in context.needs_input_grad
    results = finish(node, args, outputs, record)
    return tuple(results) if several else results[0]


def _check(function: type[Function]) -> None:
    name = function.__name__
    check(
        function.setup_context is not Function.setup_context,
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        "override the setup_context staticmethod. {}", _DETAILS,
    )
    has_rule = function.vmap is not Function.vmap
    check(
        not function.generate_vmap_rule or not has_rule,
        "You tried to vmap over {}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
        "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. {}",
        name, _DETAILS,
    )
    check(
        function.generate_vmap_rule or has_rule,
        "You tried to vmap over {}, but it does not have vmap support. Please override and implement the vmap "
        "staticmethod or set generate_vmap_rule=True. {}", name, _DETAILS,
    )


# -- by the user's rule ---------------------------------------------------------------------------------------------


def _by_users_rule(
    function: type[Function], level: Batched, args: tuple[Any, ...], physical: list[Any]
) -> tuple[Any, list[tuple[Any, bool]]]:
    """Return the result of the Function's ``vmap``, and each output's physical tensor with a flag if it is batched."""
    in_dims = tuple([0 if isinstance(value, Tensor) and value._mapped.batched else None for value in args])
    returned = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *physical)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(returned)} instead"
        )
    result, out_dims = returned
    outputs = result if isinstance(result, tuple) else (result,)
    dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    if len(dims) != len(outputs) or (isinstance(out_dims, tuple) and not isinstance(result, tuple)):
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{flatten(out_dims)[1]} but output has structure {flatten(result)[1]}. {_DETAILS}"
        )
    return result, [
        (output if dim in (None, 0) else movedim(output, dim, 0), dim is not None)
        for output, dim in zip(outputs, dims, strict=True)
    ]


# -- derived from forward and backward ------------------------------------------------------------------------------


class _ExampleContext(FunctionCtx):
    """Context that forward and backward of an example share."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()


def _generated(function: type[Function], level: Batched, args: tuple[Any, ...]) -> Any:
    """Return a Function of the physical tensors that runs forward and backward of ``function`` for all examples."""
    inner = Batched(level.size, level.randomness)
    inner.leave()
    flags = [isinstance(value, Tensor) and value._mapped.batched for value in args]

    def wrapped(values: Any, batched: Any) -> list[Any]:
        return [
            mapped(inner, value, flag) if isinstance(value, Tensor) else value
            for value, flag in zip(values, batched, strict=True)
        ]

    def fitted(gradient: Any, flag: bool) -> Any:
        """Return the gradient, or tangent, of a physical tensor, batched if ``flag`` is True."""
        if not isinstance(gradient, Tensor):
            return gradient
        whole, batched = unmapped(inner, gradient)
        if batched and not flag:
            return sum_dims(whole, (0,), False)
        return expanded(mapped(inner, whole, False)) if flag and not batched else whole

    class Generated(Function):
        generate_vmap_rule = True
        batched: tuple[bool, ...] = ()

        @staticmethod
        def forward(*physical: Any) -> Any:
            with inner.resumed():
                result = function.forward(*wrapped(physical, flags))
            pairs = _as_tuple(
                result, lambda output: unmapped(inner, output) if isinstance(output, Tensor) else (output, False)
            )
            Generated.batched = tuple([batched for _, batched in pairs])
            outputs = tuple([output for output, _ in pairs])
            return outputs if isinstance(result, tuple) else outputs[0]

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            batched_inputs = wrapped(inputs, flags)
            of_inputs = {id(value): example for value, example in zip(inputs, batched_inputs, strict=True)}
            outputs = output if isinstance(output, tuple) else (output,)
            shown = tuple([
                of_inputs.get(id(value), example)
                for value, example in zip(outputs, wrapped(outputs, Generated.batched), strict=True)
            ])
            example = ctx.example_context = _ExampleContext()
            example.needs_input_grad = ctx.needs_input_grad
            with inner.resumed():
                function.setup_context(example, tuple(batched_inputs), shown if isinstance(output, tuple) else shown[0])
            ctx.flags = _keep(ctx.save_for_backward, inner, example.to_save)
            ctx.forward_flags = _keep(ctx.save_for_forward, inner, example.saved_for_forward)
            example.to_save = example.saved_for_forward = None
            for mark, tensors in (
                (ctx.mark_dirty, example.dirty_tensors), (ctx.mark_non_differentiable, example.non_differentiable),
            ):
                if tensors:
                    mark(*[unmapped(inner, tensor)[0] for tensor in tensors])
            ctx.set_materialize_grads(example.materialize_grads)
            ctx._materialize_non_diff_grads = example._materialize_non_diff_grads

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            with inner.resumed():
                ctx.example_context.saved_tensors = tuple(wrapped(ctx.saved_tensors, ctx.flags))
                result = function._run_backward(ctx.example_context, wrapped(gradients, Generated.batched))
                result = result if isinstance(result, tuple) else (result,)
            return tuple([fitted(value, flag) for value, flag in zip(result, flags, strict=False)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with inner.resumed():
                ctx.example_context.saved_tensors = tuple(wrapped(ctx.saved_tensors, ctx.forward_flags))
                result = function.jvp(ctx.example_context, *wrapped(tangents, flags))
            values = result if isinstance(result, tuple) else (result,)
            computed = tuple([fitted(value, flag) for value, flag in zip(values, Generated.batched, strict=False)])
            return computed if isinstance(result, tuple) else computed[0]

    Generated.__name__ = f"Vmapped{function.__name__}"
    return Generated


def _keep(save: Any, inner: Batched, tensors: Any) -> tuple[bool, ...]:
    """Save the physical tensors, and return for each whether it is batched."""
    pairs = [(None, False) if tensor is None else unmapped(inner, tensor) for tensor in tensors or ()]
    if pairs:
        save(*[tensor for tensor, _ in pairs])
    return tuple([batched for _, batched in pairs])
