"""Checks of derivatives against finite differences: ``gradcheck``, and ``gradgradcheck`` for second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.missing import found_later
from ..errors import GradcheckError

if TYPE_CHECKING:
    from .older import (
        get_analytical_jacobian,
        get_numerical_jacobian,
        get_numerical_jacobian_wrt_specific_input,
    )

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input",
    "gradcheck", "gradgradcheck",
]

# ``numgrad.autograd.gradcheck`` must be the function, as in PyTorch, so this module is imported eagerly.  The others of
# this package are imported on first use, to keep ``import numgrad`` fast.


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the derivatives of a function against central finite differences.

    Derivatives are taken with respect to the inputs that require a gradient, and compared element by element:
    ``|analytical - numerical| <= atol + rtol * |numerical|``.  The defaults suit float64 and complex128.  For complex
    outputs, the gradients of the real and of the imaginary part are checked, each in PyTorch's convention.  Forward
    mode is checked along the real and along the imaginary axis of complex inputs.

    The function is called many times.  It must return the same values each time and be differentiable at the inputs.

    Args:
        func: takes the inputs and returns one or several tensors; those that require a gradient are checked.
        inputs: the function's arguments: a tensor, or a tuple that may also contain other values.
        eps: the step of the finite differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise GradcheckError for a wrong derivative instead of returning False.
        nondet_tol: the largest allowed difference between the gradients of two runs of backward.
        check_undefined_grad: check that missing gradients of outputs, and in forward mode missing tangents of inputs,
            are treated as zeros.
        check_grad_dtypes: check that gradients have their inputs' dtypes, and tangents their outputs'.
        check_batched_grad: check that backward inside ``vmap`` gives the same results as single gradients.
        check_batched_forward_grad: check that forward mode inside ``vmap`` gives the same results as single tangents.
        check_forward_ad: check forward mode.
        check_backward_ad: check backward.
        fast_mode: multiply the Jacobians with random vectors, the same in every call, and compare the products: a few
            evaluations instead of one per element.
        masked: accepted for PyTorch's programs; it concerns sparse tensors, which do not exist here.

    Returns:
        True if the derivatives are correct; without ``raise_exception``, False otherwise.

    Raises:
        GradcheckError: a derivative is wrong, or backward fails another check.
        ValueError: no input requires a gradient.
        RuntimeError: elements of an input share memory, so they cannot be perturbed one by one.
        TypeError: an output is not a tensor.
        AssertionError: options contradict each other, or the number, shapes or dtypes of the outputs vary.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([0.5, 2.0], dtype=numgrad.float64, requires_grad=True)
        >>> numgrad.autograd.gradcheck(numgrad.log, x)
        True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    from . import checking  # only now: see above

    problem = checking.Problem(func, inputs)
    comparison = checking.Comparison(problem, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        if not problem.outputs:
            comparison.check_all_zero()
            return True
        if check_backward_ad:
            comparison.check(forward=False)
        if check_forward_ad:
            comparison.check(forward=True)
            if check_undefined_grad:
                checking.check_undefined_tangents(problem)
        if check_batched_forward_grad:
            checking.check_batched_tangents(problem)
        if check_batched_grad:
            checking.check_batched_gradients(problem)
        if check_backward_ad:
            checking.check_zero_gradients(problem)
            if check_undefined_grad:
                checking.check_undefined_gradients(problem)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives of a function against central finite differences of its first derivatives.

    The function checked is the gradient of ``func``, as a function of the inputs and the gradients of the outputs.

    Args:
        func: takes the inputs and returns one or several tensors.
        inputs: the function's arguments: a tensor, or a tuple that may also contain other values.
        grad_outputs: for each output that requires a gradient, its gradient, or None to omit the output; by default
            random values in [-1, 1) that require a gradient.
        eps: the step of the finite differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        gen_non_contig_grad_outputs: make the random gradients non-contiguous.
        raise_exception: raise GradcheckError for a wrong derivative instead of returning False.
        nondet_tol: the largest allowed difference between the gradients of two runs of backward.
        check_undefined_grad: check that missing gradients of gradients are treated as zeros.
        check_grad_dtypes: check that gradients have their inputs' dtypes.
        check_batched_grad: check that backward inside ``vmap`` gives the same results as single gradients.
        check_fwd_over_rev: check forward mode through backward.
        check_rev_over_rev: check backward through backward.
        fast_mode: compare products with random vectors, as in :func:`gradcheck`.
        masked: accepted for PyTorch's programs; it concerns sparse tensors, which do not exist here.

    Returns:
        True if the derivatives are correct; without ``raise_exception``, False otherwise.

    Raises:
        GradcheckError, RuntimeError, TypeError, AssertionError: as :func:`gradcheck`.
        ValueError: no input or no output requires a gradient.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], dtype=numgrad.float64, requires_grad=True)
        >>> numgrad.autograd.gradgradcheck(numgrad.tanh, x)
        True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, on in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if on and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    from . import problem  # only now: see above

    gradient, arguments = problem.gradient_of(func, inputs, grad_outputs, gen_non_contig_grad_outputs)
    try:
        return gradcheck(
            gradient, arguments, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
            check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
            check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
        )  # fmt: skip
    except GradcheckError as error:
        error.add_note(
            "The function that was checked is the gradient of func: its outputs are the gradients of func's inputs, "
            "its arguments are func's and then the gradients of func's outputs."
        )
        raise


if not TYPE_CHECKING:
    _OLDER = "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input"
    __getattr__, __dir__ = found_later(globals(), "autograd.gradcheck", dict.fromkeys(_OLDER, "older"))
