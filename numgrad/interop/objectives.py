"""Functions of tensors as the functions of arrays, with derivatives, that SciPy's optimizers and solvers call.

Arrays become tensors on the same memory, in their own dtype, and results become arrays.

Example:
    >>> import numpy as np
    >>> from numgrad.interop.objectives import hessian_of, with_gradient
    >>> def bowl(x):
    ...     return (x**2).sum() / 2
    >>> with_gradient(bowl)(np.array([3.0, 4.0]))
    (12.5, array([3., 4.]))
    >>> hessian_of(bowl)(np.array([3.0, 4.0]))
    array([[1., 0.],
           [0., 1.]])

With SciPy, ``scipy.optimize.minimize(with_gradient(bowl), start, jac=True, hess=hessian_of(bowl))`` is all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.backward import grad
from ..autograd.functional import hessian, hvp, jacobian
from ..ops.creation.from_data import from_numpy
from ..tensors.tensor import Tensor

__all__ = ["hessian_of", "hessian_product_of", "jacobian_of", "with_gradient"]


def _tensor(array: Any) -> Tensor:
    array = np.asarray(array)
    return from_numpy(array if array.flags.writeable else array.copy())


def _array(result: Tensor) -> np.ndarray:
    return result.detach().cpu().numpy()


def with_gradient(function: Callable[..., Tensor]) -> Callable[..., tuple[float, np.ndarray]]:
    """Return a function of an array that returns the value, a float, and the gradient, an array of the same shape.

    Args:
        function: a function of a tensor, and of further arguments that are passed on, which returns one number.

    Raises:
        RuntimeError: at a call, if the result is not one number, or does not depend on the tensor.
    """

    def call(array: np.ndarray, *args: Any) -> tuple[float, np.ndarray]:
        x = _tensor(array).requires_grad_()
        value = function(x, *args)
        (slope,) = grad(value, x)
        return value.item(), _array(slope)

    return call


def jacobian_of(function: Callable[..., Tensor]) -> Callable[..., np.ndarray]:
    """Return the function of an array (n,) that returns the derivatives (m, n) of ``function``'s result (m,)."""
    return lambda array, *args: _array(jacobian(lambda x: function(x, *args), _tensor(array)))


def hessian_of(function: Callable[..., Tensor]) -> Callable[..., np.ndarray]:
    """Return the function of an array (n,) that returns the second derivatives (n, n) of ``function``'s one number."""
    return lambda array, *args: _array(hessian(lambda x: function(x, *args), _tensor(array)))


def hessian_product_of(function: Callable[..., Tensor]) -> Callable[..., np.ndarray]:
    """Return the function of an array and a direction, both (n,), that returns the Hessian times the direction.

    It costs as much as a few gradients: the Hessian is never formed.
    """
    return lambda array, direction, *args: _array(
        hvp(lambda x: function(x, *args), _tensor(array), _tensor(direction))[1]
    )
