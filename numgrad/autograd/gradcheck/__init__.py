"""Derivatives checked against finite differences: ``gradcheck``, and ``gradgradcheck`` for second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analytical import get_analytical_jacobian
    from .numerical import get_numerical_jacobian, get_numerical_jacobian_wrt_specific_input

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input",
    "gradcheck", "gradgradcheck",
]

# The package's attribute of this module's name is to be the function, as in PyTorch, so that the package imports this
# module at once.  What does the work is imported when it is first needed, to keep ``import numgrad`` fast.


class GradcheckError(RuntimeError):
    """Raised by :func:`gradcheck` and :func:`gradgradcheck` for a derivative that is wrong."""


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

    They are taken with respect to those inputs that require a gradient, and compared element by element:
    ``|analytical - numerical| <= atol + rtol * |numerical|``.  The defaults suit float64 and complex128.  For complex
    outputs the gradients of the real and of the imaginary part are checked, each in PyTorch's convention; forward mode
    is checked along the real and along the imaginary axis of complex inputs.

    The function is called many times and must give the same each time, at a point where it is differentiable.

    Args:
        func: takes the inputs and returns a tensor or several; those of them that require a gradient are checked.
        inputs: the function's arguments: a tensor, or a tuple in which there may be other values, too.
        eps: the step of the finite differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise GradcheckError for a wrong derivative, rather than return False.
        nondet_tol: by how much the gradients of two runs of backward may differ.
        check_undefined_grad: check that missing gradients of outputs, and in forward mode missing tangents of inputs,
            are treated as zeros.
        check_grad_dtypes: check that gradients have their inputs' dtypes, and tangents their outputs'.
        check_batched_grad: check that backward inside of ``vmap`` gives what single gradients do.
        check_batched_forward_grad: check that forward mode inside of ``vmap`` gives what single tangents do.
        check_forward_ad: check forward mode.
        check_backward_ad: check backward.
        fast_mode: multiply the Jacobians with random vectors, the same at every call, and compare the products: a few
            evaluations in place of one for each element.
        masked: there for PyTorch's programs; it concerns sparse tensors only, which there are not.

    Returns:
        True, or without ``raise_exception`` whether the derivatives are right.

    Raises:
        GradcheckError: a derivative is wrong, or backward is not as it should be in another respect.
        ValueError: no input requires a gradient.
        RuntimeError: elements of an input share memory, so that they cannot be changed one by one.
        TypeError: an output is not a tensor.
        AssertionError: options contradict each other, or outputs change their number, shape or dtype.

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
    from . import support
    from .comparison import Comparison
    from .problem import Problem, as_tuple

    problem = Problem(func, as_tuple(inputs))
    compare = Comparison(problem, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    try:
        if not problem.outputs:
            compare.all_with_zero()
            return True
        if check_backward_ad:
            compare.backward()
        if check_forward_ad:
            compare.forward()
            if check_undefined_grad:
                support.check_undefined_tangents(problem)
        if check_batched_forward_grad:
            support.check_batched_tangents(problem)
        if check_batched_grad:
            support.check_batched_gradients(problem)
        if check_backward_ad:
            support.check_zero_gradients(problem)
            if check_undefined_grad:
                support.check_undefined_gradients(problem)
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
    """Check the second derivatives of a function against central finite differences of its first.

    The function that is checked is the gradient of ``func``: of the inputs and of the gradients of the outputs.

    Args:
        func: takes the inputs and returns a tensor or several.
        inputs: the function's arguments: a tensor, or a tuple in which there may be other values, too.
        grad_outputs: for each output that requires a gradient its gradient, or None to leave the output out; by
            default random ones in [-1, 1) that require a gradient.
        eps: the step of the finite differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        gen_non_contig_grad_outputs: have the random gradients lie in memory with gaps.
        raise_exception: raise GradcheckError for a wrong derivative, rather than return False.
        nondet_tol: by how much the gradients of two runs of backward may differ.
        check_undefined_grad: check that missing gradients of gradients are treated as zeros.
        check_grad_dtypes: check that gradients have their inputs' dtypes.
        check_batched_grad: check that backward inside of ``vmap`` gives what single gradients do.
        check_fwd_over_rev: check forward mode through backward.
        check_rev_over_rev: check backward through backward.
        fast_mode: compare products with random vectors, as in :func:`gradcheck`.
        masked: there for PyTorch's programs; it concerns sparse tensors only, which there are not.

    Returns:
        True, or without ``raise_exception`` whether the derivatives are right.

    Raises:
        GradcheckError, RuntimeError, TypeError, AssertionError: as :func:`gradcheck`.
        ValueError: no input requires a gradient, or no output.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, on in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if on and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    from .gradient import gradient_of

    gradient, arguments = gradient_of(func, inputs, grad_outputs, gen_non_contig_grad_outputs)
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

    def __getattr__(name):
        if name == "get_analytical_jacobian":
            from . import analytical as module
        elif name in __all__:
            from . import numerical as module
        else:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        return getattr(module, name)
