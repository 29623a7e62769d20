"""What gradcheck says of a derivative that is wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import GradcheckError
from .directions import tensor_of


class JacobianBlock(NamedTuple):
    """Which Jacobian is wrong: of which output with respect to which input, and how it was computed."""

    output: Any
    output_index: int
    input: Any
    input_index: int
    #: The number of the input among all arguments of the function.
    argument: int
    forward: bool
    #: "", or which part of complex numbers was looked at, as in "real part of complex outputs".
    part: str = ""

    def __str__(self) -> str:
        part = f"While considering the {self.part} only, " if self.part else ""
        mode = "computed with forward mode " if self.forward else ""
        return (
            f"{part}Jacobian {mode}mismatch for output {self.output_index} with respect to input {self.input_index},"
        )


def close(analytical: np.ndarray, numerical: np.ndarray, atol: float, rtol: float) -> np.ndarray:
    """Where ``|analytical - numerical| <= atol + rtol * |numerical|``; NaN is close to nothing."""
    return np.isclose(analytical, numerical, rtol, atol)


def mismatch_error(
    block: JacobianBlock,
    numerical: np.ndarray,
    analytical: np.ndarray,
    atol: float,
    rtol: float,
    jacobians: tuple[np.ndarray, np.ndarray] | None = None,
) -> GradcheckError:
    """The error for Jacobians that differ.

    Args:
        block: which ones.
        numerical: by finite differences, a row for each element of the input, a column for each of the output; in
            fast mode the number, or for forward mode the vector, that comes of multiplying it with random vectors.
        analytical: by automatic differentiation.
        atol: with ``rtol`` the tolerance of the Jacobians' elements.
        rtol: see ``atol``.
        jacobians: in fast mode both Jacobians themselves, the numerical one first.
    """
    whole = jacobians or (numerical, analytical)
    text = f"{block}\nnumerical:{_shown(numerical, block)}\nanalytical:{_shown(analytical, block)}\n"
    if jacobians is not None:
        with np.errstate(invalid="ignore"):
            difference = np.abs(np.subtract(*jacobians)).max(initial=0.0)
        text += (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
            "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
            f"Numerical:\n {_shown(whole[0], block)}\nAnalytical:\n{_shown(whole[1], block)}\n\n"
            f"The max per-element difference (slow mode) is: {difference}.\n"
        )
        if close(whole[1], whole[0], atol, rtol).all():
            text += (
                "Fast gradcheck failed but element-wise differences are small. This means that the\n"
                "test might've passed in slow_mode! Call it with fast_mode=False to see.\n"
            )
    return GradcheckError(f"{text}\n{_worst_entry(block, *whole, atol, rtol)}")


def _shown(values: np.ndarray, block: JacobianBlock) -> Any:
    return tensor_of(values, block.input) if values.ndim else values.item()


def _worst_entry(block: JacobianBlock, numerical: np.ndarray, analytical: np.ndarray, atol: float, rtol: float) -> str:
    """Where two Jacobians differ most beyond the tolerance, in the terms of the output's and the input's indices."""
    off = ~close(analytical, numerical, atol, rtol)
    with np.errstate(invalid="ignore"):
        difference = np.abs(analytical - numerical)
        allowed = atol + rtol * np.abs(numerical)
        excess = difference - allowed
    row, column = np.unravel_index(excess.argmax(), excess.shape)  # the first NaN if there is one
    at_input = _index(np.unravel_index(row, block.input.shape))
    at_output = _index(np.unravel_index(column, block.output.shape))
    over = "exceeds" if off[row, column] else "is within"
    return (
        f"The worst entry, of {off.sum()} out of tolerance among {off.size}: output{at_output} with respect to "
        f"input{at_input}.\n"
        f"There the numerical value is {numerical[row, column]} and the analytical one {analytical[row, column]}. The "
        f"difference {difference[row, column]:.6g} {over}\n"
        f"atol + rtol * |numerical| = {allowed[row, column]:.6g} by {abs(excess[row, column]):.6g}.\n"
        f"Output {block.output_index} has the shape {list(block.output.shape)} and the dtype {block.output.dtype}, "
        f"input {block.input_index} (argument {block.argument} of the function)\n"
        f"the shape {list(block.input.shape)} and the dtype {block.input.dtype}."
    )


def _index(index: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(int(number)) for number in index)}]" if index else ""


def not_zero_error(argument: int) -> GradcheckError:
    """The error for a function whose outputs require no gradient although they change with an argument."""
    return GradcheckError(
        "Numerical gradient for function expected to be zero: no output requires a gradient, but the outputs change "
        f"with argument {argument} of the function. Is something detached, or recording off (no_grad)?"
    )


def not_reentrant_error(difference: float, tolerance: float) -> GradcheckError:
    """The error for a backward that gives another gradient when it is run again."""
    return GradcheckError(
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
        "different values, although analytical gradient matches numerical gradient."
        f"The tolerance for nondeterminism was {tolerance}. The largest difference was {difference:.6g}.\n\n"
        "If backward is meant not to be deterministic, pass a larger nondet_tol."
    )


def undefined_error(handled: bool) -> GradcheckError:
    """The error for a backward that is called without a gradient and raises, or (``handled``) makes one up."""
    wish = (
        "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
        if handled
        else "Expected backward function to handle undefined output grads."
    )
    return GradcheckError(
        f"{wish} A Function that calls ctx.set_materialize_grads(False) is given None for the gradient of an output "
        "that nothing depends on, and is to treat it as zeros."
    )


def undefined_tangent_error(output_index: int, argument: int, x: Any, undefined: Any, zero: Any) -> GradcheckError:
    """The error for tangents that differ when an input has no tangent and when its tangent is zero."""
    return GradcheckError(
        f"Mismatch in tangent values for output with index: {output_index} when input: {x} (argument {argument} of "
        f"the function) has an undefined tangent value.  Got: {undefined} but expected: {zero}, as for a tangent of "
        "zeros."
    )


_BATCHED = {
    False: (
        "gradcheck or gradgradcheck failed while testing batched gradient computation.\n"
        "Each gradient of a batch (backward inside of `torch.func.vmap`) is to be what it is alone.\n"
        "Where that is not needed, pass check_batched_grad=False."
    ),
    True: (
        "gradcheck failed while testing batched gradient computation with forward-mode AD.\n"
        "Each tangent of a batch (forward mode inside of `torch.func.vmap`) is to be what it is alone.\n"
        "Where that is not needed, pass check_batched_forward_grad=False."
    ),
}


def batched_error(output: int, input: int, got: Any, expected: Any, forward: bool) -> GradcheckError:
    """The error for gradients, or tangents, that are others in a batch than alone."""
    return GradcheckError(
        f"For output {output} and input {input}:\n\n{_BATCHED[forward]}\n\nGot:\n{got}\n\nExpected:\n{expected}"
    )


def batching_error(error: Exception, forward: bool) -> GradcheckError:
    """The error for a derivative that raises when it is computed for a batch."""
    return GradcheckError(f"While computing batched gradients, got: {error}\n\n{_BATCHED[forward]}")
