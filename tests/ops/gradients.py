"""Derivatives checked against finite differences."""

import numpy as np

import numgrad

__all__ = ["check_gradients", "differentiable", "weights_for"]

STEP = 1e-5


def check_gradients(function, *inputs, order=2, relative=1e-6, absolute=1e-8):
    """Assert that the derivatives of ``function``, up to ``order``, agree with central finite differences.

    ``inputs`` are the arguments of the function.  The float64 and complex128 tensors among them that require a gradient
    (leaves, in any memory) are changed element by element, complex ones along both axes, and put back; everything else
    is passed on as it is.  The gradient is taken of the outputs' sum, weighted with fixed numbers (of complex ones of
    the real part of ``conj(weight) * output``); the second derivative is the gradient of the gradient, for the inputs
    and the weights.
    """
    wanted = [x for x in inputs if isinstance(x, numgrad.Tensor) and x.requires_grad]
    assert wanted, "no input requires a gradient"
    doubles = (numgrad.float64, numgrad.complex128)
    assert all(x.dtype in doubles and x.is_leaf for x in wanted), "inputs must be float64 or complex128 leaves"
    outputs = differentiable(function(*inputs))
    weights = [weights_for(output, number) for number, output in enumerate(outputs)]
    gradients = _gradients(outputs, wanted, weights, order > 1)
    for number, (x, gradient) in enumerate(zip(wanted, gradients, strict=True)):
        where = f"gradient of input {number}"
        assert (gradient.shape, gradient.dtype) == (x.shape, x.dtype), where
        assert gradient.requires_grad <= (order > 1), f"{where} is recorded without create_graph"
        numeric = _differences(function, inputs, x, weights)
        np.testing.assert_allclose(gradient.detach().numpy(), numeric, relative, absolute, err_msg=where)
    if order > 1:

        def derivative(*given):
            with numgrad.enable_grad():
                return _gradients(differentiable(function(*given[: len(inputs)])), wanted, given[len(inputs) :], True)

        weights = [weight.requires_grad_() for weight in weights]
        check_gradients(derivative, *inputs, *weights, order=order - 1, relative=relative, absolute=absolute)


def differentiable(outputs):
    """Return the outputs that may have a gradient, as a list."""
    outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return [output for output in outputs if output.is_floating_point() or output.is_complex()]


def weights_for(output, number):
    """Fixed numbers of the output's shape and dtype, as its gradient."""
    random = np.random.default_rng(number)
    values = random.uniform(0.5, 1.5, output.shape)
    if output.is_complex():
        values = values + 1j * random.uniform(-1, 1, output.shape)
    return numgrad.from_numpy(np.asarray(values, output.detach().numpy().dtype))


def _gradients(outputs, inputs, weights, create_graph):
    """The gradients, zeros for an input that the outputs do not depend on."""
    recorded = [(output, weight) for output, weight in zip(outputs, weights, strict=True) if output.requires_grad]
    if not recorded:
        return [numgrad.zeros_like(x) for x in inputs]
    outputs, weights = zip(*recorded, strict=True)
    return numgrad.autograd.grad(
        outputs, inputs, weights, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )


def _differences(function, inputs, x, weights):
    """The gradient for ``x`` by central finite differences, one element at a time."""
    array = x.detach().numpy()
    result = np.zeros(array.shape, array.dtype)
    for place in np.ndindex(array.shape):
        value = array[place]
        for axis in (1, 1j) if x.is_complex() else (1,):
            ends = []
            for end in (value + axis * STEP, value - axis * STEP):
                array[place] = end
                with numgrad.no_grad():
                    outputs = differentiable(function(*inputs))
                ends.append([output.detach().numpy().copy() for output in outputs])
            for high, low, weight in zip(*ends, weights, strict=True):
                slope = ((high - low) / (2 * STEP) * weight.detach().numpy().conj()).sum()
                result[place] += axis * slope.real
        array[place] = value
    return result
